/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/turns.h"

#include "core/cycle/promises.h"
#include "core/cycle/turn_asks.h"
#include "core/cycle/turn_promised.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/tickets.h"

#include <stdlib.h>

#define TURN_STEPS 20u /* shares_next() after a start */

uint32_t turns_leaf(const struct core *c, uint32_t index)
{
	const uint32_t queue = queued_gang(c, index);
	const struct share_set *set = shares_set(c->turns.shares);

	return queue < set->n && shares_is_leaf(c->turns.shares, queue) && !set->defs[queue].parked
	           ? queue
	           : UINT32_MAX;
}

/* True if the gang is still what it was when it became the blocker. */
static bool is_blocker(const struct core *c, uint32_t leaf)
{
	const struct turn_blocker *b = &c->turns.blocker[leaf];

	return b->gang != ID_NONE && c->gangs.slots[b->gang].generation == b->generation &&
	       queued_gang(c, b->gang) == leaf;
}

/* The first of a fifo leaf waits, and the gang comes behind it. */
static bool is_behind(const struct core *c, uint32_t leaf, uint32_t index)
{
	const uint32_t blocker = c->turns.blocker[leaf].gang;

	return blocker != ID_NONE && blocker != index && is_blocker(c, leaf) &&
	       !gang_partially_bound(&c->gangs.slots[index]) && /* it is not asked */
	       c->gangs.slots[blocker].queue == QUEUE_UNSCHEDULABLE &&
	       gang_before(&c->gangs, blocker, index);
}

static void blocker_set(struct core *c, uint32_t leaf, uint32_t gang)
{
	struct turns *t = &c->turns;

	t->blockers_n += gang != ID_NONE;
	t->blockers_n -= t->blocker[leaf].gang != ID_NONE;
	t->blocker[leaf] = (struct turn_blocker){ .gang = gang };
	if (gang == ID_NONE)
		return;
	t->blocker[leaf].generation = c->gangs.slots[gang].generation;
	t->blocker[leaf].key = gang_key(&c->gangs.slots[gang]);
}

bool turns_wanted(const struct core *c)
{
	const struct turns *t = &c->turns;

	if (c->queue.unschedulable.n == 0 || t->blockers_n == 0)
		return false;
	for (uint32_t q = 0; q < shares_set(t->shares)->n; q++)
		if (t->blocker[q].gang != ID_NONE &&
		    (!is_blocker(c, q) || c->gangs.slots[t->blocker[q].gang].queue == QUEUE_NONE))
			return true;
	return false;
}

void turns_capacity(struct core *c)
{
	const uint32_t resources = shares_set(c->turns.shares)->resources;
	wide total[RESOURCES_MAX] = { 0 };
	bool changed = false;

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
	for (uint32_t r = 0; r < resources; r++)
		changed = changed || total[r] != shares_total(c->turns.shares, r);
	if (changed)
		taken_change(&c->taken);
	shares_capacity(c->turns.shares, total);
}

/* The longest run time that a member states which is to be planned; 0: none does. */
static uint32_t stated_of(const struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	uint32_t seen = 0, most = 0;

	for (pod_id id = g->first; seen < g->members; id = c->pods.slots[id].next, seen++)
		if (c->pods.slots[id].readiness == MEMBER_READY && c->turns.stated[id] > most)
			most = c->turns.stated[id];
	return most;
}

static bool run_allowed(const struct core *c, uint32_t leaf, uint32_t index,
                        struct share_block *out)
{
	return shares_max_run(c->turns.shares, leaf) == UINT32_MAX ||
	       shares_allow_run(c->turns.shares, leaf, stated_of(c, index), out);
}

/* True if it is certain that the gang still has to wait: nothing changed for it. */
static bool stays(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	const struct turn_parked *p = &c->turns.parked[index];

	if (c->config.ask_all || g->refresh != c->refresh.round)
		return false;
	switch ((enum queue_by)p->by) {
	case QUEUE_BY_NONE:
		return !hints_may_fit(&c->queue.hints, &c->views, g);
	case QUEUE_BY_LIMIT:
	case QUEUE_BY_NEVER:
	case QUEUE_BY_KEPT:
		return p->eased == shares_eased(c->turns.shares, p->at);
	case QUEUE_BY_FIFO:
		return turns_leaf(c, index) != UINT32_MAX && is_behind(c, turns_leaf(c, index), index);
	default: /* only a record of a queue helps, or of a member */
		return true;
	}
}

void turns_begin(struct core *c)
{
	struct scheduling_queue *q = &c->queue;
	struct turns *t = &c->turns;
	const bool gone = turns_wanted(c);
	uint32_t next;

	t->listed = false;
	turns_capacity(c);
	if (!gone && (!tickets_retry(c) || q->walked_version == c->nodes.freed_version))
		return;
	q->walked_version = c->nodes.freed_version;
	for (uint32_t i = queue_first(&q->unschedulable); i != ID_NONE; i = next) {
		next = queue_next(&q->unschedulable, i);
		budget_spend(&c->budget, 1);
		if (!stays(c, i))
			squeue_activate(q, i);
	}
	for (uint32_t i = 0; i < shares_set(t->shares)->n && t->blockers_n > 0; i++)
		if (t->blocker[i].gang != ID_NONE &&
		    (!is_blocker(c, i) || c->gangs.slots[t->blocker[i].gang].queue != QUEUE_UNSCHEDULABLE))
			blocker_set(c, i, ID_NONE);
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

static void list_push(struct turns *t, struct turn_list *list, uint32_t index)
{
	t->next[index] = ID_NONE;
	if (list->first == ID_NONE)
		list->first = index;
	else
		t->next[list->last] = index;
	list->last = index;
}

/* The next of it that is still to be planned, which stays in the list. */
static uint32_t list_first(const struct core *c, struct turn_list *list)
{
	while (list->first != ID_NONE && c->gangs.slots[list->first].queue != QUEUE_ACTIVE)
		list->first = c->turns.next[list->first];
	return list->first;
}

/* Who is first in the leaf now: quorums come before extras. */
static void leaf_renew(struct core *c, uint32_t leaf)
{
	struct turns *t = &c->turns;
	uint32_t first = list_first(c, &t->quorums[leaf]);
	const bool extra = first == ID_NONE;

	if (extra)
		first = list_first(c, &t->extras[leaf]);
	if (first == ID_NONE && !t->waiting[leaf].waits)
		return;
	t->waiting[leaf].waits = first != ID_NONE;
	if (first != ID_NONE)
		t->waiting[leaf] = ask_waiting(c, first, extra, &t->asks[leaf]);
	shares_waits_anew(t->shares, leaf);
}

/* What is to be planned, by leaf; a gang that has none, or comes behind another one, only has to be
 * told so. */
static void lists_make(struct core *c)
{
	struct turns *t = &c->turns;
	const struct queue *active = &c->queue.active;
	const struct turn_list empty = { ID_NONE, ID_NONE };
	const uint32_t n = shares_set(t->shares)->n;

	rekey_all(c);
	t->told = empty;
	for (uint32_t q = 0; q < n; q++)
		t->quorums[q] = t->extras[q] = empty;
	for (uint32_t i = queue_first(active); i != ID_NONE; i = queue_next(active, i)) {
		const struct gang *g = &c->gangs.slots[i];
		const uint32_t leaf = turns_leaf(c, i);

		budget_spend(&c->budget, 1);
		if (leaf == UINT32_MAX || !gang_enough(g, MEMBER_READY) || is_behind(c, leaf, i))
			list_push(t, &t->told, i);
		else
			list_push(t, gang_quorum_met(g) ? &t->extras[leaf] : &t->quorums[leaf], i);
	}
	for (uint32_t q = 0; q < n; q++)
		leaf_renew(c, q);
	t->listed = true;
}

static uint32_t next_by_share(struct core *c)
{
	struct turns *t = &c->turns;

	if (c->promises.timeline)
		turns_promised_follow(c);
	for (;;) {
		const uint32_t leaf = shares_next(t->shares, t->waiting);
		uint32_t index;

		budget_spend(&c->budget, TURN_STEPS);
		if (leaf == UINT32_MAX)
			return ID_NONE;
		index = t->waiting[leaf].extra ? t->extras[leaf].first : t->quorums[leaf].first;
		if (c->gangs.slots[index].queue == QUEUE_ACTIVE)
			return index;
		leaf_renew(c, leaf);
	}
}

/* False: it is not in the list. */
static bool list_remove(struct turns *t, struct turn_list *list, uint32_t index)
{
	uint32_t before = ID_NONE, at = list->first;

	while (at != ID_NONE && at != index) {
		before = at;
		at = t->next[at];
	}
	if (at == ID_NONE)
		return false;
	if (before == ID_NONE)
		list->first = t->next[at];
	else
		t->next[before] = t->next[at];
	if (list->last == at)
		list->last = before;
	return true;
}

/* A promised gang whose time has come goes first, whatever its queue has by now.  In its turn,
 * those before it would be asked while its promise stands, and with as many as there may be they
 * would get none; the one that it makes way for would always be given to a queue behind its own. */
static uint32_t due_first(struct core *c)
{
	struct turns *t = &c->turns;

	for (const struct promise *p = turns_promised_due(c, NULL); p; p = turns_promised_due(c, p)) {
		const uint32_t index = p->ask.gang, leaf = turns_leaf(c, index);

		/* Else it is to be told why it waits, or joined after the lists were made. */
		if (leaf != UINT32_MAX &&
		    (list_remove(t, &t->quorums[leaf], index) || list_remove(t, &t->extras[leaf], index)))
			return index;
	}
	return ID_NONE;
}

uint32_t turns_pop(struct core *c)
{
	struct turns *t = &c->turns;
	uint32_t index, leaf;

	if (!t->listed)
		lists_make(c);
	index = list_first(c, &t->told);
	if (index == ID_NONE && c->promises.timeline)
		index = due_first(c);
	if (index == ID_NONE)
		index = next_by_share(c);
	if (index == ID_NONE)
		return ID_NONE;
	squeue_remove(&c->queue, index);
	t->parked[index] = (struct turn_parked){ 0 };
	leaf = turns_leaf(c, index);
	if (leaf != UINT32_MAX)
		leaf_renew(c, leaf);
	return index;
}

/* Takes what the gang's members that are to be planned hold, retained or nominated, out of the
 * queue's use, or puts it back. */
static void held_count(const struct core *c, uint32_t index, int times)
{
	const uint32_t held = RESERVATION_BIT(RETAINED) | RESERVATION_BIT(NOMINATED);
	const struct gang *g = &c->gangs.slots[index];
	uint32_t n = 0;

	for (pod_id id = g->first; n < g->members; id = c->pods.slots[id].next, n++) {
		const struct shape *s = &c->shapes.slots[c->pods.slots[id].shape];

		if (!reservation_in(&c->pods.slots[id], held))
			continue;
		for (uint32_t i = 0; i < s->sums_n; i++)
			shares_suppose(c->turns.shares, c->turns.counted[id] - 1, s->requests[i].resource,
			               (wide)s->requests[i].value * times);
	}
}

static bool asked(const struct core *c, uint32_t index, const struct share_ask *ask,
                  struct share_block *out)
{
	bool allowed;

	if (c->gangs.slots[index].retained == 0 && c->nominations.n == 0)
		return shares_allow(c->turns.shares, queued_gang(c, index), ask, out);
	held_count(c, index, -1);
	allowed = shares_allow(c->turns.shares, queued_gang(c, index), ask, out);
	held_count(c, index, 1);
	return allowed;
}

bool turns_blocked(const struct core *c, uint32_t index, struct share_block *out)
{
	const uint32_t leaf = turns_leaf(c, index);
	struct share_ask ask;

	if (leaf != UINT32_MAX && is_behind(c, leaf, index)) {
		*out = (struct share_block){ .by = QUEUE_BY_FIFO,
			                         .at = leaf,
			                         .resource = UINT32_MAX,
			                         .behind = c->turns.blocker[leaf].gang };
		return true;
	}
	if (gang_partially_bound(&c->gangs.slots[index]))
		return false;
	if (leaf != UINT32_MAX && !run_allowed(c, leaf, index, out))
		return true;
	ask_find(c, index, &ask);
	return !asked(c, index, &ask, out);
}

bool turns_allow(struct core *c, uint32_t index)
{
	struct turns *t = &c->turns;
	const struct share_block *block = &t->block;

	t->again = false;
	t->parked[index] = (struct turn_parked){ 0 };
	if (!turns_blocked(c, index, &t->block))
		return true;
	t->parked[index] = (struct turn_parked){ .by = (uint8_t)block->by,
		                                     .at = block->at,
		                                     .eased = shares_eased(t->shares, block->at) };
	return false;
}

void turns_reason(const struct core *c, const struct share_block *b, struct reason *r)
{
	r->queue_by = b->by;
	r->queue = b->by == QUEUE_BY_NONE || b->by == QUEUE_BY_MISSING || b->by == QUEUE_BY_TWO
	               ? QUEUE_MISSING
	               : queued_id(c, b->at);
	if (b->by == QUEUE_BY_STATE)
		r->queue_state = shares_set(c->turns.shares)->defs[b->at].state;
	if (b->by == QUEUE_BY_RUN) {
		r->queue_run_s = (uint32_t)b->need;
		r->queue_most_s = (uint32_t)b->have;
	}
	if (b->by == QUEUE_BY_FIFO) {
		r->queue_behind = b->behind;
		r->queue_behind_generation = c->gangs.slots[b->behind].generation;
	}
	if (b->by == QUEUE_BY_LIMIT || b->by == QUEUE_BY_NEVER || b->by == QUEUE_BY_KEPT)
		r->shortfalls[r->shortfalls_n++] = (struct shortfall){ .resource = b->resource,
			                                                   .need = wide_cut(b->need),
			                                                   .have = wide_cut(b->have) };
}

/* True if all that the plan has placed may start now: no other gang waits for a turn. */
static bool accept_all(struct core *c, uint32_t index)
{
	struct share_ask ask = { 0 };

	if (c->queue.active.n > 0)
		return false;
	for (uint32_t i = 0; i < c->plan.n; i++)
		if (c->plan.nodes[i] != ID_NONE)
			ask_add(c, &c->pods.slots[c->plan.pods[i]], &ask);
	return asked(c, index, &ask, &c->turns.block);
}

/* The best node for one more member; with levels the first of the plan's that takes it, which are
 * in one domain. */
static node_id node_elsewhere(struct core *c, uint32_t index, const struct view *v)
{
	uint32_t rank;

	if (!gang_has_levels(&c->gangs.slots[index])) {
		rank = view_best(v);
		return rank == TREE_NONE ? ID_NONE : c->nodes.order[rank];
	}
	for (uint32_t i = 0; i < c->plan.n; i++)
		if (c->turns.nodes[i] != ID_NONE && view_open(v, c->nodes.ranks[c->turns.nodes[i]]))
			return c->turns.nodes[i];
	return ID_NONE;
}

/* Where a member of the gang that is not placed yet may be placed now: on its node by the plan;
 * else, if `elsewhere`, on another one.  ID_NONE: nowhere. */
static node_id node_for(struct core *c, uint32_t index, uint32_t member, bool elsewhere)
{
	const struct plan *plan = &c->plan;
	const node_id node = c->turns.nodes[member];
	const class_id class = c->pods.slots[plan->pods[member]].class;
	const struct view *v;

	if (plan->nodes[member] != ID_NONE || (node == ID_NONE && !elsewhere))
		return ID_NONE;
	v = views_get(&c->views, &plan->scope, class);
	if (node != ID_NONE && view_open(v, c->nodes.ranks[node]))
		return node;
	return elsewhere ? node_elsewhere(c, index, v) : ID_NONE;
}

/* Places only the members that have to start together, the first of turns.order, see node_for().
 * One whose rules need another member is placed after it: in a later round. */
static bool quorum_take(struct core *c, uint32_t index, bool elsewhere, struct share_ask *ask)
{
	struct plan *plan = &c->plan;
	struct gang_need need = c->need;

	undo_all(plan, &c->views, &c->gangs);
	for (bool more = true; more && need.total > 0;) {
		more = false;
		for (uint32_t k = 0; k < plan->n && need.total > 0; k++) {
			const uint32_t i = c->turns.order[k];
			const struct pod *p = &c->pods.slots[plan->pods[i]];
			const node_id node = node_for(c, index, i, elsewhere);

			if (node == ID_NONE || !need_take(&need, p->role, need.total <= need_of_roles(&need)))
				continue;
			ask_add(c, p, ask);
			if (!plan_take_on(plan, &c->views, &c->gangs, i, node))
				return false;
			more = true;
		}
	}
	return need.total == 0;
}

static int by_request(const void *a, const void *b, void *context)
{
	const struct core *c = context;
	const uint32_t resource = c->turns.block.resource, *i = a, *k = b;
	const wide x = ask_of(c, &c->pods.slots[c->plan.pods[*i]], resource),
			   y = ask_of(c, &c->pods.slots[c->plan.pods[*k]], resource);

	if (x != y)
		return x < y ? -1 : 1;
	return *i < *k ? -1 : *i > *k;
}

/* Places the members that have to start together if the queue lets them, also those to which the
 * plan gave no node because it gave their room to members that the queue refuses.  Promises have
 * judged the plan, and judge where these go. */
static bool quorum_accept_elsewhere(struct core *c, uint32_t index)
{
	const struct share_block block = c->turns.block;
	struct share_ask ask = { 0 };
	bool some = false;

	for (uint32_t i = 0; i < c->plan.n; i++)
		some = some || c->turns.nodes[i] == ID_NONE;
	if (!some || !quorum_take(c, index, true, &ask) || !asked(c, index, &ask, &c->turns.block))
		return false;
	c->turns.again = true;
	if (!c->promises.timeline || promises_accept_from(c, c->now_ns))
		return true;
	c->turns.again = false;
	c->turns.block = block;
	return false;
}

/* Places the members that have to start together if the queue lets them; of unlike members those
 * that ask for the least of what it refuses first. */
static bool quorum_accept(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	const bool begun = gang_partially_bound(g); /* it is not asked; those beyond its quorum are */
	struct share_ask ask = { 0 };

	for (uint32_t i = 0; i < c->plan.n; i++) {
		c->turns.nodes[i] = c->plan.nodes[i];
		c->turns.order[i] = i;
	}
	if (!quorum_take(c, index, false, &ask))
		return false;
	if (begun || asked(c, index, &ask, &c->turns.block))
		return true;
	if (g->ready_class != CLASS_NONE)
		return false;
	qsort_r(c->turns.order, c->plan.n, sizeof(*c->turns.order), by_request, c);
	ask = (struct share_ask){ 0 };
	return (quorum_take(c, index, false, &ask) && asked(c, index, &ask, &c->turns.block)) ||
	       quorum_accept_elsewhere(c, index);
}

/* Other members than those that the plan chose may ask for less. */
static void never_soften(struct core *c)
{
	struct share_block *b = &c->turns.block;
	wide left;

	if (b->by != QUEUE_BY_NEVER)
		return;
	left = b->have - shares_used(c->turns.shares, b->at, b->resource);
	b->by = QUEUE_BY_LIMIT;
	b->have = left > 0 ? left : 0;
}

bool turns_accept(struct core *c, uint32_t index)
{
	const uint32_t placed = c->plan.placed;

	if (accept_all(c, index))
		return true;
	c->turns.block = (struct share_block){ .by = QUEUE_BY_NONE };
	if (quorum_accept(c, index)) {
		c->turns.again |= c->plan.placed < placed;
		return true;
	}
	undo_all(&c->plan, &c->views, &c->gangs);
	never_soften(c);
	return false;
}

/* The gang, whose quorum has started, waits for its next member: among the extras by its key. */
static void extra_add(struct core *c, uint32_t leaf, uint32_t index)
{
	struct turns *t = &c->turns;
	struct turn_list *list = &t->extras[leaf];
	uint32_t before = ID_NONE, at = list_first(c, list);

	while (at != ID_NONE && gang_before(&c->gangs, at, index)) {
		before = at;
		at = t->next[at];
	}
	t->next[index] = at;
	if (before == ID_NONE)
		list->first = index;
	else
		t->next[before] = index;
	if (at == ID_NONE)
		list->last = index;
}

/* Who comes behind the gang in its fifo leaf only has to be told so. */
static void others_tell(struct core *c, uint32_t leaf)
{
	struct turns *t = &c->turns;
	struct turn_list kept = { ID_NONE, ID_NONE };
	uint32_t next;

	for (uint32_t i = t->quorums[leaf].first; i != ID_NONE; i = next) {
		next = t->next[i];
		list_push(t, is_behind(c, leaf, i) ? &t->told : &kept, i);
	}
	t->quorums[leaf] = kept;
}

void turns_tried(struct core *c, uint32_t index, bool waits)
{
	const uint32_t leaf = turns_leaf(c, index);
	struct turns *t = &c->turns;

	if (t->again) {
		gang_requeue(c, index);
		if (t->listed && leaf != UINT32_MAX && c->gangs.slots[index].queue == QUEUE_ACTIVE)
			extra_add(c, leaf, index);
	} else if (waits && leaf != UINT32_MAX && shares_set(t->shares)->defs[leaf].fifo &&
	           !is_behind(c, leaf, index) && !gang_quorum_met(&c->gangs.slots[index])) {
		if (t->blocker[leaf].gang == index &&
		    !gang_key_is(&c->gangs.slots[index], &t->blocker[leaf].key))
			nodes_note_freed(&c->nodes); /* for gangs that are no longer behind it */
		blocker_set(c, leaf, index);
		others_tell(c, leaf);
	} else {
		return;
	}
	if (leaf != UINT32_MAX)
		leaf_renew(c, leaf);
	t->again = false;
}
