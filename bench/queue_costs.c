/* SPDX-License-Identifier: Apache-2.0 */
/* What do queues and promised starts cost the core?
 *
 *   share-*   the tree of queues alone: 1,000 leaves at depth 4
 *   gang-*    a gang as in `decide`, in turns without queues, with 1,000 of them, and with 64
 * promises too; *-part is the median part of it in the time without order-*   lone pods in turns,
 * without queues and with 1,000 of them promise-* a gang that waits is promised a start, and 64
 * promises move after early ends start-*   from the first record to the first plan, without queues
 * and with as many as can be */
#include "bench/bench.h"
#include "bench/cluster.h"
#include "core/share/share.h"
#include "core/step/core.h"

#define NODES 5000u
#define LEAVES 1000u
#define DEPTH 64u
#define MEMBERS 1000u
#define ENDS_EACH                                                                                  \
	10u /* pods with a deadline on each node; the first LARGE are a quarter of it each */
#define LARGE 3u
#define RUN_S 3600u

/* 5 x 5 x 5 x 8: inner queues have the lower ids. */
static const uint32_t fan[] = { 5, 5, 5, 8 };
enum { TREE_INNER = 1 + 5 + 25 + 125, TREE = TREE_INNER + LEAVES };

/* The parent of a queue of the tree; the root is its own. */
static uint32_t parent_of(uint32_t queue)
{
	uint32_t above = 0, first = 1, n = fan[0], level = 0;

	while (queue >= first + n) {
		above = first;
		first += n;
		n *= fan[++level];
	}
	return queue == 0 ? 0 : above + (queue - first) / fan[level];
}

static uint32_t leaf(uint32_t i)
{
	return TREE_INNER + i * UINT32_C(2654435761) % LEAVES;
}

static void share_samples(struct bench_report *report, struct shares *s,
                          struct share_waiting *waiting)
{
	enum { N = 20000 };
	static double use[N], next[N];
	const wide total[RESOURCES_MAX] = { [RESOURCE_CPU] = 1000000, [RESOURCE_MEMORY] = 1000000 };
	uint64_t sum = 0;

	shares_capacity(s, total);
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t queue = leaf(i);
		const uint64_t start = bench_now_ns();
		uint64_t used;

		shares_use(s, queue, RESOURCE_CPU, i % 3 + 1);
		used = bench_now_ns();
		sum += shares_next(s, waiting);
		next[i] = (double)(bench_now_ns() - used);
		use[i] = (double)(used - start);
	}
	if (sum == 0)
		fprintf(stderr, "muster-bench: no queue was next\n");
	bench_add(report, "share-use/1000", "ns", use, N, false, 300);
	bench_add(report, "share-next/1000", "ns", next, N, false, 1000);
}

static bool share_rows(struct bench_report *report)
{
	struct share_def *defs = calloc(TREE, sizeof(*defs));
	struct share_waiting *waiting = calloc(TREE, sizeof(*waiting));
	struct share_ask ask = { 0 };
	struct share_set set = { .defs = defs, .n = TREE, .resources = RESOURCES_MAX };

	if (!defs || !waiting) {
		free(defs);
		free(waiting);
		fprintf(stderr, "muster-bench: no memory for queues\n");
		return false;
	}
	share_ask_add(&ask, RESOURCE_CPU, 1);
	share_ask_add(&ask, RESOURCE_MEMORY, 1);
	for (uint32_t queue = 0; queue < TREE; queue++) {
		defs[queue] = (struct share_def){ .name = "queue", .parent = parent_of(queue) };
		for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
			defs[queue].limit[r] = QUEUE_NO_LIMIT;
			defs[queue].weight[r] = 1;
		}
		waiting[queue].waits = queue >= TREE_INNER;
		waiting[queue].ask = &ask;
	}
	struct shares *s = shares_new(&set);
	share_samples(report, s, waiting);
	shares_free(s);
	free(defs);
	free(waiting);
	return true;
}

static void tree_define(struct cluster *c)
{
	for (uint32_t queue = 0; queue < TREE; queue++)
		cluster_queue(c, queue, parent_of(queue), queue % 2);
}

/* Every node has pods that leave a quarter of it, all with deadlines. */
static void ends_fill(struct cluster *c)
{
	for (uint32_t i = 0; i < NODES * ENDS_EACH; i++) {
		const node_id node = i / ENDS_EACH;
		const bool large = i % ENDS_EACH < LARGE;

		cluster_pod_on(
			c, ID_NONE, large ? SHAPE_FILL + node % CLUSTER_TYPES * CLUSTER_FILLS : SHAPE_MIX,
			(struct cluster_terms){
				.queue = leaf(i), .run_s = 1000 + i * UINT32_C(2654435761) % 10000, .node = node });
	}
	cluster_plan(c);
}

/* A gang that does not fit as long as the large pods run; returns the ns of its plan. */
static uint64_t gang_waits(struct cluster *c, gang_id gang)
{
	cluster_gang(c, gang, MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++)
		cluster_pod_on(
			c, gang, SHAPE_BIG,
			(struct cluster_terms){ .queue = leaf(gang), .run_s = RUN_S, .node = ID_NONE });
	return cluster_plan(c);
}

static bool filled_init(struct cluster *c, uint32_t promises, bool queues)
{
	const struct cluster_setup setup = { .nodes = NODES,
		                                 .pods_more = NODES * ENDS_EACH + (DEPTH + 2) * MEMBERS,
		                                 .bare = true,
		                                 .promises = promises };

	if (!cluster_init(c, &setup))
		return false;
	if (queues)
		tree_define(c);
	ends_fill(c);
	return true;
}

/* A gang that fits is planned, and ends; 0: it did not start. */
static uint64_t gang_once(struct cluster *c, uint32_t run_s)
{
	static pod_id pods[MEMBERS];
	const uint64_t binds = c->binds;
	uint64_t took;

	cluster_gang(c, 0, MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++)
		pods[i] = cluster_pod_on(
			c, 0, SHAPE_CPU,
			(struct cluster_terms){ .queue = leaf(0), .run_s = run_s, .node = ID_NONE });
	took = cluster_plan(c);
	if (c->binds - binds != MEMBERS)
		took = 0;
	for (uint32_t i = 0; i < MEMBERS; i++)
		cluster_pod_end(c, pods[i]);
	cluster_gang_end(c, 0);
	cluster_plan(c);
	return took;
}

static const struct variant {
	const char *name;
	uint32_t promises;
	bool queues;
	uint32_t run_s; /* of the gang */
	double part;    /* goal, in percent of the first row */
} variants[] = {
	{ "gang-1000/5000", 0, false, 500, 0 },
	{ "gang-1000-queues/5000", 0, true, 500, 120 },
	{ "gang-1000-promises/5000", DEPTH, true, 500, 120 },    /* ends before the first of them */
	{ "gang-1000-promises-long/5000", DEPTH, true, 0, 120 }, /* beside them, for ever */
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), ROUNDS = 7 };

static bool gang_rounds(struct bench_report *report, struct cluster *c)
{
	static double took[VARIANTS][ROUNDS], part[VARIANTS][ROUNDS];
	char name[64];

	for (uint32_t round = 0; round <= ROUNDS; round++)
		for (uint32_t v = 0; v < VARIANTS; v++) {
			const double us = (double)gang_once(&c[v], variants[v].run_s) / 1000;

			if (us <= 0) {
				fprintf(stderr, "muster-bench: %s: the gang did not start\n", variants[v].name);
				return false;
			}
			if (round == 0)
				continue; /* its shape is new */
			took[v][round - 1] = us;
			part[v][round - 1] = 100 * us / took[0][round - 1];
		}
	for (uint32_t v = 0; v < VARIANTS; v++) {
		bench_add(report, variants[v].name, "us", took[v], ROUNDS, false, 0);
		if (v == 0)
			continue;
		snprintf(name, sizeof(name), "%s-part", variants[v].name);
		bench_add(report, name, "percent", part[v], ROUNDS, false, variants[v].part);
	}
	return true;
}

static bool gang_rows(struct bench_report *report)
{
	static struct cluster c[VARIANTS];
	uint32_t n = 0;
	bool ok = true;

	for (; ok && n < VARIANTS; n += ok) {
		ok = filled_init(&c[n], variants[n].promises, variants[n].queues);
		for (gang_id gang = 1; ok && variants[n].promises > 0 && gang <= DEPTH; gang++)
			gang_waits(&c[n], gang);
	}
	ok = ok && gang_rounds(report, c);
	while (n > 0)
		cluster_free(&c[--n]);
	return ok;
}

static bool order_row(struct bench_report *report, bool queues)
{
	enum { PODS = 4000, N = 9 };
	const struct cluster_setup setup = { .nodes = NODES, .pods_more = PODS };
	static pod_id pods[PODS];
	double each[N];
	struct cluster c;
	char name[64];

	if (!cluster_init(&c, &setup))
		return false;
	if (queues)
		tree_define(&c);
	for (uint32_t i = 0; i <= N; i++) {
		uint64_t took;

		for (uint32_t pod = 0; pod < PODS; pod++)
			pods[pod] =
				cluster_pod_on(&c, ID_NONE, SHAPE_CPU,
			                   (struct cluster_terms){ .queue = leaf(pod), .node = ID_NONE });
		took = cluster_plan(&c);
		if (i > 0)
			each[i - 1] = (double)took / PODS;
		for (uint32_t pod = 0; pod < PODS; pod++)
			cluster_pod_end(&c, pods[pod]);
		cluster_plan(&c);
	}
	snprintf(name, sizeof(name), "order-%u/%u", PODS, queues ? LEAVES : 0);
	bench_add(report, name, "ns", each, N, false, 0);
	cluster_free(&c);
	return true;
}

static uint32_t promised(const struct cluster *c)
{
	struct core_promise p;
	uint32_t n = 0;

	for (gang_id gang = 1; gang <= DEPTH; gang++)
		n += core_promise(c->core, gang, &p);
	return n;
}

/* Half of the nodes lose their large pods at once. */
static void ends_early(struct cluster *c)
{
	cluster_batch(c);
	for (uint32_t i = 0; i < NODES * ENDS_EACH; i++)
		if (i % ENDS_EACH < LARGE && i / ENDS_EACH % 16 < 8)
			cluster_pod_end(c, i);
	cluster_run(c);
}

static void moves_rows(struct bench_report *report, struct cluster *c)
{
	struct core_promises before, after;
	uint64_t sum = 0, most = 0, start = bench_now_ns();

	core_promises(c->core, &before);
	while (cluster_turn(c)) {
		const uint64_t took = bench_now_ns() - start;

		sum += took;
		most = took > most ? took : most;
		cluster_take(c);
		start = bench_now_ns();
	}
	core_promises(c->core, &after);
	bench_add_one(report, "promises-moved/64", "n", (double)(after.earlier - before.earlier), true,
	              0);
	bench_add_one(report, "promises-move/64", "us", (double)sum / 1000, false, 50000);
	bench_add_one(report, "promises-move-slice/64", "us", (double)most / 1000, false, 500);
}

static bool promise_rows(struct bench_report *report)
{
	static double made[DEPTH], refused[DEPTH];
	struct cluster c, without;
	uint32_t n;

	if (!filled_init(&c, DEPTH, false))
		return false;
	if (!filled_init(&without, 0, false)) {
		cluster_free(&c);
		return false;
	}
	for (gang_id gang = 1; gang <= DEPTH; gang++) {
		made[gang - 1] = (double)gang_waits(&c, gang) / 1000;
		refused[gang - 1] = (double)gang_waits(&without, gang) / 1000;
	}
	n = promised(&c);
	if (n != DEPTH)
		fprintf(stderr, "muster-bench: %u of %u gangs were promised a start\n", n, DEPTH);
	bench_add(report, "promise-none/50000", "us", refused, DEPTH, false, 0);
	bench_add(report, "promise-1000/50000", "us", made, DEPTH, false, 5000);
	ends_early(&c);
	moves_rows(report, &c);
	cluster_free(&c);
	cluster_free(&without);
	return n == DEPTH;
}

static bool start_once(uint32_t queues, double *ms)
{
	enum { PODS = 1000000, START_NODES = 100000 };
	const struct cluster_setup setup = { .nodes = START_NODES, .pods_more = PODS, .bare = true };
	const uint64_t start = bench_now_ns();
	struct cluster c;

	if (!cluster_init(&c, &setup))
		return false;
	for (uint32_t queue = 0; queue < queues; queue++)
		cluster_queue(&c, queue, queue / 128, false);
	for (uint32_t i = 0; i < PODS; i++)
		cluster_pod_on(&c, ID_NONE, SHAPE_MIX + i % CLUSTER_MIX,
		               (struct cluster_terms){ .queue = queues > 0 ? 128 + i % (queues - 128) : 0,
		                                       .node = i % START_NODES });
	cluster_pod(&c, ID_NONE, SHAPE_CPU);
	cluster_plan(&c);
	*ms = (double)(bench_now_ns() - start) / 1e6;
	cluster_free(&c);
	return true;
}

static bool start_rows(struct bench_report *report)
{
	enum { N = 5 };
	double none[N], all[N], part[N];

	for (uint32_t i = 0; i < N; i++) {
		if (!start_once(0, &none[i]) || !start_once(QUEUES_MAX, &all[i]))
			return false;
		part[i] = 100 * all[i] / none[i];
	}
	bench_add(report, "start-1000000/0", "ms", none, N, false, 0);
	bench_add(report, "start-1000000/16384", "ms", all, N, false, 0);
	bench_add(report, "start-1000000/16384-part", "percent", part, N, false, 105);
	return true;
}

bool bench_queues(struct bench_report *report, const struct bench_options *options)
{
	if (!bench_pin(1) && !bench_pin(0))
		return false;
	return share_rows(report) && order_row(report, false) && order_row(report, true) &&
	       gang_rows(report) && promise_rows(report) && (options->quick || start_rows(report));
}
