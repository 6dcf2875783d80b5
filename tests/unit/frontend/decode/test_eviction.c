/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets, and what evictions read of pods, groups and classes. */
#include "frontend/decode/eviction.h"

#include "frontend/decode/extract.h"
#include "tests/unit/test.h"

TestSuite(eviction);

#define READ(what, source, out)                                                                    \
	do {                                                                                           \
		struct decode_error read_error = { .text = "" };                                           \
		const char *read_text = (source);                                                          \
		cr_assert_eq(extract_##what(read_text, strlen(read_text), &arena, (out), &read_error), 0,  \
		             "%s: %s", read_error.field, read_error.text);                                 \
	} while (0)

static struct arena arena;

static void check_text(struct text got, const char *wanted)
{
	cr_assert(text_is(got, wanted), "%.*s instead of %s", (int)got.bytes, got.at, wanted);
}

Test(eviction, a_budget)
{
	struct budget_object b;

	READ(budget,
	     "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"b\"},\"spec\":{\"maxUnavailable\":1,"
	     "\"selector\":{\"matchLabels\":{\"app\":\"x\"}}},\"status\":{\"disruptionsAllowed\":2,"
	     "\"disruptedPods\":{\"p\":\"2026-01-01T00:00:00Z\",\"q\":null}}}",
	     &b);
	cr_assert_eq(b.allowed, 2);
	cr_assert(b.selector.is_given);
	cr_assert_eq(b.disrupted.n, 2);
	check_text(b.disrupted.at[0].key, "p");
	READ(budget, "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"selector\":null},\"status\":{}}", &b);
	cr_assert(!b.selector.is_given && b.allowed == 0 && b.disrupted.n == 0);
	arena_free(&arena);
}

Test(eviction, a_budget_that_cannot_be_read)
{
	static const char text[] = "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"b\"},\"status\":{"
							   "\"disruptionsAllowed\":\"two\"}}";
	struct decode_error error = { .text = "" };
	struct budget_object b;

	cr_assert_eq(extract_budget(text, strlen(text), &arena, &b, &error), -EINVAL);
	cr_assert_str_eq(error.object, "PodDisruptionBudget ns/b");
	cr_assert_str_eq(error.field, "status.disruptionsAllowed");
	arena_free(&arena);
}

Test(eviction, a_pod)
{
	struct evicted_pod_object p;

	READ(
		evicted_pod,
		"{\"metadata\":{\"name\":\"p\",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"name\":\"d\","
		"\"uid\":\"u\",\"apiVersion\":\"apps/v1\",\"controller\":true}]},\"spec\":{"
		"\"priorityClassName\":\"low\",\"preemptionPolicy\":\"Never\"},\"status\":{\"startTime\":"
		"\"1970-01-01T00:00:07Z\",\"nominatedNodeName\":\"n\",\"conditions\":[{\"type\":"
		"\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"PreemptionByScheduler\"}]}}",
		&p);
	check_text(p.owner.kind, "DaemonSet");
	check_text(p.scheduler_name, "default-scheduler");
	check_text(p.priority_class, "low");
	check_text(p.policy, "Never");
	check_text(p.nominated, "n");
	cr_assert_eq(p.start_ns, UINT64_C(7000000000));
	cr_assert(p.preempted);
	READ(evicted_pod,
	     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulerName\":\"s\"},\"status\":{"
	     "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
	     "\"EvictionByEvictionAPI\"}]}}",
	     &p);
	check_text(p.scheduler_name, "s");
	check_text(p.policy, "");
	check_text(p.nominated, "");
	cr_assert(!p.preempted && p.start_ns == 0);
	arena_free(&arena);
}

Test(eviction, modes_of_a_group)
{
	static const char *const texts[][2] = { { "\"PodGroup\"", "PodGroup" },
		                                    { "{\"all\":{}}", "all" },
		                                    { "{\"single\":{}}", "single" },
		                                    { "{}", "" },
		                                    { "null", "" },
		                                    { "7", "" } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct evicted_group_object g;
		char text[200];

		snprintf(text, sizeof(text),
		         "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"disruptionMode\":%s}}", texts[i][0]);
		READ(evicted_group, text, &g);
		check_text(g.mode, texts[i][1]);
	}
	arena_free(&arena);
}

Test(eviction, a_class_and_an_annotation)
{
	struct priority_class_object c;

	READ(priority_class,
	     "{\"metadata\":{\"name\":\"c\",\"annotations\":{\"a\":\"x\\u0041\"}},\"value\":1,"
	     "\"preemptionPolicy\":\"Never\",\"globalDefault\":true}",
	     &c);
	check_text(c.policy, "Never");
	cr_assert(c.is_default);
	cr_assert(annotation_is(&c.meta, "a", "xA", &arena));
	cr_assert(!annotation_is(&c.meta, "a", "x", &arena) &&
	          !annotation_is(&c.meta, "b", "", &arena));
	arena_free(&arena);
}

/* By the rules of a label selector, of pods with app=x and tier=1. */
Test(eviction, selectors_match)
{
	static const struct {
		const char *selector;
		bool matches;
	} cases[] = {
		{ "{}", true },
		{ "null", false },
		{ "{\"matchLabels\":{\"app\":\"x\"}}", true },
		{ "{\"matchLabels\":{\"app\":\"x\",\"tier\":\"2\"}}", false },
		{ "{\"matchLabels\":{\"none\":\"x\"}}", false },
		{ "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"y\",\"x\"]}]}",
		  true },
		{ "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"x\"]}]}",
		  false },
		{ "{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"NotIn\",\"values\":[\"x\"]}]}",
		  true },
		{ "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", true },
		{ "{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"Exists\"}]}", false },
		{ "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"DoesNotExist\"}]}", false },
		{ "{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"DoesNotExist\"}]}", true },
	};
	struct meta meta;

	extract_meta_start(&meta);
	READ(meta, "{\"metadata\":{\"name\":\"p\",\"labels\":{\"app\":\"x\",\"tier\":\"1\"}}}", &meta);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct budget_object b;
		char text[300];

		snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"selector\":%s}}",
		         cases[i].selector);
		READ(budget, text, &b);
		cr_assert_eq(selector_object_matches(&b.selector, &meta.labels), cases[i].matches, "%s",
		             cases[i].selector);
	}
	arena_free(&arena);
}
