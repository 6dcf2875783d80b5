/* SPDX-License-Identifier: Apache-2.0 */
/* The fillings of one node. */
#include "core/pack/pack_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FILLINGS_MOST 65536u /* looked at of one node; what is beyond is not tried */

struct filling_up {
	struct pack_search *s;
	uint32_t node;
	int64_t room[PACK_RESOURCES];
	uint16_t pieces[PACK_KINDS];
	int64_t *reach; /* instead of storing fillings; NULL: store them */
	size_t first;
	uint32_t n, looked;
	bool ended;
};

static int64_t node_room(const struct pack_search *s, uint32_t node, uint32_t resource)
{
	const int64_t room = s->p->room[(size_t)node * s->p->resources + resource];

	return room > 0 ? room : 0;
}

static bool fits(const struct pack_search *s, const int64_t *room, uint32_t kind)
{
	const int64_t *takes = pack_takes(s, kind);

	for (uint32_t r = 0; r < s->p->resources; r++)
		if (takes[r] > 0 && takes[r] > room[r])
			return false;
	return true;
}

static uint32_t open_for(const struct filling_up *f, uint32_t kind)
{
	const struct pack_search *s = f->s;
	const uint32_t most = s->most[(size_t)f->node * s->p->kinds + kind];
	const uint32_t n = most < s->left[kind] ? most : s->left[kind];

	return n - f->pieces[kind];
}

/* True if a piece of `kind` could go in the place of a smaller one that is in: then there is a
 * solution with the bigger one here, if there is one at all. */
static bool replaces(struct filling_up *f, uint32_t kind)
{
	struct pack_search *s = f->s;

	for (uint64_t bits = s->smaller[kind]; bits; bits &= bits - 1) {
		const uint32_t other = (uint32_t)__builtin_ctzll(bits);
		const int64_t *more = pack_takes(s, kind), *less = pack_takes(s, other);
		bool good = f->pieces[other] > 0;

		for (uint32_t r = 0; r < s->p->resources && good; r++)
			good = more[r] - less[r] <= f->room[r];
		if (good)
			return true;
	}
	return false;
}

static bool worth_trying(struct filling_up *f)
{
	for (uint32_t k = 0; k < f->s->p->kinds; k++)
		if (open_for(f, k) > 0 && (fits(f->s, f->room, k) || replaces(f, k)))
			return false;
	return true;
}

static void note_reach(struct filling_up *f)
{
	const struct pack_problem *p = f->s->p;

	for (uint32_t r = 0; r < p->resources; r++) {
		const int64_t used = node_room(f->s, f->node, r) - f->room[r];

		f->reach[r] = used > f->reach[r] ? used : f->reach[r];
	}
}

static void note_filling(struct filling_up *f)
{
	struct pack_search *s = f->s;
	struct pack_filling *to;

	if (f->n == FILLINGS_MOST || s->filled == s->fillings_limit) {
		s->cut = f->ended = true;
		return;
	}
	s->fillings = must_reach(s->fillings, &s->fillings_n, s->filled, 1, s->filling_bytes);
	to = pack_filling_at(s, s->filled++);
	f->n++;
	to->worth = 0;
	memcpy(to->pieces, f->pieces, s->p->kinds * sizeof(*to->pieces));
	for (uint32_t k = 0; k < s->p->kinds; k++)
		to->worth += f->pieces[k] * s->price[k];
}

static void fill_up(struct filling_up *f, uint32_t kind)
{
	struct pack_search *s = f->s;
	const int64_t *takes;
	uint32_t n = 0, open;

	while (kind < s->p->kinds && (open_for(f, kind) == 0 || !fits(s, f->room, kind)))
		kind++;
	f->ended = f->ended || !pack_spend(s, 1 + (kind == s->p->kinds ? s->p->kinds : 0));
	if (f->ended)
		return;
	if (kind == s->p->kinds) {
		if (++f->looked > FILLINGS_MOST)
			s->cut = f->ended = true;
		else if (f->reach)
			note_reach(f);
		else if (worth_trying(f))
			note_filling(f);
		return;
	}
	takes = pack_takes(s, kind);
	for (open = open_for(f, kind); n < open && fits(s, f->room, kind); n++)
		for (uint32_t r = 0; r < s->p->resources; r++)
			f->room[r] -= takes[r];
	for (;; n--) {
		f->pieces[kind] = (uint16_t)n;
		fill_up(f, kind + 1);
		if (n == 0)
			break;
		for (uint32_t r = 0; r < s->p->resources; r++)
			f->room[r] += takes[r];
	}
}

static void fill_begin(struct filling_up *f)
{
	const struct pack_problem *p = f->s->p;

	for (uint32_t r = 0; r < p->resources; r++)
		f->room[r] = node_room(f->s, f->node, r);
	fill_up(f, 0);
}

static int most_worth_first(const void *a, const void *b, void *context)
{
	const struct pack_search *s = context;
	const struct pack_filling *x = a, *y = b;

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	return -memcmp(x->pieces, y->pieces, s->p->kinds * sizeof(*x->pieces));
}

bool pack_fillings(struct pack_search *s, uint32_t node, struct pack_frame *frame)
{
	struct filling_up f = { .s = s, .node = node };

	*frame = (struct pack_frame){ .first = s->filled };
	fill_begin(&f);
	if (s->steps == 0)
		return false;
	pack_spend(s, f.n * 4ul);
	assert(s->filled == frame->first + f.n);
	qsort_r(pack_filling_at(s, frame->first), f.n, s->filling_bytes, most_worth_first, s);
	frame->n = f.n < s->width ? f.n : s->width;
	s->cut = s->cut || frame->n < f.n;
	s->filled = frame->first + frame->n;
	return true;
}

/* When the steps for it end, all of the room. */
void pack_reach(struct pack_search *s, uint32_t node)
{
	const struct pack_problem *p = s->p;
	struct filling_up f = { .s = s, .node = node };
	int64_t *reach = &s->reach[(size_t)node * p->resources];
	const uint64_t steps = s->steps, most = 20000;

	memset(reach, 0, p->resources * sizeof(*reach));
	f.reach = reach;
	s->steps = steps < most ? steps : most;
	fill_begin(&f);
	for (uint32_t r = 0; r < p->resources && f.ended; r++)
		reach[r] = node_room(s, node, r);
	s->steps = steps - ((steps < most ? steps : most) - s->steps);
}
