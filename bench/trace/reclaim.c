/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/trace/reclaim.h"

#include "core/world/search_again.h"
#include "ipc/memory.h"

#include <stdlib.h>

#define PATIENCE_S 30u /* muster-frontend --reclaim-patience */

struct trace_reclaim {
	struct search_again *again;
	uint32_t flags;
};

struct trace_reclaim *trace_reclaim_new(const struct limits *limits, uint32_t flags)
{
	struct trace_reclaim *t = must_alloc(sizeof(*t));

	*t = (struct trace_reclaim){ .again = search_again_new(limits), .flags = flags };
	return t;
}

void trace_reclaim_free(struct trace_reclaim *t)
{
	if (!t)
		return;
	search_again_free(t->again);
	free(t);
}

struct event_preemption trace_reclaim_terms(const struct trace_reclaim *t)
{
	return (struct event_preemption){ .flags = PREEMPTION_EXPLAIN | PREEMPTION_ON | t->flags,
		                              .reclaim_patience_s = PATIENCE_S };
}

void trace_reclaim_follow(struct trace_reclaim *t, const struct record *r)
{
	search_again_follow(t->again, r, 0);
}

static struct record *impossible(const struct search_ticket *ticket)
{
	struct record *r = must_alloc(sizeof(*r) + sizeof(struct event_answer));

	*r = (struct record){ .bytes = (uint32_t)(sizeof(*r) + sizeof(struct event_answer)),
		                  .kind = EVENT_ANSWER };
	*(struct event_answer *)(void *)(r + 1) =
		(struct event_answer){ .ticket = ticket->number,
		                       .gang = ticket->gang,
		                       .generation = ticket->generation,
		                       .verdict = ANSWER_IMPOSSIBLE };
	return r;
}

struct record *trace_reclaim_answer(const struct trace_reclaim *t, const struct core *core)
{
	struct search_ticket ticket;
	struct record *answer;

	if (!search_again_open(core, &ticket))
		return NULL;
	answer = search_again_reclaim(t->again, core, ticket.number, 0);
	return answer ? answer : impossible(&ticket);
}
