/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in the core: plans take them, all or none, no two pods one of them, and what a
 * reservation held is free when it ends. */
#include "core/lifecycle/state.h"
#include "ipc/devices.h"
#include "tests/unit/support_story.h"

#define GPU 0u  /* question: one GPU */
#define PAIR 1u /* two devices of one root */

static struct story *s;

static void start(void)
{
	s = story_new(SCORE_KUBE, STORY_HOLD_MS);
}

TestSuite(devices, .init = start, .fini = story_end);

static void question(uint32_t number, uint32_t count, bool rooted)
{
	struct {
		struct event_question e;
		struct question_option option;
		struct question_constraint constraint;
	} q = {
		.e = { .question = number, .options_n = 1, .constraints_n = rooted },
		.option = { .count = count },
		.constraint = { .options = 1 },
	};

	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q) - (rooted ? 0 : sizeof(q.constraint))),
	             0);
}

static void devices(uint32_t node, uint32_t layout, uint32_t n, uint64_t taken)
{
	struct {
		struct event_node_devices e;
		uint64_t taken;
	} d = { .e = { .node = node, .generation = 1, .layout = layout, .devices_n = n },
		    .taken = taken };

	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
}

static void match(uint32_t number, uint32_t node, uint32_t layout, uint32_t n, uint64_t set)
{
	struct {
		struct event_match e;
		uint64_t match, tolerated;
		uint32_t values[8];
	} m = {
		.e = { .question = number,
		       .node = node,
		       .generation = 1,
		       .layout = layout,
		       .devices_n = n,
		       .options_n = 1,
		       .constraints_n = number == PAIR },
		.match = set,
		.tolerated = UINT64_MAX,
		.values = { 4, 8, 4, 8, 12, 12, 12, 16 },
	};

	cr_assert(n == 8);
	cr_assert_eq(
		story_feed(s, EVENT_MATCH, &m, sizeof(m) - (number == PAIR ? 0 : sizeof(m.values))), 0);
}

/* n members that ask for a question each. */
static void gang_plan(const char *name, uint32_t quorum, const char *members, uint32_t n,
                      uint32_t asked)
{
	story_gang(s, .name = name, .quorum = quorum);
	story_pods(s, n, .name = members, .gang = name, .cpu = 1, .devices = asked + 1);
	story_plan(s);
}

static void plan_expect(const char *commands)
{
	story_plan(s);
	story_expect(s, commands);
}

static void plan_where(const char *pod, const char *node)
{
	story_plan(s);
	cr_assert_str_eq(story_where(s, pod), node);
}

/* Two nodes of 8 devices each. */
static void scene(uint64_t taken0, uint64_t taken1)
{
	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	story_node(s, .name = "n2", .cpu = 64, .memory = 64);
	question(GPU, 1, false);
	question(PAIR, 2, true);
	devices(0, 1, 8, taken0);
	devices(1, 1, 8, taken1);
	for (uint32_t node = 0; node < 2; node++) {
		match(GPU, node, 1, 8, 0xff);
		match(PAIR, node, 1, 8, 0xff);
	}
}

Test(devices, go_with_the_lowest_numbers_first)
{
	scene(1, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	story_pod(s, .name = "b", .cpu = 1, .devices = GPU + 1);
	plan_expect("devices a n1: 1\nbind a n1\ndevices b n1: 2\nbind b n1\n");
}

Test(devices, that_a_pod_would_get_are_shown_and_not_taken)
{
	struct device_pick picks[DEVICE_PICKS_MAX];
	struct cmd_devices head;

	scene(1, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .devices = PAIR + 1);
	story_pod(s, .name = "b", .cpu = 1);
	for (int again = 0; again < 2; again++) {
		cr_assert(core_devices(story_core(s), 0, 0, &head, picks));
		cr_expect(head.picks_n == 2 && picks[0].device == 1 && picks[1].device == 3);
		cr_expect(head.layout == 1 && head.question == PAIR && head.node_generation == 1);
	}
	cr_expect_not(core_devices(story_core(s), 0, 1, &head, picks));
	cr_expect_not(core_devices(story_core(s), 1, 0, &head, picks));
}

Test(devices, of_a_gang_are_all_or_none)
{
	scene(0x0f, 0x1f);
	gang_plan("g", 8, "m", 8, GPU);
	cr_assert_eq(story_count(s, "m"), 0);
	cr_assert_str_eq(story_reason(s, "g"), "room 7 of 8, 2 devices");
	story_skip(s);
	devices(1, 1, 8, 0x0f);
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 8);
}

static const struct device_lack *lack_of(uint32_t gang)
{
	const struct reason *r = &story_core(s)->ledger.gangs[gang].reason;

	cr_assert_eq(r->lacks_n, 1);
	return &r->lacks[0];
}

static void named(uint32_t number)
{
	struct {
		struct event_question e;
		struct question_option option;
		struct question_constraint constraint;
		char text[24];
	} q = {
		.e = { .question = number, .options_n = 1, .constraints_n = 1, .text_bytes = 17 },
		.option = { .count = 2 },
		.constraint = { .options = 1 },
		.text = "gpus gpu d/board ",
	};

	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
}

/* Three are free, each of another root. */
Test(devices, that_a_gang_lacks_are_counted)
{
	const struct device_lack *l;
	const char *text;

	scene(0x7c, 0xff);
	named(PAIR);
	match(PAIR, 0, 1, 8, 0xff);
	match(PAIR, 1, 1, 8, 0x0f);
	gang_plan("g", 2, "m", 3, PAIR);
	cr_assert_str_eq(story_reason(s, "g"), "room 0 of 2, 2 devices");
	l = lack_of(0);
	cr_expect(l->question == PAIR && l->option == 0 && l->members == 2 && l->count == 2);
	cr_expect(l->match == 12 && l->taken == 9 && l->tainted + l->shut == 0);
	cr_expect(l->free == 3 && l->nodes == 1 && l->most == 3 && l->alike == 1);
	text = story_core(s)->ledger.arena + l->names_offset;
	cr_expect_eq(l->names_bytes, 17);
	cr_expect_eq(strncmp(text, "gpus gpu d/board ", 17), 0);
}

Test(devices, that_are_not_why_a_gang_waits_are_not_counted)
{
	scene(0, 0xff);
	story_gang(s, .name = "g", .quorum = 1);
	story_pods(s, 1, .name = "m", .gang = "g", .cpu = 100, .devices = GPU + 1);
	story_plan(s);
	cr_expect_eq(story_core(s)->ledger.gangs[0].reason.why, WAIT_ROOM);
	cr_expect_eq(story_core(s)->ledger.gangs[0].reason.lacks_n, 0);
}

/* A timeline knows of amounts alone: the start would be promised, and missed, for ever. */
Test(devices, that_are_taken_promise_no_start)
{
	const struct story_promises promises = { .depth = 4, .grain_ms = 12000 };
	struct core_promise promise;

	story_free(s);
	s = story_new_promising(SCORE_KUBE, 0, &promises);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	question(GPU, 1, false);
	devices(0, 1, 8, 0xff);
	match(GPU, 0, 1, 8, 0xff);
	story_pod(s, .name = "now", .cpu = 2, .node = "n1", .run = 60);
	story_gang(s, .name = "g", .quorum = 1);
	story_pods(s, 1, .name = "m", .gang = "g", .cpu = 2, .devices = GPU + 1, .run = 60);
	story_gang(s, .name = "other", .quorum = 1);
	story_pods(s, 1, .name = "o", .gang = "other", .cpu = 4, .run = 60);
	story_plan(s);
	cr_assert(story_promise(s, "other", &promise), "it waits for cpu");
	cr_assert_not(story_promise(s, "g", &promise));
}

Test(devices, of_one_root_by_the_search)
{
	scene(0, 0xff);
	gang_plan("g", 3, "m", 3, PAIR);
	story_expect(s, "devices m-0 n1: 0 2\nbind m-0 n1\ndevices m-1 n1: 1 3\nbind m-1 n1\n"
	                "devices m-2 n1: 4 5\nbind m-2 n1\ngang g binding 3/3 of 3\n");
}

Test(devices, are_free_again_when_the_binding_is_refused)
{
	scene(0xfe, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	story_pod(s, .name = "b", .cpu = 1, .devices = GPU + 1);
	plan_where("a", "n1");
	cr_assert_str_eq(story_where(s, "b"), "");
	story_refused(s, "a", 60000);
	plan_where("b", "n1");
}

#define ONE 5u /* question: two devices of the claim that its pods share */

static void question_of_one(uint32_t count)
{
	struct {
		struct event_question e;
		struct question_option option;
	} q = {
		.e = { .question = ONE, .options_n = 1 },
		.option = { .count = count, .flags = QUESTION_ONE },
	};

	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
	match(ONE, 0, 1, 8, 0xff);
	match(ONE, 1, 1, 8, 0xff);
}

Test(devices, of_one_claim_are_those_of_all_its_pods)
{
	scene(0x01, 0xff);
	question_of_one(2);
	gang_plan("g", 3, "m", 3, ONE);
	story_expect(s, "devices m-0 n1: 1 2\nbind m-0 n1\ndevices m-1 n1: 1 2\nbind m-1 n1\n"
	                "devices m-2 n1: 1 2\nbind m-2 n1\ngang g binding 3/3 of 3\n");
	story_pod(s, .name = "other", .cpu = 1, .devices = GPU + 1);
	story_pod(s, .name = "late", .cpu = 1, .devices = ONE + 1);
	plan_expect("devices other n1: 3\nbind other n1\ndevices late n1: 1 2\nbind late n1\n");
}

/* n1 is the first by name and has too little of something else, or n2. */
Test(devices, of_one_claim_are_on_a_node_with_room_for_all)
{
	for (uint32_t small = 0; small < 2; small++) {
		story_free(s);
		start();
		story_node(s, .name = "n1", .cpu = small == 0 ? 2 : 8, .memory = 64);
		story_node(s, .name = "n2", .cpu = small == 1 ? 2 : 8, .memory = 64);
		devices(0, 1, 8, 0);
		devices(1, 1, 8, 0);
		question_of_one(8);
		gang_plan("g", 3, "m", 3, ONE);
		cr_expect_eq(story_count(s, "m"), 3);
		cr_expect_str_eq(story_where(s, "m-0"), small == 0 ? "n2" : "n1");
		cr_expect_str_eq(story_where(s, "m-2"), small == 0 ? "n2" : "n1");
	}
}

Test(devices, of_one_claim_count_once_in_the_reason)
{
	const struct device_lack *l;

	scene(0x0f, 0x1f);
	question_of_one(5);
	gang_plan("g", 3, "m", 3, ONE);
	cr_expect_eq(story_count(s, "m"), 0);
	l = lack_of(0);
	cr_expect(l->members == 1 && l->count == 5 && l->free == 7 && l->most == 4);
}

/* What the first member has is free only when no other has it. */
Test(devices, of_one_claim_are_held_until_its_last_pod_has_ended)
{
	scene(0xfc, 0xff);
	question_of_one(2);
	gang_plan("g", 2, "m", 2, ONE);
	cr_assert_eq(story_count(s, "m"), 2);
	story_drop_pod(s, "m-0");
	story_pod(s, .name = "other", .cpu = 1, .devices = GPU + 1);
	plan_where("other", "");
	story_drop_pod(s, "m-1");
	plan_where("other", "n1");
}

Test(devices, of_one_claim_end_with_its_question)
{
	scene(0xf0, 0xff);
	question_of_one(2);
	gang_plan("g", 2, "m", 2, ONE);
	question_of_one(1);
	story_pod(s, .name = "other", .cpu = 1, .devices = ONE + 1);
	story_skip(s);
	plan_where("other", "n1");
}

#define TWO 4u /* question: two devices, on nodes without GPUs in their allocatable */

static void question_of_group(void)
{
	struct {
		struct event_question e;
		struct question_option option;
	} q = {
		.e = { .question = TWO, .options_n = 1 },
		.option = { .count = 2, .flags = 1u << DEVICE_GROUP_SHIFT },
	};

	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
}

/* n1 has 4 GPUs by itself, n2 two free devices. */
static void mixed_scene(void)
{
	story_node(s, .name = "n1", .cpu = 64, .memory = 64, .gpu = 4);
	story_node(s, .name = "n2", .cpu = 64, .memory = 64);
	question_of_group();
	devices(1, 1, 8, 0x3f);
	match(TWO, 1, 1, 8, 0xff);
}

Test(devices, serve_a_resource_where_the_node_lacks_it)
{
	mixed_scene();
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "m", .gang = "g", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 3);
	for (uint32_t i = 0, by_devices = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "m-%u", i);
		by_devices += strcmp(story_where(s, name), "n2") == 0;
		cr_assert(i < 2 || by_devices == 1);
	}
	cr_assert_null(strstr(story_said(s), "n1: "), "%s", story_said(s));
	cr_assert_not_null(strstr(story_said(s), "n2: 6 7\n"), "%s", story_said(s));
	story_skip(s);
	story_pod(s, .name = "late", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	plan_where("late", "");
	cr_assert_str_eq(story_reason(s, "late"), "room 0 of 1, 1 short of gpu, 1 devices");
	story_drop_pod(s, "m-0");
	story_plan(s);
	cr_assert_str_neq(story_where(s, "late"), "");
}

/* minResources of a job that devices serve: no node has the resource, so it waited for ever. */
Test(devices, count_for_min_resources_of_a_gang)
{
	story_node(s, .name = "n0", .cpu = 64, .memory = 64);
	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	question_of_group();
	devices(1, 1, 8, 0);
	match(TWO, 1, 1, 8, 0xff);
	story_gang(s, .name = "g", .quorum = 2, .cpu = 2, .gpu = 4);
	story_pods(s, 2, .name = "m", .gang = "g", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	story_gang(s, .name = "h", .quorum = 1, .cpu = 200, .gpu = 4);
	story_pods(s, 1, .name = "h", .gang = "h", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "m"), 2);
	cr_assert_str_eq(story_where(s, "h-0"), "", "its cpu counts as before");
}

Test(devices, are_asked_again_once_the_node_loses_its_resource)
{
	mixed_scene();
	devices(1, 1, 8, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	plan_expect("bind a n1\n");
	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	story_pod(s, .name = "b", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	plan_where("b", "");
	devices(1, 1, 8, 0xfc);
	plan_where("b", "n2");
}

/* The node has none of the resource, so less than none of it is free: the place was given up, and
 * another's to take. */
Test(devices, that_serve_a_resource_are_kept_until_the_ring_has_room)
{
	mixed_scene();
	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	story_pod(s, .name = "a", .cpu = 1, .gpu = 2, .devices = TWO + 1);
	story_synced(s);
	story_room(s, 0);
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	story_room(s, UINT32_MAX);
	story_pod(s, .name = "b", .cpu = 1, .gpu = 2, .devices = TWO + 1, .priority = 10);
	plan_where("a", "n2");
	cr_assert_str_eq(story_where(s, "b"), "");
}

#define FIRST 2u /* question: two of the model 1, else four of the model 2 */
#define ADMIN 3u /* question: all, with adminAccess */

/* Of the node's devices `first` and `second` are those of either alternative. */
static void alternatives(uint32_t node, uint64_t first, uint64_t second)
{
	struct {
		struct event_question e;
		struct question_option options[2];
	} q = {
		.e = { .question = FIRST, .options_n = 2 },
		.options = { { .flags = QUESTION_PREFERS, .count = 2 },
		             { .flags = QUESTION_PREFERS, .count = 4 } },
	};
	struct {
		struct event_match e;
		uint64_t sets[4];
	} m = {
		.e = { .question = FIRST,
		       .node = node,
		       .generation = 1,
		       .layout = 1,
		       .devices_n = 8,
		       .options_n = 2 },
		.sets = { first, UINT64_MAX, second, UINT64_MAX },
	};

	if (node == 0)
		cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), 0);
}

/* dynamicresources: Score has weight 2; the node of the first alternative comes first although the
 * other has the first name. */
Test(devices, of_the_first_alternative_score_higher)
{
	scene(0, 0);
	alternatives(0, 0, 0xff);
	alternatives(1, 0x0f, 0);
	story_pod(s, .name = "a", .cpu = 1, .devices = FIRST + 1);
	plan_expect("devices a n2: 0 1\nbind a n2\n");
	gang_plan("g", 3, "m", 3, FIRST);
	story_expect(s, "devices m-0 n2: 2 3\nbind m-0 n2\ndevices m-1 n1: 0 1 2 3\nbind m-1 n1\n"
	                "devices m-2 n1: 4 5 6 7\nbind m-2 n1\ngang g binding 3/3 of 3\n");
	gang_plan("h", 1, "l", 1, FIRST);
	cr_assert_eq(story_count(s, "l"), 0);
}

/* The view of the question was built when it had one alternative. */
Test(devices, of_a_question_that_has_alternatives_since)
{
	scene(0, 0);
	question(FIRST, 1, false);
	match(FIRST, 0, 1, 8, 0xff);
	match(FIRST, 1, 1, 8, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .devices = FIRST + 1);
	plan_where("a", "n1");
	alternatives(0, 0, 0xff);
	alternatives(1, 0x0f, 0);
	story_pod(s, .name = "b", .cpu = 1, .devices = FIRST + 1);
	plan_where("b", "n2");
}

Test(devices, with_admin_access_stay_free)
{
	struct {
		struct event_question e;
		struct question_option option;
	} q = {
		.e = { .question = ADMIN, .options_n = 1 },
		.option = { .flags = QUESTION_ALL | QUESTION_ADMIN },
	};

	scene(0x01, 0xff);
	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
	match(ADMIN, 0, 1, 8, 0x03);
	gang_plan("g", 9, "m", 9, ADMIN);
	cr_assert_eq(story_count(s, "m"), 9);
	story_skip(s);
	story_pod(s, .name = "b", .cpu = 1, .devices = GPU + 1);
	plan_expect("devices b n1: 1\nbind b n1\n");
}

#define PART 4u /* question: one partition */

/* Two GPUs of 7 slices each, as partitions: of the first GPU 0 to 3, of the second 4 to 7, each
 * with 4, 3, 2 and 7 slices.  Some are taken by others. */
static void partitions(uint32_t node, uint64_t taken)
{
	static const uint64_t slices[] = { 4, 3, 2, 7 };
	struct {
		struct event_node_devices e;
		uint64_t taken;
		struct node_counter counters[2];
		struct node_use uses[8];
	} d = { .e = { .node = node,
		           .generation = 1,
		           .layout = 1,
		           .devices_n = 8,
		           .counters_n = 2,
		           .uses_n = 8 },
		    .taken = taken,
		    .counters = { { .pool = 3, .low = 7 }, { .pool = 5, .low = 7 } } };

	for (uint32_t i = 0; i < 8; i++)
		d.uses[i] = (struct node_use){ .device = i, .counter = i / 4, .low = slices[i % 4] };
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
}

/* What a partition uses of a GPU no other one can have: 4 and 3 slices of each GPU, then none. */
Test(devices, that_share_counters_run_out_together)
{
	scene(0, 0xff);
	question(PART, 1, false);
	partitions(0, 0);
	match(PART, 0, 1, 8, 0xff);
	gang_plan("g", 5, "m", 5, PART);
	cr_assert_eq(story_count(s, "m"), 0);
	cr_expect(lack_of(0)->free == 8 && lack_of(0)->shut == 0);
	story_skip(s);
	story_pods(s, 4, .name = "p", .cpu = 1, .devices = PART + 1);
	plan_expect("devices p-0 n1: 0\nbind p-0 n1\ndevices p-1 n1: 1\nbind p-1 n1\n"
	            "devices p-2 n1: 4\nbind p-2 n1\ndevices p-3 n1: 5\nbind p-3 n1\n");
	gang_plan("late", 1, "last", 1, PART);
	cr_expect(lack_of(1)->free == 0 && lack_of(1)->taken == 4 && lack_of(1)->shut == 4);
}

Test(devices, that_others_have_use_counters)
{
	scene(0, 0xff);
	question(PART, 1, false);
	match(PART, 0, 1, 8, 0xff);
	partitions(0, 1u << 3 | 1u << 5 | 1u << 6);
	story_pod(s, .name = "a", .cpu = 1, .devices = PART + 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "", "2 slices are left, of which no free partition is");
	story_skip(s);
	partitions(0, 1u << 3 | 1u << 5);
	plan_expect("devices a n1: 4\nbind a n1\n");
}

#define SHARE 5u /* question: a share */

/* Of 8 devices the first two are shared, with 40 and 20 of their capacity. */
static void shared(uint64_t taken, uint64_t consumed)
{
	struct {
		struct event_node_devices e;
		uint64_t taken, shared;
		struct node_capacity capacities[2];
	} d = { .e = { .node = 0,
		           .generation = 1,
		           .layout = 1,
		           .devices_n = 8,
		           .flags = NODE_DEVICES_SHARED,
		           .capacities_n = 2 },
		    .taken = taken,
		    .shared = 3,
		    .capacities = { { .device = 0, .value_low = 40, .consumed_low = consumed },
		                    { .device = 1, .value_low = 20 } } };

	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
}

static void shares(uint32_t number, uint64_t set, uint64_t amount)
{
	struct {
		struct event_match e;
		uint64_t match, tolerated;
		struct match_amount amounts[2];
	} m = { .e = { .question = number,
		           .node = 0,
		           .generation = 1,
		           .layout = 1,
		           .devices_n = 8,
		           .options_n = 1,
		           .capacities_n = 2 },
		    .match = set,
		    .tolerated = UINT64_MAX,
		    .amounts = { { .low = amount }, { .low = amount } } };

	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), 0);
}

/* 40 has three shares of 12, and 20 one. */
Test(devices, that_are_shared_go_as_far_as_their_capacity)
{
	scene(0, 0xff);
	question(SHARE, 1, false);
	shared(0, 0);
	shares(SHARE, 0x3, 12);
	gang_plan("g", 5, "m", 5, SHARE);
	cr_assert_eq(story_count(s, "m"), 0);
	cr_assert_str_eq(story_reason(s, "g"), "room 4 of 5, 2 devices");
	story_skip(s);
	story_pods(s, 4, .name = "p", .cpu = 1, .devices = SHARE + 1);
	plan_expect("devices p-0 n1: 0\nbind p-0 n1\ndevices p-1 n1: 0\nbind p-1 n1\n"
	            "devices p-2 n1: 0\nbind p-2 n1\ndevices p-3 n1: 1\nbind p-3 n1\n");
	story_refused(s, "p-1", 60000);
	story_skip(s);
	story_pod(s, .name = "q", .cpu = 1, .devices = SHARE + 1);
	plan_expect("why p-1: bind refused\ndevices q n1: 0\nbind q n1\n");
}

/* Two pods are written; then another scheduler has a share, and more than there is. */
Test(devices, that_are_shared_count_what_the_record_has)
{
	scene(0, 0xff);
	question(SHARE, 1, false);
	shared(1, 24);
	shares(SHARE, 0x1, 16);
	story_pod(s, .name = "a", .cpu = 1, .devices = SHARE + 1);
	plan_expect("devices a n1: 0\nbind a n1\n");
	shared(1, 40);
	story_pod(s, .name = "a", .cpu = 1);
	story_bound(s, "a");
	story_confirm(s, "a");
	shared(1, 56);
	story_pod(s, .name = "b", .cpu = 1, .devices = SHARE + 1);
	plan_where("b", "");
	shared(1, 16);
	plan_where("b", "n1");
}

/* Whole devices beside them are no shares, and a share that takes nothing of a capacity has room
 * as the node has. */
Test(devices, that_are_shared_beside_whole_ones)
{
	scene(0, 0xff);
	question(SHARE, 1, false);
	shared(0xf8, 0);
	shares(SHARE, 0x1, 0);
	shares(GPU, 0xfc, 40);
	gang_plan("g", 9, "m", 9, SHARE);
	cr_assert_eq(story_count(s, "m"), 9);
	story_skip(s);
	story_pods(s, 2, .name = "p", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "p"), 1);
}

/* The frontend writes the claims: its record has the devices, and the pod asks for nothing more. */
Test(devices, stay_taken_when_the_record_has_them)
{
	scene(0xfe, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	devices(0, 1, 8, 0xff);
	story_pod(s, .name = "a", .cpu = 1);
	story_bound(s, "a");
	story_confirm(s, "a");
	story_pod(s, .name = "b", .cpu = 1, .devices = GPU + 1);
	plan_where("b", "");
	devices(0, 1, 8, 0xfe);
	plan_where("b", "n1");
}

Test(devices, of_another_layout_end_a_reservation_that_was_not_sent)
{
	scene(0, 0xff);
	story_room(s, 0);
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	story_plan(s);
	devices(0, 2, 8, 0xff);
	story_room(s, UINT32_MAX);
	plan_expect("why a: room 0 of 1, 2 devices\n");
}

Test(devices, of_a_question_that_became_another_wait_for_its_matches)
{
	scene(0, 0xff);
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1);
	plan_expect("devices a n1: 0\nbind a n1\n");
	question(GPU, 2, false);
	story_pod(s, .name = "b", .cpu = 1, .devices = GPU + 1);
	plan_expect("why b: room 0 of 1, 2 devices\n");
	match(GPU, 0, 1, 8, 0xff);
	plan_expect("devices b n1: 1 2\nbind b n1\n");
}

Test(devices, without_a_match_fit_nobody)
{
	scene(0, 0);
	story_pod(s, .name = "a", .cpu = 1, .devices = 7);
	plan_expect("why a: room 0 of 1, 2 devices\n");
}

Test(devices, of_a_claim_that_was_not_finished_are_taken_back)
{
	scene(0, 0xff);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	question(GPU, 1, false);
	story_pod(s, .name = "a", .cpu = 1, .devices = GPU + 1, .node = "n1", .intended = true);
	plan_expect("cancel-bind a n1\nwhy a: bind refused\n");
}

Test(devices, in_records_are_checked)
{
	struct event_node_devices d = { .node = 0, .generation = 1, .devices_n = NODE_DEVICES_MAX + 1 };
	struct event_question q = { .question = QUESTIONS_MAX, .options_n = 1 };
	struct event_match m = { .question = GPU, .generation = 1, .layout = 9, .options_n = 1 };
	struct event_drop drop = { .id = QUESTIONS_MAX };

	scene(0, 0);
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.devices_n = 64;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.devices_n = 0;
	d.layout = 1;
	d.flags = NODE_DEVICES_SHARED;
	d.capacities_n = 1;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.flags = d.capacities_n = 0;
	d.generation = 9;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), -EPROTO);
	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), -EPROTO);
	cr_assert_eq(story_feed(s, EVENT_QUESTION_DROP, &drop, sizeof(drop)), -EPROTO);
}

/* Of a device that is not shared, above what sums allow, and of other capacities than the node has.
 */
Test(devices, that_are_shared_are_checked_in_records)
{
	struct {
		struct event_node_devices e;
		uint64_t taken, shared;
		struct node_capacity capacity;
	} d = { .e = { .generation = 1,
		           .layout = 1,
		           .devices_n = 8,
		           .flags = NODE_DEVICES_SHARED,
		           .capacities_n = 1 },
		    .shared = 2 };
	struct {
		struct event_match e;
		uint64_t sets[2];
		struct match_amount amount;
	} m = { .e = { .question = GPU,
		           .generation = 1,
		           .layout = 1,
		           .devices_n = 8,
		           .options_n = 1,
		           .capacities_n = 1 } };

	scene(0, 0);
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	d.capacity.device = 1;
	d.capacity.consumed_high = UINT64_C(1) << 63;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), -EPROTO);
	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), -EPROTO);
	d.capacity.consumed_high = 0;
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), 0);
	m.amount.high = UINT64_C(1) << 63;
	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), -EPROTO);
}
