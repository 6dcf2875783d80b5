/* SPDX-License-Identifier: Apache-2.0 */
/* That DeviceTaintRules are ignored is in the log once. */
#include "frontend/bind/taint_rules.h"
#include "frontend/base/log.h"
#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define BETA "/apis/resource.k8s.io/v1beta2/devicetaintrules?limit=1"
#define ALPHA "/apis/resource.k8s.io/v1alpha3/devicetaintrules?limit=1"
#define MINUTES(n) ((n)*UINT64_C(60000000000))

static struct world w;
static struct taint_rules *t;

static void begin(void)
{
	world_init(&w);
	t = taint_rules_new(&w.env);
}

static void end(void)
{
	taint_rules_free(t);
	world_free(&w);
}

TestSuite(taint_rules, .init = begin, .fini = end);

static void answer(const char *path, int status, const char *body)
{
	taint_rules_poll(t);
	world_answer(world_take(&w, "GET", path), status, body);
}

Test(taint_rules, the_first_is_named_once)
{
	answer(BETA, 200, "{\"items\":[]}");
	taint_rules_poll(t);
	cr_assert_eq(world_open(&w), 0);
	w.now_ns += MINUTES(11);
	answer(BETA, 200, "{\"items\":[{\"metadata\":{\"name\":\"broken-fans\"}}]}");
	cr_assert(world_said(&w, "DeviceTaintRule broken-fans is ignored, as all are"));
	w.now_ns += MINUTES(60);
	cr_assert_eq(taint_rules_poll(t), NEVER_NS);
	cr_assert_eq(world_open(&w), 0);
}

Test(taint_rules, an_older_version_is_read_where_the_newer_is_not_served)
{
	answer(BETA, 404, "{}");
	answer(ALPHA, 200, "{\"items\":[{\"metadata\":{\"name\":\"old\"}}]}");
	cr_assert(world_said(&w, "DeviceTaintRule old is ignored"));
}

Test(taint_rules, what_is_not_served_or_forbidden_is_asked_for_later)
{
	answer(BETA, 404, "{}");
	answer(ALPHA, 404, "{}");
	taint_rules_poll(t);
	cr_assert_eq(world_open(&w), 0);
	w.now_ns += MINUTES(11);
	answer(BETA, 403, "{}");
	taint_rules_poll(t);
	cr_assert_eq(world_open(&w), 0);
	w.now_ns += MINUTES(11);
	answer(BETA, 200, "no list");
	taint_rules_poll(t);
	cr_assert_eq(world_open(&w), 0);
	cr_assert_not(world_said(&w, "DeviceTaintRule"));
	/* One in flight at the end. */
	w.now_ns += MINUTES(11);
	taint_rules_poll(t);
}
