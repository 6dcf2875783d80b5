/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a view: computed for all nodes, then kept current as nodes change. */
#include "core/filter/evaluate.h"
#include "core/filter/score.h"
#include "core/index/views.h"
#include "core/index/views_impl.h"

#include "core/cluster/rule_node.h"
#include "ipc/memory.h"

#include <assert.h>
#include <string.h>

/* True if terms of placed or waiting pods give the class a score (interpodaffinity: PreScore);
 * required affinity does too, with hardPodAffinityWeight. */
static bool placed_terms_weigh(const struct pod_counts *pod_counts, class_id class)
{
	for (placed_term_id id = 0; id < pod_counts->placed_terms_n; id++) {
		const struct placed_term *b = &pod_counts->placed_terms[id];

		if (b->refs > 0 && b->kind != POD_TERM_ANTI_AFFINITY &&
		    class_matches(&pod_counts->pod_classes, class, b->selector))
			return true;
	}
	return false;
}

static bool links_weigh(const struct shape_links *links)
{
	for (uint32_t i = 0; links && i < links->terms_n; i++)
		if (links->terms[i].term->kind == POD_TERM_PREFERRED ||
		    links->terms[i].term->kind == POD_TERM_PREFERRED_ANTI)
			return true;
	for (uint32_t i = 0; links && i < links->spreads_n; i++)
		if (!(links->spreads[i].spread->flags & SPREAD_HARD))
			return true;
	return false;
}

/* True if some node has a PreferNoSchedule taint that the class does not tolerate (tainttoleration:
 * countIntolerableTaintsPreferNoSchedule). */
static bool soft_taints(const struct views *vs, const struct shape *s)
{
	const struct shapes *ss = vs->pod_counts->shapes;

	for (uint32_t word = 0; word < ss->words; word++)
		for (uint64_t bits = ss->soft[word]; bits; bits &= bits - 1)
			if (rule_soft_taints(
					s, &vs->nodes->slots[word * 64 + (uint32_t)__builtin_ctzll(bits)]) > 0)
				return true;
	return false;
}

/* The score of devices is normalised over all nodes. */
static bool devices_weigh(const struct views *vs, const struct shape *s)
{
	const struct pod_counts *cs = vs->pod_counts;

	return s->body->devices > 0 && vs->score == SCORE_KUBE && cs->inventory &&
	       inventory_prefers(cs->inventory, s->body->devices - 1);
}

static bool devices_evaluated(const struct views *vs, const struct shape *s)
{
	return devices_weigh(vs, s) || pod_counts_commons(vs->pod_counts, s);
}

/* VIEW_PLAIN becomes VIEW_CONSTRAINED when the class has constraints. */
static enum view_mode mode_of(const struct views *vs, class_id class)
{
	const struct pod_counts *pod_counts = vs->pod_counts;
	const struct shape *s = shape_of(vs, class);

	if (s->body->exclusives_n > 0 || s->body->attachments_n > 0 || devices_evaluated(vs, s) ||
	    (s->body->devices > 0 && pod_counts->devices))
		return VIEW_EVALUATED;
	if (vs->score == SCORE_KUBE &&
	    (s->body->preferences_n > 0 || links_weigh(class_links(pod_counts, class)) ||
	     placed_terms_weigh(pod_counts, class) || soft_taints(vs, s)))
		return VIEW_WEIGHED;
	return VIEW_PLAIN;
}

/* The keys of level 0 were written. */
static void keys_set(struct views *vs, struct view *v)
{
	tree_build(&v->tree);
	if (v->constraints)
		constraints_rebase(v->constraints, v->tree.levels[0]);
	budget_spend(vs->budget, vs->nodes->count / (v->constraints ? 2 : 16));
}

static void mask_set(const struct views *vs, const struct view_scope *scope, struct view *v,
                     uint64_t version)
{
	uint64_t sum = 0;

	v->masked = version;
	v->stale = v->mode == VIEW_WEIGHED;
	for (uint32_t rank = 0; rank < vs->nodes->count; rank++)
		sum += view_hidden(scope, v, rank) ? 0 : v->counts[rank];
	v->counted = v->capacity = sum;
}

static void mask_undo(struct views *vs, const struct view_scope *scope, struct view *v)
{
	mask_set(vs, scope, v, 0);
	if (v->mode == VIEW_WEIGHED)
		return;
	memcpy(v->tree.levels[0], v->points, vs->nodes->count * sizeof(*v->points));
	keys_set(vs, v);
}

static void mask_apply(struct views *vs, const struct view_scope *scope, struct view *v)
{
	mask_set(vs, scope, v, scope->mask_version);
	if (v->mode == VIEW_WEIGHED)
		return;
	memcpy(v->points, v->tree.levels[0], vs->nodes->count * sizeof(*v->points));
	for (uint32_t rank = 0; rank < vs->nodes->count; rank++)
		if (view_hidden(scope, v, rank))
			v->tree.levels[0][rank] = 0;
	keys_set(vs, v);
}

static void scan(struct views *vs, struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->class);
	tree_key *keys = v->mode == VIEW_WEIGHED ? v->points : v->tree.levels[0];

	for (uint32_t rank = 0; v->has_images && rank < ns->count; rank++)
		v->images_of[rank] = (uint8_t)image_locality(vs->pod_counts, s, ns->order[rank]);
	v->counted = scan_all(vs, v, s, keys, v->counts);
	for (uint32_t rank = 0; v->mode == VIEW_WEIGHED && rank < ns->count; rank++)
		view_facts_set(vs, v, s, rank);
	v->capacity = v->counted;
	budget_spend(vs->budget, 4 * (uint64_t)ns->count);
}

static void rebuild(struct views *vs, struct view *v)
{
	struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->class);

	constraints_free(v->constraints);
	soft_free(v->soft);
	v->constraints = NULL;
	v->soft = NULL;
	v->masked = 0;
	v->made = ++vs->makes;
	memset(v->tree.levels[0] + ns->count, 0, (ns->span - ns->count) * sizeof(tree_key));
	v->mode = mode_of(vs, v->class);
	v->has_images = usage_has_image(vs->pod_counts->usage, s);
	v->plain_counts = s->body->ports_n == 0 && v->hold == 0;
	if (v->mode == VIEW_WEIGHED && s->body->preferences_n > 0 && !v->preferred)
		v->preferred = must_array(ns->span, sizeof(*v->preferred));
	if (v->mode == VIEW_EVALUATED)
		view_reevaluate(vs, v);
	else
		scan(vs, v);
	if (v->mode == VIEW_PLAIN) {
		v->constraints = constraints_new(vs->pod_counts, v->class, v->tree.levels[0]);
		v->mode = v->constraints ? VIEW_CONSTRAINED : VIEW_PLAIN;
	}
	v->closed_form = v->mode == VIEW_WEIGHED && s->body->policies_n == 0;
	if (v->closed_form)
		v->constraints = constraints_new(vs->pod_counts, v->class, v->points);
	v->stale = v->mode == VIEW_WEIGHED;
	tree_build(&v->tree);
	v->order_version = ns->order_version;
	v->rules_version = vs->pod_counts->rules_version;
	v->only_rules = v->rules_version - vs->pod_counts->domains_version;
	v->order_log = ns->order_log_n;
	v->nodes = ns->count;
	v->position = ns->log_n;
}

static void result_set(struct view *v, uint32_t rank, struct scan_result result)
{
	v->counted += (uint64_t)result.count - v->counts[rank];
	v->capacity = v->counted;
	v->counts[rank] = result.count;
	if (v->mode == VIEW_WEIGHED || v->masked)
		v->points[rank] = (tree_key)result.key;
	if (v->mode == VIEW_WEIGHED)
		v->stale = true;
	else
		tree_set(&v->tree, rank, (tree_key)result.key);
	if (v->constraints)
		constraints_follow(v->constraints, rank, (tree_key)result.key);
	if (v->soft)
		soft_follow(v->soft, rank);
}

/* After the node took one more pod of the class. */
static void rescan_taken(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	struct scan_result result = { .count = v->counts[rank] - 1 };

	if (!v->plain_counts || v->counts[rank] == vs->most) {
		result_set(v, rank, scan_node(vs, v, s, vs->nodes->order[rank]));
		return;
	}
	if (result.count > 0)
		result.key = node_key(vs, v, s, vs->nodes->order[rank]);
	result_set(v, rank, result);
}

static void node_apply(struct views *vs, struct view *v, const struct shape *s, node_id id,
                       struct scan_result result)
{
	uint32_t rank = vs->nodes->ranks[id];

	result_set(v, rank, result);
	if (v->mode == VIEW_WEIGHED)
		view_weighed_follow(vs, v, s, rank);
	budget_spend(vs->budget, v->constraints ? constraints_cost(v->constraints) : 0);
}

/* Changed nodes that are scanned together. */
struct changes {
	node_id ids[SCAN_MOST];
	uint32_t ranks[SCAN_MOST];
	uint32_t n;
};

/* A plain view without a mask: counts and keys are all there is. */
static void changes_apply_plain(struct view *v, const struct changes *c,
                                const struct scan_results *results)
{
	uint32_t *counts = v->counts;
	uint64_t counted = v->counted;

	for (uint32_t i = 0; i < c->n; i++) {
		const uint32_t rank = c->ranks[i];

		counted += (uint64_t)results->counts[i] - counts[rank];
		counts[rank] = results->counts[i];
		tree_set(&v->tree, rank, results->keys[i]);
	}
	v->counted = v->capacity = counted;
}

/* The next changed nodes that the shape's rules allow; those that they do not allow are applied at
 * once.  False when the view must be built again. */
static bool changes_collect(struct views *vs, struct view *v, const struct shape *s,
                            struct changes *c)
{
	const struct nodes *ns = vs->nodes;
	const uint32_t *ranks = ns->ranks;
	const uint64_t log_n = ns->log_n, *soft = vs->pod_counts->shapes->soft;
	const bool may_weigh =
		v->mode != VIEW_WEIGHED && vs->score == SCORE_KUBE && vs->pod_counts->shapes->soft_n > 0;
	const bool constrained = v->constraints != NULL;
	uint64_t at = v->position;
	uint32_t n = 0;

	for (; at < log_n && n < SCAN_MOST; at++) {
		const node_id id = ns->log[at % NODE_LOG];

		if (id == ID_NONE)
			continue;
		/* An untolerated PreferNoSchedule taint makes it VIEW_WEIGHED. */
		if ((may_weigh && (soft[id / 64] >> (id % 64) & 1) &&
		     rule_soft_taints(s, &ns->slots[id]) > 0) ||
		    (constrained && constraints_outdated(v->constraints, ranks[id])))
			return false;
		if (!shape_allows(s, id)) {
			if (v->mode != VIEW_PLAIN || v->counts[ranks[id]] > 0)
				node_apply(vs, v, s, id, (struct scan_result){ 0 });
			continue;
		}
		c->ids[n] = id;
		c->ranks[n++] = ranks[id];
	}
	v->position = at;
	c->n = n;
	return true;
}

/* Applies up to SCAN_MOST changes; false when the view must be built again. */
static bool follow_some(struct views *vs, struct view *v, const struct shape *s)
{
	struct changes c __attribute__((uninitialized));
	struct scan_results results __attribute__((uninitialized));

	if (!changes_collect(vs, v, s, &c))
		return false;
	if (c.n == 0)
		return true;
	scan_nodes(vs, v, s, c.ids, c.n, &results);
	if (v->mode == VIEW_PLAIN && !v->masked)
		changes_apply_plain(v, &c, &results);
	else
		for (uint32_t i = 0; i < c.n; i++)
			node_apply(vs, v, s, c.ids[i],
			           (struct scan_result){ (uint32_t)results.keys[i], results.counts[i] });
	return true;
}

static void follow(struct views *vs, const struct view_scope *scope, struct view *v)
{
	struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->class);

	nodes_sort(ns);
	if ((v->order_version != ns->order_version ||
	     v->rules_version != vs->pod_counts->rules_version || ns->log_n - v->position > NODE_LOG) &&
	    !view_reorder(vs, v)) {
		rebuild(vs, v);
		return;
	}
	/* The question came after the view. */
	if (v->mode != VIEW_EVALUATED && devices_evaluated(vs, s)) {
		rebuild(vs, v);
		return;
	}
	if (v->masked && v->masked != scope->mask_version)
		mask_undo(vs, scope, v);
	if (v->position == ns->log_n)
		return;
	if (v->mode == VIEW_EVALUATED) {
		view_reevaluate(vs, v);
		tree_build(&v->tree);
		v->position = ns->log_n;
		return;
	}
	budget_spend(vs->budget, 4 * (ns->log_n - v->position));
	while (v->position < ns->log_n)
		if (!follow_some(vs, v, s)) {
			rebuild(vs, v);
			return;
		}
}

void view_follow(struct views *vs, const struct view_scope *scope, struct view *v)
{
	follow(vs, scope, v);
	assert(v->position == vs->nodes->log_n);
	if (v->masked != scope->mask_version)
		mask_apply(vs, scope, v);
	if (v->stale)
		view_weigh(vs, scope, v);
}

void view_take(struct views *vs, struct view *v, uint32_t rank)
{
	bool current = v->position == vs->nodes->log_n;

	pod_counts_allocate(vs->pod_counts, vs->nodes->order[rank], v->class, false);
	if (v->mode == VIEW_EVALUATED || !current)
		return; /* views_get() brings it up to date */
	rescan_taken(vs, v, shape_of(vs, v->class), rank);
	v->position = vs->nodes->log_n;
	budget_spend(vs->budget, v->constraints ? constraints_cost(v->constraints) : 0);
}

/* True if the node's points for images are those that the view has. */
static bool images_check(const struct views *vs, const struct view *v, const struct shape *s,
                         uint32_t rank)
{
	const uint32_t points = v->has_images ? v->images_of[rank] : 0;

	return points == image_locality(vs->pod_counts, s, vs->nodes->order[rank]);
}

bool view_check(struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->class);
	const tree_key *keys = v->mode == VIEW_WEIGHED ? v->points : v->tree.levels[0];
	uint64_t counted = 0;

	for (uint32_t rank = 0; rank < ns->count; rank++) {
		struct scan_result result = scan_node(vs, v, s, ns->order[rank]);

		counted += v->counts[rank];
		if (v->mode != VIEW_EVALUATED &&
		    ((tree_key)result.key != keys[rank] || result.count != v->counts[rank] ||
		     !images_check(vs, v, s, rank)))
			return false;
	}
	if (v->mode != VIEW_EVALUATED && counted != v->counted)
		return false;
	if ((v->mode < VIEW_WEIGHED && v->capacity != v->counted) ||
	    (v->constraints && !constraints_check(v->constraints)) || (v->soft && !soft_check(v->soft)))
		return false;
	return view_evaluated_check(vs, v) && view_best_check(vs, v);
}
