/* SPDX-License-Identifier: Apache-2.0 */
/* Plain views when nodes join or leave: counts and keys move by the log of the order, so that a
 * node costs two moves of memory and not a scan of all nodes. */
#include "core/index/views_impl.h"

#include <string.h>

static bool may_reorder(const struct views *vs, const struct view *v)
{
	const struct pod_counts *cs = vs->pod_counts;
	const struct nodes *ns = vs->nodes;

	/* An image counts by the share of nodes that have it. */
	return v->nodes > 0 && v->mode == VIEW_PLAIN && !v->masked && !v->has_images &&
	       v->only_rules == cs->rules_version - cs->domains_version &&
	       ns->order_log_n - v->order_log <= ORDER_LOG && ns->log_n - v->position <= NODE_LOG;
}

static void leave(struct view *v, uint32_t rank)
{
	tree_key *keys = v->tree.levels[0];
	const uint32_t last = --v->nodes;

	v->counted -= v->counts[rank];
	memmove(&keys[rank], &keys[rank + 1], (last - rank) * sizeof(*keys));
	memmove(&v->counts[rank], &v->counts[rank + 1], (last - rank) * sizeof(*v->counts));
	keys[last] = 0;
	v->counts[last] = 0;
}

static void enter(struct view *v, uint32_t rank)
{
	tree_key *keys = v->tree.levels[0];
	const uint32_t last = v->nodes++;

	memmove(&keys[rank + 1], &keys[rank], (last - rank) * sizeof(*keys));
	memmove(&v->counts[rank + 1], &v->counts[rank], (last - rank) * sizeof(*v->counts));
	keys[rank] = 0;
	v->counts[rank] = 0;
}

bool view_reorder(struct views *vs, struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const uint64_t from = v->order_log;

	if (!may_reorder(vs, v))
		return false;
	for (; v->order_log < ns->order_log_n; v->order_log++) {
		const struct order_change *change = &ns->order_log[v->order_log % ORDER_LOG];

		if (change->left)
			leave(v, change->rank);
		else
			enter(v, change->rank);
	}
	if (v->order_log != from) {
		tree_build(&v->tree);
		budget_spend(vs->budget, (v->order_log - from + 1) * (ns->count / 64 + 1));
	}
	v->capacity = v->counted;
	v->order_version = ns->order_version;
	v->rules_version = vs->pod_counts->rules_version;
	return v->nodes > 0;
}
