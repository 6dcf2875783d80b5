/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/backfill_state.h"

#include "core/base/probe.h"
#include "core/lifecycle/state.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

void backfill_init(struct core *c)
{
	c->backfill.whole_nodes =
		must_array((c->nodes.limit + 63) / 64, sizeof(*c->backfill.whole_nodes));
}

void backfill_free(struct core *c)
{
	free(c->backfill.whole_nodes);
}

void backfill_clear(struct core *c)
{
	c->backfill.gang = c->backfill.search_next = ID_NONE;
	stat_set(&c->ledger.ledger->gauges.reserved_gang, 0);
}

void backfill_end(struct core *c)
{
	assert(c->backfill.gang == ID_NONE || c->backfill.gang < c->gangs.n);
	if (c->backfill.gang == ID_NONE)
		return;
	assert(c->gangs.slots[c->backfill.gang].generation != 0);
	PROBE(backfill_released, c->backfill.gang, c->gangs.slots[c->backfill.gang].generation);
	c->backfill.gang = ID_NONE;
	stat_set(&c->ledger.ledger->gauges.reserved_gang, 0);
	views_hold(&c->views, NULL, 0, NULL, NULL);
	nodes_note_freed(&c->nodes);
}

/* Out of line: gangs end often, and few run with promises. */
static __attribute__((noinline, cold)) void promises_forget(struct core *c, uint32_t index)
{
	if (promise_drop(c->promises.timeline, index, false))
		nodes_note_freed(&c->nodes);
}

void backfill_forget(struct core *c, uint32_t index)
{
	if (c->backfill.gang == index)
		backfill_end(c);
	if (c->promises.timeline)
		promises_forget(c, index);
}
