/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a node's resource scores in one cache line, and a fast computation of them.
 *
 * All numbers are whole and below 2^53, so doubles hold them exactly, and a truncated quotient is
 * the integer quotient: for whole a <= 100 b and b < 2^46, a / b is an integer or at least 1 / b
 * from the next one, far more than the rounding error.  A node with larger numbers, or without cpu
 * or memory, is scored by core/filter/score.c. */
#ifndef MUSTER_CORE_FIT_H
#define MUSTER_CORE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#define FIT_MOST ((double)(INT64_C(1) << 46))

struct node_fit {
	double cpu, memory;               /* allocatable */
	double cpu_scored, memory_scored; /* requests of placed pods as scores count them */
	double cpu_used, memory_used;     /* requests of placed pods */
	double pods_left;
	double balance; /* score_balanced() without the incoming pod; negative: not exact */
};

static inline bool fit_exact(const struct node_fit *f)
{
	return f->balance >= 0;
}

/* What a pod of a shape adds to these. */
struct shape_fit {
	double cpu_scored, memory_scored;
	double cpu_used, memory_used;
	bool balances;
	bool exact; /* all numbers are below FIT_MOST */
};

/* noderesources.BalancedAllocation of a node: 50 (uneven) to 100. */
static inline uint32_t fit_balance(const struct node_fit *f, double cpu_used, double memory_used)
{
	double cpu = cpu_used / f->cpu, memory = memory_used / f->memory, apart;

	cpu = cpu > 1 ? 1 : cpu;
	memory = memory > 1 ? 1 : memory;
	apart = (cpu > memory ? cpu - memory : memory - cpu) / 2;
	return (uint32_t)((1 - apart) * 100);
}

/* noderesources.LeastAllocated, plus BalancedAllocation if the shape requests cpu or memory: the
 * sum of score_node() and score_balanced(). */
static inline uint32_t fit_points(const struct node_fit *f, const struct shape_fit *s)
{
	double cpu_left = f->cpu - (f->cpu_scored + s->cpu_scored);
	double memory_left = f->memory - (f->memory_scored + s->memory_scored);
	uint32_t cpu = cpu_left > 0 ? (uint32_t)(cpu_left * 100 / f->cpu) : 0;
	uint32_t memory = memory_left > 0 ? (uint32_t)(memory_left * 100 / f->memory) : 0;
	uint32_t points = (cpu + memory) / 2;
	int32_t balance;

	if (!s->balances)
		return points;
	balance = (int32_t)fit_balance(f, f->cpu_used + s->cpu_used, f->memory_used + s->memory_used);
	return points + (uint32_t)(50 + (50 + balance - (int32_t)f->balance) / 2);
}

#endif
