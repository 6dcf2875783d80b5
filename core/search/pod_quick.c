/* SPDX-License-Identifier: Apache-2.0 */
/* Victims of one node by sums: what pod_reprieve.c finds, where resources alone keep the pod from
 * the node, and only pods by themselves without budgets may go.  No pod is released, and no filter
 * asked. */
#include "core/search/pod_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>

#define SORTED_IN_PLACE 16u

bool pod_is_quick(const struct pod_question *q)
{
	const struct pod_counts *cs = &q->s.c->pod_counts;
	const struct event_shape *body = q->shape->body;

	for (uint32_t i = 0; i < q->shape->sums_n; i++)
		if (q->shape->requests[i].devices)
			return false;
	return q->nominated_n == 0 && !cs->nodes->wide_sums && !evaluate_reads_others(cs, q->class) &&
	       q->shape->absent_n == 0 && body->ports_n == 0 && body->exclusives_n == 0 &&
	       body->attachments_n == 0 && body->volume_rules_n == 0 && body->devices == 0 &&
	       !(body->flags & SHAPE_NODE_RULES);
}

void pod_quick_begin(struct pod_question *q)
{
	const size_t classes = pod_classes_used(&q->s.c->pod_counts.pod_classes);

	q->takes = must_array(classes * q->shape->sums_n + 1, sizeof(*q->takes));
	q->known = must_array(classes + 1, sizeof(*q->known));
	q->rivals = must_array(q->most_here + 1u, sizeof(*q->rivals));
}

/* What a placed pod of the class takes of each request. */
static const int64_t *takes_of(struct pod_question *q, class_id class)
{
	int64_t *row = &q->takes[(size_t) class * q->shape->sums_n];

	if (!q->known[class])
		search_row_add(q->shape, row, class_shape(&q->s.c->pod_counts, class));
	q->known[class] = true;
	return row;
}

static uint64_t short_of(const struct pod_question *q, const int64_t *row)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < q->shape->sums_n; i++)
		if (!amount_fits(row[i], q->shape->requests[i].value))
			bits |= UINT64_C(1) << q->shape->requests[i].resource;
	return bits;
}

static bool fits(const struct pod_question *q, const int64_t *row)
{
	for (uint32_t i = 0; i < q->shape->sums_n; i++)
		if (!amount_fits(row[i], q->shape->requests[i].value))
			return false;
	return true;
}

static int rivals_compare(const struct pod_question *q, const struct pod_rival *a,
                          const struct pod_rival *b)
{
	const struct pod *x, *y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	x = search_at(&q->s, a->pod);
	y = search_at(&q->s, b->pod);
	return names_compare(x->name, x->name_bytes, y->name, y->name_bytes);
}

static int rivals_order(const void *a, const void *b, void *context)
{
	return rivals_compare(context, a, b);
}

/* The most important one first. */
static void rivals_sort(struct pod_question *q, uint32_t n)
{
	struct pod_rival *rivals = q->rivals;

	if (n > SORTED_IN_PLACE) {
		qsort_r(rivals, n, sizeof(*rivals), rivals_order, q);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		const struct pod_rival moved = rivals[i];
		uint32_t at = i;

		for (; at > 0 && rivals_compare(q, &rivals[at - 1], &moved) > 0; at--)
			rivals[at] = rivals[at - 1];
		rivals[at] = moved;
	}
}

/* The pods of the node that may go; false if one is not a unit by itself. */
static bool rivals_find(struct pod_question *q, node_id node, uint32_t *n)
{
	int32_t priority;

	*n = 0;
	for (uint32_t i = q->first[node]; i < q->first[node + 1]; i++) {
		const pod_id id = q->bound[i];
		const struct search_pod *f = search_facts_of(&q->s, id);
		const struct pod *p = search_at(&q->s, id);

		if (!search_is_candidate(&q->s, id, &priority))
			continue;
		if (search_group(&q->s, p) != ID_NONE || f->items_n > 0)
			return false;
		q->rivals[(*n)++] = (struct pod_rival){
			.key = (uint64_t)(INT32_MAX - (int64_t)p->priority) << 32 | f->start_s,
			.pod = id,
			.takes = takes_of(q, p->class),
		};
	}
	return true;
}

/* Each rival is put back if the pod still fits; the others are victims. */
static void rivals_reprieve(struct pod_question *q, int64_t *row, uint32_t n)
{
	const uint32_t sums_n = q->shape->sums_n;

	q->objective = (struct objective){ .highest = INT32_MIN };
	for (uint32_t i = 0; i < n; i++) {
		const pod_id id = q->rivals[i].pod;
		const int64_t *takes = q->rivals[i].takes;

		for (uint32_t k = 0; k < sums_n; k++)
			row[k] -= takes[k];
		if (fits(q, row))
			continue;
		for (uint32_t k = 0; k < sums_n; k++)
			row[k] += takes[k];
		q->victims[q->objective.pods] = id;
		objective_add(&q->objective, &q->s, id, search_at(&q->s, id)->priority);
	}
}

bool pod_try_quickly(struct pod_question *q, node_id node, enum node_try *result)
{
	const uint32_t sums_n = q->shape->sums_n;
	int64_t row[RESOURCES_MAX];
	uint64_t lacks;
	uint32_t n;

	if (q->out->first.whys[node] != FILTER_BIT(FILTER_INSUFFICIENT) || !rivals_find(q, node, &n))
		return false;
	*result = TRY_NO_VICTIMS;
	if (n == 0)
		return true;
	for (uint32_t k = 0; k < sums_n; k++)
		row[k] = nodes_free_amount(&q->s.c->nodes, node, q->shape->requests[k].resource);
	for (uint32_t i = 0; i < n; i++) {
		const int64_t *takes = q->rivals[i].takes;

		for (uint32_t k = 0; k < sums_n; k++)
			row[k] += takes[k];
	}
	q->s.steps += 20 + 4 * n;
	lacks = short_of(q, row);
	if (lacks) {
		*result = TRY_NO_ROOM;
		q->out->after.whys[node] = FILTER_BIT(FILTER_INSUFFICIENT);
		q->out->after.short_of[node] = lacks;
		return true;
	}
	*result = TRY_VICTIMS;
	rivals_sort(q, n);
	rivals_reprieve(q, row, n);
	pod_node_keep(q, node);
	return true;
}
