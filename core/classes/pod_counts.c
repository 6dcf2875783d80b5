/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/pod_counts_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

#define IDLE_MOST 64u

static void class_gone(void *context, class_id class)
{
	const struct pod_counts *cs = context;

	if (cs->hooks.class_gone)
		cs->hooks.class_gone(cs->hooks.context, class);
}

void pod_counts_init(struct pod_counts *cs, const struct limits *limits, struct nodes *nodes,
                     struct shapes *shapes, struct pods *pods)
{
	*cs = (struct pod_counts){
		.nodes = nodes, .shapes = shapes, .pods = pods, .idle_most = IDLE_MOST
	};
	cs->links = must_array(limits->shapes, sizeof(struct shape_links *));
	cs->usage = usage_new(nodes);
	labels_init(&cs->labels);
	selectors_init(&cs->selectors, nodes->span, &cs->labels);
	topologies_init(&cs->topologies, nodes);
	pod_classes_init(&cs->pod_classes, limits);
	cs->pod_classes.gone = class_gone;
	cs->pod_classes.context = cs;
	id_table_init(&cs->placed_term_ids, 0);
}

void pod_counts_reach(struct pod_counts *cs, uint32_t from)
{
	const uint32_t span = cs->nodes->span;

	selectors_reach(&cs->selectors, span);
	topologies_reach(&cs->topologies, from);
	for (placed_term_id id = 0; id < cs->placed_terms_n; id++)
		if (cs->placed_terms[id].holders)
			node_counts_reach(cs->placed_terms[id].holders, span);
}

void placed_term_forget(struct placed_term *b)
{
	if (b->holders)
		node_counts_free(b->holders);
	free(b->holders);
	*b = (struct placed_term){ 0 };
}

void links_forget(struct shape_links *links)
{
	if (!links)
		return;
	free(links->terms);
	free(links->spreads);
	free(links);
}

void pod_counts_clear(struct pod_counts *cs)
{
	for (shape_id id = 0; id < cs->shapes->limit; id++) {
		links_forget(cs->links[id]);
		cs->links[id] = NULL;
	}
	for (placed_term_id id = 0; id < cs->placed_terms_n; id++)
		placed_term_forget(&cs->placed_terms[id]);
	cs->placed_terms_n = 0;
	id_table_clear(&cs->placed_term_ids);
	pod_classes_clear(&cs->pod_classes);
	selectors_clear(&cs->selectors);
	topologies_clear(&cs->topologies);
	labels_clear(&cs->labels);
	usage_clear(cs->usage);
}

void pod_counts_free(struct pod_counts *cs)
{
	for (shape_id id = 0; id < cs->shapes->limit; id++)
		links_forget(cs->links[id]);
	for (placed_term_id id = 0; id < cs->placed_terms_n; id++)
		placed_term_forget(&cs->placed_terms[id]);
	free(cs->links);
	free(cs->placed_terms);
	id_table_free(&cs->placed_term_ids);
	pod_classes_free(&cs->pod_classes);
	selectors_free(&cs->selectors);
	topologies_free(&cs->topologies);
	labels_free(&cs->labels);
	usage_free(cs->usage);
	*cs = (struct pod_counts){ 0 };
}

/* A pod that is being deleted counts for affinity, but not for spreads (podtopologyspread:
 * countPodsMatchSelector). */
static void selectors_change(struct pod_counts *cs, node_id node, const struct match_set *match_set,
                             bool leaving, uint32_t by)
{
	const bool exists = node_present(&cs->nodes->slots[node]);

	for (uint32_t i = 0; i < match_set->n; i++)
		selector_change(&cs->selectors, match_set->matched[i], node, exists, leaving, by);
}

static void placed_terms_change(struct pod_counts *cs, node_id node,
                                const struct shape_links *links, uint32_t by)
{
	const bool exists = node_present(&cs->nodes->slots[node]);

	for (uint32_t i = 0; i < links->terms_n; i++) {
		struct placed_term *b = &cs->placed_terms[links->terms[i].placed_term];

		assert((int32_t)by > 0 || node_counts_at(b->holders, node) > 0);
		node_counts_add(b->holders, cs->nodes->span, node, by);
		if (exists)
			b->holders_n += (uint64_t)(int64_t)(int32_t)by;
	}
}

/* All counts of a pod of the class except the capacity and usage of its node. */
static inline void counts_change(struct pod_counts *cs, node_id node, class_id class, bool leaving,
                                 uint32_t by)
{
	const struct match_set *match_set = class_match_set(&cs->pod_classes, class);
	const struct shape_links *links = class_links(cs, class);

	if (match_set->n > 0)
		selectors_change(cs, node, match_set, leaving, by);
	if (links)
		placed_terms_change(cs, node, links, by);
}

uint32_t pod_counts_served(const struct pod_counts *cs, node_id node, const struct shape *s)
{
	uint32_t served = 0;

	for (uint32_t i = s->requests_n; i < s->sums_n; i++)
		if (nodes_allocatable(cs->nodes, node, s->requests[i].resource) > 0)
			served |= 1u << s->requests[i].group;
	return served;
}

uint32_t pod_counts_room(const struct pod_counts *cs, node_id node, const struct shape *s,
                         uint32_t most)
{
	const uint32_t served = pod_counts_served(cs, node, s);

	for (uint32_t i = s->requests_n; i < s->sums_n && served != 0; i++) {
		const struct request *q = &s->requests[i];

		if (served >> q->group & 1)
			most = amount_count(nodes_free_amount(cs->nodes, node, q->resource), q->value,
			                    q->inverse, most);
	}
	return cs->inventory ? inventory_room(cs->inventory, node, s->body->devices - 1, served, most)
	                     : 0;
}

bool pod_counts_serves(const struct pod_counts *cs, node_id node, const struct shape *s)
{
	return s->body->devices == 0 || (cs->inventory && pod_counts_room(cs, node, s, 1) > 0 &&
	                                 inventory_is_served(cs->inventory, s->body->devices - 1,
	                                                     pod_counts_served(cs, node, s)));
}

void pod_counts_allocate(struct pod_counts *cs, node_id node, class_id class, bool leaving)
{
	const struct shape *s = class_shape(cs, class);

	counts_change(cs, node, class, leaving, 1);
	if (usage_has(s))
		usage_add(cs->usage, node, s);
	nodes_allocate(cs->nodes, node, s);
	if (cs->inventory && s->body->devices > 0)
		inventory_take(cs->inventory, node, s->body->devices - 1, pod_counts_served(cs, node, s),
		               1);
}

void pod_counts_allocate_many(struct pod_counts *cs, node_id node, class_id class, uint32_t n)
{
	const struct shape *s = class_shape(cs, class);

	assert(n > 0);
	counts_change(cs, node, class, false, n);
	for (uint32_t i = 0; i < n && usage_has(s); i++)
		usage_add(cs->usage, node, s);
	nodes_allocate_many(cs->nodes, node, s, n);
	if (cs->inventory && s->body->devices > 0)
		inventory_take(cs->inventory, node, s->body->devices - 1, pod_counts_served(cs, node, s),
		               n);
}

void pod_counts_release(struct pod_counts *cs, node_id node, class_id class, bool leaving)
{
	const struct shape *s = class_shape(cs, class);

	counts_change(cs, node, class, leaving, UINT32_MAX);
	if (usage_has(s))
		usage_remove(cs->usage, node, s);
	nodes_release(cs->nodes, node, s);
	if (cs->inventory && s->body->devices > 0)
		inventory_give(cs->inventory, node, s->body->devices - 1);
}

bool pod_counts_eases(const struct pod_counts *cs, class_id class)
{
	const struct match_set *match_set = class_match_set(&cs->pod_classes, class);

	for (uint32_t i = 0; i < match_set->n; i++)
		if (cs->selectors.slots[match_set->matched[i]].eases > 0)
			return true;
	return false;
}

labels_id pod_counts_labels_ref(struct pod_counts *cs, uint32_t namespace,
                                const struct pod_label *at, uint32_t n)
{
	selector_id *matched;
	uint32_t matched_n;
	bool fresh;
	const labels_id id = label_set_ref(&cs->labels, namespace, at, n, &fresh);

	if (fresh) {
		matched = selectors_matching(&cs->selectors, id, &matched_n);
		cs->labels.sets[id].match_set = match_set_ref(&cs->pod_classes, matched, matched_n);
		free(matched);
	}
	return id;
}

static void labels_unref(struct pod_counts *cs, labels_id labels)
{
	const struct label_set *set = &cs->labels.sets[labels];

	if (set->refs == 1)
		match_set_unref(&cs->pod_classes, set->match_set);
	label_set_unref(&cs->labels, labels);
}

void pod_counts_pod_enter(struct pod_counts *cs, pod_id id, labels_id labels)
{
	struct label_set *set = &cs->labels.sets[labels];
	struct pod *p = &cs->pods->slots[id];

	assert(p->node == ID_NONE);
	p->labels = labels;
	p->labels_previous = ID_NONE;
	p->labels_next = set->first_pod;
	if (set->first_pod != ID_NONE)
		cs->pods->slots[set->first_pod].labels_previous = id;
	set->first_pod = id;
	p->class = class_ref(&cs->pod_classes, p->shape, set->match_set);
}

void pod_counts_pod_leave(struct pod_counts *cs, pod_id id)
{
	struct pod *p = &cs->pods->slots[id];

	assert(p->node == ID_NONE && p->class < pod_classes_used(&cs->pod_classes));
	class_unref(&cs->pod_classes, p->class);
	if (p->labels_next != ID_NONE)
		cs->pods->slots[p->labels_next].labels_previous = p->labels_previous;
	if (p->labels_previous != ID_NONE)
		cs->pods->slots[p->labels_previous].labels_next = p->labels_next;
	else
		cs->labels.sets[p->labels].first_pod = p->labels_next;
	labels_unref(cs, p->labels);
	p->labels = LABELS_NONE;
	p->class = CLASS_NONE;
}

static uint64_t sum_by(uint64_t count, bool exists)
{
	return exists ? count : -count;
}

/* Counts by node stay; sums are over present nodes. */
static void sums_follow(struct pod_counts *cs, node_id node, bool existed)
{
	const bool exists = node_present(&cs->nodes->slots[node]);

	if (existed == exists)
		return;
	for (selector_id id = 0; id < cs->selectors.ids.used; id++) {
		struct selector *s = &cs->selectors.slots[id];

		if (s->body)
			s->placed_n += sum_by(node_counts_at(s->placed, node), exists);
	}
	for (placed_term_id id = 0; id < cs->placed_terms_n; id++) {
		struct placed_term *b = &cs->placed_terms[id];

		if (b->refs > 0)
			b->holders_n += sum_by(node_counts_at(b->holders, node), exists);
	}
}

static void rules_follow(struct pod_counts *cs, node_id node, bool existed)
{
	const uint64_t before = cs->topologies.version;

	topologies_follow(&cs->topologies, node);
	if (cs->topologies.version == before && existed == node_present(&cs->nodes->slots[node]))
		return;
	cs->rules_version++;
	cs->domains_version++;
}

bool pod_counts_node_set(struct pod_counts *cs, const struct node_record *record, bool existed)
{
	sums_follow(cs, record->body->node, existed);
	rules_follow(cs, record->body->node, existed);
	return usage_node_set(cs->usage, record);
}

void pod_counts_node_drop(struct pod_counts *cs, node_id node, bool existed)
{
	assert(node < cs->nodes->span);
	assert(cs->nodes->slots[node].pods == 0);
	sums_follow(cs, node, existed);
	rules_follow(cs, node, existed);
	usage_node_drop(cs->usage, node);
}
