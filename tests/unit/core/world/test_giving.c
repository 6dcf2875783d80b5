/* SPDX-License-Identifier: Apache-2.0 */
/* In which order gangs give members beyond their quorums back (core/world/reclaim_marks.h). */
#include "frontend/model/base/state.h"
#include "tests/unit/support_nominations.h"
#include "tests/unit/support_random.h"

static void begin_reclaim(void)
{
	begin(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	x.m->preemption_flags |= PREEMPTION_RECLAIM;
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

/* muster.dev/elastic: "false": the other gang gives, though it started first. */
Test(giving, a_gang_that_is_not_elastic_gives_none)
{
	node("n1", 6);
	group("old", 1);
	member("o-0", "old", 10);
	member("o-1", "old", 40);
	member("o-2", "old", 50);
	group_with("young", 1, ",\"annotations\":{\"muster.dev/elastic\":\"false\"}");
	member("y-0", "young", 52);
	member("y-1", "young", 54);
	member("y-2", "young", 56);
	asks(2);
	cr_assert_eq(api.evicts, 2);
	cr_assert(asked("o-2") && asked("o-1"));
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
	    "\"spec\":{\"minMember\":2,\"minTaskMember\":{\"ps\":1,\"worker\":1},\"queue\":\"a\"}");
	role_member("w-0", "worker", 10);
	role_member("w-1", "worker", 20);
	role_member("w-2", "worker", 30);
	role_member("p-0", "ps", 50);
	asks(2);
	cr_assert_eq(api.evicts, 2);
	cr_assert(asked("w-1") && asked("w-2"));
}

enum {
	GANGS = 3,
	EXTRAS = 4,
	ROUNDS = 300,
};

/* A member as the slow model knows it. */
struct extra {
	char gang[16], name[32];
	int gang_start_s, cost, index, start_s;
	bool leads;
};

/* Positive if `a` is given back after `b`: docs/fairness.md, by its sentences. */
static int goes_after(const void *a, const void *b)
{
	const struct extra *p = a, *q = b;

	if (strcmp(p->gang, q->gang) != 0)
		return p->gang_start_s != q->gang_start_s ? q->gang_start_s - p->gang_start_s
		                                          : strcmp(p->gang, q->gang);
	if (p->leads != q->leads)
		return p->leads - q->leads;
	if (p->cost != q->cost)
		return p->cost - q->cost;
	if (p->index != q->index)
		return q->index - p->index;
	return p->start_s != q->start_s ? q->start_s - p->start_s : strcmp(p->name, q->name);
}

static void extra_put(const struct extra *e)
{
	char cost[80] = "", index[80] = "", meta[400];

	if (e->cost != 0)
		snprintf(cost, sizeof(cost), ",\"controller.kubernetes.io/pod-deletion-cost\":\"%d\"",
		         e->cost);
	if (e->index >= 0)
		snprintf(index, sizeof(index), ",\"batch.kubernetes.io/job-completion-index\":\"%d\"",
		         e->index);
	snprintf(meta, sizeof(meta),
	         ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"a\",\"ray.io/node-type\":"
	         "\"%s\"%s%s}",
	         e->leads ? "head" : "worker", cost, index);
	pod_since(e->name, 5, e->gang, "n1", e->start_s, meta);
}

/* Puts a gang and its members.  Those that may go, of which it returns the number, come first. */
static int gang_random(struct random *r, struct extra *members, int gang, int *bound)
{
	const int quorum = 1 + (int)random_below(r, 2), n = quorum + (int)random_below(r, EXTRAS);
	char name[16];
	int start_s = 60, leaders = 0;

	snprintf(name, sizeof(name), "%c%d", 'a' + (int)random_below(r, 26), gang);
	group(name, quorum);
	for (int i = 0; i < n; i++) {
		struct extra *e = &members[i];

		*e = (struct extra){ .cost = (int)random_below(r, 3) - 1,
			                 .index = (int)random_below(r, 4) - 1,
			                 .start_s = (int)random_below(r, 4),
			                 .leads = random_below(r, 4) == 0 };
		memcpy(e->gang, name, sizeof(name));
		snprintf(e->name, sizeof(e->name), "%c%d-%d", 'a' + (int)random_below(r, 26), gang, i);
		start_s = e->start_s < start_s ? e->start_s : start_s;
		leaders += e->leads;
	}
	for (int i = 0; i < n; i++) {
		members[i].gang_start_s = start_s;
		extra_put(&members[i]);
	}
	qsort(members, (size_t)n, sizeof(*members), goes_after);
	*bound += n;
	return n - (leaders > quorum ? leaders : quorum);
}

/* Any room will do, so the first ones of the order go, or none if they are not enough: true. */
static bool round_random(struct random *r)
{
	const int wanted = 1 + (int)random_below(r, EXTRAS);
	struct extra extras[GANGS * (EXTRAS + 2)];
	int n = 0, bound = 0, evicts;

	for (int i = 0; i < GANGS; i++)
		n += gang_random(r, extras + n, i, &bound);
	node("n1", bound);
	qsort(extras, (size_t)n, sizeof(*extras), goes_after);
	evicts = n >= wanted ? wanted : 0;
	asks(wanted);
	cr_assert_eq(api.evicts, (unsigned)evicts, "%d of %d", wanted, n);
	for (int i = 0; i < n; i++)
		cr_assert_eq(asked(extras[i].name) != 0, i < evicts, "%s, number %d of %d", extras[i].name,
		             i, n);
	return evicts == 0;
}

Test(giving, in_the_order_of_a_slow_model)
{
	struct random r = random_start("giving");
	unsigned none = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		scene_end();
		begin_reclaim();
		none += round_random(&r);
	}
	cr_assert(none > 0 && none < ROUNDS / 2, "%u", none);
}
