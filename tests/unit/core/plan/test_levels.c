/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs with levels, by hand. */
#include "tests/unit/support_plain_case.h"

TestSuite(levels, .init = start, .fini = end);

enum { GANG = 1, ZONE_A = 1, ZONE_B = 2, RACK = 10 };

/* Zone or rack 0: without the label. */
static void node(uint32_t id, uint32_t zone, uint32_t rack, int64_t cores)
{
	put_node(id, zone, rack > 0 ? RACK + rack : 0, 1000 * cores);
}

static void level(uint32_t gang, uint32_t key, uint32_t flags)
{
	p->levels[gang].at[p->levels[gang].n++] = (struct gang_level){ key, flags };
}

static void pods(uint32_t first, uint32_t n, uint32_t gang, uint32_t shape)
{
	put_pods(first, n, gang, shape, 0);
}

static void placed_pod(uint32_t id, uint32_t shape, uint32_t at)
{
	put_pod(id, 0, shape, at, 0);
}

/* Bits of the nodes that pods from `first` on went to. */
static uint32_t where(uint32_t first, uint32_t n)
{
	uint32_t bits = 0;

	for (uint32_t i = first; i < first + n; i++)
		if (p->binds[i] != PLAIN_NONE)
			bits |= 1u << p->binds[i];
	return bits;
}

/* A gang of n members of shape 1, pods 0 to n - 1, with one level is planned. */
static void place_gang(uint32_t key, uint32_t flags, uint32_t n)
{
	level(0, key, flags);
	plain_tell_gang(p, 0, n);
	pods(0, n, GANG, 1);
	plan();
}

/* The best nodes are in a rack that takes three. */
Test(levels, gang_of_four_in_one_rack)
{
	node(0, 0, 1, 3);
	node(1, 0, 2, 2);
	node(2, 0, 2, 2);
	node(3, 0, 0, 4); /* in no rack */
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 4);
	cr_assert_eq(have(0, 4), 4);
	cr_assert_eq(where(0, 4), 1u << 1 | 1u << 2);
}

Test(levels, no_rack_takes_four)
{
	const struct reason *r = &p->reasons[0];

	node(0, 0, 1, 2);
	node(1, 0, 2, 2);
	node(2, 0, 2, 1);
	node(3, 0, 0, 4);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 4);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(r->why, WAIT_TOPOLOGY);
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
	node(2, 0, 2, 2);
	plan();
	cr_assert_eq(where(0, 4), 1u << 1 | 1u << 2);
}

Test(levels, a_key_that_no_node_has)
{
	node(0, 0, 0, 4);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 1);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].why, WAIT_TOPOLOGY);
	cr_assert_eq(p->reasons[0].domains, 0);
	cr_assert_eq(p->reasons[0].domain_value, ID_NONE);
}

/* Big racks are left for big gangs. */
Test(levels, the_rack_that_fits_best)
{
	node(0, 0, 1, 4);
	node(1, 0, 1, 4);
	node(2, 0, 2, 2);
	node(3, 0, 3, 3);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 2);
	cr_assert_eq(where(0, 2), 1u << 2);
}

/* ... but more members than the quorum come first. */
Test(levels, the_rack_that_takes_most)
{
	node(0, 0, 1, 2);
	node(1, 0, 2, 3);
	level(0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 2);
	pods(0, 4, GANG, 1);
	plan();
	cr_assert_eq(have(0, 4), 3);
	cr_assert_eq(where(0, 4), 1u << 1);
	cr_assert_eq(p->reasons[0].why, WAIT_TOPOLOGY);
	cr_assert_eq(p->reasons[0].domain_value, RACK + 2);
	cr_assert_eq(p->reasons[0].domain_fit, 0);
}

Test(levels, a_preferred_rack_if_one_takes_all)
{
	level(0, PLAIN_KEY_RACK, 0);
	node(0, 0, 1, 4);
	node(1, 0, 2, 2);
	node(2, 0, 2, 1);
	node(3, 0, 0, 4);
	plain_tell_gang(p, 0, 3);
	pods(0, 3, GANG, 1);
	plan();
	cr_assert_eq(where(0, 3), 1u << 1 | 1u << 2);
}

/* Else as few as can be, and nodes without a rack last. */
Test(levels, a_preferred_rack_is_given_up)
{
	level(0, PLAIN_KEY_RACK, 0);
	node(0, 0, 1, 2);
	node(1, 0, 2, 3);
	node(2, 0, 3, 1);
	node(3, 0, 0, 4);
	plain_tell_gang(p, 0, 4);
	pods(0, 4, GANG, 1);
	plan();
	cr_assert_eq(have(0, 4), 4);
	cr_assert_eq(where(0, 4), 1u << 1 | 1u << 2);
	p->levels[1] = p->levels[0];
	plain_tell_gang(p, 1, 6);
	pods(4, 6, GANG + 1, 1);
	plan();
	cr_assert_eq(have(4, 6), 6);
	cr_assert_eq(where(4, 6), 1u << 0 | 1u << 3);
}

/* Racks of the same name in two zones are two racks. */
Test(levels, rack_within_zone)
{
	node(0, ZONE_A, 1, 2);
	node(1, ZONE_B, 1, 2);
	node(2, ZONE_B, 2, 3);
	level(0, PLAIN_KEY_ZONE, LEVEL_REQUIRED);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 4);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].domains, 3);
	cr_assert_eq(p->reasons[0].domain_value, RACK + 2);
	plain_tell_gang(p, 0, 3);
	plan();
	cr_assert_eq(where(0, 4), 1u << 2);
}

/* Zone A fits better, but in zone B one rack takes all. */
Test(levels, zone_required_and_rack_preferred)
{
	node(0, ZONE_A, 1, 2);
	node(1, ZONE_A, 2, 2);
	node(2, ZONE_B, 3, 4);
	node(3, ZONE_B, 4, 1);
	level(0, PLAIN_KEY_ZONE, LEVEL_REQUIRED);
	place_gang(PLAIN_KEY_RACK, 0, 4);
	cr_assert_eq(where(0, 4), 1u << 2);
	p->levels[1] = p->levels[0];
	plain_tell_gang(p, 1, 4);
	pods(4, 4, GANG + 1, 1);
	plan();
	cr_assert_eq(where(4, 4), 1u << 0 | 1u << 1);
}

/* One starts in a rack, and later members follow, even if there is more capacity elsewhere. */
Test(levels, a_later_member_joins_the_others)
{
	node(0, 0, 1, 2);
	node(1, 0, 2, 4);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 1);
	cr_assert_eq(where(0, 1), 1u << 0);
	plain_settle(p);
	pods(1, 2, GANG, 1);
	plan();
	cr_assert_eq(have(0, 3), 2);
	cr_assert_eq(where(0, 3), 1u << 0);
	cr_assert_eq(p->reasons[0].why, WAIT_TOPOLOGY);
	cr_assert_eq(p->reasons[0].domain_value, RACK + 1);
	cr_assert_eq(p->reasons[0].domain_fit, 0);
	cr_assert_eq(p->reasons[0].need, 1);
	plain_settle(p);
	/* Room elsewhere is of no use; here it is. */
	node(1, 0, 2, 5);
	plan();
	cr_assert_eq(have(0, 3), 2);
	node(0, 0, 1, 3);
	plan();
	cr_assert_eq(where(0, 3), 1u << 0);
	cr_assert_eq(have(0, 3), 3);
}

/* Preferred: near the others first, then elsewhere. */
Test(levels, a_later_member_near_the_others)
{
	node(0, 0, 1, 2);
	node(1, 0, 2, 4);
	place_gang(PLAIN_KEY_RACK, 0, 1);
	plain_settle(p);
	pods(1, 3, GANG, 1);
	plan();
	cr_assert_eq(have(0, 4), 4);
	cr_assert_eq(where(0, 2), 1u << 0);
	cr_assert_eq(where(2, 2), 1u << 1);
}

Test(levels, a_node_comes_into_the_rack)
{
	node(0, 0, 1, 2);
	node(1, 0, 0, 2);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 4);
	cr_assert_eq(p->binds_n, 0);
	node(1, 0, 1, 2);
	plan();
	cr_assert_eq(have(0, 4), 4);
}

/* The levels of the group change. */
Test(levels, a_level_that_goes_away)
{
	node(0, 0, 1, 2);
	node(1, 0, 2, 2);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 4);
	cr_assert_eq(p->binds_n, 0);
	p->levels[0].at[0].flags = 0;
	plain_tell_gang(p, 0, 4);
	plan();
	cr_assert_eq(have(0, 4), 4);
}

/* One host each, all in a rack: the rack with three hosts, though others have more capacity. */
Test(levels, members_that_bar_each_other_in_one_rack)
{
	term(1, POD_TERM_ANTI_AFFINITY, LABEL_KEY_NODE_NAME, 1);
	node(0, 0, 1, 4);
	node(1, 0, 1, 4);
	node(2, 0, 2, 1);
	node(3, 0, 2, 1);
	node(4, 0, 2, 1);
	level(0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 3);
	put_pods(0, 3, GANG, 1, 1);
	plan();
	cr_assert_eq(where(0, 3), 1u << 2 | 1u << 3 | 1u << 4);
}

Test(levels, two_kinds_in_one_rack)
{
	p->shapes[2].amounts[RESOURCE_EXTENDED] = 1;
	node(0, 0, 1, 4);
	node(1, 0, 2, 1);
	node(2, 0, 2, 2);
	p->nodes[2].amounts[RESOURCE_EXTENDED] = 1;
	plain_tell_node(p, 2);
	level(0, PLAIN_KEY_RACK, LEVEL_REQUIRED);
	plain_tell_gang(p, 0, 3);
	pods(0, 2, GANG, 1);
	pods(2, 1, GANG, 2);
	plan();
	cr_assert_eq(where(0, 2), 1u << 1 | 1u << 2);
	cr_assert_eq(where(2, 1), 1u << 2);
}

#define AFTER_NS (5 * UINT64_C(1000000000))

static void four_ticks(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, AFTER_NS);
		plain_plan(p);
	}
}

/* Rack 1 is nearly free: room is kept there, and nowhere else. */
Test(levels, room_is_kept_in_one_rack)
{
	start_reserving(AFTER_NS);
	node(0, 0, 1, 2);
	node(1, 0, 2, 2);
	placed_pod(20, 0, 0);
	placed_pod(21, 0, 1);
	placed_pod(22, 0, 1);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 2);
	four_ticks();
	cr_assert_eq(p->core->backfill.gang, 0);
	pods(10, 1, 0, 1);
	plan();
	cr_assert_eq(have(10, 1), 0);
	plain_drop_pod(p, 21);
	plan();
	cr_assert_eq(where(10, 1), 1u << 1);
	plain_drop_pod(p, 20);
	plan();
	cr_assert_eq(where(0, 2), 1u << 0);
	cr_assert_eq(have(0, 2), 2);
}

/* No rack could ever take three: nothing is reserved. */
Test(levels, nothing_is_kept_for_what_no_rack_takes)
{
	start_reserving(AFTER_NS);
	node(0, 0, 1, 2);
	node(1, 0, 2, 2);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 3);
	four_ticks();
	cr_assert_eq(p->core->backfill.gang, ID_NONE);
	pods(10, 4, 0, 1);
	plan();
	cr_assert_eq(have(10, 4), 4);
}

/* The reserved rack gets one more node. */
Test(levels, room_is_kept_on_a_node_that_comes)
{
	start_reserving(AFTER_NS);
	node(0, 0, 1, 2);
	node(1, 0, 0, 1);
	placed_pod(20, 0, 0);
	placed_pod(21, 0, 0);
	placed_pod(22, 0, 1);
	place_gang(PLAIN_KEY_RACK, LEVEL_REQUIRED, 2);
	four_ticks();
	cr_assert_eq(p->core->backfill.gang, 0);
	node(1, 0, 1, 1);
	plain_tick(p, AFTER_NS);
	plan();
	pods(10, 1, 0, 1);
	plain_drop_pod(p, 22);
	plan();
	cr_assert_eq(have(10, 1), 0);
	plain_drop_pod(p, 20);
	plan();
	cr_assert_eq(where(0, 2), 1u << 0 | 1u << 1);
}
