/* How long does the core take to place a gang or a pod, with everything that
 * production does: rules, reservation, reasons, commands?  Every node is
 * considered for every member, through the index that core/views.h keeps. */
#include "bench/bench.h"
#include "bench/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES 5000u
#define MEMBERS 1000u

/* Pending to commands out, for a gang that fits; then it ends. */
static bool gang_row(struct bench_report *report, struct cluster *c)
{
	enum { RUNS = 15 };
	double samples[RUNS];
	char name[64];

	for (uint32_t run = 0; run < RUNS; run++) {
		pod_id first = c->next_pod;
		uint64_t start, binds = c->binds;

		cluster_gang(c, run, MEMBERS);
		for (uint32_t i = 0; i < MEMBERS; i++)
			cluster_pod(c, run, SHAPE_CPU);
		start = bench_now_ns();
		cluster_plan(c);
		samples[run] = (double)(bench_now_ns() - start) / 1000;
		if (c->binds - binds != MEMBERS) {
			fprintf(stderr, "muster-bench: the gang got %llu of %u bindings\n",
			        (unsigned long long)(c->binds - binds), MEMBERS);
			return false;
		}
		for (uint32_t i = 0; i < MEMBERS; i++)
			cluster_pod_end(c, first + i);
		cluster_plan(c);
	}
	snprintf(name, sizeof(name), "gang-%u/%u", MEMBERS, NODES);
	bench_add(report, name, "us", samples, RUNS, false, 90);
	return true;
}

static bool single_row(struct bench_report *report, struct cluster *c)
{
	enum { N = 4000 };
	static double samples[N];
	char name[64];

	for (uint32_t i = 0; i < N; i++) {
		pod_id pod = cluster_pod(c, ID_NONE, i % 2 ? SHAPE_GPU : SHAPE_ZONE);
		uint64_t start = bench_now_ns();

		cluster_plan(c);
		samples[i] = (double)(bench_now_ns() - start);
		cluster_pod_end(c, pod);
		cluster_plan(c);
	}
	snprintf(name, sizeof(name), "single-known/%u", NODES);
	bench_add(report, name, "ns", samples, N, false, 150);
	return true;
}

/* A gang that can't fit, looked at for the first time: its reason is worked
 * out as well. */
static bool refuse_row(struct bench_report *report, struct cluster *c)
{
	enum { N = 500 };
	static double samples[N];
	char name[64];

	for (uint32_t i = 0; i < N; i++) {
		pod_id pods[2];
		uint64_t start;

		cluster_gang(c, 100 + i, 2);
		pods[0] = cluster_pod(c, 100 + i, SHAPE_HUGE);
		pods[1] = cluster_pod(c, 100 + i, SHAPE_HUGE);
		start = bench_now_ns();
		cluster_plan(c);
		samples[i] = (double)(bench_now_ns() - start) / 1000;
		cluster_pod_end(c, pods[0]);
		cluster_pod_end(c, pods[1]);
		cluster_plan(c);
	}
	snprintf(name, sizeof(name), "refuse-known/%u", NODES);
	bench_add(report, name, "us", samples, N, false, 0.2);
	return true;
}

bool bench_decide(struct bench_report *report)
{
	struct cluster c;
	bool ok;

	if (!bench_pin(1) && !bench_pin(0))
		return false;
	if (!cluster_init(&c, NODES, 40000))
		return false;
	ok = gang_row(report, &c) && single_row(report, &c) && refuse_row(report, &c);
	cluster_free(&c);
	return ok;
}
