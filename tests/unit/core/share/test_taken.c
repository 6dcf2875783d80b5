/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim comes to rest: queues whose gangs share one resource two by two take from each other in a
 * circle, and random trees, beside a slow model of the marks. */
#include "core/share/share.h"
#include "core/share/taken.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

enum { X, Y, Z, R };

static const struct taken_by by_other = { .at_ns = 7, .queue = 2 };

#define QUEUES 10u
#define GANGS 48u

struct gang {
	uint32_t queue;
	int64_t asks[R];
	struct share_ask ask;
	bool runs;
	bool marked; /* the slow model: it was reclaimed since the last change */
};

struct world {
	struct share_def defs[QUEUES];
	struct share_set set;
	struct shares *shares;
	wide total[R];
	struct gang gangs[GANGS];
	uint32_t n;
	struct taken taken;
	struct random random;
};

static uint32_t queue_add(struct world *w, uint32_t parent)
{
	static const char *const names[QUEUES] = {
		"root", "a", "b", "c", "d", "e", "f", "g", "h", "i"
	};
	struct share_def *d = &w->defs[w->set.n];

	*d = (struct share_def){ .name = names[w->set.n], .parent = parent };
	for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
		d->limit[r] = QUEUE_NO_LIMIT;
		d->weight[r] = 1;
	}
	return w->set.n++;
}

static struct world *world_new(int64_t of_each)
{
	struct world *w = calloc(1, sizeof(*w));

	w->set = (struct share_set){ .defs = w->defs, .resources = R };
	for (uint32_t r = 0; r < R; r++)
		w->total[r] = of_each;
	queue_add(w, 0);
	return w;
}

static void world_begin(struct world *w)
{
	w->shares = shares_new(&w->set);
	shares_capacity(w->shares, w->total);
}

static void world_free(struct world *w)
{
	taken_clear(&w->taken);
	shares_free(w->shares);
	free(w);
}

static void gang_runs(struct world *w, struct gang *g, bool runs)
{
	for (uint32_t r = 0; r < R; r++)
		shares_use(w->shares, g->queue, r, runs ? g->asks[r] : -g->asks[r]);
	g->runs = runs;
}

static bool has_room(const struct world *w, const struct gang *g)
{
	bool fits = true;

	for (uint32_t r = 0; r < R; r++)
		fits = fits && shares_used(w->shares, 0, r) + g->asks[r] <= w->total[r];
	return fits;
}

static void gang_add(struct world *w, uint32_t queue, int64_t x, int64_t y, int64_t z)
{
	struct gang *g = &w->gangs[w->n++];

	*g = (struct gang){ .queue = queue, .asks = { x, y, z } };
	for (uint32_t r = 0; r < R; r++)
		share_ask_add(&g->ask, r, g->asks[r]);
}

/* 14 gangs, of which the first ones run. */
static void gangs_add(struct world *w, uint32_t queue, int64_t x, int64_t y, int64_t z,
                      uint32_t run)
{
	for (uint32_t i = 0; i < 14; i++) {
		gang_add(w, queue, x, y, z);
		if (i < run)
			gang_runs(w, &w->gangs[w->n - 1], true);
	}
}

/* The gang takes the place of the other one, if it may: `marks`: by the rule that ends. */
static bool takes(struct world *w, struct gang *g, struct gang *victim, bool marks, bool fair)
{
	bool may = g->queue != victim->queue;

	cr_assert_eq(taken_is(&w->taken, (uint32_t)(g - w->gangs)), g->marked);
	if (marks && (g->marked || victim->marked))
		return false;
	gang_runs(w, victim, false);
	may = may && has_room(w, g) &&
	      shares_reclaim(w->shares, g->queue, victim->queue, &g->ask, &victim->ask, fair);
	gang_runs(w, may ? g : victim, true);
	if (may && marks) {
		victim->marked = true;
		taken_evict(&w->taken, GANGS, (uint32_t)(victim - w->gangs), &by_other);
	}
	return may;
}

/* True if some gang takes of some other one; which is chance. */
static bool one_takes(struct world *w, bool marks, bool fair)
{
	const uint32_t n = w->n * w->n, from = random_below(&w->random, n);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t pair = (from + i) % n;
		struct gang *g = &w->gangs[pair % w->n], *victim = &w->gangs[pair / w->n];

		if (!g->runs && victim->runs && takes(w, g, victim, marks, fair))
			return true;
	}
	return false;
}

/* Evictions until nobody takes, or so many. */
static uint32_t reclaim(struct world *w, bool marks, bool fair, uint32_t most)
{
	uint32_t evictions = 0;

	while (evictions < most && one_takes(w, marks, fair))
		evictions++;
	return evictions;
}

static void changes(struct world *w)
{
	taken_change(&w->taken);
	for (uint32_t i = 0; i < w->n; i++)
		w->gangs[i].marked = false;
}

/* 14 of each resource, and gangs of each queue, of which 5, 4 and 4 run. */
static struct world *circle_new(bool guaranteed)
{
	struct world *w = world_new(14);
	const uint32_t a = queue_add(w, 0), b = queue_add(w, 0), c = queue_add(w, 0);

	if (guaranteed) {
		w->defs[a].guarantee[X] = w->defs[b].guarantee[Y] = w->defs[c].guarantee[Z] = 5;
		w->defs[a].guarantee[Z] = w->defs[b].guarantee[X] = w->defs[c].guarantee[Y] = 8;
	}
	world_begin(w);
	gangs_add(w, a, 1, 0, 2, 5);
	gangs_add(w, b, 2, 1, 0, 4);
	gangs_add(w, c, 0, 2, 1, 4);
	return w;
}

Test(taken, three_queues_come_to_rest)
{
	for (int guaranteed = 0; guaranteed < 2; guaranteed++) {
		struct world *w = circle_new(guaranteed);
		uint32_t evictions;

		cr_assert_eq(reclaim(w, false, !guaranteed, 3000), 3000u, "they go round for ever");
		evictions = reclaim(w, true, !guaranteed, 3000);
		cr_assert(evictions > 0 && evictions <= w->n, "%u evictions", evictions);
		cr_assert_eq(reclaim(w, true, !guaranteed, 3000), 0u);
		changes(w);
		evictions = reclaim(w, true, !guaranteed, 3000);
		cr_assert(evictions > 0 && evictions <= w->n, "%u evictions after a change", evictions);
		world_free(w);
	}
}

/* Each queue has gangs of one kind, which ask for one or two of three resources. */
static struct world *random_world(struct random *at)
{
	struct world *w = world_new(12 + random_below(at, 20));
	const uint32_t queues = 4 + random_below(at, 4);
	int64_t asks[QUEUES][R] = { { 0 } };

	w->random = *at;
	if (random_below(at, 2))
		w->set.unshared = random_below(at, 1u << R);
	while (w->set.n < queues)
		queue_add(w, random_below(at, 3) ? 0 : random_below(at, w->set.n));
	for (uint32_t q = 1; q < queues; q++) {
		const uint32_t without = random_below(at, R);

		for (uint32_t r = 0; r < R; r++) {
			w->defs[q].guarantee[r] = random_below(at, 3) ? 0 : random_below(at, 10);
			asks[q][r] = r == without ? 0 : 1 + random_below(at, 3);
		}
		if (random_below(at, 4) == 0)
			asks[q][(without + 1) % R] = 0;
	}
	world_begin(w);
	while (w->n < GANGS) {
		const uint32_t q = 1 + random_below(at, queues - 1);

		gang_add(w, q, asks[q][X], asks[q][Y], asks[q][Z]);
		if (has_room(w, &w->gangs[w->n - 1]))
			gang_runs(w, &w->gangs[w->n - 1], true);
	}
	return w;
}

/* Between two changes no gang is reclaimed twice, and none takes after it was. */
Test(taken, random_trees_come_to_rest)
{
	uint32_t all = 0, for_ever = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random at = { .state = seed };
		struct world *w = random_world(&at);
		const bool fair = seed % 2;

		for (uint32_t change = 0; change < 4; change++) {
			const uint32_t evictions = reclaim(w, true, fair, 1000);

			cr_assert_leq(evictions, GANGS, "seed %u", (unsigned)seed);
			all += evictions;
			changes(w);
		}
		for_ever += reclaim(w, false, fair, 500) == 500;
		world_free(w);
	}
	cr_assert_gt(all, 200u);
	cr_assert_gt(for_ever, 0u, "without the marks some never end");
}

/* A gang that is away, and dropped, is the one that it was when it comes back under its name. */
Test(taken, a_gang_that_is_away_comes_back_under_its_name)
{
	struct taken t = { 0 };

	cr_assert(!taken_is_on(&t) && !taken_is(&t, 3) && !taken_is_away(&t, 3));
	taken_evict(&t, 8, 3, &by_other);
	taken_evict(&t, 8, 4, NULL); /* by priority, in its own queue */
	cr_assert(taken_is(&t, 3) && taken_is_away(&t, 3));
	cr_assert(!taken_is(&t, 4) && taken_is_away(&t, 4));
	taken_drop(&t, 3, "ns/g", 4);
	cr_assert(!taken_is(&t, 3) && !taken_is_away(&t, 3));
	taken_begin(&t, 5, "ns/h", 4);
	cr_assert(!taken_is(&t, 5) && !taken_is_away(&t, 5));
	taken_begin(&t, 6, "ns/g", 4);
	cr_assert(taken_is(&t, 6) && taken_is_away(&t, 6));
	taken_stands(&t, 6);
	cr_assert(taken_is(&t, 6) && !taken_is_away(&t, 6));
	taken_drop(&t, 6, "ns/g", 4);
	taken_begin(&t, 6, "ns/g", 4);
	cr_assert(!taken_is(&t, 6) && !taken_is_away(&t, 6), "it stood when it was dropped: a new one");
	taken_change(&t);
	cr_assert(!taken_is(&t, 3) && taken_is_away(&t, 4));
	taken_clear(&t);
	cr_assert(!taken_is_on(&t));
}

/* Its eviction was refused, and nothing of it went. */
Test(taken, a_gang_that_stayed_was_not_reclaimed)
{
	struct taken t = { 0 };

	taken_evict(&t, 8, 3, &by_other);
	taken_stands(&t, 3);
	cr_assert(!taken_is(&t, 3) && !taken_is_away(&t, 3));
	taken_evict(&t, 8, 3, &by_other);
	taken_lose(&t, 3);
	taken_stands(&t, 3);
	cr_assert(taken_is(&t, 3) && !taken_is_away(&t, 3));
	taken_evict(&t, 8, 3, NULL);
	taken_stands(&t, 3);
	cr_assert(taken_is(&t, 3), "the mark is of an earlier eviction");
	taken_clear(&t);
}

/* FNV-1a of both is 0xfd57a5ad: their names alone tell them apart. */
Test(taken, names_of_one_hash_are_two_gangs)
{
	struct taken t = { 0 };

	taken_evict(&t, 8, 3, &by_other);
	taken_drop(&t, 3, "ns/ojjfvkr", 10);
	taken_begin(&t, 3, "ns/orvhkzz", 10);
	cr_assert(!taken_is(&t, 3) && !taken_is_away(&t, 3));
	taken_begin(&t, 4, "ns/ojjfvkr", 10);
	cr_assert(taken_is(&t, 4) && taken_is_away(&t, 4));
	taken_clear(&t);
}

/* What is shown of it: who took it last, and when; not of an eviction that did not happen. */
Test(taken, who_reclaimed_a_gang_is_kept)
{
	static const struct taken_by later = { .at_ns = 9, .queue = 4 };
	struct taken t = { 0 };

	cr_assert_eq(taken_by(&t, 3).at_ns, 0u);
	taken_evict(&t, 8, 3, &by_other);
	taken_evict(&t, 8, 4, NULL);
	cr_assert_eq(taken_by(&t, 4).at_ns, 0u);
	taken_drop(&t, 3, "ns/g", 4);
	cr_assert_eq(taken_by(&t, 3).at_ns, 0u);
	taken_begin(&t, 5, "ns/g", 4);
	taken_stands(&t, 5);
	taken_change(&t);
	cr_assert(taken_by(&t, 5).at_ns == 7 && taken_by(&t, 5).queue == 2);
	taken_evict(&t, 8, 5, &later);
	cr_assert(taken_by(&t, 5).at_ns == 9 && taken_by(&t, 5).queue == 4);
	taken_stands(&t, 5);
	cr_assert_eq(taken_by(&t, 5).at_ns, 0u, "it was refused");
	taken_clear(&t);
}

/* Of gangs that stand and of those that come back under their name. */
Test(taken, a_queue_that_is_gone_is_forgotten)
{
	static const struct taken_by other = { .at_ns = 9, .queue = 1 };
	const bool gone[] = { false, false, true };
	struct taken t = { 0 };

	taken_forget(&t, 8, gone, 3);
	taken_evict(&t, 8, 3, &by_other);
	taken_evict(&t, 8, 4, &other);
	taken_evict(&t, 8, 5, &by_other);
	taken_drop(&t, 5, "ns/g", 4);
	taken_forget(&t, 8, gone, 2);
	cr_assert_eq(taken_by(&t, 3).queue, 2u, "another id");
	taken_forget(&t, 8, gone, 3);
	taken_begin(&t, 6, "ns/g", 4);
	cr_assert(taken_by(&t, 3).queue == QUEUE_MISSING && taken_by(&t, 3).at_ns == 7);
	cr_assert(taken_by(&t, 6).queue == QUEUE_MISSING && taken_is(&t, 6));
	cr_assert_eq(taken_by(&t, 4).queue, 1u);
	taken_clear(&t);
}

/* So many gangs can be away at once; of more the first are forgotten. */
Test(taken, names_are_bounded)
{
	struct taken t = { 0 };
	char name[16];

	for (uint32_t i = 0; i < TAKEN_GONE_MAX + 1; i++) {
		taken_evict(&t, 1, 0, &by_other);
		taken_drop(&t, 0, name, (size_t)snprintf(name, sizeof(name), "ns/g%u", i));
	}
	taken_begin(&t, 0, "ns/g0", 5);
	cr_assert(!taken_is(&t, 0));
	taken_begin(&t, 0, "ns/g1", 5);
	cr_assert(taken_is(&t, 0));
	taken_clear(&t);
}
