/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: numbers that are worked out by hand, and random runs beside a slow model that knows only
 * the definitions and the gangs that run. */
#include "core/share/share.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

enum { GPU, CPU, PODS, R };

#define QUEUES 12u
#define GANGS 4096u

struct gang {
	uint32_t queue;
	struct share_ask ask;
	uint64_t age_ns;
	bool waits, runs, begun, extra, promised;
};

struct world {
	struct share_def defs[QUEUES];
	struct share_set set;
	struct shares *shares;
	wide total[R];
	struct gang gangs[GANGS];
	uint32_t gangs_n;
	struct share_waiting waiting[QUEUES]; /* as of the last turn */
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

static struct world *world_new(int64_t gpu, int64_t cpu)
{
	struct world *w = calloc(1, sizeof(*w));

	w->set = (struct share_set){ .defs = w->defs, .resources = R };
	w->total[GPU] = gpu;
	w->total[CPU] = cpu;
	w->total[PODS] = 1000;
	w->set.unshared = 1u << PODS;
	queue_add(w, "root", 0);
	return w;
}

static void world_begin(struct world *w)
{
	w->shares = shares_new(&w->set);
	shares_capacity(w->shares, w->total);
}

static void world_free(struct world *w)
{
	shares_free(w->shares);
	free(w);
}

static uint32_t gang_add(struct world *w, uint32_t queue, int64_t gpu, int64_t cpu)
{
	struct gang *g = &w->gangs[w->gangs_n];

	*g = (struct gang){ .queue = queue, .waits = true };
	share_ask_add(&g->ask, GPU, gpu);
	share_ask_add(&g->ask, CPU, cpu);
	share_ask_add(&g->ask, PODS, 1);
	return w->gangs_n++;
}

static void gangs_add(struct world *w, uint32_t queue, int64_t gpu, int64_t cpu, uint32_t n)
{
	while (n-- > 0)
		gang_add(w, queue, gpu, cpu);
}

static void gang_runs(struct world *w, struct gang *g, bool runs)
{
	for (uint32_t i = 0; i < g->ask.n; i++)
		shares_use(w->shares, g->queue, g->ask.wants[i].resource,
		           runs ? g->ask.wants[i].value : -g->ask.wants[i].value);
	g->runs = runs;
	g->waits = false;
}

static void promises_tell(struct world *w)
{
	for (uint32_t q = 0; q < w->set.n; q++)
		shares_promise_none(w->shares, q);
	for (uint32_t i = 0; i < w->gangs_n; i++) {
		const struct gang *g = &w->gangs[i];

		for (uint32_t k = 0; k < g->ask.n && g->promised && !g->runs; k++)
			shares_promise(w->shares, g->queue, g->ask.wants[k].resource, g->ask.wants[k].value);
	}
}

/* The first waiting gang of each leaf: by age, then number. */
static void waiting_find(const struct world *w, struct share_waiting *out, uint32_t *first)
{
	memset(out, 0, QUEUES * sizeof(*out));
	for (uint32_t i = w->gangs_n; i-- > 0;) {
		const struct gang *g = &w->gangs[i];
		struct share_waiting *o = &out[g->queue];

		if (!g->waits || (o->waits && (o->extra != g->extra ? g->extra : o->age_ns < g->age_ns)))
			continue;
		*o = (struct share_waiting){
			.waits = true, .extra = g->extra, .begun = g->begun, .age_ns = g->age_ns, .ask = &g->ask
		};
		first[g->queue] = i;
	}
}

static wide free_of(const struct world *w, uint32_t r)
{
	return w->total[r] - shares_used(w->shares, 0, r);
}

static bool has_room(const struct world *w, const struct gang *g)
{
	for (uint32_t i = 0; i < g->ask.n; i++)
		if (g->ask.wants[i].value > free_of(w, g->ask.wants[i].resource))
			return false;
	return true;
}

/* Starts what may and can, in turn; `order` gets a letter for each start. */
static void fill(struct world *w, char *order)
{
	struct share_waiting waiting[QUEUES];
	uint32_t first[QUEUES], leaf;
	struct share_block block;

	for (;;) {
		struct gang *g;

		waiting_find(w, waiting, first);
		for (uint32_t q = 0; q < w->set.n; q++)
			shares_waits_anew(w->shares, q);
		leaf = shares_next(w->shares, waiting);
		if (leaf == UINT32_MAX)
			break;
		g = &w->gangs[first[leaf]];
		g->waits = false;
		if (!shares_allow(w->shares, leaf, &g->ask, &block) || !has_room(w, g))
			continue;
		gang_runs(w, g, true);
		if (order)
			*order++ = w->defs[leaf].name[0];
	}
	if (order)
		*order = '\0';
}

static int64_t used(const struct world *w, uint32_t queue, uint32_t r)
{
	return (int64_t)shares_used(w->shares, queue, r);
}

/* QUE-1, QUE-2. */
Test(share, a_limit_is_never_passed)
{
	struct world *w = world_new(80, 0);
	const uint32_t a = queue_add(w, "A", 0);
	struct share_block block;

	w->defs[a].limit[GPU] = 16;
	world_begin(w);
	gangs_add(w, a, 4, 0, 5);
	fill(w, NULL);
	cr_assert_eq(used(w, a, GPU), 16);
	cr_assert_not(shares_allow(w->shares, a, &w->gangs[4].ask, &block));
	cr_assert(block.by == QUEUE_BY_LIMIT && block.at == a && block.resource == GPU);
	cr_assert(block.need == 4 && block.have == 0);
	gang_runs(w, &w->gangs[0], false);
	cr_assert(shares_allow(w->shares, a, &w->gangs[4].ask, &block));
	gang_add(w, a, 8, 0);
	cr_assert_not(shares_allow(w->shares, a, &w->gangs[5].ask, &block));
	cr_assert(block.need == 8 && block.have == 4);
	gang_add(w, a, 17, 0);
	cr_assert_not(shares_allow(w->shares, a, &w->gangs[6].ask, &block));
	cr_assert_eq(block.by, QUEUE_BY_NEVER);
	world_free(w);
}

/* QUE-3, QUE-4. */
Test(share, reserved_is_kept_and_a_guarantee_is_lent)
{
	for (int reserved = 0; reserved <= 32; reserved += 32) {
		struct world *w = world_new(80, 0);
		const uint32_t a = queue_add(w, "A", 0), b = queue_add(w, "B", 0);
		struct share_block block;

		w->defs[a].guarantee[GPU] = 32;
		w->defs[a].reserved[GPU] = reserved;
		world_begin(w);
		gangs_add(w, b, 8, 0, 10);
		fill(w, NULL);
		cr_assert_eq(used(w, b, GPU), 80 - reserved);
		if (reserved > 0) {
			cr_assert_not(shares_allow(w->shares, b, &w->gangs[9].ask, &block));
			cr_assert(block.by == QUEUE_BY_KEPT && block.at == 0 && block.have == 0);
			gang_add(w, a, 32, 0);
			cr_assert(shares_allow(w->shares, a, &w->gangs[10].ask, &block));
		}
		world_free(w);
	}
}

/* QUE-5, QUE-6, QUE-9. */
Test(share, siblings_by_weight)
{
	static const struct {
		int64_t weight, gang;
		uint32_t asks;
		int64_t a, b;
		const char *order;
	} cases[] = {
		{ 1, 8, 10, 40, 40, "ABABABABAB" },
		{ 3, 4, 20, 60, 20, NULL },
		{ 3, 8, 10, 56, 24, "ABAAABAAAB" },
		{ 1, 8, 1, 8, 72, "ABBBBBBBBB" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = world_new(80, 0);
		const uint32_t a = queue_add(w, "A", 0), b = queue_add(w, "B", 0);
		char order[64];

		w->defs[a].weight[GPU] = cases[i].weight;
		world_begin(w);
		gangs_add(w, a, cases[i].gang, 0, cases[i].asks);
		gangs_add(w, b, cases[i].gang, 0, 20);
		fill(w, order);
		cr_assert(used(w, a, GPU) == cases[i].a && used(w, b, GPU) == cases[i].b, "case %zu", i);
		if (cases[i].order)
			cr_assert_str_eq(order, cases[i].order);
		world_free(w);
	}
}

/* QUE-7. */
Test(share, a_tree_shares_level_by_level)
{
	struct world *w = world_new(80, 0);
	const uint32_t eng = queue_add(w, "eng", 0), ops = queue_add(w, "ops", 0);
	const uint32_t a = queue_add(w, "a", eng), b = queue_add(w, "b", eng),
				   c = queue_add(w, "c", ops);

	world_begin(w);
	gangs_add(w, a, 4, 0, 20);
	gangs_add(w, b, 4, 0, 20);
	gangs_add(w, c, 4, 0, 20);
	fill(w, NULL);
	cr_assert(used(w, a, GPU) == 20 && used(w, b, GPU) == 20 && used(w, c, GPU) == 40);
	cr_assert_eq(used(w, eng, GPU), 40);
	world_free(w);
}

/* QUE-8: a sum over all resources would leave a nothing. */
Test(share, h_drf_does_not_starve)
{
	struct world *w = world_new(80, 1000);
	const uint32_t eng = queue_add(w, "eng", 0), ops = queue_add(w, "ops", 0);
	const uint32_t a = queue_add(w, "a", eng), b = queue_add(w, "b", eng),
				   c = queue_add(w, "c", ops);

	world_begin(w);
	gangs_add(w, b, 80, 0, 1);
	fill(w, NULL);
	cr_assert_eq(used(w, b, GPU), 80);
	gangs_add(w, a, 0, 1, 1000);
	gangs_add(w, c, 0, 1, 1000);
	w->total[PODS] = 100000;
	shares_capacity(w->shares, w->total);
	fill(w, NULL);
	cr_assert(used(w, a, CPU) == 500 && used(w, c, CPU) == 500, "%" PRId64, used(w, a, CPU));
	world_free(w);
}

/* QUE-10. */
Test(share, guarantees_that_are_too_much_are_scaled)
{
	struct world *w = world_new(80, 7);
	const uint32_t b = queue_add(w, "B", 0), a = queue_add(w, "A", 0), c = queue_add(w, "C", 0);

	w->defs[a].guarantee[GPU] = w->defs[b].guarantee[GPU] = 60;
	w->defs[a].guarantee[CPU] = w->defs[b].guarantee[CPU] = w->defs[c].guarantee[CPU] = 7;
	world_begin(w);
	cr_assert(shares_guarantee(w->shares, a, GPU) == 40 && shares_scaled(w->shares, a));
	cr_assert_eq(shares_guarantee(w->shares, b, GPU), 40);
	cr_assert_eq(shares_guarantee(w->shares, a, CPU), 3); /* by name, not by number */
	cr_assert_eq(shares_guarantee(w->shares, b, CPU), 2);
	cr_assert_eq(shares_guarantee(w->shares, c, CPU), 2);
	world_free(w);
}

/* QUE-11. */
Test(share, a_queue_over_its_limit_starts_nothing)
{
	struct world *w = world_new(80, 0);
	const uint32_t a = queue_add(w, "A", 0);
	struct share_block block;

	w->defs[a].limit[GPU] = 8;
	world_begin(w);
	shares_use(w->shares, a, GPU, 24);
	gang_add(w, a, 2, 0);
	cr_assert_not(shares_allow(w->shares, a, &w->gangs[0].ask, &block));
	cr_assert_eq(block.have, 0);
	shares_use(w->shares, a, GPU, -18);
	cr_assert(shares_allow(w->shares, a, &w->gangs[0].ask, &block));
	world_free(w);
}

Test(share, states_and_queues_that_are_none)
{
	struct world *w = world_new(80, 0);
	const uint32_t up = queue_add(w, "up", 0), a = queue_add(w, "A", up);
	struct share_block block;

	w->defs[up].state = QUEUE_CLOSING;
	world_begin(w);
	gang_add(w, a, 2, 0);
	cr_assert(!shares_allow(w->shares, a, &w->gangs[0].ask, &block) && block.by == QUEUE_BY_STATE);
	cr_assert_eq(block.at, up);
	cr_assert(!shares_allow(w->shares, up, &w->gangs[0].ask, &block) &&
	          block.by == QUEUE_BY_CHILDREN);
	cr_assert(!shares_allow(w->shares, SHARE_MISSING, &w->gangs[0].ask, &block) &&
	          block.by == QUEUE_BY_MISSING);
	cr_assert(!shares_allow(w->shares, SHARE_TWO, &w->gangs[0].ask, &block) &&
	          block.by == QUEUE_BY_TWO);
	shares_use(w->shares, SHARE_MISSING, GPU, 5);
	cr_assert(used(w, 0, GPU) == 5 && used(w, a, GPU) == 0);
	world_free(w);
}

/* The example of docs/fairness.md. */
Test(share, the_worked_example)
{
	struct world *w = world_new(80, 1000);
	const uint32_t a = queue_add(w, "a", 0), b = queue_add(w, "b", 0);
	struct share_block block;

	w->defs[a].guarantee[GPU] = 16;
	w->defs[a].weight[GPU] = 3;
	w->defs[b].limit[GPU] = 32;
	world_begin(w);
	shares_use(w->shares, a, GPU, 40);
	shares_use(w->shares, b, GPU, 24);
	gang_add(w, a, 8, 0);
	gang_add(w, b, 8, 0);
	/* (40 - 16) / 80 / 0.75 = 0.4 and (24 - 0) / 80 / 0.25 = 1.2, rounded down */
	cr_assert_eq((uint64_t)shares_over(w->shares, a, &w->gangs[0].ask), UINT64_C(439804651110));
	cr_assert_eq((uint64_t)shares_over(w->shares, b, &w->gangs[1].ask), UINT64_C(1319413953331));
	cr_assert(shares_allow(w->shares, b, &w->gangs[1].ask, &block));
	gang_add(w, b, 16, 0);
	cr_assert_not(shares_allow(w->shares, b, &w->gangs[2].ask, &block));
	cr_assert(block.need == 16 && block.have == 8);
	world_free(w);
}

/* The slow model. */

static bool slow_below(const struct world *w, uint32_t q, uint32_t above)
{
	while (q != above && q != 0)
		q = w->defs[q].parent;
	return q == above;
}

static wide slow_used(const struct world *w, uint32_t q, uint32_t r)
{
	wide sum = 0;

	for (uint32_t i = 0; i < w->gangs_n; i++)
		for (uint32_t k = 0; k < w->gangs[i].ask.n && w->gangs[i].runs; k++)
			if (w->gangs[i].ask.wants[k].resource == r && slow_below(w, w->gangs[i].queue, q))
				sum += w->gangs[i].ask.wants[k].value;
	return sum;
}

static wide slow_promised(const struct world *w, uint32_t q, uint32_t r)
{
	wide sum = 0;

	for (uint32_t i = 0; i < w->gangs_n; i++) {
		const struct gang *g = &w->gangs[i];

		for (uint32_t k = 0; k < g->ask.n && g->promised && !g->runs; k++)
			if (g->ask.wants[k].resource == r && slow_below(w, g->queue, q))
				sum += g->ask.wants[k].value;
	}
	return sum;
}

static wide slow_wanted(const struct world *w, uint32_t q, uint32_t r)
{
	wide sum = 0;

	for (uint32_t c = 1; c < w->set.n; c++)
		if (w->defs[c].parent == q)
			sum += slow_wanted(w, c, r);
	return sum > w->defs[q].guarantee[r] ? sum : w->defs[q].guarantee[r];
}

/* One at a time: to whom the next unit that rounding left over goes. */
static wide slow_guarantee(const struct world *w, uint32_t q, uint32_t r)
{
	const uint32_t parent = w->defs[q].parent;
	wide cap, sum = 0, left, better = 0, mine;

	if (q == 0)
		return w->total[r];
	cap = slow_guarantee(w, parent, r);
	for (uint32_t c = 1; c < w->set.n; c++)
		sum += w->defs[c].parent == parent ? slow_wanted(w, c, r) : 0;
	if (sum <= cap)
		return slow_wanted(w, q, r);
	mine = slow_wanted(w, q, r) * cap;
	left = cap;
	for (uint32_t c = 1; c < w->set.n; c++) {
		const wide theirs = slow_wanted(w, c, r) * cap;

		if (w->defs[c].parent != parent)
			continue;
		left -= theirs / sum;
		better += theirs % sum > mine % sum ||
		          (theirs % sum == mine % sum && strcmp(w->defs[c].name, w->defs[q].name) < 0);
	}
	return mine / sum + (better < left);
}

static wide slow_kept(const struct world *w, uint32_t q, uint32_t r, const struct gang *with);

static wide slow_kept_below(const struct world *w, uint32_t q, uint32_t r, const struct gang *with)
{
	wide sum = 0;

	for (uint32_t c = 1; c < w->set.n; c++)
		sum += w->defs[c].parent == q ? slow_kept(w, c, r, with) : 0;
	return sum;
}

static wide slow_ask(const struct gang *g, uint32_t r)
{
	for (uint32_t k = 0; k < g->ask.n; k++)
		if (g->ask.wants[k].resource == r)
			return g->ask.wants[k].value;
	return 0;
}

static wide slow_used_with(const struct world *w, uint32_t q, uint32_t r, const struct gang *with)
{
	return slow_used(w, q, r) + (slow_below(w, with->queue, q) ? slow_ask(with, r) : 0);
}

static wide slow_kept(const struct world *w, uint32_t q, uint32_t r, const struct gang *with)
{
	const wide has = slow_guarantee(w, q, r), below = slow_kept_below(w, q, r, with);
	wide own = w->defs[q].reserved[r] < has ? w->defs[q].reserved[r] : has;

	own -= slow_used_with(w, q, r, with);
	return own > below ? own : below > 0 ? below : 0;
}

static bool slow_allow(const struct world *w, const struct gang *g)
{
	for (uint32_t q = g->queue;; q = w->defs[q].parent) {
		if (w->defs[q].state != QUEUE_OPEN)
			return false;
		for (uint32_t r = 0; r < R; r++) {
			const bool bounded = w->defs[q].limit[r] != QUEUE_NO_LIMIT;
			const wide kept = slow_kept_below(w, q, r, g), now = slow_used_with(w, q, r, g);

			if (slow_ask(g, r) == 0)
				continue;
			if (bounded && now + kept > w->defs[q].limit[r])
				return false;
			/* Places, not queues, say what is beyond the capacity when nothing is kept. */
			if (q == 0 && kept > 0 && now + kept > w->total[r])
				return false;
		}
		if (q == 0)
			return true;
	}
}

struct slow_key {
	bool late, fresh, outside;
	int64_t priority;
	share_t over;
	uint64_t age_ns;
	const char *name;
};

static bool slow_unshared(const struct world *w, uint32_t r)
{
	return w->set.unshared >> r & 1;
}

/* With what is promised: of its turn. */
static struct slow_key slow_key(const struct world *w, uint32_t q, const struct gang *g,
                                bool promises)
{
	struct slow_key k = { .late = g->extra,
		                  .fresh = !g->begun,
		                  .priority = -(int64_t)w->defs[q].priority,
		                  .age_ns = g->age_ns,
		                  .name = w->defs[q].name };

	for (uint32_t r = 0; r < R; r++) {
		const wide has = slow_guarantee(w, q, r),
				   now = slow_used(w, q, r) + (promises ? slow_promised(w, q, r) : 0);
		wide weights = 0, part;
		share_t over;

		if (slow_ask(g, r) == 0 || w->total[r] == 0 || slow_unshared(w, r))
			continue;
		k.outside |= now + slow_ask(g, r) > has;
		if (now <= has)
			continue;
		for (uint32_t c = 1; c < w->set.n; c++)
			weights += w->defs[c].parent == w->defs[q].parent ? w->defs[c].weight[r] : 0;
		part = weights > 0 ? 1000000 * (wide)w->defs[q].weight[r] / weights : 0;
		part = part == 0 && w->defs[q].weight[r] > 0 ? 1 : part;
		over = part == 0 ? SHARE_INFINITE
		                 : (share_t)(now - has) * 1000000 * ((share_t)1 << 40) /
		                       (share_t)(w->total[r] * part);
		k.over = over > k.over ? over : k.over;
	}
	return k;
}

static bool slow_less(const struct slow_key *a, const struct slow_key *b)
{
	if (a->late != b->late)
		return b->late;
	if (a->fresh != b->fresh)
		return b->fresh;
	if (a->outside != b->outside)
		return b->outside;
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->over != b->over)
		return a->over < b->over;
	if (a->age_ns != b->age_ns)
		return a->age_ns < b->age_ns;
	return strcmp(a->name, b->name) < 0;
}

/* The first gang below a queue; UINT32_MAX: none. */
static uint32_t slow_first(const struct world *w, uint32_t q, const struct share_waiting *waiting,
                           const uint32_t *first)
{
	uint32_t found = waiting[q].waits ? first[q] : UINT32_MAX;
	struct slow_key best = { 0 };

	for (uint32_t c = 1; c < w->set.n; c++) {
		const uint32_t g = w->defs[c].parent == q ? slow_first(w, c, waiting, first) : UINT32_MAX;
		struct slow_key key;

		if (g == UINT32_MAX)
			continue;
		key = slow_key(w, c, &w->gangs[g], true);
		if (found == UINT32_MAX || slow_less(&key, &best)) {
			found = g;
			best = key;
		}
	}
	return found;
}

static const char *const names[QUEUES] = { "root", "m", "c", "z", "a", "k",
	                                       "b",    "y", "f", "d", "x", "e" };

static struct world *random_world(struct random *at)
{
	struct world *w = world_new(1 + random_below(at, 60), random_below(at, 400));
	const uint32_t n = 2 + random_below(at, QUEUES - 2);

	if (random_below(at, 2) == 0) /* else the pods alone */
		w->set.unshared = random_below(at, 1u << R);
	while (w->set.n < n) {
		const uint32_t q = queue_add(w, names[w->set.n], random_below(at, w->set.n));
		struct share_def *d = &w->defs[q];

		d->priority = random_below(at, 6) == 0 ? (int32_t)random_below(at, 3) - 1 : 0;
		d->state = random_below(at, 20) == 0 ? QUEUE_CLOSED : QUEUE_OPEN;
		for (uint32_t r = 0; r < PODS; r++) {
			d->weight[r] = random_below(at, 8) == 0 ? 0 : 1 + random_below(at, 5);
			if (random_below(at, 3) == 0)
				d->guarantee[r] = random_below(at, 40);
			if (random_below(at, 2) == 0)
				d->reserved[r] = random_below(at, (uint32_t)d->guarantee[r] + 1);
			if (random_below(at, 3) == 0)
				d->limit[r] = random_below(at, 60);
		}
	}
	world_begin(w);
	return w;
}

static void sums_equal(const struct world *w)
{
	for (uint32_t q = 0; q < w->set.n; q++)
		for (uint32_t r = 0; r < R; r++) {
			cr_assert_eq(shares_used(w->shares, q, r), slow_used(w, q, r));
			cr_assert_eq(shares_guarantee(w->shares, q, r), slow_guarantee(w, q, r),
			             "queue %u resource %u", q, r);
		}
}

static void keys_equal(const struct world *w, const struct gang *g)
{
	for (uint32_t q = g->queue; q != 0; q = w->defs[q].parent) {
		const struct slow_key key = slow_key(w, q, g, false);

		cr_assert(shares_over(w->shares, q, &g->ask) == key.over);
		cr_assert_eq(shares_inside(w->shares, q, &g->ask), !key.outside);
	}
}

/* Only queues whose first gang is another one are looked at again. */
static void waiting_follow(struct world *w, const struct share_waiting *waiting)
{
	for (uint32_t q = 0; q < w->set.n; q++)
		if (waiting[q].waits != w->waiting[q].waits || waiting[q].ask != w->waiting[q].ask)
			shares_waits_anew(w->shares, q);
	memcpy(w->waiting, waiting, sizeof(w->waiting));
}

static void turn_equal(struct world *w, uint32_t *starts, uint32_t *refusals)
{
	struct share_waiting waiting[QUEUES];
	uint32_t first[QUEUES], leaf, wanted;
	struct share_block block;
	struct gang *g;
	bool allowed;

	waiting_find(w, waiting, first);
	waiting_follow(w, waiting);
	leaf = shares_next(w->shares, waiting);
	wanted = slow_first(w, 0, waiting, first);
	cr_assert_eq(leaf == UINT32_MAX, wanted == UINT32_MAX);
	if (leaf == UINT32_MAX)
		return;
	cr_assert_eq(first[leaf], wanted, "gang %u, wanted %u", first[leaf], wanted);
	g = &w->gangs[wanted];
	keys_equal(w, g);
	allowed = shares_allow(w->shares, g->queue, &g->ask, &block);
	cr_assert_eq(allowed, slow_allow(w, g));
	*starts += allowed && has_room(w, g);
	*refusals += !allowed;
	g->waits = false;
	if (allowed && has_room(w, g))
		gang_runs(w, g, true);
}

/* Order, shares and limits are those of the model in every step. */
Test(share, random_runs_equal_the_slow_model)
{
	uint32_t starts = 0, refusals = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct random at = { .state = seed };
		struct world *w = random_world(&at);

		for (uint32_t step = 0; step < 60; step++) {
			const uint32_t what = random_below(&at, 8);
			const uint32_t q = random_below(&at, w->set.n);

			if (what < 4 && shares_is_leaf(w->shares, q)) {
				struct gang *g = &w->gangs[gang_add(
					w, q, random_below(&at, 9), random_below(&at, 3) ? 0 : random_below(&at, 40))];

				g->age_ns = random_below(&at, 4);
				g->begun = random_below(&at, 12) == 0;
				g->extra = random_below(&at, 8) == 0;
			} else if (what == 4 && w->gangs_n > 0) {
				struct gang *g = &w->gangs[random_below(&at, w->gangs_n)];

				if (g->runs)
					gang_runs(w, g, false);
			} else if (what == 5 && step % 7 == 0) {
				w->total[GPU] = random_below(&at, 60);
				shares_capacity(w->shares, w->total);
			} else if (what == 6 && step % 2 == 0 && w->gangs_n > 0) {
				struct gang *g = &w->gangs[random_below(&at, w->gangs_n)];

				g->promised = g->waits && !g->promised;
			} else {
				turn_equal(w, &starts, &refusals);
			}
			promises_tell(w);
			sums_equal(w);
		}
		world_free(w);
	}
	cr_assert_gt(starts, 1000);
	cr_assert_gt(refusals, 300);
}

/* core_show() asks for the rows of queues, at times that no record has: who is parked until the
 * queue eases would be asked again in the core, and not in its replay. */
Test(share, a_question_eases_nothing)
{
	struct world *w = world_new(8, 8);
	const uint32_t a = queue_add(w, "a", 0);
	struct share_ask ask = { 0 };
	struct share_block block;
	uint64_t eased;

	w->defs[a].limit[GPU] = 4;
	world_begin(w);
	share_ask_add(&ask, GPU, 4);
	shares_use(w->shares, a, GPU, 3);
	eased = shares_eased(w->shares, a);
	shares_suppose(w->shares, a, GPU, -3);
	cr_assert(shares_allow(w->shares, a, &ask, &block));
	shares_suppose(w->shares, a, GPU, 3);
	cr_assert_not(shares_allow(w->shares, a, &ask, &block));
	cr_assert_eq(shares_eased(w->shares, a), eased);
	shares_use(w->shares, a, GPU, -3);
	cr_assert_eq(shares_eased(w->shares, a), eased + 1);
	world_free(w);
}

/* docs/fairness.md, "Taking back". */
Test(share, what_a_queue_may_take_back)
{
	struct world *w = world_new(80, 1000);
	const uint32_t eng = queue_add(w, "eng", 0), a = queue_add(w, "a", eng);
	const uint32_t b = queue_add(w, "b", eng), ops = queue_add(w, "ops", 0);
	struct share_ask gang = { 0 }, large = { 0 }, cpu = { 0 }, pod = { 0 };

	w->defs[a].guarantee[GPU] = 24;
	w->defs[ops].guarantee[GPU] = 32;
	world_begin(w);
	share_ask_add(&gang, GPU, 24);
	share_ask_add(&gang, CPU, 500); /* nobody is guaranteed any: it does not count */
	share_ask_add(&large, GPU, 25);
	share_ask_add(&cpu, CPU, 1);
	share_ask_add(&pod, GPU, 8);
	share_ask_add(&pod, CPU, 8);
	shares_use(w->shares, b, GPU, 40);
	shares_use(w->shares, ops, GPU, 40);

	/* From a sibling; supposed away: 8 of its 40. */
	shares_suppose(w->shares, b, GPU, -8);
	cr_assert(shares_reclaim(w->shares, a, b, &gang, &pod, false));
	cr_assert(!shares_reclaim(w->shares, a, b, &large, &pod, false), "more than its guarantee");
	cr_assert(!shares_reclaim(w->shares, a, b, &cpu, &pod, false), "nothing that is guaranteed");
	cr_assert(!shares_reclaim(w->shares, a, a, &gang, &pod, false), "of its own queue");
	shares_suppose(w->shares, b, GPU, 8);

	/* eng has its children's 24, and uses 40: nothing of ops, whatever ops has too much. */
	shares_suppose(w->shares, ops, GPU, -8);
	cr_assert(!shares_reclaim(w->shares, a, ops, &gang, &pod, false));
	shares_suppose(w->shares, b, GPU, -40);
	cr_assert(shares_reclaim(w->shares, a, ops, &gang, &pod, false));
	shares_suppose(w->shares, ops, GPU, -1);
	cr_assert(!shares_reclaim(w->shares, a, ops, &gang, &pod, false), "ops would have 31 of 32");
	shares_suppose(w->shares, ops, GPU, 1);
	w->defs[ops].kept = true;
	cr_assert(!shares_reclaim(w->shares, a, ops, &gang, &pod, false), "it is not reclaimable");
	shares_suppose(w->shares, ops, GPU, 8);
	shares_suppose(w->shares, b, GPU, 40);
	cr_assert_eq(shares_used(w->shares, 0, GPU), 80);
	world_free(w);
}

static bool takes(const struct world *w, uint32_t queue, uint32_t victim, int64_t asked,
                  int64_t freed)
{
	struct share_ask ask = { 0 }, frees = { 0 };
	bool may;

	share_ask_add(&ask, GPU, asked);
	share_ask_add(&frees, GPU, freed);
	shares_suppose(w->shares, victim, GPU, -freed);
	may = shares_reclaim(w->shares, queue, victim, &ask, &frees, true);
	shares_suppose(w->shares, victim, GPU, freed);
	return may;
}

/* QUE-16: 40 of 80 and not more; nothing is taken back. */
Test(share, que_16_fair_reclaim)
{
	struct world *w = world_new(80, 1000);
	const uint32_t a = queue_add(w, "a", 0), b = queue_add(w, "b", 0);
	uint32_t taken = 0;

	world_begin(w);
	shares_use(w->shares, b, GPU, 80);
	while (takes(w, a, b, 8, 8)) {
		shares_use(w->shares, b, GPU, -8);
		shares_use(w->shares, a, GPU, 8);
		cr_assert_leq(++taken, 10u);
	}
	cr_assert(used(w, a, GPU) == 40 && used(w, b, GPU) == 40);
	cr_assert(!takes(w, b, a, 8, 8));
	shares_use(w->shares, b, GPU, -8);
	shares_use(w->shares, a, GPU, 8);
	cr_assert(!takes(w, a, b, 8, 8));
	cr_assert(takes(w, b, a, 8, 8), "48 and 32");
	world_free(w);
}

/* Above the guarantees by weight, never below one; a queue of weight 0 gives first. */
Test(share, fair_reclaim_by_weights_and_guarantees)
{
	struct world *w = world_new(80, 0);
	const uint32_t a = queue_add(w, "a", 0), b = queue_add(w, "b", 0), c = queue_add(w, "c", 0);
	struct share_ask gang = { 0 }, pod = { 0 };

	w->defs[a].weight[GPU] = 3;
	w->defs[b].guarantee[GPU] = 32;
	w->defs[c].weight[GPU] = 0;
	world_begin(w);
	shares_use(w->shares, b, GPU, 64);
	shares_use(w->shares, c, GPU, 16);
	cr_assert(takes(w, a, b, 8, 24), "8 / 80 / 0.75 and 8 / 80 / 0.25");
	cr_assert(!takes(w, a, b, 8, 32), "b would have 32, which is a share of 0");
	cr_assert(!takes(w, a, b, 8, 40), "b would have less than its guarantee");
	cr_assert(takes(w, a, c, 8, 8) && takes(w, b, c, 8, 8));
	cr_assert(!takes(w, c, b, 8, 8), "weight 0 takes nothing");
	share_ask_add(&gang, PODS, 1);
	share_ask_add(&pod, PODS, 1);
	shares_use(w->shares, c, PODS, 900);
	cr_assert(!shares_reclaim(w->shares, a, c, &gang, &pod, true), "pods are no part of it");
	cr_assert(!shares_reclaim(w->shares, a, c, &gang, &pod, false));
	world_free(w);
}

/* Each resource by itself: what is fair by cpu is not by GPUs. */
Test(share, fair_reclaim_looks_at_each_resource)
{
	struct world *w = world_new(80, 800);
	const uint32_t a = queue_add(w, "a", 0), b = queue_add(w, "b", 0);
	struct share_ask gang = { 0 }, pod = { 0 }, cpu = { 0 };

	world_begin(w);
	shares_use(w->shares, a, GPU, 60);
	shares_use(w->shares, b, GPU, 20);
	shares_use(w->shares, b, CPU, 700);
	share_ask_add(&gang, GPU, 8);
	share_ask_add(&gang, CPU, 80);
	share_ask_add(&pod, GPU, 4);
	share_ask_add(&pod, CPU, 80);
	share_ask_add(&cpu, CPU, 80);
	cr_assert(!shares_reclaim(w->shares, a, b, &gang, &pod, true));
	cr_assert(shares_reclaim(w->shares, a, b, &gang, &cpu, true), "the pod frees cpu alone");
	w->defs[b].guarantee[GPU] = 24;
	shares_capacity(w->shares, w->total);
	cr_assert(!shares_reclaim(w->shares, a, b, &cpu, &pod, true), "b is below its guarantee");
	world_free(w);
}

/* The slow model of it: chains to the root, and shares in fractions of whole numbers. */

static uint32_t slow_branch(const struct world *w, uint32_t of, uint32_t other)
{
	uint32_t q = of;

	if (slow_below(w, other, of) || slow_below(w, of, other))
		return UINT32_MAX;
	while (!slow_below(w, other, w->defs[q].parent))
		q = w->defs[q].parent;
	return q;
}

static share_t slow_over(const struct world *w, uint32_t q, uint32_t r, wide now)
{
	const wide over = now - slow_guarantee(w, q, r);
	wide weights = 0, part;

	for (uint32_t c = 1; c < w->set.n; c++)
		weights += w->defs[c].parent == w->defs[q].parent ? w->defs[c].weight[r] : 0;
	part = weights > 0 ? 1000000 * (wide)w->defs[q].weight[r] / weights : 0;
	part = part == 0 && w->defs[q].weight[r] > 0 ? 1 : part;
	if (over <= 0)
		return 0;
	return part == 0 ? SHARE_INFINITE
	                 : (share_t)over * 1000000 * ((share_t)1 << 40) / (share_t)(w->total[r] * part);
}

static bool slow_keeps(const struct world *w, uint32_t victim, uint32_t b, uint32_t r)
{
	bool keeps = true;

	for (uint32_t q = 1; q < w->set.n; q++)
		if (slow_below(w, victim, q) && slow_below(w, q, b))
			keeps = keeps && slow_used(w, q, r) >= slow_guarantee(w, q, r);
	return keeps;
}

/* Of what reclaim of another queue may take. */
static uint32_t slow_min_run(const struct world *w, uint32_t queue, uint32_t victim)
{
	const uint32_t b = slow_branch(w, victim, queue);
	uint32_t most = 0;

	if (b == UINT32_MAX || slow_branch(w, queue, victim) == UINT32_MAX)
		return 0;
	for (uint32_t q = 1; q < w->set.n; q++)
		if (slow_below(w, victim, q) && slow_below(w, q, b) && w->defs[q].min_run_s > most)
			most = w->defs[q].min_run_s;
	return most;
}

/* The victim runs no more.  0: no; 1: by guarantee; 2: by share alone. */
static int slow_reclaim(const struct world *w, const struct gang *g, const struct gang *victim)
{
	const uint32_t a = slow_branch(w, g->queue, victim->queue);
	const uint32_t b = slow_branch(w, victim->queue, g->queue);
	bool guarantee = true, fair = true, owed = false, takes = false;

	if (a == UINT32_MAX)
		return 0;
	for (uint32_t q = 1; q < w->set.n; q++)
		if (w->defs[q].kept && slow_below(w, victim->queue, q) && slow_below(w, q, b))
			return 0;
	for (uint32_t r = 0; r < R; r++) {
		const wide asks = slow_ask(g, r), frees = slow_ask(victim, r);
		const wide of_a = slow_used(w, a, r) + asks, of_b = slow_used(w, b, r);
		const bool inside = of_a <= slow_guarantee(w, a, r);
		const bool keeps = slow_keeps(w, victim->queue, b, r);

		if (frees > 0)
			fair = fair && keeps;
		if (asks == 0 || frees == 0)
			continue;
		if (slow_wanted(w, 0, r) > 0) {
			owed = true;
			guarantee = guarantee && inside && keeps;
		}
		if (slow_unshared(w, r) || w->total[r] == 0)
			continue;
		takes = true;
		if (!inside)
			fair = fair && slow_over(w, a, r, of_a) != SHARE_INFINITE &&
			       slow_over(w, a, r, of_a) <= slow_over(w, b, r, of_b) &&
			       slow_over(w, a, r, of_a) < slow_over(w, b, r, of_b + frees);
	}
	return owed && guarantee ? 1 : takes && fair ? 2 : 0;
}

Test(share, reclaim_equals_the_slow_model)
{
	uint32_t rules[3] = { 0 };

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random at = { .state = seed };
		struct world *w = random_world(&at);

		for (uint32_t q = 1; q < w->set.n; q++) {
			w->defs[q].kept = random_below(&at, 12) == 0;
			w->defs[q].min_run_s = (uint32_t)(seed + q * 5) % 7;
		}
		for (uint32_t i = 0; i < 40; i++) {
			const uint32_t q = random_below(&at, w->set.n);

			gang_add(w, q, random_below(&at, 9), random_below(&at, 3) ? 0 : random_below(&at, 40));
			if (random_below(&at, 3) > 0)
				gang_runs(w, &w->gangs[i], true);
		}
		for (uint32_t i = 0; i < 60; i++) {
			const struct gang *g = &w->gangs[random_below(&at, 40)];
			struct gang *victim = &w->gangs[random_below(&at, 40)];
			int rule;

			if (g->runs || !victim->runs)
				continue;
			cr_assert_eq(shares_min_run(w->shares, g->queue, victim->queue),
			             slow_min_run(w, g->queue, victim->queue), "seed %u", (unsigned)seed);
			gang_runs(w, victim, false);
			rule = slow_reclaim(w, g, victim);
			cr_assert_eq(
				shares_reclaim(w->shares, g->queue, victim->queue, &g->ask, &victim->ask, false),
				rule == 1, "seed %u", (unsigned)seed);
			cr_assert_eq(
				shares_reclaim(w->shares, g->queue, victim->queue, &g->ask, &victim->ask, true),
				rule > 0, "seed %u", (unsigned)seed);
			rules[rule]++;
			if (rule == 0)
				gang_runs(w, victim, true);
		}
		world_free(w);
	}
	cr_assert(rules[0] > 1000 && rules[1] > 50 && rules[2] > 300, "%u %u %u", rules[0], rules[1],
	          rules[2]);
}

/* A run time is allowed if every queue on the way to the root allows it; who refuses is one that
 * allows the least, the lowest of several. */
Test(share, stated_run_times_equal_the_slow_model)
{
	uint32_t refused = 0, above = 0, unbounded = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random at = { .state = seed };
		struct world *w = random_world(&at);

		for (uint32_t q = 0; q < w->set.n; q++)
			w->defs[q].max_run_s = random_below(&at, 3) == 0 ? 1 + random_below(&at, 9) : 0;
		for (uint32_t i = 0; i < 40; i++) {
			const uint32_t leaf = random_below(&at, w->set.n), stated_s = random_below(&at, 12);
			struct share_block block = { .by = QUEUE_BY_NONE };
			uint32_t least = UINT32_MAX;
			bool allowed = true;

			for (uint32_t q = 0; q < w->set.n; q++) {
				const uint32_t most = w->defs[q].max_run_s;

				if (most == 0 || !slow_below(w, leaf, q))
					continue;
				allowed = allowed && stated_s <= most;
				least = most < least ? most : least;
			}
			unbounded += least == UINT32_MAX;
			cr_assert_eq(shares_max_run(w->shares, leaf), least, "seed %u", (unsigned)seed);
			cr_assert_eq(shares_allow_run(w->shares, leaf, stated_s, &block), allowed, "seed %u",
			             (unsigned)seed);
			cr_assert_eq(block.by, allowed ? QUEUE_BY_NONE : QUEUE_BY_RUN);
			if (allowed)
				continue;
			refused++;
			above += block.at != leaf;
			cr_assert(block.need == stated_s && block.have == least);
			cr_assert(slow_below(w, leaf, block.at) && w->defs[block.at].max_run_s == least);
			for (uint32_t q = leaf; q != block.at; q = w->defs[q].parent)
				cr_assert(w->defs[q].max_run_s == 0 || w->defs[q].max_run_s > least);
		}
		world_free(w);
	}
	cr_assert(refused > 1000 && above > 500 && unbounded > 500, "%u %u %u", refused, above,
	          unbounded);
}

/* Who has room starts, who may take does, and who lost waits again: it ends, also with gangs that
 * ask for one of two resources or both.  Only what is in the way is taken, as in a search: with
 * evictions for room that is free already some worlds go round (decision 090). */
static uint32_t reclaim_until_none(struct world *w)
{
	uint32_t evictions = 0;
	bool any = true;

	while (any && evictions < 10000) {
		any = false;
		for (uint32_t i = 0; i < w->gangs_n; i++)
			for (uint32_t k = 0; k < w->gangs_n && !w->gangs[i].runs; k++) {
				struct gang *g = &w->gangs[i], *victim = &w->gangs[k];

				if (has_room(w, g)) {
					gang_runs(w, g, true);
					any = true;
					break;
				}
				if (!victim->runs)
					continue;
				gang_runs(w, victim, false);
				if (!has_room(w, g) || !shares_reclaim(w->shares, g->queue, victim->queue, &g->ask,
				                                       &victim->ask, true)) {
					gang_runs(w, victim, true);
					continue;
				}
				gang_runs(w, g, true);
				evictions++;
				any = true;
			}
	}
	return evictions;
}

Test(share, fair_reclaim_ends)
{
	uint32_t all = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random at = { .state = seed };
		struct world *w = random_world(&at);

		for (uint32_t i = 0; i < 60; i++) {
			const uint32_t q = random_below(&at, w->set.n), what = random_below(&at, 3);
			struct gang *g = &w->gangs[gang_add(w, q, what == 0 ? 0 : 1 + random_below(&at, 8),
			                                    what == 1 ? 0 : 1 + random_below(&at, 40))];

			if (has_room(w, g))
				gang_runs(w, g, true);
		}
		const uint32_t evictions = reclaim_until_none(w);

		cr_assert_leq(evictions, w->gangs_n, "seed %u: %u", (unsigned)seed, evictions);
		all += evictions;
		world_free(w);
	}
	cr_assert_gt(all, 500u);
}
