/* SPDX-License-Identifier: Apache-2.0 */
/* Soft rules: raw values and normalised scores of the groups, with the operations and the rounding
 * of core/filter/score_plugins.c and filter_spread.c. */
#include "core/index/soft.h"
#include "core/index/soft_impl.h"

#include "core/filter/score.h"

#include <math.h>

struct range {
	int64_t least, most;
};

static const struct range nothing = { .least = INT64_MAX, .most = INT64_MIN };

static void range_add(struct range *r, int64_t raw)
{
	r->least = raw < r->least ? raw : r->least;
	r->most = raw > r->most ? raw : r->most;
}

static const uint32_t *site_of(const struct soft *s, uint32_t group)
{
	return soft_site(s, (uint32_t)soft_group_key(s, group)[GROUP_SITE]);
}

/* Domains of a sum in which a scored node is (podtopologyspread: initPreScoreState). */
static uint32_t domains_found(struct soft *s, const struct soft_sum *sum, uint32_t number)
{
	uint32_t found = 0;

	s->round++;
	for (uint32_t i = 0; i < s->live_n; i++) {
		const uint32_t *site = site_of(s, s->live[i]);
		const uint32_t domain = site[SITE_DOMAINS + number];
		const uint32_t at = domain == DOMAIN_NONE ? sum->domains : domain;

		if (!s->groups[s->live[i]].open || !site[SITE_SCORED] || sum->seen[at] == s->round)
			continue;
		sum->seen[at] = s->round;
		found++;
	}
	return found;
}

/* The same where each node is a domain of its own.  Nodes without the key are one more, but for
 * SPREAD_BY_NODE, where each counts. */
static uint32_t nodes_found(const struct soft *s, const struct soft_sum *sum, uint32_t number)
{
	uint32_t found = 0;
	bool keyless = false;

	for (uint32_t i = 0; i < s->live_n; i++) {
		const struct soft_group *g = &s->groups[s->live[i]];
		const uint32_t *site = site_of(s, s->live[i]);

		if (!g->open || !site[SITE_SCORED])
			continue;
		if ((sum->spread->flags & SPREAD_BY_NODE) || site[SITE_DOMAINS + number] != DOMAIN_NONE)
			found += g->n;
		else
			keyless = true;
	}
	return found + keyless;
}

/* podtopologyspread: topologyNormalizingWeight. */
static void weights_set(struct soft *s)
{
	for (uint32_t i = 0; i < s->spreads_n; i++) {
		struct soft_sum *sum = &s->sums[i];
		uint32_t spans = sum->spans;

		if (sum->own)
			spans = nodes_found(s, sum, i);
		else if (s->spans_old || s->known.rules)
			spans = domains_found(s, sum, i);
		if (spans == sum->spans && sum->weight > 0)
			continue;
		sum->spans = spans;
		sum->weight = log((double)spans + 2);
	}
	s->spans_old = false;
}

/* round() of a number that is not negative and below 2^52. */
static int64_t rounded(double value)
{
	const int64_t whole = (int64_t)value;

	return whole + (value - (double)whole >= 0.5);
}

/* podtopologyspread: Score and scoreForCount; -1: no score. */
static int64_t raw_spread(const struct soft *s, const uint32_t *site, const int64_t *own)
{
	double real = 0;

	if (!site[SITE_SCORED])
		return -1;
	for (uint32_t i = 0; i < s->spreads_n; i++) {
		const struct soft_sum *sum = &s->sums[i];
		const uint32_t domain = site[SITE_DOMAINS + i];

		if (domain == DOMAIN_NONE)
			continue;
		real += (double)(sum->own ? own[i] : sum->sums[domain]) * sum->weight +
		        ((double)sum->spread->max_skew - 1);
	}
	return rounded(real);
}

/* interpodaffinity: Score. */
static int64_t raw_pods(const struct soft *s, const uint32_t *site, const int64_t *own)
{
	int64_t raw = 0;

	for (uint32_t i = s->spreads_n; i < s->sums_n; i++) {
		const uint32_t domain = site[SITE_DOMAINS + i];

		if (domain != DOMAIN_NONE)
			raw += s->sums[i].own ? own[i] : s->sums[i].sums[domain];
	}
	return raw;
}

/* Over all feasible nodes. */
struct ranges {
	int64_t taints, preferred; /* the highest */
	struct range spread, pods;
};

static struct ranges raws_set(struct soft *s)
{
	struct ranges r = { .spread = nothing, .pods = nothing };

	for (uint32_t i = 0; i < s->live_n; i++) {
		struct soft_group *g = &s->groups[s->live[i]];
		const uint32_t *site = site_of(s, s->live[i]);
		const int64_t *own = soft_group_key(s, s->live[i]) + GROUP_OWN;

		if (!g->open)
			continue;
		r.taints = site[SITE_TAINTS] > r.taints ? site[SITE_TAINTS] : r.taints;
		r.preferred = (int32_t)site[SITE_PREFERRED] > r.preferred ? (int32_t)site[SITE_PREFERRED]
		                                                          : r.preferred;
		if (s->spreads_n > 0) {
			g->spread = raw_spread(s, site, own);
			if (g->spread >= 0)
				range_add(&r.spread, g->spread);
		}
		if (s->sums_n > s->spreads_n) {
			g->pods = raw_pods(s, site, own);
			range_add(&r.pods, g->pods);
		}
	}
	return r;
}

/* helper.DefaultNormalizeScore */
static uint32_t share(int64_t raw, int64_t most)
{
	return most > 0 ? (uint32_t)(raw * SCORE_MOST / most) : 0;
}

/* podtopologyspread: NormalizeScore */
static uint32_t fewer(int64_t raw, const struct range *r)
{
	if (raw < 0)
		return 0;
	return r->most > 0 ? (uint32_t)((int64_t)SCORE_MOST * (r->most + r->least - raw) / r->most)
	                   : SCORE_MOST;
}

/* interpodaffinity: NormalizeScore */
static uint32_t between(int64_t raw, const struct range *r)
{
	if (r->most <= r->least)
		return 0;
	return (uint32_t)((double)SCORE_MOST *
	                  ((double)(raw - r->least) / (double)(r->most - r->least)));
}

/* framework: RunScorePlugins with the weights of the default profile (getDefaultPlugins). */
static uint32_t points_of(const struct soft *s, const struct soft_group *g, const uint32_t *site,
                          const struct ranges *r)
{
	uint32_t points = 3 * (SCORE_MOST - share(site[SITE_TAINTS], r->taints));

	if (s->known.preferred)
		points += 2 * share((int32_t)site[SITE_PREFERRED], r->preferred);
	if (s->spreads_n > 0)
		points += 2 * fewer(g->spread, &r->spread);
	if (s->sums_n > s->spreads_n)
		points += 2 * between(g->pods, &r->pods);
	return points;
}

static void rules_follow(struct soft *s)
{
	const struct constraints *rules = s->known.rules;

	if (rules && s->swept != constraints_swept(rules))
		groups_form(s);
	for (uint32_t i = 0; i < s->live_n; i++)
		s->groups[s->live[i]].open =
			!rules || constraints_segment_open(rules, site_of(s, s->live[i])[SITE_SEGMENT]);
}

void soft_score(struct soft *s)
{
	struct ranges r;

	rules_follow(s);
	weights_set(s);
	r = raws_set(s);
	s->best = 0;
	for (uint32_t i = 0; i < s->live_n; i++) {
		struct soft_group *g = &s->groups[s->live[i]];
		uint64_t best;

		if (!g->open)
			continue;
		g->points = points_of(s, g, site_of(s, s->live[i]), &r);
		best = g->heap[0] + ((uint64_t)g->points << 32);
		if (best > s->best && !soft_group_key(s, s->live[i])[GROUP_HIDDEN])
			s->best = best;
	}
}

uint32_t soft_best(const struct soft *s)
{
	return s->best > 0 ? ~(uint32_t)s->best : TREE_NONE;
}

uint32_t soft_key(const struct soft *s, uint32_t rank)
{
	const uint32_t group = s->group[rank];

	if (group == GROUP_NONE || !s->groups[group].open || soft_group_key(s, group)[GROUP_HIDDEN])
		return 0;
	return (uint32_t)s->known.points[rank] + s->groups[group].points;
}

uint32_t soft_cost(const struct soft *s)
{
	return 2 + s->live_n * (1 + s->sums_n);
}
