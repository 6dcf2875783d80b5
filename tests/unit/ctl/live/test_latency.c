/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of two reads of latencies, and traces of what a server may answer. */
#include "ctl/live/latency.h"

#include "tests/unit/test.h"

#define US UINT64_C(1000)

static struct latency_page before, after;

static void begin(void)
{
	memset(&before, 0, sizeof(before));
	before.stages_n = 1;
	before.fine = buckets_fine;
}

TestSuite(latency_since, .init = begin);

static void add(struct latency_page *p, uint64_t ns, unsigned n)
{
	struct latency_stage *s = &p->stages[0];

	while (n-- > 0)
		histogram_add(&s->fine, &buckets_fine, ns);
	s->n = s->fine.n;
	s->max = s->fine.max;
}

Test(latency_since, has_what_came_between_alone)
{
	const struct latency_stage *s = &after.stages[0];

	add(&before, 50000 * US, 1000);
	after = before;
	add(&after, 100 * US, 99);
	add(&after, 900 * US, 1);
	after.pods_n = 2;
	after.pods[0].ago_ns = 20;
	after.pods[1].ago_ns = 5;
	cr_assert(latency_since(&after, &before, 10));
	cr_assert_eq(s->n, 100);
	cr_assert(s->p50 > 88 * US && s->p50 <= 112 * US, "%llu", (unsigned long long)s->p50);
	cr_assert(s->p9999 > 800 * US && s->max <= 1024 * US && s->p9999 <= s->max);
	cr_assert_eq(after.pods_n, 1);
	cr_assert_eq(after.pods[0].ago_ns, 5);
}

Test(latency_since, nothing_came)
{
	add(&before, 100 * US, 3);
	after = before;
	cr_assert(latency_since(&after, &before, 10));
	cr_assert_eq(after.stages[0].n, 0);
	cr_assert_eq(after.stages[0].max, 0);
}

/* A server that was started between, or one that tells no buckets. */
Test(latency_since, no_difference)
{
	add(&before, 100 * US, 3);
	after = before;
	memset(&after.stages[0], 0, sizeof(after.stages[0]));
	add(&after, 200 * US, 4);
	cr_assert(!latency_since(&after, &before, 10));
	after = before;
	after.fine.n = 0;
	cr_assert(!latency_since(&after, &before, 10));
	after = before;
	memset(&after.stages[0].fine, 0, sizeof(after.stages[0].fine));
	cr_assert(!latency_since(&after, &before, 10));
}

static uint32_t trace(const char *text, enum trace_format format, char **out)
{
	size_t bytes;
	FILE *f = open_memstream(out, &bytes);
	uint32_t n = latency_trace(text, strlen(text), format, f);

	fclose(f);
	return n;
}

Test(latency_trace, a_member_that_waits_is_unfinished)
{
	char *out;

	cr_assert_eq(
		trace("{\"gang\":\"ns/g\",\"stages\":[[\"extract\",\"e\"],[\"wait\",\"w\"]],\"pods\":["
	          "{\"pod\":\"a\",\"node\":\"\",\"start_us\":7,\"at\":\"wait\",\"us\":[2,30]},"
	          "{\"pod\":\"b\",\"node\":\"\"}]}",
	          TRACE_EVENTS, &out),
		1);
	cr_assert(strstr(out, "\"name\":\"extract\",\"cat\":\"stage\",\"ph\":\"X\",\"pid\":1,\"tid\":1,"
	                      "\"ts\":7,\"dur\":2,"));
	cr_assert(strstr(
		out, "\"ts\":9,\"dur\":30,\"args\":{\"node\":\"\",\"what\":\"w\",\"unfinished\":true}"));
	free(out);
}

Test(latency_trace, what_is_no_gang_has_no_member)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"pods\":7}",
		"{\"pods\":[{\"us\":\"x\"}]}",
		"{\"stages\":[[1]],\"pods\":[{\"us\":[-1,1e300]}]}",
	};
	char *out;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_assert_leq(trace(texts[i], TRACE_EVENTS, &out), 1);
		cr_assert_null(strstr(out, "\"ph\":\"X\""), "%s", out);
		free(out);
		cr_assert_leq(trace(texts[i], TRACE_OTLP, &out), 1);
		cr_assert_null(strstr(out, "muster.what"), "%s", out);
		free(out);
	}
}

/* The text of the span of that name, up to its attributes. */
static const char *span(const char *out, const char *name)
{
	char text[64];
	const char *at;

	snprintf(text, sizeof(text), "\"name\":\"%s\"", name);
	at = strstr(out, text);
	cr_assert(at, "%s in %s", name, out);
	return at;
}

Test(latency_trace, spans_of_otlp_have_times_since_1970_and_ids_that_stay)
{
	static const char text[] =
		"{\"gang\":\"ns/g\",\"stages\":[[\"extract\",\"e\"],[\"wait\",\"w\"]],\"pods\":["
		"{\"pod\":\"a\",\"node\":\"n\",\"start_us\":7,\"at\":\"wait\",\"us\":[2,30]}],"
		"\"start_unix_us\":1700000000000001,\"start_boot_us\":5}";
	char *out, *again;

	cr_assert_eq(trace(text, TRACE_OTLP, &out), 1);
	trace(text, TRACE_OTLP, &again);
	cr_assert_str_eq(out, again);
	cr_assert(strstr(span(out, "ns/g"), "\"startTimeUnixNano\":\"1700000000000001000\","
	                                    "\"endTimeUnixNano\":\"1700000000000040000\""));
	cr_assert(strstr(span(out, "wait"), "\"startTimeUnixNano\":\"1700000000000010000\","
	                                    "\"endTimeUnixNano\":\"1700000000000040000\""));
	cr_assert(strstr(span(out, "wait"), "\"muster.unfinished\""));
	free(out);
	free(again);
}
