/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: when an intent is durable, who may write it, and what an earlier instance left. */
#include "frontend/journal/journal.h"

#include "frontend/base/log.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define ALL "/api/v1/namespaces/ns/configmaps"
#define ONE ALL "/j"

static struct bench {
	struct world w;
	struct journal *j;
} b;

static const char *object(unsigned version, const char *data)
{
	static char text[16384];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"j\",\"resourceVersion\":\"%u\"},\"data\":%s}", version,
	         data);
	return text;
}

static const char *data_of(const char *writer, const char *lines)
{
	static char text[8192];

	snprintf(
		text, sizeof(text),
		"{\"format\":\"1\",\"epoch\":\"7\",\"writer\":\"%s\",\"fence\":\"\",\"intents\":\"%s\"}",
		writer, lines);
	return text;
}

static void begin(void)
{
	struct journal_config config = {
		.env = &b.w.env, .namespace = "ns", .name = "j", .identity = "me"
	};

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.j = journal_new(&config);
	journal_claim(b.j);
}

static void end(void)
{
	journal_free(b.j);
	b.j = NULL;
	world_free(&b.w);
}

TestSuite(journal, .fini = end);

/* Goes on to the next request, whenever it is due. */
static struct http_call *next(const char *method, const char *path)
{
	for (int i = 0; world_open(&b.w) == 0; i++)
		world_wait(&b.w, i, journal_poll(b.j));
	return world_take(&b.w, method, path);
}

static void open_with(const char *data)
{
	begin();
	world_answer(next("GET", ONE), 200, object(10, data));
	world_answer(next("PUT", ONE), 200, object(11, "{}"));
	cr_assert(journal_is_open(b.j));
}

static void open_empty(void)
{
	open_with(data_of("other", ""));
}

static struct intent *add_kind(enum intent_kind kind, const char *uid)
{
	const struct intent_line line = {
		.kind = kind, .uid = uid, .node = "n1", .node_uid = "u1", .version = "5"
	};

	return journal_add(b.j, &line);
}

static struct intent *add(const char *uid)
{
	return add_kind(INTENT_BIND, uid);
}

Test(journal, reads_what_was_left_and_writes_its_epoch)
{
	struct http_call *c;
	struct intent *i;

	begin();
	c = next("GET", ONE);
	cr_assert_eq(c->lane, HTTP_JOURNAL);
	world_answer(c, 200, object(10, data_of("other", "bind a n1 u1 5\\nretain b n2 u2 6\\n")));
	cr_assert(!journal_is_open(b.j), "another instance can still write");
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"resourceVersion\":\"10\""), "%s", c->body);
	cr_assert(strstr(c->body, "\"epoch\":\"8\",\"writer\":\"me\",\"fence\":\"\",\"intents\":"
	                          "\"bind a n1 u1 5\\nretain b n2 u2 6\\n\""),
	          "%s", c->body);
	world_answer(c, 200, object(11, "{}"));
	cr_assert(journal_is_open(b.j));
	cr_assert_eq(journal_fence(b.j), INTENTS_FENCE_NONE);
	i = journal_first(b.j);
	cr_assert_str_eq(intent_line(i)->uid, "a");
	cr_assert_str_eq(intent_line(i)->node_uid, "u1");
	i = journal_next(i);
	cr_assert_eq(intent_line(i)->kind, INTENT_RETAIN);
	cr_assert_null(journal_next(i));
}

Test(journal, makes_the_object_and_its_namespace)
{
	struct http_call *c;

	begin();
	world_answer(next("GET", ONE), 404, world_status(404, "NotFound", "not found"));
	world_answer(next("POST", ALL), 404, world_status(404, "NotFound", "no namespace"));
	c = next("POST", "/api/v1/namespaces");
	cr_assert_str_eq(c->path, "/api/v1/namespaces");
	world_answer(c, 201, "{}");
	c = next("POST", ALL);
	cr_assert(strstr(c->body, "\"fence\":\"begun\""), "%s", c->body);
	world_answer(c, 201, object(3, "{}"));
	cr_assert(journal_is_open(b.j));
	cr_assert_eq(journal_fence(b.j), INTENTS_FENCE_BEGUN);
	journal_fenced(b.j);
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"fence\":\"\""), "%s", c->body);
}

Test(journal, an_intent_is_durable_when_the_write_was_accepted)
{
	struct http_call *c;
	struct intent *first, *second;
	uint64_t now;

	open_empty();
	b.w.now_ns += SECOND;
	now = b.w.now_ns;
	first = add("a");
	journal_poll(b.j);
	cr_assert_eq(b.w.now_ns, now, "one that comes alone does not wait");
	c = world_take_with(&b.w, "PUT", ONE, "\"resourceVersion\":\"11\"");
	cr_assert(strstr(c->body, "bind a n1 u1 5\\n"), "%s", c->body);
	second = add("b");
	cr_assert(!intent_is_durable(b.j, first));
	world_answer(c, 200, object(12, "{}"));
	cr_assert(intent_is_durable(b.j, first));
	cr_assert(!intent_is_durable(b.j, second), "it came after the write began");
	c = next("PUT", ONE);
	cr_assert_leq(b.w.now_ns, now + 20 * MS);
	cr_assert(strstr(c->body, "bind a n1 u1 5\\nbind b") ||
	              strstr(c->body, "bind b n1 u1 5\\nbind a"),
	          "%s", c->body);
	world_answer(c, 200, object(13, "{}"));
	cr_assert(intent_is_durable(b.j, second));
}

/* Not by a write that began before, though its answer comes after. */
Test(journal, an_intent_for_another_version_is_durable_with_the_next_write)
{
	struct http_call *c;
	struct intent *i;

	open_empty();
	i = add("a");
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	add("b");
	c = next("PUT", ONE);
	cr_assert(intent_is_durable(b.j, i));
	intent_renew(b.j, i, "6");
	cr_assert(!intent_is_durable(b.j, i));
	world_answer(c, 200, object(13, "{}"));
	cr_assert(!intent_is_durable(b.j, i));
	cr_assert(!journal_is_idle(b.j));
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "bind a n1 u1 6\\n"), "%s", c->body);
	world_answer(c, 200, object(14, "{}"));
	cr_assert(intent_is_durable(b.j, i));
	cr_assert_eq(journal_size(b.j), 2);
}

Test(journal, what_is_over_goes_with_a_later_write)
{
	struct http_call *c;
	struct intent *i;

	open_empty();
	i = add("a");
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	cr_assert(intent_is_durable(b.j, i));
	journal_remove(b.j, i);
	cr_assert_gt(journal_poll(b.j), b.w.now_ns, "not at once");
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"intents\":\"\""), "%s", c->body);
	world_answer(c, 200, object(13, "{}"));
	cr_assert_eq(journal_poll(b.j), NEVER_NS);
	cr_assert(journal_is_idle(b.j));
}

Test(journal, another_writer_ends_it)
{
	struct intent *i;

	open_empty();
	i = add("a");
	world_answer(next("PUT", ONE), 409, world_status(409, "Conflict", "modified"));
	cr_assert(!intent_is_durable(b.j, i));
	cr_assert(!journal_is_lost(b.j), "it may have been our own write");
	world_answer(next("GET", ONE), 200, object(20, data_of("third", "")));
	cr_assert(journal_is_lost(b.j));
	cr_assert(!intent_is_durable(b.j, i));
	cr_assert_eq(journal_poll(b.j), NEVER_NS);
	cr_assert(world_said(&b.w, "was taken by third"));
}

/* A later version may write lines that this one can't read, or another format. */
Test(journal, another_writer_ends_it_whatever_it_wrote)
{
	static const char *const left[] = {
		"{\"format\":\"1\",\"epoch\":\"8\",\"writer\":\"third\",\"fence\":\"\","
		"\"intents\":\"promise a n1 u1 5\\n\"}",
		"{\"format\":\"2\",\"writer\":\"third\",\"lines\":\"\"}",
	};
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		open_empty();
		add("a");
		world_answer(next("PUT", ONE), 409, world_status(409, "Conflict", "modified"));
		world_answer(next("GET", ONE), 200, object(20, left[i]));
		cr_assert(journal_is_lost(b.j), "%s", left[i]);
		cr_assert(world_said(&b.w, "its writer is another one"));
		end();
	}
}

/* Its answer was lost, and a second attempt meets the version of the first. */
Test(journal, its_own_write_does_not_end_it)
{
	struct http_call *c;
	struct intent *i;

	open_empty();
	i = add("a");
	world_fail(next("PUT", ONE), HTTP_BROKEN);
	cr_assert(!intent_is_durable(b.j, i));
	cr_assert(strstr(journal_fault(b.j), "ns/j"), "%s", journal_fault(b.j));
	world_answer(next("GET", ONE), 200, object(12, data_of("me", "bind a n1 u1 5\\n")));
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"resourceVersion\":\"12\"") && strstr(c->body, "bind a"));
	world_answer(c, 200, object(13, "{}"));
	cr_assert(intent_is_durable(b.j, i));
	cr_assert_null(journal_fault(b.j));
}

Test(journal, a_conflict_before_the_claim_reads_it_again)
{
	begin();
	world_answer(next("GET", ONE), 200, object(10, data_of("other", "")));
	world_answer(next("PUT", ONE), 409, world_status(409, "Conflict", "modified"));
	world_answer(next("GET", ONE), 200, object(11, data_of("other", "bind a n1 u1 5\\n")));
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	cr_assert(journal_is_open(b.j));
	cr_assert_str_eq(intent_line(journal_first(b.j))->uid, "a", "what the other one wrote last");
}

Test(journal, a_failure_is_told_and_tried_again)
{
	struct intent *i;

	open_empty();
	i = add("a");
	world_answer(next("PUT", ONE), 403, world_status(403, "Forbidden", "may not update"));
	cr_assert(strstr(journal_fault(b.j), "the journal ns/j can't be written: 403 may not update"),
	          "%s", journal_fault(b.j));
	cr_assert(!intent_is_durable(b.j, i));
	world_answer(next("GET", ONE), 200, object(11, data_of("me", "")));
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	cr_assert(intent_is_durable(b.j, i));
}

Test(journal, one_that_was_deleted_is_made_again)
{
	struct http_call *c;
	struct intent *i;

	open_with(data_of("other", "bind z n1 u1 5\\n"));
	i = add("a");
	world_answer(next("PUT", ONE), 404, world_status(404, "NotFound", "not found"));
	c = next("POST", ALL);
	cr_assert(strstr(c->body, "bind a") && strstr(c->body, "bind z"), "%s", c->body);
	world_answer(c, 201, object(20, "{}"));
	cr_assert(intent_is_durable(b.j, i));
}

/* A long queue takes few writes: half of what it may have must be over before the next. */
Test(journal, is_bounded)
{
	struct http_call *c;
	struct intent *all[3000];
	char uid[16];
	unsigned durable = 0;

	open_empty();
	for (int i = 0; i < 3000; i++) {
		snprintf(uid, sizeof(uid), "p%d", i);
		all[i] = add(uid);
	}
	for (int i = 0; i < 100; i++)
		if (i % 2 == 0) { /* the first PUT of a queue that is longer than the journal */
			if (journal_poll(b.j), world_open(&b.w) == 0)
				break;
			world_answer(world_take(&b.w, "PUT", ONE), 200, object(12, "{}"));
		}
	for (int i = 0; i < 3000; i++)
		durable += intent_is_durable(b.j, all[i]);
	cr_assert_eq(durable, 2048);
	for (int i = 0; i < 1000; i++)
		journal_remove(b.j, all[i]);
	journal_poll(b.j);
	cr_assert(world_open(&b.w) == 0 || !intent_is_durable(b.j, all[2999]));
	for (int i = 1000; i < 1100; i++)
		journal_remove(b.j, all[i]);
	c = next("PUT", ONE);
	world_answer(c, 200, object(13, "{}"));
	cr_assert(intent_is_durable(b.j, all[2999]));
}

/* As those of pods whose volumes are provisioned, for minutes. */
Test(journal, bindings_that_are_not_over_leave_the_others_the_rest_of_the_space)
{
	struct intent *all[3000];
	char uid[16];
	unsigned durable = 0;

	open_empty();
	for (int i = 0; i < 1500; i++) {
		snprintf(uid, sizeof(uid), "p%d", i);
		all[i] = add(uid);
	}
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	cr_assert(intent_is_durable(b.j, all[1499]));
	for (int i = 1500; i < 3000; i++) {
		snprintf(uid, sizeof(uid), "p%d", i);
		all[i] = add(uid);
	}
	cr_assert_eq(journal_poll(b.j), b.w.now_ns + SECOND);
	world_answer(next("PUT", ONE), 200, object(13, "{}"));
	for (int i = 0; i < 3000; i++)
		durable += intent_is_durable(b.j, all[i]);
	cr_assert_eq(durable, 2048);
	b.w.now_ns += 10 * SECOND;
	cr_assert_eq(journal_poll(b.j), NEVER_NS, "it is full");
	cr_assert_eq(world_open(&b.w), 0);
	for (int k = 0; k < 2; k++) { /* one write a second, however many are over in it */
		journal_remove(b.j, all[1500 + k]);
		world_answer(next("PUT", ONE), 200, object(14, "{}"));
		cr_assert(intent_is_durable(b.j, all[2048 + k]));
		journal_remove(b.j, all[1600 + k]);
		cr_assert_gt(journal_poll(b.j), b.w.now_ns + SECOND / 2);
	}
}

/* A scheduler waits for it, and asks for one pod after another. */
Test(journal, an_assumed_pod_waits_for_no_others)
{
	struct http_call *c;
	uint64_t now;

	open_empty();
	now = b.w.now_ns;
	add("a");
	cr_assert_gt(journal_poll(b.j), now, "20 ms after the last write");
	add_kind(INTENT_ASSUME, "x");
	journal_poll(b.j);
	world_answer(world_take_with(&b.w, "PUT", ONE, "assume x n1 u1 5\\nbind a"), 200,
	             object(12, "{}"));
	for (int i = 0; i < 3000; i++)
		add("p");
	world_answer(next("PUT", ONE), 200, object(13, "{}"));
	add_kind(INTENT_ASSUME, "y");
	journal_poll(b.j);
	c = world_take(&b.w, "PUT", ONE);
	cr_assert(strstr(c->body, "assume y "), "it has space in a journal that is full of bindings");
	world_answer(c, 200, object(14, "{}"));
}

Test(journal, assumed_pods_have_a_bound_of_their_own)
{
	struct intent *last = NULL, *bind;
	int n = 0;

	open_with(data_of("other", "assume z n1 u1 -\\n"));
	while (journal_takes_assumed(b.j) && n < 5000) {
		last = add_kind(INTENT_ASSUME, "x");
		n++;
	}
	cr_assert_eq(n, 1023, "those that an earlier instance left count as well");
	bind = add("a");
	world_answer(next("PUT", ONE), 200, object(12, "{}"));
	cr_assert(intent_is_durable(b.j, bind) && intent_is_durable(b.j, last));
	cr_assert(!journal_takes_assumed(b.j));
	journal_remove(b.j, last);
	cr_assert(journal_takes_assumed(b.j));
	world_answer(next("PUT", ONE), 403, world_status(403, "Forbidden", "may not update"));
	cr_assert(!journal_takes_assumed(b.j), "while it can't be written");
}

static enum intents_fence read(const char *data, char *why, size_t *n)
{
	struct arena arena = { 0 };
	struct intents out;
	enum intents_fence fence;

	why[0] = '\0';
	intents_read(data, strlen(data), &arena, &out, why, 300);
	*n = out.n;
	fence = out.fence;
	arena_free(&arena);
	return fence;
}

Test(journal, what_is_no_journal_names_field_and_value)
{
	static const struct {
		const char *data, *why;
	} cases[] = {
		{ "{\"format\":\"2\",\"epoch\":\"1\",\"writer\":\"w\"}", "data.format: \"2\"" },
		{ "{\"format\":\"1\",\"epoch\":\"x\",\"writer\":\"w\"}", "data.epoch: \"x\"" },
		{ "{\"format\":\"1\",\"epoch\":\"\",\"writer\":\"w\"}", "data.epoch: \"\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\"}", "data.writer: \"\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\",\"writer\":\"w\",\"fence\":\"q\"}",
		  "data.fence: \"q\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\",\"writer\":\"w\",\"intents\":\"bind a n u 5\\nbind a n u\"}",
		  "data.intents line 2: \"bind a n u\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\",\"writer\":\"w\",\"intents\":\"bound a n u 5\"}",
		  "data.intents line 1: \"bound a n u 5\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\",\"writer\":\"w\",\"intents\":\"bind a n\\u001b u 5\"}",
		  "data.intents line 1: \"bind a n? u 5\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\",\"writer\":\"w\",\"intents\":\"assume a n u\"}",
		  "data.intents line 1: \"assume a n u\"" },
		{ "{\"format\":\"1\",\"epoch\":\"1\",\"writer\":\"w\",\"intents\":\"assume a n u - \\u202e\"}",
		  "data.intents line 1: \"assume a n u - ?\"" },
		{ "[]", "data" },
	};
	char why[300];
	size_t n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(read(cases[i].data, why, &n), INTENTS_FENCE_ALL, "%s", cases[i].data);
		cr_assert(strstr(why, cases[i].why), "%s: %s", cases[i].data, why);
	}
	cr_assert_eq(read(cases[5].data, why, &n), INTENTS_FENCE_ALL);
	cr_assert_eq(n, 1, "the line that can be read counts");
	cr_assert_eq(read("", why, &n), INTENTS_FENCE_BEGUN);
	cr_assert_eq(read("{}", why, &n), INTENTS_FENCE_BEGUN);
	cr_assert_eq(read("null", why, &n), INTENTS_FENCE_BEGUN);
}

/* The mark stays in the object until all were fenced: this instance may die before. */
Test(journal, an_unreadable_one_stays_marked)
{
	struct http_call *c;

	begin();
	world_answer(next("GET", ONE), 200, object(10, data_of("other", "what\\n")));
	cr_assert(
		world_said(&b.w, "the ConfigMap ns/j is not a journal: data.intents line 1: \"what\""));
	c = next("PUT", ONE);
	cr_assert(strstr(c->body, "\"fence\":\"all\""), "%s", c->body);
	world_answer(c, 200, object(11, "{}"));
	cr_assert_eq(journal_fence(b.j), INTENTS_FENCE_ALL);
}
