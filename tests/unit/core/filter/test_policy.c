/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicy in the core: cases that random clusters reach too rarely. */
#include "tests/unit/support_plain_case.h"

TestSuite(core_policy, .init = start, .fini = end);

enum { A = 1, B = 2, APP = 1 };

/* A node of 4 cores and 10 pods. */
static void node(uint32_t id, uint32_t zone, uint32_t rack)
{
	put_node(id, zone, rack, 4000);
}

/* Shape `id`: shares of zones A and B. */
static struct plain_shape *shape(uint32_t id, uint32_t flags, uint32_t a, uint32_t b)
{
	p->shapes[id] = (struct plain_shape){ .containers = 1,
		                                  .amounts = { 500 },
		                                  .scored = { 500, 209715200 },
		                                  .placed = { 500, 209715200 },
		                                  .policy = { .given = true,
		                                              .topology = PLAIN_KEY_ZONE,
		                                              .flags = flags,
		                                              .labels = app_is(APP),
		                                              .shares = { { A, a }, { B, b } },
		                                              .shares_n = 2 } };
	return &p->shapes[id];
}

static uint32_t bound(uint32_t zone)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PLAIN_PODS; i++)
		n += p->binds[i] != PLAIN_NONE && p->nodes[p->binds[i]].labels[1].value == zone;
	return n;
}

/* The start of the deletion makes them schedulable, before the pod is gone. */
Test(core_policy, a_share_is_free_when_its_pod_begins_to_leave)
{
	node(0, A, 1);
	shape(1, POLICY_REQUIRED, 2, 0);
	put_pods(0, 3, 0, 1, APP);
	plain_plan(p);
	cr_assert_eq(p->binds_n, 2);
	plain_settle(p);
	plain_plan(p);
	cr_assert_eq(p->binds[2], PLAIN_NONE);
	p->pods[0].deleting = true;
	plain_tell_pod(p, 0);
	plain_plan(p);
	cr_assert_eq(p->binds[2], 0);
}

/* The best node of the first pod leaves none for the second: the rack is used and the zone full. */
Test(core_policy, members_are_placed_where_shares_and_racks_cross)
{
	shape(1, POLICY_REQUIRED, 1, 2);
	node(0, A, 1);
	node(1, B, 1);
	node(2, A, 2);
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_RACK, APP);
	plain_tell_gang(p, 0, 2);
	put_pods(0, 2, 1, 1, APP);
	plain_plan(p);
	cr_assert_eq(p->binds_n, 2, "why %u", p->reasons[0].why);
	cr_assert(bound(A) == 1 && bound(B) == 1);
}

/* A pod without a policy that the share counts may exceed it, but only after the other. */
Test(core_policy, who_is_not_bound_by_the_share_comes_last)
{
	node(0, A, 1);
	node(1, B, 1);
	shape(1, POLICY_REQUIRED, 1, 0);
	shape(2, 0, 0, 0)->policy.given = false;
	p->shapes[2].selector = value_is(PLAIN_KEY_ZONE, A);
	plain_tell_gang(p, 0, 2);
	put_pod(0, 1, 2, PLAIN_NONE, APP);
	put_pod(1, 1, 1, PLAIN_NONE, APP);
	plain_plan(p);
	cr_assert_eq(p->binds_n, 2, "why %u", p->reasons[0].why);
}

Test(core_policy, a_gang_is_whole_or_waits)
{
	node(0, A, 1);
	node(1, B, 1);
	p->nodes[0].amounts[RESOURCE_CPU] = 1000;
	plain_tell_node(p, 0);
	shape(1, POLICY_REQUIRED, 5, 3);
	plain_tell_gang(p, 0, 8);
	put_pods(0, 8, 1, 1, APP);
	plain_plan(p);
	cr_assert(p->binds_n == 0 && p->reasons[0].why == WAIT_ROOM && p->reasons[0].fit == 5,
	          "%u of %u", p->reasons[0].fit, p->reasons[0].need);
	p->nodes[0].amounts[RESOURCE_CPU] = 4000;
	plain_tell_node(p, 0);
	plain_plan(p);
	cr_assert(bound(A) == 5 && bound(B) == 3);
}

/* When all shares are reached both methods continue, by the scores of an empty cluster. */
Test(core_policy, preferred_shares_overflow)
{
	for (uint32_t fill = 0; fill < 2; fill++) {
		start();
		for (uint32_t id = 0; id < 4; id++)
			node(id, id < 2 ? A : B, 1);
		shape(1, fill ? POLICY_FILL : 0, 5, 3);
		for (uint32_t i = 0; i < PLAIN_PODS; i++) {
			put_pod(i, 0, 1, PLAIN_NONE, APP);
			plain_plan(p);
			cr_assert_neq(p->binds[i], PLAIN_NONE);
			if (i == 7)
				cr_assert(bound(A) == 5 && bound(B) == 3);
		}
		cr_assert(bound(A) >= 10 && bound(B) >= 10);
	}
}

/* Shares smaller than the gang: it gets no reservation, and gangs behind it are scheduled. */
Test(core_policy, nothing_is_held_for_shares_that_never_suffice)
{
	for (uint32_t b = 1; b < 3; b++) {
		start_reserving(UINT64_C(1000000000));
		node(0, A, 1);
		node(1, B, 1);
		shape(1, POLICY_REQUIRED, 2, b);
		shape(2, 0, 0, 0)->policy.given = false;
		p->shapes[2].amounts[RESOURCE_CPU] = 4000;
		put_pod(8, 0, 2, 0, APP); /* A is full */
		plain_tell_gang(p, 0, 4);
		put_pods(0, 4, 1, 1, APP);
		plain_plan(p);
		plain_tick(p, UINT64_C(10000000000));
		plain_plan(p);
		plain_tick(p, UINT64_C(10000000000));
		cr_assert_eq(p->core->backfill.gang != ID_NONE, b == 2, "%u", b);
	}
}

Test(core_policy, records_are_checked)
{
	struct {
		struct record r;
		struct event_shape e;
		struct policy policy;
		struct policy_share shares[2];
	} m = { .r = { .bytes = sizeof(m), .kind = EVENT_SHAPE, .epoch = 1, .sequence = 1 },
		    .e = { .namespace = 7, .policies_n = 1, .shares_n = 2 },
		    .policy = { .topology = 3, .shares = { 0, 2 } },
		    .shares = { { 1, 5 }, { 2, 3 } } };
	const struct limits limits = {
		.nodes = 4, .pods = 4, .gangs = 4, .shapes = 4, .names = 8, .resources = 4
	};
	struct shape_record out;

	cr_assert_null(record_shape(&m.r, &limits, &out));
	m.shares[1].replicas = UINT32_MAX;
	cr_assert_str_eq(record_shape(&m.r, &limits, &out),
	                 "the replicas of a policy share are too many");
	m.shares[1] = (struct policy_share){ 1, 3 };
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "policy shares are not sorted");
	m.shares[1].value = 2;
	m.policy.shares.n = 3;
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "a policy is invalid");
	m.policy.shares.n = 2;
	m.policy.flags = 8;
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "a policy is invalid");
	m.policy.flags = 0;
	m.e.namespace = ID_NONE;
	cr_assert_not_null(record_shape(&m.r, &limits, &out));
}
