/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/gangs.h"

#include "frontend/model/base/body.h"
#include "frontend/model/groups/candidates.h"
#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/shares.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

bool gang_equal(const void *item, const void *key)
{
	const struct gang_entry *e = item;
	const struct gang_key *k = key;

	return e->dialect == k->dialect && strcmp(e->name, k->name) == 0;
}

static uint32_t gang_hash(const struct model *m, uint32_t family, const char *name)
{
	return (uint32_t)siphash(m->hash_key, name, strlen(name)) + family;
}

uint32_t gang_find(const struct model *m, uint32_t dialect, const char *name)
{
	const struct gang_key key = { dialect_family(dialect), name };

	return store_find(&m->gangs, gang_hash(m, key.dialect, name), &key);
}

/* "namespace/name" NUL "namespace" NUL */
static char *gang_name_copy(const char *name)
{
	size_t bytes = strlen(name) + 1, namespace = (size_t)(strchr(name, '/') - name);
	char *copy = must_alloc(bytes + namespace + 1);

	memcpy(copy, name, bytes);
	memcpy(copy + bytes, name, namespace);
	return copy;
}

void gang_mark_status_dirty(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	assert(e->entry.slot.live);
	if (e->status_dirty || !dialects[e->dialect]->status)
		return;
	e->status_dirty = true;
	e->status_next = SLOT_NONE;
	e->status_prev = m->status_last;
	if (m->status_last == SLOT_NONE)
		m->status_first = gang;
	else
		gang_at(m, m->status_last)->status_next = gang;
	m->status_last = gang;
}

void gang_clear_status_dirty(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (!e->status_dirty)
		return;
	if (e->status_prev == SLOT_NONE)
		m->status_first = e->status_next;
	else
		gang_at(m, e->status_prev)->status_next = e->status_next;
	if (e->status_next == SLOT_NONE)
		m->status_last = e->status_prev;
	else
		gang_at(m, e->status_next)->status_prev = e->status_prev;
	e->status_dirty = false;
}

bool model_next_status_dirty(struct model *m, gang_id *id, uint32_t *generation)
{
	uint32_t gang = m->status_first;

	if (gang == SLOT_NONE)
		return false;
	gang_clear_status_dirty(m, gang);
	*id = gang;
	*generation = gang_at(m, gang)->entry.slot.generation;
	return true;
}

static void sum_key(const struct model *m, uint32_t dialect, const char *name, uint64_t key[2])
{
	const uint32_t family = dialect_family(dialect);
	const uint64_t first[2] = { m->hash_key[0], m->hash_key[1] ^ family };
	const uint64_t second[2] = { ~m->hash_key[0], m->hash_key[1] ^ family };

	key[0] = siphash(first, name, strlen(name));
	key[1] = siphash(second, name, strlen(name));
}

bool non_member_sum_equal(const void *item, const void *key)
{
	return memcmp(((const struct non_member_sum *)item)->key, key, sizeof(uint64_t[2])) == 0;
}

uint32_t non_member_sum_enter(struct model *m, uint32_t dialect, const char *name)
{
	struct non_member_sum *s;
	uint64_t key[2];
	uint32_t sum;
	bool is_new;

	sum_key(m, dialect, name, key);
	sum = store_enter(&m->non_member_sums, (uint32_t)key[0], key, &is_new);
	if (!is_new)
		return sum;
	s = non_member_sum_at(m, sum);
	memcpy(s->key, key, sizeof(s->key));
	s->gang = gang_find(m, dialect, name);
	if (s->gang != SLOT_NONE)
		gang_at(m, s->gang)->non_members = sum;
	return sum;
}

void non_member_sum_release_if_unused(struct model *m, uint32_t sum)
{
	struct non_member_sum *s = non_member_sum_at(m, sum);

	if (s->counts.n > 0)
		return;
	assert(s->foreign == 0);
	assert(s->counts.ours == 0 && s->counts.bound == 0);
	if (s->gang != SLOT_NONE)
		gang_at(m, s->gang)->non_members = SLOT_NONE;
	store_remove(&m->non_member_sums, sum);
}

/* Link a new gang with its non-members. */
static void gang_find_non_members(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);
	uint64_t key[2];

	sum_key(m, e->dialect, e->name, key);
	e->non_members = store_find(&m->non_member_sums, (uint32_t)key[0], key);
	if (e->non_members != SLOT_NONE)
		non_member_sum_at(m, e->non_members)->gang = gang;
}

static void gang_leave_non_members(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (e->non_members != SLOT_NONE)
		non_member_sum_at(m, e->non_members)->gang = SLOT_NONE;
	gang_clear_status_dirty(m, gang);
}

/* The limit that the gang would exceed, or NULL. */
static const char *gang_over_limit(struct model *m, const char *name, bool bound,
                                   uint32_t namespace)
{
	const size_t bytes = strlen(name);

	if (!model_name_fits(m, bytes) ||
	    (!bound && !share_admits(m, SHARE_NAME_BYTES, namespace, name_bytes_of(bytes))))
		return "--max-name-bytes";
	if (m->gangs.pool.used >= m->gangs.pool.limit ||
	    (!bound && !share_admits(m, SHARE_GANGS, namespace, 1)))
		return "--max-gangs";
	return NULL;
}

int gang_make(struct model *m, uint32_t dialect, const char *name, bool bound, uint32_t *gang,
              const char **flag)
{
	const struct text text = { name, (size_t)(strchr(name, '/') - name) };
	uint32_t family = dialect_family(dialect), namespace = namespace_take(m, text);
	struct gang_entry *e;

	assert(dialect < dialects_n && strchr(name, '/'));
	*flag = gang_over_limit(m, name, bound, namespace);
	if (*flag) {
		namespace_give(m, namespace);
		return -ENOSPC;
	}
	store_add(&m->gangs, gang_hash(m, family, name), gang);
	e = gang_at(m, *gang);
	e->namespace = namespace;
	share_charge(m, SHARE_GANGS, namespace, 1);
	share_charge(m, SHARE_NAME_BYTES, namespace, name_bytes_of(strlen(name)));
	namespace_give(m, namespace);
	e->dialect = family;
	e->name = gang_name_copy(name);
	e->members_first = SLOT_NONE;
	e->declared_spec = ID_NONE;
	m->name_bytes += name_bytes_of(strlen(name));
	m->counts.gangs++;
	gang_find_non_members(m, *gang);
	return 0;
}

void gang_free(struct gang_entry *e)
{
	free(e->name);
	free(e->conflict);
	free(e->owners);
	group_object_free(&e->objects[0]);
	group_object_free(&e->objects[1]);
}

void gang_bury(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	assert(e->members_first == SLOT_NONE && e->specs_n == 0 && e->bound == 0);
	assert(m->counts.gangs > 0 && m->name_bytes >= name_bytes_of(strlen(e->name)));
	assert(e->members == 0 && !e->objects[0].there && !e->objects[1].there);
	gang_leave_non_members(m, gang);
	m->name_bytes -= name_bytes_of(strlen(e->name));
	m->counts.gangs--;
	share_return(m, SHARE_NAME_BYTES, e->namespace, name_bytes_of(strlen(e->name)));
	share_return(m, SHARE_GANGS, e->namespace, 1);
	gang_free(e);
	store_remove(&m->gangs, gang);
}

void gang_release_if_unused(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	assert(e->entry.slot.live && (e->members == 0) == (e->members_first == SLOT_NONE));
	if (e->members > 0)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		if (e->objects[i].there && !e->objects[i].candidate)
			return;
		group_object_clear(m, &e->objects[i]);
	}
	if (store_retire(&m->gangs, gang))
		gang_bury(m, gang);
}

/* If the gang is a candidate ConfigMap, that is its object, and refuses it. */
static void gang_take_candidate(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);
	struct group_spec spec = { .refusal = dialects[e->dialect]->hollow };
	const char *flag;
	uint32_t round;
	int rc;

	assert(!e->objects[0].there && !e->objects[0].body);
	if (!spec.refusal || !candidate_find(m, e->dialect, e->name, &round))
		return;
	rc = group_build(m, e->dialect, 0, &spec, &flag);
	assert(rc == 0);
	(void)rc;
	e->objects[0] = (struct group_object){ .seen = round,
		                                   .there = true,
		                                   .candidate = true,
		                                   .refusal = must_copy(spec.refusal),
		                                   .body = body_copy(&m->body),
		                                   .bytes = (uint32_t)m->body.bytes };
}

int gang_find_or_make(struct model *m, uint32_t dialect, const struct pod_object *pod,
                      const char *name, uint32_t *gang, const char **flag)
{
	const struct text namespace = pod->meta.namespace;
	char *full = arena_printf(&m->arena, "%.*s/%s", (int)namespace.bytes, namespace.at, name);
	bool bound = pod->node_name.bytes > 0;

	*gang = gang_find(m, dialect, full);
	if (*gang == SLOT_NONE && gang_make(m, dialect, full, bound, gang, flag) < 0)
		return -ENOSPC;
	if (!gang_at(m, *gang)->objects[0].there)
		gang_take_candidate(m, *gang);
	return 0;
}

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
	STORE_EACH(&m->gangs, i)
	{
		const struct gang_entry *e = gang_at(m, i);

		if (e->dialect != dialect || e->entry.slot.list == STORE_DEAD)
			continue;
		store_mark_dirty(&m->gangs, i);
		for (uint32_t p = e->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_link.next)
			store_mark_dirty(&m->pods, p);
	}
}

static uint32_t levels_of(const struct group_object *o)
{
	return o && o->body ? group_head(o)->levels_n : 0;
}

/* The spec that members declare is the group's: all of it when there is no object, its levels when
 * the object has none. */
static void form_declared(const struct gang_entry *e, const struct declared_spec *d,
                          struct gang_form *out)
{
	const struct dialect *dialect = dialects[e->dialect];
	const struct group_object *declared = &d->object;

	if (!dialect->resource)
		out->object = declared;
	else if (levels_of(out->object) > 0 && !dialect->agree_mark)
		return;
	if (!out->refusal)
		out->refusal = e->conflict;
	if (!out->refusal)
		out->refusal = declared->refusal;
	if (dialect->resource && out->object && levels_of(out->object) == 0) {
		out->levels_n = levels_of(declared);
		out->levels = group_parts_of(declared->body).levels;
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
	if (e->declared_spec != ID_NONE)
		form_declared(e, declared_spec_at(m, e->declared_spec), out);
	if (out->object && !out->object->body)
		out->object = NULL;
}

uint32_t gang_spec_id(const struct model *m, const struct gang_form *form)
{
	uint64_t terms = form->dialect + 1;

	if (form->object) {
		terms += siphash(m->hash_key, form->object->body, form->object->bytes);
		terms += form->refusal != NULL;
	}
	if (form->object && form->levels_n > 0)
		terms += siphash(m->hash_key, form->levels, form->levels_n * sizeof(*form->levels));
	return (uint32_t)terms;
}

bool pod_gives_way(const struct model *m, const struct pod_entry *p)
{
	return p->node == ID_NONE && p->binding == ID_NONE &&
	       (p->gang == ID_NONE || gang_at(m, p->gang)->bound == 0);
}
