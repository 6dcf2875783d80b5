/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed work on the hot paths, for valgrind to count the instructions of: each function
 * counted_*() is called once, and nothing else is counted.  See tests/counts.sh.
 *
 *   muster-count POD.json */
#include "bench/cluster.h"
#include "core/world/feed.h"
#include "frontend/decode/extract.h"
#include "ipc/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 5000u
#define MEMBERS 1000u
#define MIXED 64u
#define RECORDS 4096u
#define RING_BYTES (1u << 20)
#define BODY_BYTES 32u

#if defined(__clang__)
#define WHOLE __attribute__((noinline))
#else
#define WHOLE __attribute__((noinline, noclone))
#endif
#define COUNTED WHOLE static

static struct cluster cluster;
static pod_id pods[MEMBERS];

static volatile int stage;

/* Instructions until here are not counted. */
WHOLE static void count_anew(void)
{
	stage = 0;
}

/* A row of counts.sh each; the number keeps the compiler from merging two equal functions. */
#define COUNTED_WORK(name, number, work)                                                           \
	COUNTED void counted_##name(void)                                                              \
	{                                                                                              \
		work;                                                                                      \
		stage = number;                                                                            \
	}

COUNTED_WORK(bound, 10, cluster_run(&cluster))
COUNTED_WORK(gone, 11, cluster_run(&cluster); cluster_decide(&cluster))
COUNTED_WORK(lone, 12, cluster_run(&cluster))
COUNTED_WORK(lived, 13, cluster_run(&cluster))
COUNTED_WORK(gang, 1, cluster_decide(&cluster))
COUNTED_WORK(pods, 2, cluster_run(&cluster))
COUNTED_WORK(single, 3, cluster_decide(&cluster))
COUNTED_WORK(shape, 4, cluster_run(&cluster); cluster_decide(&cluster))
COUNTED_WORK(refuse, 5, cluster_decide(&cluster))
COUNTED_WORK(fresh, 14, cluster_run(&cluster); cluster_decide(&cluster))
COUNTED_WORK(node, 6, cluster_run(&cluster); cluster_decide(&cluster))
COUNTED_WORK(anti, 8, cluster_decide(&cluster))
COUNTED_WORK(spread, 9, cluster_decide(&cluster))
COUNTED_WORK(mix, 7, cluster_decide(&cluster))
COUNTED_WORK(service, 15, cluster_decide(&cluster))
COUNTED_WORK(prefer, 16, cluster_decide(&cluster))
COUNTED_WORK(pods_followed, 17, cluster_run(&cluster))
COUNTED_WORK(gang_followed, 18, cluster_decide(&cluster))
COUNTED_WORK(bound_followed, 19, cluster_run(&cluster))
COUNTED_WORK(gone_followed, 20, cluster_run(&cluster); cluster_decide(&cluster))
COUNTED_WORK(left, 21, cluster_run(&cluster))

static void gang(uint32_t shape, uint32_t members)
{
	cluster_batch(&cluster);
	cluster_gang(&cluster, 0, members);
	for (uint32_t i = 0; i < members; i++)
		pods[i] = cluster_pod(&cluster, 0, shape);
}

/* The last n bindings have results, and the watch has shown them. */
static void bound(uint32_t n)
{
	uint64_t first = cluster.binds - n;

	cluster_batch(&cluster);
	for (uint32_t i = 0; i < n; i++)
		cluster_bound(&cluster, &cluster.bind[(first + i) % CLUSTER_BINDS]);
}

static void gang_leaves(uint32_t members)
{
	cluster_batch(&cluster);
	for (uint32_t i = 0; i < members; i++)
		cluster_pod_end(&cluster, pods[i]);
	cluster_gang_end(&cluster, 0);
}

static void gang_ends(uint32_t members)
{
	gang_leaves(members);
	cluster_run(&cluster);
	cluster_plan(&cluster);
}

/* The first gang adds the shape. */
static void gangs(void)
{
	gang(SHAPE_CPU, MEMBERS);
	cluster_run(&cluster);
	cluster_plan(&cluster);
	gang_ends(MEMBERS);
	gang(SHAPE_CPU, MEMBERS);
	count_anew();
	counted_pods();
	count_anew();
	counted_gang();
	cluster_take(&cluster);
	bound(MEMBERS);
	count_anew();
	counted_bound();
	gang_leaves(MEMBERS);
	count_anew();
	counted_gone();
	cluster_take(&cluster);
}

/* The first rows once more with a world's feed: what the loop has of it. */
static bool followed_gangs(void)
{
	if (feed_open(&cluster.followed, FEED_BYTES) < 0)
		return false;
	gang(SHAPE_CPU, MEMBERS);
	count_anew();
	counted_pods_followed();
	count_anew();
	counted_gang_followed();
	cluster_take(&cluster);
	bound(MEMBERS);
	count_anew();
	counted_bound_followed();
	gang_leaves(MEMBERS);
	count_anew();
	counted_gone_followed();
	cluster_take(&cluster);
	feed_close(cluster.followed);
	cluster.followed = NULL;
	return true;
}

/* The same with rules between the members. */
static void ruled_gangs(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		gang(i < 2 ? SHAPE_ANTI : SHAPE_SPREAD, MEMBERS);
		cluster_run(&cluster);
		count_anew();
		if (i == 1)
			counted_anti();
		else if (i == 3)
			counted_spread();
		else
			cluster_decide(&cluster);
		cluster_take(&cluster);
		gang_ends(MEMBERS);
	}
}

/* The same with soft rules.  After all others: their shapes are new. */
static void soft_gangs(void)
{
	cluster_soft_shapes(&cluster);
	for (uint32_t i = 0; i < 4; i++) {
		gang(i < 2 ? SHAPE_SERVICE : SHAPE_PREFER_HOST, MEMBERS);
		cluster_run(&cluster);
		count_anew();
		if (i == 1)
			counted_service();
		else if (i == 3)
			counted_prefer();
		else
			cluster_decide(&cluster);
		cluster_take(&cluster);
		gang_ends(MEMBERS);
	}
}

static void singles(void)
{
	for (int i = 0; i < 2; i++) {
		pods[i] = cluster_pod(&cluster, ID_NONE, SHAPE_ZONE);
		if (i == 0)
			cluster_plan(&cluster);
	}
	count_anew();
	counted_single();
	cluster_take(&cluster);
	cluster_batch(&cluster);
	cluster_new_shape(&cluster, false);
	pods[2] = cluster_pod(&cluster, ID_NONE, SHAPE_NEW);
	count_anew();
	counted_shape();
	cluster_take(&cluster);
	for (int i = 0; i < 3; i++)
		cluster_pod_end(&cluster, pods[i]);
	cluster_plan(&cluster);
}

static void refused(void)
{
	gang(SHAPE_RARE, 64);
	cluster_run(&cluster);
	cluster_plan(&cluster);
	gang_ends(64);
	gang(SHAPE_RARE, 64);
	cluster_run(&cluster);
	count_anew();
	counted_refuse();
	cluster_take(&cluster);
	gang_ends(64);
}

/* A gang of a new class that selects a pool in which it does not fit. */
static void refused_fresh(void)
{
	cluster_batch(&cluster);
	cluster_new_shape(&cluster, true);
	cluster_gang(&cluster, 0, 64);
	for (uint32_t i = 0; i < 64; i++)
		pods[i] = cluster_pod(&cluster, 0, SHAPE_NEW);
	count_anew();
	counted_fresh();
	cluster_take(&cluster);
	gang_ends(64);
}

/* Sixteen shapes are live and scanned when a node changes. */
static void node_changes(void)
{
	for (uint32_t i = 0; i < CLUSTER_MIX; i++)
		pods[i] = cluster_pod(&cluster, ID_NONE, SHAPE_MIX + i);
	cluster_plan(&cluster);
	cluster_batch(&cluster);
	cluster_node(&cluster, 4711, true);
	for (uint32_t i = 0; i < CLUSTER_MIX; i++)
		pods[CLUSTER_MIX + i] = cluster_pod(&cluster, ID_NONE, SHAPE_MIX + i);
	count_anew();
	counted_node();
	cluster_take(&cluster);
}

/* Lone pods of sixteen shapes: a placement of one of them makes the others scan its node. Then the
 * records of their lives: added, result, seen bound, deleted. */
static void mixed(void)
{
	cluster_batch(&cluster);
	for (uint32_t i = 0; i < MIXED; i++)
		pods[i] = cluster_pod(&cluster, ID_NONE, SHAPE_MIX + i % CLUSTER_MIX);
	count_anew();
	counted_lone();
	count_anew();
	counted_mix();
	cluster_take(&cluster);
	bound(MIXED);
	for (uint32_t i = 0; i < MIXED; i++)
		cluster_pod_end(&cluster, pods[i]);
	count_anew();
	counted_lived();
}

/* A node leaves while the binding of a pod to it is in flight: what other pods there are must not
 * matter.  The pod takes the node that is empty. */
static bool node_leaves(void)
{
	cluster_batch(&cluster);
	cluster_node_join(&cluster, NODES);
	pods[0] = cluster_pod(&cluster, ID_NONE, SHAPE_MIX);
	cluster_run(&cluster);
	cluster_plan(&cluster);
	if (cluster.bind[(cluster.binds - 1) % CLUSTER_BINDS].node != NODES)
		return false;
	cluster_batch(&cluster);
	cluster_node_leave(&cluster, NODES);
	count_anew();
	counted_left();
	return true;
}

static struct {
	alignas(CACHE_LINE) _Atomic uint64_t tail;
	alignas(CACHE_LINE) _Atomic uint64_t head;
	alignas(CACHE_LINE) unsigned char data[RING_BYTES];
	alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
} lane;

COUNTED bool counted_ring(struct ring_writer *w, struct ring_reader *r)
{
	for (uint32_t i = 0; i < RECORDS; i++) {
		struct record *place = ring_reserve(w, EVENT_TICK, BODY_BYTES, i);

		if (!place)
			return false;
		memset(place + 1, 0, BODY_BYTES);
		ring_publish(w);
		if (ring_read(r, (struct record *)(void *)lane.buffer) != 1)
			return false;
		ring_release(r);
	}
	return true;
}

static bool ring(void)
{
	struct ring_writer w;
	struct ring_reader r;

	ring_writer_init(&w, lane.data, RING_BYTES, &lane.tail, &lane.head, 1);
	ring_reader_init(&r, lane.data, RING_BYTES, &lane.tail, &lane.head, 1);
	count_anew();
	return counted_ring(&w, &r);
}

COUNTED bool counted_extract(const char *json, size_t bytes, struct arena *arena)
{
	static struct pod_object pod;
	struct decode_error error;

	return extract_pod(json, bytes, arena, &pod, &error) == 0;
}

static bool extract(const char *path)
{
	static char json[1u << 16];
	struct arena arena = { 0 };
	FILE *f = fopen(path, "re");
	size_t bytes = f ? fread(json, 1, sizeof(json) - 1, f) : 0;
	bool ok = false;

	/* The first one sizes the arena. */
	for (int i = 0; i < 2 && bytes > 0; i++) {
		struct pod_object pod;
		struct decode_error error;

		ok = i > 0 || extract_pod(json, bytes, &arena, &pod, &error) == 0;
		count_anew();
		if (ok && i > 0)
			ok = counted_extract(json, bytes, &arena);
		arena_reset(&arena);
	}
	if (!ok)
		fprintf(stderr, "muster-count: %s is no pod\n", path);
	if (f)
		fclose(f);
	arena_free(&arena);
	return ok;
}

int main(int argc, char **argv)
{
	uint64_t binds;

	if (argc != 2) {
		fprintf(stderr, "usage: muster-count POD.json\n");
		return 2;
	}
	if (!extract(argv[1]) || !ring() ||
	    !cluster_init(&cluster,
	                  &(struct cluster_setup){ .nodes = NODES, .pods_more = 10000, .spare = 1 }))
		return 1;
	binds = cluster.binds;
	gangs();
	if (!followed_gangs())
		return 1;
	ruled_gangs();
	singles();
	refused();
	refused_fresh();
	node_changes();
	mixed();
	cluster_run(&cluster);
	soft_gangs();
	if (!node_leaves() || cluster.binds - binds != 11 * MEMBERS + 3 + 2 * CLUSTER_MIX + MIXED + 1) {
		fprintf(stderr, "muster-count: %llu bindings\n",
		        (unsigned long long)(cluster.binds - binds));
		return 1;
	}
	cluster_free(&cluster);
	return 0;
}
