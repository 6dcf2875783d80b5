/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a live cluster under test, with one device class without a selector. */
#ifndef MUSTER_TESTS_SUPPORT_LIVE_H
#define MUSTER_TESTS_SUPPORT_LIVE_H

#include "frontend/devices/live_impl.h"
#include "tests/unit/test.h"

static struct live *l;

static inline void put(enum live_kind kind, const char *json)
{
	struct decode_error e = { 0 };

	cr_assert_eq(live_put(l, kind, json, strlen(json), &e), 0, "%s", e.text);
}

static inline void begin(void)
{
	static const uint64_t key[2] = { 1, 2 };

	l = live_new(key);
	put(LIVE_CLASSES, "{\"metadata\":{\"name\":\"gpu\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
	                  "\"spec\":{}}");
}

static inline struct live_verdict judged(uint32_t slot)
{
	struct live_verdict v;

	live_judge(l, slot, false, &v);
	return v;
}

static inline void end(void)
{
	live_free(l);
}

#endif
