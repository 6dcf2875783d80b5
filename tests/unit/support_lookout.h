/* SPDX-License-Identifier: Apache-2.0 */
/* A loop, a world that follows it and the lookout in one thread; its objects are put as an API
 * server would send them, with uid "u-NAME" and a new resourceVersion each. */
#ifndef MUSTER_TESTS_SUPPORT_LOOKOUT_H
#define MUSTER_TESTS_SUPPORT_LOOKOUT_H

#include "core/lifecycle/state.h"
#include "core/step/core.h"
#include "core/world/lookout.h"
#include "frontend/model/model.h"
#include "ipc/memory.h"
#include "tests/unit/support_followed.h"
#include "tests/unit/test.h"

#define S UINT64_C(1000000000)
#define API "scheduling.x-k8s.io/v1alpha1"

struct scene {
	struct loop loop;
	struct model *m;
	struct lookout *lookout;
	struct core_searches stats;
	struct victims_row *rows;
	const char *namespace; /* of what is put */
	unsigned version;
	struct record *answer; /* that has come; not applied yet */
	uint64_t now_ns;
};

static struct scene x;

/* What `config` leaves out is the scene's. */
static inline void lookout_start(struct lookout_config config)
{
	lookout_free(x.lookout);
	config.follower = x.loop.world;
	config.stats = &x.stats;
	config.rows = x.rows;
	config.steps_most = LOOKOUT_STEPS;
	x.lookout = lookout_new(&config);
}

static inline void scene_start(struct core_config core, enum model_queues_of queues,
                               struct lookout_config lookout)
{
	static const char *const names[] = { "muster" };
	struct model_config config = { .limits = core.limits,
		                           .scheduler_names = names,
		                           .scheduler_names_n = 1,
		                           .preemption = true,
		                           .may_evict = true,
		                           .queues = queues };

	memset(&x, 0, sizeof(x));
	x.namespace = "ns";
	x.m = model_new(&config);
	loop_new(&x.loop, core, lookout.feed_bytes);
	x.rows = must_array(VICTIMS_ROWS, sizeof(*x.rows));
	lookout_start(lookout);
}

static inline void scene_end(void)
{
	lookout_free(x.lookout);
	loop_end(&x.loop);
	model_free(x.m);
	free(x.rows);
	free(x.answer);
}

static inline void put(const char *api, const char *kind, const char *name, const char *meta,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

static inline void put(const char *api, const char *kind, const char *name, const char *meta,
                       const char *format, ...)
{
	struct decode_error error = { 0 };
	char rest[2048], json[4096];
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

static inline void gone(const char *name)
{
	char json[256];

	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"}}",
	         name, name, ++x.version);
	cr_assert_eq(model_remove(x.m, RESOURCE_INDEX_PODS, json, strlen(json), NULL), 0);
}

static inline void node(const char *name, int cpu)
{
	put("v1", "Node", name, "",
	    "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":\"99\"}}", cpu);
}

/* group "": a lone pod; on "": it waits, else it started in that second. */
static inline void pod_since(const char *name, int priority, const char *group, const char *on,
                             int start_s, const char *meta)
{
	char labels[512], where[128] = "", started[128] = "";

	snprintf(labels, sizeof(labels), ",\"labels\":{\"app\":\"a\"%s%s%s}%s",
	         *group ? ",\"scheduling.x-k8s.io/pod-group\":\"" : "", group, *group ? "\"" : "",
	         meta);
	if (*on) {
		snprintf(where, sizeof(where), ",\"nodeName\":\"%s\"", on);
		snprintf(started, sizeof(started), ",\"startTime\":\"2026-01-01T00:00:%02dZ\"", start_s);
	}
	put("v1", "Pod", name, labels,
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d%s,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"%s\"%s}",
	    priority, where, *on ? "Running" : "Pending", started);
}

static inline void pod(const char *name, int priority, const char *group, const char *on,
                       const char *meta)
{
	pod_since(name, priority, group, on, 0, meta);
}

static inline void group_with(const char *name, int quorum, const char *meta)
{
	put(API, "PodGroup", name, meta, "\"spec\":{\"minMember\":%d}", quorum);
}

static inline void group(const char *name, int quorum)
{
	group_with(name, quorum, "");
}

/* "STEM-I", good until four more were made; STEM is none of them. */
static inline const char *numbered(const char *stem, int i)
{
	static char names[4][64];
	static unsigned next;
	char *name = names[next++ % 4];

	snprintf(name, sizeof(names[0]), "%s-%d", stem, i);
	return name;
}

/* Pods STEM-FROM to STEM-(END-1). */
static inline void pods(const char *stem, int from, int end, int priority, const char *group_name,
                        const char *on)
{
	for (int i = from; i < end; i++)
		pod(numbered(stem, i), priority, group_name, on, "");
}

/* A gang that waits, and its members. */
static inline void waits(const char *name, int members, int priority)
{
	group(name, members);
	pods(name, 0, members, priority, name, "");
}

/* All that the model has is sent, and core and world are valid then. */
static inline void flush(void)
{
	char why[256];

	loop_flush(&x.loop, x.m);
	core_show(x.loop.core);
	core_show(follower_core(x.loop.world));
	cr_assert(core_valid(x.loop.core, why, sizeof(why)), "%s", why);
	cr_assert_eq(follower_state(x.loop.world), WORLD_FOLLOWS);
	cr_assert(core_valid(follower_core(x.loop.world), why, sizeof(why)), "the world: %s", why);
}

/* The lists are complete. */
static inline void synced(void)
{
	model_set_synced(x.m);
	flush();
}

/* A record of the loop, and plans until there is nothing to plan. */
static inline void apply(struct record *r)
{
	r->epoch = x.loop.core->epoch;
	r->time_ns = x.loop.core->now_ns;
	loop_step(&x.loop, r, UINT32_MAX);
	cr_assert_str_eq(core_fault(x.loop.core), "");
	follower_run(x.loop.world, UINT32_MAX);
	flush();
}

static inline void tick(uint64_t more_ns)
{
	struct record r = { .bytes = sizeof(r), .kind = EVENT_TICK, .epoch = x.loop.core->epoch };

	x.loop.time_ns += more_ns;
	r.time_ns = x.loop.core->now_ns + more_ns;
	loop_step(&x.loop, &r, UINT32_MAX);
	follower_run(x.loop.world, UINT32_MAX);
	flush();
}

/* The answer to the open ticket goes to lookout_config.answer. */
static inline void search(void)
{
	flush();
	lookout_run(x.lookout, x.now_ns += 10 * S);
}

static inline struct record *answer_take(void)
{
	struct record *r = x.answer;

	cr_assert(r, "no answer");
	x.answer = NULL;
	return r;
}

static inline void answer_apply(void)
{
	struct record *r = answer_take();

	apply(r);
	free(r);
}

static inline const struct core_preemption *counts(void)
{
	return &x.loop.ledger->preemption;
}

#endif
