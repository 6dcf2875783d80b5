/* SPDX-License-Identifier: Apache-2.0 */
/* core_valid(): recomputes every sum, count and list from the pods. */
#include "core/cluster/rule_node.h"
#include "core/step/core.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checking {
	const struct core *c;
	char *why;
	size_t why_bytes;
	wide *sums;       /* [node * resources + resource] */
	wide *lasting;    /* likewise */
	wide *scored;     /* [node * SCORED_N + ...] */
	uint32_t *pods;   /* by node */
	uint32_t *named;  /* by node */
	uint32_t *shapes; /* by shape */
};

__attribute__((format(printf, 2, 3))) static bool wrong(struct checking *k, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(k->why, k->why_bytes, format, args);
	va_end(args);
	return false;
}

static void pod_sum(struct checking *k, const struct pod *p)
{
	const struct core *c = k->c;
	const struct shape *s = &c->shapes.slots[p->shape];

	k->shapes[p->shape]++;
	if (p->named != ID_NONE)
		k->named[p->named]++;
	for (uint32_t i = 0; p->lasting && i < s->sums_n; i++)
		k->lasting[(size_t)p->named * c->nodes.resources + s->requests[i].resource] +=
			s->requests[i].value;
	if (p->node == ID_NONE)
		return;
	k->pods[p->node]++;
	for (uint32_t i = 0; i < s->sums_n; i++)
		k->sums[(size_t)p->node * c->nodes.resources + s->requests[i].resource] +=
			s->requests[i].value;
	k->scored[(size_t)p->node * SCORED_N + SCORED_CPU] += shape_placed_cpu(s);
	k->scored[(size_t)p->node * SCORED_N + SCORED_MEMORY] += shape_placed_memory(s);
}

static bool pod_valid(struct checking *k, pod_id id)
{
	const struct core *c = k->c;
	const struct pod *p = &c->pods.slots[id];

	if (!shapes_find(&c->shapes, p->shape))
		return wrong(k, "pod %u has no shape", id);
	if (p->node != ID_NONE && !nodes_find(&c->nodes, p->node))
		return wrong(k, "pod %u is on a node that is not there", id);
	if (p->reservation >= RESERVATIONS)
		return wrong(k, "pod %u: reservation %u", id, p->reservation);
	if (p->reservation == RESERVATION_NONE && p->node != ID_NONE)
		return wrong(k, "pod %u has a node and no reservation", id);
	if (p->node == ID_NONE && reservation_in(p, RESERVATION_NEEDS_NODE))
		return wrong(k, "pod %u is reserved on no node", id);
	if (reservation_is_retained(p) &&
	    ((p->readiness != MEMBER_BACKOFF && p->readiness != MEMBER_READY) ||
	     !gang_partially_bound(&c->gangs.slots[p->gang])))
		return wrong(k, "pod %u retains its node and can not be bound there", id);
	if (p->backoff && !reservation_is_pending(p))
		return wrong(k, "pod %u is in backoff in state %u", id, p->reservation);
	if (p->readiness != pod_readiness(p))
		return wrong(k, "pod %u is counted as %u, is %u", id, p->readiness, pod_readiness(p));
	if (p->lasting != (p->named != ID_NONE && (p->flags & POD_LASTS)))
		return wrong(k, "pod %u is counted as lasting: %u", id, p->lasting);
	if (p->gang == ID_NONE && (p->flags & POD_OURS))
		return wrong(k, "pod %u is ours and in no gang", id);
	if (p->gang != ID_NONE && !c->gangs.slots[p->gang].generation)
		return wrong(k, "pod %u is in a gang that is not there", id);
	return true;
}

static bool pods_valid(struct checking *k)
{
	const struct core *c = k->c;
	uint32_t count = 0, by_readiness[READINESS_N] = { 0 }, reservations[RESERVATIONS] = { 0 };

	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->generation == 0)
			continue;
		if (!pod_valid(k, id))
			return false;
		pod_sum(k, p);
		count++;
		by_readiness[p->readiness]++;
		reservations[p->reservation]++;
	}
	if (count != c->pods.count ||
	    memcmp(by_readiness, c->pods.by_readiness, sizeof(by_readiness)) != 0 ||
	    memcmp(reservations, c->pods.reservations, sizeof(reservations)) != 0)
		return wrong(k, "pods are miscounted");
	return true;
}

static bool node_valid(struct checking *k, node_id id, wide sums[RESOURCES_MAX])
{
	const struct nodes *ns = &k->c->nodes;
	const struct node *n = &ns->slots[id];

	if (n->pods != k->pods[id] || n->named != k->named[id])
		return wrong(k, "node %u: %u pods kept, %u are there", id, n->pods, k->pods[id]);
	for (uint32_t r = 0; r < ns->resources; r++) {
		size_t at = (size_t)id * ns->resources + r;
		int64_t free = amount_free(nodes_allocatable(ns, id, r), k->sums[at]);

		if (nodes_sum(ns, id, r) != k->sums[at])
			return wrong(k, "node %u resource %u: sum %lld kept, %lld is right", id, r,
			             (long long)wide_cut(nodes_sum(ns, id, r)),
			             (long long)wide_cut(k->sums[at]));
		if (lasting_sum(&k->c->lasting, id, r) != k->lasting[at])
			return wrong(k, "node %u resource %u: what lasts there", id, r);
		if (nodes_free_amount(ns, id, r) != free)
			return wrong(k, "node %u resource %u: free", id, r);
		if (r < ns->columns &&
		    ledger_amounts(ns->ledger, id, r)->used[r % AMOUNTS_BLOCK] != wide_cut(k->sums[at]))
			return wrong(k, "node %u resource %u: the ledger's row", id, r);
		if (node_present(n) && free > 0)
			sums[r] += free;
	}
	for (uint32_t i = 0; i < SCORED_N; i++)
		if (nodes_scored(ns, id, i) != k->scored[(size_t)id * SCORED_N + i])
			return wrong(k, "node %u: scored sums", id);
	return true;
}

static bool nodes_valid(struct checking *k)
{
	const struct nodes *ns = &k->c->nodes;
	uint32_t count = 0, present = 0;
	wide sums[RESOURCES_MAX] = { 0 };

	for (node_id id = 0; id < ns->used; id++) {
		count += ns->slots[id].generation != 0;
		present += node_present(&ns->slots[id]);
		if (!node_valid(k, id, sums))
			return false;
	}
	if (count != ns->count || present != ns->present)
		return wrong(k, "nodes are miscounted");
	if (memcmp(sums, ns->free_sum, sizeof(sums)) != 0)
		return wrong(k, "what is free in the cluster");
	return true;
}

static bool shapes_valid(struct checking *k)
{
	const struct core *c = k->c;
	uint32_t count = 0, arg;

	for (shape_id id = 0; id < c->shapes.used; id++) {
		const struct shape *s = &c->shapes.slots[id];

		if (!s->body)
			continue;
		count++;
		if (s->pods != k->shapes[id])
			return wrong(k, "shape %u: %u pods kept, %u are there", id, s->pods, k->shapes[id]);
		for (node_id node = 0; node < c->nodes.used; node++) {
			const struct node *n = &c->nodes.slots[node];
			bool allowed = node_present(n) && shape_filter(s, n, &arg) == FILTER_PASSED &&
			               shape_filter_last(s, n) == FILTER_PASSED;

			if (shape_allows(s, node) != allowed)
				return wrong(k, "shape %u: node %u", id, node);
		}
	}
	return count == c->shapes.count || wrong(k, "shapes are miscounted");
}

/* A view that is up to date equals one that is computed from every node. */
static bool views_valid(struct checking *k)
{
	const struct core *c = k->c;
	/* Not const: it has scratch for the evaluation. */
	struct views *vs = (struct views *)(uintptr_t)&c->views;

	for (uint32_t i = 0; i < vs->slots_n; i++) {
		const struct view *v = &vs->slots[i];

		if (v->class == CLASS_NONE)
			continue;
		if (vs->of_class[v->hold > 0][v->class].slot != i ||
		    vs->of_class[v->hold > 0][v->class].made != v->made ||
		    c->pod_counts.pod_classes.slots[v->class].shape == ID_NONE)
			return wrong(k, "view %u: its kind", i);
		if (c->nodes.order_old || v->order_version != c->nodes.order_version ||
		    v->position != c->nodes.log_n || v->rules_version != c->pod_counts.rules_version)
			continue;
		if (v->stale || v->masked || (v->hold > 0 && v->hold != vs->hold.version))
			continue;
		if (!view_check(vs, v))
			return wrong(k, "view of kind %u", v->class);
	}
	return true;
}

/* Members of each role are counted right; *enough: the ready ones could meet the quorum. */
static bool roles_valid(struct checking *k, uint32_t index, bool *enough)
{
	const struct core *c = k->c;
	const struct gang *g = &c->gangs.slots[index];

	*enough = gang_have(g) + g->counts[MEMBER_READY] >= g->quorum;
	for (uint32_t i = 0; i < gang_roles_n(g); i++) {
		uint32_t counts[READINESS_N] = { 0 };

		for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
		     id = c->pods.slots[id].next)
			if (c->pods.slots[id].role == g->parts->roles[i].role)
				counts[c->pods.slots[id].readiness]++;
		if (memcmp(counts, g->parts->counts[i], sizeof(counts)) != 0)
			return wrong(k, "gang %u: members of role %u are miscounted", index,
			             g->parts->roles[i].role);
		*enough =
			*enough && counts_have(counts) + counts[MEMBER_READY] >= g->parts->roles[i].quorum;
	}
	return true;
}

static bool gang_valid(struct checking *k, uint32_t index)
{
	const struct core *c = k->c;
	const struct gang *g = &c->gangs.slots[index];
	uint32_t counts[READINESS_N] = { 0 }, members = 0, retained = 0, age_n = 0;
	pod_id before = ID_NONE;
	bool enough;

	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
	     id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (p->gang != index || p->previous != before || members++ > c->pods.count)
			return wrong(k, "gang %u: its list of members", index);
		if (p->readiness == MEMBER_READY && g->ready_class != CLASS_NONE &&
		    p->class != g->ready_class)
			return wrong(k, "gang %u: pod %u is of another class than those that are ready", index,
			             id);
		counts[p->readiness]++;
		age_n += p->created_ns == g->age_ns;
		retained += reservation_is_retained(p);
		before = id;
	}
	if (members != g->members || retained != g->retained ||
	    memcmp(counts, g->counts, sizeof(counts)) != 0)
		return wrong(k, "gang %u: members are miscounted", index);
	if (g->created_ns == 0 && !g->key_old && members > 0 && (age_n == 0 || age_n != g->age_n))
		return wrong(k, "gang %u: it is as old as %u of its members, not %u", index, age_n,
		             g->age_n);
	if (!roles_valid(k, index, &enough))
		return false;
	if (g->queue == QUEUE_NONE && g->counts[MEMBER_READY] > 0 && enough &&
	    !(g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED)))
		return wrong(k, "gang %u could be placed and is in no queue", index);
	return true;
}

static bool gangs_valid(struct checking *k)
{
	const struct core *c = k->c;
	uint32_t count = 0, states[GANG_STATES] = { 0 };

	for (uint32_t i = 0; i < c->gangs.groups + c->pods.used; i++) {
		const struct gang *g = &c->gangs.slots[i];

		if (g->generation == 0)
			continue;
		if (gang_is_group(&c->gangs, i)) {
			count++;
			states[g->state]++;
		}
		if (!gang_valid(k, i))
			return false;
	}
	if (count != c->gangs.count || memcmp(states, c->gangs.states, sizeof(states)) != 0)
		return wrong(k, "gangs are miscounted");
	return true;
}

static bool queue_valid(struct checking *k, const struct queue *q)
{
	uint32_t n = 0, before = ID_NONE;

	for (uint32_t i = queue_first(q); i != ID_NONE; i = queue_next(q, i)) {
		if (n++ >= q->n || q->gangs->slots[i].queue != q->which)
			return wrong(k, "queue %d: gang %u", (int)q->which, i);
		if (!gang_queued_right(&q->gangs->slots[i]) ||
		    (before != ID_NONE && !gang_before(q->gangs, before, i)))
			return wrong(k, "queue %d: gang %u is out of order", (int)q->which, i);
		before = i;
	}
	return n == q->n || wrong(k, "queue %d: %u kept, %u are there", (int)q->which, q->n, n);
}

/* Gangs are counted by hint, and no hint has a higher least need than one of its gangs. */
static bool hints_valid(struct checking *k)
{
	const struct core *c = k->c;
	const struct hints *hs = &c->queue.hints;
	uint32_t any = 0, in_hints = 0, classes = 0;

	for (uint32_t i = queue_first(&c->queue.unschedulable); i != ID_NONE;
	     i = queue_next(&c->queue.unschedulable, i)) {
		const struct gang *g = &c->gangs.slots[i];
		const struct hint *h = g->hint != HINT_ANY ? &hs->slots[g->hint] : NULL;

		any += h == NULL;
		in_hints += h != NULL;
		if (h && (g->hint >= hs->used || h->gangs == 0 || h->class != g->hint_kind ||
		          h->least > g->hint_need))
			return wrong(k, "gang %u: its hint", i);
	}
	for (uint32_t i = 0; i < hs->used; i++) {
		classes += hs->slots[i].gangs > 0;
		in_hints -= hs->slots[i].gangs;
	}
	return (any == hs->any && in_hints == 0 && classes == hs->classes) ||
	       wrong(k, "hints are miscounted");
}

/* The pods on the list are those that reservation_list() has there. */
static bool list_valid(struct checking *k, const struct pod_list *list, const char *name)
{
	/* Not const: reservation_list() returns a list to change. */
	struct core *c = (struct core *)(uintptr_t)k->c;
	uint32_t n = 0, belong = 0;

	for (pod_id id = list->first; id != ID_NONE; id = c->pods.slots[id].list_next)
		if (n++ >= list->n || reservation_list(c, &c->pods.slots[id]) != list)
			return wrong(k, "%s: pod %u", name, id);
	for (pod_id id = 0; id < c->pods.used; id++)
		belong +=
			c->pods.slots[id].generation != 0 && reservation_list(c, &c->pods.slots[id]) == list;
	return (n == list->n && n == belong) ||
	       wrong(k, "%s: %u kept, %u are there, %u belong there", name, list->n, n, belong);
}

static bool walk_valid(struct checking *k)
{
	uint32_t cursor = k->c->queue.cursor, owner = k->c->backfill.gang;

	if (owner != ID_NONE && k->c->gangs.slots[owner].generation == 0)
		return wrong(k, "capacity is reserved for gang %u, which is gone", owner);
	if (k->c->queue.in_cycle != ID_NONE)
		return wrong(k, "gang %u is in a cycle that has ended", k->c->queue.in_cycle);
	return cursor == ID_NONE || k->c->gangs.slots[cursor].queue == QUEUE_UNSCHEDULABLE ||
	       wrong(k, "the walk goes on at gang %u, which does not wait", cursor);
}

static bool pod_counts_right(struct checking *k)
{
	const char *why;

	return pod_counts_valid(&k->c->pod_counts, &why) || wrong(k, "pod counts: %s", why);
}

static bool promises_valid(struct checking *k)
{
	struct timeline *t = k->c->promises.timeline;

	return !t || timeline_valid(t, k->c->now_ns) || wrong(k, "known ends or promises");
}

/* What each queue uses is the sum of its pods that have a node. */
static bool queues_valid(struct checking *k)
{
	const struct core *c = k->c;
	const struct shares *s = c->turns.shares;
	struct shares *fresh;
	bool same = true;

	if (!s)
		return true;
	fresh = shares_new(shares_set(s));
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->generation != 0 && p->node != ID_NONE)
			queued_add(c, fresh, p, queued_of(c, id), 1);
	}
	for (uint32_t q = 0; q < shares_set(s)->n; q++)
		for (uint32_t r = 0; r < shares_set(s)->resources; r++)
			same = same && shares_used(s, q, r) == shares_used(fresh, q, r);
	shares_free(fresh);
	return same || wrong(k, "what queues use");
}

/* What pods hold is what is used, and nothing is held that no pod has. */
static bool devices_valid(struct checking *k)
{
	const struct inventory *v = k->c->pod_counts.inventory;

	return !v || inventory_check(v) || wrong(k, "devices of nodes");
}

bool core_valid(const struct core *core, char *why, size_t why_bytes)
{
	struct checking k = { .c = core, .why = why, .why_bytes = why_bytes };
	const size_t nodes = core->nodes.limit;
	bool valid;

	k.sums = must_array(nodes * core->nodes.resources, sizeof(*k.sums));
	k.lasting = must_array(nodes * core->nodes.resources, sizeof(*k.lasting));
	k.scored = must_array(nodes * SCORED_N, sizeof(*k.scored));
	k.pods = must_array(nodes, sizeof(*k.pods));
	k.named = must_array(nodes, sizeof(*k.named));
	k.shapes = must_array(core->shapes.limit, sizeof(*k.shapes));
	valid = pods_valid(&k) && nodes_valid(&k) && shapes_valid(&k) && pod_counts_right(&k) &&
	        views_valid(&k) && gangs_valid(&k) && queue_valid(&k, &core->queue.active) &&
	        queue_valid(&k, &core->queue.unschedulable) && hints_valid(&k) &&
	        list_valid(&k, &core->sends, "sends") && list_valid(&k, &core->backoff, "backoff") &&
	        list_valid(&k, &core->assumes.pods, "assumed") && walk_valid(&k) &&
	        promises_valid(&k) && queues_valid(&k) && devices_valid(&k);
	free(k.sums);
	free(k.lasting);
	free(k.scored);
	free(k.pods);
	free(k.named);
	free(k.shapes);
	return valid;
}
