/* SPDX-License-Identifier: Apache-2.0 */
/* Score: the points of each plugin for the feasible nodes, normalised and weighted. */
#include "core/filter/evaluate_impl.h"

#include <string.h>

static void add_points(const struct evaluator *e, enum score_part part, node_id id, uint32_t points)
{
	e->out->scores[id] += points;
	if (e->out->parts)
		e->out->parts[(size_t)part * e->out->limit + id] = (uint16_t)points;
}

/* helper.DefaultNormalizeScore: a share of the highest, which is not negative. */
static void add_share(const struct evaluator *e, enum score_part part, bool reversed,
                      uint32_t weight)
{
	const int64_t *raw = e->scratch->raw;
	int64_t most = 0;

	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id) && raw[id] > most)
			most = raw[id];
	for (node_id id = 0; id < e->nodes->used; id++) {
		uint32_t share;

		if (!is_feasible(e, id))
			continue;
		share = most > 0 ? (uint32_t)(raw[id] * SCORE_MOST / most) : 0;
		add_points(e, part, id, weight * (reversed ? SCORE_MOST - share : share));
	}
}

struct range {
	int64_t least, most;
	bool any;
};

/* Of feasible nodes whose raw value is at least `from`. */
static struct range raw_range(const struct evaluator *e, int64_t from)
{
	struct range r = { .least = INT64_MAX, .most = INT64_MIN };

	for (node_id id = 0; id < e->nodes->used; id++) {
		int64_t raw = e->scratch->raw[id];

		if (!is_feasible(e, id) || raw < from)
			continue;
		r.least = raw < r.least ? raw : r.least;
		r.most = raw > r.most ? raw : r.most;
		r.any = true;
	}
	return r;
}

/* interpodaffinity: NormalizeScore, from the lowest to the highest.  The order of operations
 * matters: 29 of 100 gives 28. */
static void add_between(const struct evaluator *e, enum score_part part, uint32_t weight)
{
	struct range r = raw_range(e, INT64_MIN);

	for (node_id id = 0; id < e->nodes->used; id++) {
		double points = 0;

		if (!is_feasible(e, id))
			continue;
		if (r.most > r.least)
			points = (double)SCORE_MOST *
			         ((double)(e->scratch->raw[id] - r.least) / (double)(r.most - r.least));
		add_points(e, part, id, weight * (uint32_t)points);
	}
}

/* podtopologyspread: NormalizeScore, the fewer the better; a node with -1 has no score. */
static void add_fewer(const struct evaluator *e, enum score_part part, uint32_t weight)
{
	struct range r = raw_range(e, 0);

	for (node_id id = 0; id < e->nodes->used; id++) {
		int64_t raw = e->scratch->raw[id];
		int64_t points = SCORE_MOST;

		if (!is_feasible(e, id))
			continue;
		if (raw < 0)
			points = 0;
		else if (r.most > 0)
			points = SCORE_MOST * (r.most + r.least - raw) / r.most;
		add_points(e, part, id, weight * (uint32_t)points);
	}
}

static void skip(const struct evaluator *e, enum score_part part)
{
	e->out->skipped |= UINT32_C(1) << part;
}

/* noderesources.Fit: Score, by the strategy of the profile. */
static void add_fit(const struct evaluator *e, enum score_policy policy)
{
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			add_points(e, SCORE_PART_FIT, id, score_node(policy, e->cs, id, e->shape));
}

/* noderesources.BalancedAllocation: PreScore, Score. */
static void add_balanced(const struct evaluator *e)
{
	if (!score_balances(e->shape)) {
		skip(e, SCORE_PART_BALANCED);
		return;
	}
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			add_points(e, SCORE_PART_BALANCED, id, score_balanced(e->nodes, id, e->shape));
}

/* tainttoleration: Score, countIntolerableTaintsPreferNoSchedule. */
static void add_taints(const struct evaluator *e)
{
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			e->scratch->raw[id] = rule_soft_taints(e->shape, &e->nodes->slots[id]);
	add_share(e, SCORE_PART_TAINTS, true, 3);
}

/* nodeaffinity: Score. */
static void add_affinity(const struct evaluator *e)
{
	if (e->shape->body->preferences_n == 0) {
		skip(e, SCORE_PART_AFFINITY);
		return;
	}
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			e->scratch->raw[id] = rule_preferred(e->shape, &e->nodes->slots[id]);
	add_share(e, SCORE_PART_AFFINITY, false, 2);
}

/* podtopologyspread: PreScore skips a pod without soft constraints. */
static void add_spread(const struct evaluator *e)
{
	if (score_spread(e))
		add_fewer(e, SCORE_PART_SPREAD, 2);
	else
		skip(e, SCORE_PART_SPREAD);
}

/* interpodaffinity: PreScore skips when no term gives a score. */
static void add_pods(const struct evaluator *e)
{
	memset(e->scratch->raw, 0, e->nodes->used * sizeof(*e->scratch->raw));
	if (score_pods(e))
		add_between(e, SCORE_PART_PODS, 2);
	else
		skip(e, SCORE_PART_PODS);
}

/* imagelocality: Score. */
static void add_images(const struct evaluator *e)
{
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			add_points(e, SCORE_PART_IMAGES, id, image_locality(e->cs, e->shape, id));
}

/* dynamicresources: Score.  It is in the total and no part of its own. */
static void add_devices(const struct evaluator *e)
{
	const struct device_filter *devices = e->cs->devices;
	const struct inventory *inventory = e->cs->inventory;
	const uint32_t question = e->shape->body->devices - 1;
	int64_t most = 0;

	if (e->shape->body->devices == 0 ||
	    !(devices || (inventory && inventory_prefers(inventory, question))))
		return;
	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!is_feasible(e, id))
			continue;
		e->scratch->raw[id] = devices ? devices->points(devices->context, id)
		                              : inventory_points(inventory, id, question,
		                                                 pod_counts_served(e->cs, id, e->shape));
		most = e->scratch->raw[id] > most ? e->scratch->raw[id] : most;
	}
	for (node_id id = 0; most > 0 && id < e->nodes->used; id++)
		if (is_feasible(e, id))
			e->out->scores[id] += 2 * (uint32_t)(e->scratch->raw[id] * SCORE_MOST / most);
}

/* framework: RunScorePlugins with the weights of the default profile (getDefaultPlugins). */
void score_all(const struct evaluator *e, enum score_policy policy)
{
	struct evaluation *out = e->out;

	memset(out->scores, 0, e->nodes->used * sizeof(*out->scores));
	for (int part = 0; out->parts && part < SCORE_PARTS; part++)
		memset(&out->parts[(size_t)part * out->limit], 0, e->nodes->used * sizeof(*out->parts));
	add_fit(e, policy);
	score_policy(e);
	if (policy != SCORE_KUBE) {
		out->skipped = (UINT32_C(1) << SCORE_PARTS) - 1 - (UINT32_C(1) << SCORE_PART_FIT);
		return;
	}
	add_balanced(e);
	add_images(e);
	add_taints(e);
	add_affinity(e);
	add_spread(e);
	add_pods(e);
	add_devices(e);
}

void score_between(const struct evaluator *e, const int32_t *preferred)
{
	add_taints(e);
	if (preferred) {
		for (uint32_t rank = 0; rank < e->nodes->count; rank++)
			e->scratch->raw[e->nodes->order[rank]] = preferred[rank];
		add_share(e, SCORE_PART_AFFINITY, false, 2);
	}
	add_spread(e);
	add_pods(e);
	score_policy(e);
}
