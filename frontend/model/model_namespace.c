/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: their labels, and what stands in each. */
#include "frontend/model/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 1024 /* of one object; they fit a record by far */

/* ---- labels as numbers --------------------------------------------------------------- */

void pod_labels_give(struct model *m, struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		intern_give(&m->keys, labels[i].key);
		intern_give(&m->values, labels[i].value);
	}
	free(labels);
}

uint32_t labels_find(const struct pod_label *labels, uint32_t n, uint32_t key)
{
	uint32_t from = 0;

	while (n > 0) {
		uint32_t half = n / 2;

		if (labels[from + half].key < key) {
			from += half + 1;
			n -= half + 1;
		} else if (labels[from + half].key > key) {
			n = half;
		} else {
			return labels[from + half].value;
		}
	}
	return ID_NONE;
}

/* In its place among the sorted ones; of a key that JSON has twice the last counts, and
 * the labels come from the last to the first. */
static void insert_label(struct model *m, struct pod_label *labels, uint32_t *n, struct pod_label l)
{
	uint32_t at = *n;

	while (at > 0 && labels[at - 1].key > l.key)
		at--;
	if (at > 0 && labels[at - 1].key == l.key) {
		intern_give(&m->keys, l.key);
		intern_give(&m->values, l.value);
		return;
	}
	memmove(&labels[at + 1], &labels[at], (*n - at) * sizeof(*labels));
	labels[at] = l;
	++*n;
}

int pod_labels_take(struct model *m, const struct pairs *from, struct pod_label **labels,
                    uint32_t *n)
{
	struct pod_label *list = NULL, l;
	uint32_t count = 0;

	if (from->n > LABELS_MAX)
		return -EINVAL;
	if (from->n > 0) {
		list = malloc(from->n * sizeof(*list));
		if (!list)
			return -ENOMEM;
	}
	for (size_t i = from->n; i-- > 0;) {
		if (intern_take(&m->keys, from->at[i].key, &l.key) < 0)
			goto give;
		if (intern_take(&m->values, from->at[i].value, &l.value) < 0) {
			intern_give(&m->keys, l.key);
			goto give;
		}
		insert_label(m, list, &count, l);
	}
	*labels = list;
	*n = count;
	return 0;

give:
	pod_labels_give(m, list, count);
	return -ENOMEM;
}

/* ---- entries --------------------------------------------------------------------------- */

static uint32_t namespace_hash(uint32_t name)
{
	return name * 2654435761u;
}

struct wanted {
	const struct model *m;
	uint32_t name;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;

	return namespace_at(w->m, slot)->name == w->name;
}

static uint32_t namespace_find(const struct model *m, uint32_t name)
{
	struct wanted w = { m, name };

	return table_find(&m->namespaces_index, namespace_hash(name), is_wanted, &w);
}

/* The entry of that name, made if need be: nobody wants it yet. */
static int namespace_make(struct model *m, struct text text, uint32_t *namespace)
{
	struct namespace_entry *e;
	uint32_t name;
	int rc = intern_take(&m->values, text, &name);

	if (rc < 0)
		return -ENOMEM;
	*namespace = namespace_find(m, name);
	if (*namespace != SLOT_NONE) {
		intern_give(&m->values, name);
		return 0;
	}
	if (table_reserve(&m->namespaces_index) < 0 || pool_take(&m->namespaces, namespace) < 0) {
		intern_give(&m->values, name);
		return -ENOMEM;
	}
	e = namespace_at(m, *namespace);
	e->hash = namespace_hash(name);
	e->name = name;
	e->pods_first = SLOT_NONE;
	e->slot.sent = 0;
	table_put(&m->namespaces_index, e->hash, *namespace);
	return 0;
}

void namespace_release_if_unused(struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	if (e->has_object || e->refs > 0 || e->slot.sent != 0)
		return;
	assert(e->pods_first == SLOT_NONE);
	list_remove(&m->namespaces_dirty, &m->namespaces, namespace);
	table_remove(&m->namespaces_index, e->hash, namespace);
	intern_give(&m->values, e->name);
	pool_give(&m->namespaces, namespace);
}

int namespace_take(struct model *m, struct text name, uint32_t *namespace)
{
	int rc = namespace_make(m, name, namespace);

	if (rc == 0)
		namespace_at(m, *namespace)->refs++;
	return rc;
}

void namespace_give(struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	assert(e->refs > 0);
	e->refs--;
	namespace_release_if_unused(m, namespace);
}

/* ---- objects ----------------------------------------------------------------------------- */

static void set_labels(struct model *m, uint32_t namespace, struct pod_label *labels, uint32_t n)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	pod_labels_give(m, e->labels, e->labels_n);
	e->labels = labels;
	e->labels_n = n;
	list_push(&m->namespaces_dirty, &m->namespaces, namespace);
}

void namespace_forget_object(struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	if (!e->has_object)
		return;
	e->has_object = false;
	e->bad = false;
	free(e->texts);
	e->texts = NULL;
	set_labels(m, namespace, NULL, 0);
	namespace_release_if_unused(m, namespace);
}

static int too_many_labels(struct model *m, const struct meta *meta, struct decode_error *error)
{
	m->counts.objects_bad++;
	if (error) {
		extract_object_name(meta, error->object, sizeof(error->object));
		snprintf(error->field, sizeof(error->field), "metadata.labels");
		snprintf(error->text, sizeof(error->text),
		         "has more than %d labels; it counts as having none", LABELS_MAX);
	}
	return -EINVAL;
}

int namespace_put(struct model *m, int resource, const char *json, size_t bytes,
                  struct decode_error *error)
{
	struct pod_label *labels = NULL;
	struct namespace_entry *e;
	struct meta meta;
	uint32_t namespace, n = 0;
	char *stamp;
	int rc = extract_namespace(json, bytes, &m->arena, &meta, error), result;

	if (rc < 0 || !model_names_valid(&meta, error)) {
		m->counts.objects_bad += rc != -ENOMEM;
		return rc < 0 ? rc : -EINVAL;
	}
	meta.namespace.bytes = 0; /* for messages: it lies in none */
	rc = namespace_make(m, meta.name, &namespace);
	if (rc < 0)
		return rc;
	e = namespace_at(m, namespace);
	if (!e->has_object && e->refs == 0 && !referred_fits(m, &m->namespaces)) {
		namespace_release_if_unused(m, namespace);
		return referred_refuse(m, &meta, error);
	}
	e->seen = m->replace[resource].round;
	if (stamp_covers(m, e->texts, &meta, e->bad))
		return 0;
	stamp = model_stamp(&meta);
	result = stamp ? pod_labels_take(m, &meta.labels, &labels, &n) : -ENOMEM;
	if (result == -ENOMEM) {
		free(stamp);
		namespace_release_if_unused(m, namespace);
		return result;
	}
	e = namespace_at(m, namespace);
	free(e->texts);
	e->texts = stamp;
	e->bad = result < 0;
	if (e->has_object && n == e->labels_n &&
	    (n == 0 || memcmp(labels, e->labels, n * sizeof(*labels)) == 0)) {
		pod_labels_give(m, labels, n);
	} else {
		e->has_object = true;
		set_labels(m, namespace, labels, n);
	}
	return result < 0 ? too_many_labels(m, &meta, error) : 0;
}

int namespace_remove(struct model *m, const struct meta *meta)
{
	uint32_t namespace;
	int rc = namespace_make(m, meta->name, &namespace);

	if (rc < 0)
		return rc;
	if (!namespace_at(m, namespace)->has_object)
		namespace_release_if_unused(m, namespace);
	else if (stamp_is_successor(namespace_at(m, namespace)->texts, meta))
		m->counts.objects_stale++;
	else
		namespace_forget_object(m, namespace);
	return 0;
}
