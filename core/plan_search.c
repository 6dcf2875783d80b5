/* The last way of a plan: every way there is, as far as PLAN_TRIES go. */
#include "core/plan_impl.h"

static uint32_t next_rank(struct views *vs, kind_id kind, uint32_t from)
{
	const struct view *v = views_get(vs, kind);
	uint32_t rank = from;

	while (rank < vs->nodes->count && !view_open(v, rank))
		rank++;
	vs->steps += (rank - from) / 16 + 1;
	return rank;
}

/* When the order doesn't count, up to swapping members of one kind: those take ranks that do
 * not fall, and those left out come last.  Depth first; rank `end` stands for left out. */
static enum plan_answer search_in_order(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t need)
{
	const uint32_t end = vs->nodes->count;
	uint32_t depth = 0, from = 0, left_out = 0;

	for (uint32_t tries = 0; tries < PLAN_TRIES && vs->steps < PLAN_STEPS; tries++) {
		kind_id kind = kind_at(plan, gs, plan->set[depth]);
		uint32_t rank = from <= end ? next_rank(vs, kind, from) : end;

		if (rank < end || (from <= end && left_out < plan->set_n - need)) {
			plan->ranks[depth] = rank;
			if (rank < end)
				plan_take(plan, vs, plan->set[depth], rank, kind);
			else
				left_out++;
			if (plan->placed == need)
				return PLAN_PLACED;
			depth++;
			from = kind_at(plan, gs, plan->set[depth]) == kind ? rank : 0;
			continue;
		}
		if (depth == 0)
			return PLAN_IMPOSSIBLE;
		depth--;
		from = plan->ranks[depth] + 1;
		if (plan->ranks[depth] < end)
			plan_undo(plan, vs, gs, plan->set[depth]);
		else
			left_out--;
	}
	while (depth-- > 0)
		if (plan->ranks[depth] < end)
			plan_undo(plan, vs, gs, plan->set[depth]);
	return PLAN_GAVE_UP;
}

/* ---- when the order counts ------------------------------------------------------------- */

/* Where each kind begins in the set. */
static void groups_lay_out(struct plan *plan, const struct views *vs, const struct gangs *gs)
{
	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].used = 0;
	for (uint32_t i = plan->set_n; i-- > 0;)
		group_of(plan, vs, kind_at(plan, gs, plan->set[i]))->first = i;
}

/* A pick is a kind and a rank: group * nodes + rank.  The next one from `from` on that can be
 * made, or groups * nodes. */
static uint64_t next_pick(const struct plan *plan, struct views *vs, uint64_t from)
{
	const uint32_t nodes = vs->nodes->count;
	uint32_t i = (uint32_t)(from / nodes), at = (uint32_t)(from % nodes);

	for (; i < plan->groups_n; i++, at = 0) {
		const struct plan_group *g = &plan->groups[i];
		uint32_t rank = g->used < g->wanted ? next_rank(vs, g->kind, at) : nodes;

		if (rank < nodes)
			return (uint64_t)i * nodes + rank;
	}
	return (uint64_t)plan->groups_n * nodes;
}

static void pick_undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint64_t pick)
{
	struct plan_group *g = &plan->groups[pick / vs->nodes->count];

	plan_undo(plan, vs, gs, plan->set[g->first + --g->used]);
}

/* Any kind may be next, on any node that takes it then. */
static enum plan_answer search_any_order(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t need)
{
	const uint32_t nodes = vs->nodes->count;
	const uint64_t end = (uint64_t)plan->groups_n * nodes;
	uint32_t depth = 0;
	uint64_t from = 0;

	groups_lay_out(plan, vs, gs);
	for (uint32_t tries = 0; tries < PLAN_TRIES && vs->steps < PLAN_STEPS; tries++) {
		uint64_t pick = next_pick(plan, vs, from);

		if (pick < end) {
			struct plan_group *g = &plan->groups[pick / nodes];

			plan->picks[depth++] = pick;
			plan_take(plan, vs, plan->set[g->first + g->used++], (uint32_t)(pick % nodes), g->kind);
			if (plan->placed == need)
				return PLAN_PLACED;
			from = 0;
			continue;
		}
		if (depth == 0)
			return PLAN_IMPOSSIBLE;
		from = plan->picks[--depth] + 1;
		pick_undo(plan, vs, gs, plan->picks[depth]);
	}
	while (depth > 0)
		pick_undo(plan, vs, gs, plan->picks[--depth]);
	return PLAN_GAVE_UP;
}

enum plan_answer set_search(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t need)
{
	return plan->ordered ? search_any_order(plan, vs, gs, need) : search_in_order(plan, vs, gs, need);
}
