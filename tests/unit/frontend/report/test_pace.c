/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and Events: how many at once, in what order, and how fast. */
#include "tests/unit/support_report.h"

TestSuite(report_pace, .init = begin, .fini = end);

Test(report_pace, a_full_queue_defers_the_oldest)
{
	begin_with(100, 2);
	reason("a", WAIT_ROOM, 3);
	reason("b", WAIT_ROOM, 3);
	reason("c", WAIT_ROOM, 3);
	cr_assert_eq(report_counts(b.r)->deferred, 1);
	next("PATCH", STATUS("b"));
	reason("a", WAIT_ROOM, 3); /* it is not lost for good */
	next("PATCH", STATUS("c"));
	next("PATCH", STATUS("a"));
}

Test(report_pace, few_at_once_and_one_while_bindings_wait)
{
	begin_with(1000, 10);
	for (const char *name = "abcdef"; *name; name++)
		reason((char[]){ *name, 0 }, WAIT_ROOM, 3);
	report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 1);
	report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 1);
	cr_assert_eq(open_after(0), 4);
}

/* What a user waits for is the binding, not the word of it. */
Test(report_pace, an_event_lets_bindings_go_first_for_a_while)
{
	uint64_t due;

	bound("a");
	due = report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(due, b.w.now_ns + 5 * SECOND);
	reason("b", WAIT_ROOM, 3); /* that is no word of a binding */
	world_answer(next_of_many("PATCH", STATUS("b")), 200, "{}");
	world_answer(next_of_many("POST", EVENTS), 201, "{}");
	report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 0);
	b.w.now_ns = due;
	has(next_of_many("POST", EVENTS), "Successfully assigned ns/a to n1");
	bound("c");
	has(next("POST", EVENTS), "Successfully assigned ns/c to n1");
}

Test(report_pace, keeps_to_its_rate)
{
	unsigned sent = 0;

	begin_with(20, 1000);
	for (unsigned i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "w%u", i);
		world_put(b.m, RESOURCE_INDEX_PODS, world_pod(name, "5", "", ""));
		reason(name, WAIT_ROOM, 3);
	}
	for (int ms = 0; ms < 2000; ms++) {
		report_poll(b.r, false);
		for (struct http_call *c = b.w.calls; c; c = c->next)
			if (c->open) {
				c->taken = true;
				world_answer(c, 200, "{}");
				sent++;
			}
		b.w.now_ns += MS;
	}
	cr_assert(sent >= 40 && sent <= 46, "%u requests in 2 s", sent);
}

static void bound_n(unsigned n)
{
	static unsigned made;
	char name[16];

	while (n-- > 0) {
		snprintf(name, sizeof(name), "e%u", made++);
		bound(name);
	}
}

/* Answers all that is open; how many there were. */
static unsigned answer_all(int status)
{
	unsigned n = 0;

	for (struct http_call *c = b.w.calls; c; c = c->next)
		if (c->open) {
			c->taken = true;
			world_answer_after(c, status, "{}", status == 429 ? 2000 : -1);
			n++;
		}
	return n;
}

Test(report_pace, events_of_bindings_go_in_bursts)
{
	unsigned sent = 0;

	begin_window(1, 1000, 8);
	bound_n(100);
	for (int round = 0; round < 13; round++) {
		cr_assert_eq(open_after(0), round < 12 ? 8 : 4);
		sent += answer_all(201);
	}
	cr_assert_eq(sent, 100, "in no time, whatever the rate of what waits");
	cr_assert_eq(report_queued(b.r), 0);
}

Test(report_pace, events_get_more_of_the_window_as_their_queue_grows)
{
	begin_window(1, 80, 8);
	bound_n(4);
	report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 0);
	bound_n(16);
	report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 3, "%u", world_open(&b.w));
	bound_n(40);
	report_poll(b.r, true);
	cr_assert_eq(world_open(&b.w), 8);
}

/* Bindings without a pause, as many as the server accepts Events with a full window. */
Test(report_pace, a_stream_of_bindings_loses_no_event)
{
	size_t most = 0, written = 0;

	begin_window(1, 100, 4);
	for (int ms = 0; ms < 5000; ms++) {
		bound_n(3);
		report_poll(b.r, true);
		written += answer_all(201);
		if (report_queued(b.r) > most)
			most = report_queued(b.r);
		world_free(&b.w); /* forgets the calls */
		b.w.calls_end = &b.w.calls;
		b.w.now_ns += MS;
	}
	cr_assert_leq(most, 60, "%zu", most);
	cr_assert_eq(report_counts(b.r)->deferred + report_counts(b.r)->dropped, 0);
	for (int i = 0; i < 20; i++) {
		report_poll(b.r, false);
		written += answer_all(201);
	}
	cr_assert_eq(written, 15000, "%zu", written);
}

/* Those of one flight count once: the window is halved, and the pause is what the server said. */
Test(report_pace, a_429_halves_the_events)
{
	begin_window(1, 100, 8);
	bound_n(20);
	cr_assert_eq(open_after(0), 8);
	b.w.now_ns += MS;
	cr_assert_eq(answer_all(429), 8);
	cr_assert_eq(report_window(b.r), 4);
	cr_assert_eq(open_after(0), 0);
	cr_assert_eq(open_after(3 * SECOND), 4);
	for (unsigned left = 20, n; left > 0; left -= n) {
		n = answer_all(201);
		cr_assert(n > 0 && n <= left);
		report_poll(b.r, false);
	}
	cr_assert_eq(report_counts(b.r)->events, 20);
	cr_assert_eq(report_queued(b.r), 0);
}

/* On two connections they might be created in either order, and what is tried again comes first. */
Test(report_pace, events_of_a_pod_go_one_after_the_other)
{
	struct bind_notice refused = { .namespace = "ns", .name = "a", .uid = "a", .error = "no" };
	struct http_call *c;

	refused.node = refused.scheduler = "x";
	begin_window(100, 100, 8);
	report_bind(b.r, &refused);
	bound("a");
	bound("b");
	cr_assert_eq(open_after(0), 1);
	world_answer_after(world_take(&b.w, "POST", EVENTS), 429, "", 1000);
	open_after(2 * SECOND);
	c = world_take(&b.w, "POST", EVENTS);
	has(c, "FailedScheduling");
	cr_assert_eq(world_open(&b.w), 1);
	world_answer(c, 201, "{}");
	cr_assert_eq(open_after(0), 2);
	has(world_take(&b.w, "POST", EVENTS), "Successfully assigned ns/a");
}

Test(report_pace, a_server_in_trouble_is_left_alone)
{
	uint64_t due;

	reason("a", WAIT_ROOM, 3);
	world_answer_after(next("PATCH", STATUS("a")), 429, "", 4000);
	due = report_poll(b.r, false);
	cr_assert_eq(due, b.w.now_ns + 4 * SECOND);
	b.w.now_ns = due;
	world_fail(next("PATCH", STATUS("a")), HTTP_BROKEN);
	due = report_poll(b.r, false);
	cr_assert_eq(due, b.w.now_ns + 500 * MS);
	for (int i = 0; i < 2; i++) {
		b.w.now_ns = due;
		world_answer(next("PATCH", STATUS("a")), 500, "");
		due = report_poll(b.r, false);
	}
	cr_assert_eq(report_queued(b.r), 0, "after four tries it is deferred");
	cr_assert_eq(report_counts(b.r)->deferred, 1);
}

/* Of many pods it is said that they wait, and 3 s later of one more; requests whose path has
 * `refuses` are answered with that status.  How long its condition waited. */
static uint64_t waits_behind(unsigned many, const char *refuses, int status)
{
	uint64_t began = b.w.now_ns + 3 * SECOND, due;
	struct http_call *c;
	bool said = false;
	char name[16];

	for (unsigned i = 0; i < many; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		world_put(b.m, RESOURCE_INDEX_PODS, world_pod(name, "5", "", ""));
		reason(name, WAIT_ROOM, 3);
	}
	for (;;) {
		if (!said && b.w.now_ns >= began) {
			reason("a", WAIT_ROOM, 3);
			said = true;
		}
		due = report_poll(b.r, false);
		for (c = b.w.calls; c && !c->open; c = c->next)
			continue;
		if (c && strcmp(c->path, STATUS("a")) == 0)
			return b.w.now_ns - began;
		if (c)
			world_answer(c, strstr(c->path, refuses) ? status : 200, "{}");
		b.w.now_ns += c ? 5 * MS : due > b.w.now_ns + 100 * MS ? 100 * MS : due - b.w.now_ns;
		cr_assert_lt(b.w.now_ns, began + 600 * SECOND);
	}
}

/* One namespace without the right to Events, or that is being deleted, held up all others for a
 * minute. */
Test(report_pace, what_is_forbidden_of_some_holds_up_nobody_else)
{
	uint64_t waited;

	begin_with(200, 10000);
	waited = waits_behind(240, "/events", 403);
	cr_assert_lt(waited, 5 * SECOND, "%.1f s", (double)waited * 1e-9);
}

/* A webhook of one namespace that fails. */
Test(report_pace, what_fails_of_some_holds_up_nobody_else)
{
	uint64_t waited;

	begin_with(200, 10000);
	waited = waits_behind(240, "/pods/w", 500);
	cr_assert_lt(waited, 5 * SECOND, "%.1f s", (double)waited * 1e-9);
}
