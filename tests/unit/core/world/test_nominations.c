/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that evict: a loop, a world and the lookout in one thread, an API server that is a table.
 */
#include "core/cycle/renominate.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "core/step/core.h"
#include "core/world/lookout.h"
#include "frontend/model/model.h"
#include "ipc/memory.h"
#include "ipc/plans.h"
#include "tests/unit/support_followed.h"
#include "tests/unit/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define S UINT64_C(1000000000)
#define API "scheduling.x-k8s.io/v1alpha1"
#define PODS 64u

static const struct limits LIMITS = { .nodes = 8,
	                                  .pods = PODS,
	                                  .gangs = 16,
	                                  .shapes = 16,
	                                  .names = 24,
	                                  .resources = 8,
	                                  .name_bytes = 1 << 16,
	                                  .command_ring_bytes = 1 << 17 };

struct scene {
	struct loop loop;
	struct model *m;
	struct lookout *lookout;
	struct core_searches stats;
	struct victims_row *rows;
	unsigned version;
	struct record *answer;
	struct record *answers[TICKETS_MAX]; /* with `many`: all of a search */
	unsigned answers_n;
	bool many;
	const char *namespace;
	struct cmd_evict evict; /* the last one */
	uint64_t now_ns;
	uint64_t asked[PODS]; /* by pod: ticket of a CMD_EVICT without a result; 0: none */
	unsigned evicts, cancels, nominated, cleared, binds;
};

static struct scene x;

static void answered(void *context, struct record *r)
{
	(void)context;
	if (x.many) {
		x.answers[x.answers_n++] = r;
		return;
	}
	free(x.answer);
	x.answer = r;
}

static void commanded(enum record_kind kind, const void *body)
{
	const struct cmd_evict *e = body;
	const struct cmd_cancel_evict *q = body;

	switch (kind) {
	case CMD_EVICT:
		cr_assert_eq(x.asked[e->pod], 0, "a pod is evicted twice");
		cr_assert(reservation_is_bound(&x.loop.core->pods.slots[e->pod]));
		x.asked[e->pod] = e->ticket;
		x.evict = *e;
		x.evicts++;
		break;
	case CMD_CANCEL_EVICT:
		cr_assert_eq(x.asked[q->pod], q->ticket);
		x.cancels++;
		break;
	case CMD_NOMINATE:
		*(((const struct cmd_nominate *)body)->node == ID_NONE ? &x.cleared : &x.nominated) += 1;
		break;
	case CMD_BIND:
		x.binds++;
		break;
	default:
		break;
	}
}

static void lookout_start(void)
{
	lookout_free(x.lookout);
	x.lookout = lookout_new(&(struct lookout_config){ .follower = x.loop.world,
	                                                  .stats = &x.stats,
	                                                  .rows = x.rows,
	                                                  .steps_most = LOOKOUT_STEPS,
	                                                  .feed_bytes = FEED_BYTES_LEAST * 16,
	                                                  .answer = answered });
}

static void start_with(enum model_queues_of queues, uint32_t promise_depth, uint64_t reserve_ns)
{
	static const char *const names[] = { "muster" };
	struct model_config config = { .limits = LIMITS,
		                           .scheduler_names = names,
		                           .scheduler_names_n = 1,
		                           .preemption = true,
		                           .queues = queues };
	struct core_config core = { .limits = LIMITS,
		                        .promise_depth = promise_depth,
		                        .reserve_after_ns = reserve_ns };

	memset(&x, 0, sizeof(x));
	x.namespace = "ns";
	x.m = model_new(&config);
	loop_new(&x.loop, core, FEED_BYTES_LEAST * 16);
	x.loop.preemption = PREEMPTION_ON | PREEMPTION_EXPLAIN;
	x.loop.command = commanded;
	x.rows = must_array(VICTIMS_ROWS, sizeof(*x.rows));
	lookout_start();
	model_resource_served(x.m, model_resource_index(x.m, "policy/v1", "PodDisruptionBudget"), true);
}

static void start(void)
{
	start_with(MODEL_QUEUES_NONE, 0, 0);
}

static void end(void)
{
	lookout_free(x.lookout);
	loop_end(&x.loop);
	model_free(x.m);
	free(x.rows);
	free(x.answer);
}

TestSuite(nominations, .init = start, .fini = end);

static void put(const char *api, const char *kind, const char *name, const char *meta,
                const char *format, ...)
{
	struct decode_error error = { 0 };
	char rest[1024], json[2048];
	va_list list;

	va_start(list, format);
	vsnprintf(rest, sizeof(rest), format, list);
	va_end(list);
	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"%s},%s}",
	         api, kind, name, x.namespace, name, ++x.version, meta, rest);
	cr_assert_eq(model_put(x.m, model_resource_index(x.m, api, kind), json, strlen(json), &error),
	             0, "%s: %s: %s", error.object, error.field, error.text);
}

static void node(const char *name, int cpu)
{
	put("v1", "Node", name, "",
	    "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":\"99\"}}", cpu);
}

/* group "": a lone pod; on "": it waits. */
static void pod(const char *name, int priority, const char *group, const char *on, const char *meta)
{
	char labels[512], where[64] = "";

	snprintf(labels, sizeof(labels), ",\"labels\":{\"app\":\"a\"%s%s%s}%s",
	         *group ? ",\"scheduling.x-k8s.io/pod-group\":\"" : "", group, *group ? "\"" : "",
	         meta);
	if (*on)
		snprintf(where, sizeof(where), ",\"nodeName\":\"%s\"", on);
	put("v1", "Pod", name, labels,
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d%s,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"%s\"%s}",
	    priority, where, *on ? "Running" : "Pending",
	    *on ? ",\"startTime\":\"2026-01-01T00:00:00Z\"" : "");
}

static void group(const char *name, int quorum)
{
	put(API, "PodGroup", name, "", "\"spec\":{\"minMember\":%d}", quorum);
}

static void waits(const char *name, int members, int priority)
{
	char member[32];

	group(name, members);
	for (int i = 0; i < members; i++) {
		snprintf(member, sizeof(member), "%s-%d", name, i);
		pod(member, priority, name, "", "");
	}
}

static void gone(const char *name)
{
	char json[256];

	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"}}",
	         name, name, ++x.version);
	cr_assert_eq(
		model_remove(x.m, model_resource_index(x.m, "v1", "Pod"), json, strlen(json), NULL), 0);
}

static void sound(void)
{
	char why[256];

	core_show(x.loop.core);
	core_show(follower_core(x.loop.world));
	cr_assert(core_valid(x.loop.core, why, sizeof(why)), "%s", why);
	cr_assert_eq(follower_state(x.loop.world), WORLD_FOLLOWS);
	cr_assert(core_valid(follower_core(x.loop.world), why, sizeof(why)), "the world: %s", why);
}

static void flush(void)
{
	loop_flush(&x.loop, x.m);
	sound();
}

static void apply(struct record *r)
{
	r->epoch = x.loop.core->epoch;
	r->time_ns = x.loop.core->now_ns;
	loop_step(&x.loop, r, UINT32_MAX);
	cr_assert_str_eq(core_fault(x.loop.core), "");
	follower_run(x.loop.world, UINT32_MAX);
	flush();
}

static void tick(uint64_t more_ns)
{
	struct record r = { .bytes = sizeof(r), .kind = EVENT_TICK, .epoch = x.loop.core->epoch };

	x.loop.time_ns += more_ns;
	r.time_ns = x.loop.core->now_ns + more_ns;
	loop_step(&x.loop, &r, UINT32_MAX);
	follower_run(x.loop.world, UINT32_MAX);
	flush();
}

/* The answer to the open ticket stays in x.answer. */
static void search(void)
{
	flush();
	lookout_run(x.lookout, x.now_ns += 10 * S);
}

static void answer_apply(void)
{
	struct record *r = x.answer;

	cr_assert(r, "no answer");
	x.answer = NULL;
	apply(r);
	free(r);
}

static void preempt(void)
{
	search();
	answer_apply();
}

static const struct core_preemption *counts(void)
{
	return &x.loop.ledger->preemption;
}

static pod_id pod_named(const char *name)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "ns/%s", name);
	for (pod_id id = 0; id < x.loop.core->pods.used; id++) {
		const struct pod *p = &x.loop.core->pods.slots[id];

		if (p->generation != 0 && p->name_bytes == strlen(whole) &&
		    memcmp(p->name, whole, p->name_bytes) == 0)
			return id;
	}
	cr_assert_fail("no pod %s", name);
	return ID_NONE;
}

static uint64_t asked(const char *name)
{
	return x.asked[pod_named(name)];
}

static void result(const char *name, enum record_kind kind)
{
	const pod_id id = pod_named(name);
	struct {
		struct record head;
		struct evict_result result;
	} r = { .head = { .bytes = sizeof(r), .kind = (uint16_t)kind },
		    .result = { .ticket = x.asked[id],
		                .pod = id,
		                .generation = x.loop.core->pods.slots[id].generation,
		                .node = 0 } };

	x.asked[id] = 0;
	apply(&r.head);
}

static void ending(const char *name, int priority, const char *on)
{
	pod(name, priority, "", on,
	    ",\"deletionTimestamp\":\"2026-01-01T00:01:00Z\",\"deletionGracePeriodSeconds\":30");
}

/* Two nodes that four lone pods of priority 0 fill each. */
static void two_full_nodes(void)
{
	char name[32];

	node("n1", 4);
	node("n2", 4);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "low-%d", i);
		pod(name, 0, "", i < 4 ? "n1" : "n2", "");
	}
	model_set_synced(x.m);
}

static void all_go(bool of_one_gang)
{
	char name[32];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "low-%d", i);
		cr_assert(!of_one_gang || x.binds == 0, "a binding before the victims are gone");
		if (asked(name) != 0)
			result(name, RESULT_EVICT_SENT);
		gone(name);
		flush();
	}
}

Test(nominations, a_gang_is_nominated_and_starts_when_the_victims_are_gone)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(x.nominated, 8);
	cr_assert_eq(x.evicts, 8);
	cr_assert_eq(x.binds, 0);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), -4000);
	all_go(true);
	cr_assert_eq(x.binds, 8);
	cr_assert_eq(x.cancels + x.cleared, 0);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(counts()->open + counts()->wasted, 0);
	cr_assert_eq(counts()->victims.sum, 8);
	cr_assert_eq(counts()->victims.n[victims_bucket(8)], 1, "one plan");
	cr_assert_eq(counts()->broken.n[victims_bucket(0)], 1, "lone pods");
}

Test(nominations, as_many_go_as_are_needed)
{
	two_full_nodes();
	waits("g", 3, 10);
	preempt();
	cr_assert_eq(x.evicts, 3);
	cr_assert_eq(x.nominated, 3);
}

Test(nominations, nobody_goes_where_evicting_all_would_not_do)
{
	two_full_nodes();
	waits("g", 9, 10);
	preempt();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(x.loop.core->tickets.n, 0);
}

Test(nominations, nobody_goes_for_an_equal_priority)
{
	two_full_nodes();
	waits("g", 2, 0);
	preempt();
	cr_assert_eq(x.evicts + x.nominated, 0);
}

Test(nominations, no_other_pod_takes_the_room)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	for (int i = 0; i < 4; i++) {
		char name[32];

		snprintf(name, sizeof(name), "between-%d", i);
		pod(name, 5, "", "", "");
	}
	all_go(true);
	cr_assert_eq(x.binds, 8);
	cr_assert_eq(x.loop.core->pods.slots[pod_named("between-0")].node, ID_NONE);
}

Test(nominations, a_refused_victim_ends_it_and_the_others_are_withdrawn)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-3", RESULT_EVICT_REFUSED);
	cr_assert_eq(x.cancels, 7);
	cr_assert_eq(x.cleared, 8);
	cr_assert_eq(counts()->refused, 1);
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), 0);
	tick(5 * S);
	cr_assert_eq(x.loop.core->tickets.n, 0, "it waits ten seconds");
	tick(10 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
}

Test(nominations, a_preemptor_that_goes_withdraws_what_was_not_sent)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-0", RESULT_EVICT_SENT);
	result("low-1", RESULT_EVICT_SENT);
	gone("g-0");
	flush();
	cr_assert_eq(x.cancels, 6);
	cr_assert_eq(x.cleared, 7);
	cr_assert_eq(counts()->changed, 1);
	cr_assert_eq(counts()->wasted, 2);
}

Test(nominations, room_elsewhere_comes_first)
{
	two_full_nodes();
	waits("g", 4, 10);
	preempt();
	cr_assert_eq(x.evicts, 4);
	node("n3", 4);
	flush();
	cr_assert_eq(x.binds, 4);
	cr_assert_eq(x.cancels, 4);
	cr_assert_eq(x.cleared, 0, "a binding clears it");
	cr_assert_eq(counts()->elsewhere, 1);
}

Test(nominations, what_ends_already_is_waited_for_and_no_other_pod_goes)
{
	two_full_nodes();
	ending("low-2", 0, "n1");
	waits("g", 1, 10);
	preempt();
	cr_assert_eq(x.evicts, 0);
	cr_assert_eq(x.nominated, 1);
	gone("low-2");
	flush();
	cr_assert_eq(x.binds, 1);
	cr_assert_eq(counts()->placed, 1);
}

/* The next frontend's lists: what ends is room to come, so no other pod is evicted for it. */
Test(nominations, a_new_epoch_evicts_no_other_pod)
{
	two_full_nodes();
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(x.evicts, 2);
	for (int i = 0; i < 8; i++) {
		char name[32];

		snprintf(name, sizeof(name), "low-%d", i);
		if (asked(name) == 0)
			continue;
		x.asked[pod_named(name)] = 0;
		ending(name, 0, i < 4 ? "n1" : "n2");
	}
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 0);
	cr_assert_eq(counts()->open, 0, "it is shown as open");
	cr_assert_eq(counts()->changed, 1);
	preempt();
	cr_assert_eq(x.evicts, 2);
	cr_assert_eq(x.loop.core->nominations.n, 1);
}

Test(nominations, a_higher_gang_takes_over_and_evicts_no_other_pod)
{
	two_full_nodes();
	waits("g", 4, 10);
	preempt();
	cr_assert_eq(x.evicts, 4);
	waits("h", 4, 20);
	preempt();
	cr_assert_eq(x.evicts, 4);
	cr_assert_eq(x.cancels, 0);
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(x.loop.core->nominations.n, 1);
	cr_assert_eq(x.nominated, 8);
	cr_assert_eq(x.cleared, 4);
	/* The lower one asks again, and takes the others. */
	preempt();
	cr_assert_eq(x.evicts, 8);
	all_go(false);
	cr_assert_eq(x.binds, 8);
}

Test(nominations, an_answer_is_stale_when_a_victim_changed)
{
	two_full_nodes();
	waits("g", 8, 10);
	search();
	pod("low-5", 50, "", "n2", "");
	flush();
	answer_apply();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
}

Test(nominations, an_answer_is_stale_when_a_victim_is_needless)
{
	two_full_nodes();
	waits("g", 2, 10);
	search();
	gone("low-6");
	/* One fits now, and the answer has two. */
	flush();
	answer_apply();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
	tick(3 * S);
	preempt();
	cr_assert_eq(x.evicts, 1);
}

Test(nominations, a_victim_that_does_not_go_ends_it_and_is_named)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-0", RESULT_EVICT_SENT);
	tick(29 * S);
	cr_assert_eq(counts()->stuck, 0);
	tick(10 * S);
	cr_assert_eq(counts()->stuck, 1);
	cr_assert_eq(x.cancels, 7);
	tick(3 * S);
	cr_assert_eq(x.loop.core->ledger.gangs[0].reason.stuck_pod, pod_named("low-0"));
	cr_assert(x.loop.core->ledger.gangs[0].reason.stuck_generation > 0);
}

Test(nominations, a_full_ring_delays_and_a_cancelled_eviction_is_never_sent)
{
	struct record *r, plan = { .bytes = sizeof(plan), .kind = EVENT_PLAN };

	two_full_nodes();
	waits("g", 8, 10);
	search();
	r = x.answer;
	x.answer = NULL;
	r->epoch = plan.epoch = x.loop.core->epoch;
	r->time_ns = plan.time_ns = x.loop.core->now_ns;
	loop_step(&x.loop, r, UINT32_MAX);
	free(r);
	loop_step(&x.loop, &plan, 10); /* eight nominations and two evictions */
	follower_run(x.loop.world, UINT32_MAX);
	cr_assert_eq(x.nominated, 8);
	cr_assert_lt(x.evicts, 8);
	gone("g-3");
	flush();
	cr_assert_eq(x.evicts, x.cancels);
	cr_assert_lt(x.evicts, 8);
	cr_assert_eq(counts()->changed, 1);
}

Test(nominations, the_extender_and_lower_gangs_see_no_room_where_there_is_a_nomination)
{
	two_full_nodes();
	waits("g", 4, 10);
	preempt();
	waits("l", 1, 5);
	flush();
	/* Four of priority 0 run on: one of them may go for it. */
	preempt();
	cr_assert_eq(x.evicts, 5);
	cr_assert_eq(counts()->open, 2);
}

Test(nominations, gangs_go_whole_when_they_fall_below_their_quorum)
{
	char name[32];

	node("n1", 4);
	group("v", 4);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "v-%d", i);
		pod(name, 0, "v", "n1", "");
	}
	model_set_synced(x.m);
	waits("g", 1, 10);
	preempt();
	cr_assert_eq(x.evicts, 4);
	cr_assert_eq(x.nominated, 1);
	cr_assert_eq(counts()->victims.sum, 4);
	cr_assert_eq(counts()->broken.sum, 1);
	cr_assert_eq(counts()->broken.n[victims_bucket(1)], 1, "one gang, of one plan");
}

Test(nominations, the_next_epoch_makes_them_again_from_the_api)
{
	two_full_nodes();
	ending("low-2", 0, "n1");
	waits("g", 1, 10);
	flush();
	preempt();
	cr_assert_eq(x.nominated, 1);
	model_set_evicts(x.m, true);
	model_nominate(x.m, pod_named("g-0"), x.loop.core->pods.slots[pod_named("g-0")].generation,
	               "n1");
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 1, "before any search");
	cr_assert_eq(x.nominated, 2);
	cr_assert_eq(x.cleared + x.evicts, 0);
	gone("low-2");
	flush();
	cr_assert_eq(x.binds, 1);
}

Test(nominations, what_is_not_made_again_is_cleared)
{
	two_full_nodes();
	waits("g", 1, 10);
	flush();
	model_set_evicts(x.m, true);
	model_nominate(x.m, pod_named("g-0"), x.loop.core->pods.slots[pod_named("g-0")].generation,
	               "n1");
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 0);
	cr_assert_eq(x.cleared, 1);
	cr_assert_eq(x.nominated, 0);
}

Test(nominations, they_end_when_gangs_evict_no_more)
{
	struct {
		struct record head;
		struct event_preemption body;
	} r = { .head = { .bytes = sizeof(r), .kind = EVENT_PREEMPTION },
		    .body = { .flags = PREEMPTION_EXPLAIN } };

	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	apply(&r.head);
	cr_assert_eq(x.cancels, 8);
	cr_assert_eq(x.cleared, 8);
	cr_assert_eq(counts()->changed, 1);
}

/* Terms of the record: sixty seconds of running, and every pod started at the same time. */
Test(nominations, a_pod_that_has_not_run_for_long_enough_is_spared)
{
	struct {
		struct record head;
		struct event_preemption body;
	} r = { .head = { .bytes = sizeof(r), .kind = EVENT_PREEMPTION },
		    .body = { .flags = PREEMPTION_EXPLAIN | PREEMPTION_ON, .min_run_s = 60 } };
	const uint64_t start_s = 1767225600; /* 2026-01-01 */

	two_full_nodes();
	flush();
	r.body.min_run_s = (uint32_t)(x.loop.core->now_ns / S - start_s + 30);
	apply(&r.head);
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(x.evicts, 0);
	tick(40 * S);
	tick(3 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
	preempt();
	cr_assert_eq(x.evicts, 2);
}

/* The pod that ends is room for both; the slot of the pod has another one afterwards. */
Test(nominations, a_pod_that_two_gangs_wait_for_is_forgotten_by_both)
{
	node("n1", 4);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	pod("high-0", 50, "", "n1", "");
	pod("high-1", 50, "", "n1", "");
	model_set_synced(x.m);
	flush();
	ending("low-0", 0, "n1");
	ending("low-1", 0, "n1");
	waits("g", 1, 10);
	preempt();
	waits("h", 1, 10);
	preempt();
	cr_assert_eq(x.evicts, 0);
	cr_assert_eq(x.loop.core->nominations.n, 2);
	gone("low-0");
	flush();
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		const struct nomination *n = &x.loop.core->nominations.all[i];

		for (uint32_t k = 0; n->ticket != 0 && k < n->victims_n; k++)
			cr_assert_eq(n->victims[k].generation,
			             x.loop.core->pods.slots[n->victims[k].pod].generation);
	}
	gone("low-1");
	flush();
	cr_assert_eq(x.binds, 2);
	cr_assert_eq(counts()->open, 0);
}

/* The gang began with three members, of which one runs, and one holds room of an earlier epoch. */
Test(nominations, a_gang_that_retains_room_is_not_made_again)
{
	struct core *c = x.loop.core;

	two_full_nodes();
	node("n3", 2);
	ending("low-0", 0, "n1");
	ending("low-1", 0, "n1");
	group("g", 3);
	pod("g-3", 10, "g", "n3", "");
	flush();
	for (int i = 0; i < 3; i++) {
		const char *const names[] = { "g-0", "g-1", "g-2" };

		pod(names[i], 10, "g", "", "");
	}
	flush();
	cr_assert_eq(x.binds, 0);
	c->gangs.slots[0].begun = 3;
	pod_reserve_again(c, pod_named("g-2"), 2, RESERVATION_RETAINED);
	cr_assert_eq(c->gangs.slots[0].retained, 1);
	for (int i = 0; i < 2; i++) {
		const pod_id id = pod_named(i == 0 ? "g-0" : "g-1");

		c->tickets.facts[id] = (struct event_pod_facts){ .pod = id,
			                                             .generation = c->pods.slots[id].generation,
			                                             .nominated = 0 };
	}
	renominate(c);
	cr_assert_eq(c->nominations.n, 0);
	cr_assert_eq(c->nominations.commands_n, 2, "both lose their node");
}

/* One member is above the nomination, the other one is not. */
Test(nominations, a_gang_takes_over_no_nomination_above_its_lowest_member)
{
	struct record *answer;

	two_full_nodes();
	ending("low-0", 0, "n1");
	ending("low-1", 0, "n1");
	group("h", 2);
	pod("h-0", 20, "h", "", "");
	pod("h-1", 5, "h", "", "");
	search();
	answer = x.answer;
	cr_assert(answer);
	x.answer = NULL;
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	x.answer = answer;
	answer_apply();
	cr_assert_eq(counts()->taken_over, 0);
	cr_assert_eq(counts()->open, 1);
}

/* A label that no selector matches: the member requests the same, and stays nominated. */
static void relabelled_while_nominated(void)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	put("v1", "Pod", "g-3",
	    ",\"labels\":{\"app\":\"a\",\"other\":\"b\",\"scheduling.x-k8s.io/pod-group\":\"g\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	flush();
	cr_assert_eq(counts()->open, 1);
	all_go(true);
	cr_assert_eq(x.binds, 8, "binds %u", x.binds);
	cr_assert_eq(x.loop.core->nominations.n, 0);
}

Test(nominations, a_nominated_member_that_is_labelled_anew_starts)
{
	relabelled_while_nominated();
}

Test(nominations, a_nominated_member_that_is_labelled_anew_starts_with_promises)
{
	end();
	start_with(MODEL_QUEUES_NONE, 4, 0);
	relabelled_while_nominated();
}

Test(nominations, a_nominated_member_that_is_labelled_anew_starts_with_queues)
{
	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	put("scheduling.volcano.sh/v1beta1", "Queue", "default", "", "\"spec\":{\"weight\":1}");
	relabelled_while_nominated();
}

/* A member that ran is gone, so that more have to start than are ready. */
Test(nominations, a_gang_that_lacks_members_holds_no_room)
{
	two_full_nodes();
	group("g", 3);
	node("n3", 1);
	pod("g-2", 10, "g", "n3", "");
	pod("g-0", 10, "g", "", "");
	pod("g-1", 10, "g", "", "");
	preempt();
	cr_assert_eq(x.nominated, 2);
	cr_assert_eq(x.evicts, 2);
	gone("g-2");
	flush();
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(x.cancels, 2);
	cr_assert_eq(x.cleared, 2);
}

Test(nominations, a_gang_that_its_queue_stops_holds_no_room)
{
	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	put("scheduling.volcano.sh/v1beta1", "Queue", "default", "", "\"spec\":{\"weight\":1}");
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	put("scheduling.volcano.sh/v1beta1", "Queue", "default", "",
	    "\"spec\":{\"weight\":1,\"capability\":{\"cpu\":\"1\"}}");
	flush();
	tick(3 * S);
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(x.cancels, 8);
}

/* Two answers from one state: each leaves the gang its quorum, both together do not. */
Test(nominations, two_gangs_do_not_spend_the_same_surplus)
{
	struct event_answer *body;
	struct answer_pod *victims;
	struct record *second;
	char name[32];
	uint32_t n = 0;

	node("n1", 6);
	group("v", 4);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "v-%d", i);
		pod(name, 0, "v", "n1", "");
	}
	model_set_synced(x.m);
	waits("h", 2, 10);
	search();
	second = x.answer;
	cr_assert(second);
	x.answer = NULL;
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(x.evicts, 2);
	body = (void *)(second + 1);
	victims = (void *)(body + 1);
	cr_assert_eq(body->victims_n, 2);
	for (int i = 0; i < 6 && n < 2; i++) {
		snprintf(name, sizeof(name), "v-%d", i);
		if (asked(name) != 0)
			continue;
		victims[n].pod = pod_named(name);
		victims[n++].generation = x.loop.core->pods.slots[pod_named(name)].generation;
	}
	x.answer = second;
	answer_apply();
	cr_assert_eq(x.evicts, 2);
	cr_assert_eq(counts()->open, 1);
}

Test(nominations, a_cordoned_node_ends_it_and_no_other_pod_goes)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	put("v1", "Node", "n2", "",
	    "\"spec\":{\"unschedulable\":true},"
	    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"64Gi\",\"pods\":\"99\"}}");
	flush();
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(counts()->changed, 1);
	cr_assert_eq(x.cancels, 8);
}

static void job(const char *name, int cpu, const char *meta)
{
	put("v1", "Pod", name, meta,
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":50,\"nodeName\":\"n1\","
	    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]},\"status\":{\"phase\":\"Running\"}",
	    cpu);
}

/* The search does not know of the reservation, and finds that there will be room. */
Test(nominations, a_gang_behind_the_reservation_does_not_pass_it_by_an_answer)
{
	end();
	start_with(MODEL_QUEUES_NONE, 0, S);
	node("n1", 4);
	job("first", 2, "");
	job("second", 1, "");
	model_set_synced(x.m);
	waits("big", 4, 10);
	flush();
	for (int i = 0; i < 4; i++)
		tick(3 * S);
	cr_assert_neq(x.loop.core->backfill.gang, ID_NONE);
	job("second", 1,
	    ",\"deletionTimestamp\":\"2026-01-01T00:01:00Z\",\"deletionGracePeriodSeconds\":30");
	waits("small", 2, 10);
	preempt();
	tick(3 * S);
	cr_assert_eq(counts()->nominations, 0);
	gone("second");
	flush();
	cr_assert_eq(x.binds, 0);
}

/* Its own room is not free for anybody: it looked as if the gang could not start.  It was undone,
 * and promised the next known end. */
Test(nominations, a_gang_with_victims_starts_when_they_are_gone_with_promises)
{
	end();
	start_with(MODEL_QUEUES_NONE, 4, 0);
	two_full_nodes();
	node("n3", 1);
	put("v1", "Pod", "ends", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n3\",\"priority\":100,"
	    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":100000,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\"}");
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(x.nominated, 8);
	all_go(true);
	cr_assert_eq(x.binds, 8, "binds %u", x.binds);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(x.loop.ledger->starts.standing, 0);
}

static void queue(const char *name, const char *spec)
{
	put("scheduling.volcano.sh/v1beta1", "Queue", name, "", "\"spec\":{%s}", spec);
}

static void pod_in(const char *queue_name, const char *name, int priority, const char *group_name,
                   const char *on)
{
	char meta[128];

	snprintf(meta, sizeof(meta), ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"%s\"}",
	         queue_name);
	pod(name, priority, group_name, on, meta);
}

static void waits_in(const char *queue_name, const char *name, int members, int priority)
{
	char member[32];

	group(name, members);
	for (int i = 0; i < members; i++) {
		snprintf(member, sizeof(member), "%s-%d", name, i);
		pod_in(queue_name, member, priority, name, "");
	}
}

/* Queue a is guaranteed 4 of 12, b 6, and kept nothing, but nothing is taken of it; they use 0, 8
 * and 4. */
static void reclaim_start(void)
{
	char name[32];

	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	queue("a", "\"deserved\":{\"cpu\":\"4\"}");
	queue("b", "\"deserved\":{\"cpu\":\"6\"}");
	queue("kept", "\"reclaimable\":false");
	node("n1", 12);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "r-%d", i);
		pod_in(i < 8 ? "b" : "kept", name, 50, "", "n1");
	}
	model_set_synced(x.m);
}

/* Of a higher priority; and what goes already counts as gone for the next gang. */
Test(nominations, a_queue_takes_back_its_guarantee_and_leaves_that_of_others)
{
	reclaim_start();
	waits_in("a", "g", 2, 0);
	preempt();
	cr_assert_eq(x.evicts, 2);
	cr_assert_eq(x.nominated, 2);
	for (int i = 8; i < 12; i++) {
		char name[32];

		snprintf(name, sizeof(name), "r-%d", i);
		cr_assert_eq(asked(name), 0u, "%s is not reclaimable", name);
	}
	waits_in("a", "h", 2, 0);
	preempt();
	cr_assert_eq(x.evicts, 2, "b has its guarantee and no more");
}

/* Inside the guarantee with all that it asks for, or not at all; priority is of the own queue. */
Test(nominations, a_queue_takes_back_no_more_than_its_guarantee)
{
	reclaim_start();
	waits_in("a", "g", 5, 100);
	preempt();
	cr_assert_eq(x.evicts, 0);
	cr_assert_eq(counts()->open, 0);
}

/* The answer was found before b's use fell: by then it would take b's guarantee. */
Test(nominations, an_answer_that_would_take_a_guarantee_is_dropped)
{
	reclaim_start();
	waits_in("a", "g", 2, 0);
	search();
	cr_assert_eq(((const struct event_answer *)(const void *)(x.answer + 1))->victims_n, 2u);
	queue("b", "\"deserved\":{\"cpu\":\"7\"}");
	answer_apply();
	cr_assert_eq(x.evicts, 0);
}

/* BF-15: to a gang of an equal priority of the same queue, never below the quorum. */
Test(nominations, members_beyond_a_quorum_are_given_back)
{
	char name[32];

	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	queue("a", "\"weight\":1");
	queue("b", "\"weight\":1");
	node("n1", 6);
	group("v", 4);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "v-%d", i);
		pod_in("a", name, 5, "v", "n1");
	}
	model_set_synced(x.m);
	waits_in("b", "other", 1, 5);
	preempt();
	cr_assert_eq(x.evicts, 0, "of another queue");
	gone("other-0");
	waits_in("a", "low", 1, 4);
	preempt();
	cr_assert_eq(x.evicts, 0, "of a lower priority");
	gone("low-0");
	waits_in("a", "g", 2, 5);
	preempt();
	cr_assert_eq(x.evicts, 2);
	waits_in("a", "h", 1, 5);
	preempt();
	cr_assert_eq(x.evicts, 2, "the quorum stays");
}

/* They counted twice, as what ends and as what may be given: b's use fell below nothing. */
Test(nominations, victims_of_a_nomination_are_given_back_once)
{
	char name[32];

	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	queue("a", "\"deserved\":{\"cpu\":\"4\"}");
	queue("b", "\"weight\":1");
	node("n1", 4);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "r-%d", i);
		pod_in("b", name, 50, "", "n1");
	}
	model_set_synced(x.m);
	waits_in("a", "g", 4, 0);
	preempt();
	cr_assert_eq(x.evicts, 4);
	waits_in("a", "h", 1, 0);
	preempt();
	cr_assert_eq(x.evicts, 4);
	cr_assert_eq(counts()->open, 1);
}

/* Its member of b comes first, and goes by guarantee; that of a is of a higher priority. */
Test(nominations, a_gang_of_two_queues_gives_no_higher_member_to_one_of_them)
{
	struct event_answer *body;
	struct answer_pod *victims;
	char name[32];

	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	queue("a", "\"deserved\":{\"cpu\":\"6\"}");
	queue("b", "\"weight\":1");
	node("n1", 6);
	group("v", 2);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "v-%d", i);
		pod_in(i < 3 ? "b" : "a", name, 50, "v", "n1");
	}
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
	cr_assert_eq(x.evicts, 0);
}

/* With those supposed gone, b's pods were given as well, and were better: each answer was refused.
 */
Test(nominations, what_the_own_queue_gives_makes_no_room_in_its_guarantee)
{
	char name[32];

	end();
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM;
	queue("a", "\"deserved\":{\"cpu\":\"4\"}");
	queue("b", "\"weight\":1");
	node("n1", 8);
	group("v", 2);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), i < 4 ? "v-%d" : "r-%d", i);
		pod_in(i < 4 ? "a" : "b", name, i < 4 ? 5 : 0, i < 4 ? "v" : "", "n1");
	}
	model_set_synced(x.m);
	waits_in("a", "g", 2, 5);
	preempt();
	cr_assert_eq(x.evicts, 2);
	for (int i = 4; i < 8; i++) {
		snprintf(name, sizeof(name), "r-%d", i);
		cr_assert_eq(asked(name), 0u);
	}
}

/* A bound pod with a known end. */
static void ends(const char *name, int priority, const char *on, int cpu)
{
	put("v1", "Pod", name, "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"%s\",\"priority\":%d,"
	    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":1000,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]},\"status\":{\"phase\":\"Running\"}",
	    on, priority, cpu);
}

/* A gang of priority 10 that evicts nobody: it gets a promise. */
static void promised(const char *name, int members)
{
	char member[32];

	group(name, members);
	for (int i = 0; i < members; i++) {
		snprintf(member, sizeof(member), "%s-%d", name, i);
		put("v1", "Pod", member, ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"p\"}",
		    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"preemptionPolicy\":\"Never\","
		    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":500,\"containers\":[{\"name\":\"c\","
		    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	}
	flush();
	tick(3 * S);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
}

static void one_node_that_is_promised(void)
{
	end();
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 0, "n1", 1);
	ends("low-1", 0, "n1", 1);
	model_set_synced(x.m);
	flush();
	promised("p", 2);
}

/* The victims' room was promised to a gang of the same priority, from their known ends on. */
Test(nominations, no_victim_goes_for_a_gang_that_would_break_a_promise_of_its_priority)
{
	one_node_that_is_promised();
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
	cr_assert_eq(x.loop.ledger->starts.standing, 2, "g is promised what comes after p");
	cr_assert_eq(x.loop.ledger->starts.later[MOVE_OUTRANKED], 0);
	cr_assert_eq(x.loop.ledger->starts.lost, 0);
}

/* Where the gang would not have ended by then. */
Test(nominations, a_gang_of_higher_priority_outranks_a_promise_by_name)
{
	one_node_that_is_promised();
	waits("g", 2, 20);
	preempt();
	cr_assert_eq(x.evicts, 2);
	cr_assert_eq(x.nominated, 2);
	cr_assert_eq(x.loop.ledger->starts.lost, 1, "nothing says when the gang ends");
	result("low-0", RESULT_EVICT_SENT);
	result("low-1", RESULT_EVICT_SENT);
	gone("low-0");
	gone("low-1");
	flush();
	cr_assert_eq(x.binds, 2);
}

/* The promise of its own stands, and is the one that it had when the nomination ends. */
Test(nominations, a_promise_survives_a_nomination_that_comes_to_nothing)
{
	const struct promise *p;
	uint64_t at_ns;

	end();
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 0, "n1", 1);
	ends("low-1", 0, "n1", 1);
	model_set_synced(x.m);
	flush();
	waits("g", 2, 10);
	flush();
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	at_ns = promise_at(x.loop.core->promises.timeline, 0)->at_ns;
	preempt();
	cr_assert_eq(x.nominated, 2);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	result("low-0", RESULT_EVICT_REFUSED);
	cr_assert_eq(counts()->open, 0);
	tick(3 * S);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	p = promise_at(x.loop.core->promises.timeline, 0);
	cr_assert_eq(p->at_ns, at_ns);
	cr_assert_eq(p->later, 0);
	cr_assert(!p->nominated);
}

/* It fits on n3 before its victims are gone, where another gang is promised the room. */
Test(nominations, a_gang_that_promises_keep_from_other_room_stays_nominated)
{
	end();
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	node("n3", 4);
	ends("e", 100, "n3", 2);
	ends("f", 100, "n3", 2);
	model_set_synced(x.m);
	flush();
	promised("p", 4);
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(x.evicts, 2);
	gone("f");
	flush();
	cr_assert_eq(x.cancels, 0);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(x.binds, 0);
	result("low-0", RESULT_EVICT_SENT);
	result("low-1", RESULT_EVICT_SENT);
	gone("low-0");
	gone("low-1");
	flush();
	cr_assert_eq(x.binds, 2);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(counts()->wasted, 0);
}

static void preempt_many(void)
{
	x.many = true;
	search();
	x.many = false;
	for (unsigned i = 0; i < x.answers_n; i++) {
		apply(x.answers[i]);
		free(x.answers[i]);
	}
	x.answers_n = 0;
}

static void asked_go(void)
{
	char name[32];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "low-%d", i);
		if (asked(name) == 0)
			continue;
		result(name, RESULT_EVICT_SENT);
		gone(name);
		flush();
	}
}

static void lone_many(unsigned n, int priority)
{
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s-high-%u", x.namespace, i);
		pod(name, priority, "", "", "");
	}
	flush();
}

static unsigned tickets_of(bool lone)
{
	const struct core *c = x.loop.core;
	unsigned n = 0;

	for (uint32_t i = 0; i < TICKETS_MAX; i++)
		n += c->tickets.all[i].number != 0 &&
		     lone != gang_is_group(&c->gangs, c->tickets.all[i].gang);
	return n;
}

Test(nominations, a_lone_pod_is_nominated_and_starts_when_its_victim_is_gone)
{
	two_full_nodes();
	pod("high", 10, "", "", "");
	preempt();
	cr_assert_eq(x.nominated, 1);
	cr_assert_eq(x.evicts, 1);
	cr_assert_eq(x.binds, 0);
	cr_assert_eq(x.evict.gang, x.loop.core->gangs.groups + pod_named("high"));
	cr_assert_eq(x.evict.gang_generation, x.loop.core->pods.slots[pod_named("high")].generation);
	cr_assert_eq(x.evict.victims, 1);
	cr_assert_eq(counts()->open, 1);
	pod("between", 5, "", "", ""); /* it does not get the room */
	asked_go();
	cr_assert_eq(x.binds, 1);
	cr_assert_eq(x.cancels + x.cleared, 0);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(counts()->open + counts()->wasted, 0);
	cr_assert(x.loop.core->pods.slots[pod_named("high")].node != ID_NONE);
}

Test(nominations, no_pod_goes_for_a_lone_pod_of_equal_priority)
{
	two_full_nodes();
	pod("equal", 0, "", "", "");
	preempt();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(x.loop.core->tickets.n, 0);
}

Test(nominations, a_lone_pod_that_may_not_preempt_is_not_searched_for)
{
	two_full_nodes();
	put("v1", "Pod", "high", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"preemptionPolicy\":\"Never\","
	    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},"
	    "\"status\":{\"phase\":\"Pending\"}");
	flush();
	tick(3 * S);
	cr_assert_eq(x.loop.core->tickets.last, 0);
}

Test(nominations, equal_lone_pods_are_answered_with_different_nodes)
{
	two_full_nodes();
	lone_many(2, 10);
	preempt_many();
	cr_assert_eq(x.evicts, 2);
	cr_assert_eq(x.nominated, 2);
	cr_assert_eq(counts()->stale, 0);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), -1000);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 1, RESOURCE_CPU), -1000);
}

/* The victims of the second node have a higher priority: four go from the first one. */
Test(nominations, equal_lone_pods_evict_no_higher_pod_for_being_many)
{
	char name[32];

	node("n1", 4);
	node("n2", 4);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "low-%d", i);
		pod(name, i < 4 ? 0 : 5, "", i < 4 ? "n1" : "n2", "");
	}
	model_set_synced(x.m);
	lone_many(4, 10);
	for (int i = 0; i < 12; i++) {
		preempt_many();
		tick(2 * S);
	}
	cr_assert_eq(x.nominated, 4);
	cr_assert_eq(x.evicts, 4);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "low-%d", i);
		cr_assert(asked(name) != 0);
	}
}

Test(nominations, equal_lone_pods_for_which_nothing_was_found_wait_together)
{
	two_full_nodes();
	lone_many(30, 0);
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
	preempt_many();
	cr_assert_eq(x.loop.core->tickets.n, 0);
	tick(S);
	cr_assert_eq(x.loop.core->tickets.n, 0);
	cr_assert_eq(x.loop.core->tickets.last, TICKETS_MAX - TICKETS_GANGS);
	/* One of a higher priority need not wait. */
	pod("high", 10, "", "", "");
	flush();
	cr_assert_eq(tickets_of(true), 1);
	preempt();
	cr_assert_eq(x.evicts, 1);
	tick(3 * S);
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
}

Test(nominations, many_lone_pods_take_no_ticket_of_a_gang)
{
	two_full_nodes();
	lone_many(40, 20);
	waits("g", 2, 10);
	flush();
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
	cr_assert_eq(tickets_of(false), 1);
}

Test(nominations, lone_pods_of_another_namespace_have_a_share_of_the_tickets)
{
	two_full_nodes();
	lone_many(20, 10);
	x.namespace = "other";
	lone_many(20, 10);
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
	for (uint32_t i = TICKETS_GANGS, of_other = 0; i < TICKETS_MAX; i++) {
		const struct core *c = x.loop.core;

		of_other += memcmp(c->gangs.slots[c->tickets.all[i].gang].name, "other/", 6) == 0;
		cr_assert(i < TICKETS_MAX - 1 || of_other == 8, "%u of 16", of_other);
	}
}

Test(nominations, a_lone_pod_that_goes_withdraws_what_was_not_sent)
{
	two_full_nodes();
	pod("high", 10, "", "", "");
	preempt();
	cr_assert_eq(x.evicts, 1);
	gone("high");
	flush();
	cr_assert_eq(x.cancels, 1);
	cr_assert_eq(counts()->changed, 1);
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), 0);
}

Test(nominations, a_refused_victim_of_a_lone_pod_puts_its_class_off)
{
	char name[32];

	two_full_nodes();
	pod("high", 10, "", "", "");
	preempt();
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "low-%d", i);
		if (asked(name) != 0)
			result(name, RESULT_EVICT_REFUSED);
	}
	cr_assert_eq(counts()->refused, 1);
	cr_assert_eq(x.cleared, 1);
	pod("high-2", 10, "", "", "");
	flush();
	tick(5 * S);
	cr_assert_eq(x.loop.core->tickets.n, 0, "both wait ten seconds");
	tick(10 * S);
	cr_assert_eq(x.loop.core->tickets.n, 2);
}

Test(nominations, a_higher_lone_pod_takes_over_and_evicts_no_other_pod)
{
	node("n1", 1);
	pod("low", 0, "", "n1", "");
	model_set_synced(x.m);
	pod("high", 10, "", "", "");
	preempt();
	cr_assert_eq(x.evicts, 1);
	pod("higher", 20, "", "", "");
	preempt();
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(x.evicts, 1);
	cr_assert_eq(x.cancels, 0);
	cr_assert_eq(x.cleared, 1);
	result("low", RESULT_EVICT_SENT);
	gone("low");
	flush();
	cr_assert_eq(x.binds, 1);
	cr_assert(x.loop.core->pods.slots[pod_named("higher")].node != ID_NONE);
}

Test(nominations, the_next_epoch_makes_those_of_lone_pods_again)
{
	pod_id id;

	two_full_nodes();
	ending("low-2", 0, "n1");
	pod("high", 10, "", "", "");
	pod("not-nominated", 10, "", "", "");
	flush();
	id = pod_named("high");
	model_set_evicts(x.m, true);
	model_nominate(x.m, id, x.loop.core->pods.slots[id].generation, "n1");
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 1, "before any search");
	cr_assert_eq(x.nominated, 1);
	cr_assert_eq(x.cleared + x.evicts, 0);
	gone("low-2");
	flush();
	cr_assert_eq(x.binds, 1);
	cr_assert(x.loop.core->pods.slots[pod_named("high")].node != ID_NONE);
}

Test(nominations, half_of_those_for_lone_pods_are_for_one_namespace)
{
	const uint32_t most = (NOMINATIONS_MAX - NOMINATIONS_GANGS) / 2;
	char name[32];

	node("n1", (int)most + 2);
	for (uint32_t i = 0; i < most + 2; i++) {
		snprintf(name, sizeof(name), "low-%u", i);
		pod(name, 0, "", "n1", "");
		flush();
		ending(name, 0, "n1");
	}
	model_set_synced(x.m);
	flush();
	lone_many(most + 2, 10);
	for (int i = 0; i < 6; i++) {
		preempt_many();
		tick(2 * S);
	}
	cr_assert_eq(x.loop.core->nominations.n, most);
	x.namespace = "other";
	lone_many(1, 10);
	preempt_many();
	cr_assert_eq(x.loop.core->nominations.n, most + 1);
	cr_assert_eq(x.evicts, 0);
}

Test(nominations, a_lone_pod_starts_when_its_victim_is_gone_with_promises)
{
	end();
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 1);
	ends("low", 0, "n1", 1);
	model_set_synced(x.m);
	flush();
	pod("high", 10, "", "", "");
	flush();
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	preempt();
	cr_assert_eq(x.nominated, 1);
	cr_assert_eq(x.evicts, 1);
	result("low", RESULT_EVICT_SENT);
	gone("low");
	flush();
	cr_assert_eq(x.binds, 1);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(x.loop.ledger->starts.standing, 0);
}

Test(nominations, no_pod_goes_for_a_lone_pod_that_would_break_a_promise_of_its_priority)
{
	one_node_that_is_promised();
	pod("high", 10, "", "", "");
	preempt();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
	cr_assert_eq(x.loop.ledger->starts.lost, 0);
}

/* The room of the victim that goes first is held for both until the other one is gone. */
Test(nominations, two_on_one_node_start_when_the_victims_of_both_are_gone)
{
	node("n1", 2);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	model_set_synced(x.m);
	lone_many(2, 10);
	for (int i = 0; i < 3; i++) {
		preempt_many();
		tick(S);
	}
	cr_assert_eq(x.nominated, 2);
	cr_assert_eq(x.evicts, 2);
	result("low-0", RESULT_EVICT_SENT);
	gone("low-0");
	flush();
	cr_assert_eq(counts()->lost, 0);
	cr_assert_eq(counts()->open, 2);
	tick(3 * S);
	result("low-1", RESULT_EVICT_SENT);
	gone("low-1");
	flush();
	cr_assert_eq(x.binds, 2);
	cr_assert_eq(counts()->placed, 2);
	cr_assert_eq(counts()->lost + counts()->wasted, 0);
}

/* Of two cpus; on "": it waits. */
static void large(const char *name, int priority, const char *on, const char *more)
{
	put("v1", "Pod", name, "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d%s%s%s%s,\"containers\":[{"
	    "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]},\"status\":{"
	    "\"phase\":\"%s\"}",
	    priority, *on ? ",\"nodeName\":\"" : "", on, *on ? "\"" : "", more,
	    *on ? "Running" : "Pending");
}

/* The facts of a pod follow its record, and a search may come between. */
Test(nominations, no_pod_goes_for_one_that_is_known_too_late_not_to_preempt)
{
	node("n2", 2);
	large("low-1", 0, "n2", "");
	model_set_synced(x.m);
	large("high", 10, "", "");
	search();
	cr_assert(x.answer);
	large("high", 10, "", ",\"preemptionPolicy\":\"Never\"");
	flush();
	answer_apply();
	cr_assert_eq(x.evicts + x.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
}

/* The lowest ones were given up until it fitted, and the first of them was of no use. */
Test(nominations, a_higher_lone_pod_takes_over_no_room_that_is_of_no_use_to_it)
{
	node("n1", 1);
	node("n2", 2);
	pod("low-0", 0, "", "n1", "");
	large("low-1", 1, "n2", "");
	model_set_synced(x.m);
	pod("a", 5, "", "", "");
	preempt();
	cr_assert(asked("low-0") != 0);
	large("b", 6, "", "");
	preempt();
	cr_assert(asked("low-1") != 0);
	cr_assert_eq(counts()->open, 2);
	large("c", 10, "", "");
	preempt();
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(counts()->open, 2);
	cr_assert_eq(x.evicts, 2);
	cr_assert_eq(x.loop.core->pods.slots[pod_named("a")].node, 0);
	cr_assert_eq(x.loop.core->pods.slots[pod_named("b")].node, ID_NONE);
	cr_assert_eq(x.loop.core->pods.slots[pod_named("c")].node, 1);
}
