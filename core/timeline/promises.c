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

bool promise_suits(const struct timeline *t, const struct timeline_ask *ask)
{
	const struct promise *own = promise_of(t, ask->gang);

	return own && !own->stale && ask_same(&own->ask, ask);
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

/* The gang asks for something else than it was promised: it gets a new promise, if it can be given
 * one, and its first time stands. */
static void promise_changed(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	const struct promise before = t->promises[t->slots[ask->gang] - 1];
	const uint64_t made = t->counts.made;
	struct promise *p;
	uint64_t at_ns;

	promise_remove(t, t->slots[ask->gang] - 1);
	t->changed = true; /* others may use what it was to have */
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
		promise_later(t, p, at_ns, MOVE_GANG_CHANGED, ID_NONE);
	p->at_ns = at_ns;
}

bool promises_may_start(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	const struct promise *own = promise_of(t, ask->gang);

	if (own && !promise_suits(t, ask)) {
		promise_changed(t, ask, now_ns);
		own = promise_of(t, ask->gang);
		if (!own)
			return ask->some_suffice;
	}
	if (ask->some_suffice)
		return true;
	if (own)
		return own->at_ns <= now_ns;
	profile_make(t, promise_binding(t, ask_rank(ask)), false, now_ns);
	return profile_lacks(t, ask, ask_end(t, ask, now_ns)) == TIME_NEVER;
}

/* Of what starts then, the gang that was promised it first. */
static uint32_t starts_at(const struct timeline *t, int64_t rank, uint64_t at_ns, uint64_t now_ns)
{
	const struct promise *first = NULL;

	for (uint32_t i = 0; i < t->promises_n; i++) {
		const struct promise *p = &t->promises[i];

		if (ask_rank(&p->ask) >= rank && promise_in_pictures(p) &&
		    promise_begins(p, now_ns) == at_ns && (!first || p->serial < first->serial))
			first = p;
	}
	return first ? first->ask.gang : ID_NONE;
}

uint32_t promises_barred_by(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	const int64_t rank = promise_binding(t, ask_rank(ask));
	const struct promise *own = promise_of(t, ask->gang);
	const bool is_in = own && promise_in_pictures(own);
	uint64_t at_ns;

	if (ask->wants_n == 0)
		return ID_NONE;
	profile_make(t, rank, false, now_ns);
	if (is_in)
		profile_promise(t, own, 1, now_ns);
	at_ns = profile_lacks(t, ask, ask_end(t, ask, now_ns));
	if (is_in)
		profile_promise(t, own, -1, now_ns);
	return at_ns != TIME_NEVER ? starts_at(t, rank, at_ns, now_ns) : ID_NONE;
}

uint32_t promises_late(const struct timeline *t)
{
	return t->late;
}

/* Promises that a start now would have to leave room for. */
static bool some_bind(const struct timeline *t, const struct timeline_ask *ask)
{
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (ask_rank(&t->promises[i].ask) >= ask_rank(ask) &&
		    promise_in_pictures(&t->promises[i]) && t->promises[i].ask.gang != ask->gang)
			return true;
	return false;
}

bool promises_hold_from(struct timeline *t, const struct timeline_ask *ask,
                        const struct timeline_place *places, uint32_t n, uint64_t start_ns,
                        uint64_t now_ns)
{
	const struct picture p = { .rank = promise_binding(t, ask_rank(ask)),
		                       .without = t->slots[ask->gang] - 1,
		                       .more = places,
		                       .more_n = n,
		                       .more_end_ns = ask_end(t, ask, start_ns),
		                       .now_ns = now_ns };

	return !some_bind(t, ask) || picture_some_hold(t, &p);
}

bool promises_hold(struct timeline *t, const struct timeline_ask *ask,
                   const struct timeline_place *places, uint32_t n, uint64_t now_ns)
{
	return promises_hold_from(t, ask, places, n, now_ns, now_ns);
}

bool promises_would_hold(struct timeline *t, const struct timeline_ask *ask, node_id node,
                         const struct shape *shape, uint64_t now_ns)
{
	const struct timeline_place place = { .node = node, .members = 1 };
	const struct budget before = *t->budget;
	const struct picture p = { .rank = promise_binding(t, ask_rank(ask)),
		                       .without = t->slots[ask->gang] - 1,
		                       .more = &place,
		                       .more_shape = shape,
		                       .more_n = 1,
		                       .more_free = true,
		                       .more_end_ns = ask_end(t, ask, now_ns),
		                       .now_ns = now_ns };
	const bool hold = !some_bind(t, ask) || picture_holds(t, &p) || picture_kept_holds(t, &p);

	*t->budget = before;
	return hold;
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
	const struct picture p = { .rank = promise_binding(t, ask_rank(ask)),
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

static uint32_t standing(const struct timeline *t, int64_t rank)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->promises_n; i++)
		n += ask_rank(&t->promises[i].ask) >= rank;
	return n;
}

/* Adds the promise, whose picture was the last one, and makes those of lower rank that it
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
	outranks_none(t);
	outranks_add(t, &p->ask);
	if (t->profile_rank == RANK_ALL)
		profile_promise(t, p, -1, now_ns);
	else
		promises_repair(t, MOVE_OUTRANKED, p->ask.gang, now_ns); /* may lose it, too */
}

bool promise_make(struct timeline *t, const struct timeline_ask *ask, bool not_now, uint64_t now_ns)
{
	const uint64_t from_ns = not_now ? now_ns + 1 : now_ns;
	const uint64_t last_ns = time_add(now_ns, t->window_ns);
	struct promise p = { .ask = *ask };

	assert(ask->wants_n > 0);
	if (t->slots[ask->gang] > 0)
		return true;
	if (standing(t, ask_rank(ask)) >= t->depth)
		return false;
	profile_make(t, promise_binding(t, ask_rank(ask)), false, now_ns);
	p.at_ns = p.first_ns = promise_earliest(t, ask, ID_NONE, from_ns, time_add(last_ns, 1), now_ns);
	if (p.at_ns == TIME_NEVER) {
		const uint64_t beyond_ns = profile_beyond(t, now_ns);

		if (beyond_ns != TIME_NEVER && beyond_ns - t->window_ns < t->window_due_ns)
			t->window_due_ns = beyond_ns - t->window_ns;
		return false;
	}
	promise_add(t, &p, now_ns);
	return t->slots[ask->gang] > 0;
}

bool promise_restore(struct timeline *t, const struct timeline_ask *ask, uint64_t at_ns,
                     uint64_t now_ns)
{
	const uint64_t from_ns = at_ns > now_ns ? at_ns : now_ns;
	struct promise p = { .ask = *ask, .first_ns = at_ns };

	assert(ask->wants_n > 0);
	if (t->slots[ask->gang] > 0 || standing(t, ask_rank(ask)) >= t->depth)
		return false;
	profile_make(t, promise_binding(t, ask_rank(ask)), true, now_ns);
	profile_begin(t, from_ns);
	p.at_ns = promise_earliest(t, ask, ID_NONE, from_ns, TIME_NEVER, now_ns);
	t->profile_old = true;
	if (p.at_ns == TIME_NEVER)
		return false;
	if (p.at_ns > from_ns) {
		const uint64_t found_ns = p.at_ns;

		p.at_ns = at_ns;
		p.told = true;
		promise_later(t, &p, found_ns, MOVE_RESTARTED, ID_NONE);
		t->untold--; /* promise_add() counts it */
	}
	promise_add(t, &p, now_ns);
	return t->slots[ask->gang] > 0;
}

bool promise_drop(struct timeline *t, uint32_t gang, bool lost)
{
	if (t->slots[gang] == 0)
		return false;
	promise_remove(t, t->slots[gang] - 1);
	t->counts.lost += lost;
	t->changed = true; /* others may use what it was to have */
	return true;
}

bool promise_set_firm(struct timeline *t, uint32_t i, uint32_t queue, bool firm, bool edited)
{
	struct promise *p = &t->promises[i];

	assert(i < t->promises_n);
	p->ask.queue = queue;
	if (p->ask.firm == firm)
		return false;
	p->ask.firm = firm;
	t->queues_edited = t->queues_edited || edited;
	t->changed = t->profile_old = true;
	t->untold += p->told;
	p->told = false;
	return true;
}

/* It is kept now. */
static void kept_count(struct timeline *t, const struct promise *p, uint64_t now_ns)
{
	const bool late = now_ns > p->first_ns;
	const uint64_t by_ns = late ? now_ns - p->first_ns : p->first_ns - now_ns;

	t->counts.errors[promise_error_bucket(late ? (int64_t)by_ns : -(int64_t)by_ns)]++;
	if (late)
		t->counts.late_s += by_ns / NS_PER_S;
	else
		t->counts.early_s += by_ns / NS_PER_S;
}

/* It starts in front of a gang of its rank or above that was promised a start before it was. */
static bool is_backfilled(const struct timeline *t, const struct timeline_ask *ask)
{
	const struct promise *own = promise_of(t, ask->gang);
	const uint64_t serial = own ? own->serial : UINT64_MAX;

	for (uint32_t i = 0; i < t->promises_n; i++)
		if (ask_rank(&t->promises[i].ask) >= ask_rank(ask) &&
		    promise_in_pictures(&t->promises[i]) && t->promises[i].serial < serial)
			return true;
	return false;
}

void promises_started(struct timeline *t, const struct timeline_ask *ask, bool begins,
                      uint64_t now_ns)
{
	t->counts.backfilled += begins && is_backfilled(t, ask);
	/* Nothing became free: what changed is that its time has come. */
	if (t->slots[ask->gang] > 0) {
		kept_count(t, &t->promises[t->slots[ask->gang] - 1], now_ns);
		promise_remove(t, t->slots[ask->gang] - 1);
	}
	promises_outranked(t, ask, now_ns);
}

void promises_outranked(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns)
{
	outranks_none(t);
	outranks_add(t, ask);
	if (promises_some_lower(t, ask_rank(ask)))
		promises_repair(t, MOVE_OUTRANKED, ask->gang, now_ns);
}

bool timeline_valid(struct timeline *t, uint64_t now_ns)
{
	const struct picture all = { .rank = RANK_ALL, .without = ID_NONE, .now_ns = now_ns };
	uint32_t known = 0;

	for (pod_id pod = 0; pod < t->pods; pod++)
		known += t->stays[pod].node != ID_NONE && t->stays[pod].end_ns != TIME_NEVER;
	if (known != t->ends_n)
		return false;
	for (uint32_t i = 0; i < t->ends_n; i++) {
		const struct known_end *e = &t->ends[i];
		const struct stay *s = &t->stays[e->pod];

		if (e->end_ns != s->end_ns || e->node != s->node || e->shape != s->shape ||
		    (i > 0 && e[-1].end_ns > e->end_ns))
			return false;
	}
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (t->slots[t->promises[i].ask.gang] != i + 1)
			return false;
	/* Without picture_keep(): a check changes nothing.  A look under way leaves all that holds. */
	return t->changed || timeline_may_fail(t, now_ns) || picture_holds(t, &all) ||
	       picture_kept_holds(t, &all);
}
