/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/say.h"

#include "core/base/probe.h"
#include "core/lifecycle/members.h"
#include "core/plan/reason.h"

#include <assert.h>
#include <string.h>

/* A reason of the same kind with other numbers is told no more often than this. */
#define RETELL_NS UINT64_C(2000000000)

static bool emit(struct core *c, enum record_kind kind, const void *body, uint32_t bytes)
{
	return c->config.emit(c->config.context, kind, body, bytes);
}

struct cmd_bind say_bind_of(const struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];

	if (!gang_is_group(&c->gangs, index))
		return (struct cmd_bind){ .gang = ID_NONE };
	return (struct cmd_bind){ .gang = index,
		                      .gang_generation = g->generation,
		                      .terms = g->planned_terms };
}

bool say_bind(struct core *c, struct cmd_bind *bind, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];

	bind->pod = id;
	bind->pod_generation = p->generation;
	bind->node = p->node;
	bind->node_generation = c->nodes.slots[p->node].generation;
	bind->attempt = p->attempt;
	if (!emit(c,
	          p->withdrawn ? CMD_TAKE_BACK
	          : p->carried ? CMD_BIND_AGAIN
	                       : CMD_BIND,
	          bind, sizeof(*bind)))
		return false;
	PROBE(bind_said, id, p->generation, p->node, p->attempt);
	if (!p->withdrawn)
		stat_add(&core_stats(c)->binds_sent, 1);
	return true;
}

static bool say_first(struct core *c)
{
	const pod_id id = c->sends.first;
	const struct pod *p = &c->pods.slots[id];
	struct cmd_bind bind = say_bind_of(c, p->gang);

	if (p->carried && bind.gang != ID_NONE)
		bind.terms = c->gangs.slots[p->gang].terms; /* nobody planned it */
	if (!say_bind(c, &bind, id))
		return false;
	pod_queue_remove(&c->sends, &c->pods, id);
	return true;
}

bool say_waits(const struct core *c)
{
	return c->sends.n > 0 || c->say.gang_waits || c->say.reason_waits;
}

bool say_all(struct core *c)
{
	while (c->sends.n > 0)
		if (pod_still_reserved(c, c->sends.first) && !say_first(c))
			return false;
	if (c->say.gang_waits) {
		if (!emit(c, CMD_GANG, &c->say.gang, sizeof(c->say.gang)))
			return false;
		PROBE(gang_said, c->say.gang.gang, c->say.gang.generation, (uint32_t)c->say.gang.state);
		c->say.gang_waits = false;
	}
	if (c->say.reason_waits) {
		if (!emit(c, CMD_REASON, &c->say.reason, sizeof(c->say.reason)))
			return false;
		PROBE(reason_said, c->say.reason.gang, c->say.reason.pod,
		      (uint32_t)c->say.reason.reason.why);
		c->say.reason_waits = false;
	}
	return true;
}

static void say_state(struct core *c, uint32_t index, enum gang_state state)
{
	struct gang *g = &c->gangs.slots[index];

	c->gangs.states[g->state]--;
	c->gangs.states[state]++;
	g->state = (uint8_t)state;
	if (state == g->told_state)
		return;
	g->told_state = (uint8_t)state;
	c->say.gang_waits = true;
	c->say.gang = (struct cmd_gang){ .gang = index,
		                             .generation = g->generation,
		                             .state = state,
		                             .members = gang_members(g),
		                             .bound = gang_have(g),
		                             .quorum = g->quorum };
}

/* Only while somebody waits is there somebody to tell. */
static void say_reason(struct core *c, uint32_t index, const struct reason *reason)
{
	struct gang *g = &c->gangs.slots[index];
	uint64_t hash;

	if (reason->why == WHY_NONE || gang_pending(g) == 0) {
		g->told_hash = 0;
		g->told_why = WHY_NONE;
		return;
	}
	hash = reason_hash(reason);
	if (hash == g->told_hash)
		return;
	if (reason->why == g->told_why && c->now_ns - g->told_ns < RETELL_NS) {
		if (!c->stale_known[index])
			c->stale[c->stale_n++] = index;
		c->stale_known[index] = true;
		return;
	}
	g->told_hash = hash;
	g->told_why = (uint8_t)reason->why;
	g->told_ns = c->now_ns;
	c->say.reason_waits = true;
	c->say.reason = (struct cmd_reason){
		.gang = index, .gang_generation = g->generation, .pod = ID_NONE, .reason = *reason
	};
	if (gang_is_group(&c->gangs, index))
		return;
	c->say.reason.gang = ID_NONE;
	c->say.reason.gang_generation = 0;
	c->say.reason.pod = gang_lone_pod(&c->gangs, index);
	c->say.reason.pod_generation = g->generation;
}

void say_gang(struct core *c, uint32_t index, enum gang_state state, const struct reason *reason)
{
	assert(!c->say.gang_waits && !c->say.reason_waits);
	if (gang_is_group(&c->gangs, index)) {
		say_state(c, index, state);
		gang_publish(c, index, reason);
	}
	say_reason(c, index, reason);
}

void gang_publish(struct core *c, uint32_t index, const struct reason *reason)
{
	const struct gang *g = &c->gangs.slots[index];
	struct gang_row *row = &c->ledger.gangs[index];

	row_begin(&row->version);
	PROBE(gang_row_open, index, g->generation);
	row->generation = g->generation;
	row->state = g->state;
	row->dialect = g->dialect;
	row->quorum = g->quorum;
	row->members = gang_members(g);
	row->bound = gang_have(g);
	row->priority = gang_priority(g);
	row->created_ns = g->members > 0 || g->created_ns != 0 ? g->age_ns : 0;
	row->standing = gang_key(g).standing;
	row->name_offset = g->stored.offset;
	row->name_bytes = g->stored.bytes;
	row->reason = *reason;
	row_end(&row->version);
}
