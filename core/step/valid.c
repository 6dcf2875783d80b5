/* SPDX-License-Identifier: Apache-2.0 */
/* core_valid(): every sum, count and list worked out again from the pods. */
#include "core/lifecycle/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checking {
	const struct core *c;
	char *why;
	size_t why_bytes;
	wide *sums;       /* [node * resources + resource] */
	wide *scored;     /* [node * SCORED_N + ...] */
	uint32_t *pods;   /* by node */
	uint32_t *named;  /* by node */
	uint32_t *shapes; /* by shape */
};

static bool wrong(struct checking *k, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool wrong(struct checking *k, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(k->why, k->why_bytes, format, args);
	va_end(args);
	return false;
}

/* ---- pods --------------------------------------------------------------------- */

static void pod_sum(struct checking *k, const struct pod *p)
{
	const struct core *c = k->c;
	const struct shape *s = &c->shapes.slots[p->shape];

	k->shapes[p->shape]++;
	if (p->named != ID_NONE)
		k->named[p->named]++;
	if (p->node == ID_NONE)
		return;
	k->pods[p->node]++;
	for (uint32_t i = 0; i < s->requests_n; i++)
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
	if (pod_keeps_room(p) && ((p->class != MEMBER_BACKOFF && p->class != MEMBER_READY) ||
	                          !gang_has_begun(&c->gangs.slots[p->gang])))
		return wrong(k, "pod %u is pending and has a node", id);
	if (p->class != pod_class(p))
		return wrong(k, "pod %u is counted as %u, is %u", id, p->class, pod_class(p));
	if ((p->list == LIST_SEND || p->list == LIST_CLAIM) !=
	    (p->state == POD_RESERVED && p->list != LIST_NONE))
		return wrong(k, "pod %u is on list %u in state %u", id, p->list, p->state);
	if (p->list == LIST_SEND && p->node == ID_NONE)
		return wrong(k, "pod %u is to be sent nowhere", id);
	if ((p->carried && p->state != POD_RESERVED) || (p->withdrawn && !p->carried))
		return wrong(k, "pod %u is carried in state %u", id, p->state);
	if (p->gang == ID_NONE && (p->flags & POD_OURS))
		return wrong(k, "pod %u is ours and in no gang", id);
	if (p->gang != ID_NONE && !c->gangs.slots[p->gang].generation)
		return wrong(k, "pod %u is in a gang that is not there", id);
	return true;
}

static bool pods_valid(struct checking *k)
{
	const struct core *c = k->c;
	uint32_t count = 0, bound = 0, classes[MEMBER_CLASSES] = { 0 };

	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->generation == 0)
			continue;
		if (!pod_valid(k, id))
			return false;
		pod_sum(k, p);
		count++;
		bound += p->state == POD_BOUND;
		classes[p->class]++;
	}
	if (count != c->pods.count || bound != c->pods.bound ||
	    memcmp(classes, c->pods.classes, sizeof(classes)) != 0)
		return wrong(k, "pods are miscounted");
	return true;
}

/* ---- nodes -------------------------------------------------------------------- */

static bool node_valid(struct checking *k, node_id id, wide free[RESOURCES_MAX])
{
	const struct nodes *ns = &k->c->nodes;
	const struct node *n = &ns->slots[id];

	if (n->pods != k->pods[id] || n->named != k->named[id])
		return wrong(k, "node %u: %u pods kept, %u are there", id, n->pods, k->pods[id]);
	for (uint32_t r = 0; r < ns->resources; r++) {
		size_t at = (size_t)id * ns->resources + r;
		int64_t room = amount_room(nodes_allocatable(ns, id, r), k->sums[at]);

		if (nodes_sum(ns, id, r) != k->sums[at])
			return wrong(k, "node %u resource %u: sum %lld kept, %lld is right", id, r,
			             (long long)wide_cut(nodes_sum(ns, id, r)),
			             (long long)wide_cut(k->sums[at]));
		if (nodes_room(ns, id, r) != room)
			return wrong(k, "node %u resource %u: room", id, r);
		if (r < ns->columns &&
		    ledger_amounts(ns->ledger, id, r)->used[r % AMOUNTS_BLOCK] != wide_cut(k->sums[at]))
			return wrong(k, "node %u resource %u: the ledger's row", id, r);
		if (node_present(n) && room > 0)
			free[r] += room;
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
	wide free[RESOURCES_MAX] = { 0 };

	for (node_id id = 0; id < ns->used; id++) {
		count += ns->slots[id].generation != 0;
		present += node_present(&ns->slots[id]);
		if (!node_valid(k, id, free))
			return false;
	}
	if (count != ns->count || present != ns->present)
		return wrong(k, "nodes are miscounted");
	if (memcmp(free, ns->free, sizeof(free)) != 0)
		return wrong(k, "what is free in the cluster");
	return true;
}

/* ---- shapes and views ----------------------------------------------------------- */

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
			bool allowed = node_present(n) && shape_judges(s, n, &arg) == NODE_FITS &&
			               shape_judges_last(s, n) == NODE_FITS;

			if (shape_allows(s, node) != allowed)
				return wrong(k, "shape %u: node %u", id, node);
		}
	}
	return count == c->shapes.count || wrong(k, "shapes are miscounted");
}

/* A view that is up to date says what a look at every node says. */
static bool views_valid(struct checking *k)
{
	const struct core *c = k->c;
	/* Not const: it has scratch for judging. */
	struct views *vs = (struct views *)(uintptr_t)&c->views;

	for (uint32_t i = 0; i < vs->slots_n; i++) {
		const struct view *v = &vs->slots[i];

		if (v->kind == KIND_NONE)
			continue;
		if (vs->of_kind[v->hold > 0][v->kind] != i ||
		    c->census.kinds.slots[v->kind].shape == ID_NONE)
			return wrong(k, "view %u: its kind", i);
		if (c->nodes.order_old || v->order_version != c->nodes.order_version ||
		    v->position != c->nodes.log_n || v->rules_version != c->census.rules_version)
			continue;
		if (v->stale || v->masked || (v->hold > 0 && v->hold != vs->hold.version))
			continue;
		if (!view_check(vs, v))
			return wrong(k, "view of kind %u", v->kind);
	}
	return true;
}

/* ---- gangs and queues ------------------------------------------------------------- */

/* Are the members that could start as many as have to, and are those of each role counted right? */
static bool roles_valid(struct checking *k, uint32_t index, bool *enough)
{
	const struct core *c = k->c;
	const struct gang *g = &c->gangs.slots[index];

	*enough = gang_have(g) + g->counts[MEMBER_READY] >= g->quorum;
	for (uint32_t i = 0; i < gang_roles_n(g); i++) {
		uint32_t counts[MEMBER_CLASSES] = { 0 };

		for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
		     id = c->pods.slots[id].next)
			if (c->pods.slots[id].role == g->parts->roles[i].role)
				counts[c->pods.slots[id].class]++;
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
	uint32_t counts[MEMBER_CLASSES] = { 0 }, members = 0, kept = 0, age_n = 0;
	pod_id before = ID_NONE;
	bool enough;

	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
	     id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (p->gang != index || p->previous != before || members++ > c->pods.count)
			return wrong(k, "gang %u: its list of members", index);
		if (p->class == MEMBER_READY && g->ready_kind != KIND_NONE && p->kind != g->ready_kind)
			return wrong(k, "gang %u: pod %u is of another kind than those that are ready", index,
			             id);
		counts[p->class]++;
		age_n += p->created_ns == g->age_ns;
		kept += pod_keeps_room(p);
		before = id;
	}
	if (members != g->members || kept != g->kept || memcmp(counts, g->counts, sizeof(counts)) != 0)
		return wrong(k, "gang %u: members are miscounted", index);
	if (g->created_ns == 0 && !g->key_old && members > 0 && (age_n == 0 || age_n != g->age_n))
		return wrong(k, "gang %u: it is as old as %u of its members, not %u", index, age_n,
		             g->age_n);
	if (!roles_valid(k, index, &enough))
		return false;
	if (g->place == PLACE_NONE && g->counts[MEMBER_READY] > 0 && enough &&
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
		if (n++ >= q->n || q->gangs->slots[i].place != q->place)
			return wrong(k, "queue %d: gang %u", (int)q->place, i);
		if (!gang_queued_right(&q->gangs->slots[i]) ||
		    (before != ID_NONE && !gang_before(q->gangs, before, i)))
			return wrong(k, "queue %d: gang %u is out of order", (int)q->place, i);
		before = i;
	}
	return n == q->n || wrong(k, "queue %d: %u kept, %u are there", (int)q->place, q->n, n);
}

/* Who waits for what is counted, and no wait is for more than the least of its gangs. */
static bool waits_valid(struct checking *k)
{
	const struct core *c = k->c;
	const struct waits *ws = &c->waits;
	uint32_t any = 0, in_waits = 0, kinds = 0;

	for (uint32_t i = queue_first(&c->waiting); i != ID_NONE; i = queue_next(&c->waiting, i)) {
		const struct gang *g = &c->gangs.slots[i];
		const struct wait *w = g->wait != WAIT_ANY ? &ws->slots[g->wait] : NULL;

		any += w == NULL;
		in_waits += w != NULL;
		if (w && (g->wait >= ws->used || w->gangs == 0 || w->kind != g->wait_kind ||
		          w->least > g->wait_need))
			return wrong(k, "gang %u: what it waits for", i);
	}
	for (uint32_t i = 0; i < ws->used; i++) {
		kinds += ws->slots[i].gangs > 0;
		in_waits -= ws->slots[i].gangs;
	}
	return (any == ws->any && in_waits == 0 && kinds == ws->kinds) ||
	       wrong(k, "waits are miscounted");
}

static bool row_valid(struct checking *k, const struct pod_queue *q)
{
	uint32_t n = 0;

	for (pod_id id = q->first; id != ID_NONE; id = k->c->pods.slots[id].list_next)
		if (n++ >= q->n || k->c->pods.slots[id].list != q->list)
			return wrong(k, "list %d: pod %u", (int)q->list, id);
	return n == q->n || wrong(k, "list %d: %u kept, %u are there", (int)q->list, q->n, n);
}

static bool cursor_valid(struct checking *k)
{
	uint32_t cursor = k->c->cursor, held = k->c->held;

	if (held != ID_NONE && k->c->gangs.slots[held].generation == 0)
		return wrong(k, "room is held for gang %u, which is gone", held);
	return cursor == ID_NONE || k->c->gangs.slots[cursor].place == PLACE_WAITING ||
	       wrong(k, "the round goes on at gang %u, which does not wait", cursor);
}

static bool census_right(struct checking *k)
{
	const char *why;

	return census_valid(&k->c->census, &why) || wrong(k, "census: %s", why);
}

bool core_valid(const struct core *core, char *why, size_t why_bytes)
{
	struct checking k = { .c = core, .why = why, .why_bytes = why_bytes };
	const size_t nodes = core->nodes.limit;
	bool valid = false;

	k.sums = calloc(nodes * core->nodes.resources, sizeof(*k.sums));
	k.scored = calloc(nodes * SCORED_N, sizeof(*k.scored));
	k.pods = calloc(nodes, sizeof(*k.pods));
	k.named = calloc(nodes, sizeof(*k.named));
	k.shapes = calloc(core->shapes.limit, sizeof(*k.shapes));
	if (!k.sums || !k.scored || !k.pods || !k.named || !k.shapes)
		wrong(&k, "no memory to check with");
	else
		valid = pods_valid(&k) && nodes_valid(&k) && shapes_valid(&k) && census_right(&k) &&
		        views_valid(&k) && gangs_valid(&k) && queue_valid(&k, &core->changed) &&
		        queue_valid(&k, &core->waiting) && waits_valid(&k) && row_valid(&k, &core->sends) &&
		        row_valid(&k, &core->backoff) && row_valid(&k, &core->claims.kept) &&
		        cursor_valid(&k);
	free(k.sums);
	free(k.scored);
	free(k.pods);
	free(k.named);
	free(k.shapes);
	return valid;
}
