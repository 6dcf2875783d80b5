/* SPDX-License-Identifier: Apache-2.0 */
/* The picture: the nodes as they will be when all promises are kept.  Pods leave at their known
 * ends, and at its time each promise takes the first nodes by id that have the room.
 *
 * A picture that holds is a proof: each promise has nodes from its time on for its whole length.
 * One that doesn't is none, where nodes differ; on nodes that are alike, each with room for one
 * member, it is exact (what starts first may take any free node: interval graphs). */
#include "core/timeline/timeline_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* How many pods of the shape the node takes, at most `most`. */
static uint32_t count(const struct timeline *t, node_id node, const struct shape *s, uint32_t most)
{
	const int64_t *free = &t->free[(size_t)node * t->nodes->stride];
	uint32_t least = most;

	if (!shape_allows(s, node))
		return 0;
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++)
		least = s->requests[i].resource < t->nodes->stride
		            ? amount_count(free[s->requests[i].resource], s->requests[i].value,
		                           s->requests[i].inverse, least)
		            : 0;
	return least;
}

/* Members of the gang that picture_next() asks for which fit on the node now. */
static void fits_follow(struct timeline *t, node_id node)
{
	const struct timeline_ask *ask = t->fits_of;

	for (uint32_t k = 0; k < ask->wants_n; k++) {
		uint32_t *fits = &t->fits[(size_t)node * ask->wants_n + k];

		t->fits_sum[k] -= *fits;
		*fits = count(t, node, &t->shapes->slots[ask->wants[k].shape], ask->wants[k].members);
		t->fits_sum[k] += *fits;
	}
}

static void change(struct timeline *t, node_id node, const struct shape *s, int64_t times)
{
	int64_t *free = &t->free[(size_t)node * t->nodes->stride];

	for (uint32_t i = 0; times > 0 && i < t->roomy_n; i++)
		t->roomy[i].nodes[node / 64] |= UINT64_C(1) << node % 64;
	for (uint32_t i = 0; i < s->sums_n; i++)
		free[s->requests[i].resource] =
			wide_cut(free[s->requests[i].resource] + (wide)times * s->requests[i].value);
	if (t->fits_of)
		fits_follow(t, node);
}

static void place_put(struct timeline *t, node_id node, shape_id shape, uint32_t members)
{
	if (t->places_n == t->places_room) {
		t->places_room = t->places_room * 2 + 256;
		t->places = must_grow(t->places, t->places_room * sizeof(*t->places));
	}
	t->places[t->places_n++] =
		(struct timeline_place){ .node = node, .shape = shape, .members = members };
}

static void places_change(struct timeline *t, uint32_t first, uint32_t n, int64_t sign)
{
	for (uint32_t i = first; i < first + n; i++)
		change(t, t->places[i].node, &t->shapes->slots[t->places[i].shape],
		       sign * t->places[i].members);
}

/* The words of nodes on which a pod of the shape may fit; NULL: not known. */
static uint64_t *roomy_of(struct timeline *t, const struct shape *s)
{
	const uint32_t words = t->nodes->used / 64 + 1u;
	uint32_t i = 0;

	while (i < t->roomy_n && t->roomy[i].shape != s)
		i++;
	if (i == ROOMY_SHAPES)
		return NULL;
	if (i < t->roomy_n)
		return t->roomy[i].nodes;
	if (i == 0 && t->roomy_room < words) {
		t->roomy_room = words;
		for (uint32_t k = 0; k < ROOMY_SHAPES; k++)
			t->roomy[k].nodes = must_grow(t->roomy[k].nodes, words * sizeof(uint64_t));
	}
	t->roomy[t->roomy_n++].shape = s;
	memset(t->roomy[i].nodes, 0xff, words * sizeof(uint64_t));
	return t->roomy[i].nodes;
}

/* The next node from `node` on that may have room; nodes.used: none. */
static node_id next_roomy(const struct timeline *t, const uint64_t *roomy, node_id node)
{
	const uint32_t end = t->nodes->used;

	while (roomy && node < end) {
		const uint64_t word = roomy[node / 64] >> node % 64;

		if (word != 0) {
			node += (node_id)__builtin_ctzll(word);
			break;
		}
		node = (node / 64 + 1) * 64;
	}
	return node < end ? node : end;
}

/* Members of the shape take the first nodes that have room; how many are left. */
static uint32_t place_shape(struct timeline *t, shape_id shape, uint32_t left)
{
	const struct shape *s = &t->shapes->slots[shape];
	uint64_t *roomy = roomy_of(t, s);

	budget_spend(t->budget, roomy ? t->nodes->used / 64 + left : t->nodes->used);
	for (node_id node = 0; left > 0; node++) {
		uint32_t n;

		node = next_roomy(t, roomy, node);
		if (node == t->nodes->used)
			break;
		n = count(t, node, s, left);
		if (n == 0) {
			if (roomy)
				roomy[node / 64] &= ~(UINT64_C(1) << node % 64);
			continue;
		}
		change(t, node, s, -(int64_t)n);
		place_put(t, node, shape, n);
		left -= n;
	}
	return left;
}

/* All members take the first nodes that have room, or none does. */
static bool place(struct timeline *t, const struct timeline_ask *ask)
{
	const uint32_t first = t->places_n;

	for (uint32_t k = 0; k < ask->wants_n; k++) {
		if (place_shape(t, ask->wants[k].shape, ask->wants[k].members) == 0)
			continue;
		places_change(t, first, t->places_n - first, 1);
		t->places_n = first;
		return false;
	}
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->ask->gang < y->ask->gang ? -1 : x->ask->gang > y->ask->gang;
}

/* The starts of the picture by time; their number. */
static uint32_t starts_find(struct timeline *t, const struct picture *p)
{
	uint32_t n = 0;

	if (t->starts_room < t->promises_n + 1) {
		t->starts_room = t->promises_n * 2 + 64;
		t->starts = must_grow(t->starts, t->starts_room * sizeof(*t->starts));
	}
	if (t->standing_room < t->starts_room) {
		t->standing_room = t->starts_room;
		t->standing = must_grow(t->standing, t->standing_room * sizeof(*t->standing));
	}
	for (uint32_t i = 0; i < t->promises_n; i++) {
		const struct promise *q = &t->promises[i];

		if (i == p->without || !promise_in_pictures(q) || ask_rank(&q->ask) < p->rank)
			continue;
		t->starts[n++] = (struct start){ .ask = &q->ask,
			                             .at_ns = q->at_ns > p->now_ns ? q->at_ns : p->now_ns,
			                             .promise = i };
	}
	if (p->ask)
		t->starts[n++] = (struct start){ .ask = p->ask, .at_ns = p->at_ns, .promise = ID_NONE };
	if (n > 1)
		qsort(t->starts, n, sizeof(*t->starts), by_time);
	return n;
}

static void free_copy(struct timeline *t)
{
	const size_t n = (size_t)t->nodes->used * t->nodes->stride;

	if (n > t->free_room) {
		t->free_room = n;
		t->free = must_grow(t->free, n * sizeof(*t->free));
	}
	if (n > 0)
		memcpy(t->free, t->nodes->free, n * sizeof(*t->free));
	t->roomy_n = 0;
	budget_spend(t->budget, t->nodes->used);
}

static const struct shape *more_shape(const struct timeline *t, const struct picture *p, uint32_t i)
{
	return p->more_shape ? p->more_shape : &t->shapes->slots[p->more[i].shape];
}

/* Brings the picture to the time of a start: what has ended by then is free. */
struct sweep {
	const struct picture *p;
	uint32_t end, standing;
	uint64_t more_end_ns;
};

static void sweep_to(struct timeline *t, struct sweep *w, uint64_t at_ns)
{
	const uint32_t first = w->end;

	for (; w->end < t->ends_n && t->ends[w->end].end_ns <= at_ns; w->end++)
		change(t, t->ends[w->end].node, &t->shapes->slots[t->ends[w->end].shape], 1);
	budget_spend(t->budget, w->end - first);
	for (uint32_t i = 0; w->more_end_ns <= at_ns && i < w->p->more_n; i++)
		change(t, w->p->more[i].node, more_shape(t, w->p, i), w->p->more[i].members);
	w->more_end_ns = w->more_end_ns <= at_ns ? TIME_NEVER : w->more_end_ns;
	for (uint32_t i = 0; i < w->standing; i++)
		if (t->standing[i].end_ns <= at_ns) {
			places_change(t, t->standing[i].first, t->standing[i].n, 1);
			t->standing[i--] = t->standing[--w->standing];
		}
}

/* The places of the promise, as kept; false: they are not free. */
static bool place_kept(struct timeline *t, const struct promise *p)
{
	for (uint32_t i = 0; i < p->places_n; i++) {
		const struct timeline_place *at = &p->places[i];
		const struct shape *s = &t->shapes->slots[at->shape];

		if (at->node >= t->nodes->used || count(t, at->node, s, at->members) < at->members)
			return false;
		change(t, at->node, s, -(int64_t)at->members);
		place_put(t, at->node, at->shape, at->members);
	}
	return p->places_n > 0;
}

/* False: it has no nodes at its time. */
static bool start_place(struct timeline *t, struct sweep *w, struct start *s, bool kept)
{
	sweep_to(t, w, s->at_ns);
	s->first = t->places_n;
	if (!(kept ? place_kept(t, &t->promises[s->promise]) : place(t, s->ask)))
		return false;
	s->n = t->places_n - s->first;
	t->standing[w->standing].end_ns = ask_end(t, s->ask, s->at_ns);
	t->standing[w->standing].first = s->first;
	t->standing[w->standing++].n = s->n;
	return true;
}

static bool holds(struct timeline *t, const struct picture *p, bool kept)
{
	struct sweep w = { .p = p, .more_end_ns = p->more_n > 0 ? p->more_end_ns : TIME_NEVER };

	t->starts_n = starts_find(t, p);
	free_copy(t);
	for (uint32_t i = 0; p->more_free && i < p->more_n; i++)
		change(t, p->more[i].node, more_shape(t, p, i), -(int64_t)p->more[i].members);
	t->places_n = t->asked_n = 0;
	for (uint32_t i = 0; i < t->starts_n; i++) {
		struct start *s = &t->starts[i];

		if (!start_place(t, &w, s, kept)) {
			t->late = kept ? t->late : s->ask->gang;
			return false;
		}
		if (s->promise == ID_NONE) {
			t->asked_first = s->first;
			t->asked_n = s->n;
		}
	}
	return true;
}

bool picture_holds(struct timeline *t, const struct picture *p)
{
	return holds(t, p, false);
}

bool picture_kept_holds(struct timeline *t, const struct picture *p)
{
	assert(!p->ask);
	return holds(t, p, true);
}

static void fits_begin(struct timeline *t, const struct timeline_ask *ask)
{
	const size_t n = (size_t)t->nodes->used * ask->wants_n;

	if (t->fits_room < n) {
		t->fits_room = n;
		t->fits = must_grow(t->fits, n * sizeof(*t->fits));
	}
	memset(t->fits, 0, n * sizeof(*t->fits));
	memset(t->fits_sum, 0, sizeof(t->fits_sum));
	t->fits_of = ask;
	for (node_id node = 0; node < t->nodes->used; node++)
		fits_follow(t, node);
	budget_spend(t->budget, n);
}

static bool fits_suffice(const struct timeline *t)
{
	for (uint32_t k = 0; k < t->fits_of->wants_n; k++)
		if (t->fits_sum[k] < t->fits_of->wants[k].members)
			return false;
	return true;
}

/* When the sweep next comes to an end or a start. */
static uint64_t sweep_next_ns(const struct timeline *t, const struct sweep *w, uint32_t start)
{
	uint64_t at_ns = w->end < t->ends_n ? t->ends[w->end].end_ns : TIME_NEVER;

	if (start < t->starts_n && t->starts[start].at_ns < at_ns)
		at_ns = t->starts[start].at_ns;
	for (uint32_t i = 0; i < w->standing; i++)
		if (t->standing[i].end_ns < at_ns)
			at_ns = t->standing[i].end_ns;
	return at_ns;
}

/* Places the starts from *i on that come before one of the gang at that time; false: one has no
 * nodes. */
static bool starts_place(struct timeline *t, struct sweep *w, uint32_t *i, uint64_t at_ns,
                         uint32_t gang)
{
	for (; *i < t->starts_n; ++*i) {
		struct start *s = &t->starts[*i];

		if (s->at_ns > at_ns || (s->at_ns == at_ns && s->ask->gang >= gang))
			return true;
		if (!start_place(t, w, s, false))
			return false;
	}
	return true;
}

uint64_t picture_next(struct timeline *t, const struct picture *p, uint64_t from_ns,
                      uint64_t until_ns)
{
	struct picture others = *p;
	struct sweep w = { .p = &others, .more_end_ns = TIME_NEVER };
	uint64_t at_ns = from_ns;
	bool placed = true;

	assert(p->ask && p->more_n == 0);
	others.ask = NULL;
	t->starts_n = starts_find(t, &others);
	free_copy(t);
	t->places_n = t->asked_n = 0;
	fits_begin(t, p->ask);
	for (uint32_t i = 0; at_ns < until_ns; at_ns = sweep_next_ns(t, &w, i)) {
		placed = starts_place(t, &w, &i, at_ns, p->ask->gang);
		if (!placed)
			break;
		sweep_to(t, &w, at_ns);
		if (fits_suffice(t))
			break;
		placed = starts_place(t, &w, &i, at_ns, ID_NONE);
		if (!placed)
			break;
	}
	t->fits_of = NULL;
	return placed && at_ns < until_ns ? at_ns : TIME_NEVER;
}

void picture_keep(struct timeline *t, uint32_t asked)
{
	for (uint32_t i = 0; i < t->starts_n; i++) {
		const struct start *s = &t->starts[i];
		const uint32_t index = s->promise == ID_NONE ? asked : s->promise;
		struct promise *p;

		if (index == ID_NONE)
			continue;
		p = &t->promises[index];
		if (p->places_room < s->n) {
			p->places_room = s->n;
			p->places = must_grow(p->places, s->n * sizeof(*p->places));
		}
		p->places_n = s->n;
		memcpy(p->places, &t->places[s->first], s->n * sizeof(*p->places));
	}
}
