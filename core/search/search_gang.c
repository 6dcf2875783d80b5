/* SPDX-License-Identifier: Apache-2.0 */
/* The best set of victims for a gang: branch and bound over units, asking the planner.
 *
 *   level    sets whose highest priority is P, the lowest P first: a set without violations there
 *            is better than all of higher levels
 *   branch   units by importance, the most important first: it stays, else it goes.  The first set
 *            found is kube-scheduler's reprieve order
 *   bound    units that go cost so much already; if the planner refuses with all undecided units
 *            away, it refuses every set of the branch
 *   twins    pods of one node that differ in rank, start and name alone go in that order
 *
 * The second bound needs that releasing pods never makes a node infeasible.  Required affinity,
 * hard spreads and WorkloadPolicies of the gang break that: then each set is asked by itself, after
 * a first one was found as if it held. */
#include "core/search/gang_impl.h"

#include "core/plan/minimum.h"
#include "core/plan/reason.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define PLAN_STEPS_LEAST 100u /* of work for one question to the planner */

enum plan_answer gang_ask(struct gang_question *q)
{
	struct core *c = q->s.c;
	struct reason r;
	enum plan_answer answer;

	q->s.steps += PLAN_STEPS_LEAST;
	if (c->nodes.present == 0)
		return PLAN_IMPOSSIBLE;
	budget_reset(&c->budget);
	reason_begin(&r, q->g, &c->nodes);
	if (gang_asks_minimum(q->g) && !minimum_met(q->g, &c->pods, &c->shapes, &c->nodes, c->own, &r))
		return PLAN_IMPOSSIBLE;
	c->plan.search = true;
	gang_need_find(q->g, &c->need);
	gang_ready_class_find(&c->gangs, q->g);
	answer = plan_gang(&c->plan, &c->views, false, &c->gangs, q->g, &c->need);
	if (answer == PLAN_PLACED)
		undo_all(&c->plan, &c->views, &c->gangs);
	q->s.steps += c->budget.spent;
	return answer;
}

static bool class_is_monotone(const struct pod_counts *cs, class_id class)
{
	const struct shape_links *links = class_links(cs, class);

	if (!links)
		return true;
	for (uint32_t i = 0; i < links->spreads_n; i++)
		if (links->spreads[i].spread->flags & SPREAD_HARD)
			return false;
	return links->affinity == SELECTOR_NONE && !links->policy.policy;
}

/* Nothing is decided. */
static void level_reset(struct gang_question *q)
{
	for (uint32_t i = 0; i < q->units_n; i++)
		q->units[i].decision = UNDECIDED;
	memset(q->tallies, 0, q->s.c->gangs.groups * sizeof(*q->tallies));
	memset(q->used, 0, q->s.facts->budgets_n * sizeof(*q->used));
	q->objective = (struct objective){ .highest = INT32_MIN };
}

/* ... and the units from `first` on are away. */
static void level_remove(struct gang_question *q, uint32_t first)
{
	for (uint32_t i = first; i < q->units_n; i++)
		for (uint32_t k = 0; k < q->units[i].n; k++)
			search_remove(&q->s, q->pods[q->units[i].pods + k]);
	level_reset(q);
}

/* Units are sorted by priority: index of the first of the level below that of units[end - 1]. */
static uint32_t level_begin(const struct gang_question *q, uint32_t end)
{
	uint32_t first = end - 1;

	while (first > 0 &&
	       q->units[first - 1].importance.priority == q->units[end - 1].importance.priority)
		first--;
	return first;
}

/* True if the level's best set is found by counts: what is found by anything else is no better. */
static bool level_counts(struct gang_question *q, uint32_t first)
{
	level_reset(q);
	return gang_counts(q, first);
}

/* True if a set of whole gangs is kept, and nothing else can go in the level. */
static bool level_blocks(struct gang_question *q, uint32_t first)
{
	level_reset(q);
	return gang_blocks(q, first);
}

static void level_branch(struct gang_question *q, uint32_t first, enum plan_answer answer)
{
	level_remove(q, first);
	if (answer == PLAN_PLACED && !q->monotone) {
		q->seeding = true;
		gang_branch(q, first, answer);
		q->seeding = false;
		level_remove(q, first);
	}
	if (answer != PLAN_IMPOSSIBLE || !q->monotone) {
		gang_branch(q, first, answer);
		level_remove(q, first);
	}
}

static void search_levels(struct gang_question *q)
{
	const class_id class = q->g->ready_class;
	/* Then room by sums is as good as an answer of the planner, or nearly so. */
	const bool plain = class != CLASS_NONE && !class_links(&q->s.c->pod_counts, class);

	gang_room_begin(q);
	for (uint32_t end = q->units_n; end > 0 && !search_spent(&q->s);) {
		const uint32_t first = level_begin(q, end);
		/* Units of all levels are enough. */
		const bool enough = first == 0 || gang_room_add(q, first, end);
		enum plan_answer answer;

		end = first;
		if (!enough)
			continue;
		if (plain && level_counts(q, first))
			return;
		level_remove(q, first);
		answer = gang_ask(q);
		if (!plain && answer == PLAN_PLACED && level_counts(q, first))
			return;
		q->offered = answer == PLAN_PLACED && level_blocks(q, first);
		level_branch(q, first, answer);
		/* A higher level is better only with fewer violations. */
		if (q->out->found && q->out->objective.violations == 0)
			return;
	}
}

/* The lowest priority of the ready members; false if one of them may not preempt. */
static bool preemptor(const struct core *c, const struct search_facts *facts, const struct gang *g,
                      int32_t *priority)
{
	*priority = INT32_MAX;
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (p->readiness != MEMBER_READY)
			continue;
		if (facts->pods[id].never)
			return false;
		*priority = p->priority < *priority ? p->priority : *priority;
	}
	if (g->flags & GANG_PRIORITY)
		*priority = g->parts->priority;
	return true;
}

static void question_begin(struct gang_question *q)
{
	const struct core *c = q->s.c;

	q->pods = must_array(c->pods.used + 1u, sizeof(*q->pods));
	q->tallies = must_array(c->gangs.groups, sizeof(*q->tallies));
	q->used = must_array(q->s.facts->budgets_n + 1u, sizeof(*q->used));
	q->monotone = true;
	for (pod_id id = q->g->first; id != ID_NONE; id = c->pods.slots[id].next)
		if (c->pods.slots[id].readiness == MEMBER_READY)
			q->monotone = q->monotone && class_is_monotone(&c->pod_counts, c->pods.slots[id].class);
}

static void question_free(struct gang_question *q)
{
	search_end(&q->s);
	free(q->units);
	free(q->before);
	free(q->pods);
	free(q->singles);
	free(q->ranks);
	gang_room_free(q->room);
	free(q->tallies);
	free(q->used);
}

/* It fits once what ends soon by itself has gone, too. */
static bool fits_soon(struct gang_question *q)
{
	bool fits;

	if (!q->s.facts->reclaims || search_remove_soon(&q->s, true) == 0)
		return false;
	fits = gang_ask(q) == PLAN_PLACED;
	search_remove_soon(&q->s, false);
	return fits;
}

static enum gang_answer answer_of(struct gang_question *q)
{
	if (gang_is_hopeless(q))
		return VICTIMS_IMPOSSIBLE;
	if (gang_ask(q) == PLAN_PLACED)
		return VICTIMS_NEEDLESS;
	if (search_remove_nominated(&q->s) + search_remove_ending(&q->s) > 0 &&
	    gang_ask(q) == PLAN_PLACED)
		return VICTIMS_WAITS;
	if (fits_soon(q))
		return VICTIMS_WAITS;
	gang_units_find(q);
	search_levels(q);
	if (search_spent(&q->s) || q->unsure)
		return VICTIMS_GAVE_UP;
	return q->out->found ? VICTIMS_PROVED : VICTIMS_IMPOSSIBLE;
}

bool search_asks_for_devices(const struct core *c, const struct gang *g)
{
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next)
		if (c->shapes.slots[c->pods.slots[id].shape].body->devices != 0)
			return true;
	return false;
}

int search_gang(struct core *c, const struct search_facts *facts, gang_id gang,
                struct gang_search *out)
{
	struct gang_question q = { .g = gangs_group(&c->gangs, gang), .out = out };
	int32_t priority;

	if (!q.g)
		return -ENOENT;
	*out = (struct gang_search){ .answer = VICTIMS_UNASKED };
	if ((q.g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED)) || gang_quorum_met(q.g) ||
	    !gang_enough(q.g, MEMBER_READY))
		return 0;
	if (!preemptor(c, facts, q.g, &priority)) {
		out->answer = VICTIMS_NEVER;
		return 0;
	}
	if (search_asks_for_devices(c, q.g)) {
		out->answer = VICTIMS_DEVICES;
		return 0;
	}
	search_begin(&q.s, c, facts, priority);
	question_begin(&q);
	out->answer = answer_of(&q);
	out->steps = q.s.steps;
	question_free(&q);
	return 0;
}

void gang_search_free(struct gang_search *s)
{
	free(s->pods);
	*s = (struct gang_search){ 0 };
}
