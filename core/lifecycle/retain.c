/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/retain.h"

#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"

#include <assert.h>

#define RETAINED_SHOWN 64u /* members that reasons look at */

void retained_end(struct core *c, struct pod *p)
{
	if (reservation_is_retained(p))
		reservation_set(c, p, RESERVATION_NONE, ID_NONE);
}

void gang_retain_check(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];

	if (g->retained == 0 || (gang_partially_bound(g) && gang_enough(g, MEMBER_BACKOFF) &&
	                         !(g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED))))
		return;
	for (pod_id id = g->first; g->retained > 0; id = c->pods.slots[id].next)
		retained_end(c, &c->pods.slots[id]);
}

void gang_retain_untried(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	uint32_t left = g->retained;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		struct pod *p = &c->pods.slots[id];

		left -= reservation_is_retained(p);
		if (p->readiness == MEMBER_READY)
			retained_end(c, p);
	}
}

void gang_release_tentatively(struct core *c, const struct gang *g)
{
	uint32_t left = g->retained;

	assert(g->retained <= g->members);
	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (!reservation_is_retained(p))
			continue;
		if (c->pod_counts.inventory)
			inventory_return(c->pod_counts.inventory, id);
		pod_counts_release(&c->pod_counts, p->node, p->class, p->leaving);
		left--;
	}
}

/* Its capacity was released tentatively, and stays so. */
static void release_finally(struct core *c, struct pod *p)
{
	assert(reservation_is_retained(p));
	assert(p->node != ID_NONE);
	if (c->turns.shares)
		queued_leave(c, pods_id(&c->pods, p));
	p->node = ID_NONE;
	reservation_set(c, p, RESERVATION_NONE, ID_NONE);
	nodes_note_freed(&c->nodes); /* the plan may have put the pod elsewhere */
}

void gang_restore(struct core *c, const struct gang *g, bool of_tried_too)
{
	uint32_t left = g->retained;

	assert(g->retained <= g->members);
	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		struct pod *p = &c->pods.slots[id];

		if (!reservation_is_retained(p))
			continue;
		if ((of_tried_too || p->readiness != MEMBER_READY) &&
		    views_count_at(&c->views, p->node, p->class) > 0) {
			pod_counts_allocate(&c->pod_counts, p->node, p->class, p->leaving);
			if (c->pod_counts.inventory)
				devices_adopt(c, p);
		} else {
			release_finally(c, p);
		}
		left--;
	}
}

struct retained_list {
	const struct pod *at[RETAINED_SHOWN];
	uint32_t n;
};

static void retained_list(const struct core *c, uint32_t but, struct retained_list *l)
{
	l->n = 0;
	for (uint32_t i = 0; i < c->retaining_n; i++) {
		const struct gang *g = &c->gangs.slots[c->retaining[i]];
		uint32_t left = c->retaining[i] != but ? g->retained : 0;

		for (pod_id id = g->first; left > 0 && l->n < RETAINED_SHOWN; id = c->pods.slots[id].next) {
			if (!reservation_is_retained(&c->pods.slots[id]))
				continue;
			l->at[l->n++] = &c->pods.slots[id];
			left--;
		}
	}
}

static wide retained_sum(const struct core *c, const struct retained_list *l, node_id node,
                         uint32_t resource)
{
	wide sum = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct shape *s = &c->shapes.slots[l->at[i]->shape];

		for (uint32_t k = 0; l->at[i]->node == node && k < s->sums_n; k++)
			sum += s->requests[k].resource == resource ? s->requests[k].value : 0;
	}
	return sum;
}

/* True if the node lacks capacity for the shape, and would not without the reservations. */
static bool is_kept_out(const struct core *c, const struct retained_list *l, node_id node,
                        const struct shape *s)
{
	bool lacks = false;

	if (!shape_allows(s, node))
		return false;
	for (uint32_t i = 0; i < s->requests_n; i++) {
		const struct request *q = &s->requests[i];
		const int64_t free = nodes_free_amount(&c->nodes, node, q->resource);

		if (free >= q->value)
			continue;
		lacks = true;
		if (free + retained_sum(c, l, node, q->resource) < q->value)
			return false;
	}
	return lacks;
}

static bool is_first_on_node(const struct retained_list *l, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (l->at[k]->node == l->at[i]->node)
			return false;
	return true;
}

void retained_count(struct core *c, uint32_t index, class_id class, struct reason *r)
{
	const struct shape *s = class_shape(&c->pod_counts, class);
	struct retained_list l;

	retained_list(c, index, &l);
	for (uint32_t i = 0; i < l.n; i++) {
		if (!is_first_on_node(&l, i) || !is_kept_out(c, &l, l.at[i]->node, s))
			continue;
		if (r->retained_nodes++ > 0)
			continue;
		r->retained_gang = l.at[i]->gang;
		r->retained_generation = c->gangs.slots[l.at[i]->gang].generation;
	}
	budget_spend(&c->budget, (uint64_t)l.n * l.n);
}

void gang_release_finally(struct core *c, const struct gang *g)
{
	assert(g->retained <= g->members);
	for (pod_id id = g->first; g->retained > 0; id = c->pods.slots[id].next)
		if (reservation_is_retained(&c->pods.slots[id]))
			release_finally(c, &c->pods.slots[id]);
}
