/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/view.h"

#include "ctl/term/ctl.h"
#include "frontend/dialect/reason.h"
#include "tests/demo/objects.h"

#include <stdlib.h>
#include <string.h>

static const struct trace *sorting;

/* Most GPUs first, then by name. */
static int compare_nodes(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (sorting->nodes[x].gpus != sorting->nodes[y].gpus)
		return sorting->nodes[x].gpus > sorting->nodes[y].gpus ? -1 : 1;
	return (x > y) - (x < y);
}

void view_new(struct view *v, const struct trace *trace)
{
	memset(v, 0, sizeof(*v));
	v->trace = trace;
	v->order = must_array(trace->nodes_n, sizeof(*v->order));
	v->heat = must_array(trace->nodes_n, 1);
	for (size_t i = 0; i < trace->nodes_n; i++)
		v->order[i] = i;
	sorting = trace;
	if (trace->nodes_n > 0)
		qsort(v->order, trace->nodes_n, sizeof(*v->order), compare_nodes);
}

static void forget_gangs(struct view *v)
{
	for (size_t i = 0; i < v->gangs_n; i++)
		free(v->gangs[i].reason);
	v->gangs_n = 0;
}

void view_free(struct view *v)
{
	forget_gangs(v);
	if (v->connected) {
		for (uint32_t i = 0; i < v->observer.places.limits.names; i++)
			free(v->names[i]);
		free(v->names);
		observer_close(&v->observer);
	}
	free(v->order);
	free(v->heat);
}

bool view_connect(struct view *v, const char *socket)
{
	struct link_error e;

	if (observer_open(&v->observer, socket, &e) < 0)
		return false;
	if (observe_count(&v->observer.ledger->gauges.synced) == 0) {
		observer_close(&v->observer);
		return false;
	}
	v->names = must_array(v->observer.places.limits.names, sizeof(*v->names));
	v->connected = true;
	return true;
}

static void view_read_counts(struct view *v)
{
	const struct core_stats *s = &v->observer.ledger->stats;

	v->pods_pending = observe_count(&v->observer.ledger->gauges.pods_pending);
	v->plans = observe_count(&s->plans);
	v->plan_ns_sum = observe_count(&s->plan_ns_sum);
	v->plan_ns_max = observe_count(&s->plan_ns_max);
	v->plan_ns_last = observe_count(&s->plan_ns_last);
	v->limits_hit = observe_count(&s->limits_hit);
	v->bad_records = observe_count(&s->bad_records);
}

static const char *name_text(const void *context, uint32_t id)
{
	const struct view *v = context;
	char text[OBSERVE_NAME_MAX];

	if (id >= v->observer.places.limits.names)
		return "";
	if (v->names[id] == NULL)
		v->names[id] = must_copy(observe_name(&v->observer, id, text));
	return v->names[id];
}

static uint32_t gpu_column(const struct view *v)
{
	char text[OBSERVE_NAME_MAX];

	for (uint32_t r = RESOURCE_EXTENDED; r < v->observer.places.limits.resources; r++)
		if (strcmp(observe_name(&v->observer, r, text), DEMO_GPU) == 0)
			return r;
	return ID_NONE;
}

/* The number behind the last dash of a node's name is its line in the trace. */
static long node_line(const struct view *v, const char *name)
{
	const char *dash = strrchr(name, '-');
	long line = dash != NULL ? strtol(dash + 1, NULL, 10) : -1;

	return line >= 0 && (size_t)line < v->trace->nodes_n &&
	               strcmp(v->trace->nodes[line].name, name) == 0
	           ? line
	           : -1;
}

static void read_nodes(struct view *v)
{
	static struct node_view node;
	unsigned char *by_line = must_array(v->trace->nodes_n, 1);
	const uint32_t gpu = gpu_column(v), nodes = observe_nodes_there(&v->observer);
	size_t left = v->trace->nodes_n;

	memset(by_line, 255, v->trace->nodes_n);
	v->gpus_used = 0;
	for (node_id id = 0; gpu != ID_NONE && left > 0 && id < nodes; id++) {
		long line;

		if (!observe_node(&v->observer, id, &node) || (line = node_line(v, node.name)) < 0)
			continue;
		left--;
		v->gpus_used += (unsigned long)node.used[gpu];
		by_line[line] = node.allocatable[gpu] > 0
		                    ? (unsigned char)(node.used[gpu] * 100 / node.allocatable[gpu])
		                    : 0;
	}
	for (size_t i = 0; i < v->trace->nodes_n; i++)
		v->heat[i] = by_line[v->order[i]];
	free(by_line);
}

/* Most members first, then the oldest. */
static bool before(const struct gang_row *a, const struct gang_row *b)
{
	if (a->members != b->members)
		return a->members > b->members;
	return a->created_ns < b->created_ns;
}

static void keep_waiting(struct view *v, const struct gang_copy *gang)
{
	size_t at = v->gangs_n;

	while (at > 0 && before(&gang->row, &v->gangs[at - 1].copy.row))
		at--;
	if (at == WAITING_MAX)
		return;
	if (v->gangs_n < WAITING_MAX)
		v->gangs_n++;
	memmove(&v->gangs[at + 1], &v->gangs[at], (v->gangs_n - 1 - at) * sizeof(v->gangs[0]));
	v->gangs[at] = (struct view_gang){ .copy = *gang };
}

static void read_gangs(struct view *v)
{
	static struct gang_copy gang;
	uint64_t left = observe_count(&v->observer.ledger->gauges.gangs);

	forget_gangs(v);
	v->waiting = v->binding = v->placed = v->ended = 0;
	for (gang_id id = 0; left > 0 && id < v->observer.places.limits.gangs; id++) {
		if (!observe_gang(&v->observer, id, &gang))
			continue;
		left--;
		v->placed += gang.row.placement == GANG_PLACED;
		v->binding += gang.row.placement == GANG_BINDING;
		v->ended += gang.row.members == 0;
		if (gang.row.placement != GANG_WAITING)
			continue;
		v->waiting++;
		keep_waiting(v, &gang);
	}
}

static void read_reasons(struct view *v)
{
	struct reason_names names = { .resource = name_text, .taint = name_text, .context = v };

	for (size_t i = 0; i < v->gangs_n; i++) {
		struct view_gang *g = &v->gangs[i];
		const struct reason *reason = &g->copy.row.reason;
		const struct reason_about about = { .gang = g->copy.name, .refusal = "" };
		size_t n = reason_text(reason, &about, &names, NULL, 0);

		g->reason = must_array(n + 1, 1);
		reason_text(reason, &about, &names, g->reason, n + 1);
	}
}

void view_read(struct view *v)
{
	view_read_counts(v);
	read_nodes(v);
	read_gangs(v);
	read_reasons(v);
}
