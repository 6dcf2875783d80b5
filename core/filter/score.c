/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/score.h"

#include <math.h>

/* part * 100 / whole, 0 <= part <= whole, whole > 0 */
static uint32_t percent(int64_t part, int64_t whole)
{
	if (part <= INT64_MAX / 100)
		return (uint32_t)(part * 100 / whole);
	return (uint32_t)((wide)part * 100 / whole);
}

/* ---- how full the node gets ----------------------------------------------------------- */

static uint32_t score_part(enum score_policy policy, int64_t allocatable, wide requested)
{
	int64_t used = wide_cut(requested);

	if (policy == SCORE_PACK)
		return percent(used < allocatable ? used : allocatable, allocatable);
	return used < allocatable ? percent(allocatable - used, allocatable) : 0;
}

static uint32_t score_allocated(enum score_policy policy, const struct nodes *ns, node_id id,
                                const struct shape *s)
{
	int64_t cpu = nodes_allocatable(ns, id, RESOURCE_CPU);
	int64_t memory = nodes_allocatable(ns, id, RESOURCE_MEMORY);
	uint32_t sum = 0, parts = 0;

	if (cpu > 0) {
		sum +=
			score_part(policy, cpu, nodes_scored(ns, id, SCORED_CPU) + s->body->scored_cpu_milli);
		parts++;
	}
	if (memory > 0) {
		sum += score_part(policy, memory,
		                  nodes_scored(ns, id, SCORED_MEMORY) + s->body->scored_memory_bytes);
		parts++;
	}
	return parts > 0 ? sum / parts : 0;
}

static uint32_t score_bestfit(const struct nodes *ns, node_id id, const struct shape *s)
{
	uint32_t left = 0, parts = 0;

	for (uint32_t i = 0; i < s->requests_n; i++) {
		const struct request *q = &s->requests[i];
		int64_t allocatable = nodes_allocatable(ns, id, q->resource);
		int64_t room = nodes_room(ns, id, q->resource);

		if (allocatable == 0 || (q->resource == RESOURCE_PODS && s->requests_n > 1))
			continue;
		parts++;
		if (room > q->value)
			left += percent(room - q->value, allocatable);
	}
	return parts > 0 ? SCORE_MOST - left / parts : 0;
}

uint32_t score_node(enum score_policy policy, const struct nodes *ns, node_id id,
                    const struct shape *s)
{
	return policy == SCORE_BESTFIT ? score_bestfit(ns, id, s) : score_allocated(policy, ns, id, s);
}

/* ---- how even cpu and memory are used ------------------------------------------------ */

static int64_t request_of(const struct shape *s, uint32_t resource)
{
	for (uint32_t i = 0; i < s->requests_n; i++)
		if (s->requests[i].resource == resource)
			return s->requests[i].value;
	return 0;
}

bool score_balances(const struct shape *s)
{
	return request_of(s, RESOURCE_CPU) > 0 || request_of(s, RESOURCE_MEMORY) > 0;
}

static double used_share(wide used, int64_t allocatable)
{
	double share = (double)wide_cut(used) / (double)allocatable;

	return share > 1 ? 1 : share;
}

/* 50 to 100; less than two resources are always in balance. */
static int64_t balance(const struct nodes *ns, node_id id, int64_t cpu, int64_t memory)
{
	int64_t most_cpu = nodes_allocatable(ns, id, RESOURCE_CPU);
	int64_t most_memory = nodes_allocatable(ns, id, RESOURCE_MEMORY);
	double deviation = 0;

	if (most_cpu > 0 && most_memory > 0)
		deviation = fabs((used_share(nodes_sum(ns, id, RESOURCE_CPU) + cpu, most_cpu) -
		                  used_share(nodes_sum(ns, id, RESOURCE_MEMORY) + memory, most_memory)) /
		                 2);
	return (int64_t)((1 - deviation) * SCORE_MOST);
}

uint32_t score_balanced(const struct nodes *ns, node_id id, const struct shape *s)
{
	int64_t with = balance(ns, id, request_of(s, RESOURCE_CPU), request_of(s, RESOURCE_MEMORY));
	int64_t without = balance(ns, id, 0, 0);

	return (uint32_t)(50 + (50 + with - without) / 2);
}
