/* SPDX-License-Identifier: Apache-2.0 */
/* Which selectors match which labels, when selectors or namespaces change. */
#include "core/classes/census_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Label sets that get another class. */
struct moves {
	labels_id *sets;
	uint32_t *classes; /* held */
	uint32_t n;
};

/* ---- one set ---------------------------------------------------------------------- */

/* Counts of the selectors that are in one class alone change by the pod. */
static void pod_recount(struct census *cs, const struct pod *p, const struct class *old,
                        const struct class *new)
{
	const bool exists = node_present(&cs->nodes->slots[p->node]);
	uint32_t i = 0, k = 0;

	while (i < old->n || k < new->n) {
		bool lost = k == new->n || (i < old->n && old->matched[i] < new->matched[k]);
		bool gained = i == old->n || (k < new->n &&new->matched[k] < old->matched[i]);

		if (lost)
			selector_change(&cs->selectors.slots[old->matched[i]], p->node, exists, p->leaving,
			                UINT32_MAX);
		else if (gained)
			selector_change(&cs->selectors.slots[new->matched[k]], p->node, exists, p->leaving, 1);
		i += !gained;
		k += !lost;
	}
}

/* The set's pods are of that class from now on; the hold of the class goes to the set. `seen`:
 * rules that were there before see the pods otherwise now. */
static void set_reclass(struct census *cs, labels_id labels, uint32_t class, bool seen)
{
	struct label_set *set = &cs->labels.sets[labels];
	const struct class *old = &cs->kinds.classes[set->class], *new = &cs->kinds.classes[class];

	for (pod_id id = set->first_pod; old != new &&id != ID_NONE;
	     id = cs->pods->slots[id].labels_next) {
		struct pod *p = &cs->pods->slots[id];
		kind_id kind = p->kind;

		if (p->node != ID_NONE)
			pod_recount(cs, p, old, new);
		if (p->node != ID_NONE && seen)
			nodes_touch(cs->nodes, p->node);
		p->kind = kind_take(&cs->kinds, p->shape, class);
		kind_give(&cs->kinds, kind);
		if (cs->hooks.moved)
			cs->hooks.moved(cs->hooks.context, id);
	}
	class_give(&cs->kinds, set->class);
	set->class = class;
}

static void moves_free(struct moves *m)
{
	free(m->sets);
	free(m->classes);
}

static void moves_apply(struct census *cs, struct moves *m, bool seen)
{
	for (uint32_t i = 0; i < m->n; i++)
		set_reclass(cs, m->sets[i], m->classes[i], seen);
	moves_free(m);
}

static void moves_undo(struct census *cs, struct moves *m)
{
	while (m->n > 0)
		class_give(&cs->kinds, m->classes[--m->n]);
	moves_free(m);
}

/* ---- one selector more or less ------------------------------------------------------- */

/* The class with the selector or, if it has it, without. */
static int class_flip(struct kinds *ks, uint32_t class, selector_id selector, uint32_t *out)
{
	const struct class *old = &ks->classes[class];
	selector_id *list = malloc((old->n + 1u) * sizeof(*list));
	uint32_t n = 0, i = 0;
	int rc;

	if (!list)
		return -ENOMEM;
	while (i < old->n && old->matched[i] < selector)
		list[n++] = old->matched[i++];
	if (i < old->n && old->matched[i] == selector)
		i++;
	else
		list[n++] = selector;
	while (i < old->n)
		list[n++] = old->matched[i++];
	rc = class_take(ks, list, n, out);
	free(list);
	return rc;
}

/* All sets that the selector matches. */
static int moves_flip(struct census *cs, selector_id selector, struct moves *m)
{
	uint32_t n, last = CHAIN_NONE;
	int rc = selector_sets(&cs->selectors, selector, &m->sets, &n);

	if (rc < 0)
		return rc;
	m->classes = n > 0 ? malloc(n * sizeof(*m->classes)) : NULL;
	if (n > 0 && !m->classes)
		rc = -ENOMEM;
	for (; rc == 0 && m->n < n; m->n++) {
		uint32_t class = cs->labels.sets[m->sets[m->n]].class;

		/* Mostly they are all of one class. */
		if (class == last) {
			m->classes[m->n] = m->classes[m->n - 1];
			class_hold(&cs->kinds, m->classes[m->n]);
			continue;
		}
		rc = class_flip(&cs->kinds, class, selector, &m->classes[m->n]);
		if (rc < 0)
			break;
		last = class;
	}
	if (rc < 0)
		moves_undo(cs, m);
	return rc;
}

int census_selector_take(struct census *cs, const struct selector_part *parts, uint32_t parts_n,
                         selector_id *out)
{
	struct moves moves = { 0 };
	selector_id id;
	bool fresh;
	int rc = selector_take(&cs->selectors, parts, parts_n, &id, &fresh);

	if (rc == 0 && fresh) {
		rc = moves_flip(cs, id, &moves);
		if (rc < 0) {
			selector_give(&cs->selectors, id);
			selector_drop(&cs->selectors, id);
		} else {
			moves_apply(cs, &moves, false);
		}
	}
	if (rc == 0)
		*out = id;
	return rc;
}

/* Without memory it stays, and goes another time. */
static void selector_retire(struct census *cs, selector_id id)
{
	struct moves moves = { 0 };

	if (moves_flip(cs, id, &moves) < 0)
		return;
	moves_apply(cs, &moves, false);
	kinds_forget_selector(&cs->kinds, id);
	selector_drop(&cs->selectors, id);
}

void census_tidy(struct census *cs)
{
	if (cs->selectors.idle_n <= cs->idle_most)
		return;
	for (selector_id id = 0; id < cs->selectors.chains.used; id++)
		if (cs->selectors.slots[id].body && cs->selectors.slots[id].refs == 0)
			selector_retire(cs, id);
}

/* ---- namespaces ------------------------------------------------------------------------ */

/* All sets of the namespace, by selectors as they match now. */
static int moves_namespace(struct census *cs, uint32_t name, struct moves *m)
{
	uint32_t n = 0;
	labels_id set;
	int rc = 0;

	for (set = labels_with(&cs->labels, LABEL_KEY_NAMESPACE, name); set != LABELS_NONE;
	     set = labels_with_next(&cs->labels, set, LABEL_KEY_NAMESPACE))
		n++;
	if (n == 0)
		return 0;
	m->sets = malloc(n * sizeof(*m->sets));
	m->classes = malloc(n * sizeof(*m->classes));
	if (!m->sets || !m->classes)
		rc = -ENOMEM;
	for (set = labels_with(&cs->labels, LABEL_KEY_NAMESPACE, name); rc == 0 && set != LABELS_NONE;
	     set = labels_with_next(&cs->labels, set, LABEL_KEY_NAMESPACE)) {
		selector_id *matched;
		uint32_t matched_n;

		rc = selectors_matching(&cs->selectors, set, &matched, &matched_n);
		if (rc < 0)
			break;
		rc = class_take(&cs->kinds, matched, matched_n, &m->classes[m->n]);
		free(matched);
		if (rc == 0)
			m->sets[m->n++] = set;
	}
	if (rc < 0)
		moves_undo(cs, m);
	return rc;
}

static int namespace_change(struct census *cs, struct namespace_labels now)
{
	struct moves moves = { 0 };
	int rc = namespace_reserve(&cs->labels, now.name);

	if (rc < 0)
		return rc;
	namespace_swap(&cs->labels, &now);
	if (cs->selectors.chosen_n > 0)
		rc = moves_namespace(cs, now.name, &moves);
	if (rc < 0)
		namespace_swap(&cs->labels, &now);
	else if (moves.n > 0)
		moves_apply(cs, &moves, true);
	free(now.at);
	return rc;
}

int census_namespace_set(struct census *cs, const struct namespace_record *record)
{
	const struct namespace_labels *old = namespace_find(&cs->labels, record->body->name);
	const uint32_t n = record->body->labels_n;
	struct namespace_labels now = { .name = record->body->name, .n = n };

	if (old && pod_labels_equal(old->at, old->n, record->labels, n))
		return 0;
	if (n > 0) {
		now.at = malloc(n * sizeof(*now.at));
		if (!now.at)
			return -ENOMEM;
		memcpy(now.at, record->labels, n * sizeof(*now.at));
	}
	return namespace_change(cs, now);
}

int census_namespace_drop(struct census *cs, uint32_t name)
{
	int rc;

	if (!namespace_find(&cs->labels, name))
		return 0;
	rc = namespace_change(cs, (struct namespace_labels){ .name = name });
	if (rc == 0)
		namespace_forget(&cs->labels, name);
	return rc;
}
