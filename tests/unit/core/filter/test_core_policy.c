/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicy in the core, by hand: what random clusters meet too seldom. */
#include "tests/unit/support_plain.h"

#include "core/lifecycle/state.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(core_policy);

enum { A = 1, B = 2, APP = 1 };

/* A node of 4 cores with room for 10 pods. */
static void node(struct plain *p, uint32_t id, uint32_t zone, uint32_t rack)
{
	p->nodes[id] = (struct plain_node){
		.exists = true,
		.amounts = { 4000, 4000000000, 0, 10 },
		.labels_n = 4,
		.labels = { { LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + id, LABEL_NOT_A_NUMBER },
		            { PLAIN_KEY_ZONE, zone, LABEL_NOT_A_NUMBER },
		            { PLAIN_KEY_HOST, 20 + id, LABEL_NOT_A_NUMBER },
		            { PLAIN_KEY_RACK, rack, LABEL_NOT_A_NUMBER } }
	};
	plain_tell_node(p, id);
}

static struct plain_clauses app(void)
{
	return (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_APP, .values = { APP }, .values_n = 1 } }
	};
}

/* Shape `id`: so many in zones A and B. */
static struct plain_shape *shape(struct plain *p, uint32_t id, uint32_t flags, uint32_t a,
                                 uint32_t b)
{
	p->shapes[id] = (struct plain_shape){ .containers = 1,
		                                  .amounts = { 500 },
		                                  .scored = { 500, 209715200 },
		                                  .placed = { 500, 209715200 },
		                                  .policy = { .given = true,
		                                              .topology = PLAIN_KEY_ZONE,
		                                              .flags = flags,
		                                              .labels = app(),
		                                              .shares = { { A, a }, { B, b } },
		                                              .shares_n = 2 } };
	return &p->shapes[id];
}

static void pod(struct plain *p, uint32_t id, uint32_t shape_of, uint32_t on, uint32_t gang)
{
	p->pods[id] = (struct plain_pod){ .exists = true,
		                              .generation = p->pods[id].generation + 1,
		                              .shape = shape_of,
		                              .node = on,
		                              .gang = gang,
		                              .labels_n = 1,
		                              .labels = { { PLAIN_KEY_APP, APP } } };
	plain_tell_pod(p, id);
}

static uint32_t bound(const struct plain *p, uint32_t zone)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PLAIN_PODS; i++)
		n += p->binds[i] != PLAIN_NONE && p->nodes[p->binds[i]].labels[1].value == zone;
	return n;
}

/* Nobody polls: what lets them in is the deletion itself, before the pod is gone. */
Test(core_policy, a_share_is_free_when_its_pod_begins_to_leave)
{
	struct plain *p = plain_new(SCORE_KUBE);

	node(p, 0, A, 1);
	shape(p, 1, POLICY_REQUIRED, 2, 0);
	plain_synced(p);
	for (uint32_t i = 0; i < 3; i++)
		pod(p, i, 1, PLAIN_NONE, 0);
	plain_plan(p);
	cr_assert_eq(p->binds_n, 2);
	plain_settle(p);
	plain_plan(p);
	cr_assert_eq(p->binds[2], PLAIN_NONE);
	p->pods[0].deleting = true;
	plain_tell_pod(p, 0);
	plain_plan(p);
	cr_assert_eq(p->binds[2], 0);
	plain_free(p);
}

/* The best node of the first leaves none for the second: the rack is taken and the zone full. */
Test(core_policy, members_are_placed_where_shares_and_racks_cross)
{
	struct plain *p = plain_new(SCORE_KUBE);
	struct plain_shape *s = shape(p, 1, POLICY_REQUIRED, 1, 2);

	node(p, 0, A, 1);
	node(p, 1, B, 1);
	node(p, 2, A, 2);
	s->pod_terms_n = 1;
	s->pod_terms[0] = (struct plain_term){ .kind = POD_TERM_ANTI_AFFINITY,
		                                   .topology = PLAIN_KEY_RACK,
		                                   .labels = app() };
	plain_synced(p);
	plain_tell_gang(p, 0, 2);
	pod(p, 0, 1, PLAIN_NONE, 1);
	pod(p, 1, 1, PLAIN_NONE, 1);
	plain_plan(p);
	cr_assert_eq(p->binds_n, 2, "why %u", p->reasons[0].why);
	cr_assert(bound(p, A) == 1 && bound(p, B) == 1);
	plain_free(p);
}

/* One without a policy that the share counts may go beyond it, but only behind the other. */
Test(core_policy, who_is_not_bound_by_the_share_comes_last)
{
	struct plain *p = plain_new(SCORE_KUBE);

	node(p, 0, A, 1);
	node(p, 1, B, 1);
	shape(p, 1, POLICY_REQUIRED, 1, 0);
	shape(p, 2, 0, 0, 0)->policy.given = false;
	p->shapes[2].selector = (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_ZONE, .values = { A }, .values_n = 1 } }
	};
	plain_synced(p);
	plain_tell_gang(p, 0, 2);
	pod(p, 0, 2, PLAIN_NONE, 1);
	pod(p, 1, 1, PLAIN_NONE, 1);
	plain_plan(p);
	cr_assert_eq(p->binds_n, 2, "why %u", p->reasons[0].why);
	plain_free(p);
}

Test(core_policy, a_gang_is_whole_or_waits)
{
	struct plain *p = plain_new(SCORE_KUBE);

	node(p, 0, A, 1);
	node(p, 1, B, 1);
	p->nodes[0].amounts[RESOURCE_CPU] = 1000;
	plain_tell_node(p, 0);
	shape(p, 1, POLICY_REQUIRED, 5, 3);
	plain_synced(p);
	plain_tell_gang(p, 0, 8);
	for (uint32_t i = 0; i < 8; i++)
		pod(p, i, 1, PLAIN_NONE, 1);
	plain_plan(p);
	cr_assert(p->binds_n == 0 && p->reasons[0].why == WHY_ROOM && p->reasons[0].fit == 5,
	          "%u of %u", p->reasons[0].fit, p->reasons[0].need);
	p->nodes[0].amounts[RESOURCE_CPU] = 4000;
	plain_tell_node(p, 0);
	plain_plan(p);
	cr_assert(bound(p, A) == 5 && bound(p, B) == 3);
	plain_free(p);
}

/* Past the replicas both methods go on, and by the scores of an empty cluster. */
Test(core_policy, preferred_shares_overflow)
{
	for (uint32_t fill = 0; fill < 2; fill++) {
		struct plain *p = plain_new(SCORE_KUBE);

		for (uint32_t id = 0; id < 4; id++)
			node(p, id, id < 2 ? A : B, 1);
		shape(p, 1, fill ? POLICY_FILL : 0, 5, 3);
		plain_synced(p);
		for (uint32_t i = 0; i < PLAIN_PODS; i++) {
			pod(p, i, 1, PLAIN_NONE, 0);
			plain_plan(p);
			cr_assert_neq(p->binds[i], PLAIN_NONE);
			if (i == 7)
				cr_assert(bound(p, A) == 5 && bound(p, B) == 3);
		}
		cr_assert(bound(p, A) >= 10 && bound(p, B) >= 10);
		plain_free(p);
	}
}

/* Shares that are smaller than the gang: it isn't worth a hold, and those behind it go on. */
Test(core_policy, nothing_is_held_for_shares_that_never_suffice)
{
	for (uint32_t b = 1; b < 3; b++) {
		struct plain *p = plain_new_holding(SCORE_KUBE, UINT64_C(1000000000));

		node(p, 0, A, 1);
		node(p, 1, B, 1);
		shape(p, 1, POLICY_REQUIRED, 2, b);
		shape(p, 2, 0, 0, 0)->policy.given = false;
		p->shapes[2].amounts[RESOURCE_CPU] = 4000;
		plain_synced(p);
		pod(p, 8, 2, 0, 0); /* no room in A */
		plain_tell_gang(p, 0, 4);
		for (uint32_t i = 0; i < 4; i++)
			pod(p, i, 1, PLAIN_NONE, 1);
		plain_plan(p);
		plain_tick(p, UINT64_C(10000000000));
		plain_plan(p);
		plain_tick(p, UINT64_C(10000000000));
		cr_assert_eq(p->core->held != ID_NONE, b == 2, "%u", b);
		plain_free(p);
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
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "replicas of a policy's share");
	m.shares[1] = (struct policy_share){ 1, 3 };
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "order of a policy's shares");
	m.shares[1].value = 2;
	m.policy.shares.n = 3;
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "a policy");
	m.policy.shares.n = 2;
	m.policy.flags = 8;
	cr_assert_str_eq(record_shape(&m.r, &limits, &out), "a policy");
	m.policy.flags = 0;
	m.e.namespace = ID_NONE;
	cr_assert_not_null(record_shape(&m.r, &limits, &out));
}
