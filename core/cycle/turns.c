/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/turns.h"

#include "core/lifecycle/members.h"
#include "core/lifecycle/queued.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

void turns_init(struct core *c)
{
	const struct share_set *set = c->config.queues;
	struct turns *t = &c->turns;

	*t = (struct turns){ .shares = shares_new(set),
		                 .counted = must_array(c->pods.limit, sizeof(*t->counted)),
		                 .blocker = must_array(set->n, sizeof(*t->blocker)),
		                 .waiting = must_array(set->n, sizeof(*t->waiting)),
		                 .first = must_array(set->n, sizeof(*t->first)),
		                 .asks = must_array(set->n, sizeof(*t->asks)),
		                 .nodes = must_array(c->pods.limit, sizeof(*t->nodes)) };
	turns_clear(c);
}

void turns_free(struct core *c)
{
	struct turns *t = &c->turns;

	shares_free(t->shares);
	free(t->counted);
	free(t->blocker);
	free(t->waiting);
	free(t->first);
	free(t->asks);
	free(t->nodes);
}

void turns_clear(struct core *c)
{
	struct turns *t = &c->turns;

	shares_clear(t->shares);
	t->facts_version = UINT64_MAX;
	for (pod_id id = 0; id < c->pods.limit; id++)
		t->counted[id] = 0;
	for (uint32_t q = 0; q < shares_set(t->shares)->n; q++)
		t->blocker[q] = ID_NONE;
}

static uint32_t queue_of(const struct core *c, uint32_t index)
{
	const struct share_set *set = shares_set(c->turns.shares);
	const struct gang *g = &c->gangs.slots[index];
	uint32_t queue = 0, n = 0;

	for (pod_id id = g->first; n < g->members; id = c->pods.slots[id].next, n++) {
		const uint32_t of = set->of_pod(set->context, id);

		if (n > 0 && of != queue)
			return SHARE_TWO;
		queue = of;
	}
	return queue;
}

/* The leaf of a gang; UINT32_MAX: it has none. */
static uint32_t leaf_of(const struct core *c, uint32_t index)
{
	const uint32_t queue = queue_of(c, index);

	return queue < shares_set(c->turns.shares)->n && shares_is_leaf(c->turns.shares, queue)
	           ? queue
	           : UINT32_MAX;
}

static void ask_add(const struct core *c, const struct pod *p, struct share_ask *ask)
{
	const struct shape *s = &c->shapes.slots[p->shape];

	for (uint32_t i = 0; i < s->sums_n; i++)
		share_ask_add(ask, s->requests[i].resource, s->requests[i].value);
}

/* Takes one member of what is needed: true if it is part of it.  The roles' members first. */
static bool need_take(struct gang_need *need, uint32_t role, bool of_role)
{
	for (uint32_t i = 0; i < need->roles_n; i++)
		if (need->roles[i].role == role && need->roles[i].quorum > 0) {
			need->roles[i].quorum--;
			need->total--;
			return true;
		}
	if (of_role || need->total == 0)
		return false;
	need->total--;
	return true;
}

static uint32_t need_of_roles(const struct gang_need *need)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < need->roles_n; i++)
		n += need->roles[i].quorum;
	return n;
}

/* What the members ask for that have to start together: by list, roles as they need. */
static void ask_find(const struct core *c, uint32_t index, struct share_ask *ask)
{
	const struct gang *g = &c->gangs.slots[index];
	struct gang_need need;
	uint32_t n = 0;

	gang_need_find(g, &need);
	ask->n = 0;
	for (pod_id id = g->first; n < g->members && need.total > 0; id = c->pods.slots[id].next, n++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->readiness == MEMBER_READY &&
		    need_take(&need, p->role, need.total <= need_of_roles(&need)))
			ask_add(c, p, ask);
	}
}

/* The first of a fifo leaf waits, and the gang comes behind it. */
static bool is_behind(const struct core *c, uint32_t leaf, uint32_t index)
{
	const uint32_t blocker = c->turns.blocker[leaf];

	return blocker != ID_NONE && blocker != index &&
	       !gang_partially_bound(&c->gangs.slots[index]) && /* it is not asked */
	       c->gangs.slots[blocker].queue == QUEUE_UNSCHEDULABLE &&
	       gang_before(&c->gangs, blocker, index);
}

bool turns_wanted(const struct core *c)
{
	if (c->queue.unschedulable.n == 0)
		return false;
	for (uint32_t q = 0; q < shares_set(c->turns.shares)->n; q++) {
		const uint32_t blocker = c->turns.blocker[q];

		if (blocker != ID_NONE && c->gangs.slots[blocker].queue == QUEUE_NONE)
			return true;
	}
	return false;
}

static void capacity_tell(struct core *c)
{
	const uint32_t resources = shares_set(c->turns.shares)->resources;
	wide total[RESOURCES_MAX] = { 0 };

	if (c->turns.facts_version == c->nodes.facts_version)
		return;
	c->turns.facts_version = c->nodes.facts_version;
	for (node_id id = 0; id < c->nodes.used; id++) {
		const struct node *n = &c->nodes.slots[id];

		if (!node_present(n) || (n->flags & NODE_CORDONED))
			continue;
		for (uint32_t r = 0; r < resources; r++)
			total[r] += nodes_allocatable(&c->nodes, id, r);
	}
	shares_capacity(c->turns.shares, total);
}

void turns_begin(struct core *c)
{
	struct scheduling_queue *q = &c->queue;
	const bool gone = turns_wanted(c);

	capacity_tell(c);
	if (!gone && (c->config.once || q->walked_version == c->nodes.freed_version))
		return;
	q->walked_version = c->nodes.freed_version;
	for (uint32_t i = 0; i < shares_set(c->turns.shares)->n; i++)
		c->turns.blocker[i] = ID_NONE;
	while (q->unschedulable.n > 0) {
		budget_spend(&c->budget, 1);
		squeue_activate(q, queue_first(&q->unschedulable));
	}
}

/* Brings keys up to date that members may have lowered. */
static void rekey_all(struct core *c)
{
	struct scheduling_queue *q = &c->queue;
	uint32_t next;

	for (uint32_t i = queue_first(&q->active); i != ID_NONE; i = next) {
		next = queue_next(&q->active, i);
		if (c->gangs.slots[i].key_old && gang_rekey(&c->gangs, &c->gangs.slots[i]))
			squeue_activate(q, i);
	}
}

/* The first gang of each leaf; or one that has no leaf, which only has to be told. */
static uint32_t firsts_find(struct core *c)
{
	struct turns *t = &c->turns;
	const struct queue *active = &c->queue.active;

	for (uint32_t q = 0; q < shares_set(t->shares)->n; q++)
		t->waiting[q].waits = false;
	for (uint32_t i = queue_first(active); i != ID_NONE; i = queue_next(active, i)) {
		const struct gang *g = &c->gangs.slots[i];
		const bool extra = gang_quorum_met(g);
		const uint32_t leaf = leaf_of(c, i);

		budget_spend(&c->budget, 1);
		if (leaf == UINT32_MAX || !gang_enough(g, MEMBER_READY) || is_behind(c, leaf, i))
			return i;
		if (t->waiting[leaf].waits && (extra || !t->waiting[leaf].extra))
			continue;
		t->first[leaf] = i;
		t->waiting[leaf] = (struct share_waiting){ .waits = true,
			                                       .extra = extra,
			                                       .begun = gang_partially_bound(g),
			                                       .age_ns = g->age_ns,
			                                       .ask = &t->asks[leaf] };
	}
	return ID_NONE;
}

uint32_t turns_pop(struct core *c)
{
	struct turns *t = &c->turns;
	uint32_t index, leaf;

	rekey_all(c);
	index = firsts_find(c);
	if (index == ID_NONE) {
		for (uint32_t q = 0; q < shares_set(t->shares)->n; q++)
			if (t->waiting[q].waits)
				ask_find(c, t->first[q], &t->asks[q]);
		leaf = shares_next(t->shares, t->waiting);
		index = leaf != UINT32_MAX ? t->first[leaf] : ID_NONE;
	}
	if (index != ID_NONE)
		squeue_remove(&c->queue, index);
	return index;
}

/* Takes what the gang's refused members retain out of the queue's use, or puts it back. */
static void retained_count(const struct core *c, uint32_t index, int times)
{
	const struct gang *g = &c->gangs.slots[index];
	uint32_t left = g->retained;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		if (!reservation_is_retained(&c->pods.slots[id]))
			continue;
		queued_add(c, c->turns.shares, &c->pods.slots[id], c->turns.counted[id] - 1, times);
		left--;
	}
}

static bool asked(const struct core *c, uint32_t index, const struct share_ask *ask,
                  struct share_block *out)
{
	bool allowed;

	retained_count(c, index, -1);
	allowed = shares_allow(c->turns.shares, queue_of(c, index), ask, out);
	retained_count(c, index, 1);
	return allowed;
}

bool turns_blocked(const struct core *c, uint32_t index, struct share_block *out)
{
	const uint32_t leaf = leaf_of(c, index);
	struct share_ask ask;

	if (leaf != UINT32_MAX && is_behind(c, leaf, index)) {
		*out = (struct share_block){ .by = SHARE_BY_FIFO,
			                         .at = leaf,
			                         .behind = c->turns.blocker[leaf] };
		return true;
	}
	if (gang_partially_bound(&c->gangs.slots[index]))
		return false;
	ask_find(c, index, &ask);
	return !asked(c, index, &ask, out);
}

bool turns_allow(struct core *c, uint32_t index)
{
	struct share_block block;

	c->turns.again = false;
	return !turns_blocked(c, index, &block);
}

/* True if all that the plan has placed may start now: no other gang waits for a turn. */
static bool accept_all(const struct core *c, uint32_t index)
{
	struct share_ask ask = { 0 };
	struct share_block block;

	if (c->queue.active.n > 0)
		return false;
	for (uint32_t i = 0; i < c->plan.n; i++)
		if (c->plan.nodes[i] != ID_NONE)
			ask_add(c, &c->pods.slots[c->plan.pods[i]], &ask);
	return asked(c, index, &ask, &block);
}

/* True if the member has a node by the plan, is not placed yet, and may be placed there now. */
static bool may_take(struct core *c, uint32_t member)
{
	const struct plan *plan = &c->plan;
	const node_id node = c->turns.nodes[member];
	const class_id class = c->pods.slots[plan->pods[member]].class;

	return node != ID_NONE && plan->nodes[member] == ID_NONE &&
	       view_open(views_get(&c->views, &plan->scope, class), c->nodes.ranks[node]);
}

/* Places only the members that have to start together, on the nodes that the plan has chosen.  One
 * whose rules need another member is placed after it: in a later round. */
static bool quorum_take(struct core *c, struct share_ask *ask)
{
	struct plan *plan = &c->plan;
	struct gang_need need = c->need;

	for (uint32_t i = 0; i < plan->n; i++)
		c->turns.nodes[i] = plan->nodes[i];
	undo_all(plan, &c->views, &c->gangs);
	for (bool more = true; more && need.total > 0;) {
		more = false;
		for (uint32_t i = 0; i < plan->n && need.total > 0; i++) {
			const struct pod *p = &c->pods.slots[plan->pods[i]];

			if (!may_take(c, i) || !need_take(&need, p->role, need.total <= need_of_roles(&need)))
				continue;
			ask_add(c, p, ask);
			if (!plan_take_on(plan, &c->views, &c->gangs, i, c->turns.nodes[i]))
				return false;
			more = true;
		}
	}
	return need.total == 0;
}

bool turns_accept(struct core *c, uint32_t index)
{
	const bool begun = gang_partially_bound(&c->gangs.slots[index]);
	const uint32_t placed = c->plan.placed;
	struct share_ask ask = { 0 };
	struct share_block block;

	if (accept_all(c, index))
		return true;
	/* What has begun is not asked; its members beyond the quorum are. */
	if (quorum_take(c, &ask) && (begun || asked(c, index, &ask, &block))) {
		c->turns.again = c->plan.placed < placed;
		return true;
	}
	undo_all(&c->plan, &c->views, &c->gangs);
	return false;
}

void turns_tried(struct core *c, uint32_t index, bool waits)
{
	const uint32_t leaf = leaf_of(c, index);

	if (c->turns.again)
		gang_requeue(c, index);
	else if (waits && leaf != UINT32_MAX && shares_set(c->turns.shares)->defs[leaf].fifo &&
	         !is_behind(c, leaf, index) && !gang_quorum_met(&c->gangs.slots[index]))
		c->turns.blocker[leaf] = index;
	c->turns.again = false;
}
