/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/outbox.h"

#include "core/base/probe.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/queued.h"
#include "core/plan/reason.h"

#include <assert.h>
#include <string.h>

/* Minimum time between two reasons of the same code that differ in numbers only. */
#define REPUBLISH_NS UINT64_C(2000000000)

static bool emit(struct core *c, enum record_kind kind, const void *body, uint32_t bytes)
{
	return c->config.emit(c->config.context, kind, body, bytes);
}

struct cmd_bind outbox_bind_of(const struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];

	if (!gang_is_group(&c->gangs, index))
		return (struct cmd_bind){ .gang = ID_NONE };
	return (struct cmd_bind){ .gang = index,
		                      .gang_generation = g->generation,
		                      .spec_id = g->planned_spec_id };
}

/* The devices of the pod, if it asks for some.  Sent again when the ring has no space for the
 * command behind them; the frontend takes the last. */
static bool emit_devices(struct core *c, const struct cmd_bind *bind)
{
	const struct holding *h = inventory_held(c->pod_counts.inventory, bind->pod);
	struct {
		struct cmd_devices head;
		struct device_pick picks[DEVICE_PICKS_MAX];
	} cmd;

	if (!h)
		return true;
	cmd.head = (struct cmd_devices){ .pod = bind->pod,
		                             .pod_generation = bind->pod_generation,
		                             .node = bind->node,
		                             .node_generation = bind->node_generation,
		                             .attempt = bind->attempt,
		                             .layout = h->layout,
		                             .question = h->question,
		                             .picks_n = h->picks_n };
	memcpy(cmd.picks, h->picks, h->picks_n * sizeof(*h->picks));
	return emit(c, CMD_DEVICES, &cmd,
	            (uint32_t)(sizeof(cmd.head) + h->picks_n * sizeof(*h->picks)));
}

bool outbox_bind(struct core *c, enum record_kind command, struct cmd_bind *bind, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];

	bind->pod = id;
	bind->pod_generation = p->generation;
	bind->node = p->node;
	bind->node_generation = c->nodes.slots[p->node].generation;
	bind->attempt = p->attempt;
	if (c->pod_counts.inventory && command == CMD_BIND && !emit_devices(c, bind))
		return false;
	if (!emit(c, command, bind, sizeof(*bind)))
		return false;
	PROBE(bind_emitted, id, p->generation, p->node, p->attempt);
	if (command != CMD_CANCEL_BIND)
		stat_add(&core_stats(c)->binds_sent, 1);
	return true;
}

static enum record_kind command_of(const struct pod *p)
{
	switch (p->reservation) {
	case RESERVATION_CANCEL:
		return CMD_CANCEL_BIND;
	case RESERVATION_RETRY:
		return CMD_RETRY_BIND;
	default:
		assert(p->reservation == RESERVATION_RESERVED);
		return CMD_BIND;
	}
}

static bool send_first(struct core *c)
{
	const pod_id id = c->sends.first;
	struct pod *p = &c->pods.slots[id];
	const enum record_kind command = command_of(p);
	struct cmd_bind bind = outbox_bind_of(c, p->gang);

	assert(reservation_is_unsent(p));
	if (command != CMD_BIND && bind.gang != ID_NONE)
		bind.spec_id =
			c->gangs.slots[p->gang].spec_id; /* no plan of this epoch set planned_spec_id */
	if (!outbox_bind(c, command, &bind, id))
		return false;
	reservation_set(c, p, command == CMD_CANCEL_BIND ? RESERVATION_CANCEL_SENT : RESERVATION_SENT,
	                p->node);
	return true;
}

bool outbox_waits(const struct core *c)
{
	return c->sends.n > 0 || c->outbox.gang_waits || c->outbox.reason_waits ||
	       c->nominations.commands_n > 0;
}

bool outbox_flush(struct core *c)
{
	struct outbox *o = &c->outbox;

	while (c->sends.n > 0)
		if (pod_still_reserved(c, c->sends.first) && !send_first(c))
			return false;
	if (o->gang_waits) {
		if (!emit(c, CMD_GANG, &o->gang, sizeof(o->gang)))
			return false;
		PROBE(gang_emitted, o->gang.gang, o->gang.generation, (uint32_t)o->gang.state);
		o->gang_waits = false;
	}
	if (o->reason_waits) {
		if (!emit(c, CMD_REASON, &o->reason, sizeof(o->reason)))
			return false;
		PROBE(reason_emitted, o->reason.gang, o->reason.pod, (uint32_t)o->reason.reason.why);
		o->reason_waits = false;
	}
	return c->nominations.commands_n == 0 || nominations_flush(c);
}

static void state_set(struct core *c, uint32_t index, enum gang_state state)
{
	struct gang *g = &c->gangs.slots[index];

	gangs_set_state(&c->gangs, g, state);
	if (state == g->published_state)
		return;
	g->published_state = (uint8_t)state;
	c->outbox.gang_waits = true;
	c->outbox.gang = (struct cmd_gang){ .gang = index,
		                                .generation = g->generation,
		                                .state = state,
		                                .members = gang_members(g),
		                                .bound = gang_have(g),
		                                .quorum = g->declared };
}

/* A reason is published while members are pending.  One that differs in numbers only and comes too
 * soon is left for the next tick (c->stale). */
static void reason_publish(struct core *c, uint32_t index, const struct reason *reason)
{
	struct gang *g = &c->gangs.slots[index];
	uint64_t hash;

	if (reason->why == WAIT_NONE || gang_pending(g) == 0) {
		g->published_hash = 0;
		g->published_why = WAIT_NONE;
		return;
	}
	hash = reason_hash(reason);
	if (hash == g->published_hash)
		return;
	if (reason->why == g->published_why && c->now_ns - g->published_ns < REPUBLISH_NS) {
		refresh_defer(&c->refresh, index);
		return;
	}
	g->published_hash = hash;
	g->published_why = (uint8_t)reason->why;
	g->published_ns = c->now_ns;
	c->outbox.reason_waits = true;
	c->outbox.reason.gang = index;
	c->outbox.reason.gang_generation = g->generation;
	c->outbox.reason.pod = ID_NONE;
	c->outbox.reason.pod_generation = 0;
	reason_copy(&c->outbox.reason.reason, reason);
	if (gang_is_group(&c->gangs, index))
		return;
	c->outbox.reason.gang = ID_NONE;
	c->outbox.reason.gang_generation = 0;
	c->outbox.reason.pod = gang_lone_pod(&c->gangs, index);
	c->outbox.reason.pod_generation = g->generation;
}

void outbox_gang(struct core *c, uint32_t index, enum gang_state state, const struct reason *reason)
{
	assert(!c->outbox.gang_waits && !c->outbox.reason_waits);
	if (gang_is_group(&c->gangs, index)) {
		state_set(c, index, state);
		gang_publish(c, index, reason);
	}
	reason_publish(c, index, reason);
}

void gang_publish(struct core *c, uint32_t index, const struct reason *reason)
{
	const struct gang *g = &c->gangs.slots[index];
	const struct taken_by by = taken_by(&c->taken, index);
	struct gang_row *row = &c->ledger.gangs[index];

	assert(g->generation != 0);
	row_begin(&row->version);
	PROBE(gang_row_open, index, g->generation);
	row->generation = g->generation;
	row->state = gang_life(g);
	row->placement = g->state;
	row->dialect = g->dialect;
	row->quorum = g->declared;
	row->members = gang_members(g);
	row->bound = gang_have(g);
	row->succeeded = g->succeeded;
	row->failed = g->failed;
	row->priority = gang_priority(g);
	row->queue = c->turns.shares ? queued_id(c, queued_gang(c, index)) : QUEUE_MISSING;
	row->created_ns = g->members > 0 || g->created_ns != 0 ? g->age_ns : 0;
	row->waiting_since_ns = g->state == GANG_WAITING ? g->lacks_since_ns : 0;
	row->band = gang_key(g).band;
	row->name_offset = g->stored.offset;
	row->name_bytes = g->stored.bytes;
	row->reclaimed_ns = by.at_ns;
	row->reclaimed_by = by.queue;
	reason_copy(&row->reason, reason);
	row_end(&row->version);
}
