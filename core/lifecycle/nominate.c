/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/nominate.h"

#include "core/lifecycle/evicted.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/tickets.h"
#include "core/shm/ledger.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <assert.h>
#include <stdlib.h>

#define COMMANDS_FIRST 64u
#define COMMANDS_MOST 65536u /* that wait: then no gang is nominated */

static struct core_preemption *stats(struct core *c)
{
	return &c->ledger.ledger->preemption;
}

struct nomination *nomination_of(struct core *c, uint32_t index)
{
	for (uint32_t i = 0; c->nominations.n > 0 && i < NOMINATIONS_MAX; i++)
		if (c->nominations.all[i].ticket != 0 && c->nominations.all[i].gang == index)
			return &c->nominations.all[i];
	return NULL;
}

static bool same_namespace(const struct core *c, const struct nomination *n, uint32_t index)
{
	return gang_same_namespace(&c->gangs.slots[n->gang], &c->gangs.slots[index]);
}

/* The lone pod's that yields to this one: of those of lower priority one that has evicted no pod,
 * else the lowest; `own`: of its namespace. */
static struct nomination *lone_yielding(struct core *c, uint32_t index, bool own)
{
	struct nomination *best = NULL;

	for (uint32_t i = NOMINATIONS_GANGS; i < NOMINATIONS_MAX; i++) {
		struct nomination *n = &c->nominations.all[i];

		if (n->ticket == 0 || n->priority >= gang_priority(&c->gangs.slots[index]) ||
		    (own && !same_namespace(c, n, index)))
			continue;
		if (!best || (n->evicted > 0) < (best->evicted > 0) ||
		    ((n->evicted > 0) == (best->evicted > 0) && n->priority < best->priority))
			best = n;
	}
	return best;
}

static struct nomination *lone_new(struct core *c, uint32_t index)
{
	struct nomination *free = NULL;
	uint32_t same = 0;

	for (uint32_t i = NOMINATIONS_GANGS; i < NOMINATIONS_MAX; i++) {
		struct nomination *n = &c->nominations.all[i];

		if (n->ticket == 0)
			free = free ? free : n;
		else
			same += same_namespace(c, n, index);
	}
	if (same >= (NOMINATIONS_MAX - NOMINATIONS_GANGS) / 2)
		return lone_yielding(c, index, true);
	return free ? free : lone_yielding(c, index, false);
}

struct nomination *nomination_new(struct core *c, uint32_t index)
{
	if (c->nominations.commands_n > COMMANDS_MOST)
		return NULL;
	if (!gang_is_group(&c->gangs, index))
		return lone_new(c, index);
	for (uint32_t i = 0; i < NOMINATIONS_GANGS; i++)
		if (c->nominations.all[i].ticket == 0)
			return &c->nominations.all[i];
	return NULL;
}

static struct eviction_command *command_add(struct core *c, enum record_kind kind)
{
	struct nominations *ns = &c->nominations;

	ns->commands = must_reach(ns->commands, &ns->commands_cap, ns->commands_n, COMMANDS_FIRST,
	                          sizeof(*ns->commands));
	ns->commands[ns->commands_n] = (struct eviction_command){ .kind = (uint16_t)kind };
	return &ns->commands[ns->commands_n++];
}

static void nominate(struct core *c, pod_id id, node_id node, uint64_t ticket)
{
	command_add(c, CMD_NOMINATE)->nominate =
		(struct cmd_nominate){ .ticket = ticket,
		                       .pod = id,
		                       .pod_generation = c->pods.slots[id].generation,
		                       .node = node,
		                       .node_generation =
		                           node == ID_NONE ? 0 : c->nodes.slots[node].generation };
}

void nomination_clear(struct core *c, pod_id id)
{
	nominate(c, id, ID_NONE, 0);
}

static void evict(struct core *c, const struct nomination *n, const struct eviction *v,
                  uint32_t due)
{
	command_add(c, CMD_EVICT)->evict =
		(struct cmd_evict){ .ticket = v->ticket,
		                    .pod = v->pod,
		                    .pod_generation = v->generation,
		                    .node = v->node,
		                    .node_generation = c->nodes.slots[v->node].generation,
		                    .gang = n->gang,
		                    .gang_generation = n->generation,
		                    .victims = due,
		                    .members = n->places_n,
		                    .cause = v->cause };
}

/* The plan's capacity becomes the member's. */
static void member_nominate(struct core *c, struct nomination *n, pod_id id, node_id node)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->readiness == MEMBER_READY && p->node == ID_NONE);
	p->node = node;
	p->leaving = false;
	if (c->pod_counts.inventory)
		devices_adopt(c, p);
	if (c->turns.shares)
		queued_enter(c, id);
	reservation_set(c, p, RESERVATION_NOMINATED, node);
	n->places[n->places_n++] =
		(struct answer_pod){ .pod = id,
		                     .generation = p->generation,
		                     .node = node,
		                     .node_generation = c->nodes.slots[node].generation };
	nominate(c, id, node, n->ticket);
}

void nomination_make(struct core *c, struct nomination *n, uint32_t index, uint64_t ticket,
                     struct eviction *victims, uint32_t victims_n)
{
	const struct plan *plan = &c->plan;
	const struct gang *g = &c->gangs.slots[index];
	uint32_t due = 0;

	assert(plan->placed > 0 && g->retained == 0);
	*n = (struct nomination){ .ticket = ticket,
		                      .gang = index,
		                      .generation = g->generation,
		                      .priority = gang_priority(g),
		                      .victims = victims,
		                      .victims_n = victims_n,
		                      .places = must_array(plan->placed, sizeof(*n->places)),
		                      .start_ns = victims_gone_ns(c, victims, victims_n) };
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->nodes[i] != ID_NONE)
			member_nominate(c, n, plan->pods[i], plan->nodes[i]);
	for (uint32_t i = 0; i < victims_n; i++) {
		due += victims[i].state == VICTIM_DUE;
		c->pods.slots[victims[i].pod].evicted |= victims[i].state == VICTIM_DUE;
	}
	for (uint32_t i = 0; i < victims_n; i++)
		if (victims[i].state == VICTIM_DUE)
			evict(c, n, &victims[i], due);
	c->nominations.n++;
	if (c->promises.timeline)
		nomination_timeline_begin(c, n);
	stat_add(&stats(c)->nominations, 1);
	stat_set(&stats(c)->open, c->nominations.n);
}

static bool is_nominated(const struct pod *p)
{
	return p->reservation == RESERVATION_NOMINATED;
}

void nomination_release_tentatively(struct core *c, const struct nomination *n)
{
	for (uint32_t i = 0; i < n->places_n; i++) {
		const struct pod *p = &c->pods.slots[n->places[i].pod];

		assert(is_nominated(p) && p->gang == n->gang);
		if (c->pod_counts.inventory)
			inventory_return(c->pod_counts.inventory, n->places[i].pod);
		pod_counts_release(&c->pod_counts, p->node, p->class, p->leaving);
	}
}

void nomination_restore(struct core *c, const struct nomination *n)
{
	for (uint32_t i = 0; i < n->places_n; i++) {
		const struct pod *p = &c->pods.slots[n->places[i].pod];

		pod_counts_allocate(&c->pod_counts, p->node, p->class, p->leaving);
		if (c->pod_counts.inventory)
			devices_adopt(c, p);
	}
}

void nomination_release_finally(struct core *c, const struct nomination *n)
{
	for (uint32_t i = 0; i < n->places_n; i++) {
		struct pod *p = &c->pods.slots[n->places[i].pod];

		assert(is_nominated(p));
		if (c->promises.timeline)
			timeline_pod_leave(c->promises.timeline, n->places[i].pod);
		if (c->turns.shares)
			queued_leave(c, n->places[i].pod);
		p->node = ID_NONE;
		reservation_set(c, p, RESERVATION_NONE, ID_NONE);
	}
	nodes_note_freed(&c->nodes);
}

static void members_end(struct core *c, const struct nomination *n, bool bound)
{
	for (uint32_t i = 0; i < n->places_n; i++) {
		struct pod *p = &c->pods.slots[n->places[i].pod];

		if (p->generation != n->places[i].generation)
			continue;
		if (is_nominated(p))
			reservation_set(c, p, RESERVATION_NONE, ID_NONE);
		if (!bound)
			nominate(c, n->places[i].pod, ID_NONE, n->ticket);
	}
}

static void victims_end(struct core *c, const struct nomination *n, bool kept)
{
	for (uint32_t i = 0; i < n->victims_n; i++) {
		const struct eviction *v = &n->victims[i];

		if (v->state != VICTIM_ENDING)
			evicted_pod_stays(c, v->pod);
		if (v->state == VICTIM_SENT)
			command_add(c, CMD_CANCEL_EVICT)->cancel = (struct cmd_cancel_evict){
				.ticket = v->ticket, .pod = v->pod, .pod_generation = v->generation
			};
	}
	nomination_victims_expect(c, n, 0);
	if (!kept)
		stat_add(&stats(c)->wasted, n->evicted);
}

uint32_t nomination_others_victims(const struct core *c, const struct nomination *n)
{
	bool *planned = must_array(c->nodes.limit, sizeof(*planned));
	uint32_t found = 0;

	for (uint32_t i = 0; i < n->places_n; i++)
		planned[n->places[i].node] = true;
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		const struct nomination *other = &c->nominations.all[i];

		for (uint32_t k = 0; other != n && k < other->victims_n; k++)
			found += planned[other->victims[k].node];
	}
	free(planned);
	return found;
}

static _Atomic uint64_t *count_of(struct core *c, enum nomination_end how)
{
	struct core_preemption *s = stats(c);

	switch (how) {
	case NOMINATION_PLACED:
		return &s->placed;
	case NOMINATION_ELSEWHERE:
		return &s->elsewhere;
	case NOMINATION_REFUSED:
		return &s->refused;
	case NOMINATION_STUCK:
		return &s->stuck;
	case NOMINATION_TAKEN_OVER:
		return &s->taken_over;
	case NOMINATION_LOST:
		return &s->lost;
	default:
		return &s->changed;
	}
}

void nomination_end(struct core *c, struct nomination *n, enum nomination_end how)
{
	const bool bound = how == NOMINATION_PLACED || how == NOMINATION_ELSEWHERE;
	const struct nomination ended = *n;

	*n = (struct nomination){ 0 };
	c->nominations.n--;
	members_end(c, &ended, bound);
	victims_end(c, &ended, how == NOMINATION_PLACED || how == NOMINATION_TAKEN_OVER);
	if (!bound && c->promises.timeline)
		promise_nominate(c->promises.timeline, ended.gang, false);
	free(ended.places);
	free(ended.victims);
	stat_add(count_of(c, how), 1);
	stat_set(&stats(c)->open, c->nominations.n);
	if (bound)
		return;
	if (how == NOMINATION_LOST && ended.taken_generation != 0)
		ticket_note_taken(c, ended.gang, ended.taken_pod, ended.taken_generation);
	if (how == NOMINATION_LOST || how == NOMINATION_REFUSED || how == NOMINATION_STUCK)
		ticket_put_off(c, ended.gang);
	if (c->gangs.slots[ended.gang].generation == ended.generation &&
	    c->queue.in_cycle != ended.gang)
		gang_requeue(c, ended.gang);
}

static struct eviction *victim_find(struct core *c, pod_id id, struct nomination **of)
{
	for (uint32_t i = 0; c->nominations.n > 0 && i < NOMINATIONS_MAX; i++) {
		struct nomination *n = &c->nominations.all[i];

		for (uint32_t k = 0; n->ticket != 0 && k < n->victims_n; k++)
			if (n->victims[k].pod == id) {
				*of = n;
				return &n->victims[k];
			}
	}
	return NULL;
}

static void victim_ends(struct core *c, struct nomination *n, struct eviction *v)
{
	if (v->state == VICTIM_ENDING)
		return;
	n->evicted += v->state == VICTIM_SENT;
	v->state = VICTIM_ENDING;
	v->since_ns = c->now_ns;
}

static void victim_gone(struct core *c, struct nomination *n, pod_id id)
{
	bool found = false;

	for (uint32_t k = 0; k < n->victims_n; k++) {
		if (n->victims[k].pod != id)
			continue;
		found = true;
		n->evicted += n->victims[k].state == VICTIM_SENT;
		n->victims[k--] = n->victims[--n->victims_n];
	}
	if (found)
		gang_requeue(c, n->gang);
}

void nominations_pod_gone(struct core *c, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];

	if (is_nominated(p))
		nomination_end(c, nomination_of(c, p->gang), NOMINATION_CHANGED);
	/* A pod that ends may be waited for by more than one. */
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++)
		if (c->nominations.all[i].ticket != 0)
			victim_gone(c, &c->nominations.all[i], id);
}

void nominations_pod_changes(struct core *c, pod_id id, uint32_t flags, bool stays)
{
	struct nomination *n;
	struct eviction *v;

	if (is_nominated(&c->pods.slots[id]) && !stays)
		nomination_end(c, nomination_of(c, c->pods.slots[id].gang), NOMINATION_CHANGED);
	v = flags & POD_DELETING ? victim_find(c, id, &n) : NULL;
	if (v)
		victim_ends(c, n, v);
}

void nominations_pod_came(struct core *c, pod_id id, uint32_t generation, node_id node)
{
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		struct nomination *n = &c->nominations.all[i];

		for (uint32_t k = 0; n->ticket != 0 && k < n->places_n; k++) {
			if (n->places[k].node != node)
				continue;
			n->taken_pod = id;
			n->taken_generation = generation;
			break;
		}
	}
}

/* True if a member is nominated to the node, which is gone or allows it no more. */
static bool loses_node(const struct core *c, const struct nomination *n, node_id node, bool gone)
{
	for (uint32_t k = 0; n->ticket != 0 && k < n->places_n; k++) {
		const struct pod *p = &c->pods.slots[n->places[k].pod];

		if (n->places[k].node == node && (gone || !shape_allows(&c->shapes.slots[p->shape], node)))
			return true;
	}
	return false;
}

void nominations_node_changes(struct core *c, node_id node, bool gone)
{
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++)
		if (loses_node(c, &c->nominations.all[i], node, gone))
			nomination_end(c, &c->nominations.all[i], NOMINATION_CHANGED);
}

void nominations_end_all(struct core *c)
{
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++)
		if (c->nominations.all[i].ticket != 0)
			nomination_end(c, &c->nominations.all[i], NOMINATION_CHANGED);
}

void nominations_gang_changes(struct core *c, uint32_t index)
{
	struct nomination *n = nomination_of(c, index);

	if (n)
		nomination_end(c, n, NOMINATION_CHANGED);
}

void nominations_result(struct core *c, enum record_kind kind, const struct evict_result *r)
{
	struct nomination *n = NULL;
	struct eviction *v = victim_find(c, r->pod, &n);

	if (!v || v->generation != r->generation || v->ticket != r->ticket) {
		/* It was cancelled, and went all the same. */
		stat_add(&stats(c)->wasted, kind == RESULT_EVICT_SENT);
		if (kind == RESULT_EVICT_SENT && c->pods.slots[r->pod].generation == r->generation)
			c->pods.slots[r->pod].evicted = true;
		return;
	}
	if (kind == RESULT_EVICT_SENT)
		victim_ends(c, n, v);
	else if (v->state == VICTIM_SENT) {
		v->state = VICTIM_REFUSED;
		nomination_end(c, n, NOMINATION_REFUSED);
	}
}

/* Commands follow the order of victims, and one that stands is of its gang's own nomination. */
static struct eviction *victim_of(struct core *c, const struct cmd_evict *e)
{
	struct nomination *n = nomination_of(c, e->gang);
	uint32_t *at = &c->nominations.at;

	if (!n)
		return NULL;
	for (uint32_t k = 0; k < n->victims_n; k++, ++*at) {
		if (*at >= n->victims_n)
			*at = 0;
		if (n->victims[*at].pod == e->pod)
			return &n->victims[*at];
	}
	return NULL;
}

/* False: it is not wanted any more. */
static bool command_stands(struct core *c, const struct eviction_command *e)
{
	const struct eviction *v;

	if (e->kind == CMD_NOMINATE)
		return c->pods.slots[e->nominate.pod].generation == e->nominate.pod_generation;
	if (e->kind != CMD_EVICT)
		return true;
	v = victim_of(c, &e->evict);
	return v && v->ticket == e->evict.ticket && v->state == VICTIM_DUE;
}

static bool command_emit(struct core *c, const struct eviction_command *e)
{
	const uint32_t bytes = e->kind == CMD_NOMINATE ? sizeof(e->nominate)
	                       : e->kind == CMD_EVICT  ? sizeof(e->evict)
	                                               : sizeof(e->cancel);

	if (!c->config.emit(c->config.context, (enum record_kind)e->kind, &e->evict, bytes))
		return false;
	if (e->kind != CMD_EVICT)
		return true;
	victim_of(c, &e->evict)->state = VICTIM_SENT;
	stat_add(&stats(c)->evictions, 1);
	return true;
}

bool nominations_flush(struct core *c)
{
	struct nominations *ns = &c->nominations;

	for (; ns->first < ns->commands_n; ns->first++) {
		const struct eviction_command *e = &ns->commands[ns->first];

		if (command_stands(c, e) && !command_emit(c, e))
			return false;
	}
	ns->first = ns->commands_n = 0;
	return true;
}

/* True if it counts as one that never goes. */
static bool victim_is_stuck(const struct core *c, const struct eviction *v)
{
	const struct kept_facts *f = &c->tickets.facts[v->pod];
	const uint32_t patience_s = c->tickets.terms.patience_s;

	if (v->state != VICTIM_ENDING)
		return false;
	if (facts_gone_ns(f, v->generation) > 0)
		return facts_overdue(f, v->generation, patience_s, c->now_ns);
	return c->now_ns > v->since_ns + VICTIM_GRACE_NS + patience_s * NS_PER_S;
}

/* Once a second: a record comes with each new time, and victims may be thousands. */
void nominations_tick(struct core *c)
{
	if (c->now_ns < c->nominations.tick_ns)
		return;
	c->nominations.tick_ns = c->now_ns + NS_PER_S;
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		struct nomination *n = &c->nominations.all[i];

		for (uint32_t k = 0; n->ticket != 0 && k < n->victims_n; k++) {
			if (!victim_is_stuck(c, &n->victims[k]))
				continue;
			if (gang_is_group(&c->gangs, n->gang))
				ticket_note_stuck(c, n->gang, n->victims[k].pod, n->victims[k].generation);
			nomination_end(c, n, NOMINATION_STUCK);
		}
	}
}

void nominations_forget(struct core *c)
{
	stat_add(&stats(c)->changed, c->nominations.n);
	stat_set(&stats(c)->open, 0);
	nominations_clear(c);
}

void nominations_clear(struct core *c)
{
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		free(c->nominations.all[i].places);
		free(c->nominations.all[i].victims);
	}
	free(c->nominations.commands);
	c->nominations = (struct nominations){ 0 };
}
