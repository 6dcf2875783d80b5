/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a node as shares of GPUs. */
#include "core/devices/inventory_shares.h"

#include "tests/unit/test.h"

enum { WHOLE, HALF, PAIR, ALL, QUESTIONS };

/* Three devices: the first has 10 and 40 of its two capacities, the second 8 of one, the third is
 * not shared. */
static struct inventory *scene(uint64_t taken, uint64_t consumed)
{
	static const struct limits limits = { .nodes = 2, .pods = 2 };
	static const uint32_t counts[QUESTIONS] = { 1, 1, 2, 1 };
	struct inventory *v = inventory_new(&limits);
	static const struct question_constraint none;
	static const uint32_t no_value;
	const uint64_t shared = 3;
	const struct node_capacity capacities[] = {
		{ .device = 0, .value_low = 10, .consumed_low = consumed },
		{ .device = 0, .value_low = 40 },
		{ .device = 1, .value_low = 8 },
	};
	const struct event_node_devices e = {
		.layout = 1, .devices_n = 3, .flags = NODE_DEVICES_SHARED, .capacities_n = 3
	};

	inventory_node_set(
		v, &e,
		&(struct node_lists){ .taken = &taken, .shared = &shared, .capacities = capacities });
	for (uint32_t i = 0; i < QUESTIONS; i++) {
		const struct question_option o = { .count = counts[i],
			                               .flags = i == ALL ? QUESTION_ALL : 0 };
		const struct match_amount half[] = { { .low = 5 }, { .low = 30 }, { .low = 4 } };
		const struct match_amount whole[] = { { .low = 10 }, { .low = 40 }, { .low = 8 } };
		const uint64_t sets[2] = { 7, i == PAIR ? 4 : 7 };

		inventory_question_set(v, &(struct event_question){ .question = i, .options_n = 1 }, &o,
		                       &none);
		cr_assert(inventory_match_set(
			v,
			&(struct event_match){
				.question = i, .layout = 1, .devices_n = 3, .options_n = 1, .capacities_n = 3 },
			sets, &no_value, i == HALF ? half : whole));
	}
	return v;
}

static struct share_node shares(const struct inventory *v, uint32_t question)
{
	struct share_node n = { 0 };

	inventory_shares(v, 0, &question, 1, &n);
	return n;
}

Test(inventory_shares, have_what_is_left_of_the_scarcest_capacity)
{
	struct inventory *v = scene(1, 3);
	const struct share_node n = shares(v, HALF);

	cr_assert_eq(n.model, 1);
	cr_assert_eq(n.gpus, 3);
	cr_assert_eq(n.free[0], 700);
	cr_assert_eq(n.free[1], SHARE_WHOLE);
	cr_assert_eq(n.free[2], SHARE_WHOLE);
	inventory_free(v);
}

Test(inventory_shares, leave_out_what_is_gone)
{
	struct inventory *v = scene(5, 10);
	const struct share_node n = shares(v, HALF);

	cr_assert_eq(n.gpus, 1);
	cr_assert_eq(n.free[0], SHARE_WHOLE);
	inventory_free(v);
}

/* A taint bars all but the third, which is in use. */
Test(inventory_shares, are_those_that_the_question_may_have)
{
	struct inventory *v = scene(4, 0);
	const struct share_node n = shares(v, PAIR);

	cr_assert_eq(n.model, 1);
	cr_assert_eq(n.gpus, 0);
	inventory_free(v);
}

Test(inventory_shares, are_asked_for_by_simple_questions)
{
	struct inventory *v = scene(0, 0);
	struct gpu_ask ask = { 0 };

	cr_assert(inventory_share_ask(v, 0, HALF, &ask));
	cr_assert_eq(ask.gpus, 1);
	cr_assert_eq(ask.milli, 750, "30 of 40 is more than 5 of 10");
	cr_assert(inventory_share_ask(v, 0, WHOLE, &ask));
	cr_assert_eq(ask.milli, SHARE_WHOLE);
	cr_assert(inventory_share_ask(v, 0, PAIR, &ask));
	cr_assert_eq(ask.gpus, 2);
	cr_assert_not(inventory_share_ask(v, 0, ALL, &ask));
	cr_assert_not(inventory_share_ask(v, 1, HALF, &ask), "a node without devices");
	inventory_free(v);
}

static struct device_lack supply(const struct inventory *v, uint32_t question)
{
	struct device_lack l;

	cr_assert_eq(inventory_options(v, question), 1);
	inventory_supply(v, 2, question, 0, &l);
	cr_assert_eq(l.match, l.taken + l.tainted + l.shut + l.free);
	return l;
}

/* For reasons: a share that is too large for what is left finds the device taken. */
Test(inventory_shares, are_counted)
{
	struct inventory *v = scene(1, 3);

	cr_expect(supply(v, HALF).match == 3 && supply(v, HALF).free == 3);
	cr_expect(supply(v, WHOLE).taken == 1 && supply(v, WHOLE).free == 2);
	cr_expect(supply(v, PAIR).tainted == 1 && supply(v, PAIR).most == 1);
	cr_expect(supply(v, ALL).count == 0 && supply(v, ALL).nodes == 1);
	cr_expect_eq(supply(v, HALF).names_bytes, 0);
	inventory_free(v);
}

/* For questions: what claims have of a node, and all of one that would come. */
Test(inventory_shares, are_copied_with_what_is_left)
{
	static const struct limits limits = { .nodes = 2, .pods = 2 };
	struct inventory *v = scene(1, 3), *copy;

	inventory_take(v, 0, HALF, 0, 1);
	copy = inventory_copy(v, &limits);
	inventory_give(v, 0, HALF);
	cr_expect_eq(supply(copy, WHOLE).free, supply(v, WHOLE).free, "nobody holds any");
	inventory_node_like(copy, 0, 1);
	cr_expect_eq(supply(copy, WHOLE).free, 2 + 3);
	inventory_take(copy, 1, HALF, 0, 1);
	cr_expect_eq(supply(v, WHOLE).free, 2);
	inventory_free(v);
	inventory_free(copy);
}
