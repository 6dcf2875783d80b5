/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours in the list of sets that have the same label. */
struct set_link {
	labels_id previous, next;
};

/* The list of sets that have a label. */
struct sharers {
	uint32_t key, value;
	labels_id first;
};

struct labels_index {
	struct chains sets;
	struct chains shared;
	struct sharers *sharers;
	uint32_t sharers_room;
	struct chains names;
	struct namespace_labels *namespaces;
	uint32_t namespaces_room;
};

int labels_init(struct labels *ls)
{
	struct labels_index *x = calloc(1, sizeof(*x));

	*ls = (struct labels){ .index = x };
	if (x && chains_init(&x->sets, 0) == 0 && chains_init(&x->shared, 0) == 0 &&
	    chains_init(&x->names, 0) == 0)
		return 0;
	labels_free(ls);
	return -ENOMEM;
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
	chains_clear(&x->sets);
	chains_clear(&x->shared);
	chains_clear(&x->names);
	ls->n = 0;
}

void labels_free(struct labels *ls)
{
	struct labels_index *x = ls->index;

	if (!x)
		return;
	labels_clear(ls);
	chains_free(&x->sets);
	chains_free(&x->shared);
	chains_free(&x->names);
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

/* ---- one set -------------------------------------------------------------- */

/* Index of the key, or of where it would be. */
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

/* The link of a label; the namespace's is the last.  No label has LABEL_KEY_NAMESPACE:
 * core/shm/records.c. */
static struct set_link *link_of(const struct label_set *set, uint32_t key)
{
	return &set->links[key == LABEL_KEY_NAMESPACE ? set->n : key_place(set->at, set->n, key)];
}

/* ---- sets by label ---------------------------------------------------------- */

static uint32_t label_hash(uint32_t key, uint32_t value)
{
	return chain_hash(chain_hash(1, key), value);
}

static uint32_t sharers_find(const struct labels_index *x, uint32_t key, uint32_t value)
{
	uint32_t i = chains_first(&x->shared, label_hash(key, value));

	while (i != CHAIN_NONE && (x->sharers[i].key != key || x->sharers[i].value != value))
		i = chains_next(&x->shared, i);
	return i;
}

labels_id labels_with(const struct labels *ls, uint32_t key, uint32_t value)
{
	uint32_t i = sharers_find(ls->index, key, value);

	return i == CHAIN_NONE ? LABELS_NONE : ls->index->sharers[i].first;
}

labels_id labels_with_next(const struct labels *ls, labels_id id, uint32_t key)
{
	return link_of(&ls->sets[id], key)->next;
}

/* There is room for one list more. */
static void share(struct labels *ls, labels_id id, uint32_t key, uint32_t value)
{
	struct labels_index *x = ls->index;
	struct set_link *link = link_of(&ls->sets[id], key);
	uint32_t i = sharers_find(x, key, value);

	if (i == CHAIN_NONE) {
		i = chains_new(&x->shared, label_hash(key, value));
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
		chains_drop(&x->shared, i);
}

/* ---- taking and giving -------------------------------------------------------- */

static uint32_t set_hash(uint32_t namespace, const struct pod_label *at, uint32_t n)
{
	uint32_t hash = chain_hash(2, namespace);

	for (uint32_t i = 0; i < n; i++)
		hash = chain_hash(chain_hash(hash, at[i].key), at[i].value);
	return hash;
}

static int set_new(struct labels *ls, uint32_t hash, uint32_t namespace, const struct pod_label *at,
                   uint32_t n, labels_id *out)
{
	struct labels_index *x = ls->index;
	struct label_set set = { .refs = 1, .namespace = namespace, .n = n, .first_pod = ID_NONE };
	labels_id id;

	if (chains_reserve(&x->sets, 1) < 0 ||
	    chains_fit(&x->sets, &ls->sets, &ls->room, sizeof(*ls->sets)) < 0 ||
	    chains_reserve(&x->shared, n + 1) < 0 ||
	    chains_fit(&x->shared, &x->sharers, &x->sharers_room, sizeof(*x->sharers)) < 0)
		return -ENOMEM;
	set.at = malloc(n * sizeof(*set.at) + (n + 1u) * sizeof(*set.links));
	if (!set.at)
		return -ENOMEM;
	if (n > 0)
		memcpy(set.at, at, n * sizeof(*at));
	set.links = (struct set_link *)(void *)(set.at + n);
	id = chains_new(&x->sets, hash);
	ls->sets[id] = set;
	ls->n++;
	for (uint32_t i = 0; i < n; i++)
		share(ls, id, at[i].key, at[i].value);
	share(ls, id, LABEL_KEY_NAMESPACE, namespace);
	*out = id;
	return 0;
}

int label_set_take(struct labels *ls, uint32_t namespace, const struct pod_label *at, uint32_t n,
                   labels_id *out, bool *fresh)
{
	const uint32_t hash = set_hash(namespace, at, n);
	labels_id id = chains_first(&ls->index->sets, hash);

	while (id != CHAIN_NONE && !labels_equal(&ls->sets[id], namespace, at, n))
		id = chains_next(&ls->index->sets, id);
	*fresh = id == CHAIN_NONE;
	if (*fresh)
		return set_new(ls, hash, namespace, at, n, out);
	ls->sets[id].refs++;
	*out = id;
	return 0;
}

void label_set_give(struct labels *ls, labels_id id)
{
	struct label_set *set = &ls->sets[id];

	if (--set->refs > 0)
		return;
	for (uint32_t i = 0; i < set->n; i++)
		unshare(ls, id, set->at[i].key, set->at[i].value);
	unshare(ls, id, LABEL_KEY_NAMESPACE, set->namespace);
	free(set->at);
	*set = (struct label_set){ 0 };
	chains_drop(&ls->index->sets, id);
	ls->n--;
}

/* ---- namespaces ----------------------------------------------------------------- */

static uint32_t namespace_number(const struct labels_index *x, uint32_t name)
{
	uint32_t i = chains_first(&x->names, chain_hash(3, name));

	while (i != CHAIN_NONE && x->namespaces[i].name != name)
		i = chains_next(&x->names, i);
	return i;
}

const struct namespace_labels *namespace_find(const struct labels *ls, uint32_t name)
{
	uint32_t i = namespace_number(ls->index, name);

	return i == CHAIN_NONE ? NULL : &ls->index->namespaces[i];
}

int namespace_reserve(struct labels *ls, uint32_t name)
{
	struct labels_index *x = ls->index;
	uint32_t i;

	if (namespace_number(x, name) != CHAIN_NONE)
		return 0;
	if (chains_reserve(&x->names, 1) < 0 ||
	    chains_fit(&x->names, &x->namespaces, &x->namespaces_room, sizeof(*x->namespaces)) < 0)
		return -ENOMEM;
	i = chains_new(&x->names, chain_hash(3, name));
	x->namespaces[i] = (struct namespace_labels){ .name = name };
	return 0;
}

void namespace_swap(struct labels *ls, struct namespace_labels *labels)
{
	struct namespace_labels *space =
		&ls->index->namespaces[namespace_number(ls->index, labels->name)];
	struct namespace_labels old = *space;

	*space = *labels;
	*labels = old;
}

void namespace_forget(struct labels *ls, uint32_t name)
{
	struct labels_index *x = ls->index;
	uint32_t i = namespace_number(x, name);

	assert(!x->namespaces[i].at);
	x->namespaces[i] = (struct namespace_labels){ 0 };
	chains_drop(&x->names, i);
}
