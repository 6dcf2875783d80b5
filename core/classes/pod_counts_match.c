/* SPDX-License-Identifier: Apache-2.0 */
/* Match sets of label sets when selectors or labels of namespaces change. */
#include "core/classes/pod_counts_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

/* Label sets that get another match set.  Collected before any of them changes. */
struct moves {
	labels_id *sets;
	uint32_t *match_sets; /* with a reference each */
	uint32_t n;
};

/* What another match set changes for the pods of a label set: the selectors that count them from
 * now on, and those that did.  Found once for all of its pods, of which there may be as many as
 * selectors. */
struct difference {
	const selector_id *gained, *lost;
	uint32_t gained_n, lost_n;
};

static void pod_recount(struct pod_counts *cs, const struct pod *p, const struct difference *d)
{
	const bool exists = node_present(&cs->nodes->slots[p->node]);

	for (uint32_t i = 0; i < d->gained_n; i++)
		selector_change(&cs->selectors, d->gained[i], p->node, exists, p->leaving, 1);
	for (uint32_t i = 0; i < d->lost_n; i++)
		selector_change(&cs->selectors, d->lost[i], p->node, exists, p->leaving, UINT32_MAX);
}

/* Gives the pods of a label set another match set, whose reference the label set takes over.
 * `seen`: the counts of selectors that were there before change, so that views of the node have to
 * follow. */
static void set_rematch(struct pod_counts *cs, labels_id labels, uint32_t match_set,
                        const struct difference *d, bool seen)
{
	struct label_set *set = &cs->labels.sets[labels];
	const bool differs = set->match_set != match_set;

	assert(labels < labels_used(&cs->labels));
	assert(match_set < cs->pod_classes.match_set_ids.used);
	for (pod_id id = set->first_pod; differs && id != ID_NONE;
	     id = cs->pods->slots[id].labels_next) {
		struct pod *p = &cs->pods->slots[id];
		class_id class = p->class;

		if (p->node != ID_NONE)
			pod_recount(cs, p, d);
		if (p->node != ID_NONE && seen)
			nodes_touch(cs->nodes, p->node);
		p->class = class_ref(&cs->pod_classes, p->shape, match_set);
		class_unref(&cs->pod_classes, class);
		if (cs->hooks.moved)
			cs->hooks.moved(cs->hooks.context, id);
	}
	match_set_unref(&cs->pod_classes, set->match_set);
	set->match_set = match_set;
}

static void moves_free(struct moves *m)
{
	free(m->sets);
	free(m->match_sets);
}

/* The selectors of one list that the other one does not have, into `out`; returns how many. */
static uint32_t without(const struct match_set *of, const struct match_set *other, selector_id *out)
{
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < of->n; i++) {
		while (k < other->n && other->matched[k] < of->matched[i])
			k++;
		if (k == other->n || other->matched[k] != of->matched[i])
			out[n++] = of->matched[i];
	}
	return n;
}

static void moves_apply(struct pod_counts *cs, struct moves *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const struct match_set *sets = cs->pod_classes.match_sets,
							   *old = &sets[cs->labels.sets[m->sets[i]].match_set],
							   *new = &sets[m->match_sets[i]];
		selector_id *gained = must_array(new->n, sizeof(*gained)),
					*lost = must_array(old->n, sizeof(*lost));
		const struct difference d = { gained, lost, without(new, old, gained),
			                          without(old, new, lost) };

		set_rematch(cs, m->sets[i], m->match_sets[i], &d, true);
		free(gained);
		free(lost);
	}
	moves_free(m);
}

/* The match set with the selector added or, if it has it, removed. */
static uint32_t match_set_flip(struct pod_classes *pc, uint32_t match_set, selector_id selector)
{
	const struct match_set *old = &pc->match_sets[match_set];
	selector_id *list = must_array(old->n + 1u, sizeof(*list));
	uint32_t n = 0, i = 0, flipped;

	while (i < old->n && old->matched[i] < selector)
		list[n++] = old->matched[i++];
	if (i < old->n && old->matched[i] == selector)
		i++;
	else
		list[n++] = selector;
	while (i < old->n)
		list[n++] = old->matched[i++];
	flipped = match_set_ref(pc, list, n);
	free(list);
	return flipped;
}

/* Adds the selector to the match sets of all label sets that it matches, or removes it (`adds`).
 * Most label sets have a match set that others have too: each is made once. */
static void selector_flip(struct pod_counts *cs, selector_id selector, bool adds)
{
	const struct difference d = { &selector, &selector, adds, !adds };
	uint32_t *made = must_array(cs->pod_classes.match_set_ids.used, sizeof(*made)); /* +1; 0: not */
	struct moves m = { 0 };
	uint32_t n;

	m.sets = selector_sets(&cs->selectors, selector, &n);
	m.match_sets = must_array(n, sizeof(*m.match_sets));
	for (; m.n < n; m.n++) {
		const uint32_t old = cs->labels.sets[m.sets[m.n]].match_set;

		assert(match_set_has(&cs->pod_classes.match_sets[old], selector) != adds);
		if (made[old] > 0)
			match_set_ref_id(&cs->pod_classes, made[old] - 1);
		else
			made[old] = match_set_flip(&cs->pod_classes, old, selector) + 1;
		m.match_sets[m.n] = made[old] - 1;
	}
	free(made);
	for (uint32_t i = 0; i < m.n; i++)
		set_rematch(cs, m.sets[i], m.match_sets[i], &d, false);
	moves_free(&m);
}

selector_id pod_counts_selector_ref(struct pod_counts *cs, const struct selector_part *parts,
                                    uint32_t parts_n)
{
	bool fresh;
	const selector_id id = selector_ref(&cs->selectors, parts, parts_n, &fresh);

	if (fresh)
		selector_flip(cs, id, true);
	return id;
}

static void selector_retire(struct pod_counts *cs, selector_id id)
{
	selector_flip(cs, id, false);
	pod_classes_forget_selector(&cs->pod_classes, id);
	selector_drop(&cs->selectors, id);
}

void pod_counts_tidy(struct pod_counts *cs)
{
	if (cs->selectors.idle_n <= cs->idle_most)
		return;
	for (selector_id id = 0; id < cs->selectors.ids.used; id++)
		if (cs->selectors.slots[id].body && cs->selectors.slots[id].refs == 0)
			selector_retire(cs, id);
}

/* Evaluates the selectors again for all label sets of the namespace. */
static void namespace_rematch(struct pod_counts *cs, uint32_t name)
{
	struct moves m = { 0 };
	uint32_t n = 0, matched_n;
	labels_id set;

	for (set = labels_with(&cs->labels, LABEL_KEY_NAMESPACE, name); set != LABELS_NONE;
	     set = labels_with_next(&cs->labels, set, LABEL_KEY_NAMESPACE))
		n++;
	m.sets = must_array(n, sizeof(*m.sets));
	m.match_sets = must_array(n, sizeof(*m.match_sets));
	for (set = labels_with(&cs->labels, LABEL_KEY_NAMESPACE, name); set != LABELS_NONE;
	     set = labels_with_next(&cs->labels, set, LABEL_KEY_NAMESPACE)) {
		selector_id *matched = selectors_matching(&cs->selectors, set, &matched_n);

		m.sets[m.n] = set;
		m.match_sets[m.n++] = match_set_ref(&cs->pod_classes, matched, matched_n);
		free(matched);
	}
	moves_apply(cs, &m);
}

static void namespace_change(struct pod_counts *cs, uint32_t name, const struct pod_label *at,
                             uint32_t n)
{
	namespace_labels_set(&cs->labels, name, at, n);
	if (cs->selectors.chosen_n > 0)
		namespace_rematch(cs, name);
}

void pod_counts_namespace_set(struct pod_counts *cs, const struct namespace_record *record)
{
	const struct event_namespace *e = record->body;
	const struct namespace_labels *old = namespace_find(&cs->labels, e->name);

	if (!old || !pod_labels_equal(old->at, old->n, record->labels, e->labels_n))
		namespace_change(cs, e->name, record->labels, e->labels_n);
}

void pod_counts_namespace_drop(struct pod_counts *cs, uint32_t name)
{
	if (!namespace_find(&cs->labels, name))
		return;
	namespace_change(cs, name, NULL, 0);
	namespace_labels_drop(&cs->labels, name);
}
