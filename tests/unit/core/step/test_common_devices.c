/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that several nodes list: one that a pod gets on one node is gone on the others. */
#include "core/lifecycle/state.h"
#include "ipc/devices.h"
#include "tests/unit/support_story.h"

TestSuite(common_devices, .fini = story_end);

#define GPU 0u /* question: one device */

static void question(struct story *s)
{
	const struct {
		struct event_question e;
		struct question_option option;
	} q = { .e = { .question = GPU, .options_n = 1 }, .option = { .count = 1 } };

	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
}

/* A node with n devices, of which the first ones have the common numbers 0, 1, ... */
static void devices(struct story *s, uint32_t node, uint32_t n, uint32_t commons, uint64_t taken)
{
	struct {
		struct event_node_devices e;
		uint64_t taken;
		struct node_common commons[8];
	} d = {
		.e = { .node = node, .generation = 1, .layout = 1, .devices_n = n, .commons_n = commons },
		.taken = taken
	};

	for (uint32_t i = 0; i < commons; i++)
		d.commons[i] = (struct node_common){ i, i };
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d,
	                        sizeof(d) - (8 - commons) * (uint32_t)sizeof(d.commons[0])),
	             0);
}

static void match(struct story *s, uint32_t node, uint32_t n)
{
	const struct {
		struct event_match e;
		uint64_t match, tolerated;
	} m = { .e = { .question = GPU,
		           .node = node,
		           .generation = 1,
		           .layout = 1,
		           .devices_n = n,
		           .options_n = 1 },
		    .match = (UINT64_C(1) << n) - 1,
		    .tolerated = UINT64_MAX };

	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), 0);
}

/* Three nodes that all list the same n devices. */
static struct story *scene(uint32_t n, int64_t cpu)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = cpu, .memory = 64);
	story_node(s, .name = "n2", .cpu = cpu, .memory = 64);
	story_node(s, .name = "n3", .cpu = cpu, .memory = 64);
	question(s);
	for (uint32_t node = 0; node < 3; node++) {
		devices(s, node, n, n, 0);
		match(s, node, n);
	}
	return s;
}

Test(common_devices, go_to_one_pod_each)
{
	struct story *s = scene(2, 1);

	story_pods(s, 3, .name = "p", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	story_expect(s, "devices p-0 n1: 0\nbind p-0 n1\ndevices p-1 n2: 1\nbind p-1 n2\n"
	                "why p-2: room 0 of 1, 2 short of cpu, 1 devices\n");
}

/* Three nodes list the two devices, which are two and not six. */
Test(common_devices, of_a_gang_are_all_or_none)
{
	struct story *s = scene(2, 1);

	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "m", .gang = "g", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 0);
	cr_expect(strncmp(story_reason(s, "g"), "room 2 of 3", 11) == 0, "%s", story_reason(s, "g"));
	story_gang(s, .name = "h", .quorum = 2);
	story_pods(s, 2, .name = "k", .gang = "h", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "k"), 2);
	cr_assert_str_neq(story_where(s, "k-0"), story_where(s, "k-1"));
}

/* The record of n3 says it, where no pod has room: a pod that waits starts on n1. */
Test(common_devices, that_others_give_back_are_free_on_all_nodes)
{
	struct story *s = scene(1, 1);

	devices(s, 2, 1, 1, 1);
	story_pod(s, .name = "full", .cpu = 1, .node = "n3");
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "");
	devices(s, 0, 1, 1, 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "");
	story_skip(s);
	devices(s, 2, 1, 1, 0);
	story_plan(s);
	story_expect(s, "devices a n1: 0\nbind a n1\n");
}

/* A pod whose Binding was refused has what it got until the next plan, which may be elsewhere. */
Test(common_devices, of_a_pod_that_ended_are_free_elsewhere)
{
	struct story *s = scene(1, 1);

	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	story_pod(s, .name = "b", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "n1");
	cr_assert_str_eq(story_where(s, "b"), "");
	story_skip(s);
	story_drop_pod(s, "a");
	story_pod(s, .name = "full", .cpu = 1, .node = "n1");
	story_plan(s);
	cr_assert_str_eq(story_where(s, "b"), "n2");
}

/* n1 lists the device of both before its own, so one member has to be on n2 first. */
Test(common_devices, are_given_in_the_order_of_nodes_that_serves_all)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = 1, .memory = 64);
	story_node(s, .name = "n2", .cpu = 1, .memory = 64);
	question(s);
	devices(s, 0, 2, 1, 0);
	match(s, 0, 2);
	devices(s, 1, 1, 1, 0);
	match(s, 1, 1);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "m", .gang = "g", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 2);
}

/* A view and a hint of the time when each node had its own are read again. */
Test(common_devices, that_come_later_change_how_a_waiting_gang_is_counted)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = 1, .memory = 64);
	story_node(s, .name = "n2", .cpu = 1, .memory = 64);
	story_node(s, .name = "n3", .cpu = 4, .memory = 64);
	question(s);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "m", .gang = "g", .cpu = 1, .devices = GPU + 1);
	story_pod(s, .name = "full", .cpu = 4, .node = "n3");
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 0);
	for (uint32_t node = 0; node < 3; node++) {
		devices(s, node, 2, 2, 3);
		match(s, node, 2);
	}
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 0);
	devices(s, 2, 2, 2, 0);
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 2);
}

Test(common_devices, in_records_are_checked)
{
	struct story *s = scene(2, 1);
	struct {
		struct event_node_devices e;
		uint64_t taken;
		struct node_common commons[2];
	} d = { .e = { .generation = 1, .layout = 1, .devices_n = 2, .commons_n = 2 },
		    .commons = { { 0, 1 }, { 1, COMMON_DEVICES_MAX } } };

	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.commons[1].common = 2;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
	d.commons[1].device = 0;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.commons[1].device = 2;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.commons[1].device = 1;
	d.e.devices_n = 1;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
}
