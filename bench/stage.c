/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stage.h"

#include "bench/bench.h"
#include "ctl/term/ctl.h"
#include "ctl/up/tempdir.h"
#include "ipc/clock.h"

#include <cjson/cJSON.h>
#include <unistd.h>

/* A program of ours as argv[0], to be freed.  NULL and a message. */
static char *find_program(const char *name)
{
	char *path = process_find(name);

	if (!path)
		fprintf(stderr, "muster-bench: %s is neither next to muster-bench nor in $PATH\n", name);
	return path;
}

bool stage_init(struct stage *s)
{
	*s = (struct stage){ .began = clock_ns(CLOCK_REALTIME) };
	return child_folder(s->folder);
}

static void make_node(void *context, uint32_t i, char *path, char **body)
{
	snprintf(path, 512, "/api/v1/nodes");
	*body = ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"bench-%05u\",\"labels\":{"
		"\"kubernetes.io/hostname\":\"bench-%05u\",\"topology.kubernetes.io/zone\":\"zone-%u\"}},"
		"\"status\":{\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\"},"
		"\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\"},"
		"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\"}]}}",
		i, i, i % 3);
}

static void drop_node(void *context, uint32_t i, char *path, char **body)
{
	snprintf(path, 512, "/api/v1/nodes/bench-%05u", i);
}

void stage_free(struct stage *s)
{
	if (s->clean && s->client.api)
		client_row(&s->client, "DELETE", s->made, drop_node, NULL);
	for (uint32_t i = 0; i < s->nodes_n; i++)
		free(s->nodes[i]);
	free(s->nodes);
	client_close(&s->client);
	tempdir_remove(s->folder);
}

bool stage_apisim(struct stage *s, struct process *apisim, uint32_t latency_ms,
                  char kubeconfig[PROCESS_PATH])
{
	char latency[16];
	char *program = find_program("muster-apisim");
	const char *argv[] = {
		program,        "--port", "0", "--kubeconfig-out", kubeconfig, "--no-kubelet",
		"--latency-ms", latency,  NULL
	};
	bool ok;

	snprintf(latency, sizeof(latency), "%u", latency_ms);
	snprintf(kubeconfig, PROCESS_PATH, "%s/apisim.kubeconfig", s->folder);
	ok = program && child_start(apisim, s->folder, "apisim", argv);
	free(program);
	if (!ok)
		return false;
	for (int i = 0; i < 1000 && process_runs(apisim); i++) {
		if (access(kubeconfig, R_OK) == 0)
			return true;
		usleep(10000);
	}
	fprintf(stderr, "muster-bench: muster-apisim is not ready\n");
	process_show_log(apisim);
	return false;
}

static bool learn_nodes(struct stage *s)
{
	const cJSON *item;
	cJSON *list;

	if (client_one(&s->client, "GET", "/api/v1/nodes", NULL) != 200) {
		fprintf(stderr, "muster-bench: can't list nodes: %.300s\n", client_said(&s->client));
		return false;
	}
	list = cJSON_Parse(client_said(&s->client));
	s->nodes = calloc((size_t)cJSON_GetArraySize(cJSON_GetObjectItem(list, "items")) + 1,
	                  sizeof(*s->nodes));
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(list, "items"))
	{
		const char *name = cJSON_GetStringValue(
			cJSON_GetObjectItem(cJSON_GetObjectItem(item, "metadata"), "name"));
		const cJSON *spec = cJSON_GetObjectItem(item, "spec");

		/* Only nodes that accept any pod: bindings to them are made directly. */
		if (cJSON_IsTrue(cJSON_GetObjectItem(spec, "unschedulable")) ||
		    cJSON_GetArraySize(cJSON_GetObjectItem(spec, "taints")) > 0)
			continue;
		if (s->nodes && name)
			s->nodes[s->nodes_n++] = ctl_print("%s", name);
	}
	cJSON_Delete(list);
	if (s->nodes_n == 0)
		fprintf(stderr, "muster-bench: the cluster has no node that takes any pod\n");
	return s->nodes_n > 0;
}

bool stage_open(struct stage *s, const char *kubeconfig, uint32_t nodes)
{
	if (!client_open(&s->client, kubeconfig) ||
	    !client_row(&s->client, "POST", nodes, make_node, NULL))
		return false;
	s->made = nodes;
	return learn_nodes(s);
}

static bool start_muster(struct contender *c, struct stage *s)
{
	char *program = find_program("musterctl");
	char socket[PROCESS_PATH], listen[32], url[64];
	uint16_t port = child_port();
	const char *argv[] = { program,
		                   "up",
		                   "--kubeconfig",
		                   c->kubeconfig,
		                   "--scheduler-name",
		                   STAGE_SCHEDULER,
		                   "--socket",
		                   socket,
		                   "--listen",
		                   listen,
		                   NULL,
		                   NULL,
		                   NULL,
		                   NULL,
		                   NULL,
		                   NULL,
		                   NULL };
	size_t n = 10;
	bool ok;

	if (c->extends) {
		argv[n++] = "--extender-keep";
		argv[n++] = "60";
	}
	if (c->devices) {
		argv[n++] = "--devices";
		argv[n++] = "auto";
	}
	if (c->connections) {
		argv[n++] = "--bind-connections";
		argv[n++] = c->connections;
	}
	snprintf(socket, sizeof(socket), "%s/muster.sock", s->folder);
	snprintf(listen, sizeof(listen), "127.0.0.1:%u", port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/readyz", port);
	c->port = port;
	ok = program && child_start(&c->child, s->folder, c->name, argv) &&
	     child_ready(&c->child, url, 60);
	free(program);
	return ok;
}

static bool write_config(const struct contender *c, const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return false;
	fprintf(f,
	        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	        "clientConnection:\n  kubeconfig: %s\n  qps: 5000\n  burst: 5000\n"
	        "leaderElection:\n  leaderElect: false\npercentageOfNodesToScore: %u\n"
	        "profiles:\n- schedulerName: " STAGE_SCHEDULER "\n",
	        c->kubeconfig, c->percent);
	return fclose(f) == 0;
}

static bool start_kube(struct contender *c, struct stage *s)
{
	char config[PROCESS_PATH], config_flag[PROCESS_PATH + 16], port_flag[32], certs[PROCESS_PATH],
		url[64];
	char authentication[PROCESS_PATH + 32], authorization[PROCESS_PATH + 32];
	uint16_t port = child_port();
	const char *argv[] = {
		c->program,    config_flag,
		port_flag,     "--bind-address=127.0.0.1",
		certs,         authentication,
		authorization, "--feature-gates=GenericWorkload=true,GangScheduling=true",
		NULL
	};

	snprintf(config, sizeof(config), "%s/%s.yaml", s->folder, c->name);
	snprintf(config_flag, sizeof(config_flag), "--config=%s", config);
	snprintf(port_flag, sizeof(port_flag), "--secure-port=%u", port);
	snprintf(certs, sizeof(certs), "--cert-dir=%s/certs", s->folder);
	snprintf(authentication, sizeof(authentication), "--authentication-kubeconfig=%s",
	         c->kubeconfig);
	snprintf(authorization, sizeof(authorization), "--authorization-kubeconfig=%s", c->kubeconfig);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/readyz", port);
	return write_config(c, config) && child_start(&c->child, s->folder, c->name, argv) &&
	       child_ready(&c->child, url, 60);
}

bool contender_start(struct contender *c, struct stage *s)
{
	return c->program ? start_kube(c, s) : start_muster(c, s);
}

void contender_stop(struct contender *c)
{
	child_stop(&c->child);
}
