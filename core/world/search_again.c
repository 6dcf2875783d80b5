/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/search_again.h"

#include "core/lifecycle/state.h"
#include "core/world/keeper.h"
#include "core/world/lookout.h"
#include "core/world/ticket_search.h"
#include "ipc/memory.h"

#include <stdlib.h>

struct search_again {
	struct keeper *keeper;
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

void search_again_spend(struct search_again *s, uint32_t pod)
{
	keeper_spend(s->keeper, pod);
}

struct record *search_again(const struct search_again *s, const struct core *core, uint64_t ticket,
                            uint64_t position)
{
	const struct ticket *t = NULL;
	struct record *answer;
	struct kept kept;

	for (uint32_t i = 0; i < TICKETS_MAX; i++)
		if (core->tickets.all[i].number == ticket)
			t = &core->tickets.all[i];
	if (!t || !keeper_is_on(s->keeper) || keeper_make(s->keeper, core, NULL, &kept) < 0)
		return NULL;
	kept.facts.steps_most = LOOKOUT_STEPS;
	answer = ticket_search(&kept, t, position, core->tickets.flags);
	kept_free(&kept);
	return answer;
}

bool search_again_was_cut(const struct event_answer *answer)
{
	return (answer->verdict == ANSWER_GAVE_UP || answer->gap != 0) && answer->steps < LOOKOUT_STEPS;
}
