/* SPDX-License-Identifier: Apache-2.0 */
/* Many nodes seen by one kind, four in one step.
 *
 * The same numbers as node_look() gives, from the same lines (core/cluster/fit.h): whole ones below
 * 2^53 in doubles, where a quotient that is guessed and then corrected by its remainder is exact,
 * and the shares of the balance by the same divisions.  What does not suit (other scores, ports,
 * holds, larger numbers) is left to node_look(). */
#include "core/index/views_impl.h"

#include "core/base/lanes.h"

#include <string.h>

static_assert(sizeof(struct node_fit) == 2 * sizeof(reals), "a line is two vectors");
static_assert(LOOKS_MOST == 64 && LOOKS_MOST % LANES == 0,
              "a bit each, and steps stay within the looks");

/* The lines of as many nodes, by column. */
struct columns {
	reals cpu, memory, cpu_scored, memory_scored;
	reals cpu_used, memory_used, pods_left, balance;
};

struct wanted {
	reals value, inverse; /* the same in each lane */
	uint32_t resource;
};

#define WANTED_MOST 8u

struct asking {
	const struct nodes *nodes;
	reals most;
	struct wanted cpu, memory, rest[WANTED_MOST];
	uint32_t rest_n;
	bool wants_cpu, wants_memory, balances;
	reals cpu_scored, memory_scored, cpu_used, memory_used; /* struct shape_fit */
};

struct found {
	masks exact; /* no number was too large */
	numbers sum; /* of counts */
};

struct counting {
	reals least;
	reals count; /* so many fit, or one less */
	masks less;
};

INLINE reals one_where(masks mask)
{
	return (reals)((masks)same(1) & mask);
}

/* The nearest whole number; |value| < 2^51.  Of a guess of a quotient it is never less than the
 * quotient cut off, and never more than one above: guesses are wrong by far less than a half. */
INLINE reals rounded(reals value)
{
	const reals large = same(0x1p52);

	return value + large - large;
}

INLINE bool all(masks mask)
{
	mask &= __builtin_shufflevector(mask, mask, 2, 3, 0, 1);
	return (mask[0] & mask[1]) != 0;
}

INLINE void transpose(const reals rows[LANES], reals *a, reals *b, reals *c, reals *d)
{
	reals low = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
	reals high = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
	reals low2 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
	reals high2 = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);

	*a = __builtin_shufflevector(low, low2, 0, 1, 4, 5);
	*b = __builtin_shufflevector(high, high2, 0, 1, 4, 5);
	*c = __builtin_shufflevector(low, low2, 2, 3, 6, 7);
	*d = __builtin_shufflevector(high, high2, 2, 3, 6, 7);
}

INLINE void columns_load(struct columns *c, const struct node_fit *fits, const node_id *ids)
{
	const reals *line[LANES] = { (const reals *)(const void *)&fits[ids[0]],
		                         (const reals *)(const void *)&fits[ids[1]],
		                         (const reals *)(const void *)&fits[ids[2]],
		                         (const reals *)(const void *)&fits[ids[3]] };
	const reals first[LANES] = { line[0][0], line[1][0], line[2][0], line[3][0] };
	const reals second[LANES] = { line[0][1], line[1][1], line[2][1], line[3][1] };

	transpose(first, &c->cpu, &c->memory, &c->cpu_scored, &c->memory_scored);
	transpose(second, &c->cpu_used, &c->memory_used, &c->pods_left, &c->balance);
}

/* ---- how many fit ------------------------------------------------------------ */

/* Of a resource that has no column. */
INLINE reals room_of(const struct asking *a, const node_id *ids, uint32_t resource)
{
	const size_t stride = a->nodes->stride;
	const int64_t *room = a->nodes->room + resource;

	return (reals){ (double)room[ids[0] * stride], (double)room[ids[1] * stride],
		            (double)room[ids[2] * stride], (double)room[ids[3] * stride] };
}

INLINE void count_guess(struct counting *n, reals room, const struct wanted *w)
{
	n->least = smaller(n->least, room * w->inverse);
}

INLINE void count_check(struct counting *n, reals room, const struct wanted *w)
{
	n->less |= n->count * w->value > room;
}

/* node_count() */
INLINE numbers counts_of(const struct asking *a, struct found *found, const struct columns *c,
                         const node_id *ids)
{
	const reals cpu = c->cpu - c->cpu_used, memory = c->memory - c->memory_used;
	/* Each pod is one pod. */
	struct counting n = { .least = smaller(a->most, c->pods_left) };

	if (a->wants_cpu)
		count_guess(&n, cpu, &a->cpu);
	if (a->wants_memory)
		count_guess(&n, memory, &a->memory);
	for (uint32_t i = 0; i < a->rest_n; i++) {
		const reals room = room_of(a, ids, a->rest[i].resource);

		found->exact &= (room < same(FIT_MOST)) & (room > same(-FIT_MOST));
		count_guess(&n, room, &a->rest[i]);
	}
	n.count = rounded(larger(n.least, same(0)));
	n.less = n.count > c->pods_left;
	if (a->wants_cpu)
		count_check(&n, cpu, &a->cpu);
	if (a->wants_memory)
		count_check(&n, memory, &a->memory);
	for (uint32_t i = 0; i < a->rest_n; i++)
		count_check(&n, room_of(a, ids, a->rest[i].resource), &a->rest[i]);
	n.count -= one_where(n.less);
	return __builtin_convertvector(larger(n.count, same(0)), numbers);
}

/* ---- how good they are ----------------------------------------------------------- */

/* part / of in whole numbers; 0 when part is less than 0. */
INLINE reals quotient(reals part, reals of, reals guess)
{
	const reals near = rounded(guess), rest = part - near * of;

	return larger(near - one_where(rest < same(0)), same(0));
}

/* fit_points() */
INLINE numbers points_of(const struct asking *a, const struct columns *c)
{
	const reals cpu_scored = c->cpu_scored + a->cpu_scored,
				memory_scored = c->memory_scored + a->memory_scored;
	const reals cpu_used = c->cpu_used + a->cpu_used, memory_used = c->memory_used + a->memory_used;
	const reals cpu_part = (c->cpu - cpu_scored) * same(100),
				memory_part = (c->memory - memory_scored) * same(100);
	reals cpu = cpu_used / c->cpu, memory = memory_used / c->memory, balance;
	reals cpu_guess = same(100) - cpu * same(100), memory_guess = same(100) - memory * same(100);
	numbers points, change;

	/* What scores count is mostly what is used; then the shares tell both. */
	if (!all((cpu_scored == cpu_used) & (memory_scored == memory_used))) {
		cpu_guess = cpu_part / c->cpu;
		memory_guess = memory_part / c->memory;
	}
	cpu_guess = quotient(cpu_part, c->cpu, cpu_guess);
	memory_guess = quotient(memory_part, c->memory, memory_guess);
	points = __builtin_convertvector(cpu_guess + memory_guess, numbers) >> 1;
	if (!a->balances)
		return points;
	cpu = smaller(cpu, same(1));
	memory = smaller(memory, same(1));
	balance = (same(1) - larger(cpu - memory, memory - cpu) * same(0.5)) * same(100);
	change =
		__builtin_convertvector(balance, numbers) - __builtin_convertvector(c->balance, numbers);
	return points + 50 + ((change + 50) >> 1);
}

/* ---- many -------------------------------------------------------------------------- */

/* The looks of as many nodes as there are lanes, as if all were allowed. */
INLINE void step(const struct asking *a, struct found *found, const node_id *ids, tree_key *keys,
                 uint32_t *counts)
{
	struct columns c;
	numbers key, count;
	keys_of_step narrow;

	columns_load(&c, a->nodes->fits, ids);
	found->exact &= c.balance >= same(0);
	count = counts_of(a, found, &c, ids);
	key = (points_of(a, &c) + 1) & (count > 0);
	narrow = __builtin_convertvector(key, keys_of_step);
	memcpy(keys, &narrow, sizeof(narrow));
	memcpy(counts, &count, sizeof(count));
	found->sum += count;
}

INLINE void wanted_set(struct wanted *w, const struct request *q)
{
	w->value = same((double)q->value);
	w->inverse = same(q->inverse);
	w->resource = q->resource;
}

INLINE void asking_begin(struct asking *a, const struct views *vs, const struct shape *s)
{
	const struct request *q = s->requests, *end = q + s->requests_n;

	a->nodes = vs->nodes;
	a->most = same((double)vs->most);
	a->rest_n = 0;
	a->cpu = a->memory = (struct wanted){ 0 };
	a->wants_cpu = q->resource == RESOURCE_CPU;
	if (a->wants_cpu)
		wanted_set(&a->cpu, q++);
	a->wants_memory = q->resource == RESOURCE_MEMORY;
	if (a->wants_memory)
		wanted_set(&a->memory, q++);
	for (; q < end; q++)
		if (q->resource != RESOURCE_PODS)
			wanted_set(&a->rest[a->rest_n++], q);
	a->cpu_scored = same(s->fit.cpu_scored);
	a->memory_scored = same(s->fit.memory_scored);
	a->cpu_used = same(s->fit.cpu_used);
	a->memory_used = same(s->fit.memory_used);
	a->balances = s->fit.balances;
}

/* n is a multiple of LANES.  False when some number was too large. */
INLINE bool steps(const struct views *vs, const struct shape *s, const node_id *ids, uint32_t n,
                  struct looks *out)
{
	struct asking a __attribute__((uninitialized));
	struct found found = { .exact = ~(masks){ 0 } };

	asking_begin(&a, vs, s);
	for (uint32_t i = 0; i < n; i += LANES)
		step(&a, &found, ids + i, out->keys + i, out->counts + i);
	out->sum = (uint64_t)((int64_t)found.sum[0] + found.sum[1] + found.sum[2] + found.sum[3]);
	return all(found.exact);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool steps_avx2(const struct views *vs,
                                                       const struct shape *s, const node_id *ids,
                                                       uint32_t n, struct looks *out)
{
	return steps(vs, s, ids, n, out);
}
#endif

static bool steps_plain(const struct views *vs, const struct shape *s, const node_id *ids,
                        uint32_t n, struct looks *out)
{
	return steps(vs, s, ids, n, out);
}

bool lanes_are_wide(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

static bool steps_any(const struct views *vs, const struct shape *s, const node_id *ids, uint32_t n,
                      struct looks *out)
{
#ifdef __x86_64__
	if (vs->wide_lanes)
		return steps_avx2(vs, s, ids, n, out);
#endif
	return steps_plain(vs, s, ids, n, out);
}

/* With images the points of a node are more than its line tells. */
bool lines_suit(const struct views *vs, const struct view *v, const struct shape *s)
{
	if (vs->score != SCORE_KUBE || !v->plain_room || !s->fit.exact || s->body->images_n > 0 ||
	    s->requests_n > WANTED_MOST)
		return false;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if ((double)s->requests[i].value >= FIT_MOST)
			return false;
	return true;
}

static void look_each(const struct views *vs, const struct view *v, const struct shape *s,
                      const node_id *ids, uint32_t n, struct looks *out)
{
	out->sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct look look = node_look(vs, v, s, ids[i]);

		out->keys[i] = (tree_key)look.key;
		out->counts[i] = look.count;
		out->sum += look.count;
	}
}

void nodes_look(const struct views *vs, const struct view *v, const struct shape *s, node_id *ids,
                uint32_t n, struct looks *out)
{
	const uint32_t end = (n + LANES - 1) / LANES * LANES;

	/* The last step looks at some node again. */
	for (uint32_t i = n; i < end; i++)
		ids[i] = ids[0];
	if (!lines_suit(vs, v, s) || !steps_any(vs, s, ids, end, out)) {
		look_each(vs, v, s, ids, n, out);
		return;
	}
	for (uint32_t i = n; i < end; i++)
		out->sum -= out->counts[i];
}

/* ---- a block, of which some are not allowed -------------------------------------------- */

/* A bit for each that the rules over one node allow. */
static uint64_t allowed_of(const struct shape *s, const node_id *ids, uint32_t n)
{
	const uint32_t word = ids[0] / 64, shift = ids[0] % 64;
	uint32_t differ = n ^ LOOKS_MOST;
	uint64_t bits = 0;

	/* Mostly names come in the order of ids. */
	for (uint32_t i = 0; n == LOOKS_MOST && i < LOOKS_MOST; i++)
		differ |= ids[i] ^ (ids[0] + i);
	if (differ == 0)
		return shift == 0 ? s->allowed[word]
		                  : s->allowed[word] >> shift | s->allowed[word + 1] << (64 - shift);
	for (uint32_t i = 0; i < n; i++)
		bits |= (uint64_t)shape_allows(s, ids[i]) << i;
	return bits;
}

static void look_sparse(const struct views *vs, const struct view *v, const struct shape *s,
                        const node_id *ids, uint32_t n, uint64_t allowed, struct looks *out)
{
	node_id chosen[LOOKS_MOST] __attribute__((uninitialized));
	struct looks looks __attribute__((uninitialized));
	uint32_t chosen_n = 0;

	memset(out->keys, 0, n * sizeof(out->keys[0]));
	memset(out->counts, 0, n * sizeof(out->counts[0]));
	out->sum = 0;
	for (uint64_t bits = allowed; bits; bits &= bits - 1)
		chosen[chosen_n++] = ids[__builtin_ctzll(bits)];
	if (chosen_n == 0)
		return;
	nodes_look(vs, v, s, chosen, chosen_n, &looks);
	out->sum = looks.sum;
	for (uint32_t i = 0; i < chosen_n; i++, allowed &= allowed - 1) {
		out->keys[__builtin_ctzll(allowed)] = looks.keys[i];
		out->counts[__builtin_ctzll(allowed)] = looks.counts[i];
	}
}

void block_look(const struct views *vs, const struct view *v, const struct shape *s,
                const node_id *ids, uint32_t n, struct looks *out)
{
	const uint64_t allowed = allowed_of(s, ids, n);

	/* Where few are not allowed it is quicker to look at all. */
	if (n < LOOKS_MOST || __builtin_popcountll(allowed) < 40 || !lines_suit(vs, v, s) ||
	    !steps_any(vs, s, ids, LOOKS_MOST, out)) {
		look_sparse(vs, v, s, ids, n, allowed, out);
		return;
	}
	for (uint64_t refused = ~allowed; refused; refused &= refused - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(refused);

		out->sum -= out->counts[i];
		out->keys[i] = 0;
		out->counts[i] = 0;
	}
}
