/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound: which units go. */
#include "core/search/gang_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OFFERED_STEPS UINT64_C(1000000) /* to improve what was offered */

/* By the criteria that a further victim can only make worse. */
static int cost_compare(const struct objective *a, const struct objective *b)
{
	if (a->violations != b->violations)
		return numbers_compare(a->violations, b->violations);
	if (a->highest != b->highest)
		return a->highest < b->highest ? -1 : 1;
	if (a->broken != b->broken)
		return numbers_compare(a->broken, b->broken);
	if (a->sum != b->sum)
		return numbers_compare(a->sum, b->sum);
	if (a->pods != b->pods)
		return numbers_compare(a->pods, b->pods);
	return numbers_compare(a->rank_sum, b->rank_sum);
}

/* The pods that go, sorted by name. */
static pod_id *victims_of(const struct gang_question *q)
{
	pod_id *pods = must_array(q->objective.pods + 1u, sizeof(*pods));
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->units_n; i++)
		for (uint32_t k = 0; q->units[i].decision == GOES && k < q->units[i].n; k++)
			pods[n++] = q->pods[q->units[i].pods + k];
	assert(n == q->objective.pods);
	if (n > 1)
		qsort_r(pods, n, sizeof(*pods), gang_names_compare, (void *)(uintptr_t)&q->s);
	return pods;
}

/* The last criterion, of two different sets of one size. */
static bool names_better(const struct gang_question *q, const pod_id *a, const pod_id *b,
                         uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return gang_name_before(q, a[i], b[i]);
	return false;
}

/* The pods that go are enough: keeps them if no better set is known. */
static void keep(struct gang_question *q)
{
	struct gang_search *out = q->out;
	pod_id *pods = victims_of(q);
	int order = out->found ? cost_compare(&q->objective, &out->objective) : -1;

	if (order == 0)
		order = numbers_compare(out->objective.start_sum, q->objective.start_sum);
	if (order == 0)
		order = names_better(q, pods, out->pods, q->objective.pods) ? -1 : 1;
	if (order > 0) {
		free(pods);
		return;
	}
	free(out->pods);
	out->found = true;
	q->offered = false;
	out->objective = q->objective;
	out->pods = pods;
}

static void count_budgets(struct gang_question *q, pod_id id, int change)
{
	const struct search_pod *f = search_facts_of(&q->s, id);

	for (uint32_t i = 0; i < f->items_n; i++) {
		const uint32_t budget = q->s.facts->items[f->items + i];
		const int32_t allowed = q->s.facts->allowed[budget];

		q->used[budget] += (uint32_t)change;
		if (change > 0 && (int64_t)q->used[budget] > (allowed > 0 ? allowed : 0))
			q->objective.violations++;
	}
}

static struct gang_undo *before(struct gang_question *q, const struct gang_unit *u)
{
	return &q->before[u - q->units];
}

/* The gang whose members are decided one by one; NULL: none. */
static struct tally *tally_of(struct gang_question *q, const struct gang_unit *u)
{
	return u->gang != ID_NONE && !u->whole && q->s.facts->gangs[u->gang].mode == DISRUPT_QUORUM
	           ? &q->tallies[u->gang]
	           : NULL;
}

static bool is_broken(struct gang_question *q, uint32_t gang, uint32_t goes)
{
	return goes > search_gang_facts(&q->s, gang)->surplus;
}

/* The unit goes.  False if no closed set that is better has it; then nothing has changed. */
static bool unit_go(struct gang_question *q, struct gang_unit *u)
{
	struct tally *t = tally_of(q, u);
	const struct gang_facts *f = u->gang != ID_NONE ? search_gang_facts(&q->s, u->gang) : NULL;

	if (t && is_broken(q, u->gang, t->goes + 1) && (t->stays > 0 || !f->goes_whole))
		return false;
	assert(u->decision == UNDECIDED);
	u->decision = GOES;
	before(q, u)->objective = q->objective;
	for (uint32_t i = 0; i < u->n; i++) {
		objective_add(&q->objective, &q->s, q->pods[u->pods + i], u->importance.priority);
		count_budgets(q, q->pods[u->pods + i], 1);
	}
	if (f && u->whole)
		q->objective.broken += !f->stale;
	else if (f) /* mode `pod` too: a gang that loses its quorum */
		q->objective.broken += !f->stale && q->tallies[u->gang].goes == f->surplus;
	if (f && !u->whole)
		q->tallies[u->gang].goes++;
	return true;
}

static void unit_ungo(struct gang_question *q, struct gang_unit *u)
{
	assert(u->decision == GOES);
	if (u->gang != ID_NONE && !u->whole)
		q->tallies[u->gang].goes--;
	for (uint32_t i = 0; i < u->n; i++)
		count_budgets(q, q->pods[u->pods + i], -1);
	q->objective = before(q, u)->objective;
	u->decision = UNDECIDED;
}

/* False if its twin goes, or its gang as a whole. */
static bool may_stay(struct gang_question *q, const struct gang_unit *u)
{
	const struct tally *t = tally_of(q, u);

	if (u->senior != NO_UNIT && q->units[u->senior].decision == GOES)
		return false;
	return !t || !is_broken(q, u->gang, t->goes);
}

static void unit_stay(struct gang_question *q, struct gang_unit *u)
{
	struct tally *t = tally_of(q, u);

	assert(u->decision == UNDECIDED);
	u->decision = STAYS;
	for (uint32_t i = 0; i < u->n; i++)
		search_restore(&q->s, q->pods[u->pods + i]);
	if (t)
		t->stays++;
}

static void unit_unstay(struct gang_question *q, struct gang_unit *u)
{
	struct tally *t = tally_of(q, u);

	assert(u->decision == STAYS);
	for (uint32_t i = 0; i < u->n; i++)
		search_remove(&q->s, q->pods[u->pods + i]);
	if (t)
		t->stays--;
	u->decision = UNDECIDED;
}

/* False if every set of the branch costs more than the best one, or is not allowed. */
static bool may_be_best(const struct gang_question *q)
{
	if (q->s.facts->respect && q->objective.violations > 0)
		return false;
	return !q->out->found || cost_compare(&q->objective, &q->out->objective) <= 0;
}

/* Of each role enough members are left in every gang that is not broken. */
static bool roles_hold(struct gang_question *q)
{
	for (uint32_t i = 0; i < q->units_n; i++) {
		const struct gang_unit *u = &q->units[i];
		const struct tally *t = tally_of(q, u);

		if (t && u->decision == GOES && !is_broken(q, u->gang, t->goes) &&
		    !search_roles_live(&q->s, u->gang))
			return false;
	}
	return true;
}

/* Every unit is decided. */
static void leaf(struct gang_question *q, enum plan_answer answer)
{
	if (!q->monotone && !q->seeding)
		answer = gang_ask(q);
	if (answer == PLAN_GAVE_UP)
		q->unsure = true;
	else if (answer == PLAN_PLACED && roles_hold(q))
		keep(q);
}

/* Tries the next decision for the unit; `answer`: of the planner with all undecided units away.
 * False when there is none. */
static bool decide(struct gang_question *q, struct gang_unit *u, enum plan_answer *answer)
{
	if (u->decision == UNDECIDED) {
		before(q, u)->answer = *answer;
		if (may_stay(q, u)) {
			unit_stay(q, u);
			*answer = q->monotone || q->seeding ? gang_ask(q) : *answer;
			if (*answer != PLAN_IMPOSSIBLE)
				return true;
			unit_unstay(q, u);
		}
	} else if (u->decision == STAYS) {
		unit_unstay(q, u);
	} else {
		unit_ungo(q, u);
		return false;
	}
	*answer = before(q, u)->answer;
	if (!unit_go(q, u))
		return false;
	if (may_be_best(q))
		return true;
	unit_ungo(q, u);
	return false;
}

/* The branches did not improve what was offered, and have not been above unit `least`: true if far
 * more sets of no more gangs are left above it than there are steps to look at them. */
static bool branches_are_endless(const struct gang_question *q, uint32_t first, uint32_t least)
{
	uint32_t open = 0, most = q->out->objective.broken;
	double sets = 1;

	for (uint32_t i = first; i < least && most > 0; i++) {
		most -= q->units[i].decision == GOES;
		open += q->units[i].decision == STAYS;
	}
	for (uint32_t k = 0; k < most && k < open; k++)
		sets *= (double)(open - k) / (k + 1);
	return sets > (double)q->s.facts->steps_most;
}

void gang_branch(struct gang_question *q, uint32_t first, enum plan_answer answer)
{
	const uint64_t asked = q->s.steps + OFFERED_STEPS;
	uint32_t at = first, least = q->units_n;
	bool asks = q->offered;

	while (!search_spent(&q->s)) {
		if (asks && q->s.steps > asked) {
			asks = false;
			if (q->offered && branches_are_endless(q, first, least)) {
				q->unsure = true;
				return;
			}
		}
		if (at == q->units_n) {
			leaf(q, answer);
			if (q->seeding)
				return;
		} else if (decide(q, &q->units[at], &answer)) {
			at++;
			continue;
		}
		/* Back to the last unit that may be decided otherwise. */
		if (at == first)
			return;
		at--;
		least = at < least ? at : least;
	}
}

/* Each unit from `first` on as goes[] says, with no other away; false: that is no closed set. */
static bool decide_all(struct gang_question *q, uint32_t first, const bool *goes)
{
	for (uint32_t i = first; i < q->units_n; i++) {
		struct gang_unit *u = &q->units[i];

		if (goes[i]) {
			for (uint32_t k = 0; k < u->n; k++)
				search_remove(&q->s, q->pods[u->pods + k]);
			if (!unit_go(q, u))
				return false;
		} else {
			if (!may_stay(q, u))
				return false;
			unit_stay(q, u);
		}
	}
	return true;
}

bool gang_try(struct gang_question *q, uint32_t first, const bool *goes)
{
	if (!decide_all(q, first, goes) || q->objective.violations > 0 || q->objective.broken > 0 ||
	    gang_ask(q) != PLAN_PLACED || !roles_hold(q))
		return false;
	keep(q);
	return true;
}

bool gang_offer(struct gang_question *q, uint32_t first, const bool *goes)
{
	if (!decide_all(q, first, goes) || !may_be_best(q) || gang_ask(q) != PLAN_PLACED ||
	    !roles_hold(q))
		return false;
	keep(q);
	return true;
}
