/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/group_pods.h"

#include "frontend/dialect/group_status.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/groups/members.h"
#include "frontend/model/base/objects.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define OWNERS_MAX 8 /* in the text */

void gang_forget_status(struct model *m, uint32_t gang, uint32_t dialect)
{
	struct gang_entry *e = gang_at(m, gang);
	struct group_object *o = &e->objects[dialect - e->dialect];

	assert(dialect - e->dialect < 2);
	free(o->status);
	o->status = NULL;
	if (!e->objects[0].status && !e->objects[1].status)
		gang_clear_status_dirty(m, gang);
}

void gang_read_status(struct model *m, uint32_t gang, uint32_t dialect, const char *json,
                      size_t bytes)
{
	struct gang_entry *e = gang_at(m, gang);
	const struct dialect_status *writes = dialects[dialect]->status;
	struct group_status status;

	gang_forget_status(m, gang, dialect);
	if (!writes)
		return;
	gang_mark_status_dirty(m, gang);
	if (group_status_read(writes, json, bytes, &m->arena, &status) < 0)
		return;
	e->objects[dialect - e->dialect].status = group_status_copy(&status);
	/* The record says whether it was whole, which a fresh start reads from the status. */
	if (!e->whole && writes->was_whole(&status))
		store_mark_dirty(&m->gangs, gang);
}

/* A gang is whole from the time on at which members as many as its quorum have or had a node. */
static void gang_note_bound(const struct model *m, struct gang_entry *e)
{
	uint64_t bound = e->bound;

	if (e->whole || e->quorum == 0)
		return;
	if (e->non_members != SLOT_NONE)
		bound += non_member_sum_at(m, e->non_members)->had;
	e->whole = bound >= e->quorum;
}

/* What its object says counts only as long as a member is left of the run that it is about. */
static bool status_says_whole(const struct gang_entry *e, const struct gang_form *form,
                              uint32_t had)
{
	const struct group_object *o = form->object;
	const struct dialect_status *s = dialects[form->dialect]->status;

	return o && o->status && s && e->bound + had > 0 && s->was_whole(o->status);
}

/* True if the succeeded members are of the run that goes on: finished pods outlive their run, so of
 * a group without a live member on a node those that met the quorum, or are beside failed ones, are
 * of an earlier run, and a new one starts as a whole. */
static bool ended_count_now(const struct gang_entry *g, const struct non_member_sum *s,
                            uint32_t quorum)
{
	return g->whole && (g->bound > 0 || (s->succeeded < quorum && s->failed == 0));
}

void gang_life_to_wire(struct model *m, uint32_t gang, const struct gang_form *form,
                       struct event_gang *e)
{
	static const struct non_member_sum none;
	struct gang_entry *g = gang_at(m, gang);
	const struct non_member_sum *s =
		g->non_members != SLOT_NONE ? non_member_sum_at(m, g->non_members) : &none;
	const uint32_t quorum = e->quorum > 0 ? e->quorum : 1;

	g->quorum = form->object ? quorum : 0;
	gang_note_bound(m, g);
	g->whole = g->whole || status_says_whole(g, form, s->had);
	e->succeeded = s->succeeded;
	e->failed = s->failed;
	e->flags |= g->whole ? GANG_WHOLE : 0;
	/* Whether it would be less than its quorum, the core can't know. */
	if (m->preemption && s->foreign > 0 && !(e->disruption & GANG_DISRUPT_POD))
		e->disruption |= GANG_DISRUPT_NEVER;
	/* The roles of the succeeded ones are not known: before it was whole they have to be met. */
	if (s->succeeded > 0 &&
	    (ended_count_now(g, s, quorum) ||
	     (dialects[form->dialect]->ended_count && (g->whole || e->roles_n == 0))))
		e->flags |= GANG_ENDED_COUNT;
}

static void phase_count(struct model *m, const struct pod_entry *pod, uint32_t change)
{
	struct gang_entry *e;
	bool whole, bound;

	if (pod->gang == ID_NONE)
		return;
	e = gang_at(m, pod->gang);
	whole = e->whole;
	bound = e->bound > 0;
	assert(pod->phase < POD_PHASES && e->entry.slot.live);
	e->phases[pod->phase] += change;
	e->bound += pod->node != ID_NONE ? change : 0;
	assert(e->phases[pod->phase] != UINT32_MAX && e->bound != UINT32_MAX);
	if (!e->whole && change == 1)
		gang_note_bound(m, e);
	/* The record says whether it was whole, and which of its ended members count. */
	if (whole != e->whole ||
	    (bound != (e->bound > 0) && (!e->whole || e->non_members != SLOT_NONE)))
		store_mark_dirty(&m->gangs, pod->gang);
	gang_mark_status_dirty(m, pod->gang);
}

void gang_phase_count(struct model *m, const struct pod_entry *pod)
{
	phase_count(m, pod, 1);
}

void gang_phase_uncount(struct model *m, const struct pod_entry *pod)
{
	phase_count(m, pod, UINT32_MAX);
}

static int name_order(const void *a, const void *b)
{
	return text_order(*(const struct text *)a, *(const struct text *)b);
}

void gang_set_owners(struct model *m, uint32_t gang, const struct pod_object *pod)
{
	struct gang_entry *e = gang_at(m, gang);
	struct text names[OWNERS_MAX];
	size_t n = pod->owner.all.n < OWNERS_MAX ? pod->owner.all.n : OWNERS_MAX;
	char text[4096];
	int used = 0;

	if (e->owners || n == 0 || !dialects[e->dialect]->status)
		return;
	memcpy(names, pod->owner.all.at, n * sizeof(*names));
	qsort(names, n, sizeof(*names), name_order);
	for (size_t i = 0; i < n && used < (int)sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%.*s/%.*s", i > 0 ? "," : "",
		                 (int)pod->meta.namespace.bytes, pod->meta.namespace.at,
		                 (int)(names[i].bytes < 253 ? names[i].bytes : 253), names[i].at);
	e->owners = must_copy(text);
}

/* By a keyed hash of the name: one name is one pod at a time. */
static void pod_key(const struct model *m, const struct meta *meta, uint64_t key[2])
{
	const uint64_t second[2] = { siphash(m->hash_key, meta->namespace.at, meta->namespace.bytes),
		                         m->hash_key[1] };
	const uint64_t third[2] = { second[0], ~m->hash_key[1] };

	key[0] = siphash(second, meta->name.at, meta->name.bytes);
	key[1] = siphash(third, meta->name.at, meta->name.bytes);
}

bool non_member_equal(const void *item, const void *key)
{
	return memcmp(((const struct non_member *)item)->key, key, sizeof(uint64_t[2])) == 0;
}

static void sum_changed(struct model *m, const struct non_member_sum *s)
{
	if (s->gang != SLOT_NONE)
		gang_mark_status_dirty(m, s->gang);
}

/* Pods of other schedulers conflict with members if the group must have one scheduler; and the
 * group's record says whether it is seen whole. */
static void foreign_changed(struct model *m, const struct non_member_sum *s)
{
	const struct gang_entry *e;

	if (s->gang == SLOT_NONE)
		return;
	e = gang_at(m, s->gang);
	if (dialects[e->dialect]->one_scheduler)
		gang_refresh(m, s->gang);
	if (m->preemption && e->entry.slot.list != STORE_DEAD)
		store_mark_dirty(&m->gangs, s->gang);
}

static void foreign_count(struct model *m, struct non_member_sum *s, uint32_t scheduler)
{
	bool is_same = s->foreign > 0 && s->scheduler == scheduler;

	intern_hold(&m->schedulers, scheduler);
	if (s->foreign++ > 0)
		intern_give(&m->schedulers, s->scheduler);
	s->scheduler = scheduler;
	if (!is_same)
		foreign_changed(m, s);
}

static void foreign_uncount(struct model *m, struct non_member_sum *s)
{
	assert(s->foreign > 0);
	if (--s->foreign > 0)
		return;
	intern_give(&m->schedulers, s->scheduler);
	foreign_changed(m, s);
}

/* Count a member of ours that ended, or not any more; the gang's record has their number. */
static void ended_count(struct model *m, struct non_member_sum *s, const struct non_member *o,
                        uint32_t change)
{
	struct gang_entry *e;

	if (!o->ours)
		return;
	s->succeeded += o->phase == POD_PHASE_SUCCEEDED ? change : 0;
	s->failed += o->phase == POD_PHASE_FAILED ? change : 0;
	s->had += o->bound ? change : 0;
	assert(s->succeeded != UINT32_MAX && s->failed != UINT32_MAX && s->had != UINT32_MAX);
	if (s->gang == SLOT_NONE)
		return;
	e = gang_at(m, s->gang);
	gang_note_bound(m, e);
	if (e->entry.slot.list != STORE_DEAD)
		store_mark_dirty(&m->gangs, s->gang);
}

static void non_member_uncount(struct model *m, const struct non_member *o)
{
	struct non_member_sum *s = non_member_sum_at(m, o->sum);

	assert(s->counts.n > 0 && s->counts.phases[o->phase] > 0);
	s->counts.n--;
	s->counts.ours -= o->ours;
	s->counts.bound -= o->bound;
	s->counts.phases[o->phase]--;
	ended_count(m, s, o, UINT32_MAX);
	if (o->scheduler != ID_NONE) {
		foreign_uncount(m, s);
		intern_give(&m->schedulers, o->scheduler);
	}
	sum_changed(m, s);
	non_member_sum_release_if_unused(m, o->sum);
}

static void non_member_count(struct model *m, const struct non_member *o)
{
	struct non_member_sum *s = non_member_sum_at(m, o->sum);

	assert(o->phase < POD_PHASES);
	s->counts.n++;
	s->counts.ours += o->ours;
	s->counts.bound += o->bound;
	s->counts.phases[o->phase]++;
	ended_count(m, s, o, 1);
	if (o->scheduler != ID_NONE) {
		intern_hold(&m->schedulers, o->scheduler);
		foreign_count(m, s, o->scheduler);
	}
	sum_changed(m, s);
}

static void non_member_forget(struct model *m, uint32_t pod)
{
	non_member_uncount(m, non_member_at(m, pod));
	store_remove(&m->non_members, pod);
}

/* Slot of the non-member of that name, SLOT_NONE without one; *same: it has this uid. */
static uint32_t non_member_find(struct model *m, const struct meta *meta, bool *same)
{
	uint64_t key[2], uid[2];
	uint32_t pod;

	if (m->non_members.pool.used == 0)
		return SLOT_NONE;
	pod_key(m, meta, key);
	pod = store_find(&m->non_members, (uint32_t)key[0], key);
	if (pod == SLOT_NONE)
		return SLOT_NONE;
	pod_uid_number(meta, uid);
	*same = memcmp(non_member_at(m, pod)->uid, uid, sizeof(uid)) == 0;
	return pod;
}

/* The entry of the pod with this name and uid.  An entry with another uid is of a pod that is gone:
 * it is removed. */
static uint32_t non_member_of(struct model *m, const struct meta *meta)
{
	bool same;
	uint32_t pod = non_member_find(m, meta, &same);

	if (pod == SLOT_NONE || same)
		return pod;
	non_member_forget(m, pod);
	return SLOT_NONE;
}

void non_member_note_put(struct model *m, const struct meta *meta)
{
	const uint32_t pod = non_member_of(m, meta);

	if (pod != SLOT_NONE)
		non_member_at(m, pod)->entry.seen = m->replace[RESOURCE_INDEX_PODS].round;
}

void non_member_remove(struct model *m, const struct meta *meta)
{
	bool same;
	uint32_t pod = non_member_find(m, meta, &same);

	if (pod != SLOT_NONE && same)
		non_member_forget(m, pod);
}

static int non_member_enter(struct model *m, const struct pod_object *pod, uint32_t *slot,
                            struct decode_error *error)
{
	struct non_member *o;
	uint64_t key[2];

	pod_key(m, &pod->meta, key);
	if (store_add(&m->non_members, (uint32_t)key[0], slot) < 0)
		return model_limit_meta(m, &pod->meta, "--max-pods", error);
	o = non_member_at(m, *slot);
	pod_uid_number(&pod->meta, o->uid);
	memcpy(o->key, key, sizeof(o->key));
	return 0;
}

/* Count the pod for its group; non_member_count() references the scheduler. */
static int non_member_place(struct model *m, const struct pod_object *pod, uint32_t slot,
                            uint32_t sum, uint32_t scheduler, struct decode_error *error)
{
	bool is_new = slot == SLOT_NONE, bound = pod->node_name.bytes > 0;
	struct non_member *o, old;

	if (is_new && non_member_enter(m, pod, &slot, error) < 0) {
		non_member_sum_release_if_unused(m, sum);
		return -ENOSPC;
	}
	o = non_member_at(m, slot);
	o->entry.seen = m->replace[RESOURCE_INDEX_PODS].round;
	if (!is_new && o->sum == sum && o->phase == pod->phase && o->bound == bound)
		return 0;
	old = *o;
	o->sum = sum;
	o->phase = (uint8_t)pod->phase;
	o->ours = pod_is_ours(m, pod);
	o->bound = bound;
	o->scheduler = scheduler;
	non_member_count(m, o);
	if (!is_new)
		non_member_uncount(m, &old);
	return 0;
}

int non_member_put(struct model *m, const struct pod_object *pod, struct decode_error *error)
{
	uint32_t slot = non_member_of(m, &pod->meta), scheduler = ID_NONE, sum;
	const bool ended = pod->ended && pod_is_ours(m, pod);
	const bool foreign = !pod->ended && !pod_is_ours(m, pod);
	/* For gang_life_to_wire(); all others for the status alone. */
	const bool counts = ended || (foreign && m->preemption);
	struct group_mark mark;
	const char *name;
	int rc;

	dialect_mark(pod, m->dialects_off, m->served, &m->arena, &mark);
	if (mark.mark != MARK_MEMBER || (!counts && !dialects[mark.dialect]->status)) {
		if (slot != SLOT_NONE)
			non_member_forget(m, slot);
		return 0;
	}
	/* Of such a group a state is shown, and no status is written. */
	if (slot == SLOT_NONE && !dialects[mark.dialect]->status &&
	    m->non_members.pool.used >= m->non_members.pool.limit)
		return 0;
	name = arena_printf(&m->arena, "%.*s/%s", (int)pod->meta.namespace.bytes,
	                    pod->meta.namespace.at, mark.name);
	if (foreign)
		scheduler = model_number(&m->schedulers, pod_scheduler_name(pod));
	sum = non_member_sum_enter(m, mark.dialect, name);
	rc = non_member_place(m, pod, slot, sum, scheduler, error);
	if (scheduler != ID_NONE)
		intern_give(&m->schedulers, scheduler);
	return rc;
}

void non_members_replaced(struct model *m, uint32_t round)
{
	STORE_EACH(&m->non_members, i)
	if (non_member_at(m, i)->entry.seen != round)
		non_member_forget(m, i);
}
