/* SPDX-License-Identifier: Apache-2.0 */
/* All nodes seen by one kind, eight in one step, by their digest (core/index/digest.h) in single
 * precision.
 *
 * Counts are of whole numbers below 2^24, which singles hold, and exact like those of doubles in
 * core/index/views_lanes.c.  Percents are wrong by less than NEAR: cut off they are right unless
 * they lie that near to a whole number.  Such nodes, and those whose numbers singles don't hold,
 * are looked at once more by their lines, so that what comes out is the same to the last bit.
 * Resources beside cpu, memory and pods have no say in percents; how many fit by them is asked of
 * the nodes' room.
 *
 * How wrong, in units of 100 * 2^-24 percent, a rounding of a hundred: what is left of the node 1,
 * the shape's part of it 3 (its amount, the share of one, their product), the difference 1.  Of the
 * balance: both rooms 2 each and their difference 1, of which a half counts, and what that leaves
 * of 100 is 1 more.  That is 5 at most, half of NEAR. */
#include "core/index/views_impl.h"

#include <string.h>

#define LANES DIGEST_LANES
#define INLINE static inline __attribute__((always_inline))
#define NEAR 0x1p-14f
#define RESTS_MOST 8u

typedef float singles __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t numbers
	__attribute__((vector_size(LANES * sizeof(int32_t)))); /* and masks, -1: yes */
typedef tree_key keys_of_step __attribute__((vector_size(LANES * sizeof(tree_key))));

static_assert(LOOKS_MOST == DIGEST_BLOCK && DIGEST_BLOCK == 64, "a bit each");

/* The same in each lane. */
struct wanted {
	singles value, inverse;
	singles spare; /* a half; where nothing is asked for more than any node takes */
};

struct asking {
	struct wanted cpu, memory;
	singles cpu_scored, memory_scored;
	const struct request *rest[RESTS_MOST]; /* of resources without a column */
	uint32_t rest_n;
};

struct found {
	numbers sum;    /* of counts */
	numbers unsure; /* some lane was */
};

INLINE singles same(float value)
{
	return (singles){ value, value, value, value, value, value, value, value };
}

/* As loops, of which compilers make one instruction. */

INLINE singles smaller(singles a, singles b)
{
	for (uint32_t i = 0; i < LANES; i++)
		a[i] = a[i] < b[i] ? a[i] : b[i];
	return a;
}

INLINE singles larger(singles a, singles b)
{
	for (uint32_t i = 0; i < LANES; i++)
		a[i] = a[i] > b[i] ? a[i] : b[i];
	return a;
}

INLINE singles without_sign(singles value)
{
	return (singles)((numbers)value & INT32_MAX);
}

INLINE numbers cut_off(singles value)
{
	return __builtin_convertvector(value, numbers);
}

INLINE singles column(const float *at)
{
	singles value;

	memcpy(&value, __builtin_assume_aligned(at, sizeof(value)), sizeof(value));
	return value;
}

/* ---- how many fit ------------------------------------------------------------ */

INLINE singles rounded(singles room, const struct wanted *w)
{
	return room * w->inverse + w->spare;
}

/* node_count() */
INLINE numbers counts_of(const struct asking *a, singles cpu, singles memory, singles pods)
{
	/* So many, or one less. */
	const numbers count =
		cut_off(smaller(pods, smaller(rounded(cpu, &a->cpu), rounded(memory, &a->memory))));
	const singles whole = __builtin_convertvector(count, singles);

	return count + ((whole * a->cpu.value > cpu) | (whole * a->memory.value > memory));
}

/* ---- how good they are ----------------------------------------------------------- */

/* How far a value is from both whole numbers beside it: one distance times the other, which is no
 * more than either. */
INLINE singles distance(singles value, numbers whole)
{
	const singles above = value - __builtin_convertvector(whole, singles);

	return above - above * above;
}

/* fit_points() of nodes where it fits, and 1; and where that is not sure. */
INLINE numbers keys_of(const struct asking *a, const struct digest_step *s, singles cpu_room,
                       singles memory_room, numbers balance_now, numbers *unsure)
{
	const singles cpu_share = column(s->cpu_share), memory_share = column(s->memory_share);
	/* Below a half it is 0, whatever it is. */
	const singles cpu = larger(same(0.5f), column(s->cpu_left) - a->cpu_scored * cpu_share);
	const singles memory =
		larger(same(0.5f), column(s->memory_left) - a->memory_scored * memory_share);
	const singles apart =
		(cpu_room - a->cpu.value) * cpu_share - (memory_room - a->memory.value) * memory_share;
	const singles balance = same(100) - without_sign(apart) * same(0.5f);
	const numbers cpu_whole = cut_off(cpu), memory_whole = cut_off(memory),
				  balance_whole = cut_off(balance);
	/* Room of memory was cut off to whole units. */
	const singles least = distance(balance, balance_whole) - memory_share * same(0.5f);

	*unsure = smaller(smaller(distance(cpu, cpu_whole), distance(memory, memory_whole)), least) <
	          same(NEAR);
	return ((cpu_whole + memory_whole) >> 1) + ((balance_whole + balance_now) >> 1);
}

/* ---- many -------------------------------------------------------------------------- */

/* The looks of as many nodes as there are lanes, those with a bit; key -1: unsure. */
INLINE void step(const struct asking *a, struct found *found, const struct digest_step *s,
                 uint32_t allowed, tree_key *keys, uint32_t *counts)
{
	static const numbers bits = { 1, 2, 4, 8, 16, 32, 64, 128 };
	const singles cpu = column(s->cpu_room), memory = column(s->memory_room);
	numbers others, count, open, key, unsure;
	keys_of_step narrow;

	memcpy(&others, s->others, sizeof(others));
	count = counts_of(a, cpu, memory,
	                  __builtin_convertvector(others & ((1 << DIGEST_BALANCE) - 1), singles));
	count &= (((numbers){ 0 } + (int32_t)allowed) & bits) == bits;
	open = count > 0;
	key = keys_of(a, s, cpu, memory, others >> DIGEST_BALANCE, &unsure) | unsure;
	narrow = __builtin_convertvector(key & open, keys_of_step);
	memcpy(keys, &narrow, sizeof(narrow));
	memcpy(counts, &count, sizeof(count));
	found->sum += count;
	found->unsure |= unsure & open;
}

INLINE void wanted_set(struct wanted *w, double value)
{
	w->value = same((float)value);
	w->inverse = same(value > 0 ? (float)(1 / value) : 0);
	w->spare = same(value > 0 ? 0.5f : DIGEST_MOST);
}

INLINE bool has_column(uint32_t resource)
{
	return resource == RESOURCE_CPU || resource == RESOURCE_MEMORY || resource == RESOURCE_PODS;
}

INLINE void asking_begin(struct asking *a, const struct shape *s)
{
	wanted_set(&a->cpu, s->fit.cpu_used);
	wanted_set(&a->memory, s->fit.memory_used / DIGEST_UNIT);
	a->cpu_scored = same((float)s->fit.cpu_scored);
	a->memory_scored = same((float)(s->fit.memory_scored / DIGEST_UNIT));
	a->rest_n = 0;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if (!has_column(s->requests[i].resource))
			a->rest[a->rest_n++] = &s->requests[i];
}

/* A bit for each of n nodes of a block that the rules over one node allow. */
INLINE uint64_t allowed_of(const struct views *vs, const struct shape *s, uint32_t rank, uint32_t n)
{
	const node_id first = vs->digest.first[rank / DIGEST_BLOCK];
	uint64_t bits = 0;

	if (first == ID_NONE || n < DIGEST_BLOCK) {
		for (uint32_t i = 0; i < n; i++)
			bits |= (uint64_t)shape_allows(s, vs->nodes->order[rank + i]) << i;
		return bits;
	}
	bits = s->allowed[first / 64] >> (first % 64);
	return first % 64 == 0 ? bits : bits | s->allowed[first / 64 + 1] << (64 - first % 64);
}

/* A bit for each of n nodes that has room for one by the resources without a column. */
static uint64_t roomy_of(const struct nodes *ns, const struct asking *a, const node_id *block,
                         uint32_t n)
{
	uint64_t roomy = UINT64_MAX;

	for (uint32_t i = 0; i < a->rest_n; i++) {
		const int64_t *room = ns->room + a->rest[i]->resource, value = a->rest[i]->value;
		uint64_t bits = 0;

		for (uint32_t at = 0; at < n; at++)
			bits |= (uint64_t)(room[(size_t)block[at] * ns->stride] >= value) << at;
		roomy &= bits;
	}
	return roomy;
}

/* No more fit there than by those resources either.  How many fewer that are. */
static uint64_t rest_look(const struct nodes *ns, const struct asking *a, const node_id *block,
                          uint64_t roomy, uint32_t *counts)
{
	uint64_t fewer = 0;

	for (; roomy; roomy &= roomy - 1) {
		const uint32_t at = (uint32_t)__builtin_ctzll(roomy), count = counts[at];

		for (uint32_t i = 0; i < a->rest_n; i++)
			counts[at] = amount_count(nodes_room(ns, block[at], a->rest[i]->resource),
			                          a->rest[i]->value, a->rest[i]->inverse, counts[at]);
		fewer += count - counts[at];
	}
	return fewer;
}

/* A bit for each of n keys below 0. */
static uint64_t negative(const tree_key *keys, uint32_t n)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++)
		bits |= (uint64_t)(keys[i] < 0) << i;
	return bits;
}

/* Those of a block of n nodes with key -1, by their lines.  How many more of them fit than it said.
 */
static uint64_t unsure_look(const struct views *vs, const struct view *v, const struct shape *s,
                            const node_id *block, uint32_t block_n, tree_key *keys,
                            uint32_t *counts)
{
	struct looks looks __attribute__((uninitialized));
	node_id ids[LOOKS_MOST] __attribute__((uninitialized));
	uint32_t at[LOOKS_MOST] __attribute__((uninitialized));
	uint64_t more = 0;
	uint32_t n = 0;

	for (uint64_t bits = negative(keys, block_n); bits; bits &= bits - 1) {
		at[n] = (uint32_t)__builtin_ctzll(bits);
		ids[n] = block[at[n]];
		n++;
	}
	nodes_look(vs, v, s, ids, n, &looks);
	for (uint32_t i = 0; i < n; i++) {
		more += (uint64_t)looks.counts[i] - counts[at[i]];
		keys[at[i]] = looks.keys[i];
		counts[at[i]] = looks.counts[i];
	}
	return more;
}

INLINE uint64_t block_steps(const struct asking *a, const struct digest_step *steps, uint32_t n,
                            uint64_t allowed, tree_key *keys, uint32_t *counts, bool *unsure)
{
	struct found found = { .sum = { 0 }, .unsure = { 0 } };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		step(a, &found, &steps[i], allowed >> (i * LANES) & ((1u << LANES) - 1), keys + i * LANES,
		     counts + i * LANES);
	*unsure = false;
	for (uint32_t i = 0; i < LANES; i++) {
		sum += (uint32_t)found.sum[i];
		*unsure = *unsure || found.unsure[i];
	}
	return sum;
}

INLINE uint64_t all_steps(const struct views *vs, const struct view *v, const struct shape *s,
                          tree_key *keys, uint32_t *counts)
{
	const uint32_t nodes_n = vs->nodes->count;
	struct asking a __attribute__((uninitialized));
	uint64_t sum = 0;
	bool unsure;

	asking_begin(&a, s);
	for (uint32_t rank = 0; rank < nodes_n; rank += DIGEST_BLOCK) {
		const uint32_t n = nodes_n - rank < DIGEST_BLOCK ? nodes_n - rank : DIGEST_BLOCK,
					   steps_n = (n + LANES - 1) / LANES;
		const node_id *block = &vs->nodes->order[rank];
		uint64_t allowed = allowed_of(vs, s, rank, n);

		if (a.rest_n > 0 && allowed != 0)
			allowed &= roomy_of(vs->nodes, &a, block, n);
		if (allowed == 0) {
			memset(keys + rank, 0, n * sizeof(*keys));
			memset(counts + rank, 0, n * sizeof(*counts));
			continue;
		}
		sum += block_steps(&a, &vs->digest.steps[rank / LANES], steps_n, allowed, keys + rank,
		                   counts + rank, &unsure);
		if (unsure)
			sum += unsure_look(vs, v, s, block, n, keys + rank, counts + rank);
		if (a.rest_n > 0)
			sum -= rest_look(vs->nodes, &a, block, allowed, counts + rank);
	}
	return sum;
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static uint64_t all_avx2(const struct views *vs,
                                                             const struct view *v,
                                                             const struct shape *s, tree_key *keys,
                                                             uint32_t *counts)
{
	return all_steps(vs, v, s, keys, counts);
}
#endif

static uint64_t all_plain(const struct views *vs, const struct view *v, const struct shape *s,
                          tree_key *keys, uint32_t *counts)
{
	return all_steps(vs, v, s, keys, counts);
}

/* Singles hold its numbers of what has a column. */
static bool suits(const struct views *vs, const struct view *v, const struct shape *s)
{
	const double units = s->fit.memory_used / DIGEST_UNIT;

	return lines_suit(vs, v, s) && s->fit.balances && s->fit.cpu_used < DIGEST_MOST &&
	       s->fit.cpu_scored < DIGEST_MOST && units < DIGEST_MOST &&
	       units <= (double)(uint32_t)units && s->requests_n <= RESTS_MOST;
}

static uint64_t all_lines(const struct views *vs, const struct view *v, const struct shape *s,
                          tree_key *keys, uint32_t *counts)
{
	const struct nodes *ns = vs->nodes;
	struct looks looks __attribute__((uninitialized));
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < ns->count; rank += LOOKS_MOST) {
		const uint32_t n = ns->count - rank < LOOKS_MOST ? ns->count - rank : LOOKS_MOST;

		block_look(vs, v, s, &ns->order[rank], n, &looks);
		memcpy(&keys[rank], looks.keys, n * sizeof(*keys));
		memcpy(&counts[rank], looks.counts, n * sizeof(*counts));
		sum += looks.sum;
	}
	return sum;
}

uint64_t all_look(struct views *vs, const struct view *v, const struct shape *s, tree_key *keys,
                  uint32_t *counts)
{
	if (!suits(vs, v, s))
		return all_lines(vs, v, s, keys, counts);
	digest_follow(&vs->digest, vs->nodes);
#ifdef __x86_64__
	if (vs->wide_lanes)
		return all_avx2(vs, v, s, keys, counts);
#endif
	return all_plain(vs, v, s, keys, counts);
}
