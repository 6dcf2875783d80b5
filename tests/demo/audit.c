/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/audit.h"

#include "ctl/term/ctl.h"
#include "tests/demo/objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct used {
	unsigned long gpus, cpu_milli, memory_mib, pods;
};

struct seen {
	bool there;
	bool takes; /* room: bound and not ended */
	long node;  /* -1: never bound */
	bool ended, failed;
	struct used asks;
};

static const struct trace *sorting;

static int compare_jobs(const void *a, const void *b)
{
	const struct trace_job *x = &sorting->jobs[*(const size_t *)a],
						   *y = &sorting->jobs[*(const size_t *)b];
	int order = strcmp(x->namespace, y->namespace);

	return order != 0 ? order : strcmp(x->name, y->name);
}

void audit_new(struct audit *a, const struct trace *trace)
{
	size_t pods = 0;

	memset(a, 0, sizeof(*a));
	a->trace = trace;
	a->by_name = ctl_alloc(trace->jobs_n, sizeof(*a->by_name));
	a->first = ctl_alloc(trace->jobs_n, sizeof(*a->first));
	a->seen = ctl_alloc(trace->pods_n, sizeof(*a->seen));
	a->nodes = ctl_alloc(trace->nodes_n, sizeof(*a->nodes));
	for (size_t i = 0; i < trace->jobs_n; i++) {
		a->by_name[i] = i;
		a->first[i] = pods;
		pods += trace->jobs[i].pods;
	}
	for (size_t i = 0; i < pods; i++)
		a->seen[i].node = -1;
	sorting = trace;
	if (trace->jobs_n > 0)
		qsort(a->by_name, trace->jobs_n, sizeof(*a->by_name), compare_jobs);
}

void audit_free(struct audit *a)
{
	free(a->by_name);
	free(a->first);
	free(a->seen);
	free(a->nodes);
	memset(a, 0, sizeof(*a));
}

__attribute__((format(printf, 2, 3))) static void wrong(struct audit *a, const char *format, ...)
{
	va_list args;

	if (a->error[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(a->error, sizeof(a->error), format, args);
	va_end(args);
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
		{ "", 1 },           { "m", 1e-3 },          { "k", 1e3 },
		{ "M", 1e6 },        { "G", 1e9 },           { "Ki", 1024.0 },
		{ "Mi", 1048576.0 }, { "Gi", 1073741824.0 }, { "Ti", 1099511627776.0 },
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

static long find_job(const struct audit *a, const char *namespace, const char *name)
{
	size_t low = 0, high = a->trace->jobs_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct trace_job *j = &a->trace->jobs[a->by_name[middle]];
		int order = strcmp(namespace, j->namespace);

		if (order == 0)
			order = strcmp(name, j->name);
		if (order == 0)
			return (long)a->by_name[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

/* The pod's place, by its group's label and the number behind its last dash. */
static struct seen *find_pod(struct audit *a, const cJSON *metadata)
{
	const char *name = text(metadata, "name"), *dash = strrchr(name, '-');
	const char *group =
		text(cJSON_GetObjectItemCaseSensitive(metadata, "labels"), "scheduling.x-k8s.io/pod-group");
	long job = find_job(a, text(metadata, "namespace"), group);
	long number = dash != NULL ? strtol(dash + 1, NULL, 10) : -1;

	if (job < 0 || number < 0 || number >= (long)a->trace->jobs[job].pods) {
		wrong(a, "pod %.100s belongs to no job", name);
		return NULL;
	}
	return &a->seen[a->first[job] + (size_t)number];
}

static struct used requests(const cJSON *spec)
{
	struct used sum = { .pods = 1 };
	const cJSON *container;

	cJSON_ArrayForEach(container, cJSON_GetObjectItemCaseSensitive(spec, "containers"))
	{
		const cJSON *asks = cJSON_GetObjectItemCaseSensitive(
			cJSON_GetObjectItemCaseSensitive(container, "resources"), "requests");

		sum.gpus += (unsigned long)quantity(text(asks, DEMO_GPU));
		sum.cpu_milli += (unsigned long)(quantity(text(asks, "cpu")) * 1000 + 0.5);
		sum.memory_mib += (unsigned long)(quantity(text(asks, "memory")) / 1048576);
	}
	return sum;
}

static void take_room(struct audit *a, struct seen *pod, const char *name)
{
	const struct trace_node *n = &a->trace->nodes[pod->node];
	struct used *u = &a->nodes[pod->node];

	u->gpus += pod->asks.gpus;
	u->cpu_milli += pod->asks.cpu_milli;
	u->memory_mib += pod->asks.memory_mib;
	u->pods += pod->asks.pods;
	pod->takes = true;
	if (u->gpus > n->gpus || u->cpu_milli > n->cpu_milli || u->memory_mib > n->memory_mib ||
	    u->pods > NODE_PODS)
		wrong(
			a,
			"pod %.100s puts %s over its allocatable: %lu of %u GPUs, %lu of %um cpu, %lu of %u MiB",
			name, n->name, u->gpus, n->gpus, u->cpu_milli, n->cpu_milli, u->memory_mib,
			n->memory_mib);
}

static void give_room(struct audit *a, struct seen *pod)
{
	struct used *u = &a->nodes[pod->node];

	u->gpus -= pod->asks.gpus;
	u->cpu_milli -= pod->asks.cpu_milli;
	u->memory_mib -= pod->asks.memory_mib;
	u->pods -= pod->asks.pods;
	pod->takes = false;
}

static void see_node(struct audit *a, struct seen *pod, const char *name, const char *node)
{
	long at = find_node(a->trace, node);

	if (at < 0)
		wrong(a, "pod %.100s is bound to %.100s, which is no node", name, node);
	else if (pod->node >= 0 && pod->node != at)
		wrong(a, "pod %.100s is bound to %.100s and to %.100s", name,
		      a->trace->nodes[pod->node].name, node);
	if (at >= 0 && pod->node < 0) {
		pod->node = at;
		a->bound++;
	}
}

static void see_pod(struct audit *a, const cJSON *object)
{
	const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(object, "metadata");
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(object, "spec");
	const char *phase = text(cJSON_GetObjectItemCaseSensitive(object, "status"), "phase");
	const char *name = text(metadata, "name"), *node = text(spec, "nodeName");
	bool failed = strcmp(phase, "Failed") == 0, ended = failed || strcmp(phase, "Succeeded") == 0;
	struct seen *pod = find_pod(a, metadata);

	if (pod == NULL)
		return;
	a->pods += !pod->there;
	pod->there = true;
	if (node[0] != '\0')
		see_node(a, pod, name, node);
	a->ended += ended && !pod->ended;
	a->failed += failed && !pod->failed;
	pod->ended = ended;
	pod->failed = failed;
	if (pod->takes && ended)
		give_room(a, pod);
	if (!pod->takes && !ended && pod->node >= 0) {
		pod->asks = requests(spec);
		take_room(a, pod, name);
	}
}

void audit_line(struct audit *a, const char *line, size_t bytes)
{
	cJSON *event = cJSON_ParseWithLength(line, bytes);
	const char *type = text(event, "type");

	a->events++;
	if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
		see_pod(a, cJSON_GetObjectItemCaseSensitive(event, "object"));
	else if (strcmp(type, "BOOKMARK") != 0)
		wrong(a, "the watch of pods says %.200s", line);
	cJSON_Delete(event);
}

void audit_list(struct audit *a, const char *json, size_t bytes)
{
	cJSON *list = cJSON_ParseWithLength(json, bytes);
	const cJSON *items = cJSON_GetObjectItemCaseSensitive(list, "items"), *pod;

	if (!cJSON_IsArray(items))
		wrong(a, "the list of pods can't be read");
	snprintf(a->version, sizeof(a->version), "%s",
	         text(cJSON_GetObjectItemCaseSensitive(list, "metadata"), "resourceVersion"));
	cJSON_ArrayForEach(pod, items) see_pod(a, pod);
	cJSON_Delete(list);
}

struct audit_gangs audit_gangs(const struct audit *a)
{
	struct audit_gangs g = { 0 };

	for (size_t i = 0; i < a->trace->jobs_n; i++) {
		unsigned pods = a->trace->jobs[i].pods, bound = 0;

		for (unsigned p = 0; p < pods; p++)
			bound += a->seen[a->first[i] + p].node >= 0;
		g.whole += bound == pods;
		g.whole_of_several += bound == pods && pods > 1;
		g.part += bound > 0 && bound < pods;
		g.none += bound == 0;
	}
	return g;
}
