/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/score.h"

#include "core/classes/usage.h"
#include "core/filter/gpus.h"

#include <math.h>

/* part * 100 / whole, 0 <= part <= whole, whole > 0 */
static uint32_t percent(int64_t part, int64_t whole)
{
	if (part <= INT64_MAX / 100)
		return (uint32_t)(part * 100 / whole);
	return (uint32_t)((wide)part * 100 / whole);
}

/* noderesources: leastRequestedScore and mostRequestedScore.  A node whose sum exceeds its capacity
 * counts as full. */
static uint32_t score_part(enum score_policy policy, int64_t allocatable, wide requested)
{
	int64_t used = wide_cut(requested);

	if (policy == SCORE_PACK)
		return percent(used < allocatable ? used : allocatable, allocatable);
	return used < allocatable ? percent(allocatable - used, allocatable) : 0;
}

/* noderesources: leastResourceScorer and mostResourceScorer, cpu and memory with weight 1 each. */
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

	for (uint32_t i = 0; i < s->sums_n; i++) {
		const struct request *q = &s->requests[i];
		int64_t allocatable = nodes_allocatable(ns, id, q->resource);
		int64_t free = nodes_free_amount(ns, id, q->resource);

		if (allocatable == 0 || (q->resource == RESOURCE_PODS && s->sums_n > 1))
			continue;
		parts++;
		if (free > q->value)
			left += percent(free - q->value, allocatable);
	}
	return parts > 0 ? SCORE_MOST - left / parts : 0;
}

uint32_t score_node(enum score_policy policy, const struct pod_counts *cs, node_id id,
                    const struct shape *s)
{
	uint32_t points;

	if (policy < SCORE_BESTFIT)
		return score_allocated(policy, cs->nodes, id, s);
	if (policy > SCORE_BESTFIT && gpus_score(policy, cs, id, s, &points))
		return points;
	return score_bestfit(cs->nodes, id, s);
}

static int64_t request_of(const struct shape *s, uint32_t resource)
{
	for (uint32_t i = 0; i < s->sums_n; i++)
		if (s->requests[i].resource == resource)
			return s->requests[i].value;
	return 0;
}

/* noderesources.BalancedAllocation: PreScore skips a pod that requests neither. */
bool score_balances(const struct shape *s)
{
	return request_of(s, RESOURCE_CPU) > 0 || request_of(s, RESOURCE_MEMORY) > 0;
}

/* noderesources: balancedResourceScorer, a fraction is at most 1. */
static double used_share(wide used, int64_t allocatable)
{
	double share = (double)wide_cut(used) / (double)allocatable;

	return share > 1 ? 1 : share;
}

/* noderesources: balancedResourceScorer, 50 to 100: the standard deviation of two fractions is half
 * their difference; with fewer than two it is 0. */
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

#define IMAGES_LEAST INT64_C(24117248)  /* 23 MiB */
#define IMAGES_MOST INT64_C(1048576000) /* 1000 MiB, for each container */

/* imagelocality: scaledImageScore.  An image counts by the share of nodes that have it, so that a
 * few nodes with a rare image do not attract all pods. */
static int64_t image_points(const struct nodes *ns, const struct image_fact *image)
{
	double spread = (double)image->nodes / (double)ns->present;
	double points = (double)image->bytes * spread;

	return points < 0x1p63 ? (int64_t)points : INT64_MAX;
}

/* imagelocality: calculatePriority. */
uint32_t image_locality(const struct pod_counts *cs, const struct shape *s, node_id id)
{
	const uint32_t containers = s->body->image_containers;
	const wide most = (wide)IMAGES_MOST * (containers > 0 ? containers : 1);
	struct image_fact image;
	wide sum = 0;

	for (uint32_t i = 0; i < s->body->images_n; i++)
		if (usage_image(cs->usage, id, s->parts.images[i], &image))
			sum += image_points(cs->nodes, &image);
	if (sum <= IMAGES_LEAST)
		return 0;
	sum = sum > most ? most : sum;
	return (uint32_t)((int64_t)SCORE_MOST * (sum - IMAGES_LEAST) / (most - IMAGES_LEAST));
}
