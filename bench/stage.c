/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stage.h"

#include "bench/bench.h"
#include "ctl/term/ctl.h"
#include "ctl/up/tempdir.h"
#include "ipc/clock.h"

#include <cjson/cJSON.h>
#include <unistd.h>

#define PATIENCE_S 900u
#define QUIET_S 3u /* without a binding: then a condition is read */
#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1"
#define NATIVE_GROUPS "/apis/scheduling.k8s.io/v1alpha2"

/* Shared by the rows of requests of one measurement. */
struct space {
	struct stage *stage;
	char namespace[64];
	const char *scheduler;
	const char *group_label; /* NULL: none */
	const char *group_native;
};

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
		                   NULL };
	size_t n = 10;
	bool ok;

	if (c->extends) {
		argv[n++] = "--extender-keep";
		argv[n++] = "60";
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

/* It may take a moment until pods can be created in a new namespace. */
static bool space_ready(struct space *p)
{
	char path[160],
		*body = ctl_print(
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"probe\"},\"spec\":{"
			"\"containers\":[{\"name\":\"c\",\"image\":\"registry.invalid/none:1\"}]}}");
	int status = 0;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?dryRun=All", p->namespace);
	for (int i = 0; i < 100 && status != 201; i++) {
		if (i > 0)
			client_idle(&p->stage->client, 100);
		status = client_one(&p->stage->client, "POST", path, body);
	}
	free(body);
	if (status != 201)
		fprintf(stderr, "muster-bench: no pod can be made in %s: %d %.300s\n", p->namespace, status,
		        client_said(&p->stage->client));
	return status == 201;
}

static bool space_open(struct space *p, struct stage *s, const char *scheduler)
{
	char *body;
	int status;

	*p = (struct space){ .stage = s, .scheduler = scheduler };
	snprintf(p->namespace, sizeof(p->namespace), "muster-bench-%llx-%u",
	         (unsigned long long)s->began, s->spaces++);
	body =
		ctl_print("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
	              p->namespace);
	status = client_one(&s->client, "POST", "/api/v1/namespaces", body);
	free(body);
	if (status != 201) {
		fprintf(stderr, "muster-bench: can't make a namespace: %d %.300s\n", status,
		        client_said(&s->client));
		return false;
	}
	if (!space_ready(p))
		return false;
	client_watch(&s->client, p->namespace);
	return true;
}

/* Always returns `ok`. */
static bool space_close(struct space *p, bool ok)
{
	char path[160];

	if (!p->stage->clean)
		return ok;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?gracePeriodSeconds=0", p->namespace);
	client_one(&p->stage->client, "DELETE", path, NULL);
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s", p->namespace);
	client_one(&p->stage->client, "DELETE", path, NULL);
	return ok;
}

static void make_pod(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;
	char labels[128] = "", group[128] = "";

	if (p->group_label)
		snprintf(labels, sizeof(labels), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"}",
		         p->group_label);
	if (p->group_native)
		snprintf(group, sizeof(group), "\"schedulingGroup\":{\"podGroupName\":\"%s\"},",
		         p->group_native);
	snprintf(path, 512, "/api/v1/namespaces/%s/pods", p->namespace);
	*body = ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%05u\"%s},\"spec\":{%s"
		"\"schedulerName\":\"%s\",\"restartPolicy\":\"Never\",\"enableServiceLinks\":false,"
		"\"automountServiceAccountToken\":false,\"terminationGracePeriodSeconds\":0,\"containers\":[{"
		"\"name\":\"worker\",\"image\":\"registry.invalid/none:1\",\"resources\":{\"requests\":{"
		"\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}",
		i, labels, group, p->scheduler);
}

static void make_binding(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;

	snprintf(path, 512, "/api/v1/namespaces/%s/pods/pod-%05u/binding", p->namespace, i);
	*body = ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"pod-%05u\"},\"target\":{"
		"\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\"}}",
		i, p->stage->nodes[i % p->stage->nodes_n]);
}

/* Why a pod of the namespace without a node waits, by its condition. False: no condition reports it
 * as unschedulable. */
static bool says_no_room(const struct space *p, char *out, size_t out_bytes)
{
	const cJSON *pod, *condition;
	bool found = false;
	char path[200];
	cJSON *list;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?fieldSelector=spec.nodeName%%3D",
	         p->namespace);
	if (client_one(&p->stage->client, "GET", path, NULL) != 200)
		return false;
	list = cJSON_Parse(client_said(&p->stage->client));
	pod = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "items"), 0);
	cJSON_ArrayForEach(condition,
	                   cJSON_GetObjectItem(cJSON_GetObjectItem(pod, "status"), "conditions"))
	{
		const char *reason = cJSON_GetStringValue(cJSON_GetObjectItem(condition, "reason"));
		const char *message = cJSON_GetStringValue(cJSON_GetObjectItem(condition, "message"));

		if (reason && message && strcmp(reason, "Unschedulable") == 0) {
			snprintf(out, out_bytes, "%s", message);
			found = true;
		}
	}
	cJSON_Delete(list);
	return found;
}

/* Until they are bound. Ends when a condition reports that there is no capacity, since the bench
 * would wait forever. */
static bool wait_bound(const struct space *p, uint32_t pods)
{
	struct client *c = &p->stage->client;
	char why[1024] = "";
	uint32_t quiet = 0;

	while (!client_wait(c, pods, QUIET_S)) {
		quiet += QUIET_S;
		if (apiclient_watching(c->api) && quiet < PATIENCE_S && !says_no_room(p, why, sizeof(why)))
			continue;
		fprintf(stderr, "muster-bench: %u of %u pods are bound and no other for %u s%s%s\n",
		        c->seen.bound, pods, quiet, why[0] ? "; the condition of one: " : "", why);
		return false;
	}
	return true;
}

static bool make_pods(struct space *p, uint32_t pods)
{
	return client_row(&p->stage->client, "POST", pods, make_pod, p);
}

/* From the first binding to the last one. */
static double rate(const struct client_seen *seen)
{
	double seconds = (double)(seen->last_ns - seen->first_ns) / 1e9;

	return seconds > 0 ? (double)(seen->bound - 1) / seconds : 0;
}

bool stage_binds(struct stage *s, uint32_t pods, double *per_s)
{
	struct space p;
	uint64_t start;
	bool ok;

	if (!space_open(&p, s, "nobody"))
		return false;
	ok = make_pods(&p, pods);
	start = bench_now_ns();
	ok = ok && client_row(&s->client, "POST", pods, make_binding, &p);
	*per_s = (double)pods * 1e9 / (double)(bench_now_ns() - start);
	return space_close(&p, ok);
}

bool stage_preloaded(struct stage *s, struct contender *c, uint32_t pods, double *per_s)
{
	struct space p;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	ok = make_pods(&p, pods) && contender_start(c, s) && wait_bound(&p, pods);
	*per_s = rate(&s->client.seen);
	return space_close(&p, ok);
}

bool stage_live(struct stage *s, uint32_t pods, double *per_s)
{
	struct space p;
	uint64_t start;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	start = bench_now_ns();
	ok = make_pods(&p, pods) && wait_bound(&p, pods);
	*per_s = (double)pods * 1e9 / (double)(s->client.seen.last_ns - start);
	return space_close(&p, ok);
}

bool stage_others(struct stage *s, uint32_t pods, char *namespace, size_t namespace_bytes)
{
	struct space p;

	if (!space_open(&p, s, "default-scheduler") || !make_pods(&p, pods))
		return false;
	snprintf(namespace, namespace_bytes, "%s", p.namespace);
	return true;
}

static bool make_group(const struct space *p, const struct contender *c, uint32_t members)
{
	char path[256], *body;
	int status;

	snprintf(path, sizeof(path), "%s/namespaces/%s/podgroups", c->program ? NATIVE_GROUPS : GROUPS,
	         p->namespace);
	if (c->program)
		body = ctl_print(
			"{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":"
			"\"gang\"},\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":%u}}}}",
			members);
	else
		body = ctl_print(
			"{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":"
			"\"gang\"},\"spec\":{\"minMember\":%u}}",
			members);
	status = client_one(&p->stage->client, "POST", path, body);
	free(body);
	if (status != 201)
		fprintf(stderr, "muster-bench: can't make a PodGroup: %d %.300s\n", status,
		        client_said(&p->stage->client));
	return status == 201;
}

bool stage_gang(struct stage *s, const struct contender *c, uint32_t members, double *seconds)
{
	struct space p;
	uint64_t start;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	*(c->program ? &p.group_native : &p.group_label) = "gang";
	ok = make_pods(&p, members);
	client_idle(&s->client, 1000); /* all watchers have seen them */
	if (s->client.seen.bound > 0) {
		fprintf(stderr, "muster-bench: members were bound before their group was there\n");
		ok = false;
	}
	start = bench_now_ns();
	ok = ok && make_group(&p, c, members) && wait_bound(&p, members);
	*seconds = (double)(s->client.seen.last_ns - start) / 1e9;
	return space_close(&p, ok);
}
