/* SPDX-License-Identifier: Apache-2.0 */
/* A model fed with objects, and what the core was told of pods and their shapes. */
#ifndef MUSTER_TESTS_SUPPORT_RULES_H
#define MUSTER_TESTS_SUPPORT_RULES_H

#include "core/shm/records.h"
#include "frontend/model/model_impl.h"

#include "tests/unit/support_replay.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct limits LIMITS = { .nodes = 8,
	                                  .pods = 32,
	                                  .gangs = 4,
	                                  .shapes = 40,
	                                  .names = 24,
	                                  .resources = 8,
	                                  .name_bytes = 4096,
	                                  .command_ring_bytes = 8192 };

struct story {
	struct model *m;
	struct replay replay;
	struct decode_error error;
	int version;
};

static inline void start(struct story *s)
{
	static const char *const names[] = { "muster" };
	struct model_config config = {
		.scheduler_names = names, .scheduler_names_n = 1, .limits = LIMITS, .hash_key = { 1, 2 }
	};

	memset(s, 0, sizeof(*s));
	s->m = model_new(&config);
	cr_assert(s->m);
	replay_start(&s->replay, &LIMITS);
	replay_add_core(&s->replay);
}

static inline void check(const struct story *s)
{
	char why[200] = "";

	cr_assert(model_valid(s->m, why, sizeof(why)), "%s", why);
}

static inline void end(struct story *s)
{
	check(s);
	model_free(s->m);
	replay_free(&s->replay);
}

static inline int resource_of(const struct story *s, const char *api_version, const char *kind)
{
	int r = model_resource_index(s->m, api_version, kind);

	cr_assert(r >= 0, "%s %s", api_version, kind);
	return r;
}

/* An object of that kind, with what its metadata and itself have more. */
static inline int put(struct story *s, const char *api_version, const char *kind,
                      const char *namespace, const char *name, const char *meta, const char *rest)
{
	static char json[262144];
	int n = snprintf(json, sizeof(json),
	                 "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
	                 "\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"%s%s}%s%s}",
	                 api_version, kind, name, namespace, name, ++s->version, *meta ? "," : "", meta,
	                 *rest ? "," : "", rest);
	char *exact = malloc((size_t)n);
	int rc;

	cr_assert(exact && n < (int)sizeof(json));
	memcpy(exact, json, (size_t)n);
	rc = model_put(s->m, resource_of(s, api_version, kind), exact, (size_t)n, &s->error);
	free(exact);
	check(s);
	return rc;
}

static inline void delete (struct story *s, const char *api_version, const char *kind,
                           const char *namespace, const char *name)
{
	char json[512];
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s\","
	                 "\"resourceVersion\":\"%d\"}}",
	                 name, namespace, name, ++s->version);

	cr_assert_eq(model_remove(s->m, resource_of(s, api_version, kind), json, (size_t)n, &s->error),
	             0);
	check(s);
}

/* A pod of ours with those labels and that part of its spec. */
static inline int put_pod(struct story *s, const char *name, const char *labels, const char *spec)
{
	char meta[512], rest[4096];

	snprintf(meta, sizeof(meta), "\"labels\":{%s}", labels);
	snprintf(rest, sizeof(rest),
	         "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\",\"resources\":"
	         "{\"requests\":{\"cpu\":\"1\"}}}]%s%s}",
	         *spec ? "," : "", spec);
	return put(s, "v1", "Pod", "ns", name, meta, rest);
}

static inline int put_affinity(struct story *s, const char *name, const char *affinity)
{
	char spec[3000];

	snprintf(spec, sizeof(spec), "\"affinity\":{%s}", affinity);
	return put_pod(s, name, "\"app\":\"web\"", spec);
}

/* Everything is sent; how many records that took. */
static inline unsigned flush(struct story *s)
{
	unsigned before = s->replay.records;

	cr_assert(replay_flush(&s->replay, s->m, 10000));
	cr_assert(replay_flush(&s->replay, s->m, 0), "nothing is left");
	check(s);
	return s->replay.records - before;
}

static inline const struct event_pod *pod(struct story *s, const char *name)
{
	char full[300];
	const struct event_pod *e;

	snprintf(full, sizeof(full), "ns/%s", name);
	e = replay_pod(&s->replay, full);
	cr_assert(e, "%s", full);
	return e;
}

static inline struct shape_record shape(struct story *s, const char *name)
{
	struct shape_record r;

	replay_parts(&s->replay, pod(s, name), &r);
	return r;
}

static inline const char *key(const struct story *s, uint32_t number)
{
	return number == LABEL_KEY_NODE_NAME ? "NAME" : intern_text(&s->m->keys, number);
}

static inline const char *value(const struct story *s, uint32_t number)
{
	return intern_text(&s->m->values, number);
}

/* "app In web,api; tier Exists; " of a span of clauses. */
static inline const char *clauses(const struct story *s, const struct shape_record *r,
                                  const struct requirement *at, uint32_t n)
{
	static const char *const ops[REQUIRE_OPS] = { "In",           "NotIn", "Exists",
		                                          "DoesNotExist", "Gt",    "Lt" };
	static char text[1024];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s", key(s, at[i].key),
		                         ops[at[i].op]);
		for (uint32_t v = 0; v < at[i].values_n; v++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%s", v ? ',' : ' ',
			                         value(s, r->values[at[i].values_first + v]));
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; ");
	}
	return text;
}

static inline const char *span_text(const struct story *s, const struct shape_record *r,
                                    struct span span)
{
	return clauses(s, r, r->clauses + span.first, span.n);
}

static inline struct pod_view view_of(struct story *s, const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(s->m, "ns", name, &v));
	return v;
}

#endif
