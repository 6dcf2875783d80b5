/* SPDX-License-Identifier: Apache-2.0 */
/* The ConfigMap of what queues used in the past: its text, what is refused, and when it is read and
 * written. */
#include "frontend/queues/past_store.h"

#include "frontend/base/log.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define NOW_S UINT64_C(1790000000)
#define HALF_LIFE_S 1000u
#define ALL "/api/v1/namespaces/ns/configmaps"
#define ONE ALL "/h"

static char why[700];

static struct queues_past *reread(const struct queues_past *p)
{
	struct jsonout out = { 0 };
	struct queues_past *again;

	cr_assert_eq(past_write(p, &out), 0);
	again = past_read(out.at, out.bytes, NOW_S, why, sizeof(why));
	cr_assert(again, "%s: %s", why, out.at);
	jsonout_free(&out);
	return again;
}

Test(past, is_read_as_it_was_written)
{
	struct queues_past *p = past_new(NOW_S - 5, HALF_LIFE_S), *again;
	struct jsonout out = { 0 };

	past_add_queue(p, "a \"b\"");
	past_add_amount(p, "cpu", 1500, QUEUE_PAST_ONE / 4);
	past_add_amount(p, "memory", 0, 0);
	past_add_amount(p, "nvidia.com/gpu", INT64_MAX, 7);
	past_add_queue(p, "unused");
	past_add_queue(p, "c");
	past_add_amount(p, "cpu", 0, 1);
	past_write(p, &out);
	cr_assert_str_eq(out.at, "{\"format\":\"1\",\"unixSeconds\":\"1789999995\",\"halfLifeSeconds\":"
	                         "\"1000\",\"queues\":\"{\\\"a \\\\\\\"b\\\\\\\"\\\":{\\\"cpu\\\":"
	                         "\\\"1500.2500000000\\\",\\\"nvidia.com/gpu\\\":"
	                         "\\\"1152921504606846976\\\"},"
	                         "\\\"c\\\":{\\\"cpu\\\":\\\"0.0000000010\\\"}}\"}");
	jsonout_free(&out);
	again = reread(p);
	cr_assert_eq(again->at_s, NOW_S - 5);
	cr_assert_eq(again->half_life_s, HALF_LIFE_S);
	cr_assert_eq(again->n, 2);
	cr_assert_str_eq(again->queues[0].name, "a \"b\"");
	cr_assert_eq(again->queues[0].amounts_n, 2);
	cr_assert_eq(again->amounts[0].value, 1500);
	cr_assert_eq(again->amounts[0].part, QUEUE_PAST_ONE / 4);
	cr_assert_eq(again->amounts[1].value, PAST_MOST);
	cr_assert_eq(again->amounts[2].part, 1);
	past_free(p);
	past_free(again);
}

Test(past, every_part_is_read_as_it_was_written)
{
	struct queues_past *p = past_new(NOW_S, HALF_LIFE_S), *again;

	past_add_queue(p, "q");
	past_add_amount(p, "r", 0, (uint32_t)QUEUE_PAST_ONE - 1);
	for (int i = 0; i < 100000; i++)
		past_add_amount(p, "r", PAST_MOST - 1 - i, (uint32_t)(rand() % QUEUE_PAST_ONE));
	for (int i = 0; i < 10000; i++)
		past_add_queue(p, "unused");
	/* Too long for a ConfigMap: in pieces. */
	for (size_t first = 0; first < p->amounts_n; first += 10000) {
		struct queues_past part = { .at_s = NOW_S, .half_life_s = 1, .n = 1 };
		struct past_queue queue = { .name = "q" };

		queue.amounts_n = p->amounts_n - first < 10000 ? p->amounts_n - first : 10000;
		part.queues = &queue;
		part.amounts = p->amounts + first;
		again = reread(&part);
		cr_assert_eq(again->amounts_n, queue.amounts_n);
		for (size_t i = 0; i < again->amounts_n; i++)
			cr_assert(again->amounts[i].value == part.amounts[i].value &&
			          again->amounts[i].part == part.amounts[i].part);
		past_free(again);
	}
	past_free(p);
}

/* The API server takes 1 MiB; queues that have no room are left out, and the rest can be read. */
Test(past, its_size_is_bounded)
{
	struct queues_past *p = past_new(NOW_S, HALF_LIFE_S), *again;
	struct jsonout out = { 0 };
	char name[QUEUE_NAME_MAX];
	size_t left_out;

	for (uint32_t i = 0; i < QUEUES_MAX; i++) {
		snprintf(name, sizeof(name), "%0250u", i);
		past_add_queue(p, name);
		past_add_amount(p, "cpu", 1, 0);
	}
	left_out = past_write(p, &out);
	cr_assert_gt(left_out, 0);
	cr_assert_lt(out.bytes, 900u << 10);
	again = past_read(out.at, out.bytes, NOW_S, why, sizeof(why));
	cr_assert(again, "%s", why);
	cr_assert_eq(again->n, QUEUES_MAX - left_out);
	past_free(again);
	past_free(p);
	jsonout_free(&out);
}

#define HEAD "\"format\":\"1\",\"unixSeconds\":\"1790000000\",\"halfLifeSeconds\":\"1000\","
#define GPU(value)                                                                                 \
	"{" HEAD "\"queues\":\"{\\\"a\\\":{\\\"cpu\\\":\\\"1\\\",\\\"gpu\\\":" value "}}\"}"
#define NUMBER(value) GPU("\\\"" value "\\\"")
#define OF_A "data.queues, queue a, resource gpu: "

static const struct {
	const char *data, *why;
} refused[] = {
	{ "", "data" },
	{ "[]", "data" },
	{ "null", "data.format: \"\" is not \"1\"" },
	{ "{\"format\":\"2\"}", "data.format: \"2\" is not \"1\"" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"\"}", "data.unixSeconds: \"\" is not" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"-1\"}", "data.unixSeconds: \"-1\" is not" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"1790000301\"}",
	  "data.unixSeconds: \"1790000301\" is not" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"18446744073709551617\"}", "data.unixSeconds: \"18446" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"1\",\"halfLifeSeconds\":\"0\"}",
	  "data.halfLifeSeconds: \"0\" is not" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"1\",\"halfLifeSeconds\":\"7776001\"}",
	  "data.halfLifeSeconds: \"7776001\" is not" },
	{ "{\"format\":\"1\",\"unixSeconds\":\"1\",\"halfLifeSeconds\":\"9\"}",
	  "data.queues: \"\" is not" },
	{ "{" HEAD "\"queues\":\"what\"}", "data.queues" },
	{ "{" HEAD "\"queues\":\"{\\\"a\\\":{\"}", "data.queues" },
	{ "{" HEAD "\"queues\":\"{} {}\"}", "data.queues" },
	{ "{" HEAD "\"queues\":\"[]\"}", "data.queues" },
	{ "{" HEAD "\"queues\":\"{\\\"a\\\":5}\"}", "data.queues" },
	{ "{" HEAD "\"queues\":\"{\\\"\\\":{}}\"}", "data.queues: \"\" is not the name of a queue" },
	{ "{" HEAD "\"queues\":\"{\\\"a\\\":{\\\"\\\":1}}\"}",
	  "data.queues, queue a, resource : \"1\"" },
	{ NUMBER("-3"), OF_A "\"-3\" is not a number" },
	{ NUMBER("+3"), OF_A "\"+3\" is not" },
	{ NUMBER("x"), OF_A "\"x\" is not" },
	{ NUMBER(""), OF_A "\"\" is not" },
	{ NUMBER("."), OF_A "\".\" is not" },
	{ NUMBER("1."), OF_A "\"1.\" is not" },
	{ NUMBER(".5"), OF_A "\".5\" is not" },
	{ NUMBER("1.5.5"), OF_A "\"1.5.5\" is not" },
	{ NUMBER("1.-5"), OF_A "\"1.-5\" is not" },
	{ NUMBER("1.00000000001"), OF_A "\"1.00000000001\" is not" },
	{ NUMBER("1e3"), OF_A "\"1e3\" is not" },
	{ NUMBER("NaN"), OF_A "\"NaN\" is not" },
	{ NUMBER(" 1"), OF_A "\" 1\" is not" },
	{ NUMBER("1152921504606846977"), OF_A "\"1152921504606846977\" is not" },
	{ NUMBER("1152921504606846976.1"), OF_A "\"1152921504606846976.1\" is not" },
	{ NUMBER("18446744073709551616"), OF_A "\"18446744073709551616\" is not" },
	{ NUMBER("9\\\\u202e"), OF_A "\"9?\" is not" },
	{ GPU("null"), "data.queues at [\"a\"][\"gpu\"]: null" },
	{ GPU("{}"), "data.queues at [\"a\"][\"gpu\"]" },
	{ GPU("-3"), OF_A "\"-3\" is not" },
};

Test(past, what_is_none_names_field_and_value)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		why[0] = '\0';
		cr_assert_null(past_read(refused[i].data, strlen(refused[i].data), NOW_S, why, sizeof(why)),
		               "%s", refused[i].data);
		cr_expect(strstr(why, refused[i].why), "%s: %s", refused[i].data, why);
	}
}

Test(past, bytes_that_changed_are_read_or_refused)
{
	static const char good[] = "{" HEAD "\"queues\":\"{\\\"a\\\":{\\\"cpu\\\":\\\"1.5\\\"}}\"}";
	char text[sizeof(good)];

	for (int i = 0; i < 200000; i++) {
		struct queues_past *p;

		memcpy(text, good, sizeof(good));
		for (int n = 1 + rand() % 3; n > 0; n--)
			text[(size_t)rand() % (sizeof(text) - 1)] =
				rand() % 2 ? (char)rand() : "\"\\{}:.0129,"[rand() % 11];
		p = past_read(text, sizeof(text) - 1 - (size_t)(rand() % 3), NOW_S, why, sizeof(why));
		for (size_t k = 0; p && k < p->amounts_n; k++)
			cr_assert(p->amounts[k].value >= 0 && p->amounts[k].value <= PAST_MOST &&
			          p->amounts[k].part < QUEUE_PAST_ONE);
		past_free(p);
	}
}

/* The object at the API server. */

static struct bench {
	struct world w;
	struct past_store *s;
} b;

static uint64_t wall(void *context)
{
	return NOW_S * NS_PER_S + ((struct world *)context)->now_ns;
}

static void begin(void)
{
	struct past_store_config config = {
		.env = &b.w.env, .namespace = "ns", .name = "h", .half_life_s = HALF_LIFE_S
	};

	world_init(&b.w);
	b.w.env.wall_ns = wall;
	b.w.now_ns = NS_PER_S;
	b.s = past_store_new(&config);
}

static void end(void)
{
	past_store_free(b.s);
	world_free(&b.w);
}

TestSuite(past_store, .init = begin, .fini = end);

static const char *object(unsigned version, const char *data)
{
	static char text[4096];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"h\",\"resourceVersion\":\"%u\"},\"data\":%s}", version,
	         data);
	return text;
}

static const char *data_of(uint64_t at_s, const char *value)
{
	static char text[2048];

	snprintf(text, sizeof(text),
	         "{\"format\":\"1\",\"unixSeconds\":\"%llu\",\"halfLifeSeconds\":\"1000\","
	         "\"queues\":\"{\\\"a\\\":{\\\"cpu\\\":\\\"%s\\\"}}\"}",
	         (unsigned long long)at_s, value);
	return text;
}

/* Goes on to the next request, whenever it is due. */
static struct http_call *next(const char *method, const char *path)
{
	for (int i = 0; world_open(&b.w) == 0; i++)
		world_wait(&b.w, i, past_store_poll(b.s));
	return world_take(&b.w, method, path);
}

static void at_rest(void)
{
	cr_assert_eq(past_store_poll(b.s), NEVER_NS);
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert(past_store_is_idle(b.s));
}

static void put(uint64_t at_s)
{
	struct queues_past *p = past_new(at_s, HALF_LIFE_S);

	past_add_queue(p, "a");
	past_add_amount(p, "cpu", 5, 0);
	past_store_put(b.s, p);
	past_free(p);
}

Test(past_store, reads_first_and_then_writes_that_version)
{
	struct queues_past *p;
	struct http_call *c;

	at_rest(); /* this instance does not lead */
	past_store_claim(b.s);
	c = next("GET", ONE);
	cr_assert_eq(c->lane, HTTP_CALL);
	cr_assert(!past_store_is_read(b.s));
	world_answer(c, 200, object(10, data_of(NOW_S - 1999, "7.5")));
	cr_assert(past_store_is_read(b.s));
	p = past_store_take(b.s);
	cr_assert_eq(p->amounts[0].value, 7);
	past_free(p);
	cr_assert_null(past_store_take(b.s));
	at_rest();
	put(NOW_S);
	cr_assert(!past_store_is_idle(b.s));
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"resourceVersion\":\"10\""), "%s", c->body);
	cr_assert(strstr(c->body, "\"unixSeconds\":\"1790000000\""), "%s", c->body);
	world_answer(c, 200, object(11, "{}"));
	at_rest();
	put(NOW_S + 9);
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	at_rest();
}

Test(past_store, what_is_older_than_two_half_lives_is_dropped)
{
	past_store_claim(b.s);
	world_answer(next("GET", ONE), 200, object(10, data_of(NOW_S - 2000, "7")));
	cr_assert_null(past_store_take(b.s), "a second has passed");
	cr_assert(past_store_is_read(b.s));
	cr_assert(
		world_said(&b.w, "is not used: it is 2001 s old, more than two half-lives of 1000 s"));
}

Test(past_store, what_is_not_there_is_made)
{
	past_store_claim(b.s);
	world_answer(next("GET", ONE), 404, world_status(404, "NotFound", "not found"));
	cr_assert(past_store_is_read(b.s));
	cr_assert_null(past_store_take(b.s));
	at_rest();
	put(NOW_S);
	world_answer(next("POST", ALL), 201, object(3, "{}"));
	at_rest();
	put(NOW_S);
	world_answer(next("PUT", ONE), 404, world_status(404, "NotFound", "deleted"));
	world_answer(next("POST", ALL), 201, object(5, "{}"));
	at_rest();
}

Test(past_store, a_broken_one_is_refused_as_a_whole)
{
	past_store_claim(b.s);
	world_answer(next("GET", ONE), 200,
	             object(10, data_of(NOW_S, "7\\\"},\\\"b\\\":{\\\"cpu\\\":\\\"-1")));
	cr_assert(past_store_is_read(b.s));
	cr_assert_null(past_store_take(b.s));
	cr_assert(world_said(&b.w, "error: the ConfigMap ns/h is not a history of queues: data.queues, "
	                           "queue b, resource cpu: \"-1\" is not a number"),
	          "%s", b.w.log);
	put(NOW_S);
	world_answer(next("PUT", ONE), 200, object(11, "{}"));
	at_rest();
}

Test(past_store, a_conflict_reads_the_version_alone)
{
	past_store_claim(b.s);
	world_answer(next("GET", ONE), 200, object(10, data_of(NOW_S, "7")));
	put(NOW_S);
	world_answer(next("PUT", ONE), 409, world_status(409, "Conflict", "another"));
	world_answer(next("GET", ONE), 200, object(20, data_of(NOW_S, "-7")));
	world_answer(next("PUT", ONE), 200, object(21, "{}"));
	at_rest();
	cr_assert(!world_said(&b.w, "is not a history"));
}

/* No pod waits for it for long. */
Test(past_store, no_right_to_read_ends_the_wait)
{
	past_store_claim(b.s);
	world_answer(next("GET", ONE), 403, world_status(403, "Forbidden", "no right"));
	cr_assert(past_store_is_read(b.s));
	cr_assert(world_said(&b.w,
	                     "warn: the ConfigMap ns/h can't be read: 403 no right; the history of "
	                     "queues begins with 0"),
	          "%s", b.w.log);
	at_rest();
}

Test(past_store, no_answer_ends_the_wait)
{
	const uint64_t began = b.w.now_ns;

	past_store_claim(b.s);
	while (!past_store_is_read(b.s)) {
		cr_assert_leq(b.w.now_ns, began + 10 * NS_PER_S);
		if (world_open(&b.w) > 0)
			world_answer_after(world_take(&b.w, "GET", ONE), 503, "no", 60000);
		b.w.now_ns = past_store_poll(b.s);
		if (b.w.now_ns == NEVER_NS)
			b.w.now_ns = began;
	}
	cr_assert(world_said(&b.w, "can't be read: 503 no"), "%s", b.w.log);
}

Test(past_store, a_write_that_fails_is_tried_again_and_never_awaited)
{
	past_store_claim(b.s);
	world_answer(next("GET", ONE), 404, world_status(404, "NotFound", "not found"));
	put(NOW_S);
	for (int i = 0; i < 3; i++) {
		cr_assert(!past_store_is_idle(b.s));
		if (i == 0) {
			world_fail(next("POST", ALL), HTTP_BROKEN);
			continue;
		}
		world_fail(next("GET", ONE), HTTP_BROKEN);
	}
	cr_assert(past_store_is_idle(b.s));
	cr_assert(world_said(&b.w, "can't be written"));
	world_answer(next("GET", ONE), 200, object(4, data_of(NOW_S, "5")));
	world_answer(next("PUT", ONE), 403, world_status(403, "Forbidden", "no right"));
	at_rest();
}

Test(past_store, what_comes_while_one_is_written_is_written_next)
{
	struct http_call *c;

	past_store_claim(b.s);
	world_answer(next("GET", ONE), 404, world_status(404, "NotFound", "not found"));
	put(NOW_S);
	c = next("POST", ALL);
	put(NOW_S + 1);
	world_answer(c, 201, object(3, "{}"));
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"unixSeconds\":\"1790000001\""), "%s", c->body);
	world_answer(c, 200, object(4, "{}"));
	at_rest();
}
