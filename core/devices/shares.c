/* SPDX-License-Identifier: Apache-2.0 */
#include "core/devices/shares.h"

#include "ipc/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static_assert(sizeof(struct share_node) == 24 + 2 * SHARE_GPUS_MAX, "no padding: memcmp compares");

/* Of all tasks, percent (experiments of FGD: podPopularityThreshold). */
#define TYPICAL_PERCENT 95

/* The best fit of the published table normalises by the largest node of its trace. */
#define BESTFIT_CPU_MILLI 128000.0
#define BESTFIT_GPU_MILLI 8000.0

/* SHARE_MUSTER, docs/decisions/067-shares-of-gpus.md: the weights are round numbers on a plateau.
 */
#define WEIGHT_FRAGMENTATION 0.9
#define WEIGHT_UNFILLABLE 0.1
#define WEIGHT_RESIDUE 0.4
#define WEIGHT_CPU_LEFT 0.00005 /* parts of a GPU for a milli of CPU */
#define RESIDUE_SCALE 100.0     /* a share that leaves so much more is e times less likely */

/* What a policy gains, in GPUs, becomes points by a sigmoid. */
#define FGD_POINTS 100.0
#define MUSTER_POINTS ((double)SHARE_POINTS_MOST)
#define MUSTER_WIDTH 2.0

struct typical {
	struct gpu_ask ask;
	double weight; /* 1 in sum */
};

struct share_mix {
	size_t n;
	double residue[SHARE_WHOLE + 1]; /* by what is free on a GPU */
	struct typical tasks[];
};

static bool is_share(const struct gpu_ask *a)
{
	return a->gpus == 1 && a->milli < SHARE_WHOLE;
}

bool gpu_ask_valid(const struct gpu_ask *a)
{
	if (a->cpu_milli < 0 || a->memory_bytes < 0 || a->gpus > SHARE_GPUS_MAX)
		return false;
	if (a->gpus == 0)
		return a->milli == 0;
	return a->milli == SHARE_WHOLE || (a->gpus == 1 && a->milli > 0 && a->milli < SHARE_WHOLE);
}

static bool same_task(const struct gpu_ask *a, const struct gpu_ask *b)
{
	return a->cpu_milli == b->cpu_milli && a->models == b->models && a->gpus == b->gpus &&
	       a->milli == b->milli;
}

static int order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* The most frequent first; the rest makes the order independent of the input's. */
static int compare_typical(const void *left, const void *right)
{
	const struct typical *a = left, *b = right;
	int rc = (b->weight > a->weight) - (b->weight < a->weight);

	rc = rc ? rc : order(b->ask.cpu_milli, a->ask.cpu_milli);
	rc = rc ? rc : order(b->ask.milli, a->ask.milli);
	rc = rc ? rc : order(b->ask.gpus, a->ask.gpus);
	return rc ? rc : order(b->ask.models, a->ask.models);
}

/* e to the power of x, 40 in size at most, to the same bit everywhere, which libm does not promise:
 * a recording is replayed on other machines. */
static double e_to(double x)
{
	const double part = x / 1024;
	double power = 1 + part * (1 + part / 2 * (1 + part / 3 * (1 + part / 4 * (1 + part / 5))));

	for (int i = 0; i < 10; i++)
		power *= power;
	return power;
}

/* What is left of each amount: the mean over the shares that fit, of what is left after them. */
static void fill_residue(struct share_mix *m)
{
	double count[SHARE_WHOLE + 1] = { 0 };

	for (size_t i = 0; i < m->n; i++)
		if (m->tasks[i].ask.gpus == 1)
			count[m->tasks[i].ask.milli] += m->tasks[i].weight;
	for (uint32_t left = 0; left <= SHARE_WHOLE; left++) {
		double likely = 0, sum = 0;

		for (uint32_t share = 1; share <= left; share++)
			if (count[share] > 0) {
				double after = m->residue[left - share];
				double weight = count[share] * e_to(-after / RESIDUE_SCALE);

				likely += weight;
				sum += weight * after;
			}
		m->residue[left] = likely > 0 ? sum / likely : left;
	}
}

/* Keeps the most frequent tasks; counts become weights. */
static void cut(struct share_mix *m, size_t most)
{
	double all = 0, kept = 0;
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		all += m->tasks[i].weight;
	while (n < m->n && n < most && kept * 100 < all * TYPICAL_PERCENT)
		kept += m->tasks[n++].weight;
	m->n = n;
	for (size_t i = 0; i < n; i++)
		m->tasks[i].weight /= kept;
}

struct share_mix *share_mix_new(const struct share_task *tasks, size_t n, size_t most)
{
	struct share_mix *m;

	if (n > SHARE_TASKS_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!gpu_ask_valid(&tasks[i].ask))
			return NULL;
	m = must_alloc(sizeof(*m) + n * sizeof(m->tasks[0]));
	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < m->n && !same_task(&m->tasks[at].ask, &tasks[i].ask))
			at++;
		if (at == m->n)
			m->tasks[m->n++] = (struct typical){ .ask = tasks[i].ask };
		m->tasks[at].weight += tasks[i].count;
	}
	if (m->n > 0)
		qsort(m->tasks, m->n, sizeof(m->tasks[0]), compare_typical);
	cut(m, most);
	fill_residue(m);
	return m;
}

void share_mix_free(struct share_mix *m)
{
	free(m);
}

static uint32_t free_parts(const struct share_node *n)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n->gpus; i++)
		sum += n->free[i];
	return sum;
}

static bool serves(const struct share_node *n, const struct gpu_ask *a)
{
	return a->models == 0 || (a->models & n->model);
}

/* What a node with GPUs of the model and with the CPU still can't give to it. */
static uint32_t lost_to(const struct share_node *n, const struct gpu_ask *a, uint32_t all)
{
	uint32_t enough = 0, too_small = 0;

	for (uint32_t i = 0; i < n->gpus; i++)
		if (n->free[i] >= a->milli)
			enough++;
		else
			too_small += n->free[i];
	return enough >= a->gpus ? too_small : all;
}

double share_fragmentation(const struct share_mix *m, const struct share_node *n)
{
	const uint32_t all = free_parts(n);
	double sum = 0;

	for (size_t i = 0; all > 0 && i < m->n; i++) {
		const struct gpu_ask *a = &m->tasks[i].ask;
		bool runs = a->gpus > 0 && n->cpu_milli >= a->cpu_milli && serves(n, a);

		sum += m->tasks[i].weight * (runs ? lost_to(n, a, all) : all);
	}
	return sum;
}

/* So many of them fit by GPUs and CPU. */
static int64_t room_for(const struct share_node *n, const struct gpu_ask *a)
{
	int64_t room = 0, by_cpu;

	for (uint32_t i = 0; i < n->gpus; i++)
		room += n->free[i] / a->milli;
	room /= a->gpus;
	by_cpu = a->cpu_milli > 0 ? n->cpu_milli / a->cpu_milli : room;
	return by_cpu < room ? by_cpu : room;
}

double share_unfillable(const struct share_mix *m, const struct share_node *n)
{
	const uint32_t all = free_parts(n);
	double sum = 0;

	for (size_t i = 0; all > 0 && i < m->n; i++) {
		const struct gpu_ask *a = &m->tasks[i].ask;
		int64_t used = 0;

		if (a->gpus == 0)
			continue;
		if (serves(n, a))
			used = room_for(n, a) * a->gpus * a->milli;
		sum += m->tasks[i].weight * (double)(all - used);
	}
	return sum;
}

double share_residue(const struct share_mix *m, const struct share_node *n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n->gpus; i++)
		sum += m->residue[n->free[i]];
	return sum;
}

bool share_fits(const struct share_node *n, const struct gpu_ask *a)
{
	uint32_t enough = 0;

	if (n->cpu_milli < a->cpu_milli || n->memory_bytes < a->memory_bytes)
		return false;
	if (a->gpus == 0)
		return true;
	for (uint32_t i = 0; i < n->gpus; i++)
		enough += n->free[i] >= a->milli;
	return serves(n, a) && enough >= a->gpus;
}

void share_take(struct share_node *n, const struct gpu_ask *a, uint32_t gpu)
{
	uint32_t left = a->gpus;

	assert(share_fits(n, a));
	n->cpu_milli -= a->cpu_milli;
	n->memory_bytes -= a->memory_bytes;
	if (is_share(a)) {
		assert(gpu < n->gpus && n->free[gpu] >= a->milli);
		n->free[gpu] = (uint16_t)(n->free[gpu] - a->milli);
		return;
	}
	for (uint32_t i = 0; i < n->gpus && left > 0; i++)
		if (n->free[i] == SHARE_WHOLE) {
			n->free[i] = 0;
			left--;
		}
}

/* The fullest GPU with room. */
static uint32_t fullest(const struct share_node *n, const struct gpu_ask *a)
{
	uint32_t best = SHARE_GPUS_MAX;

	for (uint32_t i = 0; i < n->gpus; i++)
		if (n->free[i] >= a->milli && (best == SHARE_GPUS_MAX || n->free[i] < n->free[best]))
			best = i;
	return best;
}

static double score_bestfit(const struct share_node *n, const struct gpu_ask *a)
{
	double cpu = (double)(n->cpu_milli - a->cpu_milli) / BESTFIT_CPU_MILLI;
	double gpu = ((double)free_parts(n) - (double)a->gpus * a->milli) / BESTFIT_GPU_MILLI;

	return floor((1 - (cpu + gpu) / 2) * 100);
}

/* What the policy minimises. */
static double cost(enum share_policy policy, const struct share_mix *m, const struct share_node *n)
{
	if (policy == SHARE_FGD)
		return share_fragmentation(m, n);
	return WEIGHT_FRAGMENTATION * share_fragmentation(m, n) +
	       WEIGHT_UNFILLABLE * share_unfillable(m, n) + WEIGHT_RESIDUE * share_residue(m, n);
}

/* The published scores are integers of 0 to 100, so that nodes that are nearly equal tie and the
 * first name packs them; without it FGD allocates several points less. The steps of SHARE_MUSTER
 * are 1/150 of a GPU where little changes. */
static uint32_t points(enum share_policy policy, double before, double after, int64_t cpu_left)
{
	const double gain = (before - after) / SHARE_WHOLE;
	const double left = WEIGHT_CPU_LEFT * (double)cpu_left / SHARE_WHOLE;

	if (policy == SHARE_FGD)
		return (uint32_t)(FGD_POINTS / (1 + e_to(-gain)));
	return (uint32_t)(MUSTER_POINTS / (1 + e_to(-(gain + left) / MUSTER_WIDTH)));
}

/* `before`: the cost of the node as it is. */
static uint32_t points_on(enum share_policy policy, const struct share_mix *m,
                          const struct share_node *n, const struct gpu_ask *a, uint32_t gpu,
                          double before)
{
	struct share_node after = *n;

	share_take(&after, a, gpu);
	return points(policy, before, cost(policy, m, &after), after.cpu_milli);
}

uint32_t share_points(enum share_policy policy, const struct share_mix *m,
                      const struct share_node *n, const struct gpu_ask *a, uint32_t gpu)
{
	return points_on(policy, m, n, a, gpu, cost(policy, m, n));
}

static bool seen_before(const struct share_node *n, uint32_t gpu)
{
	for (uint32_t i = 0; i < gpu; i++)
		if (n->free[i] == n->free[gpu])
			return true;
	return false;
}

double share_score(enum share_policy policy, const struct share_mix *m, const struct share_node *n,
                   const struct gpu_ask *a, uint32_t *gpu)
{
	const uint32_t choices = is_share(a) ? n->gpus : 1;
	double before, best = -INFINITY;

	assert(share_fits(n, a));
	*gpu = is_share(a) ? fullest(n, a) : 0;
	if (policy == SHARE_BESTFIT)
		return score_bestfit(n, a);
	before = cost(policy, m, n);
	for (uint32_t i = 0; i < choices; i++) {
		double score;

		if (is_share(a) && (n->free[i] < a->milli || seen_before(n, i)))
			continue;
		score = points_on(policy, m, n, a, i, before);
		if (score > best) {
			best = score;
			*gpu = i;
		}
	}
	return best;
}
