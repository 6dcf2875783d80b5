/* SPDX-License-Identifier: Apache-2.0 */
/* Is each victim needed?  Each stays for a moment, and the planner is asked again.  Where sums of
 * counts decide it is asked about one of them alone: the one that takes the least room. */
#include "core/cycle/victims_impl.h"

#define NEEDED_ASKED 64u /* with more victims the plan is not asked for without each */

/* Victim i and those that go with it stay, or go after all. */
static void unit_move(struct trial *t, uint32_t i, uint32_t unit, bool stays)
{
	const uint32_t from = unit == ID_NONE ? i : 0, end = unit == ID_NONE ? i + 1 : t->own;

	for (uint32_t k = from; k < end; k++) {
		const struct pod *p = &t->c->pods.slots[t->victims[k].pod];

		if (k != i && p->gang != unit)
			continue;
		if (stays)
			victims_allocate(t, t->victims[k].pod);
		else
			victims_release(t, t->victims[k].pod);
	}
}

static bool is_first_of_unit(const struct trial *t, uint32_t i, uint32_t unit)
{
	for (uint32_t k = 0; unit != ID_NONE && k < i; k++)
		if (t->c->pods.slots[t->victims[k].pod].gang == unit)
			return false;
	return true;
}

/* It fits without one of the units. */
static bool fits_without(struct trial *t, uint32_t i, uint32_t unit)
{
	struct core *c = t->c;
	bool fits;

	unit_move(t, i, unit, true);
	fits = victims_fit(t);
	if (fits)
		undo_all(&c->plan, &c->views, &c->gangs);
	unit_move(t, i, unit, false);
	return fits;
}

/* Of the plan that was just undone: it stands as long as the sum of counts of nodes suffices, each
 * of which depends on its own pods alone. */
static bool counts_decide(const struct trial *t)
{
	const struct core *c = t->c;
	const struct gang *g = &c->gangs.slots[t->index];
	const struct shape *s;

	if (!c->plan.exact || t->behind || gang_has_levels(g) || g->ready_class == CLASS_NONE)
		return false;
	s = class_shape(&c->pod_counts, g->ready_class);
	return s->body->ports_n == 0 && s->body->devices == 0;
}

/* How many members less find room if the unit stays. */
static uint64_t unit_takes(struct trial *t, uint32_t i, uint32_t unit)
{
	struct core *c = t->c;
	const class_id class = c->gangs.slots[t->index].ready_class;
	const uint32_t end = unit == ID_NONE ? i + 1 : t->own;
	uint64_t before = 0, after = 0;

	for (uint32_t k = i; k < end; k++) {
		const struct pod *p = &c->pods.slots[t->victims[k].pod];

		if (unit != ID_NONE && p->gang != unit)
			continue;
		before += views_count_at(&c->views, p->node, class);
		victims_allocate(t, t->victims[k].pod);
		after += views_count_at(&c->views, p->node, class);
	}
	for (uint32_t k = i; k < end; k++) {
		const struct pod *p = &c->pods.slots[t->victims[k].pod];

		if (unit == ID_NONE || p->gang == unit)
			victims_release(t, t->victims[k].pod);
	}
	return before - after;
}

/* It stays, and not its twin before it: that takes as much. */
static bool is_like_the_one_before(const struct trial *t, uint32_t i)
{
	const struct pod *p = &t->c->pods.slots[t->victims[i].pod], *before;

	if (i == 0)
		return false;
	before = &t->c->pods.slots[t->victims[i - 1].pod];
	return p->node == before->node && p->class == before->class &&
	       victims_unit(t, i - 1) == ID_NONE;
}

static bool is_any_needless(struct trial *t)
{
	const bool counts = counts_decide(t);
	uint64_t least = UINT64_MAX;
	uint32_t least_at = 0, least_unit = ID_NONE;

	for (uint32_t i = 0; i < t->own; i++) {
		const uint32_t unit = victims_unit(t, i);
		uint64_t takes;

		if (!is_first_of_unit(t, i, unit) ||
		    (counts && unit == ID_NONE && is_like_the_one_before(t, i)))
			continue;
		if (!counts && fits_without(t, i, unit))
			return true;
		takes = counts ? unit_takes(t, i, unit) : UINT64_MAX;
		if (takes < least) {
			least = takes;
			least_at = i;
			least_unit = unit;
		}
	}
	return counts && fits_without(t, least_at, least_unit);
}

bool victims_all_needed(struct trial *t)
{
	struct core *c = t->c;

	if (t->own == 0 || t->own > NEEDED_ASKED)
		return true;
	undo_all(&c->plan, &c->views, &c->gangs);
	return !is_any_needless(t) && victims_fit(t);
}
