/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/rows.h"

#include "ctl/term/ctl.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdio.h>
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

	for (node_id id = 0, there = observe_nodes_there(o); id < there; id++) {
		if (!observe_node(o, id, one))
			continue;
		nodes.at = must_reach(nodes.at, &room, nodes.n, 64, sizeof(*nodes.at));
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

/* False for a group without a member of muster's: another scheduler's, or one that is not used. */
static bool has_members(const struct gang_row *row)
{
	return row->members > 0 || row->succeeded > 0 || row->failed > 0;
}

struct gangs rows_gangs(const struct observer *o, const char *wanted)
{
	struct gang_copy *one = must_alloc(sizeof(*one));
	struct gangs g = { 0 };
	size_t room = 0;

	for (gang_id id = 0; id < o->places.limits.gangs; id++) {
		if (!observe_gang(o, id, one) ||
		    (wanted != NULL ? strcmp(wanted, one->name) != 0 : !has_members(&one->row)))
			continue;
		g.at = must_reach(g.at, &room, g.n, 16, sizeof(*g.at));
		g.at[g.n++] = *one;
	}
	free(one);
	if (g.n > 1)
		qsort(g.at, g.n, sizeof(*g.at), compare_gangs);
	return g;
}

const char *rows_states_text(const struct gangs *gangs, char out[256])
{
	static const struct {
		const char *name;
		uint32_t state;
	} shown[] = { { "pending", GANG_INCOMPLETE }, { "waiting", GANG_WAITING },
		          { "binding", GANG_BINDING },    { "running", GANG_PLACED },
		          { "degraded", GANG_DEGRADED },  { "failed", GANG_FAILED },
		          { "finished", GANG_FINISHED } };
	uint64_t n[GANG_STATES] = { 0 };
	const char *between = ": ";
	int at = snprintf(out, 256, "%zu", gangs->n);

	for (size_t i = 0; i < gangs->n; i++) {
		const uint32_t state = gangs->at[i].row.state;

		n[state < GANG_STATES ? state : GANG_NONE]++;
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (n[shown[i].state] == 0)
			continue;
		at += snprintf(out + at, 256 - (size_t)at, "%s%" PRIu64 " %s", between, n[shown[i].state],
		               shown[i].name);
		between = ", ";
	}
	return out;
}

bool rows_gang_waits(const struct gang_copy *g)
{
	return g->row.reason.why != WAIT_NONE &&
	       (!gang_state_is_done(g->row.state) || g->row.members > g->row.bound);
}

uint64_t rows_gang_age_ns(const struct gang_copy *g, uint64_t now_ns)
{
	return g->row.created_ns != 0 && g->row.created_ns < now_ns ? now_ns - g->row.created_ns : 0;
}
