/* SPDX-License-Identifier: Apache-2.0 */
#include "core/timeline/timeline_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint32_t promises_n(const struct timeline *t)
{
	return t->promises_n;
}

const struct promise *promise_at(const struct timeline *t, uint32_t i)
{
	assert(i < t->promises_n);
	return &t->promises[i];
}

const struct promise *promise_of(const struct timeline *t, uint32_t gang)
{
	return t->slots[gang] > 0 ? &t->promises[t->slots[gang] - 1] : NULL;
}

const struct timeline_counts *promises_counts(const struct timeline *t)
{
	return &t->counts;
}

static bool ask_same(const struct timeline_ask *a, const struct timeline_ask *b)
{
	if (a->wants_n != b->wants_n || a->length_ns != b->length_ns || a->priority != b->priority)
		return false;
	for (uint32_t i = 0; i < a->wants_n; i++)
		if (a->wants[i].shape != b->wants[i].shape || a->wants[i].members != b->wants[i].members)
			return false;
	return true;
}

static bool some_lower(const struct timeline *t, int32_t priority)
{
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (t->promises[i].ask.priority < priority)
			return true;
	return false;
}

/* The priority from which on promises bind a gang of `priority`: the same for all gangs where it
 * makes no difference, so that one profile serves them. */
static int32_t binding(const struct timeline *t, int32_t priority)
{
	return some_lower(t, priority) ? priority : INT32_MIN;
}

/* The earliest start at or after `from_ns` with all binding promises but index `without` fixed;
 * before `until_ns`, else TIME_NEVER. */
static uint64_t earliest(struct timeline *t, const struct timeline_ask *ask, uint32_t without,
                         uint64_t from_ns, uint64_t until_ns, uint64_t now_ns)
{
	struct picture p = {
		.priority = binding(t, ask->priority), .without = without, .ask = ask, .now_ns = now_ns
	};
	uint32_t i = 0;

	budget_spend(t->budget, t->profile.n);
	for (uint32_t tries = 0; tries < PICTURES_MOST;) {
		p.at_ns = profile_find(t, ask, &i);
		if (p.at_ns == TIME_NEVER || p.at_ns >= until_ns)
			return TIME_NEVER;
		if (p.at_ns < from_ns)
			continue;
		if (picture_holds(t, &p))
			return p.at_ns;
		tries++;
	}
	return TIME_NEVER;
}

static uint64_t begins(const struct promise *p, uint64_t now_ns)
{
	return p->at_ns > now_ns ? p->at_ns : now_ns;
}

/* Takes the promise out of the profile, or puts it back. */
static void profile_promise(struct timeline *t, const struct promise *p, int sign, uint64_t now_ns)
{
	const uint64_t from_ns = begins(p, now_ns);

	profile_change(t, &p->ask, from_ns, ask_end(t, &p->ask, from_ns), sign);
}

static void untold(struct timeline *t, struct promise *p)
{
	t->untold += p->told;
	p->told = false;
}

/* Tries one promise earlier, with those of its priority and above fixed.  True if one of lower
 * priority may have lost its room by that. */
static bool improve(struct timeline *t, uint32_t index, uint64_t now_ns)
{
	struct promise *p = &t->promises[index];
	const int32_t priority = binding(t, p->ask.priority);
	uint64_t at_ns;

	if (p->at_ns <= now_ns || !promise_in_pictures(p))
		return false;
	profile_make(t, priority, now_ns);
	profile_promise(t, p, 1, now_ns);
	at_ns = earliest(t, &p->ask, index, now_ns, p->at_ns, now_ns);
	if (at_ns != TIME_NEVER) {
		picture_keep(t, index);
		p->at_ns = at_ns;
		p->earlier++;
		t->counts.earlier++;
		untold(t, p);
	}
	profile_promise(t, p, -1, now_ns);
	return at_ns != TIME_NEVER && priority != INT32_MIN;
}

static int by_end(const void *a, const void *b, void *context)
{
	const struct timeline *t = context;
	const struct promise *x = &t->promises[*(const uint32_t *)a],
						 *y = &t->promises[*(const uint32_t *)b];
	const uint64_t x_ns = time_add(x->at_ns, x->ask.length_ns),
				   y_ns = time_add(y->at_ns, y->ask.length_ns);

	if (x->ask.priority != y->ask.priority)
		return x->ask.priority > y->ask.priority ? -1 : 1;
	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

static int by_rank(const void *a, const void *b)
{
	const struct promise *x = a, *y = b;

	if (x->ask.priority != y->ask.priority)
		return x->ask.priority > y->ask.priority ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

static void promise_remove(struct timeline *t, uint32_t index)
{
	t->slots[t->promises[index].ask.gang] = 0;
	t->untold -= !t->promises[index].told;
	free(t->promises[index].places);
	t->promises[index] = t->promises[--t->promises_n];
	if (index < t->promises_n)
		t->slots[t->promises[index].ask.gang] = index + 1;
	t->profile_old = true;
}

static void later(struct timeline *t, struct promise *p, uint64_t at_ns, enum promise_move why,
                  uint32_t who)
{
	struct promised_moved *m;

	if (p->moves_n == PROMISE_MOVES_MAX)
		memmove(&p->moves[0], &p->moves[1], --p->moves_n * sizeof(p->moves[0]));
	m = &p->moves[p->moves_n++];
	*m = (struct promised_moved){ .from_ns = p->at_ns, .to_ns = at_ns, .why = why, .who = who };
	p->at_ns = at_ns;
	p->later++;
	t->counts.later[why]++;
	untold(t, p);
}

/* True if the picture holds, with first nodes that have room or with those that were kept. */
static bool some_hold(struct timeline *t, const struct picture *p)
{
	if (!picture_holds(t, p))
		return picture_kept_holds(t, p);
	picture_keep(t, ID_NONE);
	return true;
}

/* Promises that no longer hold move later, those of low priority first: each is placed with those
 * before it alone, by priority, then time. */
static void repair(struct timeline *t, enum promise_move why, uint32_t who, uint64_t now_ns)
{
	const struct picture all = { .priority = INT32_MIN, .without = ID_NONE, .now_ns = now_ns };
	const uint32_t n = t->promises_n;
	uint32_t kept = 0;

	if (n == 0 || some_hold(t, &all))
		return;
	qsort(t->promises, n, sizeof(*t->promises), by_rank);
	for (uint32_t i = 0; i < n; i++) {
		struct promise p = t->promises[i];
		const uint64_t from_ns = begins(&p, now_ns);
		uint64_t at_ns;

		t->promises_n = kept;
		t->profile_old = true;
		if (!promise_in_pictures(&p)) {
			t->promises[kept++] = p;
			t->slots[p.ask.gang] = kept;
			continue;
		}
		profile_make(t, INT32_MIN, now_ns);
		profile_begin(t, from_ns);
		at_ns = earliest(t, &p.ask, ID_NONE, from_ns, TIME_NEVER, now_ns);
		t->slots[p.ask.gang] = 0;
		if (at_ns == TIME_NEVER) {
			t->counts.lost++;
			t->untold -= !p.told;
			free(p.places);
			continue;
		}
		if (at_ns > from_ns)
			later(t, &p, at_ns, why, who);
		t->promises[kept++] = p;
		t->slots[p.ask.gang] = kept;
		picture_keep(t, kept - 1);
	}
	t->promises_n = kept;
	t->profile_old = true;
}

/* Those that would end first are tried first: of the orders that were measured this one makes the
 * mean slowdown least (decision 058); none of them makes a promise of the same priority later. */
static void improve_all(struct timeline *t, uint64_t now_ns)
{
	uint32_t outranks_n = 0, who = ID_NONE;

	if (t->order_room < t->promises_n) {
		t->order_room = t->promises_n * 2 + 64;
		t->order = must_grow(t->order, t->order_room * sizeof(*t->order));
	}
	for (uint32_t i = 0; i < t->promises_n; i++)
		t->order[i] = i;
	if (t->promises_n > 1)
		qsort_r(t->order, t->promises_n, sizeof(*t->order), by_end, t);
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (improve(t, t->order[i], now_ns)) {
			who = t->promises[t->order[i]].ask.gang;
			outranks_n++;
		}
	if (outranks_n > 0)
		repair(t, MOVE_OUTRANKED, outranks_n == 1 ? who : ID_NONE, now_ns);
}

/* A node of a promise that its members may no longer use; ID_NONE: none. */
static node_id lost_node(const struct timeline *t)
{
	for (uint32_t i = 0; i < t->promises_n; i++)
		for (uint32_t k = 0; k < t->promises[i].places_n && !t->promises[i].stale; k++) {
			const struct timeline_place *at = &t->promises[i].places[k];

			if (!shape_allows(&t->shapes->slots[at->shape], at->node))
				return at->node;
		}
	return ID_NONE;
}

/* The earliest time of a promise; TIME_NEVER: there is none. */
static uint64_t first_due(const struct timeline *t)
{
	uint64_t first_ns = TIME_NEVER;

	for (uint32_t i = 0; i < t->promises_n; i++)
		if (t->promises[i].at_ns < first_ns && promise_in_pictures(&t->promises[i]))
			first_ns = t->promises[i].at_ns;
	return first_ns;
}

/* The gang of that promise. */
static uint32_t first_gang(const struct timeline *t)
{
	const uint64_t first_ns = first_due(t);
	uint32_t i = 0;

	while (i + 1 < t->promises_n &&
	       (t->promises[i].at_ns != first_ns || !promise_in_pictures(&t->promises[i])))
		i++;
	return t->promises[i].ask.gang;
}

uint64_t timeline_due_ns(const struct timeline *t)
{
	const uint64_t due_ns = first_due(t);

	return t->ends_n > 0 && t->ends[0].end_ns < due_ns ? t->ends[0].end_ns : due_ns;
}

bool timeline_changed(const struct timeline *t, uint64_t now_ns)
{
	return t->changed || t->suspect != MOVE_NONE || first_due(t) <= now_ns ||
	       t->facts_version != t->nodes->facts_version ||
	       (t->ends_n > 0 && t->ends[0].end_ns <= now_ns);
}

void promises_look(struct timeline *t, uint64_t now_ns)
{
	if (!timeline_changed(t, now_ns))
		return;
	ends_overrun(t, now_ns);
	if (t->facts_version != t->nodes->facts_version) {
		t->facts_version = t->nodes->facts_version;
		t->suspect = MOVE_NODE_LOST;
		t->suspect_who = lost_node(t);
		t->changed = true; /* a node may have come, too */
		t->profile_old = true;
	}
	if (t->suspect == MOVE_NONE && first_due(t) < now_ns) {
		/* It starts late, so it ends late. */
		t->suspect = MOVE_END_OVERRUN;
		t->suspect_who = first_gang(t);
	}
	if (t->suspect != MOVE_NONE)
		repair(t, t->suspect, t->suspect_who, now_ns);
	t->suspect = MOVE_NONE;
	if (t->changed)
		improve_all(t, now_ns);
	t->changed = false;
}

/* The gang asks for something else than it was promised: it gets a new promise, if it can be given
 * one, and its first time stands. */
static void promise_changed(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	const struct promise before = t->promises[t->slots[ask->gang] - 1];
	const uint64_t made = t->counts.made;
	struct promise *p;
	uint64_t at_ns;

	promise_remove(t, t->slots[ask->gang] - 1);
	if (ask->wants_n == 0 || !promise_make(t, ask, false, now_ns)) {
		t->counts.lost += t->counts.made == made; /* else it is counted */
		t->counts.made = made;
		return;
	}
	t->counts.made = made;
	p = &t->promises[t->slots[ask->gang] - 1];
	p->first_ns = before.first_ns;
	p->earlier = before.earlier;
	p->later = before.later;
	p->moves_n = before.moves_n;
	p->nominated = before.nominated;
	t->profile_old = t->profile_old || p->nominated;
	memcpy(p->moves, before.moves, sizeof(p->moves));
	at_ns = p->at_ns;
	p->at_ns = before.at_ns;
	if (at_ns > before.at_ns)
		later(t, p, at_ns, MOVE_GANG_CHANGED, ID_NONE);
	p->at_ns = at_ns;
}

bool promises_may_start(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	const struct promise *own = promise_of(t, ask->gang);

	if (own && (own->stale || !ask_same(&own->ask, ask))) {
		promise_changed(t, ask, now_ns);
		own = promise_of(t, ask->gang);
		if (!own)
			return ask->some_suffice;
	}
	if (ask->some_suffice)
		return true;
	if (own)
		return own->at_ns <= now_ns;
	profile_make(t, binding(t, ask->priority), now_ns);
	return profile_suffices(t, ask, ask_end(t, ask, now_ns));
}

/* Promises that a start now would have to leave room for. */
static bool some_bind(const struct timeline *t, const struct timeline_ask *ask)
{
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (t->promises[i].ask.priority >= ask->priority && promise_in_pictures(&t->promises[i]) &&
		    t->promises[i].ask.gang != ask->gang)
			return true;
	return false;
}

bool promises_hold_from(struct timeline *t, const struct timeline_ask *ask,
                        const struct timeline_place *places, uint32_t n, uint64_t start_ns,
                        uint64_t now_ns)
{
	const struct picture p = { .priority = binding(t, ask->priority),
		                       .without = t->slots[ask->gang] - 1,
		                       .more = places,
		                       .more_n = n,
		                       .more_end_ns = ask_end(t, ask, start_ns),
		                       .now_ns = now_ns };

	return !some_bind(t, ask) || some_hold(t, &p);
}

bool promises_hold(struct timeline *t, const struct timeline_ask *ask,
                   const struct timeline_place *places, uint32_t n, uint64_t now_ns)
{
	return promises_hold_from(t, ask, places, n, now_ns, now_ns);
}

void timeline_shape_drop(struct timeline *t, shape_id shape)
{
	for (uint32_t i = 0; i < t->promises_n; i++) {
		struct promise *p = &t->promises[i];

		for (uint32_t k = 0; k < p->ask.wants_n && !p->stale; k++)
			p->stale = p->ask.wants[k].shape == shape;
		t->profile_old = t->profile_old || p->stale;
	}
}

void promise_nominate(struct timeline *t, uint32_t gang, bool nominated)
{
	struct promise *p = t->slots[gang] > 0 ? &t->promises[t->slots[gang] - 1] : NULL;

	if (!p || p->nominated == nominated)
		return;
	p->nominated = nominated;
	t->changed = t->profile_old = true;
	if (!nominated)
		timeline_overran(t, gang);
}

uint32_t promises_places(struct timeline *t, const struct timeline_ask *ask, bool kept,
                         uint64_t now_ns, const struct timeline_place **out)
{
	const struct picture p = { .priority = binding(t, ask->priority),
		                       .without = t->slots[ask->gang] - 1,
		                       .ask = ask,
		                       .at_ns = now_ns,
		                       .now_ns = now_ns };

	const struct promise *own = promise_of(t, ask->gang);

	if (kept) {
		*out = own ? own->places : NULL;
		return own ? own->places_n : 0;
	}
	if (!picture_holds(t, &p))
		return 0;
	*out = &t->places[t->asked_first];
	return t->asked_n;
}

static uint32_t standing(const struct timeline *t, int32_t priority)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->promises_n; i++)
		n += t->promises[i].ask.priority >= priority;
	return n;
}

/* Adds the promise, whose picture was the last one, and makes those of lower priority that it
 * leaves no room move later. */
static void promise_add(struct timeline *t, const struct promise *made, uint64_t now_ns)
{
	struct promise *p;

	t->counts.made++;
	if (t->promises_n == t->promises_room) {
		t->promises_room = t->promises_room * 2 + 64;
		t->promises = must_grow(t->promises, t->promises_room * sizeof(*t->promises));
	}
	p = &t->promises[t->promises_n++];
	*p = *made;
	p->serial = t->serial++;
	t->untold++;
	t->slots[p->ask.gang] = t->promises_n;
	picture_keep(t, t->promises_n - 1);
	if (t->profile_priority == INT32_MIN)
		profile_promise(t, p, -1, now_ns);
	else
		repair(t, MOVE_OUTRANKED, p->ask.gang, now_ns); /* may lose it, too */
}

bool promise_make(struct timeline *t, const struct timeline_ask *ask, bool not_now, uint64_t now_ns)
{
	const uint64_t from_ns = not_now ? now_ns + 1 : now_ns;
	struct promise p = { .ask = *ask };

	assert(ask->wants_n > 0);
	if (t->slots[ask->gang] > 0)
		return true;
	if (standing(t, ask->priority) >= t->depth)
		return false;
	profile_make(t, binding(t, ask->priority), now_ns);
	p.at_ns = p.first_ns = earliest(t, ask, ID_NONE, from_ns, TIME_NEVER, now_ns);
	if (p.at_ns == TIME_NEVER)
		return false;
	promise_add(t, &p, now_ns);
	return t->slots[ask->gang] > 0;
}

bool promise_restore(struct timeline *t, const struct timeline_ask *ask, uint64_t at_ns,
                     uint64_t now_ns)
{
	const uint64_t from_ns = at_ns > now_ns ? at_ns : now_ns;
	struct promise p = { .ask = *ask, .first_ns = at_ns };

	assert(ask->wants_n > 0);
	if (t->slots[ask->gang] > 0 || standing(t, ask->priority) >= t->depth)
		return false;
	profile_make(t, binding(t, ask->priority), now_ns);
	profile_begin(t, from_ns);
	p.at_ns = earliest(t, ask, ID_NONE, from_ns, TIME_NEVER, now_ns);
	t->profile_old = true;
	if (p.at_ns == TIME_NEVER)
		return false;
	if (p.at_ns > from_ns) {
		const uint64_t found_ns = p.at_ns;

		p.at_ns = at_ns;
		p.told = true;
		later(t, &p, found_ns, MOVE_RESTARTED, ID_NONE);
		t->untold--; /* promise_add() counts it */
	}
	promise_add(t, &p, now_ns);
	return t->slots[ask->gang] > 0;
}

bool promise_drop(struct timeline *t, uint32_t gang)
{
	if (t->slots[gang] == 0)
		return false;
	promise_remove(t, t->slots[gang] - 1);
	t->changed = true; /* others may use what it was to have */
	return true;
}

/* It is kept now. */
static void kept_count(struct timeline *t, const struct promise *p, uint64_t now_ns)
{
	const bool late = now_ns > p->first_ns;
	const uint64_t by_ns = late ? now_ns - p->first_ns : p->first_ns - now_ns;

	t->counts.errors[promise_error_bucket(late ? (int64_t)by_ns : -(int64_t)by_ns)]++;
	if (late)
		t->counts.late_s += by_ns / NS_PER_SECOND;
	else
		t->counts.early_s += by_ns / NS_PER_SECOND;
}

void promises_started(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	/* Nothing became free: what changed is that its time has come. */
	if (t->slots[ask->gang] > 0) {
		kept_count(t, &t->promises[t->slots[ask->gang] - 1], now_ns);
		promise_remove(t, t->slots[ask->gang] - 1);
	}
	promises_outranked(t, ask, now_ns);
}

void promises_outranked(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	if (some_lower(t, ask->priority))
		repair(t, MOVE_OUTRANKED, ask->gang, now_ns);
}

bool timeline_valid(struct timeline *t, uint64_t now_ns)
{
	const struct picture all = { .priority = INT32_MIN, .without = ID_NONE, .now_ns = now_ns };
	uint32_t known = 0;

	for (pod_id pod = 0; pod < t->pods; pod++)
		known += t->stays[pod].node != ID_NONE && t->stays[pod].end_ns != TIME_NEVER;
	if (known != t->ends_n)
		return false;
	for (uint32_t i = 0; i < t->ends_n; i++)
		if (t->ends[i].end_ns != t->stays[t->ends[i].pod].end_ns ||
		    (i > 0 && t->ends[i - 1].end_ns > t->ends[i].end_ns))
			return false;
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (t->slots[t->promises[i].ask.gang] != i + 1)
			return false;
	/* Without picture_keep(): a check changes nothing. */
	return t->changed || timeline_changed(t, now_ns) || picture_holds(t, &all) ||
	       picture_kept_holds(t, &all);
}
