/* SPDX-License-Identifier: Apache-2.0 */
/* The search: node by node, each with its fillings, the ones of most worth first; attempts with
 * other orders of nodes, other prices and more patience until one of them has seen everything. */
#include "core/pack/pack_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FAILS_FIRST 100u /* dead ends of the first attempt */
#define WIDTH_FIRST 8u
#define PATIENCE 6u /* attempts until both are doubled */

static uint64_t omitted_of(const struct pack_search *s, uint32_t role)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < s->p->kinds; k++)
		n += s->p->role[s->sorted[k]] == role ? s->left[k] : 0;
	return n;
}

static bool is_done(const struct pack_search *s)
{
	if (s->left_n > s->p->omit)
		return false;
	for (uint32_t role = 0; role < s->p->roles && s->left_n > 0; role++)
		if (omitted_of(s, role) > s->p->omits[role])
			return false;
	return true;
}

static void put(struct pack_search *s, const struct pack_filling *f, bool back)
{
	for (uint32_t k = 0; k < s->p->kinds; k++) {
		s->left[k] = back ? s->left[k] + f->pieces[k] : s->left[k] - f->pieces[k];
		s->left_n = back ? s->left_n + f->pieces[k] : s->left_n - f->pieces[k];
	}
}

static void note_left(struct pack_search *s)
{
	if (s->left_n >= s->least_left_n)
		return;
	s->least_left_n = s->left_n;
	memcpy(s->least_left, s->left, sizeof(s->least_left));
}

/* Goes to the next node; false: there is nothing beyond this point. */
static bool deeper(struct pack_search *s)
{
	pack_spend(s, 2 + s->p->kinds / 4);
	note_left(s);
	if (s->depth == s->nodes || !pack_bounds_hold(s) || pack_is_dead(s))
		return false;
	return pack_fillings(s, s->order[s->depth], &s->frames[s->depth]);
}

static enum pack_answer attempt(struct pack_search *s)
{
	bool down = true;

	s->depth = 0;
	s->filled = 0;
	s->fails = 0;
	s->cut = false;
	s->attempt++;
	for (;;) {
		struct pack_frame *f = &s->frames[s->depth];

		if (down && is_done(s))
			return PACK_PLACED;
		if (down && !deeper(s)) {
			s->fails++;
			down = false;
			if (s->depth == 0)
				return s->steps > 0 ? PACK_IMPOSSIBLE : PACK_GAVE_UP;
			f = &s->frames[--s->depth];
			put(s, pack_filling_at(s, f->first + f->at++), true);
		}
		if (s->steps == 0 || s->fails >= s->fails_most)
			break;
		if (f->at < f->n) {
			put(s, pack_filling_at(s, f->first + f->at), false);
			s->depth++;
			down = true;
			continue;
		}
		pack_dead_add(s);
		s->filled = f->first;
		down = false;
		if (s->depth == 0)
			return s->cut ? PACK_GAVE_UP : PACK_IMPOSSIBLE;
		f = &s->frames[--s->depth];
		put(s, pack_filling_at(s, f->first + f->at++), true);
	}
	while (s->depth-- > 0) {
		const struct pack_frame *f = &s->frames[s->depth];

		put(s, pack_filling_at(s, f->first + f->at), true);
	}
	return PACK_GAVE_UP;
}

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

struct ordering {
	const struct pack_search *s;
	const double *weights; /* by resource */
	uint64_t way;
};

static double room_of(const struct ordering *o, uint32_t node)
{
	const struct pack_problem *p = o->s->p;
	double sum = 0;

	for (uint32_t r = 0; r < p->resources; r++)
		sum += (double)o->s->reach[(size_t)node * p->resources + r] * o->weights[r];
	return sum;
}

/* Way 0: the most room first; 1: the least; else any order. */
static int next_node(const void *a, const void *b, void *context)
{
	const struct ordering *o = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double left, right;

	if (o->way > 1) {
		uint64_t i = mixed(x + (o->way << 32)), j = mixed(y + (o->way << 32));

		return i < j ? -1 : i > j;
	}
	left = room_of(o, x);
	right = room_of(o, y);
	if (left != right)
		return (left > right) == (o->way == 0) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void order_nodes(struct pack_search *s, uint64_t way)
{
	double weights[PACK_RESOURCES];
	struct ordering o = { .s = s, .weights = weights, .way = way };

	pack_weigh(s, weights);
	qsort_r(s->order, s->nodes, sizeof(*s->order), next_node, &o);
	pack_bounds_set(s);
	pack_spend(s, s->nodes * (8ul + s->p->kinds + s->p->resources));
}

/* What was left over costs more from now on, so that it goes first; and a little of chance. */
static void price(struct pack_search *s, uint64_t way)
{
	for (uint32_t k = 0; k < s->p->kinds; k++) {
		const double over = (double)s->least_left[k] / s->p->n[s->sorted[k]];
		const double chance = (double)(mixed(way * PACK_KINDS + k) % 1024) / 1024;

		if (way == 0)
			s->price[k] = s->size[k];
		else if (way % PATIENCE == 0)
			s->price[k] = s->size[k] * (1 + chance / 16);
		else
			s->price[k] *= 1 + over / 4 + chance / 64;
	}
}

static enum pack_answer attempts(struct pack_search *s)
{
	const uint64_t pieces = s->left_n;

	for (uint64_t way = 0; s->steps > 0; way++) {
		const uint64_t more = way / PATIENCE < 24 ? way / PATIENCE : 24;
		enum pack_answer answer;

		order_nodes(s, way % PATIENCE < 2 ? way % PATIENCE : way);
		price(s, way);
		s->width = WIDTH_FIRST << more;
		s->fails_most = (uint64_t)FAILS_FIRST << more;
		s->least_left_n = UINT64_MAX;
		answer = attempt(s);
		/* The next attempt begins with all of them. */
		assert(answer == PACK_PLACED || s->left_n == pieces);
		if (answer != PACK_GAVE_UP)
			return answer;
	}
	return PACK_GAVE_UP;
}

static void tell(const struct pack_search *s, uint16_t *placed)
{
	const uint32_t kinds = s->p->kinds;

	assert(s->left_n <= s->p->omit);
	memset(placed, 0, (size_t)s->p->nodes * kinds * sizeof(*placed));
	for (uint32_t d = 0; d < s->depth; d++) {
		const struct pack_frame *f = &s->frames[d];
		const struct pack_filling *filling = pack_filling_at(s, f->first + f->at);

		for (uint32_t k = 0; k < kinds; k++)
			placed[(size_t)s->order[d] * kinds + s->sorted[k]] = filling->pieces[k];
	}
}

enum pack_answer pack(const struct pack_problem *problem, uint64_t *steps, uint16_t *placed)
{
	struct pack_search s = { .p = problem, .steps = *steps };
	enum pack_answer answer;

	if (!pack_begin(&s))
		return PACK_GAVE_UP;
	answer = attempts(&s);
	if (answer == PACK_PLACED)
		tell(&s, placed);
	*steps = s.steps;
	pack_end(&s);
	return answer;
}
