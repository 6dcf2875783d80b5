/* SPDX-License-Identifier: Apache-2.0 */
/* What do claims of devices cost?  5,000 nodes with 8 GPUs each; in the core a gang that finds one
 * too few, a gang whose members want two GPUs and a NIC on one PCIe root each, and a claim of
 * another scheduler's that is allocated or freed; in the frontend a selector that was never seen.
 * A gang that is placed: row gang-1000-devices of bench/decide.c. */
#include "bench/bench.h"
#include "bench/cluster.h"
#include "bench/devices_live.h"

#define NODES 5000u
#define MEMBERS 1000u
#define GPUS 8u
#define BIG 2u /* a type of nodes, with 96 cores */

struct row {
	const char *name, *unit;
	uint32_t samples;
	double goal;
};

/* A gang of MEMBERS from its last record until the core has nothing to plan, in ns; then it ends.
 * *bound: members that were. */
static uint64_t gang_once(struct cluster *c, uint32_t members, uint64_t *bound)
{
	static pod_id pods[MEMBERS];
	const uint64_t binds = c->binds;
	uint64_t took;

	cluster_gang(c, 0, members);
	for (uint32_t i = 0; i < members; i++)
		pods[i] = cluster_pod(c, 0, SHAPE_DEVICE);
	took = cluster_plan(c);
	*bound = c->binds - binds;
	for (uint32_t i = 0; i < members; i++)
		cluster_pod_end(c, pods[i]);
	cluster_gang_end(c, 0);
	cluster_plan(c);
	return took;
}

/* Samples of a gang of which so many members have to be bound. */
static bool gang_row(struct bench_report *report, struct cluster *c, const struct row *row,
                     uint64_t wanted)
{
	double *samples = calloc(row->samples, sizeof(*samples));
	uint64_t bound = wanted;

	/* The first gang includes the cost of the shape. */
	for (uint32_t i = 0; samples && bound == wanted && i <= row->samples; i++) {
		const uint64_t took = gang_once(c, MEMBERS, &bound);

		if (i > 0)
			samples[i - 1] = (double)took / 1000;
	}
	if (samples && bound == wanted)
		bench_add(report, row->name, row->unit, samples, row->samples, false, row->goal);
	else
		fprintf(stderr, "muster-bench: %s: %llu members were bound\n", row->name,
		        (unsigned long long)bound);
	free(samples);
	return samples && bound == wanted;
}

/* All but MEMBERS - 1 GPUs are taken: on nodes that have room for the pods. */
static bool refuse(struct bench_report *report, struct cluster *c)
{
	static const struct row row = { "dra-gang-refuse/5000", "us", 301, 100 };
	uint32_t left = MEMBERS - 1;
	uint64_t bound;

	for (uint32_t node = 0; node < c->nodes; node++) {
		const uint32_t free = node % CLUSTER_TYPES != BIG ? 0 : left < GPUS ? left : GPUS;

		cluster_node_devices(c, node, GPUS - free);
		left -= free;
	}
	gang_once(c, MEMBERS - 1, &bound);
	if (bound == MEMBERS - 1)
		return gang_row(report, c, &row, 0);
	fprintf(stderr, "muster-bench: %llu of %u free devices are found\n", (unsigned long long)bound,
	        MEMBERS - 1);
	return false;
}

/* The record, and until the core has nothing to plan; with `-single` the plan of a lone pod too,
 * which pays for what was put off.  A sample is the mean of a device that is allocated and freed.
 */
static bool claim_event(struct bench_report *report, struct cluster *c)
{
	enum { N = 2000 };
	static double alone[N], single[N];

	for (uint32_t i = 0; i < N; i++) {
		const node_id node = i * 2654435761u % c->nodes;
		uint64_t took = 0, with = 0;

		for (uint32_t taken = 5; taken-- > 3;) {
			cluster_batch(c);
			cluster_node_devices(c, node, taken);
			took += cluster_run(c);
			took += cluster_plan(c);
			with += cluster_single(c, SHAPE_DEVICE);
		}
		alone[i] = (double)took / 2000;
		single[i] = (double)(took + with) / 2000;
	}
	bench_add(report, "dra-claim-event", "us", alone, N, false, 2);
	bench_add(report, "dra-claim-event-single", "us", single, N, false, 0);
	return true;
}

static bool in_core(struct bench_report *report, bool pairs)
{
	static const struct row pair = { "dra-pair/5000", "us", 31, 40000 };
	struct cluster c;
	bool ok;

	if (!cluster_init(&c, &(struct cluster_setup){ .nodes = NODES, .pods_more = 5000 }))
		return false;
	cluster_devices(&c, pairs, pairs ? 0 : 3);
	ok = pairs ? gang_row(report, &c, &pair, MEMBERS)
	           : claim_event(report, &c) && refuse(report, &c);
	cluster_free(&c);
	return ok;
}

/* `regex`: the selector has a regular expression, too. */
static bool question_new(struct bench_report *report, struct live *l, bool regex)
{
	enum { N = 15 };
	double samples[N];
	bool ok = true;

	for (uint32_t i = 0; ok && i < N; i++)
		samples[i] = (double)devices_live_ask(l, i + N * regex, regex, &ok) / 1e6;
	if (ok)
		bench_add(report, regex ? "dra-question-new-regex" : "dra-question-new", "ms", samples, N,
		          false, regex ? 0 : 20);
	else
		fprintf(stderr, "muster-bench: the new selector does not match all devices\n");
	return ok;
}

static bool in_frontend(struct bench_report *report)
{
	struct live *l = devices_live(NODES, 0);
	const bool ok = question_new(report, l, false) && question_new(report, l, true);

	live_free(l);
	return ok;
}

bool bench_devices(struct bench_report *report, const struct bench_options *options)
{
	if (!bench_pin(1) && !bench_pin(0))
		return false;
	return in_core(report, false) && in_core(report, true) && in_frontend(report);
}
