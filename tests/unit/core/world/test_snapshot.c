/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of random clusters against the core that they were made of, shared chunks, and the
 * audit. */
#include "core/lifecycle/state.h"
#include "core/world/snapshot.h"
#include "tests/unit/support_slow.h"
#include "tests/unit/test.h"

#include <unistd.h>

#define CLUSTERS 6
#define STEPS 200

static void assert_nodes(const struct snapshot *s, const struct core *c)
{
	for (node_id id = 0; id < c->nodes.used; id++) {
		const struct snapshot_chunk *chunk = s->chunks[id / CHUNK_NODES];
		const uint32_t k = id % CHUNK_NODES;
		uint32_t pods = 0;

		cr_assert_eq(chunk->present >> k & 1, node_present(&c->nodes.slots[id]));
		for (uint32_t r = 0; r < s->resources && node_present(&c->nodes.slots[id]); r++) {
			cr_assert_eq(chunk_free(chunk, r)[k], nodes_free_amount(&c->nodes, id, r));
			cr_assert_eq(chunk_allocatable(chunk, r)[k], nodes_allocatable(&c->nodes, id, r));
		}
		for (uint32_t i = 0; i < s->shapes_n; i++)
			cr_assert_eq(chunk_allowed(chunk)[i] >> k & 1,
			             shape_allows(&c->shapes.slots[s->shapes[i]], id));
		for (uint32_t i = 0; i < chunk->pods_n; i++) {
			const struct snapshot_pod *p = &chunk_pods(chunk)[i];
			const struct pod *of = &c->pods.slots[p->pod];

			cr_assert(of->generation == p->generation && of->shape == p->shape &&
			          of->priority == p->priority && of->gang == p->gang);
			cr_assert(of->node == id / CHUNK_NODES * CHUNK_NODES + p->node);
			pods += p->node == k;
		}
		cr_assert_eq(pods, c->nodes.slots[id].pods);
	}
}

static void assert_gangs(const struct snapshot *s, const struct core *c)
{
	uint32_t queued = 0;

	for (uint32_t i = 0; i < c->gangs.n; i++)
		queued += c->gangs.slots[i].queue != QUEUE_NONE;
	cr_assert_eq(s->gangs_n, queued);
	for (uint32_t i = 0; i < s->gangs_n; i++) {
		const struct gang *g = &c->gangs.slots[s->gangs[i].gang];

		cr_assert_eq(g->generation, s->gangs[i].generation);
		cr_assert_eq(gang_missing(g), s->gangs[i].missing);
		cr_assert(i == 0 || gang_queued_before(&c->gangs, s->gangs[i - 1].gang, s->gangs[i].gang));
	}
}

Test(snapshot, equals_the_core)
{
	struct random r = random_start("snapshot");
	struct audit *a = audit_new(SLOW_SHAPES);
	uint64_t pods = 0, gangs = 0;

	snapshots_enter();
	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, SCORE_KUBE, i % 2);
		struct snapshots *published = snapshots_new();

		for (int k = 0; k < STEPS; k++) {
			const struct snapshot *seen;
			struct audit_difference d;
			uint32_t copied, shared;

			slow_step(s);
			if (random_below(&r, 4) > 0)
				continue;
			/* The grace periods of the ones before are the library's thread's. */
			while (!snapshots_has_room(published))
				usleep(100);
			snapshots_publish(published, snapshot_make(slow_core(s), (uint64_t)k), &copied,
			                  &shared);
			seen = snapshots_begin(published);
			cr_assert_eq(seen->position, (uint64_t)k);
			cr_assert_eq(copied + shared, seen->chunks_n);
			assert_nodes(seen, slow_core(s));
			assert_gangs(seen, slow_core(s));
			cr_assert(snapshot_audit(seen, 0, 1, a, &d), "node %u resource %u", d.node, d.resource);
			for (uint32_t n = 0; n < seen->chunks_n; n++)
				pods += seen->chunks[n]->pods_n;
			gangs += seen->gangs_n;
			snapshots_end();
		}
		snapshots_free(published);
		slow_free(s);
	}
	snapshots_leave();
	audit_free(a);
	cr_assert(pods > 100 && gangs > 100);
}

/* Three chunks of made-up nodes with one resource and a shape; each node has `free[]` left. */
static struct snapshot *made(uint64_t position, uint32_t pods_of_node_70)
{
	struct snapshot *s = snapshot_new(130, 1, 1, 0);

	s->position = position;
	s->exact = true;
	s->resources = 1;
	s->requests[0] = (struct snapshot_request){ .value = 3 };
	for (uint32_t i = 0; i < s->chunks_n; i++) {
		const uint32_t pods = i == 1 ? pods_of_node_70 : 0;
		struct snapshot_chunk *c = snapshot_chunk_new(1, 1, pods);
		int64_t *row = (int64_t *)(void *)(c + 1);
		struct snapshot_pod *p = (struct snapshot_pod *)(void *)(row + 2 * CHUNK_NODES + 1);

		c->present = i < 2 ? UINT64_MAX : 3;
		for (uint32_t k = 0; k < CHUNK_NODES; k++)
			row[k] = row[CHUNK_NODES + k] = c->present >> k & 1 ? 100 : 0;
		for (uint32_t k = 0; k < pods; k++)
			p[k] = (struct snapshot_pod){ .pod = k, .node = 6 };
		row[6] -= 3 * (int64_t)pods;
		s->chunks[i] = c;
	}
	return s;
}

Test(snapshot, shares_what_did_not_change)
{
	struct snapshots *s = snapshots_new();
	const struct snapshot_chunk *before[3];
	const struct snapshot *seen;
	uint32_t copied, shared;

	snapshots_enter();
	snapshots_publish(s, made(1, 0), &copied, &shared);
	cr_assert(copied == 3 && shared == 0);
	memcpy(before, snapshots_begin(s)->chunks, sizeof(before));
	snapshots_end();
	snapshots_publish(s, made(2, 4), &copied, &shared);
	cr_assert(copied == 1 && shared == 2);
	seen = snapshots_begin(s);
	cr_assert_eq(seen->position, 2);
	cr_assert(seen->chunks[0] == before[0] && seen->chunks[2] == before[2]);
	cr_assert(seen->chunks[1] != before[1]);
	snapshots_end();
	cr_assert(snapshots_chunks(s) <= 4);
	snapshots_leave();
	snapshots_free(s);
}

/* A reader that stays keeps what it sees; the updater is told to make no more. */
Test(snapshot, memory_is_bounded_by_a_reader_that_stays, .timeout = 60)
{
	struct snapshots *s = snapshots_new();
	const struct snapshot *seen;
	uint32_t copied, shared, published = 1;

	snapshots_enter();
	snapshots_publish(s, made(1, 1), &copied, &shared);
	seen = snapshots_begin(s);
	while (snapshots_has_room(s) && published < 100) {
		published++;
		snapshots_publish(s, made(published, published), &copied, &shared);
	}
	cr_assert_eq(published, 1 + SNAPSHOTS_KEPT_MOST);
	cr_assert_eq(snapshots_kept(s), SNAPSHOTS_KEPT_MOST);
	cr_assert_eq(seen->position, 1);
	cr_assert_eq(seen->chunks[1]->pods_n, 1);
	snapshots_end();
	snapshots_leave();
	snapshots_free(s);
}

Test(snapshot, the_audit_finds_a_wrong_sum)
{
	struct audit *a = audit_new(1);
	struct snapshot *s = made(1, 4);
	struct snapshots *owner = snapshots_new();
	struct audit_difference d;
	int64_t *row = (int64_t *)(void *)(s->chunks[1] + 1);
	uint32_t copied, shared;

	cr_assert(snapshot_audit(s, 1, 2, a, &d));
	row[6]++;
	cr_assert_not(snapshot_audit(s, 1, 2, a, &d));
	cr_assert(d.node == 70 && d.resource == 0 && d.free == 89 && d.recomputed == 88);
	row[6]--;
	row[7]--;
	cr_assert_not(snapshot_audit(s, 1, 2, a, &d));
	cr_assert(snapshot_audit(s, 0, 2, a, &(struct audit_difference){ 0 }));
	cr_assert(d.node == 71 && d.free == 99 && d.recomputed == 100);
	snapshots_publish(owner, s, &copied, &shared);
	snapshots_free(owner);
	audit_free(a);
}
