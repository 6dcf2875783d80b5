/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and jobs as Kubernetes objects. */
#ifndef MUSTER_DEMO_OBJECTS_H
#define MUSTER_DEMO_OBJECTS_H

#include "tests/demo/trace.h"

#define DEMO_GPU "nvidia.com/gpu"
#define GROUP_PATH "/apis/scheduling.x-k8s.io/v1alpha1"

/* Philly has no columns for these. */
#define CPU_MILLI_PER_GPU 4000u
#define MEMORY_MIB_PER_GPU 24576u

/* Nor has openb one for this. */
#define NODE_PODS 110u

/* JSON, to be freed. */
char *object_node(const struct trace_node *node);
char *object_namespace(const char *name);
char *object_group(const struct trace_job *job);
char *object_pod(const struct trace_job *job, unsigned i);

#endif
