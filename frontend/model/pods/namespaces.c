/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/namespaces.h"

#include "frontend/decode/eviction.h"
#include "frontend/model/pods/facts.h"
#include "frontend/model/base/labels.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/pods.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool namespace_equal(const void *item, const void *key)
{
	return ((const struct namespace_entry *)item)->name == *(const uint32_t *)key;
}

void namespace_free(struct namespace_entry *e)
{
	free(e->labels);
}

/* The entry of that name, made without references if need be. */
static uint32_t namespace_make(struct model *m, struct text text)
{
	uint32_t name = model_number(&m->values, text), hash = name * 2654435761u;
	bool is_new;
	uint32_t namespace = store_enter(&m->namespaces, hash, &name, &is_new);

	if (!is_new) {
		intern_give(&m->values, name);
		return namespace;
	}
	namespace_at(m, namespace)->name = name;
	namespace_at(m, namespace)->pods_first = SLOT_NONE;
	return namespace;
}

bool namespace_is_charged(const struct namespace_entry *e)
{
	bool any = false;

	for (int i = 0; i < SHARES; i++)
		any = any || e->used[i] > 0;
	return any;
}

void namespace_release_if_unused(struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	if (e->entry.stamp || e->entry.refs > 0 || e->entry.slot.sent != 0 || namespace_is_charged(e))
		return;
	assert(e->pods_first == SLOT_NONE && e->labels_n == 0);
	intern_give(&m->values, e->name);
	store_remove(&m->namespaces, namespace);
}

uint32_t namespace_take(struct model *m, struct text name)
{
	uint32_t namespace = namespace_make(m, name);

	assert(namespace_at(m, namespace)->entry.slot.live);
	namespace_at(m, namespace)->entry.refs++;
	return namespace;
}

void namespace_give(struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	assert(e->entry.slot.live);
	assert(e->entry.refs > 0);
	e->entry.refs--;
	namespace_release_if_unused(m, namespace);
}

static void set_labels(struct model *m, uint32_t namespace, struct pod_label *labels, uint32_t n)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	assert(n == 0 || labels);
	pod_labels_give(m, e->labels, e->labels_n);
	e->labels = labels;
	e->labels_n = n;
	e->relabelled = true;
	e->selected = 0;
	store_mark_dirty(&m->namespaces, namespace);
}

/* Its pending pods are refused while it ends. */
static void set_ending(struct model *m, uint32_t namespace, bool ending)
{
	if (namespace_at(m, namespace)->ending == ending)
		return;
	namespace_at(m, namespace)->ending = ending;
	STORE_EACH(&m->pods, i)
	{
		if (pod_at(m, i)->namespace == namespace && pod_at(m, i)->node == ID_NONE)
			store_mark_dirty(&m->pods, i);
	}
}

static void set_spared(struct model *m, uint32_t namespace, bool spared)
{
	if (!m->preemption || namespace_at(m, namespace)->spared == spared)
		return;
	namespace_at(m, namespace)->spared = spared;
	facts_mark_namespace(m, namespace);
}

void namespace_forget_object(struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	if (!e->entry.stamp)
		return;
	stamp_clear(&e->entry);
	set_ending(m, namespace, false);
	set_spared(m, namespace, false);
	set_labels(m, namespace, NULL, 0);
	namespace_release_if_unused(m, namespace);
}

static int too_many_labels(struct model *m, const struct meta *meta, struct decode_error *error)
{
	m->counts.objects_bad++;
	decode_error_set(error, meta, "metadata.labels",
	                 "has more than %d labels; it counts as having none", LABELS_MAX);
	return -EINVAL;
}

int namespace_put(struct model *m, int resource, const char *json, size_t bytes,
                  struct decode_error *error)
{
	struct pod_label *labels = NULL;
	struct namespace_entry *e;
	struct meta meta;
	uint32_t namespace, n = 0;
	int rc = extract_namespace(json, bytes, &m->arena, &meta, error);
	bool had_object;

	if (rc < 0 || !model_names_valid(&meta, error)) {
		m->counts.objects_bad++;
		return -EINVAL;
	}
	meta.namespace.bytes = 0; /* for messages: namespaces have none */
	namespace = namespace_make(m, meta.name);
	e = namespace_at(m, namespace);
	had_object = e->entry.stamp;
	if (!had_object && e->entry.refs == 0 && !referred_fits(m, &m->namespaces)) {
		namespace_release_if_unused(m, namespace);
		return referred_refuse(m, &meta, error);
	}
	if (object_is_known(m, resource, &e->entry, &meta))
		return 0;
	set_ending(m, namespace, meta.deleting);
	set_spared(m, namespace, extract_is_marked(&meta, "muster.dev/preemption", "never", &m->arena));
	rc = pod_labels_take(m, &meta.labels, &labels, &n);
	stamp_set(&e->entry.stamp, &meta);
	e->entry.retry = rc < 0;
	if (had_object && n == e->labels_n &&
	    (n == 0 || memcmp(labels, e->labels, n * sizeof(*labels)) == 0))
		pod_labels_give(m, labels, n);
	else
		set_labels(m, namespace, labels, n);
	return rc < 0 ? too_many_labels(m, &meta, error) : 0;
}

void namespace_remove(struct model *m, const struct meta *meta)
{
	uint32_t namespace = namespace_make(m, meta->name);
	const struct namespace_entry *e = namespace_at(m, namespace);

	if (!e->entry.stamp)
		namespace_release_if_unused(m, namespace);
	else if (!stamp_is_successor(m, e->entry.stamp, meta))
		namespace_forget_object(m, namespace);
}
