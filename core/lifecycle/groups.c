/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/groups.h"

#include "core/base/probe.h"
#include "core/lifecycle/backfill_state.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/outbox.h"
#include "core/lifecycle/retain.h"
#include "core/plan/reason.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void parts_free(struct core *c, struct gang_parts *p)
{
	for (uint32_t i = 0; p && i < p->levels_n; i++)
		topology_unref(&c->pod_counts.topologies, p->topologies[i]);
	free(p);
}

static void levels_take(struct core *c, const struct gang_record *record, struct gang_parts *p)
{
	if (record->body->levels_n > 0)
		domains_reach(&c->plan.domains, &c->config.limits);
	while (p->levels_n < record->body->levels_n) {
		const uint32_t i = p->levels_n++;

		p->topologies[i] = topology_ref(&c->pod_counts.topologies, record->levels[i].topology);
	}
}

/* The parts of a gang that only some groups have; NULL: none. */
static struct gang_parts *parts_make(struct core *c, const struct gang_record *record)
{
	const struct event_gang *e = record->body;
	const size_t amounts = e->amounts_n * sizeof(struct amount);
	/* Of which roles the succeeded members were is not known: their quorums were met once. */
	const uint32_t roles_n = (e->flags & GANG_ENDED_COUNT) && e->succeeded > 0 ? 0 : e->roles_n;
	const size_t roles = roles_n * sizeof(struct gang_role);
	const size_t levels = e->levels_n * sizeof(struct gang_level);
	const size_t counts = roles_n * sizeof(uint32_t[READINESS_N]);
	struct gang_parts *p;

	if (amounts + roles + levels == 0 && !(e->flags & GANG_PRIORITY))
		return NULL;
	p = must_alloc(sizeof(*p) + amounts + roles + levels + counts);
	p->amounts = (void *)(p + 1);
	p->amounts_n = e->amounts_n;
	p->roles_n = roles_n;
	p->priority = e->priority;
	p->roles = (void *)(p->amounts + e->amounts_n);
	p->levels = (void *)(p->roles + roles_n);
	p->counts = (void *)(p->levels + e->levels_n);
	memcpy(p->amounts, record->amounts, amounts);
	memcpy(p->roles, record->roles, roles);
	memcpy(p->levels, record->levels, levels);
	levels_take(c, record, p);
	return p;
}

static void group_forget(struct core *c, gang_id id)
{
	struct gang *g = &c->gangs.slots[id];
	struct gang_row *row = &c->ledger.gangs[id];

	assert(id < c->gangs.groups);
	assert(g->generation != 0);
	if (taken_is_on(&c->taken))
		taken_drop(&c->taken, id, g->name, g->name_bytes);
	gang_dequeue(c, id);
	backfill_forget(c, id);
	row_begin(&row->version);
	row->generation = 0;
	row_end(&row->version);
	name_drop(&c->ledger, &g->stored);
	parts_free(c, g->parts);
	gangs_note_gone(&c->gangs, g);
	memset(g, 0, sizeof(*g));
}

/* Adds a gang, without members. */
static int group_begin(struct core *c, const struct gang_record *record)
{
	const struct event_gang *e = record->body;
	struct gang *g = &c->gangs.slots[e->gang];
	struct name name;
	int rc;

	ledger_reach_gang(&c->ledger, e->gang);
	rc = name_add(&c->ledger, record->name, e->name_bytes, &name);
	if (rc < 0)
		return rc;
	*g = (struct gang){ .generation = e->generation,
		                .stored = name,
		                .name_bytes = name.bytes,
		                .hint_kind = CLASS_NONE };
	g->name = name_text(&c->ledger, name);
	gangs_note_new(&c->gangs, e->gang);
	if (taken_is_on(&c->taken))
		taken_begin(&c->taken, e->gang, g->name, g->name_bytes);
	return 0;
}

/* The quorum, without the succeeded members that are part of it. */
static void quorum_take(struct gang *g, const struct event_gang *e)
{
	uint32_t counted;

	g->declared = e->quorum > 0 ? e->quorum : 1;
	g->succeeded = e->succeeded;
	g->failed = e->failed;
	g->whole = (e->flags & GANG_WHOLE) != 0;
	counted = gang_ended_count(g);
	g->quorum = counted < g->declared ? g->declared - counted : 1;
}

static void group_fill(struct core *c, const struct gang_record *record, struct gang_parts *parts)
{
	const struct event_gang *e = record->body;
	struct gang *g = &c->gangs.slots[e->gang];
	struct reason r;

	gang_dequeue(c, e->gang);
	parts_free(c, g->parts);
	g->parts = parts;
	g->flags = e->flags;
	g->dialect = e->dialect;
	quorum_take(g, e);
	g->created_ns = e->created_ns;
	g->timeout_ns = e->timeout_ns;
	g->spec_id = e->spec_id;
	g->disruption = (uint8_t)e->disruption;
	gang_count_roles(&c->gangs, g);
	gang_retain_check(c, e->gang);
	g->infeasible_version = 0;
	gang_rekey(&c->gangs, g);
	reason_begin(&r, g, &c->nodes);
	gang_publish(c, e->gang, &r);
	gang_requeue(c, e->gang);
	gang_cancel_unsent(c, e->gang);
}

static int group_check(struct core *c, const struct gang_record *record)
{
	const struct event_gang *e = record->body;
	const struct gang *g = gangs_group(&c->gangs, e->gang);

	if (!g)
		return 0;
	if (g->generation != e->generation && g->members > 0)
		return refuse(c, "another gang in the place of one that has pods");
	if (g->generation == e->generation &&
	    (g->name_bytes != e->name_bytes || memcmp(g->name, record->name, e->name_bytes) != 0))
		return refuse(c, "a gang changed its name");
	return 0;
}

/* True if its object, which was and is there, says something else. */
static bool is_edited(const struct gang *g, const struct event_gang *e)
{
	return !((g->flags | e->flags) & GANG_OBJECT_MISSING) && g->generation == e->generation &&
	       g->spec_id != 0 && g->spec_id != e->spec_id;
}

/* True if a plan for the gang no longer is one. */
static bool terms_differ(const struct gang *g, const struct event_gang *e)
{
	const uint32_t out = GANG_OBJECT_MISSING | GANG_REFUSED;

	return g->spec_id != e->spec_id || ((g->flags ^ e->flags) & (out | GANG_PRIORITY)) ||
	       ((e->flags & GANG_PRIORITY) && gang_priority(g) != e->priority);
}

int group_event(struct core *c, const struct gang_record *record)
{
	const struct event_gang *e = record->body;
	const struct gang *g = &c->gangs.slots[e->gang];
	struct gang_parts *parts;
	int rc = group_check(c, record);

	if (rc < 0)
		return rc;
	parts = parts_make(c, record);
	if (g->generation && g->generation != e->generation)
		group_forget(c, e->gang);
	if (g->generation == 0)
		rc = group_begin(c, record);
	if (rc < 0) {
		parts_free(c, parts);
		return rc;
	}
	PROBE(gang_changes, e->gang, e->generation);
	if (c->nominations.n > 0 && terms_differ(&c->gangs.slots[e->gang], e))
		nominations_gang_changes(c, e->gang);
	if (taken_is_on(&c->taken) && is_edited(&c->gangs.slots[e->gang], e))
		taken_change(&c->taken);
	group_fill(c, record, parts);
	return 0;
}

int group_drop(struct core *c, const struct event_drop *drop)
{
	const struct gang *g = gangs_group(&c->gangs, drop->id);

	if (!g || g->generation != drop->generation)
		return refuse(c, "drop of an unknown gang");
	if (g->members > 0)
		return refuse(c, "drop of a gang that has pods");
	PROBE(gang_dropped, drop->id, drop->generation);
	group_forget(c, drop->id);
	return 0;
}
