/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons of gangs of unlike members: small random clusters against every placement. */
#include "tests/unit/support_random.h"
#include "tests/unit/support_story.h"
#include "tests/unit/test.h"

enum { NODES = 3, MEMBERS = 5, CLUSTERS = 300, CPU = 0, MEMORY = 1, RESOURCES = 2 };

static const uint32_t columns[RESOURCES] = { RESOURCE_CPU, RESOURCE_MEMORY };
static const int64_t units[RESOURCES] = { 1000, INT64_C(1) << 30 };

struct cluster {
	uint32_t nodes, members;
	int64_t free[NODES][RESOURCES];
	int64_t asks[MEMBERS][RESOURCES];
};

/* The most that can be had by any placement of members `from` on: members with only < 0, else the
 * sum of the resource `only`, which is the only one that counts. */
static int64_t most(struct cluster *c, uint32_t from, int only)
{
	int64_t best, now;

	if (from == c->members)
		return 0;
	best = most(c, from + 1, only);
	for (uint32_t n = 0; n < c->nodes; n++) {
		bool fits = true;

		for (int r = 0; r < RESOURCES; r++)
			fits = fits && ((only >= 0 && r != only) || c->asks[from][r] <= c->free[n][r]);
		if (!fits)
			continue;
		for (int r = 0; r < RESOURCES; r++)
			c->free[n][r] -= c->asks[from][r];
		now = most(c, from + 1, only) + (only >= 0 ? c->asks[from][only] : 1);
		best = now > best ? now : best;
		for (int r = 0; r < RESOURCES; r++)
			c->free[n][r] += c->asks[from][r];
	}
	return best;
}

static struct cluster cluster_make(struct random *r, struct story *s)
{
	static const char *const nodes[] = { "a", "b", "c" };
	static const char *const names[] = { "p0", "p1", "p2", "p3", "p4" };
	struct cluster c = { .nodes = 1 + random_below(r, NODES),
		                 .members = 2 + random_below(r, MEMBERS - 1) };

	for (uint32_t n = 0; n < c.nodes; n++) {
		c.free[n][CPU] = 1 + random_below(r, 6);
		c.free[n][MEMORY] = 1 + random_below(r, 6);
		story_node(s, .name = nodes[n], .cpu = c.free[n][CPU], .memory = c.free[n][MEMORY]);
	}
	story_gang(s, .name = "g", .quorum = c.members);
	for (uint32_t i = 0; i < c.members; i++) {
		c.asks[i][CPU] = 1 + random_below(r, 4);
		c.asks[i][MEMORY] = 1 + random_below(r, 4);
		story_pod(s, .name = names[i], .gang = "g", .cpu = c.asks[i][CPU],
		          .memory = c.asks[i][MEMORY]);
	}
	return c;
}

static const struct shortfall *shortfall_of(const struct reason *why, uint32_t resource)
{
	for (uint32_t i = 0; i < why->shortfalls_n; i++)
		if (why->shortfalls[i].resource == resource)
			return &why->shortfalls[i];
	return NULL;
}

struct score {
	uint32_t waited, right, short_of, least;
};

static void check_shortfall(struct cluster *c, const struct reason *why, int r, struct score *score)
{
	const struct shortfall *f = shortfall_of(why, columns[r]);
	const int64_t have = most(c, 0, r);
	int64_t need = 0;

	for (uint32_t i = 0; i < c->members; i++)
		need += c->asks[i][r];
	cr_assert(f || have == need, "%lld of %lld fit, and it is not said", (long long)have,
	          (long long)need);
	if (!f)
		return;
	cr_assert_eq(f->need, need * units[r]);
	cr_assert(f->have < f->need && f->have <= have * units[r]);
	score->short_of++;
	score->least += f->have == have * units[r];
}

static void check_cluster(struct random *r, struct score *score)
{
	struct story *s = story_new(SCORE_KUBE, 0);
	struct cluster c = cluster_make(r, s);
	const struct reason *why;
	int64_t fit;

	story_plan(s);
	why = &story_row(s, "g")->reason;
	if (why->why == WAIT_ROOM) {
		bool alike = true;

		fit = most(&c, 0, -1);
		for (uint32_t i = 1; i < c.members; i++)
			alike = alike && memcmp(c.asks[i], c.asks[0], sizeof(c.asks[0])) == 0;
		cr_assert(fit < c.members);
		cr_assert(why->fit <= fit, "%u fit, %lld at most", why->fit, (long long)fit);
		cr_assert_eq(why->need, c.members);
		score->waited++;
		score->right += why->fit == fit;
		cr_assert(!alike || why->fit == fit);
		for (int i = 0; i < RESOURCES; i++)
			check_shortfall(&c, why, i, score);
	}
	story_free(s);
}

Test(lack, is_that_of_the_whole_gang)
{
	struct random r = random_start("lack");
	struct score score = { 0 };

	for (uint32_t i = 0; i < CLUSTERS; i++)
		check_cluster(&r, &score);
	fprintf(stderr, "%u waited, %u with as many as fit at most; %u shortfalls, %u the least\n",
	        score.waited, score.right, score.short_of, score.least);
	cr_assert(score.waited > CLUSTERS / 4 && score.right * 10 >= score.waited * 8);
	cr_assert(score.least * 10 >= score.short_of * 8);
}
