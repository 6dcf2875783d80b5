/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int classes_begin(struct kinds *ks)
{
	uint32_t class;
	int rc = class_take(ks, NULL, 0, &class); /* held for ever */

	assert(rc < 0 || class == CLASS_EMPTY);
	return rc;
}

int kinds_init(struct kinds *ks, const struct limits *limits)
{
	uint64_t limit = (uint64_t)limits->shapes + limits->pods + 2;

	*ks = (struct kinds){ .idle_most = limits->shapes,
		                  .idle_first = KIND_NONE,
		                  .idle_last = KIND_NONE };
	if (limit >= CHAIN_NONE)
		return -ENOMEM;
	ks->limit = (uint32_t)limit;
	ks->slots = calloc(ks->limit, sizeof(*ks->slots));
	if (ks->slots && chains_init(&ks->chains, ks->limit) == 0 &&
	    chains_init(&ks->class_chains, 0) == 0 && classes_begin(ks) == 0)
		return 0;
	kinds_free(ks);
	return -ENOMEM;
}

static void tables_clear(struct kinds *ks)
{
	for (kind_id id = 0; id < ks->chains.used; id++)
		ks->slots[id] = (struct kind){ 0 };
	for (uint32_t i = 0; i < ks->class_chains.used; i++) {
		free(ks->classes[i].matched);
		ks->classes[i] = (struct class){ 0 };
	}
	chains_clear(&ks->chains);
	chains_clear(&ks->class_chains);
	ks->idle_n = 0;
	ks->idle_first = ks->idle_last = KIND_NONE;
}

void kinds_clear(struct kinds *ks)
{
	tables_clear(ks);
	classes_begin(ks); /* there is room for it since kinds_init() */
}

void kinds_free(struct kinds *ks)
{
	tables_clear(ks);
	chains_free(&ks->chains);
	chains_free(&ks->class_chains);
	free(ks->slots);
	free(ks->classes);
	*ks = (struct kinds){ 0 };
}

/* ---- classes ---------------------------------------------------------------- */

bool class_has(const struct class *class, selector_id selector)
{
	uint32_t low = 0, high = class->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (class->matched[middle] < selector)
			low = middle + 1;
		else
			high = middle;
	}
	return low < class->n && class->matched[low] == selector;
}

bool kind_matches(const struct kinds *ks, kind_id kind, selector_id selector)
{
	return class_has(kind_class(ks, kind), selector);
}

int class_take(struct kinds *ks, const selector_id *matched, uint32_t n, uint32_t *out)
{
	uint32_t hash = chain_hash(6, n), i;
	selector_id *copy = NULL;

	for (i = 0; i < n; i++)
		hash = chain_hash(hash, matched[i]);
	for (i = chains_first(&ks->class_chains, hash); i != CHAIN_NONE;
	     i = chains_next(&ks->class_chains, i)) {
		struct class *class = &ks->classes[i];

		if (class->n != n || (n > 0 && memcmp(class->matched, matched, n * sizeof(*matched)) != 0))
			continue;
		class->refs++;
		*out = i;
		return 0;
	}
	if (chains_reserve(&ks->class_chains, 1) < 0 ||
	    chains_fit(&ks->class_chains, &ks->classes, &ks->classes_room, sizeof(*ks->classes)) < 0)
		return -ENOMEM;
	if (n > 0) {
		copy = malloc(n * sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		memcpy(copy, matched, n * sizeof(*copy));
	}
	i = chains_new(&ks->class_chains, hash);
	ks->classes[i] = (struct class){ .refs = 1, .n = n, .matched = copy };
	*out = i;
	return 0;
}

void class_hold(struct kinds *ks, uint32_t class)
{
	ks->classes[class].refs++;
}

void class_give(struct kinds *ks, uint32_t class)
{
	if (--ks->classes[class].refs > 0)
		return;
	free(ks->classes[class].matched);
	ks->classes[class] = (struct class){ 0 };
	chains_drop(&ks->class_chains, class);
}

/* ---- kinds ------------------------------------------------------------------ */

static void idle_add(struct kinds *ks, kind_id id)
{
	struct kind *k = &ks->slots[id];

	k->idle_previous = ks->idle_last;
	k->idle_next = KIND_NONE;
	if (ks->idle_last == KIND_NONE)
		ks->idle_first = id;
	else
		ks->slots[ks->idle_last].idle_next = id;
	ks->idle_last = id;
	ks->idle_n++;
}

static void idle_remove(struct kinds *ks, kind_id id)
{
	struct kind *k = &ks->slots[id];

	if (k->idle_previous == KIND_NONE)
		ks->idle_first = k->idle_next;
	else
		ks->slots[k->idle_previous].idle_next = k->idle_next;
	if (k->idle_next == KIND_NONE)
		ks->idle_last = k->idle_previous;
	else
		ks->slots[k->idle_next].idle_previous = k->idle_previous;
	ks->idle_n--;
}

static void kind_forget(struct kinds *ks, kind_id id)
{
	struct kind *k = &ks->slots[id];

	if (ks->gone)
		ks->gone(ks->context, id);
	idle_remove(ks, id);
	class_give(ks, k->class);
	*k = (struct kind){ .shape = ID_NONE };
	chains_drop(&ks->chains, id);
}

kind_id kind_take(struct kinds *ks, shape_id shape, uint32_t class)
{
	const uint32_t hash = chain_hash(chain_hash(7, shape), class);
	kind_id id = chains_first(&ks->chains, hash);

	while (id != CHAIN_NONE && (ks->slots[id].shape != shape || ks->slots[id].class != class))
		id = chains_next(&ks->chains, id);
	if (id == CHAIN_NONE) {
		id = chains_new(&ks->chains, hash);
		ks->slots[id] = (struct kind){ .shape = shape, .class = class };
		class_hold(ks, class);
	} else if (ks->slots[id].pods == 0) {
		idle_remove(ks, id);
	}
	ks->slots[id].pods++;
	return id;
}

void kind_give(struct kinds *ks, kind_id id)
{
	assert(ks->slots[id].pods > 0);
	if (--ks->slots[id].pods > 0)
		return;
	idle_add(ks, id);
	if (ks->idle_n > ks->idle_most)
		kind_forget(ks, ks->idle_first);
}

void kinds_forget_shape(struct kinds *ks, shape_id shape)
{
	kind_id next;

	for (kind_id id = ks->idle_first; id != KIND_NONE; id = next) {
		next = ks->slots[id].idle_next;
		if (ks->slots[id].shape == shape)
			kind_forget(ks, id);
	}
}

void kinds_forget_selector(struct kinds *ks, selector_id selector)
{
	kind_id next;

	for (kind_id id = ks->idle_first; id != KIND_NONE; id = next) {
		next = ks->slots[id].idle_next;
		if (kind_matches(ks, id, selector))
			kind_forget(ks, id);
	}
}
