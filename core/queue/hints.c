/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/hints.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

#define READ_STEPS 150000u /* work after which the gangs themselves are tried, cycle by cycle */

void hints_init(struct hints *hs, const struct limits *limits, bool ask)
{
	*hs =
		(struct hints){ .ask = ask, .limit = limits->pods < HINTS_MAX ? limits->pods : HINTS_MAX };
	hs->slots = must_array(hs->limit, sizeof(*hs->slots));
	hints_clear(hs);
}

void hints_free(struct hints *hs)
{
	free(hs->slots);
	hs->slots = NULL;
}

void hints_clear(struct hints *hs)
{
	hs->used = hs->classes = hs->any = 0;
	hs->free = HINT_ANY;
}

/* How many pods of a plain class fit on a node depends on neither the order of the nodes, their
 * domains nor what images and volumes they have. */
static uint64_t only_rules(const struct pod_counts *cs)
{
	return cs->rules_version - cs->domains_version - cs->has_version;
}

/* The bound, from a view that is up to date. */
static void bound_set(struct hint *h, struct views *vs, const struct view *v)
{
	h->plain = v->mode == VIEW_PLAIN;
	h->bound = h->plain ? v->capacity : view_bound(vs, v);
	h->only_rules = only_rules(vs->pod_counts);
	h->log_n = h->read_log_n = vs->nodes->log_n;
	h->freed_version = h->read_freed_version = vs->nodes->freed_version;
}

static void view_read(struct hint *h, struct views *vs)
{
	bound_set(h, vs, views_get(vs, &(struct view_scope){ 0 }, h->class));
}

static bool is_current(const struct hint *h, const struct views *vs)
{
	return h->read_log_n == vs->nodes->log_n && h->read_freed_version == vs->nodes->freed_version;
}

/* The view was used just before, so the bound of a plain one is there already. */
static uint32_t slot_allocate(struct hints *hs, struct views *vs, class_id class)
{
	const struct view *v;
	uint32_t at = hs->free;

	assert(hs->classes <= hs->used);
	if (at != HINT_ANY)
		hs->free = hs->slots[at].next;
	else if (hs->used < hs->limit)
		at = hs->used++;
	else
		return HINT_ANY;
	hs->slots[at] = (struct hint){ .class = class, .least = UINT32_MAX, .seen = UINT32_MAX };
	hs->classes++;
	v = views_get(vs, &(struct view_scope){ 0 }, class);
	if (v->mode == VIEW_PLAIN)
		bound_set(&hs->slots[at], vs, v);
	return at;
}

void hints_add(struct hints *hs, struct views *vs, struct gang *g)
{
	struct pod_class *k =
		g->hint_kind != CLASS_NONE ? &vs->pod_counts->pod_classes.slots[g->hint_kind] : NULL;
	struct hint *h;

	assert(g->hint_kind == CLASS_NONE ||
	       g->hint_kind < pod_classes_used(&vs->pod_counts->pod_classes));
	g->hint = HINT_ANY;
	if (k) {
		if (k->wait >= hs->used || hs->slots[k->wait].gangs == 0 ||
		    hs->slots[k->wait].class != g->hint_kind)
			k->wait = slot_allocate(hs, vs, g->hint_kind);
		g->hint = k->wait;
	}
	if (g->hint == HINT_ANY) {
		hs->any++;
		return;
	}
	h = &hs->slots[g->hint];
	h->gangs++;
	h->least = g->hint_need < h->least ? g->hint_need : h->least;
	h->seen = g->hint_need < h->seen ? g->hint_need : h->seen;
}

void hints_remove(struct hints *hs, struct gang *g)
{
	struct hint *h;

	if (g->hint == HINT_ANY) {
		assert(hs->any > 0);
		hs->any--;
		return;
	}
	h = &hs->slots[g->hint];
	assert(h->gangs > 0);
	if (--h->gangs > 0)
		return;
	h->next = hs->free;
	hs->free = g->hint;
	if (--hs->classes > 0)
		return;
	hs->used = 0;
	hs->free = HINT_ANY;
}

/* Brings the bound up to date, from the log of changed nodes if they can be counted one by one. */
static void follow(struct hints *hs, struct hint *h, struct views *vs)
{
	const struct nodes *ns = vs->nodes;

	if (h->freed_version == ns->freed_version && !hs->ask)
		return;
	if (hs->ask || !h->plain || h->only_rules != only_rules(vs->pod_counts) ||
	    ns->log_n - h->log_n > NODE_LOG) {
		view_read(h, vs);
		return;
	}
	budget_spend(vs->budget, 2 * (ns->log_n - h->log_n) + 1);
	for (; h->log_n < ns->log_n; h->log_n++) {
		node_id id = ns->log[h->log_n % NODE_LOG];

		if (id != ID_NONE)
			h->bound += views_count_at(vs, id, h->class);
	}
	h->freed_version = ns->freed_version;
}

/* False if fewer pods of the class fit; the view is read only if the bound does not say so. */
static bool may_fit(struct hints *hs, struct hint *h, struct views *vs, uint32_t need)
{
	follow(hs, h, vs);
	if (h->bound >= need && !is_current(h, vs))
		view_read(h, vs);
	return h->bound >= need;
}

bool hints_may_fit(struct hints *hs, struct views *vs, const struct gang *g)
{
	return g->hint == HINT_ANY || may_fit(hs, &hs->slots[g->hint], vs, g->hint_need);
}

bool hints_any_may_fit(struct hints *hs, struct views *vs)
{
	nodes_sort_few(vs->nodes);
	if (hs->any > 0 || hs->ask)
		return true;
	for (uint32_t i = 0; i < hs->used; i++) {
		struct hint *h = &hs->slots[i];

		if (h->gangs > 0 &&
		    (budget_left(vs->budget, READ_STEPS) == 0 || may_fit(hs, h, vs, h->least)))
			return true;
	}
	return false;
}

void hints_walk_begin(struct hints *hs)
{
	for (uint32_t i = 0; i < hs->used; i++)
		hs->slots[i].seen = UINT32_MAX;
}

void hints_walk_pass(struct hints *hs, const struct gang *g)
{
	struct hint *h = g->hint != HINT_ANY ? &hs->slots[g->hint] : NULL;

	if (h && g->hint_need < h->seen)
		h->seen = g->hint_need;
}

void hints_walk_end(struct hints *hs)
{
	for (uint32_t i = 0; i < hs->used; i++)
		hs->slots[i].least = hs->slots[i].seen;
}
