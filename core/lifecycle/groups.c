/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/groups.h"

#include "core/base/probe.h"
#include "core/cycle/hold.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/say.h"
#include "core/plan/reason.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void parts_free(struct core *c, struct gang_parts *p)
{
	for (uint32_t i = 0; p && i < p->levels_n; i++)
		topology_give(&c->census.topologies, p->topologies[i]);
	free(p);
}

static int levels_take(struct core *c, const struct gang_record *record, struct gang_parts *p)
{
	int rc = record->body->levels_n > 0 ? domains_reach(&c->plan.domains, &c->config.limits) : 0;

	for (uint32_t i = 0; rc == 0 && i < record->body->levels_n; i++) {
		rc = topology_take(&c->census.topologies, record->levels[i].topology, &p->topologies[i]);
		p->levels_n += rc == 0;
	}
	return rc;
}

/* What a record of a group brings with it, or NULL in *out for nothing.  -ENOMEM */
static int parts_make(struct core *c, const struct gang_record *record, struct gang_parts **out)
{
	const struct event_gang *e = record->body;
	const size_t amounts = e->amounts_n * sizeof(struct amount),
				 roles = e->roles_n * sizeof(struct gang_role),
				 levels = e->levels_n * sizeof(struct gang_level),
				 counts = e->roles_n * sizeof(uint32_t[MEMBER_CLASSES]);
	struct gang_parts *p;

	*out = NULL;
	if (amounts + roles + levels == 0 && !(e->flags & GANG_PRIORITY))
		return 0;
	p = malloc(sizeof(*p) + amounts + roles + levels + counts);
	if (!p)
		return -ENOMEM;
	*p = (struct gang_parts){ .amounts = (void *)(p + 1),
		                      .amounts_n = e->amounts_n,
		                      .roles_n = e->roles_n,
		                      .priority = e->priority };
	p->roles = (void *)(p->amounts + e->amounts_n);
	p->levels = (void *)(p->roles + e->roles_n);
	p->counts = (void *)(p->levels + e->levels_n);
	memcpy(p->amounts, record->amounts, amounts);
	memcpy(p->roles, record->roles, roles);
	memcpy(p->levels, record->levels, levels);
	if (levels_take(c, record, p) < 0) {
		parts_free(c, p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

static void group_forget(struct core *c, gang_id id)
{
	struct gang *g = &c->gangs.slots[id];
	struct gang_row *row = &c->ledger.gangs[id];

	gang_hold(c, id);
	hold_forget(c, id);
	row_begin(&row->version);
	row->generation = 0;
	row_end(&row->version);
	name_drop(&c->ledger, &g->stored);
	parts_free(c, g->parts);
	c->gangs.states[g->state]--;
	c->gangs.count--;
	memset(g, 0, sizeof(*g));
}

/* A gang without members yet. */
static int group_begin(struct core *c, const struct gang_record *record)
{
	const struct event_gang *e = record->body;
	struct gang *g = &c->gangs.slots[e->gang];
	struct name name;
	int rc = ledger_reach_gang(&c->ledger, e->gang);

	if (rc == 0)
		rc = name_add(&c->ledger, record->name, e->name_bytes, &name);
	if (rc < 0)
		return rc;
	*g = (struct gang){ .generation = e->generation,
		                .stored = name,
		                .name_bytes = name.bytes,
		                .wait_kind = KIND_NONE };
	g->name = name_text(&c->ledger, name);
	c->gangs.count++;
	c->gangs.states[GANG_NONE]++;
	if (e->gang >= c->gangs.used)
		c->gangs.used = e->gang + 1;
	return 0;
}

static void group_fill(struct core *c, const struct gang_record *record, struct gang_parts *parts)
{
	const struct event_gang *e = record->body;
	struct gang *g = &c->gangs.slots[e->gang];
	struct reason r;

	gang_hold(c, e->gang);
	parts_free(c, g->parts);
	g->parts = parts;
	g->flags = e->flags;
	g->dialect = e->dialect;
	g->quorum = e->quorum > 0 ? e->quorum : 1;
	g->created_ns = e->created_ns;
	g->timeout_ns = e->timeout_ns;
	g->terms = e->terms;
	gang_count_roles(&c->gangs, g);
	gang_keep_room(c, e->gang);
	g->hopeless = 0;
	gang_rekey(&c->gangs, g);
	reason_begin(&r, g, &c->nodes);
	gang_publish(c, e->gang, &r);
	gang_touch(c, e->gang);
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

int group_event(struct core *c, const struct gang_record *record)
{
	const struct event_gang *e = record->body;
	const struct gang *g = &c->gangs.slots[e->gang];
	struct gang_parts *parts;
	int rc = group_check(c, record);

	if (rc == 0)
		rc = parts_make(c, record, &parts);
	if (rc < 0)
		return rc;
	if (g->generation && g->generation != e->generation)
		group_forget(c, e->gang);
	if (g->generation == 0)
		rc = group_begin(c, record);
	if (rc < 0) {
		parts_free(c, parts);
		return rc;
	}
	PROBE(gang_changes, e->gang, e->generation);
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
	PROBE(gang_left, drop->id, drop->generation);
	group_forget(c, drop->id);
	return 0;
}
