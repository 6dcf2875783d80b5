/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/rows.h"

#include "ctl/term/ctl.h"

#include <stdlib.h>
#include <string.h>

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct node_view *)a)->name, ((const struct node_view *)b)->name);
}

static int compare_gangs(const void *a, const void *b)
{
	return strcmp(((const struct gang_copy *)a)->name, ((const struct gang_copy *)b)->name);
}

struct nodes rows_nodes(const struct observer *o)
{
	struct nodes nodes = { .resources = o->places.limits.resources };
	struct node_view *one = must_alloc(sizeof(*one));
	size_t room = 0;

	for (node_id id = 0; id < o->places.limits.nodes; id++) {
		if (!observe_node(o, id, one))
			continue;
		if (nodes.n == room) {
			room = room * 2 + 64;
			nodes.at = must_grow(nodes.at, room * sizeof(*nodes.at));
		}
		nodes.at[nodes.n++] = *one;
		for (uint32_t r = 0; r < nodes.resources; r++)
			nodes.shown[r] = nodes.shown[r] || one->allocatable[r] != 0 || one->used[r] != 0;
	}
	free(one);
	nodes.shown[RESOURCE_PODS] = true;
	if (nodes.n > 1)
		qsort(nodes.at, nodes.n, sizeof(*nodes.at), compare_nodes);
	return nodes;
}

struct gangs rows_gangs(const struct observer *o, const char *wanted)
{
	struct gang_copy *one = must_alloc(sizeof(*one));
	struct gangs g = { 0 };
	size_t room = 0;

	for (gang_id id = 0; id < o->places.limits.gangs; id++) {
		if (!observe_gang(o, id, one) || (wanted != NULL && strcmp(wanted, one->name) != 0))
			continue;
		if (g.n == room) {
			room = room * 2 + 16;
			g.at = must_grow(g.at, room * sizeof(*g.at));
		}
		g.at[g.n++] = *one;
	}
	free(one);
	if (g.n > 1)
		qsort(g.at, g.n, sizeof(*g.at), compare_gangs);
	return g;
}

bool rows_gang_waits(const struct gang_copy *g)
{
	return g->row.reason.why != WAIT_NONE &&
	       (g->row.state != GANG_PLACED || g->row.members > g->row.bound);
}

uint64_t rows_gang_age_ns(const struct gang_copy *g, uint64_t now_ns)
{
	return g->row.created_ns != 0 && g->row.created_ns < now_ns ? now_ns - g->row.created_ns : 0;
}
