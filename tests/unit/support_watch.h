/* SPDX-License-Identifier: Apache-2.0 */
/* A watch under test in a world whose API server is the test; one at a time. */
#ifndef MUSTER_TESTS_SUPPORT_WATCH_H
#define MUSTER_TESTS_SUPPORT_WATCH_H

#include "frontend/watch/watch.h"

#include "tests/unit/support_world.h"

#define PODS RESOURCE_INDEX_PODS
#define GROUPS RESOURCE_INDEX_DIALECTS

static struct bench {
	struct world w;
	struct model *m;
	struct watch *watch;
} b;

static inline void end(void)
{
	watch_free(b.watch);
	model_free(b.m);
	world_free(&b.w);
}

static inline void begin(int index)
{
	if (b.m)
		end();
	world_init(&b.w);
	b.m = world_model();
	b.watch = watch_new(&b.w.env, b.m, index);
	watch_poll(b.watch);
}

/* Its number, which is the same in each model. */
static inline int world_resource(const char *api_version, const char *kind)
{
	struct model *m = world_model();
	int index = model_resource_index(m, api_version, kind);

	model_free(m);
	return index;
}

static inline const char *list_of(const char *version, const char *token, const char *items)
{
	static char text[16384];

	snprintf(text, sizeof(text),
	         "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%s\",\"continue\":\"%s\"},"
	         "\"items\":[%s]}",
	         version, token, items);
	return text;
}

static inline char *event_of(const char *type, const char *object)
{
	static char text[8192];

	snprintf(text, sizeof(text), "{\"type\":\"%s\",\"object\":%s}\n", type, object);
	return text;
}

static inline bool has_pod(const char *name)
{
	struct pod_view v;

	return model_pod_by_name(b.m, "ns", name, &v);
}

static inline void pass(uint64_t ns)
{
	b.w.now_ns += ns;
	watch_poll(b.watch);
}

/* The request that a poll starts. */
static inline struct http_call *next(const char *path)
{
	watch_poll(b.watch);
	return world_take(&b.w, "GET", path);
}

/* List pods "a" at version 10 and start the watch. */
static inline struct http_call *watching(void)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=500"), 200,
	             list_of("10", "", world_pod("a", "9", "", "")));
	return next(
		"/api/v1/pods?watch=1&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds=90");
}

/* The wait that watch_poll() asks for, in ms. */
static inline unsigned wait_ms(void)
{
	uint64_t due = watch_poll(b.watch);

	cr_assert_eq(world_open(&b.w), 0, "a request before its time");
	cr_assert_neq(due, UINT64_MAX);
	return (unsigned)((due - b.w.now_ns) / MS);
}

/* The wait is so long, and over. */
static inline void wait_out(unsigned ms)
{
	cr_assert_eq(wait_ms(), ms);
	pass(ms * MS);
}

/* A connection broke: the server is asked for its version before the next watch. */
static inline void same_state(void)
{
	world_answer(next("/api/v1/pods?limit=1"), 200, list_of("99", "", ""));
	watch_poll(b.watch);
}

#endif
