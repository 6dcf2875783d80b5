/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs and pods that evict: an API server that is a table of what was commanded. */
#ifndef MUSTER_TESTS_SUPPORT_NOMINATIONS_H
#define MUSTER_TESTS_SUPPORT_NOMINATIONS_H

#include "core/lifecycle/reservation.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_lookout.h"

#define PODS 128u

/* Shapes: two rules between pods for each, so that a pod may have more than a question takes. */
static const struct limits LIMITS =
	LIMITS_WITH(.pods = PODS, .gangs = 64, .shapes = 24, .name_bytes = 1 << 16,
                .command_ring_bytes = 1 << 17);

static struct commanded {
	struct record *answers[TICKETS_MAX]; /* with `many`: all of a search */
	unsigned answers_n;
	bool many;
	struct cmd_evict evict; /* the last one */
	uint64_t asked[PODS];   /* by pod: ticket of a CMD_EVICT without a result; 0: none */
	unsigned evicts, cancels, nominated, cleared, binds;
	struct reason why; /* of a lone pod, the last one */
} api;

static inline void answered(void *context, struct record *r)
{
	if (api.many) {
		api.answers[api.answers_n++] = r;
		return;
	}
	free(x.answer);
	x.answer = r;
}

static inline void commanded(enum record_kind kind, const void *body)
{
	const struct cmd_evict *e = body;
	const struct cmd_cancel_evict *q = body;

	switch (kind) {
	case CMD_EVICT:
		cr_assert_eq(api.asked[e->pod], 0, "a pod is evicted twice");
		cr_assert(reservation_is_bound(&x.loop.core->pods.slots[e->pod]));
		api.asked[e->pod] = e->ticket;
		api.evict = *e;
		api.evicts++;
		break;
	case CMD_CANCEL_EVICT:
		cr_assert_eq(api.asked[q->pod], q->ticket);
		api.cancels++;
		break;
	case CMD_NOMINATE:
		*(((const struct cmd_nominate *)body)->node == ID_NONE ? &api.cleared : &api.nominated) +=
			1;
		break;
	case CMD_BIND:
		api.binds++;
		break;
	case CMD_REASON:
		if (((const struct cmd_reason *)body)->gang == ID_NONE)
			api.why = ((const struct cmd_reason *)body)->reason;
		break;
	default:
		break;
	}
}

static inline void begin(enum model_queues_of queues, uint32_t promise_depth, uint64_t reserve_ns)
{
	memset(&api, 0, sizeof(api));
	scene_start(
		(struct core_config){
			.limits = LIMITS, .promise_depth = promise_depth, .reserve_after_ns = reserve_ns },
		queues, (struct lookout_config){ .feed_bytes = FEED_BYTES_LEAST * 16, .answer = answered });
	x.loop.preemption = PREEMPTION_ON | PREEMPTION_EXPLAIN;
	x.loop.command = commanded;
	model_resource_served(x.m, model_resource_index(x.m, "policy/v1", "PodDisruptionBudget"), true);
}

/* The init function of each suite. */
static inline void start(void)
{
	begin(MODEL_QUEUES_NONE, 0, 0);
}

/* In place of what start() made. */
static inline void start_with(enum model_queues_of queues, uint32_t promise_depth,
                              uint64_t reserve_ns)
{
	scene_end();
	begin(queues, promise_depth, reserve_ns);
}

static inline void preempt(void)
{
	search();
	answer_apply();
}

/* The number of evictions so far that are commanded then, and a message. */
#define preempt_evicts(...)                                                                        \
	do {                                                                                           \
		preempt();                                                                                 \
		cr_assert_eq(api.evicts, __VA_ARGS__);                                                     \
	} while (0)

/* The same with all answers of a search. */
static inline void preempt_many(void)
{
	api.many = true;
	search();
	api.many = false;
	for (unsigned i = 0; i < api.answers_n; i++) {
		apply(api.answers[i]);
		free(api.answers[i]);
	}
	api.answers_n = 0;
}

static inline pod_id pod_named(const char *name)
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

static inline const struct pod *pod_slot(const char *name)
{
	return &x.loop.core->pods.slots[pod_named(name)];
}

static inline uint64_t asked(const char *name)
{
	return api.asked[pod_named(name)];
}

static inline void result(const char *name, enum record_kind kind)
{
	const pod_id id = pod_named(name);
	struct {
		struct record head;
		struct evict_result result;
	} r = { .head = { .bytes = sizeof(r), .kind = (uint16_t)kind },
		    .result = { .ticket = api.asked[id],
		                .pod = id,
		                .generation = pod_slot(name)->generation,
		                .node = 0 } };

	api.asked[id] = 0;
	apply(&r.head);
}

/* A victim is evicted, and its object is deleted. */
static inline void goes(const char *name)
{
	result(name, RESULT_EVICT_SENT);
	gone(name);
	flush();
}

static inline void ending(const char *name, int priority, const char *on)
{
	pod(name, priority, "", on,
	    ",\"deletionTimestamp\":\"2026-01-01T00:01:00Z\",\"deletionGracePeriodSeconds\":30");
}

/* Of two cpus; on "": it waits. */
static inline void large(const char *name, int priority, const char *on, const char *more)
{
	put("v1", "Pod", name, "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d%s%s%s%s,\"containers\":[{"
	    "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]},\"status\":{"
	    "\"phase\":\"%s\"}",
	    priority, *on ? ",\"nodeName\":\"" : "", on, *on ? "\"" : "", more,
	    *on ? "Running" : "Pending");
}

/* A bound pod with a known end. */
static inline void ends(const char *name, int priority, const char *on, int cpu)
{
	put("v1", "Pod", name, "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"%s\",\"priority\":%d,"
	    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":1000,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]},\"status\":{\"phase\":\"Running\"}",
	    on, priority, cpu);
}

/* A pod that waits, evicts none and ends within 500 s; `requests` by name, more `status`. */
static inline void brief(const char *name, int priority, const char *meta, const char *requests,
                         const char *status)
{
	put("v1", "Pod", name, meta,
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d,\"preemptionPolicy\":\"Never\","
	    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":500,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{%s}}}]},\"status\":{\"phase\":\"Pending\"%s}",
	    priority, requests, status);
}

static inline void flush_and_tick(int ticks)
{
	flush();
	while (ticks-- > 0)
		tick(3 * S);
}

/* Gang p of priority 10, of brief pods: it gets a promise. */
static inline void promised(int members)
{
	group("p", members);
	for (int i = 0; i < members; i++)
		brief(numbered("p", i), 10, ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"p\"}",
		      "\"cpu\":\"1\"", "");
	flush_and_tick(1);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
}

/* Until the gang that cannot start owns the backfill reservation. */
static inline void reserved(void)
{
	flush_and_tick(4);
	cr_assert_neq(x.loop.core->backfill.gang, ID_NONE);
}

static inline void queue(const char *name, const char *spec)
{
	put("scheduling.volcano.sh/v1beta1", "Queue", name, "", "\"spec\":{%s}", spec);
}

/* Two nodes that four lone pods of priority 0 fill each. */
static inline void two_full_nodes(void)
{
	node("n1", 4);
	node("n2", 4);
	pods("low", 0, 4, 0, "", "n1");
	pods("low", 4, 8, 0, "", "n2");
	model_set_synced(x.m);
}

/* ... go, those that are evicted first told so. */
static inline void all_go(bool of_one_gang)
{
	for (int i = 0; i < 8; i++) {
		cr_assert(!of_one_gang || api.binds == 0, "a binding before the victims are gone");
		if (asked(numbered("low", i)) != 0)
			result(numbered("low", i), RESULT_EVICT_SENT);
		gone(numbered("low", i));
		flush();
	}
}

#endif
