/* SPDX-License-Identifier: Apache-2.0 */
/* History in the fair share: numbers worked out by hand, and random runs beside two models: one
 * that adds up all that ever happened by the definition, to be equal in every bit, and the
 * integral itself, in floating point. */
#include "core/share/share.h"
#include "frontend/queues/decays.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <math.h>

enum { GPU, CPU, R };

#define QUEUES 8u
#define GANGS 32u
#define LOG 2048u
#define HOUR 3600u

/* A start or an end; gang GANGS: all were brought up. */
struct happening {
	uint64_t at_s;
	uint32_t gang;
	bool starts;
};

struct gang {
	uint32_t queue;
	int64_t amounts[R];
	uint64_t age_ns;
	bool runs, waits;
	struct share_ask ask;
};

struct world {
	struct share_def defs[QUEUES];
	struct share_set set;
	struct event_queue_terms terms;
	uint32_t half_life_s;
	struct shares *shares;
	wide total[R];
	uint64_t begun_s, now_s, all_s;
	struct gang gangs[GANGS];
	uint32_t gangs_n;
	struct happening log[LOG];
	uint32_t log_n;
};

static uint32_t queue_add(struct world *w, const char *name, uint32_t parent)
{
	struct share_def *d = &w->defs[w->set.n];

	*d = (struct share_def){ .name = name, .parent = parent };
	for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
		d->limit[r] = QUEUE_NO_LIMIT;
		d->weight[r] = 1;
	}
	return w->set.n++;
}

static struct world *world_new(uint32_t factor, uint32_t half_life_s)
{
	struct world *w = calloc(1, sizeof(*w));

	w->set = (struct share_set){ .defs = w->defs, .resources = R };
	w->total[GPU] = 80;
	w->total[CPU] = 1000000;
	w->begun_s = w->now_s = w->all_s = 1000;
	w->half_life_s = half_life_s;
	w->terms.factor = factor;
	queues_decays(half_life_s, w->terms.decays);
	queue_add(w, "root", 0);
	return w;
}

static void world_begin(struct world *w)
{
	w->shares = shares_new(&w->set);
	shares_capacity(w->shares, w->total);
	shares_history_begin(w->shares, &w->terms, w->now_s);
}

static void world_free(struct world *w)
{
	shares_free(w->shares);
	free(w);
}

static void note(struct world *w, uint32_t gang, bool starts)
{
	cr_assert_lt(w->log_n, LOG);
	w->log[w->log_n++] = (struct happening){ w->now_s, gang, starts };
}

static void wait_s(struct world *w, uint64_t seconds)
{
	w->now_s += seconds;
	if (w->now_s - w->all_s >= SHARE_HISTORY_S) {
		w->all_s = w->now_s;
		note(w, GANGS, false);
	}
	if (shares_has_history(w->shares))
		shares_history_time(w->shares, w->now_s);
}

/* As the ticks of a scheduler that rests. */
static void wait_minutes(struct world *w, uint32_t minutes)
{
	while (minutes-- > 0)
		wait_s(w, 60);
}

static uint32_t gang_add(struct world *w, uint32_t queue, int64_t gpu, int64_t cpu)
{
	struct gang *g = &w->gangs[w->gangs_n];

	cr_assert_lt(w->gangs_n, GANGS);
	*g = (struct gang){ .queue = queue, .amounts = { gpu, cpu }, .waits = true };
	share_ask_add(&g->ask, GPU, gpu);
	share_ask_add(&g->ask, CPU, cpu);
	return w->gangs_n++;
}

static void gang_runs(struct world *w, uint32_t gang, bool runs)
{
	struct gang *g = &w->gangs[gang];

	for (uint32_t i = 0; i < g->ask.n; i++)
		shares_use(w->shares, g->queue, g->ask.wants[i].resource,
		           runs ? g->ask.wants[i].value : -g->ask.wants[i].value);
	g->runs = runs;
	g->waits = false;
	note(w, gang, runs);
}

/* The first of each leaf, by age; the leaf whose turn it is. */
static uint32_t next_find(const struct world *w, uint32_t *first)
{
	struct share_waiting waiting[QUEUES] = { { 0 } };

	for (uint32_t i = 0; i < w->gangs_n; i++) {
		const struct gang *g = &w->gangs[i];
		struct share_waiting *o = &waiting[g->queue];

		if (!g->waits || (o->waits && o->age_ns <= g->age_ns))
			continue;
		*o = (struct share_waiting){ .waits = true, .age_ns = g->age_ns, .ask = &g->ask };
		first[g->queue] = i;
	}
	for (uint32_t q = 0; q < w->set.n; q++)
		shares_waits_anew(w->shares, q);
	return shares_next(w->shares, waiting);
}

/* The table. */

Test(history, decays_are_powers_of_two)
{
	static const uint32_t half_lives[] = { 1, 2, 3, 60, HOUR, 604800, QUEUE_HALF_LIFE_MAX_S };

	for (size_t k = 0; k < sizeof(half_lives) / sizeof(half_lives[0]); k++) {
		uint32_t decays[QUEUE_DECAYS];

		queues_decays(half_lives[k], decays);
		for (uint32_t i = 0; i < QUEUE_DECAYS; i++) {
			const long double wanted = exp2l(-exp2l(i) / half_lives[k] + 32);

			cr_assert(fabsl((long double)decays[i] - wanted) <= 0.5001L, "2^%u of %u: %u, %Lf", i,
			          half_lives[k], decays[i], wanted);
		}
	}
}

/* By hand. */

/* In pieces, but for what the decays lose by rounding. */
static bool is_about(wide past, double wanted)
{
	return fabs((double)past / (double)QUEUE_PAST_ONE - wanted) < 0.000001;
}

/* An hour of 70 at a half-life of an hour is 35, and half of that an hour later; with factor 1000
 * half of it counts, rounded down to pieces. */
Test(history, half_is_left_after_a_half_life)
{
	struct world *w = world_new(1000, HOUR);
	const uint32_t a = queue_add(w, "a", 0);
	struct share_ask gpu = { 0 };

	share_ask_add(&gpu, GPU, 1);
	world_begin(w);
	gang_add(w, a, 70, 0);
	gang_runs(w, 0, true);
	wait_s(w, HOUR);
	gang_runs(w, 0, false);
	cr_assert(is_about(shares_history(w->shares, a, GPU), 35));
	cr_assert(is_about(shares_history(w->shares, 0, GPU), 35));
	cr_assert_eq((uint64_t)shares_over(w->shares, a, &gpu), (uint64_t)(SHARE_ONE * 17 / 80));
	wait_s(w, HOUR);
	cr_assert(is_about(shares_history(w->shares, a, GPU), 17.5));
	cr_assert_eq((uint64_t)shares_over(w->shares, a, &gpu), (uint64_t)(SHARE_ONE * 8 / 80));
	world_free(w);
}

/* The example of docs/fairness.md, "History". */
Test(history, the_worked_example)
{
	struct world *w = world_new(1000, HOUR);
	const uint32_t a = queue_add(w, "a", 0), b = queue_add(w, "b", 0);
	const struct queue_past past = { .resource = GPU, .value = 42 };
	struct share_ask gpu = { 0 };

	share_ask_add(&gpu, GPU, 8);
	world_begin(w);
	shares_history_restore(w->shares, a, &past, 1, w->now_s);
	shares_use(w->shares, a, GPU, 16);
	shares_use(w->shares, b, GPU, 22);
	/* (16 + 42) / 2 = 29, / 80 / 0.5 = 0.725; (22 + 0) / 2 = 11: 0.275, rounded down */
	cr_assert_eq((uint64_t)shares_over(w->shares, a, &gpu), UINT64_C(797145930137));
	cr_assert_eq((uint64_t)shares_over(w->shares, b, &gpu), UINT64_C(302365697638));
	wait_s(w, HOUR);
	/* (16 + 29) / 2 = 22: 0.55; (22 + 11) / 2 = 16: 0.4 */
	cr_assert(is_about(shares_history(w->shares, a, GPU), 29));
	cr_assert(is_about(shares_history(w->shares, b, GPU), 11));
	cr_assert_eq((uint64_t)shares_over(w->shares, a, &gpu), UINT64_C(604731395276));
	cr_assert_eq((uint64_t)shares_over(w->shares, b, &gpu), UINT64_C(439804651110));
	world_free(w);
}

/* Gangs of 80 of `a`, the older ones, and of `b`, 10 minutes each, after `a` ran for an hour. */
static void take_turns(struct world *w, uint32_t a, uint32_t b, char *order)
{
	uint32_t first[QUEUES];

	gang_add(w, a, 80, 0);
	gang_runs(w, 0, true);
	wait_minutes(w, 60);
	gang_runs(w, 0, false);
	for (uint32_t i = 0; i < 12; i++)
		w->gangs[gang_add(w, i < 6 ? a : b, 80, 0)].age_ns = i;
	for (uint32_t turn = 0; turn < 12; turn++) {
		const uint32_t leaf = next_find(w, first);

		*order++ = w->defs[leaf].name[0];
		gang_runs(w, first[leaf], true);
		wait_minutes(w, 10);
		gang_runs(w, first[leaf], false);
	}
	*order = '\0';
}

/* The same in floating point, of which the formulas are in docs/fairness.md. */
static void expect_turns(char *order)
{
	double history[2] = { 40, 0 };
	int left[2] = { 6, 6 };

	for (uint32_t turn = 0; turn < 12; turn++) {
		const int next = left[1] > 0 && (left[0] == 0 || history[1] < history[0]);
		const double stays = exp2(-1.0 / 6);

		*order++ = "ab"[next];
		left[next]--;
		for (int q = 0; q < 2; q++)
			history[q] = history[q] * stays + (q == next ? 80 * (1 - stays) : 0);
	}
	*order = '\0';
}

/* QUE-19. */
Test(history, que_19_who_used_little_is_next)
{
	for (uint32_t factor = 0; factor <= 1000; factor += 1000) {
		struct world *w = world_new(factor, HOUR);
		const uint32_t a = queue_add(w, "a", 0), b = queue_add(w, "b", 0);
		char order[16], wanted[16] = "aaaaaabbbbbb"; /* by age */

		world_begin(w);
		take_turns(w, a, b, order);
		if (factor > 0)
			expect_turns(wanted);
		cr_assert_str_eq(order, wanted);
		cr_assert(factor == 0 || order[0] == 'b');
		world_free(w);
	}
}

/* A question is not a change, and time does not go back. */
Test(history, questions_leave_it_alone)
{
	struct world *w = world_new(1000, HOUR);
	const uint32_t a = queue_add(w, "a", 0);

	world_begin(w);
	shares_use(w->shares, a, GPU, 80);
	wait_s(w, 59);
	shares_suppose(w->shares, a, GPU, -80);
	cr_assert_eq(shares_history(w->shares, a, GPU), 0);
	shares_suppose(w->shares, a, GPU, 80);
	shares_history_time(w->shares, w->now_s - 30);
	shares_use(w->shares, a, GPU, 1);
	cr_assert_eq((int64_t)(shares_history(w->shares, a, GPU) / (QUEUE_PAST_ONE / 1000)), 903);
	cr_assert_eq(shares_history_due_s(w->shares), w->begun_s + SHARE_HISTORY_S);
	world_free(w);
}

/* As large as amounts get, no product overflows: the sanitizer looks. */
Test(history, amounts_have_room)
{
	struct world *w = world_new(QUEUE_FACTOR_MAX, 1);
	const uint32_t a = queue_add(w, "a", 0);
	struct share_ask gpu = { 0 };

	share_ask_add(&gpu, GPU, 1);
	w->total[GPU] = INT64_MAX;
	world_begin(w);
	shares_use(w->shares, a, GPU, (wide)INT64_MAX * 4);
	wait_s(w, 100000);
	cr_assert_eq(shares_history(w->shares, a, GPU), (wide)INT64_MAX * QUEUE_PAST_ONE);
	cr_assert_eq((uint64_t)shares_over(w->shares, a, &gpu), (uint64_t)SHARE_ONE);
	shares_use(w->shares, a, GPU, -(wide)INT64_MAX * 4);
	wait_s(w, UINT64_C(1) << 40);
	cr_assert_eq(shares_history(w->shares, a, GPU), 0);
	world_free(w);
}

/* The slow models. */

static bool below(const struct world *w, uint32_t q, uint32_t above)
{
	while (q != above && q != 0)
		q = w->defs[q].parent;
	return q == above;
}

/* By the definition, over all that happened. */
static wide slow_history(const struct world *w, uint32_t q, uint32_t r)
{
	uint64_t since_s = w->begun_s;
	wide used = 0, past = 0;

	for (uint32_t i = 0; i < w->log_n; i++) {
		const struct happening *e = &w->log[i];
		const struct gang *g = &w->gangs[e->gang < GANGS ? e->gang : 0];
		uint64_t left = UINT64_C(1) << 32;

		if (e->gang < GANGS && !below(w, g->queue, q))
			continue;
		for (uint32_t bit = 0; bit < QUEUE_DECAYS; bit++)
			if ((e->at_s - since_s) & UINT64_C(1) << bit)
				left = left * w->terms.decays[bit] / (UINT64_C(1) << 32);
		past +=
			(used * QUEUE_PAST_ONE - past) * (wide)((UINT64_C(1) << 32) - left) / ((wide)1 << 32);
		since_s = e->at_s;
		if (e->gang < GANGS)
			used += e->starts ? g->amounts[r] : -g->amounts[r];
	}
	return past;
}

/* The integral of what was used, as of the last time that it was brought up. */
static double true_history(const struct world *w, uint32_t q, uint32_t r)
{
	double used = 0, past = 0, since_s = (double)w->begun_s;

	for (uint32_t i = 0; i < w->log_n; i++) {
		const struct happening *e = &w->log[i];
		const struct gang *g = &w->gangs[e->gang < GANGS ? e->gang : 0];
		const double stays = exp2((since_s - (double)e->at_s) / w->half_life_s);

		if (e->gang < GANGS && !below(w, g->queue, q))
			continue;
		past = past * stays + used * (1 - stays);
		since_s = (double)e->at_s;
		if (e->gang < GANGS)
			used += (double)(e->starts ? g->amounts[r] : -g->amounts[r]);
	}
	return past;
}

static wide slow_used(const struct world *w, uint32_t q, uint32_t r)
{
	wide sum = 0;

	for (uint32_t i = 0; i < w->gangs_n; i++)
		sum += w->gangs[i].runs && below(w, w->gangs[i].queue, q) ? w->gangs[i].amounts[r] : 0;
	return sum;
}

static share_t slow_over(const struct world *w, uint32_t q, const struct gang *g)
{
	share_t most = 0;

	for (uint32_t r = 0; r < R; r++) {
		const wide now = slow_used(w, q, r), factor = w->terms.factor;
		const wide counts =
			(1000 * now * QUEUE_PAST_ONE + factor * (factor > 0 ? slow_history(w, q, r) : 0)) /
			((1000 + factor) * QUEUE_PAST_ONE);
		const wide over = counts - shares_guarantee(w->shares, q, r);
		int64_t weights = 0;
		share_t share;

		for (uint32_t c = 1; c < w->set.n; c++)
			weights += w->defs[c].parent == w->defs[q].parent ? w->defs[c].weight[r] : 0;
		if (g->amounts[r] == 0 || over <= 0)
			continue;
		share = (share_t)over * 1000000 * SHARE_ONE /
		        (share_t)(w->total[r] * (1000000 * w->defs[q].weight[r] / weights));
		most = share > most ? share : most;
	}
	return most;
}

static bool slow_inside(const struct world *w, uint32_t q, const struct gang *g)
{
	for (uint32_t r = 0; r < R; r++)
		if (g->amounts[r] > 0 &&
		    slow_used(w, q, r) + g->amounts[r] > shares_guarantee(w->shares, q, r))
			return false;
	return true;
}

/* True if queue a with its first gang comes before its sibling b. */
static bool slow_before(const struct world *w, uint32_t a, const struct gang *first, uint32_t b,
                        const struct gang *second)
{
	const share_t over_a = slow_over(w, a, first), over_b = slow_over(w, b, second);

	if (slow_inside(w, a, first) != slow_inside(w, b, second))
		return slow_inside(w, a, first);
	if (over_a != over_b)
		return over_a < over_b;
	if (first->age_ns != second->age_ns)
		return first->age_ns < second->age_ns;
	return strcmp(w->defs[a].name, w->defs[b].name) < 0;
}

/* The first gang below a queue; GANGS: none waits. */
static uint32_t slow_first(const struct world *w, uint32_t q)
{
	uint32_t best = GANGS, of = 0;

	for (uint32_t i = 0; i < w->gangs_n; i++)
		if (w->gangs[i].waits && w->gangs[i].queue == q &&
		    (best == GANGS || w->gangs[i].age_ns < w->gangs[best].age_ns))
			best = i;
	for (uint32_t c = 1; c < w->set.n; c++) {
		const uint32_t first = w->defs[c].parent == q ? slow_first(w, c) : GANGS;

		if (first != GANGS &&
		    (best == GANGS || slow_before(w, c, &w->gangs[first], of, &w->gangs[best]))) {
			best = first;
			of = c;
		}
	}
	return best;
}

static void all_equal(const struct world *w)
{
	for (uint32_t q = 0; q < w->set.n; q++)
		for (uint32_t r = 0; r < R && w->terms.factor > 0; r++) {
			const wide past = shares_history(w->shares, q, r);
			const double about = (double)past / (double)QUEUE_PAST_ONE;
			const double wanted = true_history(w, q, r);

			cr_assert(past == slow_history(w, q, r), "queue %u resource %u", q, r);
			cr_assert(fabs(about - wanted) <= 0.001 + wanted * 0.0001, "%f, %f", about, wanted);
		}
	for (uint32_t i = 0; i < w->gangs_n; i++)
		for (uint32_t q = w->gangs[i].queue; q != 0; q = w->defs[q].parent)
			cr_assert(shares_over(w->shares, q, &w->gangs[i].ask) == slow_over(w, q, &w->gangs[i]));
}

static uint32_t turn_equal(struct world *w)
{
	uint32_t first[QUEUES], leaf = next_find(w, first);
	const uint32_t wanted = slow_first(w, 0);

	cr_assert_eq(leaf == UINT32_MAX, wanted == GANGS);
	if (leaf == UINT32_MAX)
		return 0;
	cr_assert_eq(first[leaf], wanted);
	gang_runs(w, wanted, true);
	return 1;
}

static struct world *random_world(struct random *at)
{
	static const char *const names[QUEUES] = { "", "h", "c", "k", "b", "z", "d", "a" };
	static const uint32_t factors[] = { 0, 1, 500, 1000, 30000 };
	struct world *w = world_new(factors[random_below(at, 5)], 1 + random_below(at, 5000));
	const uint32_t n = 3 + random_below(at, QUEUES - 2);

	while (w->set.n < n) {
		const uint32_t parent = random_below(at, 3) == 0 ? random_below(at, w->set.n) : 0;
		const uint32_t q = queue_add(w, names[w->set.n], parent);

		for (uint32_t r = 0; r < R; r++) {
			w->defs[q].weight[r] = 1 + random_below(at, 4);
			w->defs[q].guarantee[r] = random_below(at, 4) == 0 ? random_below(at, 20) : 0;
		}
	}
	world_begin(w);
	for (uint32_t i = 0; i < GANGS; i++) {
		uint32_t q;

		do
			q = random_below(at, n);
		while (!shares_is_leaf(w->shares, q));
		gang_add(w, q, 1 + random_below(at, 8), random_below(at, 2) ? 0 : random_below(at, 100000));
		w->gangs[i].age_ns = random_below(at, 6);
	}
	return w;
}

/* History, shares and order are those of the models in every step. */
Test(history, random_runs_equal_the_slow_models)
{
	uint32_t starts = 0;

	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct random at = { .state = seed };
		struct world *w = random_world(&at);

		for (uint32_t step = 0; step < 60; step++) {
			const uint32_t i = random_below(&at, GANGS), what = random_below(&at, 4);

			if (what == 0)
				wait_s(w, random_below(&at, 100));
			else if (what == 1)
				wait_s(w, random_below(&at, 3) ? 1 : random_below(&at, 9000));
			else if (what == 2 && w->gangs[i].runs)
				gang_runs(w, i, false);
			else if (what == 2)
				w->gangs[i].waits = true;
			else
				starts += turn_equal(w);
			all_equal(w);
		}
		world_free(w);
	}
	cr_assert_gt(starts, 1000u);
}

/* A new tree of the same queues goes on where the old one was, and a restored one as if it had used
 * the same since. */
Test(history, it_outlives_its_tree)
{
	struct world *w = world_new(1000, HOUR);
	const uint32_t a = queue_add(w, "a", 0);
	const struct queue_past past = { .resource = GPU, .value = 10, .part = QUEUE_PAST_ONE / 2 };
	struct shares *old;

	world_begin(w);
	old = w->shares;
	shares_use(old, a, GPU, 80);
	w->now_s += HOUR;
	world_begin(w);
	shares_use(w->shares, a, GPU, 80);
	shares_history_copy(w->shares, a, old, a);
	cr_assert(is_about(shares_history(w->shares, a, GPU), 40));
	shares_history_restore(w->shares, a, &past, 1, w->now_s);
	cr_assert_eq(shares_history(w->shares, a, GPU), 21 * (wide)QUEUE_PAST_ONE / 2);
	shares_history_restore(w->shares, a, &past, 1, w->now_s - HOUR);
	cr_assert(is_about(shares_history(w->shares, a, GPU), 45.25));
	shares_history_restore(w->shares, a, &past, 1, w->now_s + HOUR);
	cr_assert_eq(shares_history(w->shares, a, GPU), 21 * (wide)QUEUE_PAST_ONE / 2);
	shares_free(old);
	world_free(w);
}

/* Without a change of what waits: the queue above has another first leaf. */
Test(history, what_is_restored_moves_all_above_it)
{
	struct world *w = world_new(1000, HOUR);
	const uint32_t team = queue_add(w, "team", 0), a = queue_add(w, "a", team);
	const uint32_t b = queue_add(w, "b", team);
	const struct queue_past past = { .resource = GPU, .value = 40 };
	struct share_waiting waiting[QUEUES] = { { 0 } };

	for (uint32_t i = 0; i < 2; i++)
		waiting[i == 0 ? a : b] = (struct share_waiting){
			.waits = true, .age_ns = i, .ask = &w->gangs[gang_add(w, i == 0 ? a : b, 1, 0)].ask
		};
	world_begin(w);
	cr_assert_eq(shares_next(w->shares, waiting), a);
	shares_history_restore(w->shares, a, &past, 1, w->now_s);
	cr_assert_eq(shares_next(w->shares, waiting), b);
	world_free(w);
}
