/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/selectors.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A selector in canonical form, so that equal ones compare equal by bytes:
 *
 *   number of parts, then for each
 *     flags
 *     namespaces: n, names
 *     namespace clauses: n, then for each op, key, n, values
 *     clauses: likewise
 *
 * If one part matches nothing, the whole is the single word MATCHES_NOTHING. */
struct selector_body {
	bool chooses; /* has a namespaceSelector */
	uint32_t words_n;
	uint32_t words[];
};

#define MATCHES_NOTHING UINT32_MAX

/* An inverted index: a selector is tested only against label sets that have one of its anchors.
 * These are the values of one In clause, the key of an Exists clause or the namespaces; a selector
 * without any of these has the anchor "any namespace". */
struct anchor {
	uint32_t key;
	uint32_t value; /* or ANCHOR_ANY */
	selector_id selector;
};

#define ANCHOR_ANY UINT32_MAX

/* Written in two passes: the first, with `at` NULL, only counts. */
struct words {
	uint32_t *at;
	uint64_t n;
};

static void word(struct words *w, uint32_t value)
{
	if (w->at)
		w->at[w->n] = value;
	w->n++;
}

static int word_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Removes duplicates from a sorted list; returns what is left. */
static uint32_t unique(uint32_t *values, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || values[kept - 1] != values[i])
			values[kept++] = values[i];
	return kept;
}

/* A list is a set: sorted, without duplicates. */
static void list_words(struct words *w, const uint32_t *values, uint32_t n)
{
	uint32_t *list = w->at ? w->at + w->n : NULL;

	word(w, n);
	for (uint32_t i = 0; i < n; i++)
		word(w, values[i]);
	if (!list || n == 0)
		return;
	qsort(list + 1, n, sizeof(*list), word_compare);
	list[0] = unique(list + 1, n);
	w->n -= n - list[0];
}

static void clauses_words(struct words *w, const struct requirement *clauses, uint32_t n,
                          const uint32_t *values)
{
	word(w, n);
	for (uint32_t i = 0; i < n; i++) {
		bool valued = clauses[i].op == REQUIRE_IN || clauses[i].op == REQUIRE_NOT_IN;

		word(w, clauses[i].op);
		word(w, clauses[i].key);
		list_words(w, valued ? values + clauses[i].values_first : NULL,
		           valued ? clauses[i].values_n : 0);
	}
}

/* True if the namespaceSelector matches a namespace without labels. */
static bool matches_bare(const struct selector_part *p)
{
	for (uint32_t i = 0; i < p->namespace_clauses_n; i++)
		if (p->namespace_clauses[i].op != REQUIRE_NOT_IN &&
		    p->namespace_clauses[i].op != REQUIRE_NOT_EXISTS)
			return false;
	return true;
}

static void part_words(struct words *w, const struct selector_part *p)
{
	uint32_t flags = p->flags & (TERM_EVERY_NAMESPACE | TERM_NAMESPACES_CHOSEN);

	if ((flags & TERM_NAMESPACES_CHOSEN) && p->incoming && matches_bare(p))
		flags |= TERM_EVERY_NAMESPACE;
	if (flags & TERM_EVERY_NAMESPACE)
		flags = TERM_EVERY_NAMESPACE;
	word(w, flags);
	if (flags & TERM_EVERY_NAMESPACE)
		word(w, 0);
	else
		list_words(w, p->namespaces, p->namespaces_n);
	clauses_words(w, p->namespace_clauses,
	              flags & TERM_NAMESPACES_CHOSEN ? p->namespace_clauses_n : 0, p->clause_values);
	clauses_words(w, p->clauses, p->clauses_n, p->clause_values);
}

static void parts_words(struct words *w, const struct selector_part *parts, uint32_t parts_n)
{
	for (uint32_t i = 0; i < parts_n; i++)
		if (parts[i].flags & TERM_MATCHES_NOTHING) {
			word(w, MATCHES_NOTHING);
			return;
		}
	word(w, parts_n);
	for (uint32_t i = 0; i < parts_n; i++)
		part_words(w, &parts[i]);
}

static bool list_has(const uint32_t *values, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i] == value)
			return true;
	return false;
}

/* A missing key has the value UINT32_MAX, which no list contains: numbers are below limits.names.
 * NotIn matches a missing key, as labels.Requirement.Matches does. */
static bool clause_holds(const uint32_t *clause, uint32_t value)
{
	bool present = value != UINT32_MAX;

	switch (clause[0]) {
	case REQUIRE_IN:
		return present && list_has(clause + 3, clause[2], value);
	case REQUIRE_NOT_IN:
		return !present || !list_has(clause + 3, clause[2], value);
	case REQUIRE_EXISTS:
		return present;
	case REQUIRE_NOT_EXISTS:
		return !present;
	default:
		return false;
	}
}

/* True if all clauses from *w on match; advances *w past them. */
static bool clauses_hold(const uint32_t **w, const struct pod_label *at, uint32_t n)
{
	uint32_t left = *(*w)++;
	bool holds = true;

	for (; left > 0; left--) {
		holds = holds && clause_holds(*w, pod_labels_find(at, n, (*w)[1]));
		*w += 3 + (*w)[2];
	}
	return holds;
}

static bool namespace_within(const uint32_t **w, const struct labels *ls, uint32_t namespace)
{
	uint32_t flags = *(*w)++, names = *(*w)++;
	bool within = (flags & TERM_EVERY_NAMESPACE) || list_has(*w, names, namespace);
	const struct namespace_labels *space = NULL;
	bool chosen;

	*w += names;
	if (flags & TERM_NAMESPACES_CHOSEN)
		space = namespace_find(ls, namespace);
	chosen = clauses_hold(w, space ? space->at : NULL, space ? space->n : 0);
	return within || ((flags & TERM_NAMESPACES_CHOSEN) && chosen);
}

bool selector_matches(const struct selectors *ss, selector_id id, labels_id labels)
{
	const struct label_set *set = &ss->labels->sets[labels];
	const uint32_t *w = ss->slots[id].body->words;
	uint32_t parts = *w++;

	if (parts == MATCHES_NOTHING)
		return false;
	for (; parts > 0; parts--)
		if (!namespace_within(&w, ss->labels, set->namespace) || !clauses_hold(&w, set->at, set->n))
			return false;
	return true;
}

struct anchoring {
	uint32_t key;
	const uint32_t *values;
	uint32_t n; /* 0: any value */
	uint32_t cost;
};

#define COST_EVERY UINT32_MAX
#define COST_EXISTS (COST_EVERY - 1)
#define COST_NAMESPACES (COST_EVERY / 2)

static void anchoring_offer(struct anchoring *best, struct anchoring one)
{
	/* The last one of equal cost: the API server appends matchLabelKeys, the most selective
	 * clauses. */
	if (one.cost <= best->cost)
		*best = one;
}

static void clauses_anchor(const uint32_t **w, struct anchoring *best)
{
	for (uint32_t left = *(*w)++; left > 0; left--) {
		const uint32_t op = (*w)[0], key = (*w)[1], n = (*w)[2];

		if (op == REQUIRE_IN && n > 0)
			anchoring_offer(best,
			                (struct anchoring){ .key = key, .values = *w + 3, .n = n, .cost = n });
		else if (op == REQUIRE_EXISTS)
			anchoring_offer(best, (struct anchoring){ .key = key, .cost = COST_EXISTS });
		*w += 3 + n;
	}
}

static void clauses_skip(const uint32_t **w)
{
	for (uint32_t left = *(*w)++; left > 0; left--)
		*w += 3 + (*w)[2];
}

/* The cheapest anchors.  *chooses: a part has a namespaceSelector. */
static struct anchoring body_anchoring(const struct selector_body *b, bool *chooses)
{
	struct anchoring best = { .key = LABEL_KEY_NAMESPACE, .cost = COST_EVERY };
	const uint32_t *w = b->words;

	*chooses = false;
	for (uint32_t parts = *w++; parts > 0; parts--) {
		uint32_t flags = *w++, names = *w++;

		if (flags & TERM_NAMESPACES_CHOSEN)
			*chooses = true;
		else if (!(flags & TERM_EVERY_NAMESPACE) && names > 0)
			anchoring_offer(&best, (struct anchoring){ .key = LABEL_KEY_NAMESPACE,
			                                           .values = w,
			                                           .n = names,
			                                           .cost = COST_NAMESPACES + names / 2 });
		w += names;
		clauses_skip(&w);
		clauses_anchor(&w, &best);
	}
	return best;
}

static uint32_t anchor_hash(uint32_t key, uint32_t value)
{
	return id_hash(id_hash(4, key), value);
}

static void anchor_add(struct selectors *ss, selector_id id, uint32_t key, uint32_t value)
{
	uint32_t i = id_table_add(&ss->anchor_ids, anchor_hash(key, value));

	ss->anchors[i] = (struct anchor){ .key = key, .value = value, .selector = id };
}

static void anchor_remove(struct selectors *ss, selector_id id, uint32_t key, uint32_t value)
{
	uint32_t i = id_table_first(&ss->anchor_ids, anchor_hash(key, value));

	while (ss->anchors[i].selector != id || ss->anchors[i].key != key ||
	       ss->anchors[i].value != value)
		i = id_table_next(&ss->anchor_ids, i);
	id_table_remove(&ss->anchor_ids, i);
}

void selectors_init(struct selectors *ss, uint32_t span, struct labels *labels)
{
	*ss = (struct selectors){ .span = span, .labels = labels };
	id_table_init(&ss->ids, 0);
	id_table_init(&ss->anchor_ids, 0);
}

void selectors_reach(struct selectors *ss, uint32_t span)
{
	for (selector_id id = 0; id < ss->ids.used; id++) {
		const struct selector *s = &ss->slots[id];

		if (!s->body)
			continue;
		node_counts_reach(s->placed, span);
		node_counts_reach(s->staying, span);
	}
	ss->span = span;
}

static void selector_forget(struct selector *s)
{
	if (s->body) {
		node_counts_free(s->placed);
		node_counts_free(s->staying);
	}
	free(s->body);
	free(s->placed);
	*s = (struct selector){ 0 };
}

void selectors_clear(struct selectors *ss)
{
	for (selector_id id = 0; id < ss->ids.used; id++)
		selector_forget(&ss->slots[id]);
	id_table_clear(&ss->ids);
	id_table_clear(&ss->anchor_ids);
	ss->idle_n = ss->chosen_n = 0;
}

void selectors_free(struct selectors *ss)
{
	selectors_clear(ss);
	id_table_free(&ss->ids);
	id_table_free(&ss->anchor_ids);
	free(ss->slots);
	free(ss->anchors);
	*ss = (struct selectors){ 0 };
}

static struct selector_body *body_new(const struct selector_part *parts, uint32_t parts_n)
{
	struct words w = { 0 };
	struct selector_body *b;

	parts_words(&w, parts, parts_n);
	b = must_alloc(sizeof(*b) + w.n * sizeof(b->words[0]));
	w = (struct words){ .at = b->words };
	parts_words(&w, parts, parts_n);
	b->words_n = (uint32_t)w.n;
	return b;
}

static uint32_t body_hash(const struct selector_body *b)
{
	uint32_t hash = 5;

	for (uint32_t i = 0; i < b->words_n; i++)
		hash = id_hash(hash, b->words[i]);
	return hash;
}

static selector_id body_find(const struct selectors *ss, const struct selector_body *b,
                             uint32_t hash)
{
	selector_id id = id_table_first(&ss->ids, hash);

	for (; id != ID_TABLE_NONE; id = id_table_next(&ss->ids, id)) {
		const struct selector_body *other = ss->slots[id].body;

		if (other->words_n == b->words_n &&
		    memcmp(other->words, b->words, b->words_n * sizeof(b->words[0])) == 0)
			break;
	}
	return id;
}

/* Takes ownership of the body. */
static selector_id selector_new(struct selectors *ss, struct selector_body *b, uint32_t hash)
{
	const bool nothing = b->words[0] == MATCHES_NOTHING;
	struct anchoring anchoring = { 0 };
	struct node_counts *counts = must_array(2, sizeof(*counts)); /* it stays where it is */
	selector_id id;

	if (!nothing)
		anchoring = body_anchoring(b, &b->chooses);
	id_table_reserve(&ss->ids, 1);
	id_table_fit(&ss->ids, &ss->slots, &ss->cap, sizeof(*ss->slots));
	id_table_reserve(&ss->anchor_ids, anchoring.n + 1);
	id_table_fit(&ss->anchor_ids, &ss->anchors, &ss->anchors_cap, sizeof(*ss->anchors));
	id = id_table_add(&ss->ids, hash);
	ss->slots[id] =
		(struct selector){ .refs = 1, .placed = counts, .staying = counts + 1, .body = b };
	ss->chosen_n += b->chooses;
	for (uint32_t i = 0; i < anchoring.n; i++)
		anchor_add(ss, id, anchoring.key, anchoring.values[i]);
	if (anchoring.n == 0 && !nothing)
		anchor_add(ss, id, anchoring.key, ANCHOR_ANY);
	return id;
}

selector_id selector_ref(struct selectors *ss, const struct selector_part *parts, uint32_t parts_n,
                         bool *fresh)
{
	struct selector_body *b = body_new(parts, parts_n);
	const uint32_t hash = body_hash(b);
	const selector_id id = body_find(ss, b, hash);

	assert(parts_n > 0);
	*fresh = id == ID_TABLE_NONE;
	if (*fresh)
		return selector_new(ss, b, hash);
	free(b);
	ss->idle_n -= ss->slots[id].refs == 0;
	ss->slots[id].refs++;
	return id;
}

void selector_unref(struct selectors *ss, selector_id id)
{
	assert(id < ss->ids.used);
	assert(ss->slots[id].refs > 0);
	ss->idle_n += --ss->slots[id].refs == 0;
}

void selector_drop(struct selectors *ss, selector_id id)
{
	struct selector *s = &ss->slots[id];
	bool chooses;
	struct anchoring anchoring;

	assert(s->refs == 0 && s->body);
	if (s->body->words[0] != MATCHES_NOTHING) {
		anchoring = body_anchoring(s->body, &chooses);
		for (uint32_t i = 0; i < anchoring.n; i++)
			anchor_remove(ss, id, anchoring.key, anchoring.values[i]);
		if (anchoring.n == 0)
			anchor_remove(ss, id, anchoring.key, ANCHOR_ANY);
	}
	ss->chosen_n -= s->body->chooses;
	ss->idle_n--;
	selector_forget(s);
	id_table_remove(&ss->ids, id);
}

struct found {
	uint32_t *at;
	uint32_t n;
	size_t cap;
};

static void found_add(struct found *f, uint32_t value)
{
	f->at = must_reach(f->at, &f->cap, f->n, 16, sizeof(*f->at));
	f->at[f->n++] = value;
}

static void anchored_find(const struct selectors *ss, labels_id labels, uint32_t key,
                          uint32_t value, struct found *f)
{
	uint32_t i = id_table_first(&ss->anchor_ids, anchor_hash(key, value));

	for (; i != ID_TABLE_NONE; i = id_table_next(&ss->anchor_ids, i)) {
		const struct anchor *a = &ss->anchors[i];

		if (a->key == key && a->value == value && selector_matches(ss, a->selector, labels))
			found_add(f, a->selector);
	}
}

selector_id *selectors_matching(const struct selectors *ss, labels_id labels, uint32_t *n)
{
	const struct label_set *set = &ss->labels->sets[labels];
	struct found f = { 0 };

	assert(labels < labels_used(ss->labels));
	for (uint32_t i = 0; ss->ids.count > 0 && i < set->n + 1; i++) {
		uint32_t key = i < set->n ? set->at[i].key : LABEL_KEY_NAMESPACE;
		uint32_t value = i < set->n ? set->at[i].value : set->namespace;

		anchored_find(ss, labels, key, value, &f);
		anchored_find(ss, labels, key, ANCHOR_ANY, &f);
	}
	if (f.n > 1)
		qsort(f.at, f.n, sizeof(*f.at), word_compare);
	*n = unique(f.at, f.n);
	return f.at;
}

/* The sets with a label. */
static void sets_with(const struct selectors *ss, selector_id id, uint32_t key, uint32_t value,
                      struct found *f)
{
	labels_id set = labels_with(ss->labels, key, value);

	for (; set != LABELS_NONE; set = labels_with_next(ss->labels, set, key))
		if (selector_matches(ss, id, set))
			found_add(f, set);
}

static void sets_all(const struct selectors *ss, selector_id id, struct found *f)
{
	for (labels_id set = 0; set < labels_used(ss->labels); set++)
		if (ss->labels->sets[set].refs > 0 && selector_matches(ss, id, set))
			found_add(f, set);
}

labels_id *selector_sets(const struct selectors *ss, selector_id id, uint32_t *n)
{
	const struct selector_body *b = ss->slots[id].body;
	struct anchoring anchoring = { 0 };
	struct found f = { 0 };
	bool chooses;

	assert(id < ss->ids.used);
	if (b->words[0] != MATCHES_NOTHING) {
		anchoring = body_anchoring(b, &chooses);
		if (anchoring.n == 0)
			sets_all(ss, id, &f);
	}
	for (uint32_t i = 0; i < anchoring.n; i++)
		sets_with(ss, id, anchoring.key, anchoring.values[i], &f);
	*n = f.n;
	return f.at;
}
