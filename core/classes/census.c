/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/census_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MOST 64u

static void kind_gone(void *context, kind_id kind)
{
	const struct census *cs = context;

	if (cs->hooks.kind_gone)
		cs->hooks.kind_gone(cs->hooks.context, kind);
}

int census_init(struct census *cs, const struct limits *limits, struct nodes *nodes,
                struct shapes *shapes, struct pods *pods)
{
	*cs = (struct census){ .nodes = nodes, .shapes = shapes, .pods = pods, .idle_most = IDLE_MOST };
	topologies_init(&cs->topologies, nodes);
	cs->links = calloc(limits->shapes, sizeof(struct shape_links *));
	cs->things = things_new(nodes);
	if (cs->links && cs->things && labels_init(&cs->labels) == 0 &&
	    selectors_init(&cs->selectors, limits, &cs->labels) == 0 &&
	    kinds_init(&cs->kinds, limits) == 0 && chains_init(&cs->bond_chains, 0) == 0) {
		cs->kinds.gone = kind_gone;
		cs->kinds.context = cs;
		return 0;
	}
	census_free(cs);
	return -ENOMEM;
}

void census_clear(struct census *cs)
{
	for (shape_id id = 0; id < cs->shapes->limit; id++) {
		links_forget(cs->links[id]);
		cs->links[id] = NULL;
	}
	for (bond_id id = 0; id < cs->bonds_n; id++) {
		free(cs->bonds[id].holders);
		cs->bonds[id] = (struct bond){ 0 };
	}
	cs->bonds_n = 0;
	chains_clear(&cs->bond_chains);
	kinds_clear(&cs->kinds);
	selectors_clear(&cs->selectors);
	topologies_clear(&cs->topologies);
	labels_clear(&cs->labels);
	things_clear(cs->things);
}

void census_free(struct census *cs)
{
	for (shape_id id = 0; cs->links && id < cs->shapes->limit; id++)
		links_forget(cs->links[id]);
	for (bond_id id = 0; id < cs->bonds_n; id++)
		free(cs->bonds[id].holders);
	free(cs->links);
	free(cs->bonds);
	chains_free(&cs->bond_chains);
	kinds_free(&cs->kinds);
	selectors_free(&cs->selectors);
	topologies_free(&cs->topologies);
	labels_free(&cs->labels);
	things_free(cs->things);
	*cs = (struct census){ 0 };
}

/* ---- pods come and go ---------------------------------------------------------- */

/* A pod that is being deleted still bars others, but spread does not count it any more. */
static void selectors_change(struct census *cs, node_id node, const struct class *class,
                             bool leaving, uint32_t by)
{
	const bool exists = node_present(&cs->nodes->slots[node]);

	for (uint32_t i = 0; i < class->n; i++)
		selector_change(&cs->selectors.slots[class->matched[i]], node, exists, leaving, by);
}

static void bonds_change(struct census *cs, node_id node, const struct shape_links *links,
                         uint32_t by)
{
	const bool exists = node_present(&cs->nodes->slots[node]);

	for (uint32_t i = 0; i < links->terms_n; i++) {
		struct bond *b = &cs->bonds[links->terms[i].bond];

		b->holders[node] += by;
		if (exists)
			b->holders_n += (uint64_t)(int64_t)(int32_t)by;
	}
}

/* What pods of the kind count beside the sums of their node. */
static inline void counts_change(struct census *cs, node_id node, kind_id kind, bool leaving,
                                 uint32_t by)
{
	const struct class *class = kind_class(&cs->kinds, kind);
	const struct shape_links *links = cs->links[cs->kinds.slots[kind].shape];

	if (class->n > 0)
		selectors_change(cs, node, class, leaving, by);
	if (links)
		bonds_change(cs, node, links, by);
}

void census_take(struct census *cs, node_id node, kind_id kind, bool leaving)
{
	const struct shape *s = &cs->shapes->slots[cs->kinds.slots[kind].shape];

	counts_change(cs, node, kind, leaving, 1);
	if (things_has(s))
		things_take(cs->things, node, s);
	nodes_take(cs->nodes, node, s);
}

void census_take_many(struct census *cs, node_id node, kind_id kind, uint32_t n)
{
	const struct shape *s = &cs->shapes->slots[cs->kinds.slots[kind].shape];

	counts_change(cs, node, kind, false, n);
	for (uint32_t i = 0; i < n && things_has(s); i++)
		things_take(cs->things, node, s);
	nodes_take_many(cs->nodes, node, s, n);
}

void census_give(struct census *cs, node_id node, kind_id kind, bool leaving)
{
	const struct shape *s = &cs->shapes->slots[cs->kinds.slots[kind].shape];

	counts_change(cs, node, kind, leaving, UINT32_MAX);
	if (things_has(s))
		things_give(cs->things, node, s);
	nodes_give(cs->nodes, node, s);
}

bool census_eases(const struct census *cs, kind_id kind)
{
	const struct class *class = kind_class(&cs->kinds, kind);

	for (uint32_t i = 0; i < class->n; i++)
		if (cs->selectors.slots[class->matched[i]].eases > 0)
			return true;
	return false;
}

/* ---- pods and their kinds --------------------------------------------------------- */

int census_labels_take(struct census *cs, uint32_t namespace, const struct pod_label *at,
                       uint32_t n, labels_id *out)
{
	selector_id *matched;
	uint32_t matched_n;
	bool fresh;
	int rc = label_set_take(&cs->labels, namespace, at, n, out, &fresh);

	if (rc < 0 || !fresh)
		return rc;
	rc = selectors_matching(&cs->selectors, *out, &matched, &matched_n);
	if (rc == 0) {
		rc = class_take(&cs->kinds, matched, matched_n, &cs->labels.sets[*out].class);
		free(matched);
	}
	if (rc < 0)
		label_set_give(&cs->labels, *out);
	return rc;
}

void census_labels_give(struct census *cs, labels_id labels)
{
	const struct label_set *set = &cs->labels.sets[labels];

	if (set->refs == 1)
		class_give(&cs->kinds, set->class);
	label_set_give(&cs->labels, labels);
}

void census_pod_enter(struct census *cs, pod_id id, labels_id labels)
{
	struct label_set *set = &cs->labels.sets[labels];
	struct pod *p = &cs->pods->slots[id];

	p->labels = labels;
	p->labels_previous = ID_NONE;
	p->labels_next = set->first_pod;
	if (set->first_pod != ID_NONE)
		cs->pods->slots[set->first_pod].labels_previous = id;
	set->first_pod = id;
	p->kind = kind_take(&cs->kinds, p->shape, set->class);
}

void census_pod_leave(struct census *cs, pod_id id)
{
	struct pod *p = &cs->pods->slots[id];

	things_release(cs->things, &cs->shapes->slots[cs->kinds.slots[p->kind].shape]);
	kind_give(&cs->kinds, p->kind);
	if (p->labels_next != ID_NONE)
		cs->pods->slots[p->labels_next].labels_previous = p->labels_previous;
	if (p->labels_previous != ID_NONE)
		cs->pods->slots[p->labels_previous].labels_next = p->labels_next;
	else
		cs->labels.sets[p->labels].first_pod = p->labels_next;
	census_labels_give(cs, p->labels);
	p->labels = LABELS_NONE;
	p->kind = KIND_NONE;
}

/* ---- nodes ------------------------------------------------------------------------ */

/* Counts by node stay; sums are of nodes that exist. */
static void sums_follow(struct census *cs, node_id node, bool existed)
{
	const bool exists = node_present(&cs->nodes->slots[node]);

	if (existed == exists)
		return;
	for (selector_id id = 0; id < cs->selectors.chains.used; id++) {
		struct selector *s = &cs->selectors.slots[id];

		if (s->body)
			s->placed_n += exists ? s->placed[node] : -(uint64_t)s->placed[node];
	}
	for (bond_id id = 0; id < cs->bonds_n; id++) {
		struct bond *b = &cs->bonds[id];

		if (b->refs > 0)
			b->holders_n += exists ? b->holders[node] : -(uint64_t)b->holders[node];
	}
}

static uint64_t topologies_version(const struct topologies *ts)
{
	uint64_t sum = 0;

	for (topology_id id = 0; id < ts->n; id++)
		sum += ts->slots[id].version;
	return sum;
}

/* Is the node in another domain now, or there at all? */
static void rules_follow(struct census *cs, node_id node, bool existed)
{
	uint64_t before = topologies_version(&cs->topologies);

	topologies_follow(&cs->topologies, node);
	cs->rules_version += topologies_version(&cs->topologies) != before ||
	                     existed != node_present(&cs->nodes->slots[node]);
}

void census_node_follow(struct census *cs, node_id node, bool existed)
{
	sums_follow(cs, node, existed);
	rules_follow(cs, node, existed);
	things_apply(cs->things, node);
}

void census_node_drop(struct census *cs, node_id node, bool existed)
{
	sums_follow(cs, node, existed);
	rules_follow(cs, node, existed);
	things_node_drop(cs->things, node);
}
