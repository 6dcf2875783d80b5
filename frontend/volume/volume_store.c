/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "frontend/base/compare.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_namespaced(enum volume_kind kind)
{
	return kind == VOLUME_KIND_CLAIM || kind == VOLUME_KIND_CAPACITY;
}

void volumes_limit(struct volumes *vs, uint32_t each)
{
	vs->limit = each;
}

uint64_t volumes_count(const struct volumes *vs)
{
	uint64_t n = 0;

	for (int k = 0; k < VOLUME_KINDS; k++)
		n += vs->kinds[k].entries.pool.used;
	return n;
}

static uint64_t fact_hash(const struct volumes *vs, uint32_t fact, struct text a, struct text b)
{
	/* Hashed separately, so that "ab", "c" differs from "a", "bc". */
	uint64_t parts[3] = { fact, siphash(vs->hash_key, a.at, a.bytes),
		                  siphash(vs->hash_key, b.at, b.bytes) };

	return siphash(vs->hash_key, parts, sizeof(parts));
}

uint64_t volume_hash(const struct volumes *vs, uint32_t what, struct text a, struct text b)
{
	return fact_hash(vs, what, a, b);
}

static uint64_t group_hash(const struct volumes *vs, struct text group)
{
	return siphash(vs->hash_key, group.at, group.bytes);
}

/* The name that objects are grouped by; false if the kind has no groups. */
static bool group_of(enum volume_kind kind, const union volume_any *o, struct text *group)
{
	switch (kind) {
	case VOLUME_KIND_VOLUME:
		*group = o->pv.class;
		return true;
	case VOLUME_KIND_CAPACITY:
		*group = o->capacity.class;
		return true;
	case VOLUME_KIND_ATTACHMENT:
		*group = o->attachment.node;
		return true;
	default:
		return false;
	}
}

bool volume_entry_equal(const void *item, const void *key)
{
	const char *have = ((const struct volume_entry *)item)->name;
	const struct volume_name *k = key;
	size_t bytes = k->namespace.bytes;

	return strlen(have) > bytes && have[bytes] == '/' &&
	       text_equal((struct text){ have, bytes }, k->namespace) &&
	       text_is(k->name, have + bytes + 1);
}

static uint32_t entry_find(const struct volumes *vs, enum volume_kind kind, struct text namespace,
                           struct text name)
{
	const struct volume_name key = { namespace, name };

	return store_find(&vs->kinds[kind].entries, (uint32_t)fact_hash(vs, kind, namespace, name),
	                  &key);
}

static const union volume_any *object_find(const struct volumes *vs, enum volume_kind kind,
                                           struct text namespace, struct text name)
{
	uint32_t entry = entry_find(vs, kind, namespace, name);

	return entry == SLOT_NONE ? NULL : volume_entry_at(&vs->kinds[kind], entry)->object;
}

const union volume_any *volume_find(const struct volumes *vs, enum volume_kind kind,
                                    struct text namespace, struct text name)
{
	return object_find(vs, kind, namespace, name);
}

static void ungroup(struct volume_table *t, uint32_t entry)
{
	struct volume_entry *e = volume_entry_at(t, entry);
	uint32_t *first;

	if (e->group == SLOT_NONE)
		return;
	first = &volume_keyed_at(&t->groups, e->group)->first;
	chain_remove(&t->entries.pool, offsetof(struct volume_entry, of_group), first, entry);
	if (*first == SLOT_NONE)
		store_remove(&t->groups, e->group);
	e->group = SLOT_NONE;
}

/* Several pods name the claim. */
static bool is_shared(const struct volumes *vs, struct text namespace, struct text name)
{
	const struct volume_keyed *k =
		volume_keys_find(&vs->shared, fact_hash(vs, FACT_SHARED, namespace, name));

	return k && k->count > 1;
}

/* Marks the users of an entry dirty: called before and after its object is replaced. */
static void entry_changed(struct volumes *vs, enum volume_kind kind, const struct volume_entry *e)
{
	struct text name = text_of(strchr(e->name, '/') + 1);
	struct text namespace = { e->name, (size_t)(name.at - e->name) - 1 };
	struct text group_name;

	vs->epoch += kind != VOLUME_KIND_CLAIM && kind != VOLUME_KIND_ATTACHMENT;
	volume_fact_changed(&vs->facts, fact_hash(vs, FACT_OBJECT + kind, namespace, name),
	                    kind == VOLUME_KIND_CLAIM && is_shared(vs, namespace, name));
	if (e->object && group_of(kind, e->object, &group_name))
		volume_fact_changed(&vs->facts,
		                    fact_hash(vs, FACT_GROUP + kind, (struct text){ "", 0 }, group_name),
		                    false);
}

/* NULL: there is an object, but it can't be read. */
static void object_set(struct volumes *vs, enum volume_kind kind, uint32_t entry,
                       union volume_any *object)
{
	struct volume_table *t = &vs->kinds[kind];
	struct text group_name;
	uint32_t key = SLOT_NONE;

	if (object && group_of(kind, object, &group_name))
		key = volume_keys_add(&t->groups, group_hash(vs, group_name));
	entry_changed(vs, kind, volume_entry_at(t, entry));
	if (key == SLOT_NONE || key != volume_entry_at(t, entry)->group) {
		ungroup(t, entry);
		volume_entry_at(t, entry)->group = key;
		if (key != SLOT_NONE)
			chain_push(&t->entries.pool, offsetof(struct volume_entry, of_group),
			           &volume_keyed_at(&t->groups, key)->first, entry);
	}
	free(volume_entry_at(t, entry)->object);
	volume_entry_at(t, entry)->object = object;
	entry_changed(vs, kind, volume_entry_at(t, entry));
}

static void entry_drop(struct volumes *vs, enum volume_kind kind, uint32_t entry)
{
	struct volume_table *t = &vs->kinds[kind];
	struct volume_entry *e = volume_entry_at(t, entry);

	entry_changed(vs, kind, e);
	ungroup(t, entry);
	free(e->object);
	free(e->name);
	store_remove(&t->entries, entry);
}

static int entry_make(struct volumes *vs, enum volume_kind kind, struct text namespace,
                      struct text name, uint32_t *entry)
{
	struct volume_table *t = &vs->kinds[kind];
	size_t n = namespace.bytes + 1 + name.bytes;
	struct volume_entry *e;
	char *copy;

	if (t->entries.pool.used >= vs->limit)
		return -ENOSPC;
	if (store_add(&t->entries, (uint32_t)fact_hash(vs, kind, namespace, name), entry) < 0)
		fatal_memory(); /* 2^32 of them */
	copy = must_alloc(n + 1);
	if (namespace.bytes > 0)
		memcpy(copy, namespace.at, namespace.bytes);
	copy[namespace.bytes] = '/';
	memcpy(copy + namespace.bytes + 1, name.at, name.bytes);
	copy[n] = '\0';
	e = volume_entry_at(t, *entry);
	e->name = copy;
	e->group = SLOT_NONE;
	return 0;
}

/* True if the object is not newer than the known one. */
static bool is_old(const union volume_any *known, const struct volume_head *new)
{
	int order;

	if (!known)
		return false;
	order = version_compare(new->version, known->head.version);
	return order < 0 || (order == 0 && text_equal(new->uid, known->head.uid));
}

/* The namespace under which an object is stored: "" if its kind has none. */
static struct text namespace_of(enum volume_kind kind, struct text namespace)
{
	if (!is_namespaced(kind))
		return (struct text){ "", 0 };
	return namespace.bytes > 0 ? namespace : text_of("default");
}

int volumes_put(struct volumes *vs, enum volume_kind kind, const char *json, size_t bytes,
                struct arena *arena, struct decode_error *error)
{
	union volume_any any;
	int read = extract_volume_kind(kind, json, bytes, arena, &any, error), rc;
	struct volume_head *head = &any.head;
	uint32_t entry;

	assert((unsigned)kind < VOLUME_KINDS);
	if (head->name.bytes == 0)
		return read;
	head->namespace = namespace_of(kind, head->namespace);
	entry = entry_find(vs, kind, head->namespace, head->name);
	if (entry == SLOT_NONE) {
		rc = entry_make(vs, kind, head->namespace, head->name, &entry);
		if (rc < 0)
			return rc;
	}
	volume_entry_at(&vs->kinds[kind], entry)->entry.seen = vs->kinds[kind].round;
	if (is_old(volume_entry_at(&vs->kinds[kind], entry)->object, head))
		return 0;
	object_set(vs, kind, entry, read == 0 ? volume_pack(kind, &any) : NULL);
	return read;
}

void volume_change(struct volumes *vs, enum volume_kind kind, const union volume_any *changed)
{
	uint32_t entry = entry_find(vs, kind, changed->head.namespace, changed->head.name);

	assert(entry != SLOT_NONE);
	object_set(vs, kind, entry, volume_pack(kind, changed));
}

void volume_touch(struct volumes *vs, enum volume_kind kind, struct text namespace,
                  struct text name)
{
	const uint32_t entry = entry_find(vs, kind, namespace, name);

	if (entry != SLOT_NONE)
		entry_changed(vs, kind, volume_entry_at(&vs->kinds[kind], entry));
}

void volumes_remove(struct volumes *vs, enum volume_kind kind, const struct meta *meta)
{
	uint32_t entry = entry_find(vs, kind, namespace_of(kind, meta->namespace), meta->name);
	const union volume_any *object;

	assert((unsigned)kind < VOLUME_KINDS);
	if (entry == SLOT_NONE)
		return;
	object = volume_entry_at(&vs->kinds[kind], entry)->object;
	/* A newer object of the same name may exist. */
	if (object && !text_equal(object->head.uid, meta->uid) &&
	    version_compare(meta->version, object->head.version) < 0)
		return;
	entry_drop(vs, kind, entry);
}

void volumes_replace_begin(struct volumes *vs, enum volume_kind kind)
{
	assert((unsigned)kind < VOLUME_KINDS);
	vs->kinds[kind].round++;
	vs->kinds[kind].replacing = true;
}

void volumes_replace_end(struct volumes *vs, enum volume_kind kind)
{
	struct volume_table *t = &vs->kinds[kind];

	assert((unsigned)kind < VOLUME_KINDS);
	if (!t->replacing)
		return;
	t->replacing = false;
	STORE_EACH(&t->entries, e)
	if (volume_entry_at(t, e)->entry.seen != t->round)
		entry_drop(vs, kind, e);
}

void volumes_replace_abort(struct volumes *vs, enum volume_kind kind)
{
	assert((unsigned)kind < VOLUME_KINDS);
	vs->kinds[kind].replacing = false;
}

/* Whether several pods share a claim matters for claims that wait. */
static void count_claims(struct volumes *vs, const struct volume_pod *pod, bool more)
{
	for (size_t i = 0; i < pod->volumes.n; i++) {
		uint64_t hash = fact_hash(vs, FACT_SHARED, pod->namespace, pod->volumes.at[i].name);
		struct volume_keyed *k;
		uint32_t key;

		if (pod->volumes.at[i].source != VOLUME_CLAIM)
			continue;
		key = volume_keys_add(&vs->shared, hash);
		k = volume_keyed_at(&vs->shared, key);
		assert(more || k->count > 0);
		k->count += more ? 1u : UINT32_MAX;
		if (k->count == (more ? 2 : 1))
			volume_fact_changed(&vs->facts, hash, false);
		if (k->count == 0)
			store_remove(&vs->shared, key);
	}
}

void volumes_set_pod(struct volumes *vs, uint32_t pod, const struct pod_object *object)
{
	bool any = object && object->volumes && object->volumes->n > 0;
	struct volume_pod *new = any ? volume_pack_pod(object) : NULL;
	const struct volume_pod *old = volume_user(&vs->facts, false, pod);

	if (new)
		count_claims(vs, new, true);
	if (old)
		count_claims(vs, old, false);
	/* Else the join decides: a pod that is only written again was planned as before. */
	if (old && !new) {
		vs->waiting -= vs->facts.users[0].at[pod].waits;
		vs->facts.users[0].at[pod].waits = false;
	}
	volume_user_set(&vs->facts, false, pod, new);
}

size_t volumes_pod_bytes(const struct volumes *vs, uint32_t pod)
{
	const struct volume_pod *p = volume_user(&vs->facts, false, pod);

	return p ? volumes_bytes(&p->volumes) : 0;
}

bool volumes_next_pod(struct volumes *vs, uint32_t *pod)
{
	return volume_user_next(&vs->facts, false, pod);
}

bool volumes_shared_changed(const struct volumes *vs, uint32_t pod)
{
	const struct volume_users *pods = &vs->facts.users[0];

	return pod < pods->n && pods->at[pod].shared_changed;
}

void volumes_join_again(struct volumes *vs, uint32_t pod)
{
	volume_user_mark(&vs->facts, false, pod);
}

static bool same_labels(const struct pairs *a, const struct pairs *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!text_equal(a->at[i].key, b->at[i].key) || !text_equal(a->at[i].value, b->at[i].value))
			return false;
	return true;
}

static void nodes_changed(struct volumes *vs)
{
	struct text none = { "", 0 };

	vs->epoch++;
	if (vs->can_wait)
		volume_fact_changed(&vs->facts, fact_hash(vs, FACT_NODES, none, none), false);
}

void volumes_set_node(struct volumes *vs, uint32_t node, struct text name,
                      const struct pairs *labels)
{
	static const struct pairs no_labels;
	const struct volume_node_labels *old = volume_user(&vs->facts, true, node);

	if (!vs->can_wait || !labels)
		labels = &no_labels;
	if (old && text_equal(old->name, name) && same_labels(&old->labels, labels))
		return;
	volume_user_set(&vs->facts, true, node, volume_pack_node(name, labels));
	nodes_changed(vs);
}

void volumes_drop_node(struct volumes *vs, uint32_t node)
{
	if (!volume_user(&vs->facts, true, node))
		return;
	volume_user_set(&vs->facts, true, node, NULL);
	nodes_changed(vs);
}

bool volumes_next_node(struct volumes *vs, uint32_t *node)
{
	return volume_user_next(&vs->facts, true, node);
}

void volume_join_begin(struct volume_join *j)
{
	volume_user_clean(&j->vs->facts, j->of_node, j->user);
}

static void depend(struct volume_join *j, uint32_t fact, struct text a, struct text b)
{
	volume_fact_look(&j->vs->facts, fact_hash(j->vs, fact, a, b), j->of_node, j->user);
}

const union volume_any *volume_look(struct volume_join *j, enum volume_kind kind,
                                    struct text namespace, struct text name)
{
	namespace = namespace_of(kind, namespace);
	depend(j, FACT_OBJECT + kind, namespace, name);
	return object_find(j->vs, kind, namespace, name);
}

const union volume_any *volume_look_group(struct volume_join *j, enum volume_kind kind,
                                          struct text name, uint32_t *at)
{
	const struct volume_table *t = &j->vs->kinds[kind];
	const struct volume_keyed *k;
	const union volume_any *o;
	struct text have;

	if (*at == SLOT_NONE) {
		depend(j, FACT_GROUP + kind, (struct text){ "", 0 }, name);
		k = volume_keys_find(&t->groups, group_hash(j->vs, name));
		*at = k ? k->first : SLOT_NONE;
	} else {
		*at = volume_entry_at(t, *at)->of_group.next;
	}
	/* Another group may have the same hash. */
	for (; *at != SLOT_NONE; *at = volume_entry_at(t, *at)->of_group.next) {
		o = volume_entry_at(t, *at)->object;
		if (o && group_of(kind, o, &have) && text_equal(have, name))
			return o;
	}
	return NULL;
}

void volume_look_nodes(struct volume_join *j)
{
	struct text none = { "", 0 };

	depend(j, FACT_NODES, none, none);
}

bool volume_look_shared(struct volume_join *j, struct text namespace, struct text name)
{
	depend(j, FACT_SHARED, namespace, name);
	return is_shared(j->vs, namespace, name);
}
