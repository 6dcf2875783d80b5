/* SPDX-License-Identifier: Apache-2.0 */
/* Victims of one node: all units are away, then each is put back if the pod still fits. */
#include "core/search/pod_impl.h"

#include "ipc/memory.h"

#include <string.h>

static void unit_remove(struct pod_question *q, const struct pod_unit *u, uint32_t from)
{
	for (uint32_t i = from; i < u->n; i++)
		search_remove(&q->s, q->pods[u->pods + i].pod);
}

static void unit_restore(struct pod_question *q, const struct pod_unit *u, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++)
		search_restore(&q->s, q->pods[u->pods + i].pod);
}

static void victim_add(struct pod_question *q, const struct victim *v, int32_t priority)
{
	q->victims[q->objective.pods] = v->pod;
	q->objective.violations += v->violating;
	objective_add(&q->objective, &q->s, v->pod, priority);
}

/* Puts members back one by one, the most important first; the others are victims. */
static void members_reprieve(struct pod_question *q, const struct pod_unit *u, uint32_t from,
                             node_id node)
{
	for (uint32_t i = from; i < u->n; i++) {
		const struct victim *v = &q->pods[u->pods + i];

		search_restore(&q->s, v->pod);
		if (pod_fits(q, node))
			continue;
		search_remove(&q->s, v->pod);
		victim_add(q, v, u->importance.priority);
	}
}

/* Index in the unit from which on its members here are the gang's to lose; u->n: none. */
static uint32_t surplus_from(struct pod_question *q, const struct pod_unit *u)
{
	const uint32_t surplus = search_gang_facts(&q->s, u->gang)->surplus;
	uint32_t from = u->n - (surplus < u->here ? surplus : u->here);

	/* The gang is away as a whole; without roles that do not matter. */
	unit_restore(q, u, u->n);
	unit_remove(q, u, from);
	while (from < u->n && !search_roles_live(&q->s, u->gang))
		search_restore(&q->s, q->pods[u->pods + from++].pod);
	return from;
}

/* A gang whose whole can't be put back: maybe its surplus suffices, else it is broken. */
static void gang_reprieve(struct pod_question *q, const struct pod_unit *u, node_id node)
{
	const struct gang_facts *f = search_gang_facts(&q->s, u->gang);

	if (q->s.facts->gangs[u->gang].mode == DISRUPT_QUORUM && !f->stale) {
		const uint32_t from = surplus_from(q, u);

		if (from < u->n && pod_fits(q, node)) {
			members_reprieve(q, u, from, node);
			return;
		}
	}
	unit_remove(q, u, 0);
	q->objective.broken += !f->stale;
	for (uint32_t i = 0; i < u->n; i++)
		victim_add(q, &q->pods[u->pods + i], u->importance.priority);
}

/* framework/preemption: reprievePod. */
static void unit_reprieve(struct pod_question *q, const struct pod_unit *u, node_id node)
{
	unit_restore(q, u, u->n);
	if (pod_fits(q, node))
		return;
	unit_remove(q, u, 0);
	if (u->gang == ID_NONE)
		victim_add(q, &q->pods[u->pods], u->importance.priority);
	else
		gang_reprieve(q, u, node);
}

/* framework/preemption: GetEarliestPodStartTime. */
static uint32_t earliest_start(const struct pod_question *q)
{
	uint32_t start_s = START_NONE;

	for (uint32_t i = 0; i < q->objective.pods; i++)
		if (search_at(&q->s, q->victims[i])->priority ==
		        search_at(&q->s, q->victims[0])->priority &&
		    search_facts_of(&q->s, q->victims[i])->start_s < start_s)
			start_s = search_facts_of(&q->s, q->victims[i])->start_s;
	return start_s;
}

void pod_node_keep(struct pod_question *q, node_id node)
{
	struct pod_search *out = q->out;
	const uint32_t n = q->objective.pods;

	out->nodes = must_reach(out->nodes, &q->nodes_cap, out->nodes_n, 64, sizeof(*out->nodes));
	if (q->kept + n > q->kept_cap) {
		q->kept_cap = (q->kept + n) * 2 + 64;
		out->pods = must_grow(out->pods, q->kept_cap * sizeof(*out->pods));
	}
	out->nodes[out->nodes_n++] = (struct node_victims){ .node = node,
		                                                .objective = q->objective,
		                                                .start_s = earliest_start(q) };
	memcpy(out->pods + q->kept, q->victims, n * sizeof(*out->pods));
	q->kept += n;
}

enum node_try pod_try_node(struct pod_question *q, node_id node)
{
	pod_units_collect(q, node);
	if (q->units_n == 0)
		return TRY_NO_VICTIMS;
	for (uint32_t i = 0; i < q->units_n; i++)
		unit_remove(q, &q->units[i], 0);
	q->objective = (struct objective){ .highest = INT32_MIN };
	if (!pod_fits(q, node)) {
		copy_whys(&q->out->after, &q->probe, node);
		for (uint32_t i = 0; i < q->units_n; i++)
			unit_restore(q, &q->units[i], q->units[i].n);
		return TRY_NO_ROOM;
	}
	for (int violating = 1; violating >= 0; violating--)
		for (uint32_t i = 0; i < q->units_n; i++)
			if (q->units[i].violating == violating)
				unit_reprieve(q, &q->units[i], node);
	for (uint32_t i = 0; i < q->objective.pods; i++)
		search_restore(&q->s, q->victims[i]);
	search_sort(&q->s, q->victims, q->objective.pods);
	pod_node_keep(q, node);
	return TRY_VICTIMS;
}
