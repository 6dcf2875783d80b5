/* SPDX-License-Identifier: Apache-2.0 */
/* A pod that no table has, against the same pod in the cluster: random clusters; and what is not
 * evaluated. */
#include "core/classes/outsider.h"
#include "core/shm/records.h"
#include "tests/unit/support_plain_case.h"

#include <stdlib.h>

TestSuite(outsider, .fini = end);

/* The records of a pod of the core, with the ids that an outsider has. */
struct told {
	_Alignas(8) unsigned char shape_bytes[16384], pod_bytes[1024];
	struct shape_record shape;
	struct pod_record pod;
};

static void tell(uint32_t id, struct told *t)
{
	const struct pod *pod = &p->core->pods.slots[id];
	const struct shape *s = &p->core->shapes.slots[pod->shape];
	const struct label_set *set = &p->core->pod_counts.labels.sets[pod->labels];
	struct record *r = (struct record *)(void *)t->shape_bytes;
	struct event_pod *e;

	*r = (struct record){ .bytes = (uint32_t)sizeof(*r) + s->body_bytes, .kind = EVENT_SHAPE };
	memcpy(r + 1, s->body, s->body_bytes);
	((struct event_shape *)(void *)(r + 1))->shape = 0;
	cr_assert_null(record_shape(r, &p->limits, &t->shape));
	e = (struct event_pod *)(void *)t->pod_bytes;
	*e = (struct event_pod){ .namespace = set->namespace, .labels_n = set->n };
	if (set->n > 0)
		memcpy(e + 1, set->at, set->n * sizeof(*set->at));
	t->pod = (struct pod_record){ .body = e, .labels = (const void *)(e + 1) };
}

/* The number of feasible nodes. */
static uint32_t compare(uint32_t id, enum score_policy score)
{
	static struct told t;
	struct evaluation inside, outside;
	struct outsider o;
	uint32_t feasible;

	tell(id, &t);
	evaluation_init(&inside, &p->limits, true);
	evaluation_init(&outside, &p->limits, true);
	cr_assert_eq(core_verdict(p->core, id, &inside), 0);
	cr_assert_null(outsider_make(&p->core->pod_counts, &p->limits, &t.shape, &t.pod, &o));
	evaluate(&o.counts, o.class, score, &outside);
	cr_assert_eq(inside.whole, outside.whole);
	cr_assert_eq(inside.feasible, outside.feasible);
	cr_assert_eq(inside.absent_n, outside.absent_n);
	for (node_id n = 0; n < p->core->nodes.used; n++) {
		if (!node_present(&p->core->nodes.slots[n]))
			continue;
		cr_assert_eq(inside.whys[n], outside.whys[n], "node %u: %x and %x", n, inside.whys[n],
		             outside.whys[n]);
		if (inside.whys[n] & FILTER_BIT(FILTER_INSUFFICIENT))
			cr_assert_eq(inside.short_of[n], outside.short_of[n]);
		if (inside.whys[n] & FILTER_BIT(FILTER_TAINT))
			cr_assert_eq(inside.taint[n], outside.taint[n]);
		for (uint32_t part = 0; inside.whys[n] == 0 && part < SCORE_PARTS; part++)
			cr_assert_eq(evaluation_part(&inside, part, n), evaluation_part(&outside, part, n));
		if (inside.whys[n] == 0)
			cr_assert_eq(inside.scores[n], outside.scores[n]);
		cr_assert_eq(
			shape_allows(class_shape(&p->core->pod_counts, p->core->pods.slots[id].class), n),
			shape_allows(outsider_shape(&o), n));
	}
	feasible = outside.feasible;
	outsider_free(&o);
	evaluation_free(&inside);
	evaluation_free(&outside);
	return feasible;
}

static void clusters(const char *name, enum score_policy score, uint32_t n)
{
	struct random r = random_start(name);
	uint32_t pods = 0, feasible = 0, linked = 0;
	const char *why;

	for (uint32_t i = 0; i < n; i++) {
		p = plain_new(score);
		for (uint32_t node = 0; node < PLAIN_NODES; node++) {
			plain_random_node(p, &r, node);
			plain_tell_node(p, node);
		}
		for (uint32_t shape = 0; shape < PLAIN_SHAPES; shape++)
			plain_random_shape(p, &r, shape);
		plain_synced(p);
		for (uint32_t round = 0; round < 120; round++) {
			plain_random_change(p, &r, 20);
			for (uint32_t pod = 0; pod < PLAIN_PODS && round % 8 == 7; pod++) {
				if (!p->pods[pod].exists || p->pods[pod].node != PLAIN_NONE)
					continue;
				feasible += compare(pod, score);
				linked += class_links(&p->core->pod_counts, p->core->pods.slots[pod].class) != NULL;
				pods++;
			}
		}
		cr_assert(pod_counts_valid(&p->core->pod_counts, &why), "%s", why);
		end();
	}
	fprintf(stderr, "%s: %u pods, %u of them with rules between pods, %u feasible nodes\n", name,
	        pods, linked, feasible);
	cr_assert(linked > 0 && feasible > 0);
}

Test(outsider, is_as_the_pod_in_the_cluster)
{
	clusters("outsider.kube", SCORE_KUBE, 60);
}

Test(outsider, packs_as_the_pod_in_the_cluster)
{
	clusters("outsider.pack", SCORE_PACK, 10);
}
