/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/trace/usage.h"

#include "ipc/memory.h"
#include "ipc/observe.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void node_take(struct usage_figures *out, uint32_t resources, const struct node_view *n)
{
	const bool open = (n->flags & NODE_CORDONED) == 0;

	for (uint32_t r = 0; r < resources; r++) {
		struct usage_row *row = &out->rows[r];
		const double free = (double)n->allocatable[r] - (double)n->used[r];

		row->allocatable += (double)n->allocatable[r];
		row->used += (double)n->used[r];
		if (!open || free <= 0)
			continue;
		row->free += free;
		if (n->used[r] > 0)
			row->fragmented += free;
		if (free > row->largest_free)
			row->largest_free = free;
	}
}

void usage_read(struct usage_figures *out, const struct observer *o)
{
	const uint32_t resources = observe_resources_there(o), nodes = observe_nodes_there(o);
	struct node_view *one = must_alloc(sizeof(*one));
	char name[OBSERVE_NAME_MAX];

	memset(out, 0, sizeof(*out));
	out->n = o->places.limits.resources;
	for (node_id id = 0; id < nodes; id++)
		if (observe_node_amounts(o, id, resources, one) && (one->flags & NODE_PRESENT))
			node_take(out, resources, one);
	for (uint32_t r = 0; r < out->n; r++)
		snprintf(out->rows[r].name, sizeof(out->rows[r].name), "%.*s", USAGE_NAME_MAX - 1,
		         observe_name(o, r, name));
	free(one);
}

bool usage_is_short(const struct reason *r, uint32_t resource)
{
	for (uint32_t i = 0; i < r->counts_n && i < FILTER_COUNTS_MAX; i++)
		if (r->counts[i].why == FILTER_INSUFFICIENT && r->counts[i].arg == resource)
			return true;
	return false;
}

const struct usage_row *usage_pieces(const struct usage_figures *u, const struct reason *r,
                                     const struct shortfall *s)
{
	const struct usage_row *row = s->resource < u->n ? &u->rows[s->resource] : NULL;

	return row && usage_is_short(r, s->resource) && row->free > (double)s->have ? row : NULL;
}
