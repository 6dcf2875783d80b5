/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of pods under test, in a world whose API server is the test: pods a to f are there. */
#ifndef MUSTER_TESTS_SUPPORT_REPORT_H
#define MUSTER_TESTS_SUPPORT_REPORT_H

#include "frontend/report/report.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define STATUS(pod) "/api/v1/namespaces/ns/pods/" pod "/status"
#define GROUP(name) "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/" name
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"

static struct bench {
	struct world w;
	struct model *m;
	struct report *r;
} b;

static inline void end(void)
{
	report_free(b.r);
	model_free(b.m);
	world_free(&b.w);
}

static inline void begin_window(unsigned per_second, size_t queue, unsigned connections)
{
	struct report_config config = {
		.env = &b.w.env,
		.per_second = per_second,
		.connections = connections,
		.queue_max = queue,
		.instance = "muster-host",
	};

	if (b.r)
		end();
	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = world_model();
	config.model = b.m;
	for (const char *name = "abcdef"; *name; name++) {
		char text[2] = { *name };

		world_put(b.m, RESOURCE_INDEX_PODS, world_pod(text, "5", "", ""));
	}
	b.r = report_new(&config);
}

static inline void begin_with(unsigned per_second, size_t queue)
{
	begin_window(per_second, queue, 0);
}

static inline void begin(void)
{
	begin_with(100, 10);
}

/* The pod waits: `nodes` makes the text another one. */
static inline void reason(const char *pod, uint32_t why, uint32_t nodes)
{
	struct cmd_reason cmd = { .gang = ID_NONE,
		                      .reason = { .why = why, .nodes = nodes, .need = 1 } };
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	cmd.pod = v.id;
	cmd.pod_generation = v.generation;
	cmd.reason.counts_n = 1;
	cmd.reason.counts[0] = (struct filter_count){ .why = FILTER_CORDONED, .nodes = nodes };
	report_reason(b.r, &cmd);
}

static inline void bound(const char *pod)
{
	struct bind_notice n = {
		.namespace = "ns", .name = pod, .uid = pod, .node = "n1", .scheduler = "muster"
	};

	report_bind(b.r, &n);
}

/* How many requests are open then. */
static inline unsigned open_after(uint64_t ns)
{
	b.w.now_ns += ns;
	report_poll(b.r, false);
	return world_open(&b.w);
}

static inline struct http_call *next(const char *method, const char *path)
{
	report_poll(b.r, false);
	return world_take(&b.w, method, path);
}

/* While bindings wait. */
static inline struct http_call *next_of_many(const char *method, const char *path)
{
	report_poll(b.r, true);
	return world_take(&b.w, method, path);
}

static inline bool has(const struct http_call *c, const char *part)
{
	cr_assert(strstr(c->body, part), "no %s in %s", part, c->body);
	return true;
}

#endif
