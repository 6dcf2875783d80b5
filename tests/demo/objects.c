/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/objects.h"

#include "ctl/term/ctl.h"

#include <stdio.h>

char *object_node(const struct trace_node *n)
{
	char amounts[160];

	snprintf(amounts, sizeof(amounts),
	         "{\"cpu\":\"%um\",\"memory\":\"%uMi\",\"pods\":\"%u\",\"" DEMO_GPU "\":\"%u\"}",
	         n->cpu_milli, n->memory_mib, NODE_PODS, n->gpus);
	return ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
		"\"kubernetes.io/hostname\":\"%s\",\"nvidia.com/gpu.product\":\"%s\"}},"
		"\"status\":{\"capacity\":%s,\"allocatable\":%s,\"conditions\":[{\"type\":\"Ready\","
		"\"status\":\"True\",\"reason\":\"KubeletReady\",\"message\":\"\"}]}}",
		n->name, n->name, n->model, amounts, amounts);
}

char *object_namespace(const char *name)
{
	return ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name);
}

char *object_group(const struct trace_job *job)
{
	return ctl_print(
		"{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{"
		"\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"minMember\":%u}}",
		job->name, job->namespace, job->pods);
}

char *object_pod(const struct trace_job *job, unsigned i)
{
	unsigned gpus = trace_pod_gpus(job, i);

	return ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"%s\","
		"\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"},"
		"\"annotations\":{\"muster.io/run-seconds\":\"%u\"}},"
		"\"spec\":{\"schedulerName\":\"muster\",\"restartPolicy\":\"Never\",\"enableServiceLinks\":false,"
		"\"automountServiceAccountToken\":false,\"terminationGracePeriodSeconds\":0,"
		"\"containers\":[{\"name\":\"worker\",\"image\":\"registry.invalid/none:1\",\"resources\":{"
		"\"requests\":{\"cpu\":\"%um\",\"memory\":\"%uMi\",\"" DEMO_GPU "\":\"%u\"},"
		"\"limits\":{\"" DEMO_GPU "\":\"%u\"}}}]}}",
		job->name, i, job->namespace, job->name, job->duration_min * 60, gpus * CPU_MILLI_PER_GPU,
		gpus * MEMORY_MIB_PER_GPU, gpus, gpus);
}
