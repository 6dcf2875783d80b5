/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/search_again.h"

#include "core/cycle/turn_asks.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/state.h"
#include "core/world/keeper.h"
#include "core/world/lookout.h"
#include "core/world/ticket_search.h"
#include "ipc/memory.h"

#include <stdlib.h>

struct search_again {
	struct keeper *keeper;
	struct kept kept; /* of the last search: the next one is made in its core */
};

struct search_again *search_again_new(const struct limits *limits)
{
	struct search_again *s = must_alloc(sizeof(*s));

	s->keeper = keeper_new(limits);
	return s;
}

void search_again_free(struct search_again *s)
{
	if (!s)
		return;
	kept_free(&s->kept);
	keeper_free(s->keeper);
	free(s);
}

void search_again_follow(struct search_again *s, const struct record *r, int rc)
{
	if (rc == 0)
		keeper_take(s->keeper, r);
}

bool search_again_open(const struct core *core, struct search_ticket *out)
{
	for (uint32_t i = 0; core->tickets.n > 0 && i < TICKETS_MAX; i++) {
		const struct ticket *t = &core->tickets.all[i];

		if (t->number == 0 || t->answer)
			continue;
		*out = (struct search_ticket){ .number = t->number,
			                           .gang = t->gang,
			                           .generation = t->generation };
		return true;
	}
	return false;
}

void search_again_spend(struct search_again *s, const struct core *core, uint32_t pod)
{
	keeper_spend(s->keeper, core, pod);
}

static const struct ticket *ticket_of(const struct core *core, uint64_t number)
{
	for (uint32_t i = 0; i < TICKETS_MAX; i++)
		if (core->tickets.all[i].number == number)
			return &core->tickets.all[i];
	return NULL;
}

static struct record *answer(struct search_again *s, const struct core *core,
                             const struct ticket *t, uint64_t position,
                             const struct keeper_hooks *hooks)
{
	if (!t || !keeper_is_on(s->keeper) || keeper_make_again(s->keeper, core, hooks, &s->kept) < 0)
		return NULL;
	s->kept.facts.steps_most = LOOKOUT_STEPS;
	return ticket_search(&s->kept, t, position, core->tickets.flags);
}

struct record *search_again(struct search_again *s, const struct core *core, uint64_t ticket,
                            uint64_t position)
{
	return answer(s, core, ticket_of(core, ticket), position, NULL);
}

/* False: no queue uses so much that the gang may take anything of it.  What goes for a gang never
 * makes it more. */
static bool may_reclaim(const struct core *core, uint32_t gang)
{
	const struct shares *shares = core->turns.shares;
	struct share_ask ask;

	ask_find(core, gang, &ask);
	for (uint32_t q = 0; q < shares_set(shares)->n; q++)
		if (shares_is_leaf(shares, q) &&
		    shares_reclaim(shares, queued_gang(core, gang), q, &ask, &ask,
		                   core->tickets.terms.flags & PREEMPTION_FAIR))
			return true;
	return false;
}

struct asking {
	const struct core *core;
	uint32_t gang;
};

static bool has_part(void *context, struct record *r)
{
	const struct asking *a = context;
	const struct event_pod *pod = (const void *)(r + 1);
	const struct event_gang *gang = (const void *)(r + 1);

	if (r->kind == EVENT_POD)
		return pod->gang == a->gang || pod->node != ID_NONE;
	return r->kind != EVENT_GANG || gang->gang == a->gang ||
	       gang_have(&a->core->gangs.slots[gang->gang]) > 0;
}

struct record *search_again_reclaim(struct search_again *s, const struct core *core,
                                    uint64_t ticket, uint64_t position)
{
	const struct ticket *t = ticket_of(core, ticket);
	struct asking asking = { .core = core };
	const struct keeper_hooks hooks = { .edit = has_part, .context = &asking };

	if (!t || !core->turns.shares || !may_reclaim(core, t->gang))
		return NULL;
	asking.gang = t->gang;
	return answer(s, core, t, position, &hooks);
}

bool search_again_was_cut(const struct event_answer *answer)
{
	return (answer->verdict == ANSWER_GAVE_UP || answer->gap != 0) && answer->steps < LOOKOUT_STEPS;
}
