/* SPDX-License-Identifier: Apache-2.0 */
/* Candidate units of one node: pods of lower priority, and gangs with such members there. */
#include "core/search/pod_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static void pod_push(struct pod_question *q, pod_id id)
{
	q->pods = must_reach(q->pods, &q->pods_cap, q->pods_n, 64, sizeof(*q->pods));
	q->pods[q->pods_n++] = (struct victim){ .pod = id };
}

static struct pod_unit *unit_push(struct pod_question *q, const struct pod_unit *u)
{
	q->units = must_reach(q->units, &q->units_cap, q->units_n, 16, sizeof(*q->units));
	q->units[q->units_n] = *u;
	return &q->units[q->units_n++];
}

static void unit_of_pod(struct pod_question *q, pod_id id)
{
	unit_push(q, &(struct pod_unit){ .importance = search_importance(&q->s, id),
	                                 .gang = ID_NONE,
	                                 .pods = q->pods_n,
	                                 .n = 1,
	                                 .here = 1 });
	pod_push(q, id);
}

static int victims_compare(const void *a, const void *b, void *context)
{
	const struct importance left = search_importance(context, ((const struct victim *)a)->pod);
	const struct importance right = search_importance(context, ((const struct victim *)b)->pod);

	return importance_compare(&left, &right);
}

/* All members of the gang: those on other nodes first, then those here. */
static void unit_of_gang(struct pod_question *q, uint32_t gang, node_id node)
{
	const struct gang *g = &q->s.c->gangs.slots[gang];
	struct pod_unit u = { .importance = search_importance_of_gang(&q->s, gang),
		                  .gang = gang,
		                  .pods = q->pods_n };
	int32_t priority;

	for (int here = 0; here < 2; here++) {
		const uint32_t from = q->pods_n;

		for (pod_id id = g->first; id != ID_NONE; id = search_at(&q->s, id)->next)
			if (search_is_candidate(&q->s, id, &priority) &&
			    (search_at(&q->s, id)->node == node) == here)
				pod_push(q, id);
		u.here = q->pods_n - from;
		if (u.here > 1)
			qsort_r(q->pods + from, u.here, sizeof(*q->pods), victims_compare, &q->s);
	}
	u.n = q->pods_n - u.pods;
	unit_push(q, &u);
}

/* Members here that are the gang's to lose, the least important ones, as pods by themselves. */
static void units_of_surplus(struct pod_question *q, const pod_id *members, uint32_t n,
                             uint32_t gang)
{
	uint32_t surplus = search_gang_facts(&q->s, gang)->surplus;

	for (uint32_t i = n; i-- > 0 && surplus > 0;) {
		search_remove(&q->s, members[i]);
		if (search_roles_live(&q->s, gang)) {
			surplus--;
			continue;
		}
		search_restore(&q->s, members[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!q->s.away[members[i]])
			continue;
		search_restore(&q->s, members[i]);
		unit_of_pod(q, members[i]);
	}
}

/* True if the gang keeps its quorum without those members. */
static bool lives_without(struct pod_question *q, const pod_id *members, uint32_t n, uint32_t gang)
{
	bool lives = n <= search_gang_facts(&q->s, gang)->surplus;

	for (uint32_t i = 0; lives && i < n; i++)
		search_remove(&q->s, members[i]);
	lives = lives && search_roles_live(&q->s, gang);
	for (uint32_t i = 0; i < n; i++)
		search_restore(&q->s, members[i]);
	return lives;
}

/* The members of a gang on the node: each by itself if the gang can lose all of them, else the gang
 * as a whole.  `members` is scratch. */
static void units_of_gang(struct pod_question *q, uint32_t gang, node_id node, pod_id *members)
{
	const struct gang_facts *f = search_gang_facts(&q->s, gang);
	const bool partly = q->s.facts->gangs[gang].mode == DISRUPT_QUORUM && !f->stale;
	uint32_t n = 0;
	int32_t priority;

	for (uint32_t i = q->first[node]; i < q->first[node + 1]; i++)
		if (search_at(&q->s, q->bound[i])->gang == gang &&
		    search_is_candidate(&q->s, q->bound[i], &priority))
			members[n++] = q->bound[i];
	search_sort(&q->s, members, n);
	if (partly && (lives_without(q, members, n, gang) || !f->goes_whole))
		units_of_surplus(q, members, n, gang);
	else if (f->goes_whole)
		unit_of_gang(q, gang, node);
}

static int units_compare(const void *a, const void *b)
{
	return importance_compare(&((const struct pod_unit *)a)->importance,
	                          &((const struct pod_unit *)b)->importance);
}

/* True if no budget of the unit's pods is exhausted; then they are subtracted. */
static bool unit_takes_budget(struct pod_question *q, const struct pod_unit *u)
{
	bool all = true;

	for (uint32_t i = 0; i < u->n; i++) {
		const struct search_pod *f = search_facts_of(&q->s, q->pods[u->pods + i].pod);

		for (uint32_t k = 0; k < f->items_n; k++)
			if (--q->left[q->s.facts->items[f->items + k]] < 0)
				all = false;
	}
	for (uint32_t i = 0; !all && i < u->n; i++) {
		const struct search_pod *f = search_facts_of(&q->s, q->pods[u->pods + i].pod);

		for (uint32_t k = 0; k < f->items_n; k++)
			q->left[q->s.facts->items[f->items + k]]++;
	}
	return all;
}

static void budgets_reset(struct pod_question *q)
{
	for (uint32_t i = 0; i < q->s.facts->budgets_n; i++)
		q->left[i] = q->s.facts->allowed[i];
}

/* With `respect` only as many go of a budget as it allows, the least important ones. */
static void units_respect(struct pod_question *q)
{
	uint32_t kept = 0;

	budgets_reset(q);
	for (uint32_t i = q->units_n; i-- > 0;)
		if (!unit_takes_budget(q, &q->units[i]))
			q->units[i].n = 0;
	for (uint32_t i = 0; i < q->units_n; i++)
		if (q->units[i].n > 0)
			q->units[kept++] = q->units[i];
	q->units_n = kept;
}

/* framework/preemption: filterPodsWithPDBViolation, before any unit is put back. */
static void units_split(struct pod_question *q)
{
	budgets_reset(q);
	for (uint32_t i = 0; i < q->units_n; i++) {
		struct pod_unit *u = &q->units[i];

		for (uint32_t k = 0; k < u->n; k++) {
			struct victim *v = &q->pods[u->pods + k];
			const struct search_pod *f = search_facts_of(&q->s, v->pod);

			for (uint32_t b = 0; b < f->items_n; b++)
				if (--q->left[q->s.facts->items[f->items + b]] < 0)
					v->violating = true;
			u->violating = u->violating || v->violating;
		}
	}
}

void pod_units_collect(struct pod_question *q, node_id node)
{
	const uint32_t from = q->first[node], end = q->first[node + 1];
	int32_t priority;

	q->units_n = q->pods_n = 0;
	for (uint32_t i = from; i < end; i++) {
		const struct pod *p = search_at(&q->s, q->bound[i]);
		const uint32_t gang = search_group(&q->s, p);
		bool seen = false;

		if (!search_is_candidate(&q->s, q->bound[i], &priority))
			continue;
		if (gang == ID_NONE) {
			unit_of_pod(q, q->bound[i]);
			continue;
		}
		for (uint32_t k = from; k < i && !seen; k++)
			seen = search_at(&q->s, q->bound[k])->gang == gang &&
			       search_is_candidate(&q->s, q->bound[k], &priority);
		if (!seen)
			units_of_gang(q, gang, node, q->victims);
	}
	if (q->units_n > 1)
		qsort(q->units, q->units_n, sizeof(*q->units), units_compare);
	if (q->s.facts->respect)
		units_respect(q);
	units_split(q);
}
