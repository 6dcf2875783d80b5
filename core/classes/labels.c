/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/labels.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours in the list of sets with the same label. */
struct set_link {
	labels_id previous, next;
};

/* The list of the sets with a label. */
struct sharers {
	uint32_t key, value;
	labels_id first;
};

struct labels_index {
	struct id_table sets;   /* by content */
	struct id_table shared; /* sharers by label */
	struct sharers *sharers;
	uint32_t sharers_cap;
	struct id_table names; /* namespaces by name */
	struct namespace_labels *namespaces;
	uint32_t namespaces_cap;
};

void labels_init(struct labels *ls)
{
	struct labels_index *x = must_alloc(sizeof(*x));

	*ls = (struct labels){ .index = x };
	id_table_init(&x->sets, 0);
	id_table_init(&x->shared, 0);
	id_table_init(&x->names, 0);
}

void labels_clear(struct labels *ls)
{
	struct labels_index *x = ls->index;

	for (labels_id id = 0; id < x->sets.used; id++) {
		free(ls->sets[id].at);
		ls->sets[id] = (struct label_set){ 0 };
	}
	for (uint32_t i = 0; i < x->names.used; i++) {
		free(x->namespaces[i].at);
		x->namespaces[i] = (struct namespace_labels){ 0 };
	}
	id_table_clear(&x->sets);
	id_table_clear(&x->shared);
	id_table_clear(&x->names);
	ls->n = 0;
}

void labels_free(struct labels *ls)
{
	struct labels_index *x = ls->index;

	if (!x)
		return;
	labels_clear(ls);
	id_table_free(&x->sets);
	id_table_free(&x->shared);
	id_table_free(&x->names);
	free(x->sharers);
	free(x->namespaces);
	free(x);
	free(ls->sets);
	*ls = (struct labels){ 0 };
}

uint32_t labels_used(const struct labels *ls)
{
	return ls->index->sets.used;
}

/* Index of the key, or where it would be inserted. */
static uint32_t key_place(const struct pod_label *at, uint32_t n, uint32_t key)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (at[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t pod_labels_find(const struct pod_label *at, uint32_t n, uint32_t key)
{
	uint32_t place = key_place(at, n, key);

	return place < n && at[place].key == key ? at[place].value : UINT32_MAX;
}

bool pod_labels_equal(const struct pod_label *a, uint32_t a_n, const struct pod_label *b,
                      uint32_t b_n)
{
	return a_n == b_n && (a_n == 0 || memcmp(a, b, a_n * sizeof(*a)) == 0);
}

bool labels_equal(const struct label_set *set, uint32_t namespace, const struct pod_label *at,
                  uint32_t n)
{
	return set->namespace == namespace && pod_labels_equal(set->at, set->n, at, n);
}

/* No label has the key LABEL_KEY_NAMESPACE: core/shm/records.c. */
static struct set_link *link_of(const struct label_set *set, uint32_t key)
{
	return &set->links[key == LABEL_KEY_NAMESPACE ? set->n : key_place(set->at, set->n, key)];
}

static uint32_t label_hash(uint32_t key, uint32_t value)
{
	return id_hash(id_hash(1, key), value);
}

static uint32_t sharers_find(const struct labels_index *x, uint32_t key, uint32_t value)
{
	uint32_t i = id_table_first(&x->shared, label_hash(key, value));

	while (i != ID_TABLE_NONE && (x->sharers[i].key != key || x->sharers[i].value != value))
		i = id_table_next(&x->shared, i);
	return i;
}

labels_id labels_with(const struct labels *ls, uint32_t key, uint32_t value)
{
	uint32_t i = sharers_find(ls->index, key, value);

	return i == ID_TABLE_NONE ? LABELS_NONE : ls->index->sharers[i].first;
}

labels_id labels_with_next(const struct labels *ls, labels_id id, uint32_t key)
{
	return link_of(&ls->sets[id], key)->next;
}

static void share(struct labels *ls, labels_id id, uint32_t key, uint32_t value)
{
	struct labels_index *x = ls->index;
	struct set_link *link = link_of(&ls->sets[id], key);
	uint32_t i = sharers_find(x, key, value);

	if (i == ID_TABLE_NONE) {
		i = id_table_add(&x->shared, label_hash(key, value));
		x->sharers[i] = (struct sharers){ .key = key, .value = value, .first = LABELS_NONE };
	}
	*link = (struct set_link){ .previous = LABELS_NONE, .next = x->sharers[i].first };
	if (link->next != LABELS_NONE)
		link_of(&ls->sets[link->next], key)->previous = id;
	x->sharers[i].first = id;
}

static void unshare(struct labels *ls, labels_id id, uint32_t key, uint32_t value)
{
	struct labels_index *x = ls->index;
	const struct set_link *link = link_of(&ls->sets[id], key);
	uint32_t i;

	if (link->next != LABELS_NONE)
		link_of(&ls->sets[link->next], key)->previous = link->previous;
	if (link->previous != LABELS_NONE) {
		link_of(&ls->sets[link->previous], key)->next = link->next;
		return;
	}
	i = sharers_find(x, key, value);
	x->sharers[i].first = link->next;
	if (link->next == LABELS_NONE)
		id_table_remove(&x->shared, i);
}

static uint32_t set_hash(uint32_t namespace, const struct pod_label *at, uint32_t n)
{
	uint32_t hash = id_hash(2, namespace);

	for (uint32_t i = 0; i < n; i++)
		hash = id_hash(id_hash(hash, at[i].key), at[i].value);
	return hash;
}

static labels_id set_new(struct labels *ls, uint32_t hash, uint32_t namespace,
                         const struct pod_label *at, uint32_t n)
{
	struct labels_index *x = ls->index;
	struct label_set set = { .refs = 1, .namespace = namespace, .n = n, .first_pod = ID_NONE };
	labels_id id;

	id_table_reserve(&x->sets, 1);
	id_table_fit(&x->sets, &ls->sets, &ls->cap, sizeof(*ls->sets));
	id_table_reserve(&x->shared, n + 1);
	id_table_fit(&x->shared, &x->sharers, &x->sharers_cap, sizeof(*x->sharers));
	set.at = must_alloc(n * sizeof(*set.at) + (n + 1u) * sizeof(*set.links));
	if (n > 0)
		memcpy(set.at, at, n * sizeof(*at));
	set.links = (struct set_link *)(void *)(set.at + n);
	id = id_table_add(&x->sets, hash);
	ls->sets[id] = set;
	ls->n++;
	for (uint32_t i = 0; i < n; i++)
		share(ls, id, at[i].key, at[i].value);
	share(ls, id, LABEL_KEY_NAMESPACE, namespace);
	return id;
}

labels_id label_set_ref(struct labels *ls, uint32_t namespace, const struct pod_label *at,
                        uint32_t n, bool *fresh)
{
	const uint32_t hash = set_hash(namespace, at, n);
	labels_id id = id_table_first(&ls->index->sets, hash);

	while (id != ID_TABLE_NONE && !labels_equal(&ls->sets[id], namespace, at, n))
		id = id_table_next(&ls->index->sets, id);
	*fresh = id == ID_TABLE_NONE;
	if (*fresh)
		return set_new(ls, hash, namespace, at, n);
	ls->sets[id].refs++;
	return id;
}

void label_set_unref(struct labels *ls, labels_id id)
{
	struct label_set *set = &ls->sets[id];

	assert(id < ls->index->sets.used);
	assert(set->refs > 0);
	if (--set->refs > 0)
		return;
	for (uint32_t i = 0; i < set->n; i++)
		unshare(ls, id, set->at[i].key, set->at[i].value);
	unshare(ls, id, LABEL_KEY_NAMESPACE, set->namespace);
	free(set->at);
	*set = (struct label_set){ 0 };
	id_table_remove(&ls->index->sets, id);
	ls->n--;
}

static uint32_t namespace_number(const struct labels_index *x, uint32_t name)
{
	uint32_t i = id_table_first(&x->names, id_hash(3, name));

	while (i != ID_TABLE_NONE && x->namespaces[i].name != name)
		i = id_table_next(&x->names, i);
	return i;
}

const struct namespace_labels *namespace_find(const struct labels *ls, uint32_t name)
{
	uint32_t i = namespace_number(ls->index, name);

	return i == ID_TABLE_NONE ? NULL : &ls->index->namespaces[i];
}

void namespace_labels_set(struct labels *ls, uint32_t name, const struct pod_label *at, uint32_t n)
{
	struct labels_index *x = ls->index;
	struct pod_label *copy = NULL;
	uint32_t i = namespace_number(x, name);

	if (n > 0) {
		copy = must_array(n, sizeof(*copy));
		memcpy(copy, at, n * sizeof(*copy));
	}
	if (i == ID_TABLE_NONE) {
		id_table_reserve(&x->names, 1);
		id_table_fit(&x->names, &x->namespaces, &x->namespaces_cap, sizeof(*x->namespaces));
		i = id_table_add(&x->names, id_hash(3, name));
	} else {
		free(x->namespaces[i].at);
	}
	x->namespaces[i] = (struct namespace_labels){ .name = name, .n = n, .at = copy };
}

void namespace_labels_drop(struct labels *ls, uint32_t name)
{
	struct labels_index *x = ls->index;
	uint32_t i = namespace_number(x, name);

	assert(i != ID_TABLE_NONE);
	free(x->namespaces[i].at);
	x->namespaces[i] = (struct namespace_labels){ 0 };
	id_table_remove(&x->names, i);
}
