/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement: random clusters against a slow judge, and kube-scheduler's surprises by
 * hand. */
#include "tests/unit/support_plain.h"

#include "core/lifecycle/state.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(judge);

/* ---- random ------------------------------------------------------------------------------------
 */

struct seen {
	uint32_t pods, pairs, feasible, whys[NODE_WHY_KINDS], parts[SCORE_PARTS];
};

static void look(struct plain *p, uint32_t pod, enum score_policy score, struct seen *seen)
{
	struct plain_verdict v;

	plain_compare(p, pod, score);
	plain_judge(p, pod, score, &v);
	seen->pods++;
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		if (!p->nodes[n].exists)
			continue;
		seen->pairs++;
		seen->feasible += v.whys[n] == 0;
		for (uint32_t why = 1; why < NODE_WHY_KINDS; why++)
			seen->whys[why] += v.whys[n] >> why & 1;
		for (uint32_t part = 0; part < SCORE_PARTS; part++)
			seen->parts[part] += v.whys[n] == 0 && v.parts[part][n] % 100 != 0;
	}
}

/* A pod that is bound stays so until it goes; it may begin to leave at any time. */
static void change_pod(struct plain *p, struct random *r)
{
	uint32_t id = random_below(r, PLAIN_PODS);
	struct plain_pod *pod = &p->pods[id];

	if (!pod->exists) {
		plain_random_pod(p, r, id);
	} else if (pod->node == PLAIN_NONE) {
		pod->node = random_below(r, PLAIN_NODES);
	} else if (!pod->deleting && random_below(r, 3) == 0) {
		pod->deleting = true;
	} else {
		plain_drop_pod(p, id);
		return;
	}
	plain_tell_pod(p, id);
}

static void change(struct plain *p, struct random *r)
{
	uint32_t what = random_below(r, 20), id;

	if (what == 0) {
		id = random_below(r, PLAIN_NODES);
		plain_random_node(p, r, id);
		plain_tell_node(p, id);
	} else if (what == 1) {
		id = random_below(r, PLAIN_NAMESPACES);
		p->namespaces[id] = (struct plain_namespace){ random_below(r, 3) > 0, random_below(r, 4) };
		plain_tell_namespace(p, id);
	} else {
		change_pod(p, r);
	}
}

static void cluster(struct random *r, enum score_policy score, struct seen *seen)
{
	struct plain *p = plain_new(score);

	for (uint32_t i = 0; i < PLAIN_NODES; i++) {
		plain_random_node(p, r, i);
		plain_tell_node(p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		plain_random_shape(p, r, i);
	plain_synced(p);
	for (uint32_t round = 0; round < 120; round++) {
		uint32_t pod = random_below(r, PLAIN_PODS);

		change(p, r);
		for (uint32_t i = 0; i < PLAIN_PODS && round > 20; i++, pod = (pod + 1) % PLAIN_PODS)
			if (p->pods[pod].exists && p->pods[pod].node == PLAIN_NONE) {
				look(p, pod, score, seen);
				break;
			}
	}
	plain_free(p);
}

static void clusters(const char *name, enum score_policy score, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		cluster(&r, score, &seen);
	fprintf(stderr, "%s: %u pods, %u pairs, %u feasible\n", name, seen.pods, seen.pairs,
	        seen.feasible);
	if (score != SCORE_KUBE)
		return;
	/* Each rule decided something, or the test looks at nothing. */
	for (uint32_t why = NODE_FITS + 1; why < NODE_WHY_KINDS; why++)
		cr_assert(seen.whys[why] > 0, "no node was refused for reason %u", why);
	for (uint32_t part = 0; part < SCORE_PARTS; part++)
		cr_assert(seen.parts[part] > 0, "part %u never told nodes apart", part);
}

Test(judge, is_the_slow_judges)
{
	clusters("judge.kube", SCORE_KUBE, 150);
}

Test(judge, packs_as_the_slow_judge)
{
	clusters("judge.pack", SCORE_PACK, 30);
}

Test(judge, fits_best_as_the_slow_judge)
{
	clusters("judge.bestfit", SCORE_BESTFIT, 30);
}

/* ---- by hand
 * --------------------------------------------------------------------------------------- */

/* Nodes 0 .. n-1, each a host of its own with 4 cores, 4 GB and 10 pods, in zones 1 and 2 in
 * turn. */
static struct plain *small(uint32_t n)
{
	struct plain *p = plain_new(SCORE_KUBE);

	for (uint32_t i = 0; i < n; i++) {
		p->nodes[i] = (struct plain_node){
			.exists = true,
			.amounts = { 4000, 4000000000, 0, 10 },
			.labels_n = 3,
			.labels = { { LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + i, LABEL_NOT_A_NUMBER },
			            { PLAIN_KEY_ZONE, 1 + i % 2, LABEL_NOT_A_NUMBER },
			            { PLAIN_KEY_HOST, 20 + i, LABEL_NOT_A_NUMBER } }
		};
		plain_tell_node(p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		p->shapes[i].containers = 1;
	return p;
}

/* A pod with the label app=VALUE. */
static void pod(struct plain *p, uint32_t id, uint32_t shape, uint32_t node, uint32_t value)
{
	p->pods[id] = (struct plain_pod){ .exists = true,
		                              .generation = 1,
		                              .shape = shape,
		                              .node = node,
		                              .labels_n = 1,
		                              .labels = { { PLAIN_KEY_APP, value } } };
	plain_tell_pod(p, id);
}

static struct plain_clauses app_is(uint32_t value)
{
	return (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_APP, .values = { value }, .values_n = 1 } }
	};
}

static struct plain_clauses name_is(uint32_t node)
{
	return (struct plain_clauses){ .n = 1,
		                           .at = { { .op = REQUIRE_IN,
		                                     .key = LABEL_KEY_NODE_NAME,
		                                     .values_n = 1,
		                                     .values = { PLAIN_VALUE_NODE + node } } } };
}

static struct judgement verdict(struct plain *p, uint32_t id)
{
	struct judgement j;

	plain_compare(p, id, SCORE_KUBE);
	cr_assert_eq(judgement_init(&j, &p->limits, true), 0);
	cr_assert_eq(core_verdict(p->core, id, &j), 0);
	return j;
}

#define EXPECT_PART(j, part, node, points) cr_assert_eq(judgement_part(&(j), part, node), points)
#define EXPECT_WHYS(j, node, bits) cr_assert_eq((j).whys[node], bits, "%x", (j).whys[node])

/* Inter-pod scores are normalised in floating point, so that 29 of 100 are 28. */
Test(judge, gives_28_for_29_of_100)
{
	struct plain *p = small(3);
	struct judgement j;

	p->shapes[1].pod_terms_n = 2;
	p->shapes[1].pod_terms[0] =
		(struct plain_term){ POD_TERM_PREFERRED, 29, PLAIN_KEY_HOST, .labels = app_is(1) };
	p->shapes[1].pod_terms[1] =
		(struct plain_term){ POD_TERM_PREFERRED, 100, PLAIN_KEY_HOST, .labels = app_is(2) };
	pod(p, 0, 0, 0, 1);
	pod(p, 1, 0, 1, 2);
	pod(p, 2, 1, PLAIN_NONE, 3);
	j = verdict(p, 2);
	EXPECT_PART(j, SCORE_PART_PODS, 0, 2 * 28);
	EXPECT_PART(j, SCORE_PART_PODS, 1, 2 * 100);
	EXPECT_PART(j, SCORE_PART_PODS, 2, 0);
	judgement_free(&j);
	plain_free(p);
}

/* A pod that asks for nothing is not balanced at all; an empty cluster gives 300 for taints. */
Test(judge, skips_plugins_that_have_nothing_to_say)
{
	struct plain *p = small(2);
	struct judgement j;

	pod(p, 0, 0, PLAIN_NONE, 1);
	p->shapes[1].amounts[RESOURCE_CPU] = 2000;
	p->shapes[1].amounts[RESOURCE_MEMORY] = 2000000000;
	p->shapes[1].scored[0] = 2000;
	p->shapes[1].scored[1] = 2000000000;
	pod(p, 1, 1, PLAIN_NONE, 1);
	j = verdict(p, 0);
	cr_assert_eq(j.skipped, 1u << SCORE_PART_BALANCED | 1u << SCORE_PART_AFFINITY |
	                            1u << SCORE_PART_SPREAD | 1u << SCORE_PART_PODS);
	EXPECT_PART(j, SCORE_PART_TAINTS, 0, 300);
	cr_assert_eq(j.scores[0], 100 + 300);
	judgement_free(&j);
	j = verdict(p, 1);
	EXPECT_PART(j, SCORE_PART_FIT, 0, 50);
	EXPECT_PART(j, SCORE_PART_BALANCED, 0, 75);
	cr_assert_eq(j.scores[0], 50 + 75 + 300);
	judgement_free(&j);
	plain_free(p);
}

/* A domain that only a tainted node makes keeps the minimum at 0, unless taints are honored. */
Test(judge, a_tainted_empty_domain_counts_for_spread)
{
	struct plain *p = small(2);
	struct judgement j;

	p->nodes[1].taints_n = 1;
	p->nodes[1].taints[0] = (struct taint){ PLAIN_KEY_TAINT, 1, EFFECT_NO_SCHEDULE, 12 };
	plain_tell_node(p, 1);
	for (uint32_t shape = 1; shape <= 2; shape++) {
		p->shapes[shape].spreads_n = 1;
		p->shapes[shape].spreads[0] =
			(struct plain_spread){ PLAIN_KEY_ZONE, SPREAD_HARD, 1, 1, app_is(1) };
	}
	p->shapes[2].spreads[0].flags |= SPREAD_HONORS_TAINTS;
	pod(p, 0, 0, 0, 1);
	pod(p, 1, 1, PLAIN_NONE, 1);
	pod(p, 2, 2, PLAIN_NONE, 1);
	j = verdict(p, 1);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_SPREAD));
	EXPECT_WHYS(j, 1, WHY_BIT(NODE_WHY_TAINT));
	judgement_free(&j);
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, 0);
	judgement_free(&j);
	plain_free(p);
}

/* {} matches the pod itself and counts nobody; fewer domains than minDomains make the minimum 0. */
Test(judge, an_empty_selector_spreads_by_itself_alone)
{
	struct plain *p = small(2);
	struct judgement j;

	p->shapes[1].spreads_n = 1;
	p->shapes[1].spreads[0] =
		(struct plain_spread){ PLAIN_KEY_ZONE, SPREAD_HARD, 1, 3, { .n = 0 } };
	p->shapes[2].spreads_n = 1;
	p->shapes[2].spreads[0] = (struct plain_spread){ PLAIN_KEY_ZONE, SPREAD_HARD, 1, 3, app_is(1) };
	pod(p, 0, 0, 0, 1);
	pod(p, 1, 0, 1, 1);
	pod(p, 2, 1, PLAIN_NONE, 1);
	pod(p, 3, 2, PLAIN_NONE, 1);
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, 0);
	judgement_free(&j);
	j = verdict(p, 3);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_SPREAD));
	EXPECT_WHYS(j, 1, WHY_BIT(NODE_WHY_SPREAD));
	judgement_free(&j);
	plain_free(p);
}

/* A pod that leaves still counts for affinity, and no more for spread. */
Test(judge, a_leaving_pod_counts_for_affinity_alone)
{
	struct plain *p = small(1);
	struct judgement j;

	p->shapes[1].pod_terms_n = 1;
	p->shapes[1].pod_terms[0] =
		(struct plain_term){ POD_TERM_ANTI_AFFINITY, 0, PLAIN_KEY_HOST, .labels = app_is(1) };
	p->shapes[2].spreads_n = 1;
	p->shapes[2].spreads[0] =
		(struct plain_spread){ PLAIN_KEY_HOST, SPREAD_HARD | SPREAD_BY_NODE, 1, 2, app_is(1) };
	pod(p, 0, 0, 0, 1);
	pod(p, 1, 1, PLAIN_NONE, 1);
	pod(p, 2, 2, PLAIN_NONE, 1);
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_SPREAD));
	judgement_free(&j);
	p->pods[0].deleting = true;
	plain_tell_pod(p, 0);
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, 0);
	judgement_free(&j);
	j = verdict(p, 1);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_ANTI_AFFINITY));
	judgement_free(&j);
	plain_free(p);
}

/* The first of a series starts anywhere with the key, also when others of it stand on nodes
 * without; the second goes to the first. */
Test(judge, the_first_of_a_series_starts)
{
	struct plain *p = small(2);
	struct judgement j;

	p->nodes[1].labels_n = 1;
	plain_tell_node(p, 1);
	p->shapes[1].pod_terms_n = 1;
	p->shapes[1].pod_terms[0] =
		(struct plain_term){ POD_TERM_AFFINITY, 0, PLAIN_KEY_ZONE, .labels = app_is(1) };
	pod(p, 0, 0, 1, 1);
	pod(p, 1, 1, PLAIN_NONE, 1);
	pod(p, 2, 1, PLAIN_NONE, 2); /* does not match itself */
	j = verdict(p, 1);
	EXPECT_WHYS(j, 0, 0);
	EXPECT_WHYS(j, 1, WHY_BIT(NODE_WHY_POD_AFFINITY));
	judgement_free(&j);
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_POD_AFFINITY));
	judgement_free(&j);
	pod(p, 3, 0, 0, 1);
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, 0);
	judgement_free(&j);
	plain_free(p);
}

/* Someone on a node with one of the keys is enough for a pod not to be the first. */
Test(judge, is_not_the_first_when_one_key_is_there)
{
	struct plain *p = small(2);
	struct judgement j;

	p->nodes[0].labels_n = 2; /* no host */
	plain_tell_node(p, 0);
	p->shapes[1].pod_terms_n = 2;
	p->shapes[1].pod_terms[0] =
		(struct plain_term){ POD_TERM_AFFINITY, 0, PLAIN_KEY_ZONE, .labels = app_is(1) };
	p->shapes[1].pod_terms[1] =
		(struct plain_term){ POD_TERM_AFFINITY, 0, PLAIN_KEY_HOST, .labels = app_is(1) };
	pod(p, 0, 1, PLAIN_NONE, 1);
	j = verdict(p, 0);
	EXPECT_WHYS(j, 1, 0);
	judgement_free(&j);
	pod(p, 1, 0, 0, 1);
	j = verdict(p, 0);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_POD_AFFINITY));
	EXPECT_WHYS(j, 1, WHY_BIT(NODE_WHY_POD_AFFINITY));
	judgement_free(&j);
	plain_free(p);
}

/* When each term names nodes, the others are not even looked at, cordoned or not. */
Test(judge, looks_at_named_nodes_alone)
{
	struct plain *p = small(3);
	struct why_count counts[JUDGEMENT_COUNTS_MAX];
	struct judgement j;

	p->nodes[0].flags = p->nodes[2].flags = NODE_CORDONED;
	plain_tell_node(p, 0);
	plain_tell_node(p, 2);
	p->shapes[1].terms_n = 2;
	p->shapes[1].terms[0] = name_is(2);
	p->shapes[1].terms[1] = name_is(6);
	p->shapes[2].terms_n = 1;
	p->shapes[2].terms[0] =
		(struct plain_clauses){ .n = 2, .at = { name_is(0).at[0], name_is(1).at[0] } };
	p->shapes[3].terms_n = 2;
	p->shapes[3].terms[0] = name_is(1);
	for (uint32_t i = 0; i < 3; i++)
		pod(p, i, 1 + i, PLAIN_NONE, 1);
	j = verdict(p, 0);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_NOT_NAMED));
	EXPECT_WHYS(j, 1, WHY_BIT(NODE_WHY_NOT_NAMED));
	EXPECT_WHYS(j, 2, WHY_BIT(NODE_WHY_CORDONED));
	cr_assert_eq(judgement_counts(&j, &p->core->nodes, counts), 2);
	cr_assert(counts[0].why == NODE_WHY_CORDONED && counts[0].nodes == 1);
	cr_assert(counts[1].why == NODE_WHY_NOT_NAMED && counts[1].nodes == 2);
	judgement_free(&j);
	j = verdict(p, 1);
	cr_assert_eq(j.whole, NODE_WHY_CONFLICT);
	cr_assert_eq(judgement_counts(&j, &p->core->nodes, counts), 1);
	cr_assert(counts[0].why == NODE_WHY_CONFLICT && counts[0].nodes == 0);
	judgement_free(&j);
	/* A term without requirements names nobody, so that all are looked at. */
	j = verdict(p, 2);
	EXPECT_WHYS(j, 0, WHY_BIT(NODE_WHY_CORDONED));
	EXPECT_WHYS(j, 1, 0);
	judgement_free(&j);
	plain_free(p);
}

/* A node that is short of two resources counts for both. */
Test(judge, counts_each_resource_that_is_short)
{
	struct plain *p = small(2);
	struct why_count counts[JUDGEMENT_COUNTS_MAX];
	struct judgement j;

	p->shapes[1].amounts[RESOURCE_CPU] = 4001;
	p->shapes[1].amounts[RESOURCE_EXTENDED] = 1;
	pod(p, 0, 1, PLAIN_NONE, 1);
	j = verdict(p, 0);
	cr_assert_eq(judgement_counts(&j, &p->core->nodes, counts), 2);
	cr_assert(counts[0].why == NODE_WHY_INSUFFICIENT && counts[0].arg == RESOURCE_CPU &&
	          counts[0].nodes == 2);
	cr_assert(counts[1].why == NODE_WHY_INSUFFICIENT && counts[1].arg == RESOURCE_EXTENDED &&
	          counts[1].nodes == 2);
	judgement_free(&j);
	plain_free(p);
}

/* A bound pod, or one that is not there, is not judged. */
Test(judge, judges_pending_pods_alone)
{
	struct plain *p = small(1);
	struct judgement j;

	pod(p, 0, 0, 0, 1);
	cr_assert_eq(judgement_init(&j, &p->limits, false), 0);
	cr_assert_eq(core_verdict(p->core, 0, &j), -EBUSY);
	cr_assert_eq(core_verdict(p->core, 1, &j), -ENOENT);
	cr_assert_eq(core_verdict(p->core, PLAIN_PODS, &j), -ENOENT);
	judgement_free(&j);
	plain_free(p);
}
