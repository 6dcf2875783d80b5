/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of promises: earlier when something became free, later when the picture of all of them no
 * longer holds. */
#include "core/timeline/timeline_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

bool promises_some_lower(const struct timeline *t, int64_t rank)
{
	for (uint32_t i = 0; i < t->promises_n; i++)
		if (ask_rank(&t->promises[i].ask) < rank)
			return true;
	return false;
}

int64_t promise_binding(const struct timeline *t, int64_t rank)
{
	return promises_some_lower(t, rank) ? rank : RANK_ALL;
}

/* From when on a start is tried after one at at_ns, which left a gang without nodes: the next may
 * have other nodes, but most have the same, so after some not before that gang has begun. */
static uint64_t after_failed(const struct timeline *t, const struct timeline_ask *ask,
                             uint64_t at_ns, uint32_t tries)
{
	const struct promise *late = t->late == ask->gang ? NULL : promise_of(t, t->late);

	return tries >= PICTURES_NEAR && late && late->at_ns > at_ns ? late->at_ns : at_ns + 1;
}

/* Goes on with the search by one picture, as promise_earliest(). */
static enum searched search_on(struct timeline *t, const struct timeline_ask *ask, uint32_t without,
                               struct search *s, uint64_t until_ns, uint64_t now_ns)
{
	struct picture p = {
		.rank = promise_binding(t, ask_rank(ask)), .without = without, .ask = ask, .now_ns = now_ns
	};
	uint32_t i = profile_row(t, s->from_ns);

	budget_spend(t->budget, t->profile.n);
	do
		p.at_ns = profile_find(t, ask, &i);
	while (p.at_ns < s->from_ns);
	/* The sums sufficed where single nodes do not: there may be thousands of such times. */
	if (s->tries > 0 && p.at_ns < until_ns)
		p.at_ns = picture_next(t, &p, p.at_ns, until_ns);
	if (p.at_ns >= until_ns)
		return SEARCH_NONE;
	s->at_ns = p.at_ns;
	if (picture_holds(t, &p))
		return SEARCH_FOUND;
	s->from_ns = after_failed(t, ask, p.at_ns, s->tries);
	return ++s->tries < PICTURES_MOST ? SEARCH_MORE : SEARCH_NONE;
}

uint64_t promise_earliest(struct timeline *t, const struct timeline_ask *ask, uint32_t without,
                          uint64_t from_ns, uint64_t until_ns, uint64_t now_ns)
{
	struct search s = { .from_ns = from_ns };
	enum searched found;

	do
		found = search_on(t, ask, without, &s, until_ns, now_ns);
	while (found == SEARCH_MORE);
	return found == SEARCH_FOUND ? s.at_ns : TIME_NEVER;
}

void profile_promise(struct timeline *t, const struct promise *p, int sign, uint64_t now_ns)
{
	const uint64_t from_ns = promise_begins(p, now_ns);

	profile_change(t, &p->ask, from_ns, ask_end(t, &p->ask, from_ns), sign);
}

static void untold(struct timeline *t, struct promise *p)
{
	t->untold += p->told;
	p->told = false;
}

/* Tries the promise earlier, with those of its rank and above fixed, by pictures until that many
 * steps are spent, one at least.  SEARCH_MORE: it keeps its time, and t->search goes on. */
static enum searched improve(struct timeline *t, struct promise *p, uint64_t spent, uint64_t now_ns)
{
	const uint32_t index = (uint32_t)(p - t->promises);
	enum searched found;

	if (p->at_ns <= now_ns || !promise_in_pictures(p))
		return SEARCH_NONE;
	profile_make(t, promise_binding(t, ask_rank(&p->ask)), false, now_ns);
	profile_promise(t, p, 1, now_ns);
	do
		found = search_on(t, &p->ask, index, &t->search, p->at_ns, now_ns);
	while (found == SEARCH_MORE && budget_left(t->budget, spent) > 0);
	if (found == SEARCH_FOUND) {
		picture_keep(t, index);
		p->at_ns = t->search.at_ns;
		p->earlier++;
		t->counts.earlier++;
		untold(t, p);
	}
	profile_promise(t, p, -1, now_ns);
	return found;
}

/* NULL: it is gone. */
static struct promise *trial_promise(const struct timeline *t, const struct trial *trial)
{
	struct promise *p = t->slots[trial->gang] > 0 ? &t->promises[t->slots[trial->gang] - 1] : NULL;

	return p && p->serial == trial->serial ? p : NULL;
}

static int by_end(const void *a, const void *b, void *context)
{
	const struct timeline *t = context;
	const struct trial *left = a, *right = b; /* both stand */
	const struct promise *x = &t->promises[t->slots[left->gang] - 1],
						 *y = &t->promises[t->slots[right->gang] - 1];
	const uint64_t x_ns = time_add(x->at_ns, x->ask.length_ns),
				   y_ns = time_add(y->at_ns, y->ask.length_ns);

	if (ask_rank(&x->ask) != ask_rank(&y->ask))
		return ask_rank(&x->ask) > ask_rank(&y->ask) ? -1 : 1;
	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

static int by_rank(const void *a, const void *b)
{
	const struct promise *x = a, *y = b;

	if (ask_rank(&x->ask) != ask_rank(&y->ask))
		return ask_rank(&x->ask) > ask_rank(&y->ask) ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

void promise_later(struct timeline *t, struct promise *p, uint64_t at_ns, enum promise_move why,
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

bool picture_some_hold(struct timeline *t, const struct picture *p)
{
	if (!picture_holds(t, p))
		return picture_kept_holds(t, p);
	picture_keep(t, ID_NONE);
	return true;
}

void outranks_none(struct timeline *t)
{
	t->outranks.priority = INT32_MIN;
	t->outranks.firm = false;
	t->outranks.queue = QUEUE_MISSING;
}

void outranks_add(struct timeline *t, const struct timeline_ask *ask)
{
	if (ask->priority > t->outranks.priority)
		t->outranks.priority = ask->priority;
	if (ask->firm && !t->outranks.firm)
		t->outranks.queue = ask->queue;
	else if (ask->firm && t->outranks.queue != ask->queue)
		t->outranks.queue = QUEUE_MISSING;
	t->outranks.firm = t->outranks.firm || ask->firm;
}

/* No queue takes back from itself. */
static bool is_reclaimed(const struct timeline *t, const struct promise *p)
{
	const bool own = p->ask.queue != QUEUE_MISSING && p->ask.queue == t->outranks.queue;

	return t->outranks.firm && !p->ask.firm && !own && p->ask.priority >= t->outranks.priority;
}

static enum promise_move why_of(const struct timeline *t, const struct promise *p,
                                enum promise_move why)
{
	if (why == MOVE_OUTRANKED && t->queues_edited)
		return MOVE_QUEUE_CHANGED;
	return why == MOVE_OUTRANKED && is_reclaimed(t, p) ? MOVE_RECLAIMED : why;
}

void promises_repair(struct timeline *t, enum promise_move why, uint32_t who, uint64_t now_ns)
{
	const struct picture all = { .rank = RANK_ALL, .without = ID_NONE, .now_ns = now_ns };
	const uint32_t n = t->promises_n;
	uint32_t kept = 0;

	if (n == 0 || picture_some_hold(t, &all))
		return;
	qsort(t->promises, n, sizeof(*t->promises), by_rank);
	for (uint32_t i = 0; i < n; i++) {
		struct promise p = t->promises[i];
		const uint64_t from_ns = promise_begins(&p, now_ns);
		uint64_t at_ns;

		t->promises_n = kept;
		t->profile_old = true;
		if (!promise_in_pictures(&p)) {
			t->promises[kept++] = p;
			t->slots[p.ask.gang] = kept;
			continue;
		}
		profile_make(t, RANK_ALL, true, now_ns);
		profile_begin(t, from_ns);
		at_ns = promise_earliest(t, &p.ask, ID_NONE, from_ns, TIME_NEVER, now_ns);
		t->slots[p.ask.gang] = 0;
		if (at_ns == TIME_NEVER) {
			t->counts.lost++;
			t->untold -= !p.told;
			free(p.places);
			continue;
		}
		if (at_ns > from_ns)
			promise_later(t, &p, at_ns, why_of(t, &p, why), who);
		t->promises[kept++] = p;
		t->slots[p.ask.gang] = kept;
		picture_keep(t, kept - 1);
	}
	t->promises_n = kept;
	t->profile_old = true;
}

static void search_begin(struct timeline *t, uint64_t now_ns)
{
	t->search = (struct search){ .from_ns = now_ns };
}

/* Those that would end first are tried first: of the orders that were measured this one makes the
 * mean slowdown least (decision 058); none of them makes a promise of the same rank later. */
static void order_make(struct timeline *t, uint64_t now_ns)
{
	if (t->order_room < t->promises_n) {
		t->order_room = t->promises_n * 2 + 64;
		t->order = must_grow(t->order, t->order_room * sizeof(*t->order));
	}
	for (uint32_t i = 0; i < t->promises_n; i++)
		t->order[i] =
			(struct trial){ .serial = t->promises[i].serial, .gang = t->promises[i].ask.gang };
	if (t->promises_n > 1)
		qsort_r(t->order, t->promises_n, sizeof(*t->order), by_end, t);
	t->order_n = t->promises_n;
	t->order_at = 0;
	search_begin(t, now_ns);
}

/* Tries promises earlier from order[order_at] on, until that many steps are spent.  What was not
 * tried yet holds as it did: the others moved with it fixed. */
static void improve_some(struct timeline *t, uint64_t spent, uint64_t now_ns)
{
	uint32_t outranks_n = 0, who = ID_NONE;

	outranks_none(t);
	while (t->order_at < t->order_n && budget_left(t->budget, spent) > 0) {
		struct promise *p = trial_promise(t, &t->order[t->order_at]);
		const enum searched found = p ? improve(t, p, spent, now_ns) : SEARCH_NONE;

		if (found == SEARCH_MORE)
			break;
		t->order_at++;
		search_begin(t, now_ns);
		if (found == SEARCH_FOUND && promises_some_lower(t, ask_rank(&p->ask))) {
			who = p->ask.gang;
			outranks_add(t, &p->ask);
			outranks_n++;
		}
	}
	if (outranks_n > 0)
		promises_repair(t, MOVE_OUTRANKED, outranks_n == 1 ? who : ID_NONE, now_ns);
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
	uint64_t due_ns = first_due(t);

	due_ns = t->window_due_ns < due_ns ? t->window_due_ns : due_ns;
	return t->ends_n > 0 && t->ends[0].end_ns < due_ns ? t->ends[0].end_ns : due_ns;
}

bool timeline_edited(const struct timeline *t)
{
	return t->edited;
}

bool timeline_may_fail(const struct timeline *t, uint64_t now_ns)
{
	return t->suspect != MOVE_NONE || first_due(t) <= now_ns || t->window_due_ns <= now_ns ||
	       t->facts_version != t->nodes->facts_version ||
	       (t->ends_n > 0 && t->ends[0].end_ns <= now_ns);
}

bool promises_look_unfinished(const struct timeline *t)
{
	return t->order_at < t->order_n;
}

bool timeline_changed(const struct timeline *t, uint64_t now_ns)
{
	return t->changed || promises_look_unfinished(t) || timeline_may_fail(t, now_ns);
}

void promises_look(struct timeline *t, uint64_t steps, uint64_t now_ns)
{
	if (!timeline_changed(t, now_ns))
		return;
	if (t->window_due_ns <= now_ns) /* its gang is planned in this cycle */
		t->window_due_ns = TIME_NEVER;
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
		promises_repair(t, t->suspect, t->suspect_who, now_ns);
	t->suspect = MOVE_NONE;
	t->edited = false;
	/* What changed during a look is for the next one: else the last promises of the order would
	 * not be tried as long as pods end in each cycle. */
	if (t->changed && !promises_look_unfinished(t)) {
		t->changed = false;
		order_make(t, now_ns);
	}
	improve_some(t, t->budget->spent + steps, now_ns); /* one at least, whatever the others took */
	t->queues_edited = false;
}
