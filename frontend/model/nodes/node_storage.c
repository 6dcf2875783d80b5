/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/nodes/node_storage.h"

#include "frontend/model/base/limits.h"
#include "frontend/volume/volume.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static void storage_free(struct model *m, struct node_storage_entry *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->limits_n; i++)
		intern_give(&m->values, s->limits[i].driver);
	for (uint32_t i = 0; i < s->attached_n; i++) {
		intern_give(&m->values, s->attached[i].driver);
		intern_give(&m->values, s->attached[i].volume);
	}
	free(s);
}

/* NULL: there is nothing. */
static struct node_storage_entry *storage_make(struct model *m, const struct node_storage *from)
{
	struct node_storage_entry *s;

	if (from->limits_n == 0 && from->attached_n == 0)
		return NULL;
	s = must_alloc(sizeof(*s) + from->limits_n * sizeof(*s->limits) +
	               from->attached_n * sizeof(*s->attached));
	s->limits = (void *)(s + 1);
	s->limits_n = (uint32_t)from->limits_n;
	s->attached = (void *)(s->limits + from->limits_n);
	s->attached_n = (uint32_t)from->attached_n;
	for (size_t i = 0; i < from->limits_n; i++) {
		s->limits[i].driver = model_number(&m->values, from->limits[i].driver);
		s->limits[i].most = from->limits[i].most;
	}
	for (size_t i = 0; i < from->attached_n; i++) {
		s->attached[i].driver = model_number(&m->values, from->attached[i].driver);
		s->attached[i].volume = model_number(&m->values, from->attached[i].volume);
	}
	return s;
}

static bool storage_equal(const struct node_storage_entry *a, const struct node_storage_entry *b)
{
	if (!a || !b)
		return a == b;
	return a->limits_n == b->limits_n && a->attached_n == b->attached_n &&
	       memcmp(a->limits, b->limits, a->limits_n * sizeof(*a->limits)) == 0 &&
	       memcmp(a->attached, b->attached, a->attached_n * sizeof(*a->attached)) == 0;
}

bool node_storage_join(struct model *m, uint32_t node, struct node_storage_entry **storage)
{
	struct node_storage from = { 0 };
	struct node_storage_entry *made;
	bool changed;

	arena_reset(&m->scratch);
	volumes_join_node(m->volumes, node, &m->scratch, &from);
	made = storage_make(m, &from);
	changed = !storage_equal(*storage, made);
	storage_free(m, *storage);
	*storage = made;
	return changed;
}

bool node_storage_set(struct model *m, uint32_t node, const struct node_object *object,
                      struct node_storage_entry **storage)
{
	volumes_set_node(m->volumes, node, object->meta.name, &object->meta.labels);
	return node_storage_join(m, node, storage);
}

void node_storage_clear(struct model *m, uint32_t node, struct node_storage_entry **storage)
{
	volumes_drop_node(m->volumes, node);
	storage_free(m, *storage);
	*storage = NULL;
}
