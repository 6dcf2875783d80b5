/* SPDX-License-Identifier: Apache-2.0 */
/* How many pods per second does the core process through their whole life on 5,000 nodes: pending,
 * planned, the API server's result, seen bound, deleted? Only the time inside core_step() counts;
 * records are built in advance and commands are read. The rows "-planning" count the time of plans
 * and reservations alone. */
#include "bench/bench.h"
#include "bench/cluster.h"

#define NODES 5000u
#define GANGS_ALIVE 24u
#define MEMBERS_LEAST 100u
#define MEMBERS_MOST 1000u
#define SINGLES_AT_ONCE 64u
#define SINGLES_ALIVE 4096u
#define PODS_EACH_RUN 30000u
#define RUNS_MOST 15u

struct life {
	struct cluster c;
	uint64_t core_ns, plan_ns;
	uint32_t pods;
	uint32_t seed;
	uint32_t runs;
};

struct alive_gang {
	uint32_t n, shape;
	pod_id pods[MEMBERS_MOST];
};

static uint32_t next_random(struct life *l)
{
	l->seed = l->seed * 1664525u + 1013904223u;
	return l->seed >> 8;
}

static void feed(struct life *l)
{
	l->core_ns += cluster_run(&l->c);
}

/* Plans what waits; then all bindings get a result. */
static bool plan(struct life *l, uint32_t expect)
{
	uint64_t binds = l->c.binds, took = cluster_plan(&l->c);

	l->plan_ns += took;
	l->core_ns += took;
	if (l->c.binds - binds != expect) {
		fprintf(stderr, "muster-bench: %llu of %u pods were placed\n",
		        (unsigned long long)(l->c.binds - binds), expect);
		return false;
	}
	cluster_batch(&l->c);
	for (uint64_t i = binds; i < l->c.binds; i++)
		cluster_bound(&l->c, &l->c.bind[i % CLUSTER_BINDS]);
	feed(l);
	l->pods += expect;
	return true;
}

static void gang_leaves(struct life *l, gang_id gang, struct alive_gang *g)
{
	if (g->n == 0)
		return;
	cluster_batch(&l->c);
	for (uint32_t i = 0; i < g->n; i++)
		cluster_pod_end(&l->c, g->pods[i]);
	cluster_gang_end(&l->c, gang);
	feed(l);
	g->n = 0;
}

static bool gang_comes(struct life *l, gang_id gang, struct alive_gang *g)
{
	g->n = MEMBERS_LEAST + next_random(l) % (MEMBERS_MOST - MEMBERS_LEAST + 1);
	/* The small shapes, so that all live pods fit. */
	g->shape = SHAPE_MIX + next_random(l) % 4;
	cluster_batch(&l->c);
	cluster_gang(&l->c, gang, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		g->pods[i] = cluster_pod(&l->c, gang, g->shape);
	feed(l);
	return plan(l, g->n);
}

static void row(struct bench_report *report, const char *name, double *whole, double *planning,
                uint32_t runs, double goal)
{
	char text[64];

	bench_add(report, name, "per_s", whole, runs, true, goal);
	snprintf(text, sizeof(text), "%s-planning", name);
	bench_add(report, text, "per_s", planning, runs, true, 0);
}

static void sample(struct life *l, double *whole, double *planning)
{
	*whole = (double)l->pods * 1e9 / (double)l->core_ns;
	*planning = (double)l->pods * 1e9 / (double)l->plan_ns;
	l->core_ns = l->plan_ns = l->pods = 0;
}

static bool gangs(struct bench_report *report, struct life *l)
{
	struct alive_gang *alive = calloc(GANGS_ALIVE, sizeof(*alive));
	double whole[RUNS_MOST], planning[RUNS_MOST];
	bool ok = alive != NULL;
	uint32_t at = 0;

	/* The first run fills the window. */
	for (int run = -1; ok && run < (int)l->runs; run++) {
		while (ok && l->pods < PODS_EACH_RUN) {
			gang_leaves(l, at, &alive[at]);
			ok = gang_comes(l, at, &alive[at]);
			at = (at + 1) % GANGS_ALIVE;
		}
		if (ok && run >= 0)
			sample(l, &whole[run], &planning[run]);
		l->core_ns = l->plan_ns = l->pods = 0;
	}
	for (at = 0; alive && at < GANGS_ALIVE; at++)
		gang_leaves(l, at, &alive[at]);
	cluster_plan(&l->c);
	free(alive);
	if (ok)
		row(report, "sustained-gangs", whole, planning, l->runs, 0);
	return ok;
}

/* A few lone pods are added, the oldest ones end. */
static bool singles(struct bench_report *report, struct life *l)
{
	static pod_id alive[SINGLES_ALIVE];
	double whole[RUNS_MOST], planning[RUNS_MOST];
	uint32_t at = 0, n = 0;

	for (int run = -1; run < (int)l->runs; run++) {
		l->core_ns = l->plan_ns = l->pods = 0;
		while (l->pods < PODS_EACH_RUN) {
			cluster_batch(&l->c);
			for (uint32_t i = 0; i < SINGLES_AT_ONCE; i++) {
				uint32_t shape = SHAPE_MIX + next_random(l) % CLUSTER_MIX;

				if (n == SINGLES_ALIVE)
					cluster_pod_end(&l->c, alive[at]);
				else
					n++;
				alive[at] = cluster_pod(&l->c, ID_NONE, shape);
				at = (at + 1) % SINGLES_ALIVE;
			}
			feed(l);
			if (!plan(l, SINGLES_AT_ONCE))
				return false;
		}
		if (run >= 0)
			sample(l, &whole[run], &planning[run]);
	}
	row(report, "sustained-singles", whole, planning, l->runs, 1.2e6);
	return true;
}

bool bench_sustained(struct bench_report *report, const struct bench_options *options)
{
	struct cluster_setup setup = { .nodes = NODES, .pods_more = 2 * GANGS_ALIVE * MEMBERS_MOST };
	struct life l = { .seed = 1, .runs = options->quick ? 3 : RUNS_MOST };
	bool ok;

	if (!bench_pin(1) && !bench_pin(0))
		return false;
	if (!cluster_init(&l.c, &setup))
		return false;
	ok = gangs(report, &l) && singles(report, &l);
	cluster_free(&l.c);
	return ok;
}
