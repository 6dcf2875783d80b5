/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that are kept together in domains of nodes, by hand. */
#include "tests/unit/support_plain.h"

#include "core/lifecycle/state.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(levels);

enum { GANG = 1, ZONE_A = 1, ZONE_B = 2, RACK = 10 };

/* A host with so many cores, 4 GB and 10 pods; zone or rack 0: without the label. */
static void node(struct plain *p, uint32_t id, uint32_t zone, uint32_t rack, int64_t cores)
{
	struct plain_node *n = &p->nodes[id];

	*n = (struct plain_node){ .exists = true, .amounts = { 1000 * cores, 4000000000, 0, 10 } };
	n->labels[n->labels_n++] =
		(struct label){ LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + id, LABEL_NOT_A_NUMBER };
	if (zone > 0)
		n->labels[n->labels_n++] = (struct label){ PLAIN_KEY_ZONE, zone, LABEL_NOT_A_NUMBER };
	if (rack > 0)
		n->labels[n->labels_n++] =
			(struct label){ PLAIN_KEY_RACK, RACK + rack, LABEL_NOT_A_NUMBER };
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

static void level(struct plain *p, uint32_t gang, uint32_t key, uint32_t flags)
{
	p->levels[gang].at[p->levels[gang].n++] = (struct gang_level){ key, flags };
}

static void pods(struct plain *p, uint32_t first, uint32_t n, uint32_t gang, uint32_t shape)
{
	for (uint32_t id = first; id < first + n; id++) {
		p->pods[id] = (struct plain_pod){ .exists = true,
			                              .generation = p->pods[id].generation + 1,
			                              .shape = shape,
			                              .node = PLAIN_NONE,
			                              .gang = gang };
		plain_tell_pod(p, id);
	}
}

static void placed_pod(struct plain *p, uint32_t id, uint32_t shape, uint32_t at)
{
	p->pods[id] = (struct plain_pod){
		.exists = true, .generation = p->pods[id].generation + 1, .shape = shape, .node = at
	};
	plain_tell_pod(p, id);
}

/* Bits of the nodes that pods from `first` on went to, and how many found one. */
static uint32_t where(const struct plain *p, uint32_t first, uint32_t n)
{
	uint32_t bits = 0;

	for (uint32_t i = first; i < first + n; i++)
		if (p->binds[i] != PLAIN_NONE)
			bits |= 1u << p->binds[i];
	return bits;
}

static uint32_t have(const struct plain *p, uint32_t first, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < first + n; i++)
		count += p->binds[i] != PLAIN_NONE;
	return count;
}

static void plan(struct plain *p)
{
	plain_plan(p);
	cr_assert_not(core_wants_plan(p->core));
}

/* ---- one level ---------------------------------------------------------------------- */

/* The best nodes are in a rack that takes three. */
Test(levels, gang_of_four_in_one_rack)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 3);
	node(p, 1, 0, 2, 2);
	node(p, 2, 0, 2, 2);
	node(p, 3, 0, 0, 4); /* in no rack */
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 4), 4);
	cr_assert_eq(where(p, 0, 4), 1u << 1 | 1u << 2);
	plain_free(p);
}

Test(levels, no_rack_takes_four)
{
	struct plain *p = cluster();
	const struct reason *r = &p->reasons[0];

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 2);
	node(p, 2, 0, 2, 1);
	node(p, 3, 0, 0, 4);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(r->why, WHY_TOPOLOGY);
	cr_assert_eq(r->domains, 2);
	cr_assert_eq(r->domain_key, PLAIN_KEY_RACK);
	cr_assert_eq(r->domain_value, RACK + 2);
	cr_assert_eq(r->domain_fit, 3);
	cr_assert_eq(r->need, 4);
	cr_assert_eq(r->fit, 3);
	cr_assert_eq(r->nodes, 4);
	cr_assert_eq(r->shortfalls_n, 1);
	cr_assert_eq(r->shortfalls[0].need, 4000);
	cr_assert_eq(r->shortfalls[0].have, 3000);
	node(p, 2, 0, 2, 2);
	plan(p);
	cr_assert_eq(where(p, 0, 4), 1u << 1 | 1u << 2);
	plain_free(p);
}

Test(levels, a_key_that_no_node_has)
{
	struct plain *p = cluster();

	node(p, 0, 0, 0, 4);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 1);
	pods(p, 0, 1, GANG, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].why, WHY_TOPOLOGY);
	cr_assert_eq(p->reasons[0].domains, 0);
	cr_assert_eq(p->reasons[0].domain_value, ID_NONE);
	plain_free(p);
}

/* Big racks are left for big gangs. */
Test(levels, the_rack_that_fits_best)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 4);
	node(p, 1, 0, 1, 4);
	node(p, 2, 0, 2, 2);
	node(p, 3, 0, 3, 3);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1);
	plan(p);
	cr_assert_eq(where(p, 0, 2), 1u << 2);
	plain_free(p);
}

/* ... but more members than the quorum come first. */
Test(levels, the_rack_that_takes_most)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 3);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 4), 3);
	cr_assert_eq(where(p, 0, 4), 1u << 1);
	cr_assert_eq(p->reasons[0].why, WHY_TOPOLOGY);
	cr_assert_eq(p->reasons[0].domain_value, RACK + 2);
	cr_assert_eq(p->reasons[0].domain_fit, 0);
	plain_free(p);
}

Test(levels, a_preferred_rack_if_one_takes_all)
{
	struct plain *p = cluster();

	level(p, 0, PLAIN_KEY_RACK, 0);
	node(p, 0, 0, 1, 4);
	node(p, 1, 0, 2, 2);
	node(p, 2, 0, 2, 1);
	node(p, 3, 0, 0, 4);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1);
	plan(p);
	cr_assert_eq(where(p, 0, 3), 1u << 1 | 1u << 2);
	plain_free(p);
}

/* Else as few as can be, and nodes without a rack last. */
Test(levels, a_preferred_rack_is_given_up)
{
	struct plain *p = cluster();

	level(p, 0, PLAIN_KEY_RACK, 0);
	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 3);
	node(p, 2, 0, 3, 1);
	node(p, 3, 0, 0, 4);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 4), 4);
	cr_assert_eq(where(p, 0, 4), 1u << 1 | 1u << 2);
	p->levels[1] = p->levels[0];
	plain_tell_gang(p, 1, 6);
	pods(p, 4, 6, GANG + 1, 1);
	plan(p);
	cr_assert_eq(have(p, 4, 6), 6);
	cr_assert_eq(where(p, 4, 6), 1u << 0 | 1u << 3);
	plain_free(p);
}

/* ---- nested ------------------------------------------------------------------------------ */

/* Racks of the same name in two zones are two racks. */
Test(levels, rack_within_zone)
{
	struct plain *p = cluster();

	node(p, 0, ZONE_A, 1, 2);
	node(p, 1, ZONE_B, 1, 2);
	node(p, 2, ZONE_B, 2, 3);
	level(p, 0, PLAIN_KEY_ZONE, LEVEL_REQUIRED);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].domains, 3);
	cr_assert_eq(p->reasons[0].domain_value, RACK + 2);
	plain_tell_gang(p, 0, 3);
	plan(p);
	cr_assert_eq(where(p, 0, 4), 1u << 2);
	plain_free(p);
}

/* Zone A fits better, but in zone B one rack takes all. */
Test(levels, zone_required_and_rack_preferred)
{
	struct plain *p = cluster();

	node(p, 0, ZONE_A, 1, 2);
	node(p, 1, ZONE_A, 2, 2);
	node(p, 2, ZONE_B, 3, 4);
	node(p, 3, ZONE_B, 4, 1);
	level(p, 0, PLAIN_KEY_ZONE, LEVEL_REQUIRED);
	level(p, 0, PLAIN_KEY_RACK, 0);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(where(p, 0, 4), 1u << 2);
	p->levels[1] = p->levels[0];
	plain_tell_gang(p, 1, 4);
	pods(p, 4, 4, GANG + 1, 1);
	plan(p);
	cr_assert_eq(where(p, 4, 4), 1u << 0 | 1u << 1);
	plain_free(p);
}

/* ---- later ---------------------------------------------------------------------------------- */

/* One starts in a rack, and whoever comes later follows, wherever there is more room. */
Test(levels, a_later_member_joins_the_others)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 4);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 1);
	pods(p, 0, 1, GANG, 1);
	plan(p);
	cr_assert_eq(where(p, 0, 1), 1u << 0);
	plain_settle(p);
	pods(p, 1, 2, GANG, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 2);
	cr_assert_eq(where(p, 0, 3), 1u << 0);
	cr_assert_eq(p->reasons[0].why, WHY_TOPOLOGY);
	cr_assert_eq(p->reasons[0].domain_value, RACK + 1);
	cr_assert_eq(p->reasons[0].domain_fit, 0);
	cr_assert_eq(p->reasons[0].need, 1);
	plain_settle(p);
	/* Room elsewhere is of no use; here it is. */
	node(p, 1, 0, 2, 5);
	plan(p);
	cr_assert_eq(have(p, 0, 3), 2);
	node(p, 0, 0, 1, 3);
	plan(p);
	cr_assert_eq(where(p, 0, 3), 1u << 0);
	cr_assert_eq(have(p, 0, 3), 3);
	plain_free(p);
}

/* Preferred, it goes near the others first, then elsewhere. */
Test(levels, a_later_member_near_the_others)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 4);
	level(p, 0, PLAIN_KEY_RACK, 0);
	plain_tell_gang(p, 0, 1);
	pods(p, 0, 1, GANG, 1);
	plan(p);
	plain_settle(p);
	pods(p, 1, 3, GANG, 1);
	plan(p);
	cr_assert_eq(have(p, 0, 4), 4);
	cr_assert_eq(where(p, 0, 2), 1u << 0);
	cr_assert_eq(where(p, 2, 2), 1u << 1);
	plain_free(p);
}

Test(levels, a_node_comes_into_the_rack)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 0, 2);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	node(p, 1, 0, 1, 2);
	plan(p);
	cr_assert_eq(have(p, 0, 4), 4);
	plain_free(p);
}

/* The group is told anew with other levels. */
Test(levels, a_level_that_goes_away)
{
	struct plain *p = cluster();

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 2);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 4);
	pods(p, 0, 4, GANG, 1);
	plan(p);
	cr_assert_eq(p->binds_n, 0);
	p->levels[0].at[0].flags = 0;
	plain_tell_gang(p, 0, 4);
	plan(p);
	cr_assert_eq(have(p, 0, 4), 4);
	plain_free(p);
}

/* ---- several kinds, rules between pods ----------------------------------------------------- */

static struct plain_clauses app_is(uint32_t value)
{
	return (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_APP, .values = { value }, .values_n = 1 } }
	};
}

/* One host each, all in a rack: the rack with three hosts, though others have more room. */
Test(levels, members_that_bar_each_other_in_one_rack)
{
	struct plain *p = cluster();

	p->shapes[1].pod_terms_n = 1;
	p->shapes[1].pod_terms[0] = (struct plain_term){ .kind = POD_TERM_ANTI_AFFINITY,
		                                             .topology = LABEL_KEY_NODE_NAME,
		                                             .labels = app_is(1) };
	node(p, 0, 0, 1, 4);
	node(p, 1, 0, 1, 4);
	node(p, 2, 0, 2, 1);
	node(p, 3, 0, 2, 1);
	node(p, 4, 0, 2, 1);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 3);
	for (uint32_t i = 0; i < 3; i++) {
		p->pods[i] = (struct plain_pod){ .exists = true,
			                             .generation = 1,
			                             .shape = 1,
			                             .node = PLAIN_NONE,
			                             .gang = GANG,
			                             .labels_n = 1,
			                             .labels = { { PLAIN_KEY_APP, 1 } } };
		plain_tell_pod(p, i);
	}
	plan(p);
	cr_assert_eq(where(p, 0, 3), 1u << 2 | 1u << 3 | 1u << 4);
	plain_free(p);
}

Test(levels, two_kinds_in_one_rack)
{
	struct plain *p = cluster();

	p->shapes[2].amounts[RESOURCE_EXTENDED] = 1;
	node(p, 0, 0, 1, 4);
	node(p, 1, 0, 2, 1);
	node(p, 2, 0, 2, 2);
	p->nodes[2].amounts[RESOURCE_EXTENDED] = 1;
	plain_tell_node(p, 2);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 2, GANG, 1);
	pods(p, 2, 1, GANG, 2);
	plan(p);
	cr_assert_eq(where(p, 0, 2), 1u << 1 | 1u << 2);
	cr_assert_eq(where(p, 2, 1), 1u << 2);
	plain_free(p);
}

/* ---- holds -------------------------------------------------------------------------------------
 */

#define AFTER_NS (5 * UINT64_C(1000000000))

/* Rack 1 is nearly free: room is kept there, and nowhere else. */
Test(levels, room_is_kept_in_one_rack)
{
	struct plain *p = cluster_holding(AFTER_NS);

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 2);
	placed_pod(p, 20, 0, 0);
	placed_pod(p, 21, 0, 1);
	placed_pod(p, 22, 0, 1);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1);
	plan(p);
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, AFTER_NS);
		plain_plan(p);
	}
	cr_assert_eq(p->core->held, 0);
	pods(p, 10, 1, 0, 1);
	plan(p);
	cr_assert_eq(have(p, 10, 1), 0);
	plain_drop_pod(p, 21);
	plan(p);
	cr_assert_eq(where(p, 10, 1), 1u << 1);
	plain_drop_pod(p, 20);
	plan(p);
	cr_assert_eq(where(p, 0, 2), 1u << 0);
	cr_assert_eq(have(p, 0, 2), 2);
	plain_free(p);
}

/* No rack could ever take three: nobody is kept waiting for that. */
Test(levels, nothing_is_kept_for_what_no_rack_takes)
{
	struct plain *p = cluster_holding(AFTER_NS);

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 2, 2);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 3);
	pods(p, 0, 3, GANG, 1);
	plan(p);
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, AFTER_NS);
		plain_plan(p);
	}
	cr_assert_eq(p->core->held, ID_NONE);
	pods(p, 10, 4, 0, 1);
	plan(p);
	cr_assert_eq(have(p, 10, 4), 4);
	plain_free(p);
}

/* The rack that room is kept in gets a node more. */
Test(levels, room_is_kept_on_a_node_that_comes)
{
	struct plain *p = cluster_holding(AFTER_NS);

	node(p, 0, 0, 1, 2);
	node(p, 1, 0, 0, 1);
	placed_pod(p, 20, 0, 0);
	placed_pod(p, 21, 0, 0);
	placed_pod(p, 22, 0, 1);
	level(p, 0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 2);
	pods(p, 0, 2, GANG, 1);
	plan(p);
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, AFTER_NS);
		plain_plan(p);
	}
	cr_assert_eq(p->core->held, 0);
	node(p, 1, 0, 1, 1);
	plain_tick(p, AFTER_NS);
	plan(p);
	pods(p, 10, 1, 0, 1);
	plain_drop_pod(p, 22);
	plan(p);
	cr_assert_eq(have(p, 10, 1), 0);
	plain_drop_pod(p, 20);
	plan(p);
	cr_assert_eq(where(p, 0, 2), 1u << 0 | 1u << 1);
	plain_free(p);
}
