/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/pod_classes.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES_FIRST (1u << 16) /* space in the table of ids, which grows up to the limit */

static void match_sets_begin(struct pod_classes *pc)
{
	uint32_t match_set = match_set_ref(pc, NULL, 0); /* permanent */

	assert(match_set == MATCH_SET_EMPTY);
	(void)match_set;
}

void pod_classes_init(struct pod_classes *pc, const struct limits *limits)
{
	*pc = (struct pod_classes){ .idle_most = limits->shapes,
		                        .idle_first = CLASS_NONE,
		                        .idle_last = CLASS_NONE };
	pc->limit = limits->shapes + limits->pods + 2; /* far from 2^32: core/shm/ledger.c */
	pc->slots = must_array(pc->limit, sizeof(*pc->slots));
	id_table_init(&pc->ids, pc->limit < CLASSES_FIRST ? pc->limit : CLASSES_FIRST);
	id_table_init(&pc->match_set_ids, 0);
	match_sets_begin(pc);
}

static void tables_clear(struct pod_classes *pc)
{
	for (class_id id = 0; id < pc->ids.used; id++)
		pc->slots[id] = (struct pod_class){ 0 };
	for (uint32_t i = 0; i < pc->match_set_ids.used; i++) {
		free(pc->match_sets[i].matched);
		pc->match_sets[i] = (struct match_set){ 0 };
	}
	id_table_clear(&pc->ids);
	id_table_clear(&pc->match_set_ids);
	pc->idle_n = 0;
	pc->idle_first = pc->idle_last = CLASS_NONE;
}

void pod_classes_clear(struct pod_classes *pc)
{
	tables_clear(pc);
	match_sets_begin(pc);
}

void pod_classes_free(struct pod_classes *pc)
{
	tables_clear(pc);
	id_table_free(&pc->ids);
	id_table_free(&pc->match_set_ids);
	free(pc->slots);
	free(pc->match_sets);
	*pc = (struct pod_classes){ 0 };
}

bool match_set_has(const struct match_set *match_set, selector_id selector)
{
	uint32_t low = 0, high = match_set->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (match_set->matched[middle] < selector)
			low = middle + 1;
		else
			high = middle;
	}
	return low < match_set->n && match_set->matched[low] == selector;
}

bool class_matches(const struct pod_classes *pc, class_id class, selector_id selector)
{
	return match_set_has(class_match_set(pc, class), selector);
}

uint32_t match_set_ref(struct pod_classes *pc, const selector_id *matched, uint32_t n)
{
	uint32_t hash = id_hash(6, n), i;
	selector_id *copy = NULL;

	for (i = 0; i < n; i++)
		hash = id_hash(hash, matched[i]);
	for (i = id_table_first(&pc->match_set_ids, hash); i != ID_TABLE_NONE;
	     i = id_table_next(&pc->match_set_ids, i)) {
		struct match_set *match_set = &pc->match_sets[i];

		if (match_set->n != n ||
		    (n > 0 && memcmp(match_set->matched, matched, n * sizeof(*matched)) != 0))
			continue;
		match_set->refs++;
		return i;
	}
	id_table_reserve(&pc->match_set_ids, 1);
	id_table_fit(&pc->match_set_ids, &pc->match_sets, &pc->match_sets_cap, sizeof(*pc->match_sets));
	if (n > 0) {
		copy = must_array(n, sizeof(*copy));
		memcpy(copy, matched, n * sizeof(*copy));
	}
	i = id_table_add(&pc->match_set_ids, hash);
	pc->match_sets[i] = (struct match_set){ .refs = 1, .n = n, .matched = copy };
	return i;
}

void match_set_ref_id(struct pod_classes *pc, uint32_t match_set)
{
	assert(match_set < pc->match_set_ids.used);
	assert(pc->match_sets[match_set].refs > 0);
	pc->match_sets[match_set].refs++;
}

void match_set_unref(struct pod_classes *pc, uint32_t match_set)
{
	assert(match_set < pc->match_set_ids.used);
	assert(pc->match_sets[match_set].refs > 0);
	if (--pc->match_sets[match_set].refs > 0)
		return;
	free(pc->match_sets[match_set].matched);
	pc->match_sets[match_set] = (struct match_set){ 0 };
	id_table_remove(&pc->match_set_ids, match_set);
}

static void idle_add(struct pod_classes *pc, class_id id)
{
	struct pod_class *k = &pc->slots[id];

	k->idle_previous = pc->idle_last;
	k->idle_next = CLASS_NONE;
	if (pc->idle_last == CLASS_NONE)
		pc->idle_first = id;
	else
		pc->slots[pc->idle_last].idle_next = id;
	pc->idle_last = id;
	pc->idle_n++;
}

static void idle_remove(struct pod_classes *pc, class_id id)
{
	struct pod_class *k = &pc->slots[id];

	if (k->idle_previous == CLASS_NONE)
		pc->idle_first = k->idle_next;
	else
		pc->slots[k->idle_previous].idle_next = k->idle_next;
	if (k->idle_next == CLASS_NONE)
		pc->idle_last = k->idle_previous;
	else
		pc->slots[k->idle_next].idle_previous = k->idle_previous;
	pc->idle_n--;
}

static void class_forget(struct pod_classes *pc, class_id id)
{
	struct pod_class *k = &pc->slots[id];

	assert(k->shape != ID_NONE);
	assert(k->pods == 0);
	if (pc->gone)
		pc->gone(pc->context, id);
	idle_remove(pc, id);
	match_set_unref(pc, k->match_set);
	*k = (struct pod_class){ .shape = ID_NONE };
	id_table_remove(&pc->ids, id);
}

class_id class_ref(struct pod_classes *pc, shape_id shape, uint32_t match_set)
{
	const uint32_t hash = id_hash(id_hash(7, shape), match_set);
	class_id id = id_table_first(&pc->ids, hash);

	while (id != ID_TABLE_NONE &&
	       (pc->slots[id].shape != shape || pc->slots[id].match_set != match_set))
		id = id_table_next(&pc->ids, id);
	if (id == ID_TABLE_NONE) {
		id_table_reserve(&pc->ids, 1);
		id = id_table_add(&pc->ids, hash);
		pc->slots[id] = (struct pod_class){ .shape = shape, .match_set = match_set };
		match_set_ref_id(pc, match_set);
	} else if (pc->slots[id].pods == 0) {
		idle_remove(pc, id);
	}
	pc->slots[id].pods++;
	return id;
}

void class_unref(struct pod_classes *pc, class_id id)
{
	assert(pc->slots[id].pods > 0);
	if (--pc->slots[id].pods > 0)
		return;
	idle_add(pc, id);
	if (pc->idle_n > pc->idle_most)
		class_forget(pc, pc->idle_first);
}

void pod_classes_forget_shape(struct pod_classes *pc, shape_id shape)
{
	class_id next;

	for (class_id id = pc->idle_first; id != CLASS_NONE; id = next) {
		next = pc->slots[id].idle_next;
		if (pc->slots[id].shape == shape)
			class_forget(pc, id);
	}
}

void pod_classes_forget_selector(struct pod_classes *pc, selector_id selector)
{
	class_id next;

	for (class_id id = pc->idle_first; id != CLASS_NONE; id = next) {
		next = pc->slots[id].idle_next;
		if (class_matches(pc, id, selector))
			class_forget(pc, id);
	}
}
