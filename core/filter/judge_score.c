/* SPDX-License-Identifier: Apache-2.0 */
/* Score: what each plugin gives the nodes that are left, normalised and weighted. */
#include "core/classes/things.h"
#include "core/filter/judge_impl.h"

#include <string.h>

static void add_points(const struct judging *j, enum score_part part, node_id id, uint32_t points)
{
	j->out->scores[id] += points;
	if (j->out->parts)
		j->out->parts[(size_t)part * j->out->limit + id] = (uint16_t)points;
}

/* ---- normalising ---------------------------------------------------------------------- */

/* As a share of the highest, which is not below 0. */
static void add_share(const struct judging *j, enum score_part part, bool reversed, uint32_t weight)
{
	const int64_t *raw = j->scratch->raw;
	int64_t most = 0;

	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id) && raw[id] > most)
			most = raw[id];
	for (node_id id = 0; id < j->nodes->used; id++) {
		uint32_t share;

		if (!judging_open(j, id))
			continue;
		share = most > 0 ? (uint32_t)(raw[id] * SCORE_MOST / most) : 0;
		add_points(j, part, id, weight * (reversed ? SCORE_MOST - share : share));
	}
}

struct range {
	int64_t least, most;
	bool any;
};

/* Of open nodes whose raw value is at least `from`. */
static struct range raw_range(const struct judging *j, int64_t from)
{
	struct range r = { .least = INT64_MAX, .most = INT64_MIN };

	for (node_id id = 0; id < j->nodes->used; id++) {
		int64_t raw = j->scratch->raw[id];

		if (!judging_open(j, id) || raw < from)
			continue;
		r.least = raw < r.least ? raw : r.least;
		r.most = raw > r.most ? raw : r.most;
		r.any = true;
	}
	return r;
}

/* From the lowest to the highest; in this order of operations 29 of 100 are 28. */
static void add_between(const struct judging *j, enum score_part part, uint32_t weight)
{
	struct range r = raw_range(j, INT64_MIN);

	for (node_id id = 0; id < j->nodes->used; id++) {
		double points = 0;

		if (!judging_open(j, id))
			continue;
		if (r.most > r.least)
			points = (double)SCORE_MOST *
			         ((double)(j->scratch->raw[id] - r.least) / (double)(r.most - r.least));
		add_points(j, part, id, weight * (uint32_t)points);
	}
}

/* The fewer, the better; -1 is a node that is not scored. */
static void add_fewer(const struct judging *j, enum score_part part, uint32_t weight)
{
	struct range r = raw_range(j, 0);

	for (node_id id = 0; id < j->nodes->used; id++) {
		int64_t raw = j->scratch->raw[id];
		int64_t points = SCORE_MOST;

		if (!judging_open(j, id))
			continue;
		if (raw < 0)
			points = 0;
		else if (r.most > 0)
			points = SCORE_MOST * (r.most + r.least - raw) / r.most;
		add_points(j, part, id, weight * (uint32_t)points);
	}
}

/* ---- parts -------------------------------------------------------------------------- */

static void skip(const struct judging *j, enum score_part part)
{
	j->out->skipped |= UINT32_C(1) << part;
}

static void add_fit(const struct judging *j, enum score_policy policy)
{
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id))
			add_points(j, SCORE_PART_FIT, id, score_node(policy, j->nodes, id, j->shape));
}

static void add_balanced(const struct judging *j)
{
	if (!score_balances(j->shape)) {
		skip(j, SCORE_PART_BALANCED);
		return;
	}
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id))
			add_points(j, SCORE_PART_BALANCED, id, score_balanced(j->nodes, id, j->shape));
}

static void add_taints(const struct judging *j)
{
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id))
			j->scratch->raw[id] = rule_soft_taints(j->shape, &j->nodes->slots[id]);
	add_share(j, SCORE_PART_TAINTS, true, 3);
}

static void add_affinity(const struct judging *j)
{
	if (j->shape->body->preferences_n == 0) {
		skip(j, SCORE_PART_AFFINITY);
		return;
	}
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id))
			j->scratch->raw[id] = rule_preferred(j->shape, &j->nodes->slots[id]);
	add_share(j, SCORE_PART_AFFINITY, false, 2);
}

static void add_spread(const struct judging *j)
{
	if (score_spread(j))
		add_fewer(j, SCORE_PART_SPREAD, 2);
	else
		skip(j, SCORE_PART_SPREAD);
}

static void add_pods(const struct judging *j)
{
	memset(j->scratch->raw, 0, j->nodes->used * sizeof(*j->scratch->raw));
	if (score_pods(j))
		add_between(j, SCORE_PART_PODS, 2);
	else
		skip(j, SCORE_PART_PODS);
}

/* ---- images --------------------------------------------------------------------------- */

#define IMAGES_LEAST INT64_C(24117248)  /* 23 MiB */
#define IMAGES_MOST INT64_C(1048576000) /* 1000 MiB, for each container */

/* An image that all nodes have counts with all its bytes, a rare one with few, so that
 * the nodes that have it do not draw all pods. */
static int64_t image_points(const struct nodes *ns, const struct image_fact *image)
{
	double spread = (double)image->nodes / (double)ns->present;
	double points = (double)image->bytes * spread;

	return points < 0x1p63 ? (int64_t)points : INT64_MAX;
}

uint32_t judge_images(const struct census *cs, const struct shape *s, node_id id)
{
	const uint32_t containers = s->body->image_containers;
	const wide most = (wide)IMAGES_MOST * (containers > 0 ? containers : 1);
	struct image_fact image;
	wide sum = 0;

	for (uint32_t i = 0; i < s->body->images_n; i++)
		if (things_image(cs->things, id, s->parts.images[i], &image))
			sum += image_points(cs->nodes, &image);
	if (sum <= IMAGES_LEAST)
		return 0;
	sum = sum > most ? most : sum;
	return (uint32_t)((int64_t)SCORE_MOST * (sum - IMAGES_LEAST) / (most - IMAGES_LEAST));
}

static void add_images(const struct judging *j)
{
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id))
			add_points(j, SCORE_PART_IMAGES, id, judge_images(j->cs, j->shape, id));
}

/* ---- the sum -------------------------------------------------------------------------- */

void judge_scores(const struct judging *j, enum score_policy policy)
{
	struct judgement *out = j->out;

	memset(out->scores, 0, j->nodes->used * sizeof(*out->scores));
	for (int part = 0; out->parts && part < SCORE_PARTS; part++)
		memset(&out->parts[(size_t)part * out->limit], 0, j->nodes->used * sizeof(*out->parts));
	add_fit(j, policy);
	score_policy(j);
	if (policy != SCORE_KUBE) {
		out->skipped = (UINT32_C(1) << SCORE_PARTS) - 1 - (UINT32_C(1) << SCORE_PART_FIT);
		return;
	}
	add_balanced(j);
	add_images(j);
	add_taints(j);
	add_affinity(j);
	add_spread(j);
	add_pods(j);
}

void judge_scores_between(const struct judging *j, const int32_t *preferred)
{
	add_taints(j);
	if (preferred) {
		for (uint32_t rank = 0; rank < j->nodes->count; rank++)
			j->scratch->raw[j->nodes->order[rank]] = preferred[rank];
		add_share(j, SCORE_PART_AFFINITY, false, 2);
	}
	add_spread(j);
	add_pods(j);
	score_policy(j);
}
