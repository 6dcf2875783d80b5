/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "frontend/model/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct resource volume_resources[VOLUME_KINDS] = {
	[VOLUME_KIND_CLAIM] = { "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", false },
	[VOLUME_KIND_VOLUME] = { "", "v1", "persistentvolumes", "PersistentVolume", false },
	[VOLUME_KIND_CLASS] = { "storage.k8s.io", "v1", "storageclasses", "StorageClass", false },
	[VOLUME_KIND_NODE] = { "storage.k8s.io", "v1", "csinodes", "CSINode", false },
	[VOLUME_KIND_DRIVER] = { "storage.k8s.io", "v1", "csidrivers", "CSIDriver", false },
	[VOLUME_KIND_CAPACITY] = { "storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity",
	                           false },
	[VOLUME_KIND_ATTACHMENT] = { "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment",
	                             false },
};

static bool is_namespaced(enum volume_kind kind)
{
	return kind == VOLUME_KIND_CLAIM || kind == VOLUME_KIND_CAPACITY;
}

struct volumes *volumes_new(const uint64_t hash_key[2], bool can_wait)
{
	struct volumes *vs = calloc(1, sizeof(*vs));

	if (!vs)
		return NULL;
	memcpy(vs->hash_key, hash_key, sizeof(vs->hash_key));
	vs->can_wait = can_wait;
	vs->limit = SLOT_NONE - 1;
	volume_facts_init(&vs->facts);
	volume_keys_init(&vs->shared);
	for (int k = 0; k < VOLUME_KINDS; k++) {
		pool_init(&vs->kinds[k].entries, sizeof(struct volume_entry), SLOT_NONE);
		volume_keys_init(&vs->kinds[k].groups);
	}
	return vs;
}

void volumes_limit(struct volumes *vs, uint32_t each)
{
	vs->limit = each;
}

uint64_t volumes_count(const struct volumes *vs)
{
	uint64_t n = 0;

	for (int k = 0; k < VOLUME_KINDS; k++)
		n += vs->kinds[k].entries.used;
	return n;
}

static struct volume_entry *entry_at(const struct volume_table *t, uint32_t entry)
{
	return pool_at(&t->entries, entry);
}

void volumes_free(struct volumes *vs)
{
	if (!vs)
		return;
	for (int k = 0; k < VOLUME_KINDS; k++) {
		struct volume_table *t = &vs->kinds[k];

		for (uint32_t e = 0; e < t->entries.n; e++) {
			if (!entry_at(t, e)->slot.live)
				continue;
			free(entry_at(t, e)->name);
			free(entry_at(t, e)->object);
		}
		pool_free(&t->entries);
		table_free(&t->index);
		volume_keys_free(&t->groups);
	}
	volume_facts_free(&vs->facts);
	volume_keys_free(&vs->shared);
	volume_wait_free(vs);
	free(vs);
}

/* ---- names ---------------------------------------------------------------------------- */

static uint64_t fact_hash(const struct volumes *vs, uint32_t fact, struct text a, struct text b)
{
	/* Hashed apart: "ab", "c" is not "a", "bc". */
	uint64_t parts[3] = { fact, siphash(vs->hash_key, a.at, a.bytes),
		                  siphash(vs->hash_key, b.at, b.bytes) };

	return siphash(vs->hash_key, parts, sizeof(parts));
}

static uint64_t group_hash(const struct volumes *vs, struct text group)
{
	return siphash(vs->hash_key, group.at, group.bytes);
}

/* What an object is grouped by; false: its kind has no groups. */
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

struct by_name {
	const struct volume_table *t;
	struct text namespace, name;
};

static bool is_named(const void *context, uint32_t slot)
{
	const struct by_name *b = context;
	const char *have = entry_at(b->t, slot)->name;

	return strlen(have) == b->namespace.bytes + 1 + b->name.bytes &&
	       (b->namespace.bytes == 0 || memcmp(have, b->namespace.at, b->namespace.bytes) == 0) &&
	       have[b->namespace.bytes] == '/' &&
	       (b->name.bytes == 0 ||
	        memcmp(have + b->namespace.bytes + 1, b->name.at, b->name.bytes) == 0);
}

static uint32_t entry_find(const struct volumes *vs, enum volume_kind kind, struct text namespace,
                           struct text name)
{
	struct by_name b = { &vs->kinds[kind], namespace, name };

	return table_find(&vs->kinds[kind].index, (uint32_t)fact_hash(vs, kind, namespace, name),
	                  is_named, &b);
}

static const union volume_any *object_find(const struct volumes *vs, enum volume_kind kind,
                                           struct text namespace, struct text name)
{
	uint32_t entry = entry_find(vs, kind, namespace, name);

	return entry == SLOT_NONE ? NULL : entry_at(&vs->kinds[kind], entry)->object;
}

/* ---- objects ---------------------------------------------------------------------------- */

static void ungroup(struct volume_table *t, uint32_t entry)
{
	struct volume_entry *e = entry_at(t, entry);

	if (e->group == SLOT_NONE)
		return;
	if (e->group_prev == SLOT_NONE)
		volume_keyed_at(&t->groups, e->group)->first = e->group_next;
	else
		entry_at(t, e->group_prev)->group_next = e->group_next;
	if (e->group_next != SLOT_NONE)
		entry_at(t, e->group_next)->group_prev = e->group_prev;
	if (volume_keyed_at(&t->groups, e->group)->first == SLOT_NONE)
		volume_keys_drop(&t->groups, e->group);
	e->group = SLOT_NONE;
}

static void group(struct volume_table *t, uint32_t entry, uint32_t key)
{
	struct volume_keyed *k = volume_keyed_at(&t->groups, key);
	struct volume_entry *e = entry_at(t, entry);

	e->group = key;
	e->group_prev = SLOT_NONE;
	e->group_next = k->first;
	if (k->first != SLOT_NONE)
		entry_at(t, k->first)->group_prev = entry;
	k->first = entry;
}

/* The object of that entry is another one now, or was: tell whoever looked at it. */
static void tell(struct volumes *vs, enum volume_kind kind, const struct volume_entry *e)
{
	struct text name = text_of(strchr(e->name, '/') + 1);
	struct text namespace = { e->name, (size_t)(name.at - e->name) - 1 };
	struct text group_name;

	vs->epoch += kind != VOLUME_KIND_CLAIM && kind != VOLUME_KIND_ATTACHMENT;
	volume_fact_changed(&vs->facts, fact_hash(vs, FACT_OBJECT + kind, namespace, name));
	if (e->object && group_of(kind, e->object, &group_name))
		volume_fact_changed(&vs->facts,
		                    fact_hash(vs, FACT_GROUP + kind, (struct text){ "", 0 }, group_name));
}

/* NULL: there is one, but it can't be read.  On -ENOMEM nothing has changed. */
static int object_set(struct volumes *vs, enum volume_kind kind, uint32_t entry,
                      union volume_any *object)
{
	struct volume_table *t = &vs->kinds[kind];
	struct text group_name;
	uint32_t key = SLOT_NONE;

	if (object && group_of(kind, object, &group_name) &&
	    volume_keys_take(&t->groups, group_hash(vs, group_name), &key) < 0)
		return -ENOMEM;
	tell(vs, kind, entry_at(t, entry));
	/* Into the new group first: it may be the old one, which must not vanish between. */
	if (key != SLOT_NONE && key == entry_at(t, entry)->group)
		key = SLOT_NONE;
	else
		ungroup(t, entry);
	if (key != SLOT_NONE)
		group(t, entry, key);
	free(entry_at(t, entry)->object);
	entry_at(t, entry)->object = object;
	tell(vs, kind, entry_at(t, entry));
	return 0;
}

static void entry_drop(struct volumes *vs, enum volume_kind kind, uint32_t entry)
{
	struct volume_table *t = &vs->kinds[kind];
	struct volume_entry *e = entry_at(t, entry);

	tell(vs, kind, e);
	ungroup(t, entry);
	table_remove(&t->index, e->hash, entry);
	free(e->object);
	free(e->name);
	pool_give(&t->entries, entry);
}

static int entry_make(struct volumes *vs, enum volume_kind kind, struct text namespace,
                      struct text name, uint32_t *entry)
{
	struct volume_table *t = &vs->kinds[kind];
	size_t n = namespace.bytes + 1 + name.bytes;
	struct volume_entry *e;
	char *copy;

	if (t->entries.used >= vs->limit)
		return -ENOSPC;
	copy = malloc(n + 1);
	if (!copy)
		return -ENOMEM;
	if (table_reserve(&t->index) < 0 || pool_take(&t->entries, entry) < 0) {
		free(copy);
		return -ENOMEM;
	}
	if (namespace.bytes > 0)
		memcpy(copy, namespace.at, namespace.bytes);
	copy[namespace.bytes] = '/';
	memcpy(copy + namespace.bytes + 1, name.at, name.bytes);
	copy[n] = '\0';
	e = entry_at(t, *entry);
	e->name = copy;
	e->group = SLOT_NONE;
	e->hash = (uint32_t)fact_hash(vs, kind, namespace, name);
	table_put(&t->index, e->hash, *entry);
	return 0;
}

/* Is the object no newer than what is known? */
static bool is_old(const union volume_any *known, const struct volume_head *new)
{
	int order;

	if (!known)
		return false;
	order = version_compare(new->version, known->head.version);
	return order < 0 || (order == 0 && text_equal(new->uid, known->head.uid));
}

/* Names of objects in namespaces and of others, as they are kept. */
static struct text namespace_of(enum volume_kind kind, struct text namespace)
{
	if (!is_namespaced(kind))
		return (struct text){ "", 0 };
	return namespace.bytes > 0 ? namespace : text_of("default");
}

int volumes_put(struct volumes *vs, enum volume_kind kind, const char *json, size_t bytes,
                struct arena *arena, struct decode_error *error)
{
	union volume_any read, *object = NULL;
	uint32_t entry;
	int rc, read_rc;

	read_rc = extract_volume_kind(kind, json, bytes, arena, &read, error);
	if (read_rc == -ENOMEM || read.head.name.bytes == 0)
		return read_rc;
	read.head.namespace = namespace_of(kind, read.head.namespace);
	entry = entry_find(vs, kind, read.head.namespace, read.head.name);
	if (entry != SLOT_NONE) {
		entry_at(&vs->kinds[kind], entry)->seen = vs->kinds[kind].round;
		if (is_old(entry_at(&vs->kinds[kind], entry)->object, &read.head))
			return 0;
	}
	if (read_rc == 0) {
		object = volume_pack(kind, &read);
		if (!object)
			return -ENOMEM;
	}
	rc = 0;
	if (entry == SLOT_NONE)
		rc = entry_make(vs, kind, read.head.namespace, read.head.name, &entry);
	if (rc == 0) {
		entry_at(&vs->kinds[kind], entry)->seen = vs->kinds[kind].round;
		rc = object_set(vs, kind, entry, object);
		if (rc < 0 && !entry_at(&vs->kinds[kind], entry)->object)
			entry_drop(vs, kind, entry);
	}
	if (rc < 0) {
		free(object);
		return rc;
	}
	return read_rc;
}

int volume_change(struct volumes *vs, enum volume_kind kind, const union volume_any *changed)
{
	uint32_t entry = entry_find(vs, kind, changed->head.namespace, changed->head.name);
	union volume_any *object = volume_pack(kind, changed);
	int rc;

	assert(entry != SLOT_NONE);
	if (!object)
		return -ENOMEM;
	rc = object_set(vs, kind, entry, object);
	if (rc < 0)
		free(object);
	return rc;
}

int volumes_remove(struct volumes *vs, enum volume_kind kind, const struct meta *meta)
{
	uint32_t entry = entry_find(vs, kind, namespace_of(kind, meta->namespace), meta->name);
	const union volume_any *object;

	if (entry == SLOT_NONE)
		return 0;
	object = entry_at(&vs->kinds[kind], entry)->object;
	/* Another of the same name is there by now. */
	if (object && !text_equal(object->head.uid, meta->uid) &&
	    version_compare(meta->version, object->head.version) < 0)
		return 0;
	entry_drop(vs, kind, entry);
	return 0;
}

void volumes_replace_begin(struct volumes *vs, enum volume_kind kind)
{
	vs->kinds[kind].round++;
	vs->kinds[kind].replacing = true;
}

void volumes_replace_end(struct volumes *vs, enum volume_kind kind)
{
	struct volume_table *t = &vs->kinds[kind];

	if (!t->replacing)
		return;
	t->replacing = false;
	for (uint32_t e = 0; e < t->entries.n; e++)
		if (entry_at(t, e)->slot.live && entry_at(t, e)->seen != t->round)
			entry_drop(vs, kind, e);
}

void volumes_replace_abort(struct volumes *vs, enum volume_kind kind)
{
	vs->kinds[kind].replacing = false;
}

/* ---- pods and nodes -------------------------------------------------------------------- */

static void uncount_claims(struct volumes *vs, const struct volume_pod *pod, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t hash = fact_hash(vs, FACT_SHARED, pod->namespace, pod->volumes.at[i].name);
		uint32_t key;

		/* It is there: no memory is asked for. */
		if (pod->volumes.at[i].source != VOLUME_CLAIM ||
		    volume_keys_take(&vs->shared, hash, &key) < 0)
			continue;
		if (--volume_keyed_at(&vs->shared, key)->count == 1)
			volume_fact_changed(&vs->facts, hash);
		if (volume_keyed_at(&vs->shared, key)->count == 0)
			volume_keys_drop(&vs->shared, key);
	}
}

static int count_claims(struct volumes *vs, const struct volume_pod *pod)
{
	for (size_t i = 0; i < pod->volumes.n; i++) {
		uint64_t hash = fact_hash(vs, FACT_SHARED, pod->namespace, pod->volumes.at[i].name);
		uint32_t key;

		if (pod->volumes.at[i].source != VOLUME_CLAIM)
			continue;
		if (volume_keys_take(&vs->shared, hash, &key) < 0) {
			uncount_claims(vs, pod, i);
			return -ENOMEM;
		}
		if (++volume_keyed_at(&vs->shared, key)->count == 2)
			volume_fact_changed(&vs->facts, hash);
	}
	return 0;
}

/* Of claims that wait it matters whether pods share them. */
static int pod_replace(struct volumes *vs, uint32_t pod, struct volume_pod *new)
{
	const struct volume_pod *old = volume_user(&vs->facts, false, pod);
	int rc = new ? count_claims(vs, new) : 0;

	if (rc < 0)
		return rc;
	if (old)
		uncount_claims(vs, old, old->volumes.n);
	rc = volume_user_set(&vs->facts, false, pod, new);
	if (rc < 0 && new)
		uncount_claims(vs, new, new->volumes.n);
	return rc;
}

int volumes_set_pod(struct volumes *vs, uint32_t pod, const struct pod_object *object)
{
	struct volume_pod *copy = NULL;
	int rc;

	if (object && object->volumes && object->volumes->n > 0) {
		copy = volume_pack_pod(object);
		if (!copy)
			return -ENOMEM;
	}
	rc = pod_replace(vs, pod, copy);
	if (rc < 0)
		free(copy);
	return rc;
}

bool volumes_next_pod(struct volumes *vs, uint32_t *pod)
{
	return volume_user_next(&vs->facts, false, pod);
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
		volume_fact_changed(&vs->facts, fact_hash(vs, FACT_NODES, none, none));
}

int volumes_set_node(struct volumes *vs, uint32_t node, struct text name,
                     const struct pairs *labels)
{
	static const struct pairs no_labels;
	const struct volume_node_labels *old = volume_user(&vs->facts, true, node);
	struct volume_node_labels *copy;
	int rc;

	if (!vs->can_wait || !labels)
		labels = &no_labels;
	if (old && text_equal(old->name, name) && same_labels(&old->labels, labels))
		return 0;
	copy = volume_pack_node(name, labels);
	if (!copy)
		return -ENOMEM;
	rc = volume_user_set(&vs->facts, true, node, copy);
	if (rc < 0)
		free(copy);
	else
		nodes_changed(vs);
	return rc;
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

/* ---- joins ----------------------------------------------------------------------------- */

void volume_join_begin(struct volume_join *j)
{
	volume_user_clean(&j->vs->facts, j->of_node, j->user);
}

int volume_join_end(struct volume_join *j)
{
	if (j->rc < 0)
		volume_user_failed(&j->vs->facts, j->of_node, j->user);
	return j->rc;
}

static void depend(struct volume_join *j, uint32_t fact, struct text a, struct text b)
{
	int rc = volume_fact_look(&j->vs->facts, fact_hash(j->vs, fact, a, b), j->of_node, j->user);

	if (rc < 0)
		j->rc = rc;
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
		*at = entry_at(t, *at)->group_next;
	}
	/* Another group may have the same hash. */
	for (; *at != SLOT_NONE; *at = entry_at(t, *at)->group_next) {
		o = entry_at(t, *at)->object;
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
	const struct volume_keyed *k;

	depend(j, FACT_SHARED, namespace, name);
	k = volume_keys_find(&j->vs->shared, fact_hash(j->vs, FACT_SHARED, namespace, name));
	return k && k->count > 1;
}

void *volume_more(struct volume_join *j, void *items, size_t n, size_t *room, size_t item_bytes)
{
	char *grown = arena_grow(j->arena, items, n, room, item_bytes);

	if (!grown)
		j->rc = -ENOMEM;
	else
		memset(grown + n * item_bytes, 0, item_bytes);
	return grown;
}
