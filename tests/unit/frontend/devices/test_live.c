/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants write in claims: nothing that the core refuses. */
#include "frontend/devices/live_impl.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

static const uint64_t key[2] = { 1, 2 };
static struct live *l;

static void put(enum live_kind kind, const char *json)
{
	struct decode_error e = { 0 };

	cr_assert_eq(live_put(l, kind, json, strlen(json), &e), 0, "%s", e.text);
}

static void begin(void)
{
	l = live_new(key);
	put(LIVE_CLASSES, "{\"metadata\":{\"name\":\"gpu\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
	                  "\"spec\":{}}");
}

static void end(void)
{
	live_free(l);
}

TestSuite(live, .init = begin, .fini = end);

/* Of `count` devices; 0: without requests. */
static void claim(const char *space, const char *name, unsigned count, const char *more)
{
	char text[1024], requests[256] = "";

	if (count > 0)
		snprintf(requests, sizeof(requests),
		         "\"requests\":[{\"name\":\"r%u\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]",
		         count);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{%s%s}}}",
	         space, name, name, requests, more);
	put(LIVE_CLAIMS, text);
}

/* With one claim or two. */
static void pod(uint32_t slot, const char *space, const char *first, const char *second)
{
	char text[1024], more[256] = "";

	if (second)
		snprintf(more, sizeof(more), ",{\"name\":\"y\",\"resourceClaimName\":\"%s\"}", second);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"p%u\",\"uid\":\"p%u\"},\"spec\":{"
	         "\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"%s\"}%s]}}",
	         space, slot, slot, first, more);
	cr_assert(live_pod_set(l, slot, text, strlen(text)));
}

static struct live_verdict judged(uint32_t slot)
{
	struct live_verdict v;

	live_judge(l, slot, false, &v);
	return v;
}

/* The core takes claims that are numbered without gaps, and ends on any other record. */
Test(live, a_claim_without_requests_beside_another_ends_no_core)
{
	claim("a", "empty", 0, "");
	claim("a", "one", 1, "");
	claim("a", "held", 0, "\"constraints\":[{\"matchAttribute\":\"d/x\"}]");
	pod(0, "a", "empty", "one");
	pod(1, "a", "one", "held");
	for (uint32_t i = 0; i < 2; i++) {
		const struct live_verdict v = judged(i);

		cr_assert_not_null(v.refusal);
		cr_assert_str_eq(v.refusal, "muster does not support resource claims without requests yet");
		cr_assert_eq(v.devices, 0);
	}
	cr_assert_eq(live_question_next(l), UINT32_MAX);
}
