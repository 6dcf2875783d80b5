#include "tests/demo/audit.h"

#include "ctl/ctl.h"
#include "tests/demo/objects.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct used {
	unsigned long gpus, cpu_milli, memory_mib, pods;
};

/* One list while it is added up. */
struct count {
	struct audit *a;
	struct used *nodes;  /* as in the trace */
	unsigned *bound;     /* pods with a node, by job */
	size_t *by_job;      /* jobs sorted by namespace and name */
};

void audit_new(struct audit *a, const struct trace *trace)
{
	memset(a, 0, sizeof(*a));
	a->trace = trace;
}

static const char *text(const cJSON *object, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

/* "4000m", "8", "24576Mi": the server may have made them canonical. */
static double quantity(const char *value)
{
	static const struct {
		const char *suffix;
		double factor;
	} suffixes[] = {
		{"", 1}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"Ki", 1024.0}, {"Mi", 1048576.0},
		{"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
	};
	char *end;
	double number = strtod(value, &end);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strcmp(suffixes[i].suffix, end) == 0)
			return number * suffixes[i].factor;
	return 1e30; /* not to be read: surely over */
}

/* Names are openb-node-0000 and on, without gaps; a table keeps it fast all the same. */
static long find_node(const struct trace *t, const char *name)
{
	const char *dash = strrchr(name, '-');
	long guess = dash != NULL ? strtol(dash + 1, NULL, 10) : 0;

	if (guess >= 0 && (size_t)guess < t->nodes_n && strcmp(t->nodes[guess].name, name) == 0)
		return guess;
	for (size_t i = 0; i < t->nodes_n; i++)
		if (strcmp(t->nodes[i].name, name) == 0)
			return (long)i;
	return -1;
}

static const struct trace *sorting;

static int compare_jobs(const void *a, const void *b)
{
	const struct trace_job *x = &sorting->jobs[*(const size_t *)a], *y = &sorting->jobs[*(const size_t *)b];
	int order = strcmp(x->namespace, y->namespace);

	return order != 0 ? order : strcmp(x->name, y->name);
}

static long find_job(const struct count *c, const char *namespace, const char *name)
{
	const struct trace *t = c->a->trace;
	size_t low = 0, high = t->jobs_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct trace_job *j = &t->jobs[c->by_job[middle]];
		int order = strcmp(namespace, j->namespace);

		if (order == 0)
			order = strcmp(name, j->name);
		if (order == 0)
			return (long)c->by_job[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

static void add_requests(struct used *u, const cJSON *spec)
{
	const cJSON *container;

	u->pods++;
	cJSON_ArrayForEach(container, cJSON_GetObjectItemCaseSensitive(spec, "containers"))
	{
		const cJSON *requests = cJSON_GetObjectItemCaseSensitive(
			cJSON_GetObjectItemCaseSensitive(container, "resources"), "requests");

		u->gpus += (unsigned long)quantity(text(requests, DEMO_GPU));
		u->cpu_milli += (unsigned long)(quantity(text(requests, "cpu")) * 1000 + 0.5);
		u->memory_mib += (unsigned long)(quantity(text(requests, "memory")) / 1048576);
	}
}

static bool add_pod(struct count *c, const cJSON *pod)
{
	struct audit *a = c->a;
	const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
	const char *phase = text(cJSON_GetObjectItemCaseSensitive(pod, "status"), "phase");
	const char *node = text(spec, "nodeName");
	bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	long job, at;

	job = find_job(c, text(metadata, "namespace"),
	               text(cJSON_GetObjectItemCaseSensitive(metadata, "labels"), "scheduling.x-k8s.io/pod-group"));
	if (job < 0) {
		snprintf(a->error, sizeof(a->error), "pod %.100s belongs to no job", text(metadata, "name"));
		return false;
	}
	a->pods++;
	a->running += strcmp(phase, "Running") == 0;
	a->ended += ended;
	a->failed += strcmp(phase, "Failed") == 0;
	if (node[0] == '\0')
		return true;
	a->bound++;
	c->bound[job]++;
	at = find_node(a->trace, node);
	if (at < 0) {
		snprintf(a->error, sizeof(a->error), "pod %.100s is on %.100s, which is no node", text(metadata, "name"), node);
		return false;
	}
	if (!ended)
		add_requests(&c->nodes[at], spec);
	return true;
}

static void look_at_nodes(const struct count *c)
{
	struct audit *a = c->a;

	for (size_t i = 0; i < a->trace->nodes_n; i++) {
		const struct trace_node *n = &a->trace->nodes[i];
		const struct used *u = &c->nodes[i];

		if (u->gpus <= n->gpus && u->cpu_milli <= n->cpu_milli && u->memory_mib <= n->memory_mib && u->pods <= 110)
			continue;
		if (a->nodes_over++ == 0)
			snprintf(a->over, sizeof(a->over), "%s: %lu of %u GPUs, %lu of %um cpu, %lu of %u MiB", n->name,
			         u->gpus, n->gpus, u->cpu_milli, n->cpu_milli, u->memory_mib, n->memory_mib);
	}
}

static void look_at_gangs(const struct count *c)
{
	struct audit *a = c->a;

	for (size_t i = 0; i < a->trace->jobs_n; i++) {
		unsigned pods = a->trace->jobs[i].pods;
		bool whole = c->bound[i] >= pods, part = !whole && c->bound[i] > 0;

		a->gangs_whole += whole;
		a->gangs_part += part;
		a->gangs_none += c->bound[i] == 0;
		a->several_whole += whole && pods > 1;
		a->several_part += part && pods > 1;
	}
}

bool audit_pods(struct audit *a, const char *json, size_t bytes)
{
	struct count c = {.a = a};
	cJSON *list = cJSON_ParseWithLength(json, bytes);
	const cJSON *items = cJSON_GetObjectItemCaseSensitive(list, "items"), *pod;
	bool ok = cJSON_IsArray(items);

	if (!ok)
		snprintf(a->error, sizeof(a->error), "the list of pods can't be read");
	c.nodes = ctl_alloc(a->trace->nodes_n, sizeof(*c.nodes));
	c.bound = ctl_alloc(a->trace->jobs_n, sizeof(*c.bound));
	c.by_job = ctl_alloc(a->trace->jobs_n, sizeof(*c.by_job));
	for (size_t i = 0; i < a->trace->jobs_n; i++)
		c.by_job[i] = i;
	sorting = a->trace;
	if (a->trace->jobs_n > 0)
		qsort(c.by_job, a->trace->jobs_n, sizeof(*c.by_job), compare_jobs);
	a->pods = a->bound = a->running = a->ended = a->failed = 0;
	a->gangs_whole = a->gangs_part = a->gangs_none = a->several_whole = a->several_part = 0;
	cJSON_ArrayForEach(pod, items)
		ok = ok && add_pod(&c, pod);
	if (ok) {
		look_at_nodes(&c);
		look_at_gangs(&c);
		a->lists++;
	}
	free(c.nodes);
	free(c.bound);
	free(c.by_job);
	cJSON_Delete(list);
	return ok;
}
