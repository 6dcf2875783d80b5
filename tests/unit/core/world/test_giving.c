/* SPDX-License-Identifier: Apache-2.0 */
/* In which order gangs give members beyond their quorums back (core/world/reclaim_marks.h). */
#include "tests/unit/support_nominations.h"

static void begin_reclaim(void)
{
	start();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	queue("a", "\"weight\":1");
	queue("b", "\"weight\":1");
}

TestSuite(giving, .init = begin_reclaim, .fini = scene_end);

#define QUEUED ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"a\"}"

static void member(const char *name, const char *of, int start_s)
{
	pod_since(name, 5, of, "n1", start_s, QUEUED);
}

/* A gang of `members` evicts so many pods, or none. */
static void asks(int members)
{
	model_set_synced(x.m);
	group("taker", members);
	for (int i = 0; i < members; i++)
		pod(numbered("taker", i), 5, "taker", "", QUEUED);
	preempt();
}

/* Not those that started last of all gangs. */
Test(giving, the_gang_that_started_last_gives_all_of_its_members_first)
{
	node("n1", 6);
	group("old", 1);
	member("o-0", "old", 10);
	member("o-1", "old", 40);
	member("o-2", "old", 50);
	group("young", 1);
	member("y-0", "young", 20);
	member("y-1", "young", 30);
	member("y-2", "young", 35);
	asks(3);
	cr_assert_eq(api.evicts, 3);
	cr_assert(asked("y-2") && asked("y-1"), "those of the young gang that started last");
	cr_assert(asked("o-2"), "then of the other");
}

/* Of Volcano's gang `g`. */
static void role_member(const char *name, const char *role, int start_s)
{
	char meta[256];

	snprintf(meta, sizeof(meta),
	         ",\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"volcano.sh/task-spec\":"
	         "\"%s\"}",
	         role);
	pod_since(name, 5, "", "n1", start_s, meta);
}

/* It was one of the two that may go, and its role's quorum kept both: none went. */
Test(giving, the_last_of_a_role_is_passed_over)
{
	node("n1", 4);
	put("scheduling.volcano.sh/v1beta1", "PodGroup", "g", "",
	    "\"spec\":{\"minMember\":2,\"minTaskMember\":{\"master\":1,\"worker\":1},\"queue\":\"a\"}");
	role_member("w-0", "worker", 10);
	role_member("w-1", "worker", 20);
	role_member("w-2", "worker", 30);
	role_member("m-0", "master", 50);
	asks(2);
	cr_assert_eq(api.evicts, 2);
	cr_assert(asked("w-1") && asked("w-2"));
}
