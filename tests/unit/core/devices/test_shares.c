/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of GPUs: the three measures against a recomputation from their definitions on random
 * nodes, the policies against all choices tried one by one, and small cases by hand. */
#include "core/devices/shares.h"
#include "tests/unit/test.h"

#include <math.h>

#define TASKS 12u
#define ROUNDS 3000u
#define NEAR 1e-6

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % n);
}

static struct gpu_ask random_ask(void)
{
	struct gpu_ask a = { .cpu_milli = 1000 * below(9), .memory_bytes = below(4) };

	a.models = below(3) == 0 ? 1 + below(7) : 0;
	switch (below(4)) {
	case 0:
		break;
	case 1:
		a.gpus = 1 + below(4);
		a.milli = SHARE_WHOLE;
		break;
	default:
		a.gpus = 1;
		a.milli = 50 * (1 + below(19));
	}
	return a;
}

static struct share_node random_node(void)
{
	struct share_node n = { .cpu_milli = 1000 * below(20),
		                    .memory_bytes = below(6),
		                    .model = 1u << below(3),
		                    .gpus = below(9) };

	for (uint32_t i = 0; i < n.gpus; i++)
		n.free[i] = (uint16_t)(below(3) == 0 ? SHARE_WHOLE : 50 * below(21));
	return n;
}

/* All counts equal, so that 95 % of fewer than 20 tasks are all of them. */
static size_t random_tasks(struct share_task *tasks)
{
	size_t n = 1 + below(TASKS);

	for (size_t i = 0; i < n; i++)
		tasks[i] = (struct share_task){ random_ask(), 1 };
	return n;
}

static bool runs_on(const struct share_node *n, const struct gpu_ask *a)
{
	struct gpu_ask without_memory = *a;

	without_memory.memory_bytes = 0;
	return share_fits(n, &without_memory);
}

static double naive_fragmentation(const struct share_task *t, size_t tasks, struct share_node n)
{
	double sum = 0;

	for (size_t i = 0; i < tasks; i++)
		for (uint32_t g = 0; g < n.gpus; g++)
			if (t[i].ask.gpus == 0 || !runs_on(&n, &t[i].ask) || n.free[g] < t[i].ask.milli)
				sum += n.free[g];
	return sum / (double)tasks;
}

/* Places one after the other until none fits. */
static double naive_unfillable(const struct share_task *t, size_t tasks, struct share_node n)
{
	double sum = 0;

	for (size_t i = 0; i < tasks; i++) {
		struct share_node node = n;
		uint32_t gpu = 0;
		struct gpu_ask a = t[i].ask;

		a.memory_bytes = 0;
		if (a.gpus == 0)
			continue;
		while (share_fits(&node, &a)) {
			for (gpu = 0; node.free[gpu] < a.milli; gpu++)
				;
			share_take(&node, &a, gpu);
		}
		for (uint32_t g = 0; g < node.gpus; g++)
			sum += node.free[g];
	}
	return sum / (double)tasks;
}

/* Every order of arrivals, recursively. */
static double naive_residue(const struct share_task *t, size_t tasks, uint32_t left)
{
	double likely = 0, sum = 0;

	for (size_t i = 0; i < tasks; i++)
		if (t[i].ask.gpus == 1 && t[i].ask.milli <= left) {
			double after = naive_residue(t, tasks, left - t[i].ask.milli);

			likely += exp(-after / 100);
			sum += exp(-after / 100) * after;
		}
	return likely > 0 ? sum / likely : left;
}

Test(shares, measures_are_those_of_their_definitions)
{
	struct share_task tasks[TASKS];

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct share_node n;
		struct share_mix *m;
		size_t k;

		state = round;
		k = random_tasks(tasks);
		n = random_node();
		m = share_mix_new(tasks, k, SHARE_TASKS_MAX);
		cr_assert_not_null(m);
		cr_assert_float_eq(share_fragmentation(m, &n), naive_fragmentation(tasks, k, n), NEAR,
		                   "fragmentation, seed %u", round);
		cr_assert_float_eq(share_unfillable(m, &n), naive_unfillable(tasks, k, n), NEAR,
		                   "unfillable, seed %u", round);
		share_mix_free(m);
	}
}

Test(shares, the_residue_is_the_mean_over_all_orders)
{
	const struct share_task tasks[] = { { { .gpus = 1, .milli = 450 }, 1 },
		                                { { .gpus = 1, .milli = 200 }, 1 },
		                                { { .gpus = 1, .milli = 310 }, 1 },
		                                { { .gpus = 2, .milli = SHARE_WHOLE }, 1 } };
	struct share_mix *m = share_mix_new(tasks, 4, SHARE_TASKS_MAX);

	for (uint32_t left = 0; left <= SHARE_WHOLE; left++) {
		struct share_node n = { .gpus = 1, .free = { (uint16_t)left } };

		cr_assert_float_eq(share_residue(m, &n), naive_residue(tasks, 4, left), NEAR, "%u", left);
	}
	share_mix_free(m);
}

static struct share_node after(struct share_node n, const struct gpu_ask *a, uint32_t gpu)
{
	share_take(&n, a, gpu);
	return n;
}

/* No other GPU of the node is better, and the score of FGD is that of its formula. */
Test(shares, the_gpu_of_least_increase_is_chosen)
{
	struct share_task tasks[TASKS];
	uint32_t shares = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct share_mix *m;
		struct share_node n, chosen;
		struct gpu_ask a;
		uint32_t gpu;
		double score, best;

		state = round;
		m = share_mix_new(tasks, random_tasks(tasks), SHARE_TASKS_MAX);
		n = random_node();
		a = random_ask();
		if (share_fits(&n, &a)) {
			score = share_score(SHARE_FGD, m, &n, &a, &gpu);
			chosen = after(n, &a, gpu);
			best = share_fragmentation(m, &chosen) - share_fragmentation(m, &n);
			cr_assert_float_eq(score, floor(100 / (1 + exp(best / 1000))), NEAR, "seed %u", round);
			for (uint32_t i = 0; a.gpus == 1 && a.milli < SHARE_WHOLE && i < n.gpus; i++)
				if (n.free[i] >= a.milli) {
					struct share_node other = after(n, &a, i);
					double more = share_fragmentation(m, &other) - share_fragmentation(m, &n);

					cr_assert_leq(floor(100 / (1 + exp(more / 1000))), score, "seed %u", round);
					shares++;
				}
		}
		share_mix_free(m);
	}
	cr_assert_gt(shares, ROUNDS / 4);
}

/* Two GPUs, 300 and 600 free, and tasks of 600 and 300: a share of 300 goes where it fits exactly
 * under each policy; best fit looks at nothing but the amount. */
Test(shares, a_share_leaves_the_gpu_that_others_need)
{
	const struct share_task tasks[] = { { { .cpu_milli = 1000, .gpus = 1, .milli = 600 }, 1 },
		                                { { .cpu_milli = 1000, .gpus = 1, .milli = 300 }, 1 } };
	const struct share_node n = {
		.cpu_milli = 8000, .model = 1, .gpus = 3, .free = { 600, 300, 200 }
	};
	struct share_mix *m = share_mix_new(tasks, 2, SHARE_TASKS_MAX);

	for (enum share_policy p = SHARE_BESTFIT; p <= SHARE_MUSTER; p++) {
		uint32_t gpu = 9;

		share_score(p, m, &n, &tasks[1].ask, &gpu);
		cr_assert_eq(gpu, 1, "policy %d chose %u", p, gpu);
	}
	share_mix_free(m);
}

/* A pod without GPUs goes to the node whose GPUs are full, also when the other has less CPU. */
Test(shares, a_pod_without_gpus_leaves_cpu_beside_free_gpus)
{
	const struct share_task tasks[] = {
		{ { .cpu_milli = 4000, .gpus = 1, .milli = SHARE_WHOLE }, 1 },
	};
	const struct gpu_ask cpu = { .cpu_milli = 3000 };
	const struct share_node full = { .cpu_milli = 9000, .model = 1, .gpus = 2 };
	const struct share_node empty = {
		.cpu_milli = 8000, .model = 1, .gpus = 2, .free = { SHARE_WHOLE, SHARE_WHOLE }
	};
	struct share_mix *m = share_mix_new(tasks, 1, SHARE_TASKS_MAX);
	uint32_t gpu;

	cr_assert_float_eq(share_fragmentation(m, &empty), 0, NEAR);
	cr_assert_gt(share_score(SHARE_MUSTER, m, &full, &cpu, &gpu),
	             share_score(SHARE_MUSTER, m, &empty, &cpu, &gpu));
	cr_assert_lt(share_score(SHARE_BESTFIT, m, &full, &cpu, &gpu), 100);
	share_mix_free(m);
}

Test(shares, whole_gpus_are_the_free_ones)
{
	const struct gpu_ask two = { .cpu_milli = 500, .gpus = 2, .milli = SHARE_WHOLE };
	const struct share_node n = {
		.cpu_milli = 1000, .memory_bytes = 5, .model = 2, .gpus = 4, .free = { 900, 1000, 0, 1000 }
	};
	const struct share_node left = after(n, &two, 0);
	struct gpu_ask other = two;

	cr_assert_eq(left.free[0], 900);
	cr_assert_eq(left.free[1] + left.free[2] + left.free[3], 0);
	cr_assert_eq(left.cpu_milli, 500);
	cr_assert_not(share_fits(&left, &two));
	other.models = 1;
	cr_assert_not(share_fits(&n, &other));
	other.models = 3;
	cr_assert(share_fits(&n, &other));
	other.memory_bytes = 6;
	cr_assert_not(share_fits(&n, &other));
}

Test(shares, rare_tasks_are_not_typical)
{
	const struct share_task tasks[] = { { { .gpus = 1, .milli = 500 }, 96 },
		                                { { .gpus = 1, .milli = 100 }, 4 } };
	const struct share_node n = { .gpus = 1, .free = { 400 } };
	struct share_mix *m = share_mix_new(tasks, 2, SHARE_TASKS_MAX);

	cr_assert_float_eq(share_fragmentation(m, &n), 400, NEAR);
	cr_assert_float_eq(share_residue(m, &n), 400, NEAR);
	share_mix_free(m);
}

Test(shares, requests_of_another_form_are_refused)
{
	struct share_task bad[] = {
		{ { .gpus = 2, .milli = 500 }, 1 },
		{ { .gpus = 0, .milli = 500 }, 1 },
		{ { .gpus = 1, .milli = 0 }, 1 },
		{ { .gpus = 1, .milli = 1001 }, 1 },
		{ { .gpus = SHARE_GPUS_MAX + 1, .milli = SHARE_WHOLE }, 1 },
		{ { .cpu_milli = -1 }, 1 },
		{ { .memory_bytes = -1 }, 1 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_null(share_mix_new(&bad[i], 1, SHARE_TASKS_MAX), "%zu", i);
	cr_assert_null(share_mix_new(bad, SHARE_TASKS_MAX + 1, SHARE_TASKS_MAX));
	share_mix_free(NULL);
}
