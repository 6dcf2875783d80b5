/* SPDX-License-Identifier: Apache-2.0 */
/* assume_node() chooses from views.  On random clusters with every rule, some behind a backfill
 * reservation, it chooses what evaluate() over all nodes does. */
#include "tests/unit/support_plain.h"

#include "core/filter/gpus.h"
#include "core/index/views.h"
#include "core/lifecycle/assume.h"
#include "tests/unit/test.h"

enum { ROUNDS = 200, WORDS = (PLAIN_NODES + 63) / 64 };

struct seen {
	uint32_t modes[4];          /* of the classes' views, without a reservation */
	uint32_t behind, tiers;     /* with one; with a policy */
	uint32_t passed, only_room; /* the chosen node passes muster's filters, or does not */
};

static bool is_set(const uint64_t *bits, node_id id)
{
	return bits[id / 64] >> (id % 64) & 1;
}

static node_id evaluated(struct core *c, const uint64_t *nodes, class_id class,
                         struct evaluation *j)
{
	node_id best = ID_NONE, first = ID_NONE;

	nodes_sort(&c->nodes);
	gpus_follow(&c->pod_counts);
	evaluate(&c->pod_counts, class, c->config.score, j);
	/* The order has nodes whose objects do not exist, too. */
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		const node_id id = c->nodes.order[rank];

		if (!is_set(nodes, id) || !node_present(&c->nodes.slots[id]) ||
		    !views_suffice(&c->views, id, class))
			continue;
		if (first == ID_NONE)
			first = id;
		if (j->whys[id] == 0 && (best == ID_NONE || j->scores[id] > j->scores[best]))
			best = id;
	}
	return best != ID_NONE ? best : first;
}

static void compare(struct core *c, struct random *r, class_id class, struct evaluation *j,
                    struct seen *seen)
{
	const bool tiers = class_shape(&c->pod_counts, class)->body->policies_n > 0;
	uint64_t nodes[WORDS];
	node_id wanted, got;

	for (uint32_t i = 0; i < WORDS; i++)
		nodes[i] = random_next(r) | (random_below(r, 2) ? random_next(r) : 0);
	/* First: its scores were those of before gpus_follow(). */
	got = assume_node(c, nodes, WORDS, class);
	wanted = evaluated(c, nodes, class, j);
	cr_assert_eq(got, wanted, "class %u", class);
	if (wanted != ID_NONE)
		*(j->whys[wanted] == 0 ? &seen->passed : &seen->only_room) += 1;
	seen->tiers += tiers;
	seen->behind += c->views.hold.version > 0;
	if (c->views.hold.version == 0)
		seen->modes[views_get(&c->views, &(struct view_scope){ 0 }, class)->mode]++;
}

static void cluster(struct random *r, enum score_policy score, struct seen *seen)
{
	struct plain *p = plain_new(score);
	const bool soft_taints = random_below(r, 4) == 0;
	struct evaluation j;

	evaluation_init(&j, &p->limits, false);
	for (uint32_t i = 0; i < PLAIN_NODES; i++) {
		plain_random_node(p, r, i);
		for (uint32_t t = 0; t < p->nodes[i].taints_n && !soft_taints; t++)
			p->nodes[i].taints[t].effect = EFFECT_NO_SCHEDULE;
		plain_tell_node(p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		plain_random_shape(p, r, i);
	plain_synced(p);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const uint32_t pod = random_below(r, PLAIN_PODS);
		class_id class;

		plain_random_change(p, r, 30);
		if (round <= 20 || !p->pods[pod].exists || p->pods[pod].node != PLAIN_NONE)
			continue;
		class = p->core->pods.slots[pod].class;
		if (random_below(r, 3) == 0)
			views_hold(&p->core->views, &class, 1, NULL, NULL);
		compare(p->core, r, class, &j, seen);
		views_hold(&p->core->views, NULL, 0, NULL, NULL);
	}
	evaluation_free(&j);
	plain_free(p);
}

static void clusters(const char *name, enum score_policy score, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		cluster(&r, score, &seen);
	fprintf(stderr,
	        "%s: plain %u, constrained %u, weighed %u, evaluated %u; behind %u, tiers %u; "
	        "passed %u, only room %u\n",
	        name, seen.modes[0], seen.modes[1], seen.modes[2], seen.modes[3], seen.behind,
	        seen.tiers, seen.passed, seen.only_room);
	for (int mode = VIEW_PLAIN; mode <= VIEW_EVALUATED; mode++)
		cr_assert((mode == VIEW_WEIGHED && score != SCORE_KUBE) || seen.modes[mode] > 0,
		          "mode %d was never used", mode);
	cr_assert(seen.behind > 0 && seen.tiers > 0 && seen.passed > 0 && seen.only_room > 0);
}

Test(assume, chooses_what_the_evaluation_does)
{
	clusters("assume.kube", SCORE_KUBE, 60);
}

Test(assume, chooses_what_the_evaluation_does_with_best_fit)
{
	clusters("assume.bestfit", SCORE_BESTFIT, 20);
}

Test(assume, chooses_what_the_evaluation_does_by_gpus)
{
	clusters("assume.fgd", SCORE_FGD, 20);
}
