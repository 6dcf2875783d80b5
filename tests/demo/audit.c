/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/audit.h"

#include "ctl/term/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
	bool bound, ended, failed; /* at any time */
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
	a->by_name = must_array(trace->jobs_n, sizeof(*a->by_name));
	a->first = must_array(trace->jobs_n, sizeof(*a->first));
	a->seen = must_array(trace->pods_n, sizeof(*a->seen));
	for (size_t i = 0; i < trace->jobs_n; i++) {
		a->by_name[i] = i;
		a->first[i] = pods;
		pods += trace->jobs[i].pods;
	}
	sorting = trace;
	if (trace->jobs_n > 0)
		qsort(a->by_name, trace->jobs_n, sizeof(*a->by_name), compare_jobs);
}

void audit_free(struct audit *a)
{
	free(a->by_name);
	free(a->first);
	free(a->seen);
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

/* The pod's entry, by its group's label and the number behind its last dash. */
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

static void see(bool now, bool *before, size_t *count)
{
	*count += now && !*before;
	*before = *before || now;
}

static void see_pod(struct audit *a, const cJSON *object)
{
	const char *node = text(cJSON_GetObjectItemCaseSensitive(object, "spec"), "nodeName");
	const char *phase = text(cJSON_GetObjectItemCaseSensitive(object, "status"), "phase");
	struct seen *pod = find_pod(a, cJSON_GetObjectItemCaseSensitive(object, "metadata"));
	bool failed = strcmp(phase, "Failed") == 0;

	if (pod == NULL)
		return;
	see(node[0] != '\0', &pod->bound, &a->bound);
	see(failed || strcmp(phase, "Succeeded") == 0, &pod->ended, &a->ended);
	see(failed, &pod->failed, &a->failed);
}

void audit_line(struct audit *a, const char *line, size_t bytes)
{
	cJSON *event = cJSON_ParseWithLength(line, bytes);
	const char *type = text(event, "type");

	if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
		see_pod(a, cJSON_GetObjectItemCaseSensitive(event, "object"));
	else if (strcmp(type, "BOOKMARK") != 0)
		wrong(a, "an event of the watch of pods: %.200s", line);
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
			bound += a->seen[a->first[i] + p].bound;
		g.whole += bound == pods;
		g.whole_of_several += bound == pods && pods > 1;
		g.part += bound > 0 && bound < pods;
	}
	return g;
}

bool audit_stats(struct audit_stats *out, const char *json, size_t bytes)
{
	cJSON *o = cJSON_ParseWithLength(json, bytes);
	const cJSON *over = cJSON_GetObjectItemCaseSensitive(o, "overcommitted");
	const cJSON *unknown = cJSON_GetObjectItemCaseSensitive(o, "boundToUnknownNode");
	const cJSON *binds = cJSON_GetObjectItemCaseSensitive(o, "binds");
	bool ok = cJSON_IsNumber(over) && cJSON_IsNumber(unknown) && cJSON_IsNumber(binds);

	if (ok)
		*out = (struct audit_stats){ over->valuedouble, unknown->valuedouble, binds->valuedouble };
	cJSON_Delete(o);
	return ok;
}
