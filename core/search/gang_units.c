/* SPDX-License-Identifier: Apache-2.0 */
/* Candidate units of a gang's question: pods, and gangs that go whole or not at all. */
#include "core/search/gang_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static struct gang_unit *unit_push(struct gang_question *q, const struct gang_unit *u)
{
	q->units = must_reach(q->units, &q->units_cap, q->units_n, 64, sizeof(*q->units));
	q->units[q->units_n] = *u;
	return &q->units[q->units_n++];
}

static void unit_of_pod(struct gang_question *q, pod_id id, uint32_t gang, int32_t priority)
{
	struct gang_unit u = { .importance = search_importance(&q->s, id),
		                   .gang = gang,
		                   .node = search_at(&q->s, id)->node,
		                   .class = search_at(&q->s, id)->class,
		                   .pods = q->pods_n,
		                   .n = 1,
		                   .senior = NO_UNIT };

	u.importance.priority = priority;
	q->pods[q->pods_n++] = id;
	unit_push(q, &u);
}

static void unit_of_gang(struct gang_question *q, uint32_t gang)
{
	const struct gang *g = &q->s.c->gangs.slots[gang];
	struct gang_unit u = { .importance = search_importance_of_gang(&q->s, gang),
		                   .gang = gang,
		                   .whole = true,
		                   .pods = q->pods_n,
		                   .senior = NO_UNIT };
	int32_t priority;

	for (pod_id id = g->first; id != ID_NONE; id = search_at(&q->s, id)->next)
		if (search_is_candidate(&q->s, id, &priority))
			q->pods[q->pods_n++] = id;
	u.n = q->pods_n - u.pods;
	unit_push(q, &u);
}

/* True if the gang's members can't go one by one. */
static bool is_block(struct gang_question *q, uint32_t gang)
{
	const struct gang_facts *f = search_gang_facts(&q->s, gang);

	return q->s.facts->gangs[gang].mode == DISRUPT_WHOLE || f->stale ||
	       (q->s.facts->gangs[gang].mode == DISRUPT_QUORUM && f->surplus == 0);
}

static void collect(struct gang_question *q, pod_id id, bool *blocks)
{
	const struct pod *p = search_at(&q->s, id);
	const bool member = p->gang != ID_NONE && gang_is_group(&q->s.c->gangs, p->gang);
	int32_t priority;

	if (!search_is_candidate(&q->s, id, &priority))
		return;
	if (!member || search_group(&q->s, p) == ID_NONE || !is_block(q, p->gang)) {
		unit_of_pod(q, id, member ? p->gang : ID_NONE, priority);
		return;
	}
	if (!blocks[p->gang] && search_gang_facts(&q->s, p->gang)->goes_whole)
		unit_of_gang(q, p->gang);
	blocks[p->gang] = true;
}

/* Where a unit is sorted to; the name decides the rest. */
struct unit_key {
	uint64_t major; /* priority, then members, the highest first */
	uint32_t rank;  /* of its pods */
	uint32_t start_s;
	uint32_t unit;
};

/* By importance, and before the start by rank: what is given back last is the most important.  Of
 * two that are equal but for their names the first name goes. */
static int keys_compare(const void *a, const void *b, void *context)
{
	const struct unit_key *x = a, *y = b;
	const struct gang_question *q = context;
	const struct importance *left, *right;

	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->start_s != y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	left = &q->units[x->unit].importance;
	right = &q->units[y->unit].importance;
	return names_compare(right->name, right->name_bytes, left->name, left->name_bytes);
}

static void units_sort(struct gang_question *q)
{
	struct unit_key *keys = must_array(q->units_n + 1u, sizeof(*keys));
	struct gang_unit *sorted = must_array(q->units_n + 1u, sizeof(*sorted));

	for (uint32_t i = 0; i < q->units_n; i++) {
		const struct importance *m = &q->units[i].importance;

		keys[i] = (struct unit_key){ .major = (uint64_t)(INT32_MAX - (int64_t)m->priority) << 32 |
			                                  (UINT32_MAX - m->members),
			                         .rank = search_rank_of(&q->s, q->pods[q->units[i].pods]),
			                         .start_s = m->start_s,
			                         .unit = i };
	}
	if (q->units_n > 1)
		qsort_r(keys, q->units_n, sizeof(*keys), keys_compare, q);
	for (uint32_t i = 0; i < q->units_n; i++)
		sorted[i] = q->units[keys[i].unit];
	free(keys);
	free(q->units);
	q->units = sorted;
	q->units_cap = q->units_n + 1;
}

/* By what twins of one node have in common: 0 for two of them. */
static int twins_order(const struct gang_question *q, const struct gang_unit *u,
                       const struct gang_unit *v)
{
	const struct pod *p = search_at(&q->s, q->pods[u->pods]),
					 *r = search_at(&q->s, q->pods[v->pods]);
	const struct search_pod *f = search_facts_of(&q->s, q->pods[u->pods]);
	const struct search_pod *h = search_facts_of(&q->s, q->pods[v->pods]);
	int order = numbers_compare(u->class, v->class);

	order = order ? order : numbers_compare(u->gang, v->gang);
	order = order ? order : numbers_compare(p->role, r->role);
	order = order ? order : numbers_compare((uint32_t)p->priority, (uint32_t)r->priority);
	order = order ? order : numbers_compare(f->items_n, h->items_n);
	for (uint32_t n = 0; order == 0 && n < f->items_n; n++)
		order = numbers_compare(q->s.facts->items[f->items + n], q->s.facts->items[h->items + n]);
	return order;
}

static int twins_compare(const void *a, const void *b, void *context)
{
	const struct gang_question *q = context;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const int order = twins_order(q, &q->units[i], &q->units[k]);

	return order ? order : numbers_compare(i, k);
}

/* Units that are not whole, by node; within one by importance. */
static void singles_sort(struct gang_question *q)
{
	const uint32_t nodes_n = q->s.c->nodes.used;
	uint32_t *first = must_array(nodes_n + 2u, sizeof(*first));

	q->singles = must_array(q->units_n + 1u, sizeof(*q->singles));
	for (uint32_t i = 0; i < q->units_n; i++)
		if (!q->units[i].whole)
			first[q->units[i].node + 2]++;
	for (uint32_t i = 2; i < nodes_n + 2u; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < q->units_n; i++)
		if (!q->units[i].whole)
			q->singles[first[q->units[i].node + 1]++] = i;
	q->singles_n = first[nodes_n];
	free(first);
}

/* Exchanging a pod that goes for a twin that is given back before, started later, or has a lower
 * name, is better by the last three criteria and equal by the others. */
static void find_twins(struct gang_question *q)
{
	singles_sort(q);
	for (uint32_t at = 0, end; at < q->singles_n; at = end) {
		const node_id node = q->units[q->singles[at]].node;

		end = at + 1;
		while (end < q->singles_n && q->units[q->singles[end]].node == node)
			end++;
		if (end - at > 1)
			qsort_r(q->singles + at, end - at, sizeof(*q->singles), twins_compare, q);
		for (uint32_t i = at + 1; i < end; i++) {
			const uint32_t senior = q->singles[i - 1], unit = q->singles[i];

			if (twins_order(q, &q->units[senior], &q->units[unit]) == 0)
				q->units[unit].senior = senior;
		}
	}
}

int gang_names_compare(const void *a, const void *b, void *context)
{
	const struct pod *p = search_at(context, *(const pod_id *)a);
	const struct pod *r = search_at(context, *(const pod_id *)b);

	return names_compare(p->name, p->name_bytes, r->name, r->name_bytes);
}

bool gang_name_before(const struct gang_question *q, pod_id a, pod_id b)
{
	return q->ranks ? q->ranks[a] < q->ranks[b]
	                : gang_names_compare(&a, &b, (void *)(uintptr_t)&q->s) < 0;
}

void gang_rank_names(struct gang_question *q)
{
	pod_id *sorted;

	if (q->ranks)
		return;
	sorted = must_array(q->pods_n + 1u, sizeof(*sorted));
	memcpy(sorted, q->pods, q->pods_n * sizeof(*sorted));
	if (q->pods_n > 1)
		qsort_r(sorted, q->pods_n, sizeof(*sorted), gang_names_compare, &q->s);
	q->ranks = must_array(q->s.c->pods.used + 1u, sizeof(*q->ranks));
	for (uint32_t i = 0; i < q->pods_n; i++)
		q->ranks[sorted[i]] = i;
	free(sorted);
}

void gang_units_find(struct gang_question *q)
{
	bool *blocks = must_array(q->s.c->gangs.groups, sizeof(*blocks));

	for (pod_id id = 0; id < q->s.c->pods.used; id++)
		collect(q, id, blocks);
	free(blocks);
	units_sort(q);
	find_twins(q);
	q->before = must_array(q->units_n + 1u, sizeof(*q->before));
	q->s.steps += q->s.c->pods.used;
}
