/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/outsider.h"

#include "core/classes/pod_counts_impl.h"
#include "ipc/memory.h"

#include <stdlib.h>

#define RULE_STEPS 16u /* passes over the nodes for a rule between pods */

static void steps_add(uint64_t *steps, const struct requirement *clauses, uint32_t n)
{
	for (uint32_t i = 0; i < n && *steps <= OUTSIDER_STEPS; i++)
		*steps += 1 + (uint64_t)clauses[i].values_n;
}

static void spans_add(uint64_t *steps, const struct shape_record *s, struct span alternatives)
{
	for (uint32_t i = 0; i < alternatives.n && *steps <= OUTSIDER_STEPS; i++) {
		const struct span clauses = s->alternatives[alternatives.first + i];

		*steps += 1;
		steps_add(steps, s->clauses + clauses.first, clauses.n);
	}
}

/* What one node is compared with.  Items can share clauses and values, so a short record can be
 * long work. */
static uint64_t steps_by_node(const struct shape_record *s)
{
	const struct event_shape *e = s->body;
	uint64_t steps = 1 + e->amounts_n + (uint64_t)e->ports_n + e->images_n + e->exclusives_n +
	                 8 * (uint64_t)e->attachments_n + 4 * (uint64_t)e->tolerations_n;

	steps += RULE_STEPS * ((uint64_t)e->pod_terms_n + e->spreads_n + e->policies_n);
	steps_add(&steps, s->requirements, e->requirements_n);
	for (uint32_t i = 0; i < e->preferences_n && steps <= OUTSIDER_STEPS; i++) {
		const struct span clauses = s->preferences[i].clauses;

		steps_add(&steps, s->clauses + clauses.first, clauses.n);
	}
	for (uint32_t i = 0; i < e->volume_rules_n && steps <= OUTSIDER_STEPS; i++)
		spans_add(&steps, s, s->volume_rules[i].alternatives);
	return steps;
}

/* What one label set is compared with. */
static uint64_t steps_by_labels(const struct shape_record *s)
{
	const struct event_shape *e = s->body;
	uint64_t steps = 0;

	for (uint32_t i = 0; i < e->pod_terms_n; i++) {
		const struct pod_term *t = &s->pod_terms[i];

		steps += t->namespaces.n;
		steps_add(&steps, s->clauses + t->namespace_clauses.first, t->namespace_clauses.n);
		steps_add(&steps, s->clauses + t->clauses.first, t->clauses.n);
	}
	for (uint32_t i = 0; i < e->spreads_n; i++)
		steps_add(&steps, s->clauses + s->spreads[i].clauses.first, s->spreads[i].clauses.n);
	for (uint32_t i = 0; i < e->policies_n; i++)
		steps_add(&steps, s->clauses + s->policies[i].clauses.first, s->policies[i].clauses.n);
	return 2 * steps; /* a term is compared as one of an incoming and of a placed pod */
}

/* As of a shape of the cluster: rows of nodes have an amount for each resource that was named. */
static bool resources_named(const struct nodes *ns, const struct shape_record *s)
{
	for (uint32_t i = 0; i < s->body->amounts_n; i++)
		if (s->amounts[i].resource >= ns->columns && s->amounts[i].resource < ns->resources)
			return false;
	return true;
}

const char *outsider_fault(const struct pod_counts *cluster, const struct shape_record *s,
                           uint64_t *steps)
{
	const struct event_shape *e = s->body;
	const uint64_t nodes = cluster->nodes->used + UINT64_C(1);
	uint64_t by_node, by_labels;

	if (!resources_named(cluster->nodes, s))
		return "muster-core has no name yet for a resource of the pod; ask again";
	if (e->devices != 0)
		return "the pod asks for devices, which are known for pods of the cluster alone";
	if ((uint64_t)e->pod_terms_n + e->spreads_n + e->policies_n > OUTSIDER_RULES)
		return "the pod has more than 32 rules about other pods";
	by_node = steps_by_node(s) * nodes;
	by_labels = steps_by_labels(s) * (labels_used(&cluster->labels) + UINT64_C(1));
	*steps += by_node > by_labels ? by_node : by_labels;
	return *steps > OUTSIDER_STEPS ? "the rules of the pod are too long for a cluster of this size"
	                               : NULL;
}

/* A copy whose sets of nodes are those of the cluster. */
static struct shapes shapes_beside(const struct shapes *of)
{
	struct shapes ss = *of;

	ss.slots = must_alloc(sizeof(*ss.slots));
	ss.limit = 1;
	ss.used = ss.count = 0;
	for (uint32_t i = 0; i < COLUMNS_MOST; i++)
		ss.columns[i] = (struct label_column){ 0 };
	return ss;
}

static void counts_begin(struct outsider *o, const struct pod_counts *cluster,
                         const struct limits *limits)
{
	struct limits one = *limits;

	one.shapes = one.pods = 1;
	pod_counts_init(&o->counts, &one, cluster->nodes, &o->shapes, cluster->pods);
	usage_free(o->counts.usage);
	o->counts.usage = cluster->usage;
	o->counts.topologies.unfollowed = true;
	o->counts.gpus = cluster->gpus;
}

/* Its labels; those of its namespace decide what namespaceSelectors match. */
static labels_id labels_enter(struct pod_counts *cs, const struct pod_counts *cluster,
                              const struct pod_record *pod)
{
	const uint32_t name = pod->body->namespace;
	const struct namespace_labels *space = namespace_find(&cluster->labels, name);

	if (space)
		namespace_labels_set(&cs->labels, name, space->at, space->n);
	return pod_counts_labels_ref(cs, name, pod->labels, pod->body->labels_n);
}

/* The placed pods of the cluster that its selector matches, for each of its own. */
static void placed_count(struct pod_counts *cs, const struct pod_counts *cluster)
{
	struct labels labels = cluster->labels;
	struct selectors ours = cs->selectors;

	ours.labels = &labels;
	for (selector_id id = 0; id < ours.ids.used; id++) {
		uint32_t n;
		labels_id *sets = selector_sets(&ours, id, &n);

		for (uint32_t i = 0; i < n; i++)
			for (pod_id pod = labels.sets[sets[i]].first_pod; pod != ID_NONE;
			     pod = cluster->pods->slots[pod].labels_next) {
				const struct pod *p = &cluster->pods->slots[pod];

				if (p->node != ID_NONE)
					selector_change(&cs->selectors, id, p->node,
					                node_present(&cs->nodes->slots[p->node]), p->leaving, 1);
			}
		free(sets);
	}
}

static bool list_has(const selector_id *sorted, uint32_t n, selector_id id)
{
	for (uint32_t i = 0; i < n && sorted[i] <= id; i++)
		if (sorted[i] == id)
			return true;
	return false;
}

/* Terms of placed pods that match it, all with `everything`, which does too. */
static void terms_borrow(struct outsider *o, const struct pod_counts *cluster, labels_id labels,
                         selector_id everything)
{
	struct pod_counts *cs = &o->counts;
	struct selectors theirs = cluster->selectors;
	uint32_t n;
	selector_id *matching;

	theirs.labels = &cs->labels;
	matching = selectors_matching(&theirs, labels, &n);
	cs->placed_terms =
		must_grow(cs->placed_terms, ((size_t)cs->placed_terms_n + cluster->placed_terms_n + 1) *
	                                    sizeof(*cs->placed_terms));
	for (placed_term_id id = 0; id < cluster->placed_terms_n; id++) {
		struct placed_term term = cluster->placed_terms[id];

		if (term.refs == 0 || term.holders_n == 0 || !list_has(matching, n, term.selector))
			continue;
		term.topology = topology_ref(&cs->topologies, cluster->topologies.slots[term.topology].key);
		term.selector = everything;
		cs->placed_terms[cs->placed_terms_n++] = term;
	}
	free(matching);
}

const char *outsider_make(const struct pod_counts *cluster, const struct limits *limits,
                          const struct shape_record *shape, const struct pod_record *pod,
                          struct outsider *o)
{
	static const struct selector_part any = { .flags = TERM_EVERY_NAMESPACE };
	uint64_t steps = 0;
	const char *fault = outsider_fault(cluster, shape, &steps);
	struct pod_counts *cs = &o->counts;
	selector_id everything;
	struct shape made;
	labels_id labels;

	if (fault)
		return fault;
	o->shapes = shapes_beside(cluster->shapes);
	counts_begin(o, cluster, limits);
	labels = labels_enter(cs, cluster, pod);
	shapes_make(&o->shapes, shape, cs->nodes->slots, cs->nodes->used, &made);
	pod_counts_links_set(cs, 0, pod_counts_links_make(cs, &made));
	shapes_put(&o->shapes, &made);
	placed_count(cs, cluster);
	everything = pod_counts_selector_ref(cs, &any, 1);
	o->class = class_ref(&cs->pod_classes, 0, cs->labels.sets[labels].match_set);
	o->own_terms = cs->placed_terms_n;
	terms_borrow(o, cluster, labels, everything);
	return NULL;
}

void outsider_free(struct outsider *o)
{
	struct shapes *ss = &o->shapes;

	o->counts.placed_terms_n = o->own_terms;
	o->counts.usage = NULL;
	pod_counts_free(&o->counts);
	for (uint32_t i = 0; i < COLUMNS_MOST; i++)
		free(ss->columns[i].values);
	shapes_unmake(&ss->slots[0]);
	free(ss->slots);
}
