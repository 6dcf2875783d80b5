/* SPDX-License-Identifier: Apache-2.0 */
/* How long does the core take to place a gang or a pod, or to find out why it can't, with
 * everything that production does: rules, reservation, reasons, commands, rows? Every node is
 * considered for every member. Only planning is measured; for new shapes also the record of the
 * shape. */
#include "bench/bench.h"
#include "bench/cluster.h"

#define EVENTS_NODES 5000u
/* A row of gangs that takes longer has fewer samples, but at least so many. */
#define LONG_NS UINT64_C(1000000000)
#define LEAST_SAMPLES 3u
#define BIG_MEMBERS 2000u /* pods of each gang that waits: more than fit on 5,000 nodes */

struct samples {
	double *at;
	size_t n, room;
};

static bool samples_init(struct samples *s, size_t room)
{
	*s = (struct samples){ .at = malloc(room * sizeof(double)), .room = room };
	if (!s->at)
		fprintf(stderr, "muster-bench: no memory for samples\n");
	return s->at;
}

static void samples_add(struct samples *s, double value)
{
	if (s->n < s->room)
		s->at[s->n++] = value;
}

static void samples_end(struct samples *s, struct bench_report *report, const char *name,
                        const char *unit, double goal)
{
	bench_add(report, name, unit, s->at, s->n, false, goal);
	free(s->at);
}

/* True if the last n bindings obey the rule of the shape. SHAPE_ANTI: each on a node of its own;
 * SHAPE_SPREAD: zones differ by at most one; with racks all in one block. */
static bool rule_holds(const struct cluster *c, uint32_t shape, uint32_t n)
{
	uint32_t zones[CLUSTER_ZONES] = { 0 }, least = UINT32_MAX, most = 0;
	unsigned char *seen = calloc(c->nodes, 1);
	bool ok = seen != NULL;

	for (uint32_t i = 0; ok && i < n; i++) {
		node_id node = c->bind[(c->binds - 1 - i) % CLUSTER_BINDS].node;

		ok = (shape != SHAPE_ANTI || !seen[node]) &&
		     (!c->racks ||
		      node / CLUSTER_BLOCK == c->bind[(c->binds - 1) % CLUSTER_BINDS].node / CLUSTER_BLOCK);
		seen[node] = 1;
		zones[node / CLUSTER_TYPES % CLUSTER_ZONES]++;
	}
	free(seen);
	for (uint32_t zone = 0; zone < CLUSTER_ZONES; zone++) {
		least = zones[zone] < least ? zones[zone] : least;
		most = zones[zone] > most ? zones[zone] : most;
	}
	return ok && (shape != SHAPE_SPREAD || most - least <= 1);
}

/* From pending to commands, in ns, for a gang that fits; then it ends. 0 and a message when it was
 * not placed by its rule. */
static uint64_t gang_once(struct cluster *c, uint32_t members, uint32_t shape, pod_id *pods)
{
	uint64_t took, binds = c->binds;
	bool ok;

	cluster_gang(c, 0, members);
	for (uint32_t i = 0; i < members; i++)
		pods[i] = cluster_pod(c, 0, shape);
	took = cluster_plan(c);
	ok = c->binds - binds == members;
	if (!ok)
		fprintf(stderr, "muster-bench: the gang got %llu of %u bindings\n",
		        (unsigned long long)(c->binds - binds), members);
	else if (!(ok = rule_holds(c, shape, members)))
		fprintf(stderr, "muster-bench: the gang was not placed as its rules want it\n");
	for (uint32_t i = 0; i < members; i++)
		cluster_pod_end(c, pods[i]);
	cluster_gang_end(c, 0);
	cluster_plan(c);
	return ok ? took : 0;
}

static bool gang_row(struct bench_report *report, struct cluster *c, uint32_t members,
                     uint32_t shape, const char *rule, double goal)
{
	size_t n = c->nodes > 100000 ? 9 : 31;
	pod_id *pods = malloc(members * sizeof(*pods));
	struct samples s;
	uint64_t took = 1, sum = 0;
	char name[64];

	if (!pods || !samples_init(&s, n)) {
		free(pods);
		return false;
	}
	/* The first gang of a shape includes the cost of the shape: that is single-new. */
	for (size_t i = 0; took > 0 && i <= n && (i <= LEAST_SAMPLES || sum < LONG_NS); i++) {
		took = gang_once(c, members, shape, pods);
		sum += took;
		if (i > 0)
			samples_add(&s, (double)took / 1000);
	}
	free(pods);
	if (took == 0) {
		free(s.at);
		return false;
	}
	snprintf(name, sizeof(name), "gang-%u%s/%u", members, rule, c->nodes);
	samples_end(&s, report, name, "us", goal);
	return true;
}

static bool single_known(struct bench_report *report, struct cluster *c)
{
	uint32_t n = c->nodes > 100000 ? 1000 : 4000;
	struct samples s;
	char name[64];

	if (!samples_init(&s, n))
		return false;
	for (uint32_t i = 0; i < n + 2; i++) {
		pod_id pod = cluster_pod(c, ID_NONE, i % 2 ? SHAPE_GPU : SHAPE_ZONE);
		uint64_t took = cluster_plan(c);

		if (i >= 2) /* before that they are new */
			samples_add(&s, (double)took);
		cluster_pod_end(c, pod);
		cluster_plan(c);
	}
	snprintf(name, sizeof(name), "single-known/%u", c->nodes);
	samples_end(&s, report, name, "ns", 0);
	return true;
}

/* The shape's record and the plan, without the pod's record. */
static bool single_new(struct bench_report *report, struct cluster *c, double goal)
{
	uint32_t n = c->nodes > 100000 ? 9 : c->nodes > 10000 ? 51 : 301;
	struct samples s;
	char name[64];

	if (!samples_init(&s, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = bench_now_ns(), took;
		pod_id pod;

		cluster_new_shape(c, false);
		took = bench_now_ns() - start;
		pod = cluster_pod(c, ID_NONE, SHAPE_NEW);
		took += cluster_plan(c);
		samples_add(&s, (double)took / 1000);
		cluster_pod_end(c, pod);
		cluster_plan(c);
	}
	snprintf(name, sizeof(name), "single-new/%u", c->nodes);
	samples_end(&s, report, name, "us", goal);
	return true;
}

/* A gang that can't fit, planned for the first time: its reason with the shortfall is computed and
 * published as well. */
static bool refuse_row(struct bench_report *report, struct cluster *c, bool new_shape, double goal)
{
	enum { N = 301, MEMBERS = 64 };
	pod_id pods[MEMBERS];
	struct samples s;
	char name[64];

	if (!samples_init(&s, N))
		return false;
	for (uint32_t i = 0; i < N; i++) {
		uint64_t start = bench_now_ns(), took = 0, reasons = c->reasons;

		if (new_shape) {
			cluster_new_shape(c, true);
			took = bench_now_ns() - start;
		}
		cluster_gang(c, 0, MEMBERS);
		for (uint32_t member = 0; member < MEMBERS; member++)
			pods[member] = cluster_pod(c, 0, new_shape ? SHAPE_NEW : SHAPE_RARE);
		took += cluster_plan(c);
		if (c->reasons == reasons) {
			fprintf(stderr, "muster-bench: no reason was published\n");
			free(s.at);
			return false;
		}
		samples_add(&s, (double)took / 1000);
		for (uint32_t member = 0; member < MEMBERS; member++)
			cluster_pod_end(c, pods[member]);
		cluster_gang_end(c, 0);
		cluster_plan(c);
	}
	snprintf(name, sizeof(name), "refuse-%s/%u", new_shape ? "new" : "known", c->nodes);
	samples_end(&s, report, name, "us", goal);
	return true;
}

/* Gangs of 16 shapes, none of which fits. */
static void big_gangs_wait(struct cluster *c)
{
	for (uint32_t shape = 0; shape < CLUSTER_BIG; shape++) {
		cluster_gang(c, 1 + shape, BIG_MEMBERS);
		for (uint32_t i = 0; i < BIG_MEMBERS; i++)
			cluster_pod(c, 1 + shape, SHAPE_BIG + shape);
	}
	cluster_plan(c);
}

/* A node gets more memory and loses it again while gangs of 16 shapes wait for capacity: the
 * record, and the scan that it causes. A sample is the mean of both. */
static bool node_event(struct bench_report *report, struct cluster *c, double goal)
{
	enum { N = 2000 };
	struct samples s;
	char name[64];

	if (!samples_init(&s, N))
		return false;
	big_gangs_wait(c);
	for (uint32_t i = 0; i < N; i++) {
		node_id node = i * 2654435761u % c->nodes;
		uint64_t took = 0;

		for (int more = 1; more >= 0; more--) {
			cluster_batch(c);
			cluster_node(c, node, more);
			took += cluster_run(c);
			took += cluster_plan(c);
		}
		samples_add(&s, (double)took / 2000);
	}
	snprintf(name, sizeof(name), "node-event/%u", CLUSTER_BIG);
	samples_end(&s, report, name, "us", goal);
	return true;
}

/* Preferences and soft rules: each member changes the scores of all nodes. */
static bool soft_rows(struct bench_report *report, struct cluster *c)
{
	const double service = c->nodes == EVENTS_NODES ? 1000 : 3000;

	cluster_soft_shapes(c);
	if (!gang_row(report, c, 1000, SHAPE_SERVICE, "-service", service))
		return false;
	return c->nodes != EVENTS_NODES ||
	       (gang_row(report, c, 1000, SHAPE_PREFER_HOST, "-prefer-host", 1000) &&
	        gang_row(report, c, 1000, SHAPE_PREFER_ZONE, "-prefer-zone", 1000) &&
	        gang_row(report, c, 1000, SHAPE_PREFER_NODE, "-prefer-node", 1000));
}

/* A node leaves, and joins again, while gangs of 16 shapes wait for capacity: the record, and
 * until all of them have been looked at with the new set of nodes.  With `-single` the plan of a
 * lone pod too, which pays for what was put off.  A sample is the mean of both. */
static bool node_joins(struct bench_report *report, struct cluster *c, double goal)
{
	enum { N = 101 };
	const node_id node = c->nodes;
	struct samples alone, single;
	char name[64];

	if (!samples_init(&alone, N))
		return false;
	if (!samples_init(&single, N)) {
		free(alone.at);
		return false;
	}
	big_gangs_wait(c);
	cluster_single(c, SHAPE_CPU);
	for (uint32_t i = 0; i <= 2 * N; i++) {
		uint64_t took, with;

		cluster_batch(c);
		if (i % 2)
			cluster_node_leave(c, node);
		else
			cluster_node_join(c, node);
		took = cluster_run(c);
		took += cluster_plan(c);
		with = took + cluster_single(c, SHAPE_CPU);
		if (i == 0)
			continue; /* the id is new */
		if (i % 2) {
			samples_add(&alone, (double)took / 2000);
			samples_add(&single, (double)with / 2000);
		} else {
			alone.at[alone.n - 1] += (double)took / 2000;
			single.at[single.n - 1] += (double)with / 2000;
		}
	}
	snprintf(name, sizeof(name), "node-join/%u", c->nodes);
	samples_end(&alone, report, name, "us", goal);
	snprintf(name, sizeof(name), "node-join-single/%u", c->nodes);
	samples_end(&single, report, name, "us", goal);
	return true;
}

static bool joins(struct bench_report *report, uint32_t nodes, double goal)
{
	const struct cluster_setup setup = {
		.nodes = nodes, .pods_more = 50000, .scattered = true, .spare = 1
	};
	struct cluster c;
	bool ok;

	if (!cluster_init(&c, &setup))
		return false;
	ok = node_joins(report, &c, goal);
	cluster_free(&c);
	return ok;
}

static bool topology(struct bench_report *report, uint32_t nodes, double goal)
{
	struct cluster c;
	bool ok;

	if (!cluster_init(&c,
	                  &(struct cluster_setup){ .nodes = nodes, .pods_more = 5000, .racks = true }))
		return false;
	ok = gang_row(report, &c, 1000, SHAPE_CPU, "-topology", goal);
	cluster_free(&c);
	return ok;
}

/* A gang of 1,000 with a claim for one device each, on nodes with 8 of them. */
static bool devices(struct bench_report *report, uint32_t nodes, double goal)
{
	struct cluster c;
	bool ok;

	if (!cluster_init(&c, &(struct cluster_setup){ .nodes = nodes, .pods_more = 5000 }))
		return false;
	cluster_devices(&c, false, 3);
	ok = gang_row(report, &c, 1000, SHAPE_DEVICE, "-devices", goal);
	cluster_free(&c);
	return ok;
}

struct size {
	uint32_t nodes;
	double gang, fresh; /* goals; fresh 0: no rows of lone pods */
};

static bool at_size(struct bench_report *report, const struct size *size)
{
	struct cluster c;
	bool ok;

	if (!cluster_init(&c, &(struct cluster_setup){ .nodes = size->nodes, .pods_more = 50000 }))
		return false;
	ok = gang_row(report, &c, 1000, SHAPE_CPU, "", size->gang);
	if (ok && size->fresh > 0)
		ok = single_known(report, &c) && single_new(report, &c, size->fresh);
	if (ok && size->nodes == EVENTS_NODES)
		ok = gang_row(report, &c, 10000, SHAPE_CPU, "", 1000) && refuse_row(report, &c, false, 0) &&
		     refuse_row(report, &c, true, 6) &&
		     gang_row(report, &c, 1000, SHAPE_ANTI, "-anti", 5000) &&
		     gang_row(report, &c, 1000, SHAPE_SPREAD, "-spread", 5000) &&
		     node_event(report, &c, 0.15);
	if (ok && (size->nodes == EVENTS_NODES || size->nodes == 100000))
		ok = soft_rows(report, &c);
	cluster_free(&c);
	if (!ok || size->nodes != EVENTS_NODES)
		return ok;
	return topology(report, EVENTS_NODES, 1000) && devices(report, EVENTS_NODES, 2000) &&
	       joins(report, EVENTS_NODES, 20) && joins(report, 65000, 50);
}

bool bench_decide(struct bench_report *report, const struct bench_options *options)
{
	static const struct size sizes[] = {
		{ 1000, 70, 0 },
		{ EVENTS_NODES, 90, 4 },
		{ 100000, 200, 80 },
		{ 1000000, 1500, 1600 },
	};

	if (!bench_pin(1) && !bench_pin(0))
		return false;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (options->nodes > 0 ? sizes[i].nodes != options->nodes
		                       : options->quick && sizes[i].nodes > 100000)
			continue;
		if (!at_size(report, &sizes[i]))
			return false;
	}
	if (report->rows_n > 0)
		return true;
	fprintf(stderr, "muster-bench: decide has 1000, 5000, 100000 and 1000000 nodes\n");
	return false;
}
