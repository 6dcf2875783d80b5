/* SPDX-License-Identifier: Apache-2.0 */
/* All nodes by themselves for one class, eight in one step, from packed columns
 * (core/index/columns.h) in single precision.
 *
 * Counts are exact: they are of whole numbers below 2^24, which floats hold.  Percents are wrong
 * by less than NEAR, so that rounded down they are right unless they are that near to a whole
 * number.  Such nodes, and those whose numbers floats do not hold, are scanned again with
 * scan_nodes(), so that the results are equal to the last bit.  Resources other than CPU, memory
 * and pods do not contribute to percents; the number of pods that fit by them is computed from the
 * nodes' free amounts.
 *
 * The error, in units of 100 * 2^-24 percent, which is one rounding of a hundred: percent left on
 * the node 1, the shape's part of it 3 (its amount, the share of one unit, their product), the
 * difference 1.  Balance: 2 for each free amount and 1 for their difference, of which half counts,
 * and 1 for the difference from 100.  That is 5 at most, half of NEAR.
 *
 * A balance of 100 is a whole number, and each node has it whose CPU, memory and requests are in
 * the ratio of the shape's requests.  These are known by their column, and not scanned again. */
#include "core/index/views_impl.h"

#include "core/base/simd.h"

#include <string.h>

#define NEAR 0x1p-14f
#define RESTS_MOST 8u

static_assert(SCAN_MOST == COLUMN_BLOCK && COLUMN_BLOCK == 64, "a bit each");

/* All lanes are equal. */
struct amount_lanes {
	f32x8 value, inverse;
	f32x8 spare; /* for rounding: a half; without a request more than any count */
};

struct request_lanes {
	struct amount_lanes cpu, memory;
	f32x8 cpu_scored, memory_scored;
	int32_t ratio; /* of the shape, as columns have it; 0: no node has it */
	const struct request *rest[RESTS_MOST]; /* resources without a column */
	uint32_t rest_n;
};

struct totals {
	i32x8 sum;    /* of counts */
	i32x8 unsure; /* some node of the lane may be rounded wrongly */
};

INLINE f32x8 absolute(f32x8 value)
{
	return (f32x8)((i32x8)value & INT32_MAX);
}

INLINE i32x8 truncate(f32x8 value)
{
	return __builtin_convertvector(value, i32x8);
}

INLINE f32x8 column_load(const float *at)
{
	f32x8 value;

	memcpy(&value, __builtin_assume_aligned(at, sizeof(value)), sizeof(value));
	return value;
}

INLINE f32x8 rounded(f32x8 free, const struct amount_lanes *w)
{
	return free * w->inverse + w->spare;
}

/* node_count() */
INLINE i32x8 counts_of(const struct request_lanes *a, f32x8 cpu, f32x8 memory, f32x8 pods)
{
	/* So many, or one fewer. */
	const i32x8 count =
		truncate(f32x8_min(pods, f32x8_min(rounded(cpu, &a->cpu), rounded(memory, &a->memory))));
	const f32x8 whole = __builtin_convertvector(count, f32x8);

	return count + ((whole * a->cpu.value > cpu) | (whole * a->memory.value > memory));
}

/* A lower bound of the distances of a value from the whole numbers below and above it: their
 * product. */
INLINE f32x8 distance(f32x8 value, i32x8 whole)
{
	const f32x8 above = value - __builtin_convertvector(whole, f32x8);

	return above - above * above;
}

/* fit_points() + 1 of nodes on which a pod fits, and where that may be rounded wrongly.  `even`:
 * after the pod the shares of both are equal. */
INLINE i32x8 keys_of(const struct request_lanes *a, const struct columns_step *s, f32x8 cpu_free,
                     f32x8 memory_free, i32x8 balance_now, i32x8 even, i32x8 *unsure)
{
	const f32x8 cpu_share = column_load(s->cpu_share), memory_share = column_load(s->memory_share);
	/* Every value below one half is 0 percent. */
	const f32x8 cpu =
		f32x8_max(f32x8_set(0.5f), column_load(s->cpu_left) - a->cpu_scored * cpu_share);
	const f32x8 memory =
		f32x8_max(f32x8_set(0.5f), column_load(s->memory_left) - a->memory_scored * memory_share);
	const f32x8 differ =
		(cpu_free - a->cpu.value) * cpu_share - (memory_free - a->memory.value) * memory_share;
	const f32x8 apart = (f32x8)((i32x8)differ & ~even);
	const f32x8 balance = 100.0f - absolute(apart) * 0.5f;
	const i32x8 cpu_whole = truncate(cpu), memory_whole = truncate(memory),
				balance_whole = truncate(balance);
	/* Free memory was rounded down to whole units. */
	const f32x8 least = distance(balance, balance_whole) - memory_share * 0.5f;
	const f32x8 others = (f32x8)((i32x8)least & ~even) + (f32x8)((i32x8)f32x8_set(1) & even);

	*unsure = f32x8_min(f32x8_min(distance(cpu, cpu_whole), distance(memory, memory_whole)),
	                    others) < NEAR;
	return ((cpu_whole + memory_whole) >> 1) + ((balance_whole + balance_now) >> 1);
}

/* The results of eight nodes, of those with a bit in `allowed`; key -1: may be rounded wrongly. */
INLINE void step(const struct request_lanes *a, struct totals *totals, const struct columns_step *s,
                 uint32_t allowed, bool ratio, tree_key *keys, uint32_t *counts)
{
	static const i32x8 bits = { 1, 2, 4, 8, 16, 32, 64, 128 };
	const f32x8 cpu = column_load(s->cpu_free), memory = column_load(s->memory_free);
	i32x8 others, count, open, key, unsure, even = { 0 };
	keyx8 narrow;

	memcpy(&others, s->others, sizeof(others));
	count = counts_of(a, cpu, memory,
	                  __builtin_convertvector(others & ((1 << COLUMN_RATIO) - 1), f32x8));
	count &= (((i32x8){ 0 } + (int32_t)allowed) & bits) == bits;
	open = count > 0;
	if (ratio)
		even = (others & COLUMN_RATIO_BITS) == a->ratio;
	key = keys_of(a, s, cpu, memory, others >> COLUMN_BALANCE, even, &unsure) | unsure;
	narrow = __builtin_convertvector(key & open, keyx8);
	memcpy(keys, &narrow, sizeof(narrow));
	memcpy(counts, &count, sizeof(count));
	totals->sum += count;
	totals->unsure |= unsure & open;
}

INLINE void amount_load(struct amount_lanes *w, double value)
{
	w->value = f32x8_set((float)value);
	w->inverse = f32x8_set(value > 0 ? (float)(1 / value) : 0);
	w->spare = f32x8_set(value > 0 ? 0.5f : COLUMN_MOST);
}

INLINE bool has_column(uint32_t resource)
{
	return resource == RESOURCE_CPU || resource == RESOURCE_MEMORY || resource == RESOURCE_PODS;
}

INLINE void request_load(struct request_lanes *a, const struct shape *s)
{
	amount_load(&a->cpu, s->fit.cpu_used);
	amount_load(&a->memory, s->fit.memory_used / COLUMN_UNIT);
	a->cpu_scored = f32x8_set((float)s->fit.cpu_scored);
	a->memory_scored = f32x8_set((float)(s->fit.memory_scored / COLUMN_UNIT));
	a->rest_n = 0;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if (!has_column(s->requests[i].resource))
			a->rest[a->rest_n++] = &s->requests[i];
}

/* As columns have it. */
static int32_t shape_ratio(const struct views *vs, const struct shape *s)
{
	return (int32_t)(columns_ratio(&vs->columns, s->fit.cpu_used, s->fit.memory_used / COLUMN_UNIT)
	                 << COLUMN_RATIO);
}

/* A bit for each of n nodes of a block that the rules over one node allow. */
INLINE uint64_t allowed_bits(const struct views *vs, const struct shape *s, uint32_t rank,
                             uint32_t n)
{
	const node_id first = vs->columns.first[rank / COLUMN_BLOCK];
	uint64_t bits = 0;

	if (first == ID_NONE || n < COLUMN_BLOCK) {
		for (uint32_t i = 0; i < n; i++)
			bits |= (uint64_t)shape_allows(s, vs->nodes->order[rank + i]) << i;
		return bits;
	}
	bits = s->allowed[first / 64] >> (first % 64);
	return first % 64 == 0 ? bits : bits | s->allowed[first / 64 + 1] << (64 - first % 64);
}

/* A bit for each of n nodes on which one pod fits by the resources without a column. */
static uint64_t rest_bits(const struct nodes *ns, const struct request_lanes *a,
                          const node_id *block, uint32_t n)
{
	uint64_t roomy = UINT64_MAX;

	for (uint32_t i = 0; i < a->rest_n; i++) {
		const int64_t *column = ns->free + a->rest[i]->resource, value = a->rest[i]->value;
		uint64_t bits = 0;

		for (uint32_t at = 0; at < n; at++)
			bits |= (uint64_t)(column[(size_t)block[at] * ns->stride] >= value) << at;
		roomy &= bits;
	}
	return roomy;
}

/* Lowers the counts to what those resources allow; returns by how much in all. */
static uint64_t rest_scan(const struct nodes *ns, const struct request_lanes *a,
                          const node_id *block, uint64_t roomy, uint32_t *counts)
{
	uint64_t fewer = 0;

	for (; roomy; roomy &= roomy - 1) {
		const uint32_t at = (uint32_t)__builtin_ctzll(roomy), count = counts[at];

		for (uint32_t i = 0; i < a->rest_n; i++)
			counts[at] = amount_count(nodes_free_amount(ns, block[at], a->rest[i]->resource),
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

/* Scans the nodes of a block that have key -1 again; returns by how much the sum of counts grew. */
static uint64_t unsure_scan(const struct views *vs, const struct view *v, const struct shape *s,
                            const node_id *block, uint32_t block_n, tree_key *keys,
                            uint32_t *counts)
{
	struct scan_results results __attribute__((uninitialized));
	node_id ids[SCAN_MOST] __attribute__((uninitialized));
	uint32_t at[SCAN_MOST] __attribute__((uninitialized));
	uint64_t more = 0;
	uint32_t n = 0;

	for (uint64_t bits = negative(keys, block_n); bits; bits &= bits - 1) {
		at[n] = (uint32_t)__builtin_ctzll(bits);
		ids[n] = block[at[n]];
		n++;
	}
	scan_nodes(vs, v, s, ids, n, &results);
	for (uint32_t i = 0; i < n; i++) {
		more += (uint64_t)results.counts[i] - counts[at[i]];
		keys[at[i]] = results.keys[i];
		counts[at[i]] = results.counts[i];
	}
	return more;
}

INLINE uint64_t block_steps(const struct request_lanes *a, const struct columns_step *steps,
                            uint32_t n, uint64_t allowed, bool ratio, tree_key *keys,
                            uint32_t *counts, bool *unsure)
{
	struct totals totals = { .sum = { 0 }, .unsure = { 0 } };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		step(a, &totals, &steps[i], allowed >> (i * F32_LANES) & ((1u << F32_LANES) - 1), ratio,
		     keys + i * F32_LANES, counts + i * F32_LANES);
	*unsure = false;
	for (uint32_t i = 0; i < F32_LANES; i++) {
		sum += (uint32_t)totals.sum[i];
		*unsure = *unsure || totals.unsure[i];
	}
	return sum;
}

/* `ratio`: the shape has that of some nodes. */
INLINE uint64_t ratio_steps(const struct views *vs, const struct view *v, const struct shape *s,
                            bool ratio, tree_key *keys, uint32_t *counts)
{
	const uint32_t nodes_n = vs->nodes->count;
	struct request_lanes a __attribute__((uninitialized));
	uint64_t sum = 0;
	bool unsure;

	request_load(&a, s);
	a.ratio = ratio ? shape_ratio(vs, s) : 0;
	for (uint32_t rank = 0; rank < nodes_n; rank += COLUMN_BLOCK) {
		const uint32_t n = nodes_n - rank < COLUMN_BLOCK ? nodes_n - rank : COLUMN_BLOCK,
					   steps_n = (n + F32_LANES - 1) / F32_LANES;
		const node_id *block = &vs->nodes->order[rank];
		uint64_t allowed = allowed_bits(vs, s, rank, n);

		if (a.rest_n > 0 && allowed != 0)
			allowed &= rest_bits(vs->nodes, &a, block, n);
		if (allowed == 0) {
			memset(keys + rank, 0, n * sizeof(*keys));
			memset(counts + rank, 0, n * sizeof(*counts));
			continue;
		}
		sum += block_steps(&a, &vs->columns.steps[rank / F32_LANES], steps_n, allowed, ratio,
		                   keys + rank, counts + rank, &unsure);
		if (unsure)
			sum += unsure_scan(vs, v, s, block, n, keys + rank, counts + rank);
		if (a.rest_n > 0)
			sum -= rest_scan(vs->nodes, &a, block, allowed, counts + rank);
	}
	return sum;
}

/* Two loops, so that shapes of no ratio pay nothing for it. */
INLINE uint64_t all_steps(const struct views *vs, const struct view *v, const struct shape *s,
                          tree_key *keys, uint32_t *counts)
{
	return shape_ratio(vs, s) > 0 ? ratio_steps(vs, v, s, true, keys, counts)
	                              : ratio_steps(vs, v, s, false, keys, counts);
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

static uint64_t all_sse2(const struct views *vs, const struct view *v, const struct shape *s,
                         tree_key *keys, uint32_t *counts)
{
	return all_steps(vs, v, s, keys, counts);
}

/* True if floats hold the shape's amounts of the resources with a column. */
static bool columns_suffice(const struct views *vs, const struct view *v, const struct shape *s)
{
	const double units = s->fit.memory_used / COLUMN_UNIT;

	return fit_suffices(vs, v, s) && s->fit.balances && s->fit.cpu_used < COLUMN_MOST &&
	       s->fit.cpu_scored < COLUMN_MOST && units < COLUMN_MOST &&
	       units <= (double)(uint32_t)units && s->requests_n <= RESTS_MOST;
}

static uint64_t all_blocks(const struct views *vs, const struct view *v, const struct shape *s,
                           tree_key *keys, uint32_t *counts)
{
	const struct nodes *ns = vs->nodes;
	struct scan_results results __attribute__((uninitialized));
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < ns->count; rank += SCAN_MOST) {
		const uint32_t n = ns->count - rank < SCAN_MOST ? ns->count - rank : SCAN_MOST;

		scan_block(vs, v, s, &ns->order[rank], n, &results);
		memcpy(&keys[rank], results.keys, n * sizeof(*keys));
		memcpy(&counts[rank], results.counts, n * sizeof(*counts));
		sum += results.sum;
	}
	return sum;
}

uint64_t scan_all(struct views *vs, const struct view *v, const struct shape *s, tree_key *keys,
                  uint32_t *counts)
{
	if (!columns_suffice(vs, v, s))
		return all_blocks(vs, v, s, keys, counts);
	columns_follow(&vs->columns, vs->nodes);
#ifdef __x86_64__
	if (vs->avx2)
		return all_avx2(vs, v, s, keys, counts);
#endif
	return all_sse2(vs, v, s, keys, counts);
}
