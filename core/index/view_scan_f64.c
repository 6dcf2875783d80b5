/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 64 nodes by themselves for one class, four in one step, in double precision.
 *
 * The results equal those of scan_node() and come from the same struct node_fit
 * (core/cluster/fit.h).  Whole numbers below 2^53 are exact in doubles: a quotient is estimated and
 * corrected by its remainder, and the shares of the balance are the same divisions as
 * fit_balance() makes.  What does not suit (other scores, ports, images, a reservation, larger
 * numbers) goes to scan_node(). */
#include "core/index/views_impl.h"

#include "core/base/simd.h"

#include <string.h>

static_assert(sizeof(struct node_fit) == 2 * sizeof(f64x4), "struct node_fit is two vectors");
static_assert(SCAN_MOST % F64_LANES == 0, "padding stays within the arrays");

/* struct node_fit of four nodes. */
struct fit_lanes {
	f64x4 cpu, memory, cpu_scored, memory_scored;
	f64x4 cpu_used, memory_used, pods_left, balance;
};

struct amount_lanes {
	f64x4 value, inverse; /* all lanes are equal */
	uint32_t resource;
};

#define REQUESTS_MOST 8u

struct request_lanes {
	const struct nodes *nodes;
	f64x4 most;
	struct amount_lanes cpu, memory, rest[REQUESTS_MOST];
	uint32_t rest_n;
	bool has_cpu, has_memory, balances;
	f64x4 cpu_scored, memory_scored, cpu_used, memory_used; /* struct shape_fit */
};

struct totals {
	i64x4 exact; /* no number was too large for a double */
	i32x4 sum;   /* of counts */
};

struct counting {
	f64x4 least;
	f64x4 count; /* so many fit, or one fewer where `less` is set */
	i64x4 less;
};

INLINE f64x4 one_where(i64x4 mask)
{
	return (f64x4)((i64x4)f64x4_set(1) & mask);
}

/* The nearest whole number; |value| < 2^51.  Of an estimate of a quotient it is the quotient
 * rounded down or one more: the error of an estimate is far below a half. */
INLINE f64x4 rounded(f64x4 value)
{
	const f64x4 large = f64x4_set(0x1p52);

	return value + large - large;
}

INLINE bool all(i64x4 mask)
{
	mask &= __builtin_shufflevector(mask, mask, 2, 3, 0, 1);
	return (mask[0] & mask[1]) != 0;
}

INLINE void transpose(const f64x4 rows[F64_LANES], f64x4 *a, f64x4 *b, f64x4 *c, f64x4 *d)
{
	f64x4 low = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
	f64x4 high = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
	f64x4 low2 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
	f64x4 high2 = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);

	*a = __builtin_shufflevector(low, low2, 0, 1, 4, 5);
	*b = __builtin_shufflevector(high, high2, 0, 1, 4, 5);
	*c = __builtin_shufflevector(low, low2, 2, 3, 6, 7);
	*d = __builtin_shufflevector(high, high2, 2, 3, 6, 7);
}

INLINE void fit_load(struct fit_lanes *c, const struct node_fit *fits, const node_id *ids)
{
	const f64x4 *line[F64_LANES] = { (const f64x4 *)(const void *)&fits[ids[0]],
		                             (const f64x4 *)(const void *)&fits[ids[1]],
		                             (const f64x4 *)(const void *)&fits[ids[2]],
		                             (const f64x4 *)(const void *)&fits[ids[3]] };
	const f64x4 first[F64_LANES] = { line[0][0], line[1][0], line[2][0], line[3][0] };
	const f64x4 second[F64_LANES] = { line[0][1], line[1][1], line[2][1], line[3][1] };

	transpose(first, &c->cpu, &c->memory, &c->cpu_scored, &c->memory_scored);
	transpose(second, &c->cpu_used, &c->memory_used, &c->pods_left, &c->balance);
}

/* Free amounts of a resource that is not in struct node_fit. */
INLINE f64x4 free_load(const struct request_lanes *a, const node_id *ids, uint32_t resource)
{
	const size_t stride = a->nodes->stride;
	const int64_t *column = a->nodes->free + resource;

	return (f64x4){ (double)column[ids[0] * stride], (double)column[ids[1] * stride],
		            (double)column[ids[2] * stride], (double)column[ids[3] * stride] };
}

INLINE void count_guess(struct counting *n, f64x4 free, const struct amount_lanes *w)
{
	n->least = f64x4_min(n->least, free * w->inverse);
}

INLINE void count_check(struct counting *n, f64x4 free, const struct amount_lanes *w)
{
	n->less |= n->count * w->value > free;
}

/* node_count() */
INLINE i32x4 counts_of(const struct request_lanes *a, struct totals *totals,
                       const struct fit_lanes *c, const node_id *ids)
{
	const f64x4 cpu = c->cpu - c->cpu_used, memory = c->memory - c->memory_used;
	/* A pod requests one of RESOURCE_PODS. */
	struct counting n = { .least = f64x4_min(a->most, c->pods_left) };

	if (a->has_cpu)
		count_guess(&n, cpu, &a->cpu);
	if (a->has_memory)
		count_guess(&n, memory, &a->memory);
	for (uint32_t i = 0; i < a->rest_n; i++) {
		const f64x4 free = free_load(a, ids, a->rest[i].resource);

		totals->exact &= (free < FIT_MOST) & (free > -FIT_MOST);
		count_guess(&n, free, &a->rest[i]);
	}
	n.count = rounded(f64x4_max(n.least, f64x4_set(0)));
	n.less = n.count > c->pods_left;
	if (a->has_cpu)
		count_check(&n, cpu, &a->cpu);
	if (a->has_memory)
		count_check(&n, memory, &a->memory);
	for (uint32_t i = 0; i < a->rest_n; i++)
		count_check(&n, free_load(a, ids, a->rest[i].resource), &a->rest[i]);
	n.count -= one_where(n.less);
	return __builtin_convertvector(f64x4_max(n.count, f64x4_set(0)), i32x4);
}

/* part / of, rounded down; 0 when part is negative. */
INLINE f64x4 quotient(f64x4 part, f64x4 of, f64x4 guess)
{
	const f64x4 near = rounded(guess), rest = part - near * of;

	return f64x4_max(near - one_where(rest < 0.0), f64x4_set(0));
}

/* fit_points() */
INLINE i32x4 points_of(const struct request_lanes *a, const struct fit_lanes *c)
{
	const f64x4 cpu_scored = c->cpu_scored + a->cpu_scored;
	const f64x4 memory_scored = c->memory_scored + a->memory_scored;
	const f64x4 cpu_used = c->cpu_used + a->cpu_used, memory_used = c->memory_used + a->memory_used;
	const f64x4 cpu_part = (c->cpu - cpu_scored) * 100.0;
	const f64x4 memory_part = (c->memory - memory_scored) * 100.0;
	f64x4 cpu = cpu_used / c->cpu, memory = memory_used / c->memory, balance;
	f64x4 cpu_guess = 100.0 - cpu * 100.0, memory_guess = 100.0 - memory * 100.0;
	i32x4 points, change;

	/* Mostly every pod requests what scores count, and then the shares are quotients for both. */
	if (!all((cpu_scored == cpu_used) & (memory_scored == memory_used))) {
		cpu_guess = cpu_part / c->cpu;
		memory_guess = memory_part / c->memory;
	}
	cpu_guess = quotient(cpu_part, c->cpu, cpu_guess);
	memory_guess = quotient(memory_part, c->memory, memory_guess);
	points = __builtin_convertvector(cpu_guess + memory_guess, i32x4) >> 1;
	if (!a->balances)
		return points;
	cpu = f64x4_min(cpu, f64x4_set(1));
	memory = f64x4_min(memory, f64x4_set(1));
	balance = (1.0 - f64x4_max(cpu - memory, memory - cpu) * 0.5) * 100.0;
	change = __builtin_convertvector(balance, i32x4) - __builtin_convertvector(c->balance, i32x4);
	return points + 50 + ((change + 50) >> 1);
}

/* The results of four nodes, as if the rules allowed all. */
INLINE void step(const struct request_lanes *a, struct totals *totals, const node_id *ids,
                 tree_key *keys, uint32_t *counts)
{
	struct fit_lanes c;
	i32x4 key, count;
	keyx4 narrow;

	fit_load(&c, a->nodes->fits, ids);
	totals->exact &= c.balance >= 0.0;
	count = counts_of(a, totals, &c, ids);
	key = (points_of(a, &c) + 1) & (count > 0);
	narrow = __builtin_convertvector(key, keyx4);
	memcpy(keys, &narrow, sizeof(narrow));
	memcpy(counts, &count, sizeof(count));
	totals->sum += count;
}

INLINE void amount_load(struct amount_lanes *w, const struct request *q)
{
	w->value = f64x4_set((double)q->value);
	w->inverse = f64x4_set(q->inverse);
	w->resource = q->resource;
}

INLINE void request_load(struct request_lanes *a, const struct views *vs, const struct shape *s)
{
	const struct request *q = s->requests, *end = q + s->requests_n;

	a->nodes = vs->nodes;
	a->most = f64x4_set((double)vs->most);
	a->rest_n = 0;
	a->cpu = a->memory = (struct amount_lanes){ 0 };
	a->has_cpu = q->resource == RESOURCE_CPU;
	if (a->has_cpu)
		amount_load(&a->cpu, q++);
	a->has_memory = q->resource == RESOURCE_MEMORY;
	if (a->has_memory)
		amount_load(&a->memory, q++);
	for (; q < end; q++)
		if (q->resource != RESOURCE_PODS)
			amount_load(&a->rest[a->rest_n++], q);
	a->cpu_scored = f64x4_set(s->fit.cpu_scored);
	a->memory_scored = f64x4_set(s->fit.memory_scored);
	a->cpu_used = f64x4_set(s->fit.cpu_used);
	a->memory_used = f64x4_set(s->fit.memory_used);
	a->balances = s->fit.balances;
}

/* n is a multiple of F64_LANES.  False when some number was too large for a double. */
INLINE bool steps(const struct views *vs, const struct shape *s, const node_id *ids, uint32_t n,
                  struct scan_results *out)
{
	struct request_lanes a __attribute__((uninitialized));
	struct totals totals = { .exact = ~(i64x4){ 0 } };

	request_load(&a, vs, s);
	for (uint32_t i = 0; i < n; i += F64_LANES)
		step(&a, &totals, ids + i, out->keys + i, out->counts + i);
	out->sum = (uint64_t)((int64_t)totals.sum[0] + totals.sum[1] + totals.sum[2] + totals.sum[3]);
	return all(totals.exact);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool steps_avx2(const struct views *vs,
                                                       const struct shape *s, const node_id *ids,
                                                       uint32_t n, struct scan_results *out)
{
	return steps(vs, s, ids, n, out);
}
#endif

static bool steps_sse2(const struct views *vs, const struct shape *s, const node_id *ids,
                       uint32_t n, struct scan_results *out)
{
	return steps(vs, s, ids, n, out);
}

bool simd_has_avx2(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

static bool steps_run(const struct views *vs, const struct shape *s, const node_id *ids, uint32_t n,
                      struct scan_results *out)
{
#ifdef __x86_64__
	if (vs->avx2)
		return steps_avx2(vs, s, ids, n, out);
#endif
	return steps_sse2(vs, s, ids, n, out);
}

/* ImageLocality's score is not in struct node_fit, nor are devices. */
bool fit_suffices(const struct views *vs, const struct view *v, const struct shape *s)
{
	if (vs->score != SCORE_KUBE || !v->plain_counts || !s->fit.exact || v->has_images ||
	    s->requests_n > REQUESTS_MOST || s->body->devices > 0)
		return false;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if ((double)s->requests[i].value >= FIT_MOST)
			return false;
	return true;
}

static void scan_each(const struct views *vs, const struct view *v, const struct shape *s,
                      const node_id *ids, uint32_t n, struct scan_results *out)
{
	out->sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct scan_result result = scan_node(vs, v, s, ids[i]);

		out->keys[i] = (tree_key)result.key;
		out->counts[i] = result.count;
		out->sum += result.count;
	}
}

void scan_nodes(const struct views *vs, const struct view *v, const struct shape *s, node_id *ids,
                uint32_t n, struct scan_results *out)
{
	const uint32_t end = (n + F64_LANES - 1) / F64_LANES * F64_LANES;

	/* The last step is padded with the first node. */
	for (uint32_t i = n; i < end; i++)
		ids[i] = ids[0];
	if (!fit_suffices(vs, v, s) || !steps_run(vs, s, ids, end, out)) {
		scan_each(vs, v, s, ids, n, out);
		return;
	}
	for (uint32_t i = n; i < end; i++)
		out->sum -= out->counts[i];
}

/* Only the nodes that the rules over one node allow are scanned. */
void scan_block(const struct views *vs, const struct view *v, const struct shape *s,
                const node_id *ids, uint32_t n, struct scan_results *out)
{
	node_id allowed[SCAN_MOST] __attribute__((uninitialized));
	uint32_t at[SCAN_MOST] __attribute__((uninitialized));
	struct scan_results results __attribute__((uninitialized));
	uint32_t allowed_n = 0;

	memset(out->keys, 0, n * sizeof(out->keys[0]));
	memset(out->counts, 0, n * sizeof(out->counts[0]));
	out->sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		at[allowed_n] = i;
		allowed[allowed_n] = ids[i];
		allowed_n += shape_allows(s, ids[i]);
	}
	if (allowed_n == 0)
		return;
	scan_nodes(vs, v, s, allowed, allowed_n, &results);
	out->sum = results.sum;
	for (uint32_t i = 0; i < allowed_n; i++) {
		out->keys[at[i]] = results.keys[i];
		out->counts[at[i]] = results.counts[i];
	}
}
