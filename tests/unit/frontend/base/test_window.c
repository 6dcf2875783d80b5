/* SPDX-License-Identifier: Apache-2.0 */
/* The window against virtual servers: one with a latency and a number of requests that it serves at
 * once, which answers 429 beyond a bound and may be silent for a time. */
#include "frontend/base/window.h"

#include "ipc/clock.h"
#include "tests/unit/test.h"

#include <criterion/new/assert.h>

#define MS NS_PER_MS
#define S NS_PER_S
#define FLYING_MOST 4096u

/* A request waits for one of `serves` places and is then served for `latency_ns`. */
struct server {
	uint64_t latency_ns;
	unsigned serves;
	unsigned accepts; /* more in flight are answered 429; 0: all are accepted */
	unsigned others;  /* places that other clients' requests have */
};

struct flying {
	uint64_t sent_ns, done_ns;
	bool refused;
};

static struct run {
	struct window w;
	struct server server;
	uint64_t now_ns;
	uint64_t places[FLYING_MOST]; /* when each is free */
	struct flying flying[FLYING_MOST];
	unsigned flying_n, flying_most;
	uint64_t random;
	unsigned answered, refused, halvings;
	unsigned noise_percent;
	unsigned fast_of; /* one answer in so many takes a tenth; 0: none */
} r;

static unsigned random_below(unsigned n)
{
	r.random = r.random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(r.random >> 33) % n;
}

static uint64_t served_ns(void)
{
	const unsigned places =
		r.server.serves > r.server.others ? r.server.serves - r.server.others : 1;
	unsigned best = 0;
	uint64_t begin, latency = r.server.latency_ns;

	/* Of those that are free now any will do. */
	for (unsigned i = 1; i < places && r.places[best] > r.now_ns; i++)
		if (r.places[i] < r.places[best])
			best = i;
	if (r.noise_percent)
		latency += latency * random_below(2 * r.noise_percent) / 100;
	if (r.fast_of && random_below(r.fast_of) == 0)
		latency /= 10;
	begin = r.places[best] > r.now_ns ? r.places[best] : r.now_ns;
	r.places[best] = begin + latency;
	return r.places[best];
}

static void send_one(void)
{
	struct flying *f = &r.flying[r.flying_n++];

	cr_assert_leq(r.flying_n, r.w.most);
	*f = (struct flying){ .sent_ns = r.now_ns };
	f->refused = r.server.accepts && r.flying_n > r.server.accepts;
	f->done_ns = f->refused ? r.now_ns + MS : served_ns();
	if (r.flying_n > r.flying_most)
		r.flying_most = r.flying_n;
}

static void answer_first(bool waiting)
{
	unsigned first = 0;
	struct flying f;

	for (unsigned i = 1; i < r.flying_n; i++)
		if (r.flying[i].done_ns < r.flying[first].done_ns)
			first = i;
	f = r.flying[first];
	r.flying[first] = r.flying[--r.flying_n];
	r.now_ns = f.done_ns;
	if (f.refused) {
		r.refused++;
		r.halvings += window_slower(&r.w, r.now_ns, f.sent_ns);
		r.now_ns += 100 * MS; /* the binder's pause */
	} else {
		r.answered++;
		window_answered(&r.w, r.now_ns, f.sent_ns, waiting);
	}
	cr_assert_geq(r.w.size, 1);
	cr_assert_leq(r.w.size, r.w.most);
}

static void begin(unsigned first, unsigned most, struct server server)
{
	memset(&r, 0, sizeof(r));
	r.now_ns = 1000 * S;
	r.random = 7;
	r.server = server;
	window_init(&r.w, first, most);
}

/* All are answered, and none is sent for a time. */
static void idle(uint64_t ns)
{
	while (r.flying_n > 0)
		answer_first(false);
	r.now_ns += ns;
}

/* More requests wait than the window takes; the answers a second. */
static unsigned load_for(uint64_t ns)
{
	const uint64_t until = r.now_ns + ns;
	const unsigned before = r.answered;

	while (r.now_ns < until) {
		while (r.flying_n < r.w.size)
			send_one();
		answer_first(true);
	}
	return (unsigned)((r.answered - before) * S / ns);
}

Test(window, a_fixed_one_stays_and_is_halved_once_a_flight)
{
	begin(8, 8, (struct server){ 10 * MS, 300, 0, 0 });
	load_for(10 * S);
	cr_assert_eq(r.w.size, 8);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(window_slower(&r.w, r.now_ns + (uint64_t)i, r.now_ns - 1), i == 0);
	cr_assert_eq(r.w.size, 4, "one event, however many requests tell it");
	load_for(S);
	cr_assert_eq(r.w.size, 8);
}

Test(window, grows_to_its_bound_where_the_rate_grows)
{
	begin(12, 256, (struct server){ 30 * MS, 300, 0, 0 });
	cr_assert_geq(load_for(2 * S), 4000, "%u", r.answered);
	cr_assert_eq(r.w.size, 256);
	load_for(2 * S);
	cr_assert_eq(r.w.size, 256);
	cr_assert_eq(r.flying_most, 256);
}

/* As of an etcd that writes in batches: the one that finds it idle is not what it can do. */
Test(window, grows_where_a_few_answers_are_much_faster)
{
	begin(12, 256, (struct server){ 10 * MS, 300, 0, 0 });
	r.fast_of = 50;
	load_for(10 * S);
	cr_assert_eq(r.w.size, 256, "%u", r.w.size);
	load_for(10 * S);
	cr_assert_eq(r.w.size, 256, "%u", r.w.size);
}

Test(window, is_within_a_step_of_what_the_server_serves)
{
	for (unsigned serves = 24; serves <= 192; serves *= 2) {
		begin(12, 256, (struct server){ 10 * MS, serves, 0, 0 });
		r.noise_percent = 20;
		load_for(10 * S);
		cr_expect_geq(r.w.size, serves * 3 / 5, "%u of %u", r.w.size, serves);
		cr_expect_leq(r.w.size, serves * 2, "%u of %u", r.w.size, serves);
	}
}

Test(window, does_not_grow_where_more_requests_only_wait)
{
	begin(12, 256, (struct server){ 2 * MS, 4, 0, 0 });
	r.noise_percent = 30;
	load_for(60 * S);
	cr_assert_leq(r.w.size, 15);
	cr_assert_geq(r.w.size, 9);
}

Test(window, gives_way_to_other_clients_and_returns)
{
	unsigned alone;

	begin(12, 256, (struct server){ 10 * MS, 128, 0, 0 });
	load_for(20 * S);
	alone = r.w.size;
	cr_assert_geq(alone, 64);
	r.server.others = 120;
	memset(r.places, 0, sizeof(r.places));
	load_for(30 * S);
	cr_assert_leq(r.w.size, 40, "%u, alone %u", r.w.size, alone);
	cr_assert_geq(r.w.size, 12);
	r.server.others = 0;
	idle(100 * S);
	load_for(10 * S);
	cr_assert_geq(r.w.size, 64);
}

Test(window, seeks_again_after_a_minute_without_rounds)
{
	begin(12, 256, (struct server){ 10 * MS, 128, 0, 0 });
	load_for(20 * S);
	cr_assert_geq(r.w.size, 64);
	idle(70 * S);
	r.server.others = 120;
	memset(r.places, 0, sizeof(r.places));
	load_for(5 * S);
	cr_assert_leq(r.w.size, 24, "others came meanwhile: %u", r.w.size);
	r.server.others = 0;
	idle(70 * S);
	load_for(S);
	cr_assert_geq(r.w.size, 64, "a second finds it: %u", r.w.size);
}

Test(window, stays_below_what_is_refused_most_of_the_time)
{
	begin(12, 256, (struct server){ 10 * MS, 300, 50, 0 });
	load_for(30 * S);
	cr_assert_leq(r.w.size, 64);
	cr_assert_lt(r.refused, 30 * 64, "%u", r.refused);
	cr_assert_gt(r.answered, 30 * 500, "%u", r.answered);
}

/* What the server refuses is asked for ever more seldom, and the size is mostly near its bound. */
Test(window, is_refused_seldom_at_a_hard_bound)
{
	static const unsigned bounds[] = { 20, 70, 97, 130, 200, 240 };

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		unsigned rate;

		begin(12, 256, (struct server){ 100 * MS, 300, bounds[i], 0 });
		rate = load_for(600 * S);
		cr_expect_leq(r.halvings, 20, "%u: %u", bounds[i], r.halvings);
		cr_expect_geq(rate, 7 * bounds[i], "%u: %u", bounds[i], rate);
	}
}

Test(window, finds_a_bound_that_was_raised)
{
	begin(12, 256, (struct server){ 100 * MS, 300, 70, 0 });
	load_for(600 * S);
	cr_assert_leq(r.w.size, 70);
	r.server.accepts = 0;
	load_for(90 * S);
	cr_assert_eq(r.w.size, 256);
}

Test(window, is_never_stuck_at_one)
{
	begin(12, 256, (struct server){ 10 * MS, 300, 0, 0 });
	load_for(S);
	for (int i = 0; i < 20; i++) {
		r.now_ns += S;
		window_slower(&r.w, r.now_ns, r.now_ns - 1);
	}
	cr_assert_eq(r.w.size, 1);
	r.flying_n = 0;
	load_for(2 * S);
	cr_assert_geq(r.w.size, 12);
	idle(100 * S); /* longer than any rest */
	load_for(5 * S);
	cr_assert_eq(r.w.size, 256);
}

Test(window, recovers_with_requests_that_come_one_by_one)
{
	begin(12, 256, (struct server){ 10 * MS, 300, 0, 0 });
	window_slower(&r.w, r.now_ns, r.now_ns - 1);
	cr_assert_eq(r.w.size, 6);
	for (int i = 0; i < 1000; i++) {
		r.now_ns += S;
		send_one();
		answer_first(false);
	}
	cr_assert_eq(r.w.size, 12, "as much as it had, and not more than it used");
}

Test(window, an_answer_from_before_a_halving_does_not_count)
{
	begin(12, 256, (struct server){ 10 * MS, 300, 0, 0 });
	load_for(5 * S);
	window_slower(&r.w, r.now_ns, r.now_ns - 1);
	cr_assert_eq(r.w.size, 128);
	while (r.flying_n > 0)
		answer_first(true);
	cr_assert_eq(r.w.answers, 0);
	cr_assert_eq(r.w.size, 128);
}

/* Whatever comes, in any order, it stays within its bounds and finds back. */
Test(window, random_answers)
{
	for (unsigned seed = 1; seed <= 12; seed++) {
		const unsigned first = 1 + seed % 20, most = first + seed * 7 % 237;

		begin(first, most, (struct server){ (1 + seed % 40) * MS, 1 + seed * 13 % 400, 0, 0 });
		r.random = seed;
		r.noise_percent = 1 + seed % 90;
		for (int i = 0; i < 20; i++) {
			r.server.accepts = random_below(3) ? 0 : 1 + random_below(300);
			r.server.others = random_below(200);
			r.server.latency_ns = (1 + random_below(50)) * MS;
			memset(r.places, 0, sizeof(r.places));
			load_for((1 + random_below(10)) * 200 * MS);
		}
		r.server = (struct server){ 10 * MS, 300, 0, 0 };
		memset(r.places, 0, sizeof(r.places));
		r.noise_percent = 0;
		for (int i = 0; i < 40; i++) {
			idle(10 * S);
			load_for(100 * MS);
		}
		cr_assert_geq(r.w.size, first, "seed %u", seed);
		cr_assert_eq(r.w.size, most, "seed %u: %u of %u", seed, r.w.size, most);
	}
}
