/* SPDX-License-Identifier: Apache-2.0 */
/* A model under test: objects in, records to a replay, all counts checked after each step. */
#ifndef MUSTER_TESTS_SUPPORT_MODEL_H
#define MUSTER_TESTS_SUPPORT_MODEL_H

#include "frontend/model/valid.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_replay.h"
#include "tests/unit/test.h"

static struct story {
	struct model *m;
	struct replay replay;
	struct decode_error error;
	int version; /* of the last object */
} s;

/* For tests that don't reach them. */
static const struct limits SMALL = LIMITS_WITH(.shapes = 40, .command_ring_bytes = 8192);

static inline void check(void)
{
	char why[200] = "";

	cr_assert(model_valid(s.m, why, sizeof(why)), "%s", why);
}

static inline void end(void)
{
	check();
	model_free(s.m);
	replay_free(&s.replay);
}

/* The first `schedulers` of muster and second are ours.  Ends the one before. */
static inline void start_model(struct model_config config, size_t schedulers)
{
	static const char *const names[] = { "muster", "second" };

	config.scheduler_names = names;
	config.scheduler_names_n = schedulers;
	config.hash_key[0] = 1;
	config.hash_key[1] = 2;
	if (s.m)
		end();
	memset(&s, 0, sizeof(s));
	s.m = model_new(&config);
	cr_assert(s.m);
	replay_start(&s.replay, &config.limits);
}

/* Send everything; the number of records. */
static inline unsigned flush(void)
{
	unsigned before = s.replay.records;

	cr_assert(replay_flush(&s.replay, s.m, 10000));
	cr_assert(replay_flush(&s.replay, s.m, 0), "nothing is left");
	check();
	return s.replay.records - before;
}

static inline int resource_of(const char *api_version, const char *kind)
{
	int r = model_resource_index(s.m, api_version, kind);

	cr_assert(r >= 0, "%s %s", api_version, kind);
	return r;
}

/* What model_put() returns.  The JSON that it gets is not terminated. */
__attribute__((format(printf, 2, 3))) static inline int put_object(int resource, const char *format,
                                                                   ...)
{
	va_list args;
	char *json, *exact;
	int n, rc;

	va_start(args, format);
	n = vasprintf(&json, format, args);
	va_end(args);
	cr_assert(n > 0);
	exact = malloc((size_t)n);
	cr_assert(exact);
	memcpy(exact, json, (size_t)n);
	rc = model_put(s.m, resource, exact, (size_t)n, &s.error);
	free(exact);
	free(json);
	check();
	return rc;
}

static inline void remove_object(int resource, const char *name, const char *uid, int version)
{
	char json[512];
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
	                 "\"uid\":\"%s\"",
	                 name, uid);

	if (version > 0)
		n += snprintf(json + n, sizeof(json) - (size_t)n, ",\"resourceVersion\":\"%d\"", version);
	n += snprintf(json + n, sizeof(json) - (size_t)n, "}}");
	cr_assert_eq(model_remove(s.m, resource, json, (size_t)n, &s.error), 0);
	check();
}

static inline struct pod_view view_of(const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(s.m, "ns", name, &v), "%s is there", name);
	return v;
}

#endif
