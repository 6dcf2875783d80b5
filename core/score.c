#include "core/score.h"

/* part * 100 / whole, 0 <= part <= whole, whole > 0 */
static uint32_t percent(int64_t part, int64_t whole)
{
	if (part <= INT64_MAX / 100)
		return (uint32_t)(part * 100 / whole);
	return (uint32_t)((wide)part * 100 / whole);
}

static uint32_t score_part(enum score_policy policy, int64_t allocatable, wide requested)
{
	int64_t used = wide_cut(requested);

	if (policy == SCORE_PACK)
		return percent(used < allocatable ? used : allocatable, allocatable);
	return used < allocatable ? percent(allocatable - used, allocatable) : 0;
}

uint32_t score_node(enum score_policy policy, const struct nodes *ns, node_id id, const struct shape *s)
{
	const wide *scored = &ns->scored[(size_t)id * SCORED_N];
	int64_t cpu = nodes_allocatable(ns, id, RESOURCE_CPU);
	int64_t memory = nodes_allocatable(ns, id, RESOURCE_MEMORY);
	uint32_t sum = 0, parts = 0;

	if (cpu > 0) {
		sum += score_part(policy, cpu, scored[SCORED_CPU] + s->body->scored_cpu_milli);
		parts++;
	}
	if (memory > 0) {
		sum += score_part(policy, memory, scored[SCORED_MEMORY] + s->body->scored_memory_bytes);
		parts++;
	}
	return parts > 0 ? sum / parts : 0;
}
