/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/selectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The parts as words:
 *
 *   parts: n, then each
 *     flags
 *     namespaces: n, names
 *     namespace clauses: n, then each op, key, n, values
 *     clauses: likewise
 *
 * A part that matches nothing makes the whole match nothing: n is MATCHES_NOTHING then. */
struct selector_body {
	bool chooses;
	uint32_t words_n;
	uint32_t words[];
};

#define MATCHES_NOTHING UINT32_MAX

/* A selector is looked at for those sets alone that have one of its anchors: the values of
 * one In clause, the key of an Exists clause, the namespaces; else every set. */
struct anchor {
	uint32_t key;
	uint32_t value; /* ANCHOR_ANY: whatever the value */
	selector_id selector;
};

#define ANCHOR_ANY UINT32_MAX

/* ---- words ------------------------------------------------------------------ */

/* First counted without memory (at is NULL), then written. */
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

/* How many are left of a sorted list when each is there once. */
static uint32_t unique(uint32_t *values, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || values[kept - 1] != values[i])
			values[kept++] = values[i];
	return kept;
}

/* A list is a set: sorted, so that equal ones look equal. */
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

/* Would the namespaceSelector match a namespace without labels? */
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

/* ---- matching --------------------------------------------------------------- */

static bool list_has(const uint32_t *values, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i] == value)
			return true;
	return false;
}

/* A key that is not there has the value UINT32_MAX, which no list has: a number of the
 * frontend's table is below its size. */
static bool clause_holds(const uint32_t *clause, uint32_t value)
{
	bool there = value != UINT32_MAX;

	switch (clause[0]) {
	case REQUIRE_IN:
		return there && list_has(clause + 3, clause[2], value);
	case REQUIRE_NOT_IN:
		return !there || !list_has(clause + 3, clause[2], value);
	case REQUIRE_EXISTS:
		return there;
	case REQUIRE_NOT_EXISTS:
		return !there;
	default:
		return false;
	}
}

/* Do the clauses from *w on hold?  *w goes behind them. */
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

/* ---- anchors ------------------------------------------------------------------ */

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
	/* The later of equals: what the API server adds for matchLabelKeys comes last and says most. */
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

/* Also says whether labels of namespaces are asked for. */
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
	return chain_hash(chain_hash(4, key), value);
}

static void anchor_add(struct selectors *ss, selector_id id, uint32_t key, uint32_t value)
{
	uint32_t i = chains_new(&ss->anchor_chains, anchor_hash(key, value));

	ss->anchors[i] = (struct anchor){ .key = key, .value = value, .selector = id };
}

static void anchor_remove(struct selectors *ss, selector_id id, uint32_t key, uint32_t value)
{
	uint32_t i = chains_first(&ss->anchor_chains, anchor_hash(key, value));

	while (ss->anchors[i].selector != id || ss->anchors[i].key != key ||
	       ss->anchors[i].value != value)
		i = chains_next(&ss->anchor_chains, i);
	chains_drop(&ss->anchor_chains, i);
}

/* ---- the table ------------------------------------------------------------------ */

int selectors_init(struct selectors *ss, const struct limits *limits, struct labels *labels)
{
	*ss = (struct selectors){ .nodes = limits->nodes, .labels = labels };
	if (chains_init(&ss->chains, 0) == 0 && chains_init(&ss->anchor_chains, 0) == 0)
		return 0;
	selectors_free(ss);
	return -ENOMEM;
}

static void selector_forget(struct selector *s)
{
	free(s->body);
	free(s->placed);
	*s = (struct selector){ 0 };
}

void selectors_clear(struct selectors *ss)
{
	for (selector_id id = 0; id < ss->chains.used; id++)
		selector_forget(&ss->slots[id]);
	chains_clear(&ss->chains);
	chains_clear(&ss->anchor_chains);
	ss->idle_n = ss->chosen_n = 0;
}

void selectors_free(struct selectors *ss)
{
	selectors_clear(ss);
	chains_free(&ss->chains);
	chains_free(&ss->anchor_chains);
	free(ss->slots);
	free(ss->anchors);
	*ss = (struct selectors){ 0 };
}

static struct selector_body *body_new(const struct selector_part *parts, uint32_t parts_n)
{
	struct words w = { 0 };
	struct selector_body *b;

	parts_words(&w, parts, parts_n);
	b = malloc(sizeof(*b) + w.n * sizeof(b->words[0]));
	if (!b)
		return NULL;
	w = (struct words){ .at = b->words };
	parts_words(&w, parts, parts_n);
	*b = (struct selector_body){ .words_n = (uint32_t)w.n };
	return b;
}

static uint32_t body_hash(const struct selector_body *b)
{
	uint32_t hash = 5;

	for (uint32_t i = 0; i < b->words_n; i++)
		hash = chain_hash(hash, b->words[i]);
	return hash;
}

static selector_id body_find(const struct selectors *ss, const struct selector_body *b,
                             uint32_t hash)
{
	selector_id id = chains_first(&ss->chains, hash);

	for (; id != CHAIN_NONE; id = chains_next(&ss->chains, id)) {
		const struct selector_body *other = ss->slots[id].body;

		if (other->words_n == b->words_n &&
		    memcmp(other->words, b->words, b->words_n * sizeof(b->words[0])) == 0)
			break;
	}
	return id;
}

/* Takes the body over, unless it fails. */
static int selector_new(struct selectors *ss, struct selector_body *b, uint32_t hash,
                        selector_id *out)
{
	const bool nothing = b->words[0] == MATCHES_NOTHING;
	struct anchoring anchoring = { 0 };
	uint32_t *counts;
	selector_id id;

	if (!nothing)
		anchoring = body_anchoring(b, &b->chooses);
	if (chains_reserve(&ss->chains, 1) < 0 ||
	    chains_fit(&ss->chains, &ss->slots, &ss->room, sizeof(*ss->slots)) < 0 ||
	    chains_reserve(&ss->anchor_chains, anchoring.n + 1) < 0 ||
	    chains_fit(&ss->anchor_chains, &ss->anchors, &ss->anchors_room, sizeof(*ss->anchors)) < 0)
		return -ENOMEM;
	counts = calloc(2 * (size_t)ss->nodes, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	id = chains_new(&ss->chains, hash);
	ss->slots[id] =
		(struct selector){ .refs = 1, .placed = counts, .staying = counts + ss->nodes, .body = b };
	ss->chosen_n += b->chooses;
	for (uint32_t i = 0; i < anchoring.n; i++)
		anchor_add(ss, id, anchoring.key, anchoring.values[i]);
	if (anchoring.n == 0 && !nothing)
		anchor_add(ss, id, anchoring.key, ANCHOR_ANY);
	*out = id;
	return 0;
}

int selector_take(struct selectors *ss, const struct selector_part *parts, uint32_t parts_n,
                  selector_id *out, bool *fresh)
{
	struct selector_body *b = body_new(parts, parts_n);
	uint32_t hash;
	selector_id id;
	int rc = 0;

	if (!b)
		return -ENOMEM;
	hash = body_hash(b);
	id = body_find(ss, b, hash);
	*fresh = id == CHAIN_NONE;
	if (*fresh)
		rc = selector_new(ss, b, hash, out);
	if (!*fresh || rc < 0)
		free(b);
	if (*fresh)
		return rc;
	ss->idle_n -= ss->slots[id].refs == 0;
	ss->slots[id].refs++;
	*out = id;
	return 0;
}

void selector_give(struct selectors *ss, selector_id id)
{
	assert(ss->slots[id].refs > 0);
	ss->idle_n += --ss->slots[id].refs == 0;
}

void selector_drop(struct selectors *ss, selector_id id)
{
	struct selector *s = &ss->slots[id];
	bool chooses;
	struct anchoring anchoring;

	assert(s->refs == 0);
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
	chains_drop(&ss->chains, id);
}

/* ---- who matches whom -------------------------------------------------------------- */

struct found {
	uint32_t *at;
	uint32_t n, room;
};

static int found_add(struct found *f, uint32_t value)
{
	if (f->n == f->room) {
		uint32_t room = f->room > 0 ? f->room * 2 : 16;
		uint32_t *grown = realloc(f->at, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		f->at = grown;
		f->room = room;
	}
	f->at[f->n++] = value;
	return 0;
}

static int anchored_find(const struct selectors *ss, labels_id labels, uint32_t key, uint32_t value,
                         struct found *f)
{
	uint32_t i = chains_first(&ss->anchor_chains, anchor_hash(key, value));

	for (; i != CHAIN_NONE; i = chains_next(&ss->anchor_chains, i)) {
		const struct anchor *a = &ss->anchors[i];

		if (a->key == key && a->value == value && selector_matches(ss, a->selector, labels) &&
		    found_add(f, a->selector) < 0)
			return -ENOMEM;
	}
	return 0;
}

int selectors_matching(const struct selectors *ss, labels_id labels, selector_id **list,
                       uint32_t *n)
{
	const struct label_set *set = &ss->labels->sets[labels];
	struct found f = { 0 };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && ss->chains.count > 0 && i < set->n + 1; i++) {
		uint32_t key = i < set->n ? set->at[i].key : LABEL_KEY_NAMESPACE;
		uint32_t value = i < set->n ? set->at[i].value : set->namespace;

		rc = anchored_find(ss, labels, key, value, &f);
		if (rc == 0)
			rc = anchored_find(ss, labels, key, ANCHOR_ANY, &f);
	}
	if (rc < 0) {
		free(f.at);
		return rc;
	}
	if (f.n > 1)
		qsort(f.at, f.n, sizeof(*f.at), word_compare);
	*list = f.at;
	*n = unique(f.at, f.n);
	return 0;
}

/* From a list of sets that have the label. */
static int sets_with(const struct selectors *ss, selector_id id, uint32_t key, uint32_t value,
                     struct found *f)
{
	labels_id set = labels_with(ss->labels, key, value);

	for (; set != LABELS_NONE; set = labels_with_next(ss->labels, set, key))
		if (selector_matches(ss, id, set) && found_add(f, set) < 0)
			return -ENOMEM;
	return 0;
}

static int sets_all(const struct selectors *ss, selector_id id, struct found *f)
{
	for (labels_id set = 0; set < labels_used(ss->labels); set++)
		if (ss->labels->sets[set].refs > 0 && selector_matches(ss, id, set) &&
		    found_add(f, set) < 0)
			return -ENOMEM;
	return 0;
}

int selector_sets(const struct selectors *ss, selector_id id, labels_id **list, uint32_t *n)
{
	const struct selector_body *b = ss->slots[id].body;
	struct anchoring anchoring = { 0 };
	struct found f = { 0 };
	bool chooses;
	int rc = 0;

	if (b->words[0] != MATCHES_NOTHING) {
		anchoring = body_anchoring(b, &chooses);
		rc = anchoring.n == 0 ? sets_all(ss, id, &f) : 0;
	}
	for (uint32_t i = 0; rc == 0 && i < anchoring.n; i++)
		rc = sets_with(ss, id, anchoring.key, anchoring.values[i], &f);
	if (rc < 0) {
		free(f.at);
		return rc;
	}
	*list = f.at;
	*n = f.n;
	return 0;
}
