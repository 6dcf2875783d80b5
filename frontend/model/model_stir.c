/* SPDX-License-Identifier: Apache-2.0 */
/* What the status of a group's object is made of: its status as it is, its members by
 * phase, and the pods beside them, which the core never hears of: those that ended,
 * and those of other schedulers.
 *
 * Of pods beside the uid is kept, and keyed hashes of their names and their groups': they
 * need no slot of the core's, and they may be there before the group is. */
#include "frontend/dialect/group_status.h"
#include "frontend/model/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNERS_MAX 8 /* that are told */

static struct beside_entry *beside_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->besides, s);
}

static struct other_entry *other_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->others, s);
}

/* ---- gangs that changed --------------------------------------------------------------- */

static void stir(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (e->stirred || !dialects[e->dialect]->status)
		return;
	e->stirred = true;
	e->stir_next = SLOT_NONE;
	e->stir_prev = m->stir_last;
	if (m->stir_last == SLOT_NONE)
		m->stir_first = gang;
	else
		gang_at(m, m->stir_last)->stir_next = gang;
	m->stir_last = gang;
}

static void unstir(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (!e->stirred)
		return;
	if (e->stir_prev == SLOT_NONE)
		m->stir_first = e->stir_next;
	else
		gang_at(m, e->stir_prev)->stir_next = e->stir_next;
	if (e->stir_next == SLOT_NONE)
		m->stir_last = e->stir_prev;
	else
		gang_at(m, e->stir_next)->stir_prev = e->stir_prev;
	e->stirred = false;
}

bool model_next_stirred(struct model *m, gang_id *id, uint32_t *generation)
{
	uint32_t gang = m->stir_first;

	if (gang == SLOT_NONE)
		return false;
	unstir(m, gang);
	*id = gang;
	*generation = gang_at(m, gang)->slot.generation;
	return true;
}

/* ---- the object ------------------------------------------------------------------------- */

void gang_forget_status(struct model *m, uint32_t gang, uint32_t dialect)
{
	struct gang_entry *e = gang_at(m, gang);
	struct group_object *o = &e->objects[dialect - e->dialect];

	free(o->status);
	o->status = NULL;
	if (!e->objects[0].status && !e->objects[1].status)
		unstir(m, gang);
}

int gang_read_status(struct model *m, uint32_t gang, uint32_t dialect, const char *json,
                     size_t bytes)
{
	struct gang_entry *e = gang_at(m, gang);
	const struct dialect_status *writes = dialects[dialect]->status;
	struct group_status status, *copy;
	int rc;

	gang_forget_status(m, gang, dialect);
	if (!writes)
		return 0;
	stir(m, gang);
	rc = group_status_read(writes, json, bytes, &m->arena, &status);
	if (rc < 0)
		return rc == -EINVAL ? 0 : rc;
	copy = group_status_copy(&status);
	if (!copy)
		return -ENOMEM;
	e->objects[dialect - e->dialect].status = copy;
	return 0;
}

/* ---- members ------------------------------------------------------------------------------ */

void gang_phase_count(struct model *m, const struct pod_entry *pod)
{
	struct gang_entry *e;

	if (pod->gang == ID_NONE)
		return;
	e = gang_at(m, pod->gang);
	e->phases[pod->phase]++;
	e->bound += pod->node != ID_NONE;
	stir(m, pod->gang);
}

void gang_phase_uncount(struct model *m, const struct pod_entry *pod)
{
	struct gang_entry *e;

	if (pod->gang == ID_NONE)
		return;
	e = gang_at(m, pod->gang);
	assert(e->phases[pod->phase] > 0);
	e->phases[pod->phase]--;
	e->bound -= pod->node != ID_NONE;
	stir(m, pod->gang);
}

static int name_order(const void *a, const void *b)
{
	return text_order(*(const struct text *)a, *(const struct text *)b);
}

void gang_owned(struct model *m, uint32_t gang, const struct pod_object *pod)
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
	e->owners = strdup(text); /* without memory the next member says it */
}

/* ---- pods beside them ----------------------------------------------------------------------- */

static void beside_key(const struct model *m, uint32_t dialect, const char *name, uint64_t key[2])
{
	const uint32_t family = dialect_family(dialect);
	const uint64_t first[2] = { m->hash_key[0], m->hash_key[1] ^ family };
	const uint64_t second[2] = { ~m->hash_key[0], m->hash_key[1] ^ family };

	key[0] = siphash(first, name, strlen(name));
	key[1] = siphash(second, name, strlen(name));
}

struct wanted {
	const struct model *m;
	const uint64_t *number;
};

static bool is_beside(const void *context, uint32_t slot)
{
	const struct wanted *w = context;

	return memcmp(beside_at(w->m, slot)->key, w->number, sizeof(uint64_t[2])) == 0;
}

static uint32_t beside_find(const struct model *m, const uint64_t key[2])
{
	struct wanted w = { m, key };

	return table_find(&m->besides_index, (uint32_t)key[0], is_beside, &w);
}

/* By a keyed hash of the name: one name is one pod at a time. */
static void other_key(const struct model *m, const struct meta *meta, uint64_t key[2])
{
	const uint64_t second[2] = { siphash(m->hash_key, meta->namespace.at, meta->namespace.bytes),
		                         m->hash_key[1] };
	const uint64_t third[2] = { second[0], ~m->hash_key[1] };

	key[0] = siphash(second, meta->name.at, meta->name.bytes);
	key[1] = siphash(third, meta->name.at, meta->name.bytes);
}

static bool is_other(const void *context, uint32_t slot)
{
	const struct wanted *w = context;

	return memcmp(other_at(w->m, slot)->key, w->number, sizeof(uint64_t[2])) == 0;
}

static uint32_t other_find(const struct model *m, const uint64_t key[2])
{
	struct wanted w = { m, key };

	return table_find(&m->others_index, (uint32_t)key[0], is_other, &w);
}

void gang_find_beside(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);
	uint64_t key[2];

	beside_key(m, e->dialect, e->name, key);
	e->beside = beside_find(m, key);
	if (e->beside != SLOT_NONE)
		beside_at(m, e->beside)->gang = gang;
}

void gang_leave_beside(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (e->beside != SLOT_NONE)
		beside_at(m, e->beside)->gang = SLOT_NONE;
	unstir(m, gang);
	free(e->owners);
	e->owners = NULL;
}

static void beside_stir(struct model *m, const struct beside_entry *b)
{
	if (b->gang != SLOT_NONE)
		stir(m, b->gang);
}

/* The entry of a group's pods, made when there is none. */
static int beside_take(struct model *m, uint32_t dialect, const char *name, uint32_t *beside)
{
	struct beside_entry *b;
	uint64_t key[2];
	int rc;

	beside_key(m, dialect, name, key);
	*beside = beside_find(m, key);
	if (*beside != SLOT_NONE)
		return 0;
	if (table_reserve(&m->besides_index) < 0)
		return -ENOMEM;
	rc = pool_take(&m->besides, beside);
	if (rc < 0)
		return rc;
	b = beside_at(m, *beside);
	memcpy(b->key, key, sizeof(b->key));
	b->hash = (uint32_t)key[0];
	b->gang = gang_find(m, dialect, name);
	if (b->gang != SLOT_NONE)
		gang_at(m, b->gang)->beside = *beside;
	table_put(&m->besides_index, b->hash, *beside);
	return 0;
}

static void beside_release_if_unused(struct model *m, uint32_t beside)
{
	struct beside_entry *b = beside_at(m, beside);

	if (b->counts.n > 0)
		return;
	if (b->gang != SLOT_NONE)
		gang_at(m, b->gang)->beside = SLOT_NONE;
	table_remove(&m->besides_index, b->hash, beside);
	pool_give(&m->besides, beside);
}

/* Pods of other schedulers are members too: a group may ask for one scheduler. */
static void foreign_settle(struct model *m, const struct beside_entry *b)
{
	if (b->gang != SLOT_NONE && dialects[gang_at(m, b->gang)->dialect]->one_scheduler)
		gang_settle(m, b->gang);
}

static void foreign_count(struct model *m, struct beside_entry *b, uint32_t scheduler)
{
	bool is_same = b->foreign > 0 && b->scheduler == scheduler;

	intern_hold(&m->schedulers, scheduler);
	if (b->foreign++ > 0)
		intern_give(&m->schedulers, b->scheduler);
	b->scheduler = scheduler;
	if (!is_same)
		foreign_settle(m, b);
}

static void foreign_uncount(struct model *m, struct beside_entry *b)
{
	if (--b->foreign > 0)
		return;
	intern_give(&m->schedulers, b->scheduler);
	foreign_settle(m, b);
}

static void other_uncount(struct model *m, const struct other_entry *o)
{
	struct beside_entry *b = beside_at(m, o->beside);

	b->counts.n--;
	b->counts.ours -= o->ours;
	b->counts.bound -= o->bound;
	b->counts.phases[o->phase]--;
	if (o->scheduler != ID_NONE) {
		foreign_uncount(m, b);
		intern_give(&m->schedulers, o->scheduler);
	}
	beside_stir(m, b);
	beside_release_if_unused(m, o->beside);
}

static void other_count(struct model *m, const struct other_entry *o)
{
	struct beside_entry *b = beside_at(m, o->beside);

	b->counts.n++;
	b->counts.ours += o->ours;
	b->counts.bound += o->bound;
	b->counts.phases[o->phase]++;
	if (o->scheduler != ID_NONE) {
		intern_hold(&m->schedulers, o->scheduler);
		foreign_count(m, b, o->scheduler);
	}
	beside_stir(m, b);
}

static void other_forget(struct model *m, uint32_t other)
{
	struct other_entry *o = other_at(m, other);

	other_uncount(m, o);
	table_remove(&m->others_index, o->hash, other);
	pool_give(&m->others, other);
}

/* The entry of this very pod; one of the same name with another uid is forgotten: that
 * pod is gone. */
static uint32_t other_of(struct model *m, const struct meta *meta)
{
	uint64_t key[2], uid[2];
	uint32_t other;

	if (m->others.used == 0)
		return SLOT_NONE;
	other_key(m, meta, key);
	other = other_find(m, key);
	if (other == SLOT_NONE)
		return SLOT_NONE;
	pod_uid_number(meta, uid);
	if (memcmp(other_at(m, other)->uid, uid, sizeof(uid)) == 0)
		return other;
	other_forget(m, other);
	return SLOT_NONE;
}

void other_meet(struct model *m, const struct meta *meta)
{
	other_of(m, meta);
}

/* The full name of the group whose status the pod counts for; NULL: none. */
static int other_group(struct model *m, const struct pod_object *pod, uint32_t *dialect,
                       char **name)
{
	struct group_mark mark;
	int rc = dialect_mark(pod, m->dialects_off, m->served, &m->arena, &mark);

	*name = NULL;
	if (rc < 0 || mark.mark != MARK_MEMBER || !dialects[mark.dialect]->status)
		return rc;
	*dialect = mark.dialect;
	*name = arena_printf(&m->arena, "%.*s/%s", (int)pod->meta.namespace.bytes,
	                     pod->meta.namespace.at, mark.name);
	return *name ? 0 : -ENOMEM;
}

static int other_enter(struct model *m, const struct pod_object *pod, uint32_t *other,
                       struct decode_error *error)
{
	struct other_entry *o;
	char object[600];
	int rc;

	if (table_reserve(&m->others_index) < 0)
		return -ENOMEM;
	rc = pool_take(&m->others, other);
	if (rc == -ENOSPC) {
		extract_object_name(&pod->meta, object, sizeof(object));
		return model_limit(m, object, "--max-pods", error);
	}
	if (rc < 0)
		return rc;
	o = other_at(m, *other);
	pod_uid_number(&pod->meta, o->uid);
	other_key(m, &pod->meta, o->key);
	o->hash = (uint32_t)o->key[0];
	table_put(&m->others_index, o->hash, *other);
	return 0;
}

/* Let the pod count for its group as it is; what it holds of `scheduler` other_count() does. */
static int other_place(struct model *m, const struct pod_object *pod, uint32_t other,
                       uint32_t beside, uint32_t scheduler, struct decode_error *error)
{
	bool is_new = other == SLOT_NONE;
	struct other_entry *o, old;
	int rc = is_new ? other_enter(m, pod, &other, error) : 0;

	if (rc < 0) {
		beside_release_if_unused(m, beside);
		return rc;
	}
	o = other_at(m, other);
	o->seen = m->replace[RESOURCE_INDEX_PODS].round;
	if (!is_new && o->beside == beside && o->phase == pod->phase &&
	    o->bound == (pod->node_name.bytes > 0))
		return 0;
	old = *o;
	o->beside = beside;
	o->phase = (uint8_t)pod->phase;
	o->ours = pod_is_ours(m, pod);
	o->bound = pod->node_name.bytes > 0;
	o->scheduler = scheduler;
	other_count(m, o);
	if (!is_new)
		other_uncount(m, &old);
	return 0;
}

int other_put(struct model *m, const struct pod_object *pod, struct decode_error *error)
{
	uint32_t dialect, other = other_of(m, &pod->meta), beside, scheduler = ID_NONE;
	char *name;
	int rc = other_group(m, pod, &dialect, &name);

	if (rc < 0)
		return rc;
	if (!name) {
		if (other != SLOT_NONE)
			other_forget(m, other);
		return 0;
	}
	if (!pod->ended && !pod_is_ours(m, pod) &&
	    intern_take(&m->schedulers, pod->scheduler_name, &scheduler) < 0)
		return -ENOMEM;
	rc = beside_take(m, dialect, name, &beside);
	if (rc == 0)
		rc = other_place(m, pod, other, beside, scheduler, error);
	if (scheduler != ID_NONE)
		intern_give(&m->schedulers, scheduler);
	return rc;
}

void other_remove(struct model *m, const struct meta *meta)
{
	uint64_t key[2], uid[2];
	uint32_t other;

	if (m->others.used == 0)
		return;
	other_key(m, meta, key);
	other = other_find(m, key);
	pod_uid_number(meta, uid);
	if (other != SLOT_NONE && memcmp(other_at(m, other)->uid, uid, sizeof(uid)) == 0)
		other_forget(m, other);
}

void others_replace(struct model *m, uint32_t round)
{
	for (uint32_t i = 0; i < m->others.n; i++)
		if (other_at(m, i)->slot.live && other_at(m, i)->seen != round)
			other_forget(m, i);
}
