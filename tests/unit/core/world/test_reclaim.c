/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that evict those of other queues: guarantees, and members beyond a quorum. */
#include "tests/unit/support_nominations.h"

TestSuite(reclaim, .init = start, .fini = scene_end);

/* Pods STEM-FROM to STEM-(END-1) of a queue. */
static void pods_in(const char *queue_name, const char *stem, int from, int end, int priority,
                    const char *group_name, const char *on)
{
	char meta[128];

	snprintf(meta, sizeof(meta), ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"%s\"}",
	         queue_name);
	for (int i = from; i < end; i++)
		pod(numbered(stem, i), priority, group_name, on, meta);
}

static void waits_in(const char *queue_name, const char *name, int members, int priority)
{
	group(name, members);
	pods_in(queue_name, name, 0, members, priority, name, "");
}

static void start_reclaim(void)
{
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
}

/* Queue b may have what a does not ask for of its guarantee. */
static void a_is_guaranteed(int cpu, int of)
{
	char deserved[32];

	start_reclaim();
	snprintf(deserved, sizeof(deserved), "\"deserved\":{\"cpu\":\"%d\"}", cpu);
	queue("a", deserved);
	queue("b", "\"weight\":1");
	node("n1", of);
}

/* Gang v in b, gang g in a. */
static void two_run_two_wait(void)
{
	group("v", 2);
	pods_in("b", "v", 0, 2, 5, "v", "n1");
	model_set_synced(x.m);
	waits_in("a", "g", 2, 0);
}

/* Queue a is guaranteed 4 of 12, b 6, and kept nothing, but nothing is taken of it; they use 0, 8
 * and 4. */
static void three_queues(void)
{
	start_reclaim();
	queue("a", "\"deserved\":{\"cpu\":\"4\"}");
	queue("b", "\"deserved\":{\"cpu\":\"6\"}");
	queue("kept", "\"reclaimable\":false");
	node("n1", 12);
	pods_in("b", "r", 0, 8, 50, "", "n1");
	pods_in("kept", "r", 8, 12, 50, "", "n1");
	model_set_synced(x.m);
}

/* Of a higher priority; and what goes already counts as gone for the next gang. */
Test(reclaim, a_queue_takes_back_its_guarantee_and_leaves_that_of_others)
{
	three_queues();
	waits_in("a", "g", 2, 0);
	preempt_evicts(2);
	cr_assert_eq(api.nominated, 2);
	for (int i = 8; i < 12; i++)
		cr_assert_eq(asked(numbered("r", i)), 0u, "r-%d is not reclaimable", i);
	waits_in("a", "h", 2, 0);
	preempt_evicts(2, "b has its guarantee and no more");
}

/* Inside the guarantee with all that it asks for, or not at all; priority is of the own queue. */
Test(reclaim, a_queue_takes_back_no_more_than_its_guarantee)
{
	three_queues();
	waits_in("a", "g", 5, 100);
	preempt_evicts(0);
	cr_assert_eq(counts()->open, 0);
}

/* The answer was found before b's use fell: by then it would take b's guarantee. */
Test(reclaim, an_answer_that_would_take_a_guarantee_is_dropped)
{
	three_queues();
	waits_in("a", "g", 2, 0);
	search();
	cr_assert_eq(((const struct event_answer *)(const void *)(x.answer + 1))->victims_n, 2u);
	queue("b", "\"deserved\":{\"cpu\":\"7\"}");
	answer_apply();
	cr_assert_eq(api.evicts, 0);
}

/* BF-15: to a gang of an equal priority of the same queue, never below the quorum. */
Test(reclaim, members_beyond_a_quorum_are_given_back)
{
	start_reclaim();
	queue("a", "\"weight\":1");
	queue("b", "\"weight\":1");
	node("n1", 6);
	group("v", 4);
	pods_in("a", "v", 0, 6, 5, "v", "n1");
	model_set_synced(x.m);
	waits_in("b", "other", 1, 5);
	preempt_evicts(0, "of another queue");
	gone("other-0");
	waits_in("a", "low", 1, 4);
	preempt_evicts(0, "of a lower priority");
	gone("low-0");
	waits_in("a", "g", 2, 5);
	preempt_evicts(2);
	cr_assert(api.evict.cause.extra && api.evict.cause.rule == EVICT_PRIORITY);
	waits_in("a", "h", 1, 5);
	preempt_evicts(2, "the quorum stays");
}

/* They counted twice, as what ends and as what may be given: b's use fell below nothing. */
Test(reclaim, victims_of_a_nomination_are_given_back_once)
{
	a_is_guaranteed(4, 4);
	pods_in("b", "r", 0, 4, 50, "", "n1");
	model_set_synced(x.m);
	waits_in("a", "g", 4, 0);
	preempt_evicts(4);
	waits_in("a", "h", 1, 0);
	preempt_evicts(4);
	cr_assert_eq(counts()->open, 1);
}

/* Its member of b comes first, and goes by guarantee; that of a is of a higher priority. */
Test(reclaim, a_gang_of_two_queues_gives_no_higher_member_to_one_of_them)
{
	struct event_answer *body;
	struct answer_pod *victims;

	a_is_guaranteed(6, 6);
	group("v", 2);
	pods_in("b", "v", 0, 3, 50, "v", "n1");
	pods_in("a", "v", 3, 6, 50, "v", "n1");
	model_set_synced(x.m);
	waits_in("a", "g", 2, 0);
	search();
	cr_assert(x.answer);
	body = (void *)(x.answer + 1);
	victims = (void *)(body + 1);
	cr_assert_eq(body->victims_n, 2u);
	for (uint32_t i = 0; i < 2; i++)
		cr_assert_lt(victims[i].pod, pod_named("v-3"), "of its own queue");
	victims[1].pod = pod_named("v-3");
	victims[1].generation = x.loop.core->pods.slots[victims[1].pod].generation;
	answer_apply();
	cr_assert_eq(api.evicts, 0);
}

/* With those supposed gone, b's pods were given as well, and were better: each answer was refused.
 */
Test(reclaim, what_the_own_queue_gives_makes_no_room_in_its_guarantee)
{
	a_is_guaranteed(4, 8);
	group("v", 2);
	pods_in("a", "v", 0, 4, 5, "v", "n1");
	pods_in("b", "r", 4, 8, 0, "", "n1");
	model_set_synced(x.m);
	waits_in("a", "g", 2, 5);
	preempt_evicts(2);
	for (int i = 4; i < 8; i++)
		cr_assert_eq(asked(numbered("r", i)), 0u);
}

/* The mark of a gang that nothing of had gone kept its queue's room from a for ever. */
Test(reclaim, a_gang_whose_eviction_was_refused_counted_as_reclaimed)
{
	a_is_guaranteed(2, 2);
	two_run_two_wait();
	preempt_evicts(2);
	result("v-0", RESULT_EVICT_REFUSED);
	cr_assert_eq(counts()->refused, 1);
	cr_assert_eq(api.cancels, 1);
	memset(api.asked, 0, sizeof(api.asked));
	for (int i = 0; i < 4; i++)
		tick(10 * S);
	preempt_evicts(4, "it is tried again");
	/* Now a part of it goes: it was reclaimed. */
	goes("v-1");
	result("v-0", RESULT_EVICT_REFUSED);
	pods_in("b", "v", 1, 2, 5, "v", "n1");
	memset(api.asked, 0, sizeof(api.asked));
	for (int i = 0; i < 6; i++)
		tick(10 * S);
	preempt_evicts(4);
}

static const struct gang_row *row_of(const char *name)
{
	const struct core *c = x.loop.core;
	char whole[64];

	snprintf(whole, sizeof(whole), "ns/%s", name);
	for (gang_id id = 0; id < c->gangs.groups; id++)
		if (c->gangs.slots[id].generation != 0 && c->gangs.slots[id].name_bytes == strlen(whole) &&
		    memcmp(c->gangs.slots[id].name, whole, strlen(whole)) == 0)
			return &c->ledger.gangs[id];
	cr_assert_fail("no gang %s", name);
	return NULL;
}

/* The command has the rule and its numbers, and the row of the gang that lost its quorum by whom.
 */
Test(reclaim, who_took_what_of_whom_is_told)
{
	const struct evict_cause *cause = &api.evict.cause;

	start_reclaim();
	queue("a", "\"deserved\":{\"cpu\":\"4\"}");
	queue("b", "\"deserved\":{\"cpu\":\"3\"}");
	node("n1", 8);
	group("v", 2);
	pods_in("b", "v", 0, 2, 5, "v", "n1");
	pods_in("b", "r", 2, 8, 50, "", "n1");
	synced();
	cr_assert_eq(row_of("v")->reclaimed_ns, 0u);
	waits_in("a", "g", 2, 0);
	preempt_evicts(2);
	cr_assert_eq(cause->rule, EVICT_GUARANTEE);
	cr_assert(!cause->extra, "it loses its quorum");
	cr_assert_str_eq(model_name(x.m, cause->resource), "cpu");
	cr_assert_str_eq(model_queue_name(x.m, cause->taker), "a");
	cr_assert_str_eq(model_queue_name(x.m, cause->giver), "b");
	cr_assert(cause->taker_branch == cause->taker && cause->giver_branch == cause->giver);
	cr_assert_eq(cause->taker_used, 2000);
	cr_assert_eq(cause->taker_guarantee, 4000);
	cr_assert_eq(cause->giver_used, 6000);
	cr_assert_eq(cause->giver_guarantee, 3000);
	cr_assert(asked("v-0") && asked("v-1"), "the lowest priority first");
	goes("v-0");
	goes("v-1");
	cr_assert_gt(row_of("v")->reclaimed_ns, 0u);
	cr_assert_str_eq(model_queue_name(x.m, row_of("v")->reclaimed_by), "a");
	cr_assert_eq(row_of("g")->reclaimed_ns, 0u);
}

static void queue_gone(const char *name)
{
	static const char api_version[] = "scheduling.volcano.sh/v1beta1";
	char json[256];

	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"%s\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"}}",
	         api_version, name, x.namespace, name, ++x.version);
	cr_assert_eq(model_remove(x.m, model_resource_index(x.m, api_version, "Queue"), json,
	                          strlen(json), NULL),
	             0);
}

/* The id of queue a became that of c, and c was named. */
Test(reclaim, a_queue_that_is_gone_has_reclaimed_under_no_name)
{
	uint32_t a;

	a_is_guaranteed(4, 2);
	two_run_two_wait();
	preempt();
	goes("v-0");
	a = row_of("v")->reclaimed_by;
	cr_assert_str_eq(model_queue_name(x.m, a), "a");
	queue("b", "\"weight\":2");
	tick(10 * S);
	cr_assert_eq(row_of("v")->reclaimed_by, a, "another one was edited");
	queue_gone("a");
	tick(10 * S);
	queue("c", "\"weight\":1");
	tick(10 * S);
	cr_assert_str_eq(model_queue_name(x.m, a), "c");
	cr_assert_eq(row_of("v")->reclaimed_by, QUEUE_MISSING);
	cr_assert_gt(row_of("v")->reclaimed_ns, 0u);
}

/* Of what it asks for, the resource of which the giver has the greatest share. */
Test(reclaim, a_fair_take_tells_the_resource_that_decides)
{
	start_reclaim();
	x.loop.preemption |= PREEMPTION_FAIR;
	queue("a", "\"weight\":1");
	queue("b", "\"weight\":1");
	node("n1", 4);
	pods_in("b", "r", 0, 4, 50, "", "n1");
	model_set_synced(x.m);
	waits_in("a", "g", 2, 0);
	preempt_evicts(2);
	cr_assert_eq(api.evict.cause.rule, EVICT_FAIR);
	cr_assert_str_eq(model_name(x.m, api.evict.cause.resource), "cpu");
	cr_assert_eq(api.evict.cause.taker_used, 2000);
	cr_assert_eq(api.evict.cause.giver_used, 2000);
}

/* As before: nothing is told of another queue where none is involved. */
Test(reclaim, a_pod_of_the_own_queue_goes_by_priority)
{
	start_reclaim();
	queue("a", "\"weight\":1");
	node("n1", 2);
	pods_in("a", "r", 0, 2, 1, "", "n1");
	model_set_synced(x.m);
	waits_in("a", "g", 1, 5);
	preempt_evicts(1);
	cr_assert_eq(api.evict.cause.rule, EVICT_PRIORITY);
}

static void kai_queue(const char *name, int quota, uint32_t min_run_s)
{
	put("scheduling.run.ai/v2", "Queue", name, "",
	    "\"spec\":{\"reclaimMinRuntime\":\"%us\",\"resources\":{\"gpu\":{\"limit\":-1},"
	    "\"memory\":{\"limit\":-1},\"cpu\":{\"limit\":-1,\"quota\":%d,\"overQuotaWeight\":1}}}",
	    min_run_s, quota);
}

/* On "": it waits. */
static void kai_pod(const char *queue_name, const char *name, const char *group_name,
                    const char *on, int start_s)
{
	char labels[128];

	snprintf(labels, sizeof(labels), "%s\",\"kai.scheduler/queue\":\"%s", group_name, queue_name);
	pod_since(name, 5, labels, on, start_s, "");
}

/* Queue a is guaranteed 4 of 4, and b has all of them: gang v of `quorum`, of which the last member
 * was restarted, or added, 50 s after the others.  What runs in b is to run for `more_s` seconds
 * more before others take it. */
static uint32_t young_gang(int quorum, uint32_t more_s)
{
	const uint32_t start_s = 1767225600; /* 2026-01-01 */
	uint32_t min_run_s;

	start_with(MODEL_QUEUES_KAI, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	kai_queue("a", 4000, 0);
	node("n1", 4);
	synced();
	min_run_s = (uint32_t)(x.loop.core->now_ns / S) - start_s + more_s;
	kai_queue("b", 0, min_run_s);
	group("v", quorum);
	for (int i = 0; i < 4; i++)
		kai_pod("b", numbered("v", i), "v", "n1", i == 3 ? 50 : 0);
	group("g", 1);
	kai_pod("a", "g-0", "g", "", 0);
	return start_s + min_run_s;
}

static void young_gang_goes(unsigned evicts)
{
	tick(40 * S);
	tick(3 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
	preempt_evicts(evicts);
}

/* Of a gang the first member counts: else one that is restarted again and again would keep it. */
Test(reclaim, a_gang_that_has_not_run_for_its_queues_minimum_is_spared)
{
	const uint32_t until_s = young_gang(4, 30);

	preempt_evicts(0);
	cr_assert_eq(x.rows[0].answer, (uint32_t)VICTIMS_ROW_IMPOSSIBLE);
	cr_assert_eq(x.rows[0].young, 4u);
	cr_assert_eq(x.rows[0].young_until_s, until_s);
	young_gang_goes(4);
}

/* ... for members beyond its quorum, too. */
Test(reclaim, a_member_beyond_the_quorum_runs_as_long_as_its_gang)
{
	young_gang(3, 30);
	preempt_evicts(0);
	cr_assert_eq(x.rows[0].young, 4u, "each is counted once, alone and with its gang");
	young_gang_goes(1);
	cr_assert(asked("v-3"), "the one that started last");
}

/* The queue was edited after the search. */
Test(reclaim, an_answer_with_what_is_too_young_by_now_is_dropped)
{
	young_gang(4, 0);
	search();
	cr_assert_eq(((const struct event_answer *)(const void *)(x.answer + 1))->victims_n, 4u);
	kai_queue("b", 0, (uint32_t)(x.loop.core->now_ns / S));
	answer_apply();
	cr_assert_eq(api.evicts, 0);
}

static bool hard = true; /* by its deadline, or by an annotation */

/* A pod of b that will have ended 20 s from now: it started in 2026, and has 30 s of grace. */
static void ending_soon(const char *name)
{
	const unsigned ran_s = (unsigned)(x.loop.core->now_ns / S) - 1767225600u;
	char meta[160], deadline[64];

	snprintf(meta, sizeof(meta),
	         ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"b\","
	         "\"muster.dev/run-seconds\":\"%u\"}",
	         hard ? 2 * ran_s : ran_s + 20);
	snprintf(deadline, sizeof(deadline), "\"activeDeadlineSeconds\":%u,",
	         hard ? ran_s + 20 - 30 : 2 * ran_s);
	put("v1", "Pod", name, meta,
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n1\",\"restartPolicy\":\"Never\","
	    "%s\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	    "\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":"
	    "\"2026-01-01T00:00:00Z\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\","
	    "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}",
	    deadline);
}

/* Queue b has all of four: two pods end in 20 s.  A gang of a waits that has the guarantee. */
static void two_end_soon(int members, uint32_t patience_s)
{
	struct {
		struct record head;
		struct event_preemption body;
	} r = { .head = { .bytes = sizeof(r), .kind = EVENT_PREEMPTION },
		    .body = { .flags = PREEMPTION_EXPLAIN | PREEMPTION_ON | PREEMPTION_RECLAIM,
		              .reclaim_patience_s = patience_s } };

	a_is_guaranteed(4, 4);
	synced();
	pods_in("b", "r", 0, 2, 50, "", "n1");
	ending_soon("soon-0");
	ending_soon("soon-1");
	flush();
	apply(&r.head);
	waits_in("a", "g", members, 0);
	preempt();
}

/* Until the end has passed and the pods are still there. */
Test(reclaim, nothing_is_taken_that_ends_by_itself_within_the_patience)
{
	two_end_soon(2, 30);
	cr_assert_eq(api.evicts, 0);
	tick(40 * S);
	tick(3 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
	preempt_evicts(2);
}

Test(reclaim, what_is_not_enough_within_the_patience_is_taken)
{
	two_end_soon(3, 30);
	cr_assert_eq(api.evicts, 3);
}

Test(reclaim, who_has_no_patience_takes_what_ends_soon)
{
	two_end_soon(2, 10);
	cr_assert_eq(api.evicts, 2);
}

/* It is edited again before it comes, and so on: the gang waited for as long as that went on. */
Test(reclaim, an_end_that_an_annotation_tells_is_not_waited_for)
{
	hard = false;
	two_end_soon(2, 30);
	cr_assert_eq(api.evicts, 2);
}

/* A gang of one that asks for two of three resources; on "": it waits. */
static void member(const char *name, const char *on)
{
	static const char *const asks[] = { "\"x.example/x\":\"1\",\"x.example/z\":\"2\"",
		                                "\"x.example/x\":\"2\",\"x.example/y\":\"1\"",
		                                "\"x.example/y\":\"2\",\"x.example/z\":\"1\"" };
	char meta[256];

	snprintf(meta, sizeof(meta),
	         ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"},\"annotations\":{"
	         "\"scheduling.volcano.sh/queue-name\":\"%c\"}",
	         name, name[0]);
	put("v1", "Pod", name, meta,
	    "\"spec\":{\"schedulerName\":\"muster\"%s%s%s,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{%s}}}]},\"status\":{\"phase\":\"%s\"}",
	    *on ? ",\"nodeName\":\"" : "", on, *on ? "\"" : "", asks[name[0] - 'a'],
	    *on ? "Running" : "Pending");
}

static const char *const circle[] = { "a-0", "a-1", "a-2", "a-3", "a-4", "a-5", "b-0", "b-1",
	                                  "b-2", "b-3", "b-4", "c-0", "c-1", "c-2", "c-3", "c-4" };
#define CIRCLE (sizeof(circle) / sizeof(*circle))

/* Victims end, and come back; who was placed runs. */
static void cluster_follows(void)
{
	for (size_t i = 0; i < CIRCLE; i++)
		if (asked(circle[i]) != 0) {
			goes(circle[i]);
			member(circle[i], "");
			flush();
		}
	for (size_t i = 0; i < CIRCLE; i++)
		if (pod_slot(circle[i])->reservation == RESERVATION_SENT) {
			member(circle[i], "n1");
			flush();
		}
}

/* Evictions until there are none for five minutes, or so many. */
static unsigned evictions_until_rest(unsigned most)
{
	const unsigned before = api.evicts;

	for (unsigned idle = 0; idle < 10 && api.evicts - before < most; idle++) {
		const unsigned was = api.evicts;

		tick(60 * S);
		preempt_many();
		cluster_follows();
		idle = api.evicts > was ? 0 : idle;
	}
	return api.evicts - before;
}

/* Decision 090: c takes of a, b of c, a of b, and as many of each run as before. */
Test(reclaim, three_queues_that_take_in_a_circle_come_to_rest)
{
	unsigned evictions;

	start_reclaim();
	x.loop.preemption |= PREEMPTION_FAIR;
	queue("a", "\"weight\":1");
	queue("b", "\"weight\":1");
	queue("c", "\"weight\":1");
	put("v1", "Node", "n1", "",
	    "\"status\":{\"allocatable\":{\"cpu\":\"9\",\"memory\":\"64Gi\",\"pods\":\"99\","
	    "\"x.example/x\":\"14\",\"x.example/y\":\"14\",\"x.example/z\":\"14\"}}");
	for (size_t i = 0; i < CIRCLE; i++) {
		group(circle[i], 1);
		member(circle[i], strcmp(circle[i], "a-5") && circle[i][2] != '4' ? "n1" : "");
	}
	member("a-4", "n1");
	synced();
	evictions = evictions_until_rest(100);
	cr_assert(evictions > 0 && evictions <= CIRCLE, "%u evictions", evictions);
	cr_assert_eq(evictions_until_rest(100), 0u);
	/* An edit: once more round. */
	queue("b", "\"weight\":2");
	flush();
	queue("b", "\"weight\":1");
	flush();
	evictions = evictions_until_rest(100);
	cr_assert(evictions > 0 && evictions <= CIRCLE, "%u evictions after an edit", evictions);
}

/* Queue a is guaranteed 2 of 4 cpus, of which b uses all; no other queue is owed any. */
static void b_has_all(void)
{
	a_is_guaranteed(2, 4);
	pods_in("b", "r", 0, 4, 50, "", "n1");
	model_set_synced(x.m);
}

static uint32_t gang_tickets(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < TICKETS_GANGS; i++)
		n += x.loop.core->tickets.all[i].number != 0;
	return n;
}

/* Those of b that waited had all tickets, which are given by priority, and again after each answer:
 * with thousands of them a had none for ever. */
Test(reclaim, gangs_that_wait_leave_tickets_to_other_queues)
{
	b_has_all();
	for (int i = 0; i < 40; i++)
		waits_in("b", numbered("h", i), 1, 50);
	flush();
	cr_assert_eq(gang_tickets(), TICKETS_GANGS);
	waits_in("a", "g", 2, 0);
	flush();
	cr_assert_eq(gang_tickets(), TICKETS_GANGS);
	preempt_many();
	cr_assert_eq(api.evicts, 2);
}

/* Both wait for long: each has half of them, of its gangs of the highest priority. */
Test(reclaim, two_queues_have_as_many_tickets)
{
	const struct core *c;
	uint32_t of_a = 0, high = 0;

	b_has_all();
	c = x.loop.core;
	for (int i = 0; i < 20; i++)
		waits_in("b", numbered("h", i), 1, 50);
	for (int i = 0; i < 20; i++)
		waits_in("a", numbered("g", i), 3, i < 10 ? 0 : 5);
	flush();
	for (uint32_t i = 0; i < TICKETS_GANGS; i++) {
		const struct gang *g = &c->gangs.slots[c->tickets.all[i].gang];

		of_a += memcmp(g->name, "ns/g-", 5) == 0;
		high += c->tickets.all[i].priority == 5;
	}
	cr_assert_eq(of_a, TICKETS_GANGS / 2);
	cr_assert_eq(high, TICKETS_GANGS / 2);
	cr_assert_eq(gang_tickets(), TICKETS_GANGS);
}

/* Each round began with the first gang that had waited for long enough: a's turn came when all
 * others had to wait for longer than a round of them takes. */
Test(reclaim, a_queue_behind_more_than_there_are_tickets_has_its_turn)
{
	b_has_all();
	for (int i = 0; i < 20; i++)
		queue(numbered("q", i), "\"weight\":1");
	for (int i = 0; i < 40; i++)
		waits_in(numbered("q", i % 20), numbered("h", i), 1, 0);
	flush();
	waits_in("a", "g", 2, 0);
	flush();
	for (int i = 0; i < 4 && api.evicts == 0; i++) {
		preempt_many();
		tick(2 * S);
	}
	cr_assert_eq(api.evicts, 2);
}
