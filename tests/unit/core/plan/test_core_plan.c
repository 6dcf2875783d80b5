/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with rules between pods, by hand: who waits, for what, and what lets him in. */
#include "tests/unit/support_plain.h"

#include "core/lifecycle/state.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(plan);

enum { GANG = 1, HERE = 1, THERE = 2, ELSEWHERE = 3 };

/* A host of its own with 4 cores, 4 GB and 10 pods; zone 0: none. */
static void node(struct plain *p, uint32_t id, uint32_t zone, int64_t cpu_milli)
{
	struct plain_node *n = &p->nodes[id];

	*n = (struct plain_node){ .exists = true, .amounts = { cpu_milli, 4000000000, 0, 10 } };
	n->labels[n->labels_n++] =
		(struct label){ LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + id, LABEL_NOT_A_NUMBER };
	if (zone > 0)
		n->labels[n->labels_n++] = (struct label){ PLAIN_KEY_ZONE, zone, LABEL_NOT_A_NUMBER };
	n->labels[n->labels_n++] = (struct label){ PLAIN_KEY_HOST, 20 + id, LABEL_NOT_A_NUMBER };
	plain_tell_node(p, id);
}

static struct plain *cluster_holding(uint64_t hold_after_ns)
{
	struct plain *p = plain_new_holding(SCORE_KUBE, hold_after_ns);

	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		p->shapes[i] = (struct plain_shape){ .containers = 1,
			                                 .amounts = { 1000 },
			                                 .scored = { 1000, 209715200 },
			                                 .placed = { 1000, 209715200 } };
	plain_synced(p);
	return p;
}

static struct plain *cluster(void)
{
	return cluster_holding(0);
}

static void pod(struct plain *p, uint32_t id, uint32_t gang, uint32_t shape, uint32_t app)
{
	p->pods[id] = (struct plain_pod){ .exists = true,
		                              .generation = p->pods[id].generation + 1,
		                              .shape = shape,
		                              .node = PLAIN_NONE,
		                              .gang = gang,
		                              .labels_n = 1,
		                              .labels = { { PLAIN_KEY_APP, app } } };
	plain_tell_pod(p, id);
}

static void pods(struct plain *p, uint32_t first, uint32_t n, uint32_t gang, uint32_t shape,
                 uint32_t app)
{
	for (uint32_t i = 0; i < n; i++)
		pod(p, first + i, gang, shape, app);
}

static void placed_pod(struct plain *p, uint32_t id, uint32_t shape, uint32_t app, uint32_t at)
{
	p->pods[id] = (struct plain_pod){ .exists = true,
		                              .generation = p->pods[id].generation + 1,
		                              .shape = shape,
		                              .node = at,
		                              .labels_n = 1,
		                              .labels = { { PLAIN_KEY_APP, app } } };
	plain_tell_pod(p, id);
}

static struct plain_clauses app_is(uint32_t value)
{
	return (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_APP, .values = { value }, .values_n = 1 } }
	};
}

static void term(struct plain *p, uint32_t shape, uint32_t kind, uint32_t topology, uint32_t app)
{
	struct plain_shape *s = &p->shapes[shape];

	s->pod_terms[s->pod_terms_n++] =
		(struct plain_term){ .kind = kind, .topology = topology, .labels = app_is(app) };
}

static void spread(struct plain *p, uint32_t shape, uint32_t topology, uint32_t max_skew,
                   uint32_t app)
{
	struct plain_shape *s = &p->shapes[shape];

	s->spreads[s->spreads_n++] = (struct plain_spread){ .topology = topology,
		                                                .flags = SPREAD_HARD,
		                                                .max_skew = max_skew,
		                                                .min_domains = 1,
		                                                .labels = app_is(app) };
}

/* Of n pods from `first` on, how many have a node. */
static uint32_t have(const struct plain *p, uint32_t first, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < first + n; i++)
		count += p->binds[i] != PLAIN_NONE;
	return count;
}

static uint32_t zone_of(const struct plain *p, uint32_t id)
{
	const struct plain_node *n = &p->nodes[p->binds[id]];

	return n->labels_n > 2 ? n->labels[1].value : 0;
}

static uint32_t have_in(const struct plain *p, uint32_t first, uint32_t n, uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < first + n; i++)
		count += p->binds[i] != PLAIN_NONE && zone_of(p, i) == zone;
	return count;
}

static uint32_t count_of(const struct reason *r, uint32_t why)
{
	for (uint32_t i = 0; i < r->counts_n; i++)
		if (r->counts[i].why == why)
			return r->counts[i].nodes;
	return 0;
}

/* Plans, and nothing is left to do. */
static void plan(struct plain *p)
{
	plain_plan(p);
	cr_assert_not(core_wants_plan(p->core));
}

/* ---- one kind ----------------------------------------------------------------------------- */

Test(plan, three_that_bar_each_other_need_three_nodes)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	node(p, 0, HERE, 4000);
	node(p, 1, HERE, 4000);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].why, WHY_ROOM);
	cr_assert_eq(p->reasons[0].need, 3);
	cr_assert_eq(p->reasons[0].fit, 2);
	cr_assert_eq(p->reasons[0].counts_n, 1);
	cr_assert_eq(count_of(&p->reasons[0], NODE_WHY_ANTI_AFFINITY), 2);
	node(p, 2, HERE, 4000);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 3);
	cr_assert(p->binds[0] != p->binds[1] && p->binds[1] != p->binds[2] &&
	          p->binds[0] != p->binds[2]);
	plain_free(p);
}

/* The best single node lies in a zone that takes two. */
Test(plan, members_near_each_other_go_where_all_fit)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(p, 0, HERE, 2900);
	node(p, 1, THERE, 2000);
	node(p, 2, THERE, 2000);
	node(p, 3, ELSEWHERE, 1000);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1, 1);
	plan(p);
	cr_assert_eq(have_in(p, 0, 4, THERE), 4);
	plain_free(p);
}

/* Zone and host at once: only a node that takes all of them will do. */
Test(plan, members_near_each_other_in_two_ways_go_where_all_fit)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 1);
	node(p, 0, HERE, 2000);
	node(p, 1, HERE, 2000);
	node(p, 2, HERE, 3000);
	p->nodes[2].amounts[RESOURCE_MEMORY] =
		700000000; /* full of memory, so that it is nobody's first choice */
	plain_tell_node(p, 2);
	p->shapes[1].amounts[RESOURCE_MEMORY] = 209715200;
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(p->binds[i], 2);
	plain_free(p);
}

/* Whom it seeks stands where no zone is, so that it is the first of its series still. */
Test(plan, first_of_a_series_beside_one_without_a_zone)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(p, 0, 0, 4000);
	node(p, 1, HERE, 1900);
	node(p, 2, THERE, 1000);
	node(p, 3, THERE, 1000);
	placed_pod(p, 20, 0, 1, 0);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1, 1);
	plan(p);
	cr_assert_eq(have_in(p, 0, 2, THERE), 2);
	plain_free(p);
}

Test(plan, no_zone_takes_all_that_want_one)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(p, 0, HERE, 2000);
	node(p, 1, THERE, 2000);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].fit, 2);
	cr_assert_eq(count_of(&p->reasons[0], NODE_WHY_POD_AFFINITY), 1);
	node(p, 2, HERE, 1000);
	plan(p);
	cr_assert_eq(have_in(p, 0, 3, HERE), 3);
	plain_free(p);
}

Test(plan, seven_spread_over_three_zones)
{
	struct plain *p = cluster();

	spread(p, 1, PLAIN_KEY_ZONE, 1, 1);
	for (uint32_t i = 0; i < 6; i++)
		node(p, i, 1 + i % 3, 4000);
	plain_tell_gang(p, 0, 7);
	pods(p, 0, 7, GANG, 1, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 7), 7);
	for (uint32_t zone = 1; zone <= 3; zone++)
		cr_assert(have_in(p, 0, 7, zone) == 2 || have_in(p, 0, 7, zone) == 3);
	plain_free(p);
}

Test(plan, one_port_is_one_member_a_node)
{
	struct plain *p = cluster();

	p->shapes[1].ports_n = 1;
	p->shapes[1].ports[0] = (struct host_port){ PORT_EVERY_ADDRESS, 0, 80, 0 };
	node(p, 0, HERE, 4000);
	node(p, 1, HERE, 4000);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].fit, 2);
	node(p, 2, HERE, 4000);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 3);
	cr_assert(p->binds[0] != p->binds[1] && p->binds[1] != p->binds[2] &&
	          p->binds[0] != p->binds[2]);
	plain_free(p);
}

/* One row and one column each: the best node first would take both at once. */
Test(plan, bars_in_two_directions_are_searched)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 1);
	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_RACK, 1);
	node(p, 0, HERE, 4000);
	node(p, 1, HERE, 2000);
	node(p, 2, THERE, 2000);
	for (uint32_t i = 0; i < 3; i++) {
		/* The first is in the rack of the third. */
		p->nodes[i].labels[p->nodes[i].labels_n++] =
			(struct label){ PLAIN_KEY_RACK, 1 + i % 2, LABEL_NOT_A_NUMBER };
		plain_tell_node(p, i);
	}
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 2), 2);
	cr_assert(p->binds[0] != 0 && p->binds[1] != 0);
	plain_free(p);
}

/* What ends elsewhere changes nothing for those who need more nodes: they are not planned anew. */
Test(plan, bars_are_counted_before_planning)
{
	struct plain *p = cluster();
	uint64_t plans;

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	node(p, 0, HERE, 4000);
	node(p, 1, HERE, 4000);
	placed_pod(p, 20, 0, 9, 0);
	placed_pod(p, 21, 0, 9, 1);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1, 1);
	plan(p);
	plans = p->ledger->stats.plans;
	plain_drop_pod(p, 20);
	plan(p);
	plain_drop_pod(p, 21);
	plan(p);
	cr_assert_eq(p->ledger->stats.plans, plans);
	node(p, 2, HERE, 4000);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 3);
	plain_free(p);
}

/* ---- several kinds -------------------------------------------------------------------------- */

/* Workers (they come first by name) want to be where the launcher is, and it has to choose a
 * zone with room for them. */
Test(plan, workers_follow_their_launcher)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(p, 0, HERE, 3000);
	node(p, 1, THERE, 2000);
	node(p, 2, THERE, 2000);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 3, GANG, 1, 1);
	pod(p, 3, GANG, 2, 2);
	plan(p);
	cr_assert_eq(have_in(p, 0, 4, THERE), 4);
	plain_free(p);
}

Test(plan, workers_follow_in_big_zones)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(p, 0, HERE, 8000);
	node(p, 1, HERE, 8000);
	node(p, 2, HERE, 1000);
	node(p, 3, THERE, 4000);
	node(p, 4, THERE, 4000);
	node(p, 5, THERE, 4000);
	node(p, 6, THERE, 7000);
	plain_tell_gang(p, 0, 19);
	pods(p, 0, 18, GANG, 1, 1);
	pod(p, 18, GANG, 2, 2);
	plan(p);
	cr_assert_eq(have_in(p, 0, 19, THERE), 19);
	plain_free(p);
}

/* The third seeks the second, who seeks the first. */
Test(plan, a_chain_of_kinds)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 2);
	term(p, 2, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 3);
	p->shapes[1].amounts[RESOURCE_CPU] = 1500; /* the hardest, and it can come last only */
	node(p, 0, HERE, 2000);
	node(p, 1, HERE, 4000);
	plain_tell_gang(p, 0, 3);
	pod(p, 0, GANG, 1, 1);
	pod(p, 1, GANG, 2, 2);
	pod(p, 2, GANG, 3, 3);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(p->binds[i], 1);
	plain_free(p);
}

/* Both kinds count for the spread of the one, so that they have to take turns. */
Test(plan, kinds_take_turns_where_the_spread_wants_it)
{
	struct plain *p = cluster();

	spread(p, 1, PLAIN_KEY_ZONE, 1, 1);
	spread(p, 2, PLAIN_KEY_ZONE, 1, 1);
	p->shapes[1].selector = (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_HOST, .values = { 20 }, .values_n = 1 } }
	};
	p->shapes[2].selector = (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_HOST, .values = { 21 }, .values_n = 1 } }
	};
	p->shapes[1].spreads[0].flags |= SPREAD_IGNORES_AFFINITY;
	p->shapes[2].spreads[0].flags |= SPREAD_IGNORES_AFFINITY;
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 4000);
	plain_tell_gang(p, 0, 6);
	pods(p, 0, 3, GANG, 1, 1);
	pods(p, 3, 3, GANG, 2, 1);
	plan(p);
	cr_assert_eq(have_in(p, 0, 3, HERE), 3);
	cr_assert_eq(have_in(p, 3, 3, THERE), 3);
	plain_free(p);
}

/* ---- gangs against each other ------------------------------------------------------------------
 */

Test(plan, two_gangs_that_bar_each_other)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 2);
	term(p, 2, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(p, 0, HERE, 4000);
	plain_tell_gang(p, 0, 2);
	plain_tell_gang(p, 1, 2);
	pods(p, 0, 2, GANG, 1, 1);
	pods(p, 2, 2, GANG + 1, 2, 2);
	plan(p);
	cr_assert_eq(have(p, 0, 2), 2);
	cr_assert_eq(have(p, 2, 2), 0);
	cr_assert_eq(count_of(&p->reasons[1], NODE_WHY_ANTI_AFFINITY), 1);
	plain_settle(p);
	plain_drop_pod(p, 0);
	plan(p);
	cr_assert_eq(have(p, 2, 2), 0);
	plain_drop_pod(p, 1);
	plan(p);
	cr_assert_eq(have(p, 2, 2), 2);
	plain_free(p);
}

/* Nothing of its own says so: those that are there want nobody like it near. */
Test(plan, barred_by_those_who_are_there)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 1000);
	placed_pod(p, 20, 1, 1, 0);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 2, 2);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].fit, 1);
	cr_assert_eq(count_of(&p->reasons[0], NODE_WHY_EXISTING_ANTI_AFFINITY), 1);
	plain_drop_pod(p, 20);
	plan(p);
	cr_assert_eq(have(p, 0, 2), 2);
	plain_free(p);
}

/* ---- what lets a gang in ------------------------------------------------------------------------
 */

Test(plan, whom_it_seeks_comes)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 4000);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(count_of(&p->reasons[0], NODE_WHY_POD_AFFINITY), 2);
	/* A pod that is muster's, and placed in the same plan as those that seek it. */
	pod(p, 20, 0, 2, 2);
	plan(p);
	cr_assert_eq(have(p, 0, 2), 2);
	cr_assert_eq(zone_of(p, 0), zone_of(p, 20));
	cr_assert_eq(zone_of(p, 1), zone_of(p, 20));
	plain_free(p);
}

/* One in the other zone has to come before there may be one more here. */
Test(plan, somebody_comes_to_the_emptier_zone)
{
	struct plain *p = cluster();

	spread(p, 1, PLAIN_KEY_ZONE, 1, 1);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 1000);
	p->nodes[1].flags = NODE_CORDONED;
	plain_tell_node(p, 1);
	placed_pod(p, 20, 0, 1, 0);
	plain_tell_gang(p, 0, 1);
	pod(p, 0, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(count_of(&p->reasons[0], NODE_WHY_SPREAD), 1);
	placed_pod(p, 21, 0, 1, 1);
	plan(p);
	cr_assert_eq(p->binds[0], 0);
	plain_free(p);
}

/* The emptier zone is gone, and with it the reason to wait. */
Test(plan, the_emptier_zone_goes)
{
	struct plain *p = cluster();

	spread(p, 1, PLAIN_KEY_ZONE, 1, 1);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 4000);
	p->nodes[1].flags = NODE_CORDONED;
	plain_tell_node(p, 1);
	placed_pod(p, 20, 0, 1, 0);
	plain_tell_gang(p, 0, 1);
	pod(p, 0, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	plain_drop_node(p, 1);
	plan(p);
	cr_assert_eq(p->binds[0], 0);
	plain_free(p);
}

/* ... or is not asked any more: a taint that the spread honours. */
Test(plan, the_emptier_zone_is_tainted)
{
	struct plain *p = cluster();

	spread(p, 1, PLAIN_KEY_ZONE, 1, 1);
	p->shapes[1].spreads[0].flags |= SPREAD_HONORS_TAINTS;
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 500);
	placed_pod(p, 20, 0, 1, 0);
	plain_tell_gang(p, 0, 1);
	pod(p, 0, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	p->nodes[1].taints_n = 1;
	p->nodes[1].taints[0] = (struct taint){ PLAIN_KEY_TAINT, 1, EFFECT_NO_SCHEDULE, 12 };
	plain_tell_node(p, 1);
	plan(p);
	cr_assert_eq(p->binds[0], 0);
	plain_free(p);
}

Test(plan, a_namespace_gets_another_label)
{
	struct plain *p = cluster();
	struct plain_term *t;

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 2);
	t = &p->shapes[1].pod_terms[0];
	t->chosen = true;
	t->namespace_labels = (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_TEAM, .values = { 1 }, .values_n = 1 } }
	};
	p->shapes[2].namespace = 1;
	p->namespaces[1] = (struct plain_namespace){ true, 1 };
	plain_tell_namespace(p, 1);
	node(p, 0, HERE, 4000);
	placed_pod(p, 20, 2, 2, 0);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(count_of(&p->reasons[0], NODE_WHY_ANTI_AFFINITY), 1);
	p->namespaces[1].label = 2;
	plain_tell_namespace(p, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 2), 2);
	plain_free(p);
}

/* A pod that leaves bars others still, but the spread does not count it any more. */
Test(plan, one_begins_to_leave)
{
	struct plain *p = cluster();

	spread(p, 1, PLAIN_KEY_ZONE, 1, 1);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 500);
	placed_pod(p, 20, 0, 1, 0);
	plain_tell_gang(p, 0, 1);
	pod(p, 0, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	p->pods[20].deleting = true;
	plain_tell_pod(p, 20);
	plan(p);
	cr_assert_eq(p->binds[0], 0);
	plain_free(p);
}

/* ---- holds --------------------------------------------------------------------------------------
 */

enum { SECOND = 1000000000 };

/* Has somebody room held for him after so many seconds of ticks? */
static bool held_after(struct plain *p, uint32_t seconds)
{
	bool held = false;

	for (uint32_t i = 0; i < seconds && !held; i += 3) {
		plain_tick(p, UINT64_C(3) * SECOND);
		plan(p);
		held = p->ledger->gauges.held > 0;
	}
	return held;
}

/* Three that bar each other on two nodes never start, whoever ends: nothing is kept for them. */
Test(plan, nothing_is_held_for_rules_that_can_not_be_met)
{
	struct plain *p = cluster_holding(UINT64_C(60) * SECOND);

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	spread(p, 2, PLAIN_KEY_ZONE, 1, 2);
	term(p, 3, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 3);
	term(p, 4, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 7);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 1000);
	placed_pod(p, 20, 0, 9, 0);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1, 1);
	plain_tell_gang(p, 1, 4);
	pods(p, 3, 4, GANG + 1, 2, 2);
	plain_tell_gang(p, 2, 5);
	pods(p, 7, 5, GANG + 2, 3, 3);
	plain_tell_gang(p, 3, 1);
	pods(p, 12, 1, GANG + 3, 4, 4);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_not(held_after(p, 150));
	pods(p, 13, 1, 0, 0, 9);
	plan(p);
	cr_assert_eq(have(p, 13, 1), 1);
	plain_free(p);
}

/* Two that bar each other on two nodes, one of them full: the first to end makes room for them. */
Test(plan, room_is_held_where_rules_can_be_met)
{
	struct plain *p = cluster_holding(UINT64_C(60) * SECOND);

	term(p, 1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	node(p, 0, HERE, 1000);
	node(p, 1, THERE, 1000);
	placed_pod(p, 20, 0, 9, 0);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1, 1);
	plan(p);
	cr_assert(held_after(p, 90));
	pods(p, 13, 1, 0, 0, 9);
	plan(p);
	cr_assert_eq(have(p, 13, 1), 0);
	plain_drop_pod(p, 20);
	plan(p);
	cr_assert_eq(have(p, 0, 2), 2);
	cr_assert_eq(p->ledger->gauges.held, 0);
	plain_free(p);
}

/* Each kind for itself could fit, both never do, and nobody knows: the hold ends by itself. */
Test(plan, a_hold_for_several_kinds_ends)
{
	struct plain *p = cluster_holding(UINT64_C(60) * SECOND);

	p->shapes[1].amounts[RESOURCE_CPU] = 900;
	node(p, 0, HERE, 1000);
	plain_tell_gang(p, 0, 2);
	pod(p, 0, GANG, 0, 1);
	pod(p, 1, GANG, 1, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert(held_after(p, 90));
	pods(p, 13, 1, 0, 0, 9);
	plan(p);
	cr_assert_eq(have(p, 13, 1), 0);
	plain_tick(p, UINT64_C(605) * SECOND);
	plan(p);
	cr_assert_eq(have(p, 13, 1), 1);
	plain_free(p);
}

/* Eight of more than half a node each on seven nodes, all of different kinds: too many ways to
 * try.  What changes soon after the search is searched again, though nothing changes any more. */
Test(plan, a_change_after_a_search_is_searched)
{
	struct plain *p = cluster();
	uint64_t changed_ns;

	for (uint32_t i = 0; i < 7; i++)
		node(p, i, HERE, 1000);
	plain_tell_gang(p, 0, 8);
	for (uint32_t i = 0; i < 8; i++) {
		p->shapes[i].amounts[RESOURCE_CPU] = 501 + i;
		pod(p, i, GANG, i, 1);
	}
	plain_tick(p, UINT64_C(3) * SECOND);
	plan(p);
	plain_tick(p, UINT64_C(3) * SECOND);
	plan(p);
	cr_assert_eq(p->reasons[0].why, WHY_GAVE_UP);
	/* Half way to the next refresh something changes ... */
	plain_tick(p, UINT64_C(1500) * 1000000);
	node(p, 0, HERE, 1001);
	plan(p);
	plain_tick(p, UINT64_C(600) * 1000000);
	plan(p);
	plain_tick(p, UINT64_C(1500) * 1000000);
	node(p, 0, HERE, 1002);
	changed_ns = p->core->now_ns;
	plan(p);
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, UINT64_C(1900) * 1000000);
		plan(p);
	}
	cr_assert_geq(p->core->gangs.slots[0].searched_ns, changed_ns);
	/* ... and then it's quiet. */
	changed_ns = p->core->gangs.slots[0].searched_ns;
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, UINT64_C(1900) * 1000000);
		plan(p);
	}
	cr_assert_eq(p->core->gangs.slots[0].searched_ns, changed_ns);
	plain_free(p);
}

/* The gang may start with its launcher alone; those who seek it come in the same breath. */
Test(plan, members_beyond_the_quorum_are_let_in_by_the_first)
{
	struct plain *p = cluster();

	term(p, 1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 2);
	node(p, 0, HERE, 4000);
	node(p, 1, THERE, 4000);
	plain_tell_gang(p, 0, 1);
	pods(p, 0, 2, GANG, 1, 1);
	pod(p, 2, GANG, 2, 2);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 3);
	plain_free(p);
}

/* Something happens before each round comes to its end, and the first in the queue costs a whole
 * one. */
Test(plan, those_at_the_end_have_their_turn)
{
	struct plain *p = cluster();
	uint32_t rounds = 0;

	for (uint32_t i = 0; i < 7; i++)
		node(p, i, HERE, 1000);
	p->nodes[6].flags = NODE_CORDONED;
	plain_tell_node(p, 6);
	for (uint32_t i = 0; i < 23; i++) {
		if (i % 8 == 0)
			plain_tell_gang(p, i / 8, i < 16 ? 8 : 7);
		p->shapes[i].amounts[RESOURCE_CPU] = 501 + i;
		pod(p, i, GANG + i / 8, i, 1);
	}
	p->shapes[23].amounts[RESOURCE_CPU] = 100;
	p->shapes[23].selector = (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_HOST, .values = { 26 }, .values_n = 1 } }
	};
	pod(p, 23, 0, 23, 1);
	plan(p);
	p->nodes[6].flags = 0;
	plain_tell_node(p, 6);
	for (; rounds < 100 && p->binds[23] == PLAIN_NONE; rounds++) {
		plain_tick(p, UINT64_C(3) * SECOND);
		node(p, 0, HERE, 1000 + rounds % 2);
		plain_round(p);
	}
	cr_assert(rounds > 1 && rounds < 40, "%u rounds", rounds);
	plain_free(p);
}
