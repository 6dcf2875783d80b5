/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- entries ------------------------------------------------------------------------ */

struct wanted {
	const struct model *m;
	uint32_t dialect;
	const char *name;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct gang_entry *e = gang_at(w->m, slot);

	return e->dialect == w->dialect && strcmp(e->name, w->name) == 0;
}

static uint32_t gang_hash(const struct model *m, uint32_t dialect, const char *name)
{
	return (uint32_t)siphash(m->hash_key, name, strlen(name)) + dialect;
}

uint32_t gang_find(const struct model *m, uint32_t dialect, const char *name)
{
	struct wanted w = { m, dialect_family(dialect), name };

	return table_find(&m->gangs_index, gang_hash(m, w.dialect, name), is_wanted, &w);
}

/* "namespace/name" NUL "namespace" NUL */
static char *gang_name_copy(const char *name)
{
	size_t bytes = strlen(name) + 1, namespace = (size_t)(strchr(name, '/') - name);
	char *copy = malloc(bytes + namespace + 1);

	if (!copy)
		return NULL;
	memcpy(copy, name, bytes);
	memcpy(copy + bytes, name, namespace);
	copy[bytes + namespace] = '\0';
	return copy;
}

int gang_make(struct model *m, uint32_t dialect, const char *name, uint32_t *gang,
              const char **flag)
{
	struct gang_entry *e;
	char *copy;
	int rc;

	if (!model_name_room(m, strlen(name))) {
		*flag = "--max-name-bytes";
		return -ENOSPC;
	}
	if (table_reserve(&m->gangs_index) < 0)
		return -ENOMEM;
	copy = gang_name_copy(name);
	if (!copy)
		return -ENOMEM;
	rc = pool_take(&m->gangs, gang);
	if (rc < 0) {
		free(copy);
		*flag = "--max-gangs";
		return rc;
	}
	e = gang_at(m, *gang);
	e->dialect = dialect_family(dialect);
	e->hash = gang_hash(m, e->dialect, name);
	e->name = copy;
	e->members_first = SLOT_NONE;
	e->description = ID_NONE;
	e->slot.sent = 0;
	m->name_bytes += NAME_ROOM(strlen(name));
	m->counts.gangs++;
	table_put(&m->gangs_index, e->hash, *gang);
	gang_find_beside(m, *gang);
	return 0;
}

void gang_dirty(struct model *m, uint32_t gang)
{
	list_remove(&m->gangs_dead, &m->gangs, gang);
	list_push(&m->gangs_dirty, &m->gangs, gang);
}

void gang_release_if_unused(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (e->members > 0)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		if (e->objects[i].there && !e->objects[i].hollow)
			return;
		group_object_clear(m, &e->objects[i]);
	}
	list_remove(&m->gangs_dirty, &m->gangs, gang);
	if (e->slot.sent == 0)
		gang_bury(m, gang);
	else
		list_push(&m->gangs_dead, &m->gangs, gang);
}

void gang_bury(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	list_remove(&m->gangs_dead, &m->gangs, gang);
	gang_leave_beside(m, gang);
	table_remove(&m->gangs_index, e->hash, gang);
	m->name_bytes -= NAME_ROOM(strlen(e->name));
	m->counts.gangs--;
	free(e->name);
	e->name = NULL;
	e->slot.sent = 0;
	pool_give(&m->gangs, gang);
}

/* Pods name what was only a hollow object until now. */
static int gang_fill_hollow(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);
	struct group_spec spec = { .refusal = dialects[e->dialect]->hollow };
	struct group_object *o = &e->objects[0];
	const char *flag;
	uint32_t round;
	char *refusal, *body;

	if (!spec.refusal || !hollow_find(m, e->dialect, e->name, &round))
		return 0;
	refusal = strdup(spec.refusal);
	body = malloc(sizeof(struct event_gang));
	if (!refusal || !body || group_build(m, e->dialect, 0, &spec, &flag) < 0) {
		free(refusal);
		free(body);
		return -ENOMEM;
	}
	memcpy(body, m->body.at, sizeof(struct event_gang));
	*o = (struct group_object){ .seen = round,
		                        .there = true,
		                        .hollow = true,
		                        .refusal = refusal,
		                        .body = body,
		                        .bytes = sizeof(struct event_gang) };
	return 0;
}

int gang_find_or_make(struct model *m, uint32_t dialect, struct text namespace, const char *name,
                      uint32_t *gang, const char **flag)
{
	char *full = arena_printf(&m->arena, "%.*s/%s", (int)namespace.bytes, namespace.at, name);
	int rc;

	if (!full)
		return -ENOMEM;
	*gang = gang_find(m, dialect, full);
	if (*gang == SLOT_NONE) {
		rc = gang_make(m, dialect, full, gang, flag);
		if (rc < 0)
			return rc;
	}
	if (gang_at(m, *gang)->objects[0].there || gang_fill_hollow(m, *gang) == 0)
		return 0;
	gang_release_if_unused(m, *gang);
	return -ENOMEM;
}

/* ---- members -------------------------------------------------------------------------- */

/* A description that some member gives. */
static uint32_t gang_pick_description(const struct model *m, const struct gang_entry *e)
{
	if (e->says == 0)
		return ID_NONE;
	if (e->description != ID_NONE && description_at(m, e->description)->uses > 0)
		return e->description;
	for (uint32_t p = e->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_next)
		if (pod_at(m, p)->description != ID_NONE)
			return pod_at(m, p)->description;
	return ID_NONE;
}

/* Pods of other schedulers in a group that asks for one: malloc'ed, NULL without any. */
static char *gang_foreign(const struct model *m, const struct gang_entry *e)
{
	const struct beside_entry *b = e->beside != SLOT_NONE ? pool_at(&m->besides, e->beside) : NULL;
	const struct pod_entry *p;
	char *text;

	if (!b || b->foreign == 0 || e->members == 0 || !dialects[e->dialect]->one_scheduler)
		return NULL;
	p = pod_at(m, e->members_first);
	if (asprintf(&text, "members disagree: spec.schedulerName is %s on pod %s and %s on others",
	             intern_text(&m->schedulers, p->scheduler), p->texts + strlen(p->texts) + 1,
	             intern_text(&m->schedulers, b->scheduler)) < 0)
		return NULL;
	return text;
}

void gang_settle(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	e->description = gang_pick_description(m, e);
	free(e->differ);
	e->differ = e->says > 1 ? describe_difference(m, gang) : gang_foreign(m, e);
	if (e->members > 0)
		gang_dirty(m, gang);
}

static bool count_one(uint32_t *n, bool more)
{
	*n += more ? 1 : UINT32_MAX;
	return *n == (more ? 1u : 0u);
}

/* May objects of two dialects describe it? */
static bool gang_is_shared(const struct gang_entry *e)
{
	return e->dialect + 1 < dialects_n && dialects[e->dialect + 1]->shares == dialects[e->dialect];
}

/* One member more or less with the mark and the description that it has; true when the
 * core may have to hear of it. */
static bool gang_count(struct model *m, uint32_t gang, const struct pod_entry *p, bool more)
{
	struct gang_entry *e = gang_at(m, gang);
	bool changed = count_one(&e->named[p->gang_dialect - e->dialect], more) && gang_is_shared(e);

	if (p->description != ID_NONE && count_one(&description_at(m, p->description)->uses, more)) {
		e->says += more ? 1 : UINT32_MAX;
		changed = true;
	}
	return changed;
}

static void gang_link(struct model *m, uint32_t gang, uint32_t pod)
{
	struct gang_entry *e = gang_at(m, gang);
	struct pod_entry *p = pod_at(m, pod);

	p->gang = gang;
	p->gang_prev = SLOT_NONE;
	p->gang_next = e->members_first;
	if (e->members_first != SLOT_NONE)
		pod_at(m, e->members_first)->gang_prev = pod;
	e->members_first = pod;
	e->members++;
}

static void gang_unlink(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct gang_entry *e = gang_at(m, p->gang);

	if (p->gang_prev == SLOT_NONE)
		e->members_first = p->gang_next;
	else
		pod_at(m, p->gang_prev)->gang_next = p->gang_next;
	if (p->gang_next != SLOT_NONE)
		pod_at(m, p->gang_next)->gang_prev = p->gang_prev;
	p->gang = ID_NONE;
	assert(e->members > 0);
	e->members--;
}

static void gang_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	uint32_t gang = p->gang;

	if (gang == ID_NONE)
		return;
	gang_unlink(m, pod);
	if (gang_count(m, gang, p, false)) {
		gang_settle(m, gang);
		gang_dirty(m, gang);
	}
	gang_release_if_unused(m, gang);
}

static void gang_join(struct model *m, uint32_t gang, uint32_t pod)
{
	bool first = gang_at(m, gang)->members == 0;

	gang_link(m, gang, pod);
	if (gang_count(m, gang, pod_at(m, pod), true)) {
		gang_settle(m, gang);
		gang_dirty(m, gang);
	} else if (first) {
		gang_dirty(m, gang);
	}
}

void gang_place(struct model *m, uint32_t pod, uint32_t gang, uint32_t dialect,
                uint32_t description)
{
	struct pod_entry *p = pod_at(m, pod);
	bool changed;

	if (p->gang != gang)
		gang_leave(m, pod);
	if (p->gang == ID_NONE) {
		p->gang_dialect = dialect;
		p->description = description;
		if (gang != ID_NONE)
			gang_join(m, gang, pod);
		return;
	}
	if (p->gang_dialect == dialect && p->description == description)
		return;
	changed = gang_count(m, gang, p, false);
	p->gang_dialect = dialect;
	p->description = description;
	changed |= gang_count(m, gang, p, true);
	if (changed) {
		gang_settle(m, gang);
		gang_dirty(m, gang);
	}
}

/* ---- as the core sees it ------------------------------------------------------------------ */

bool gang_is_void(const struct model *m, uint32_t gang)
{
	uint32_t dialect = gang_at(m, gang)->dialect;

	return dialects[dialect]->if_served && !(m->served >> dialect & 1);
}

void gangs_served(struct model *m, uint32_t dialect, bool served)
{
	if (!dialects[dialect]->if_served || (m->served >> dialect & 1) == served)
		return;
	m->served ^= UINT64_C(1) << dialect;
	for (uint32_t i = 0; i < m->gangs.n; i++) {
		const struct gang_entry *e = gang_at(m, i);

		if (!e->slot.live || e->dialect != dialect || e->slot.list == MODEL_DEAD)
			continue;
		gang_dirty(m, i);
		for (uint32_t p = e->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_next)
			list_push(&m->pods_dirty, &m->pods, p);
	}
}

static uint32_t levels_of(const struct group_object *o)
{
	return o && o->body ? ((const struct event_gang *)(const void *)o->body)->levels_n : 0;
}

/* Levels stand last in a body. */
static const struct gang_level *levels_at(const struct group_object *o)
{
	return (const struct gang_level *)(const void *)(o->body + o->bytes) - levels_of(o);
}

/* What members say goes for the group: all of it when there is no object, levels when the
 * object names none. */
static void form_described(const struct gang_entry *e, const struct description *d,
                           struct gang_form *out)
{
	const struct dialect *dialect = dialects[e->dialect];
	const struct group_object *said = &d->object;

	if (!dialect->resource)
		out->object = said;
	else if (levels_of(out->object) > 0 && !dialect->agree_mark)
		return;
	if (!out->refusal && (e->says > 1 || e->differ))
		out->refusal = e->differ ? e->differ : "its members describe it differently";
	if (!out->refusal)
		out->refusal = said->refusal;
	if (dialect->resource && out->object && levels_of(out->object) == 0) {
		out->levels_n = levels_of(said);
		out->levels = levels_at(said);
	}
}

void gang_form(const struct model *m, uint32_t gang, struct gang_form *out)
{
	const struct gang_entry *e = gang_at(m, gang);
	uint32_t own = e->named[0] == 0 && e->named[1] > 0, used = e->objects[own].there ? own : !own;

	*out = (struct gang_form){ .dialect = e->dialect + own };
	if (e->objects[used].there) {
		out->dialect = e->dialect + used;
		out->object = &e->objects[used];
		out->refusal = out->object->refusal;
	}
	if (e->description != ID_NONE)
		form_described(e, description_at(m, e->description), out);
	if (out->object && !out->object->body)
		out->object = NULL;
}

uint32_t gang_terms(const struct model *m, const struct gang_form *form)
{
	uint64_t terms = form->dialect + 1;

	if (form->object)
		terms +=
			siphash(m->hash_key, form->object->body, form->object->bytes) + (form->refusal != NULL);
	if (form->object && form->levels_n > 0)
		terms += siphash(m->hash_key, form->levels, form->levels_n * sizeof(*form->levels));
	return (uint32_t)terms;
}
