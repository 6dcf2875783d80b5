/* SPDX-License-Identifier: Apache-2.0 */
/* A model under test with a core, and readers for the records of pods and shapes. */
#ifndef MUSTER_TESTS_SUPPORT_RULES_H
#define MUSTER_TESTS_SUPPORT_RULES_H

#include "core/shm/records.h"

#include "tests/unit/support_model.h"

static inline void start(void)
{
	start_model((struct model_config){ .limits = SMALL }, 1);
	replay_add_core(&s.replay);
}

/* An object of that kind; `meta` and `rest` are added to its metadata and to itself. */
static inline int put(const char *api_version, const char *kind, const char *namespace,
                      const char *name, const char *meta, const char *rest)
{
	return put_object(resource_of(api_version, kind),
	                  "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
	                  "\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"%s%s}%s%s}",
	                  api_version, kind, name, namespace, name, ++s.version, *meta ? "," : "", meta,
	                  *rest ? "," : "", rest);
}

static inline void delete (const char *api_version, const char *kind, const char *namespace,
                           const char *name)
{
	char json[512];
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
	                 "\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"}}",
	                 name, namespace, name, ++s.version);

	cr_assert_eq(model_remove(s.m, resource_of(api_version, kind), json, (size_t)n, &s.error), 0);
	check();
}

/* A pod of ours with those labels and that part of its spec. */
static inline int put_pod(const char *name, const char *labels, const char *spec)
{
	char meta[512], rest[4096];

	snprintf(meta, sizeof(meta), "\"labels\":{%s}", labels);
	snprintf(rest, sizeof(rest),
	         "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\",\"resources\":"
	         "{\"requests\":{\"cpu\":\"1\"}}}]%s%s}",
	         *spec ? "," : "", spec);
	return put("v1", "Pod", "ns", name, meta, rest);
}

static inline int put_affinity(const char *name, const char *affinity)
{
	char spec[3000];

	snprintf(spec, sizeof(spec), "\"affinity\":{%s}", affinity);
	return put_pod(name, "\"app\":\"web\"", spec);
}

static inline const struct event_pod *pod(const char *name)
{
	char full[300];
	const struct event_pod *e;

	snprintf(full, sizeof(full), "ns/%s", name);
	e = replay_pod(&s.replay, full);
	cr_assert(e, "%s", full);
	return e;
}

static inline struct shape_record shape(const char *name)
{
	struct shape_record r;

	replay_parts(&s.replay, pod(name), &r);
	return r;
}

static inline const char *key(uint32_t number)
{
	return number == LABEL_KEY_NODE_NAME ? "NAME" : intern_text(&s.m->keys, number);
}

static inline const char *value(uint32_t number)
{
	return intern_text(&s.m->values, number);
}

/* "app In web,api; tier Exists; " of a span of clauses. */
static inline const char *clauses(const struct shape_record *r, const struct requirement *at,
                                  uint32_t n)
{
	static const char *const ops[REQUIRE_OPS] = { "In",           "NotIn", "Exists",
		                                          "DoesNotExist", "Gt",    "Lt" };
	static char text[1024];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s", key(at[i].key),
		                         ops[at[i].op]);
		for (uint32_t v = 0; v < at[i].values_n; v++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%s", v ? ',' : ' ',
			                         value(r->values[at[i].values_first + v]));
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; ");
	}
	return text;
}

static inline const char *span_text(const struct shape_record *r, struct span span)
{
	return clauses(r, r->clauses + span.first, span.n);
}

#endif
