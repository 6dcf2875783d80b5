/* SPDX-License-Identifier: Apache-2.0 */
/* Who may be nominated when others have all nominations, or gangs evict no more. */
#include "tests/unit/support_nominations.h"

TestSuite(nominations_slots, .init = start, .fini = scene_end);

/* Nothing is planned after the answers. */
static void preempt_many_unplanned(void)
{
	api.many = true;
	search();
	api.many = false;
	for (unsigned i = 0; i < api.answers_n; i++) {
		api.answers[i]->epoch = x.loop.core->epoch;
		api.answers[i]->time_ns = x.loop.core->now_ns;
		loop_step(&x.loop, api.answers[i], UINT32_MAX);
		free(api.answers[i]);
	}
	api.answers_n = 0;
}

/* Of the answer: the gang was to be planned next. */
Test(nominations_slots, no_pod_goes_by_an_answer_from_before_gangs_evict_no_more)
{
	struct {
		struct record head;
		struct event_preemption body;
	} off = { .head = { .bytes = sizeof(off), .kind = EVENT_PREEMPTION },
		      .body = { .flags = PREEMPTION_EXPLAIN | PREEMPTION_PACK } };

	two_full_nodes();
	waits("g", 8, 10);
	pod("high", 10, "", "", "");
	preempt_many_unplanned();
	cr_assert_eq(x.loop.core->tickets.n, 2);
	cr_assert_eq(counts()->answers, 2);
	apply(&off.head);
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(counts()->open, 0);
	off.body.flags |= PREEMPTION_ON;
	apply(&off.head);
	cr_assert_eq(api.evicts, 0);
	tick(3 * S);
	preempt_many();
	cr_assert_eq(api.evicts, 8); /* they are searched for again */
}

#define ONLY_ON(node)                                                                              \
	",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"        \
	"\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","                         \
	"\"operator\":\"In\",\"values\":[\"" node "\"]}]}]}}}"
#define ONLY_ON_N2 ONLY_ON("n2")

/* Two namespaces have as many of them, half of all at most each, of priority 10, on n1, where as
 * many pods end. */
static void nominations_begin(int n)
{
	node("n1", n);
	for (int i = 0; i < n; i++) {
		pod(numbered("low", i), 0, "", "n1", "");
		flush();
		ending(numbered("low", i), 0, "n1");
	}
	synced();
	for (int i = 0; i < 2; i++) {
		pods("high", 0, i == 0 ? (n + 1) / 2 : n / 2, 10, "", "");
		flush();
		for (int k = 0; k < 6; k++) {
			preempt_many();
			tick(2 * S);
		}
		x.namespace = i == 0 ? "second" : "third";
	}
	cr_assert_eq(x.loop.core->nominations.n, (uint32_t)n);
	cr_assert_eq(api.evicts + api.cleared, 0);
}

/* All are taken; n2 has a pod of priority 0. */
static void nominations_taken(void)
{
	node("n2", 2);
	large("low", 0, "n2", "");
	nominations_begin(NOMINATIONS_MAX - NOMINATIONS_GANGS);
}

static uint32_t nominated_of(const char *namespace)
{
	const struct core *c = x.loop.core;
	uint32_t n = 0;

	for (uint32_t i = NOMINATIONS_GANGS; i < NOMINATIONS_MAX; i++)
		n += c->nominations.all[i].ticket != 0 &&
		     memcmp(c->gangs.slots[c->nominations.all[i].gang].name, namespace,
		            strlen(namespace)) == 0;
	return n;
}

Test(nominations_slots, two_namespaces_keep_no_higher_pod_of_a_third_from_being_nominated)
{
	const uint32_t half = (NOMINATIONS_MAX - NOMINATIONS_GANGS) / 2;

	nominations_taken();
	large("equal", 10, "", ONLY_ON_N2);
	preempt_many();
	cr_assert_eq(nominated_of("third/"), 0);
	cr_assert_eq(api.evicts, 0);
	large("high", 20, "", ONLY_ON_N2);
	preempt_many();
	cr_assert_eq(nominated_of("third/"), 1);
	cr_assert_eq(x.loop.core->nominations.n, 2 * half);
	cr_assert_eq(api.evicts, 1);
	cr_assert_eq(api.cleared, 1);
	cr_assert_eq(counts()->changed, 1);
	x.namespace = "ns";
	goes("low");
	cr_assert_eq(api.binds, 1);
}

/* Of its own it has that of a lower one; of the others', none. */
Test(nominations_slots, a_higher_pod_of_a_namespace_with_half_of_them_has_one_of_its_own)
{
	const uint32_t half = (NOMINATIONS_MAX - NOMINATIONS_GANGS) / 2;

	nominations_taken();
	x.namespace = "second";
	large("high", 20, "", ONLY_ON_N2);
	preempt_many();
	cr_assert_eq(api.evicts, 1);
	cr_assert_eq(nominated_of("ns/"), half);
	cr_assert_eq(nominated_of("second/"), half);
}

Test(nominations_slots, a_higher_pod_on_the_node_of_all_others_takes_one_over)
{
	nominations_taken();
	pod("high", 20, "", "", "");
	preempt_many();
	cr_assert_eq(nominated_of("third/"), 1);
	cr_assert_eq(x.loop.core->nominations.n, NOMINATIONS_MAX - NOMINATIONS_GANGS);
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(api.evicts, 0);
}

/* What a lone pod took over of a gang goes on other nodes, too. */
Test(nominations_slots, who_has_the_place_of_another_loses_no_eviction_that_it_counts_on)
{
	nominations_begin(NOMINATIONS_MAX - NOMINATIONS_GANGS - 1);
	node("n2", 2);
	node("n3", 2);
	large("low2", 0, "n2", "");
	large("low3", 0, "n3", "");
	waits("g", 4, 5);
	preempt_many();
	cr_assert_eq(api.evicts, 2);
	large("lone", 9, "", ONLY_ON("n2"));
	preempt_many();
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(x.loop.core->nominations.n, NOMINATIONS_MAX - NOMINATIONS_GANGS);
	large("top", 20, "", ONLY_ON("n3"));
	preempt_many();
	cr_assert_eq(nominated_of("third/"), 1);
	cr_assert_eq(counts()->taken_over, 2);
	cr_assert_eq(api.evicts, 2);
	cr_assert_eq(api.cancels, 0);
}
