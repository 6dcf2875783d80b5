/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluation: random clusters against a slow model, and special cases of kube-scheduler. */
#include "tests/unit/support_plain_case.h"

static struct evaluation j;

static void end_both(void)
{
	evaluation_free(&j);
	end();
}

TestSuite(evaluate, .fini = end_both);

struct seen {
	uint32_t pods, pairs, feasible, whys[FILTER_REASONS], parts[SCORE_PARTS];
};

static void compare(uint32_t pod, enum score_policy score, struct seen *seen)
{
	struct plain_verdict v;

	plain_compare(p, pod, score);
	plain_evaluate(p, pod, score, &v);
	seen->pods++;
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		if (!p->nodes[n].exists)
			continue;
		seen->pairs++;
		seen->feasible += v.whys[n] == 0;
		for (uint32_t why = 1; why < FILTER_REASONS; why++)
			seen->whys[why] += v.whys[n] >> why & 1;
		for (uint32_t part = 0; part < SCORE_PARTS; part++)
			seen->parts[part] += v.whys[n] == 0 && v.parts[part][n] % 100 != 0;
	}
}

static void cluster(struct random *r, enum score_policy score, struct seen *seen)
{
	p = plain_new(score);
	for (uint32_t i = 0; i < PLAIN_NODES; i++) {
		plain_random_node(p, r, i);
		plain_tell_node(p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		plain_random_shape(p, r, i);
	plain_synced(p);
	for (uint32_t round = 0; round < 120; round++) {
		uint32_t pod = random_below(r, PLAIN_PODS);

		plain_random_change(p, r, 20);
		for (uint32_t i = 0; i < PLAIN_PODS && round > 20; i++, pod = (pod + 1) % PLAIN_PODS)
			if (p->pods[pod].exists && p->pods[pod].node == PLAIN_NONE) {
				compare(pod, score, seen);
				break;
			}
	}
	end();
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
	/* Each rule must have decided something; tests/process/test_claims.py has devices. */
	for (uint32_t why = FILTER_PASSED + 1; why < FILTER_REASONS; why++)
		cr_assert(seen.whys[why] > 0 || (why >= FILTER_DEVICE_POOL && why <= FILTER_DEVICES_FAILED),
		          "no node was refused for reason %u", why);
	for (uint32_t part = 0; part < SCORE_PARTS; part++)
		cr_assert(seen.parts[part] > 0, "part %u never told nodes apart", part);
}

Test(evaluate, equals_the_reference)
{
	clusters("evaluate.kube", SCORE_KUBE, 150);
}

Test(evaluate, packs_as_the_reference)
{
	clusters("evaluate.pack", SCORE_PACK, 30);
}

Test(evaluate, fits_best_as_the_reference)
{
	clusters("evaluate.bestfit", SCORE_BESTFIT, 30);
}

/* Nodes 0 .. n-1, each a host of its own with 4 cores, 4 GB and 10 pods, in zones 1 and 2 in
 * turn. */
static void small(uint32_t n)
{
	p = plain_new(SCORE_KUBE);
	for (uint32_t i = 0; i < n; i++)
		put_node(i, 1 + i % 2, 0, 4000);
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		p->shapes[i].containers = 1;
}

static void pod(uint32_t id, uint32_t shape, uint32_t node, uint32_t app)
{
	put_pod(id, 0, shape, node, app);
}

static struct plain_clauses name_is(uint32_t node)
{
	return value_is(LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + node);
}

/* Evaluates a pending pod into j. */
static void verdict(uint32_t id)
{
	plain_compare(p, id, SCORE_KUBE);
	evaluation_free(&j);
	evaluation_init(&j, &p->limits, true);
	cr_assert_eq(core_verdict(p->core, id, &j), 0);
}

static void expect_part(uint32_t part, uint32_t node, uint32_t points)
{
	cr_assert_eq(evaluation_part(&j, part, node), points);
}

static void expect_whys(uint32_t node, uint32_t bits)
{
	cr_assert_eq(j.whys[node], bits, "%x", j.whys[node]);
}

/* interpodaffinity: NormalizeScore computes in floating point, so that 29 of 100 gives 28. */
Test(evaluate, gives_28_for_29_of_100)
{
	small(3);
	term(1, POD_TERM_PREFERRED, PLAIN_KEY_HOST, 1)->weight = 29;
	term(1, POD_TERM_PREFERRED, PLAIN_KEY_HOST, 2)->weight = 100;
	pod(0, 0, 0, 1);
	pod(1, 0, 1, 2);
	pod(2, 1, PLAIN_NONE, 3);
	verdict(2);
	expect_part(SCORE_PART_PODS, 0, 2 * 28);
	expect_part(SCORE_PART_PODS, 1, 2 * 100);
	expect_part(SCORE_PART_PODS, 2, 0);
}

/* BalancedAllocation skips a pod without requests; without taints TaintToleration gives 300. */
Test(evaluate, skips_plugins_that_have_nothing_to_say)
{
	small(2);
	pod(0, 0, PLAIN_NONE, 1);
	p->shapes[1].amounts[RESOURCE_CPU] = 2000;
	p->shapes[1].amounts[RESOURCE_MEMORY] = 2000000000;
	p->shapes[1].scored[0] = 2000;
	p->shapes[1].scored[1] = 2000000000;
	pod(1, 1, PLAIN_NONE, 1);
	verdict(0);
	cr_assert_eq(j.skipped, 1u << SCORE_PART_BALANCED | 1u << SCORE_PART_AFFINITY |
	                            1u << SCORE_PART_SPREAD | 1u << SCORE_PART_PODS);
	expect_part(SCORE_PART_TAINTS, 0, 300);
	cr_assert_eq(j.scores[0], 100 + 300);
	verdict(1);
	expect_part(SCORE_PART_FIT, 0, 50);
	expect_part(SCORE_PART_BALANCED, 0, 75);
	cr_assert_eq(j.scores[0], 50 + 75 + 300);
}

/* A domain whose only node is tainted keeps the minimum at 0, unless taints are honored. */
Test(evaluate, a_tainted_empty_domain_counts_for_spread)
{
	small(2);
	p->nodes[1].taints_n = 1;
	p->nodes[1].taints[0] = (struct taint){ PLAIN_KEY_TAINT, 1, EFFECT_NO_SCHEDULE, 12 };
	plain_tell_node(p, 1);
	spread(1, PLAIN_KEY_ZONE, 1, 1);
	spread(2, PLAIN_KEY_ZONE, 1, 1)->flags |= SPREAD_HONORS_TAINTS;
	pod(0, 0, 0, 1);
	pod(1, 1, PLAIN_NONE, 1);
	pod(2, 2, PLAIN_NONE, 1);
	verdict(1);
	expect_whys(0, FILTER_BIT(FILTER_SPREAD));
	expect_whys(1, FILTER_BIT(FILTER_TAINT));
	verdict(2);
	expect_whys(0, 0);
}

/* {} matches the pod itself and no other; fewer domains than minDomains make the minimum 0. */
Test(evaluate, an_empty_selector_spreads_by_itself_alone)
{
	small(2);
	*spread(1, PLAIN_KEY_ZONE, 1, 1) =
		(struct plain_spread){ PLAIN_KEY_ZONE, SPREAD_HARD, 1, 3, { .n = 0 } };
	spread(2, PLAIN_KEY_ZONE, 1, 1)->min_domains = 3;
	pod(0, 0, 0, 1);
	pod(1, 0, 1, 1);
	pod(2, 1, PLAIN_NONE, 1);
	pod(3, 2, PLAIN_NONE, 1);
	verdict(2);
	expect_whys(0, 0);
	verdict(3);
	expect_whys(0, FILTER_BIT(FILTER_SPREAD));
	expect_whys(1, FILTER_BIT(FILTER_SPREAD));
}

/* A pod that is being deleted counts for affinity, but not for spread. */
Test(evaluate, a_leaving_pod_counts_for_affinity_alone)
{
	small(1);
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	*spread(2, PLAIN_KEY_HOST, 1, 1) =
		(struct plain_spread){ PLAIN_KEY_HOST, SPREAD_HARD | SPREAD_BY_NODE, 1, 2, app_is(1) };
	pod(0, 0, 0, 1);
	pod(1, 1, PLAIN_NONE, 1);
	pod(2, 2, PLAIN_NONE, 1);
	verdict(2);
	expect_whys(0, FILTER_BIT(FILTER_SPREAD));
	p->pods[0].deleting = true;
	plain_tell_pod(p, 0);
	verdict(2);
	expect_whys(0, 0);
	verdict(1);
	expect_whys(0, FILTER_BIT(FILTER_ANTI_AFFINITY));
}

/* The first of a series starts anywhere with the key, also when others of it stand on nodes
 * without; the second goes to the first. */
Test(evaluate, the_first_of_a_series_starts)
{
	small(2);
	p->nodes[1].labels_n = 1;
	plain_tell_node(p, 1);
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	pod(0, 0, 1, 1);
	pod(1, 1, PLAIN_NONE, 1);
	pod(2, 1, PLAIN_NONE, 2); /* does not match itself */
	verdict(1);
	expect_whys(0, 0);
	expect_whys(1, FILTER_BIT(FILTER_POD_AFFINITY));
	verdict(2);
	expect_whys(0, FILTER_BIT(FILTER_POD_AFFINITY));
	pod(3, 0, 0, 1);
	verdict(2);
	expect_whys(0, 0);
}

/* A matching pod on a node with one of the keys suffices for a pod not to be the first. */
Test(evaluate, is_not_the_first_when_one_key_is_there)
{
	small(2);
	p->nodes[0].labels_n = 2; /* no host */
	plain_tell_node(p, 0);
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 1);
	pod(0, 1, PLAIN_NONE, 1);
	verdict(0);
	expect_whys(1, 0);
	pod(1, 0, 0, 1);
	verdict(0);
	expect_whys(0, FILTER_BIT(FILTER_POD_AFFINITY));
	expect_whys(1, FILTER_BIT(FILTER_POD_AFFINITY));
}

/* When each term names nodes, no other node is evaluated, cordoned or not. */
Test(evaluate, looks_at_named_nodes_alone)
{
	struct filter_count counts[EVALUATION_COUNTS_MAX];
	small(3);
	set_flags(0, NODE_CORDONED);
	set_flags(2, NODE_CORDONED);
	p->shapes[1].terms_n = 2;
	p->shapes[1].terms[0] = name_is(2);
	p->shapes[1].terms[1] = name_is(6);
	p->shapes[2].terms_n = 1;
	p->shapes[2].terms[0] =
		(struct plain_clauses){ .n = 2, .at = { name_is(0).at[0], name_is(1).at[0] } };
	p->shapes[3].terms_n = 2;
	p->shapes[3].terms[0] = name_is(1);
	for (uint32_t i = 0; i < 3; i++)
		pod(i, 1 + i, PLAIN_NONE, 1);
	verdict(0);
	expect_whys(0, FILTER_BIT(FILTER_NOT_NAMED));
	expect_whys(1, FILTER_BIT(FILTER_NOT_NAMED));
	expect_whys(2, FILTER_BIT(FILTER_CORDONED));
	cr_assert_eq(evaluation_counts(&j, &p->core->nodes, counts), 2);
	cr_assert(counts[0].why == FILTER_CORDONED && counts[0].nodes == 1);
	cr_assert(counts[1].why == FILTER_NOT_NAMED && counts[1].nodes == 2);
	verdict(1);
	cr_assert_eq(j.whole, FILTER_CONFLICT);
	cr_assert_eq(evaluation_counts(&j, &p->core->nodes, counts), 1);
	cr_assert(counts[0].why == FILTER_CONFLICT && counts[0].nodes == 0);
	/* A term without requirements names no node, so that all are evaluated. */
	verdict(2);
	expect_whys(0, FILTER_BIT(FILTER_CORDONED));
	expect_whys(1, 0);
}

/* A node that lacks two resources counts for both. */
Test(evaluate, counts_each_resource_that_is_short)
{
	struct filter_count counts[EVALUATION_COUNTS_MAX];
	small(2);
	p->shapes[1].amounts[RESOURCE_CPU] = 4001;
	p->shapes[1].amounts[RESOURCE_EXTENDED] = 1;
	pod(0, 1, PLAIN_NONE, 1);
	verdict(0);
	cr_assert_eq(evaluation_counts(&j, &p->core->nodes, counts), 2);
	cr_assert(counts[0].why == FILTER_INSUFFICIENT && counts[0].arg == RESOURCE_CPU &&
	          counts[0].nodes == 2);
	cr_assert(counts[1].why == FILTER_INSUFFICIENT && counts[1].arg == RESOURCE_EXTENDED &&
	          counts[1].nodes == 2);
}

/* core_verdict() rejects a bound pod and one that does not exist. */
Test(evaluate, evaluates_pending_pods_alone)
{
	small(1);
	pod(0, 0, 0, 1);
	evaluation_init(&j, &p->limits, false);
	cr_assert_eq(core_verdict(p->core, 0, &j), -EBUSY);
	cr_assert_eq(core_verdict(p->core, 1, &j), -ENOENT);
	cr_assert_eq(core_verdict(p->core, PLAIN_PODS, &j), -ENOENT);
}
