/* SPDX-License-Identifier: Apache-2.0 */
/* Recount of the pod counts from the pods, slow and obvious. */
#include "core/classes/pod_counts_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct recount {
	const struct pod_counts *cs;
	const char *why;
	uint32_t *numbers; /* scratch: by node, class or label set */
	uint32_t *staying; /* by node */
};

static bool wrong(struct recount *k, const char *why)
{
	k->why = why;
	return false;
}

static bool label_set_valid(struct recount *k, labels_id id)
{
	const struct pod_counts *cs = k->cs;
	const struct label_set *set = &cs->labels.sets[id];
	const struct match_set *match_set = &cs->pod_classes.match_sets[set->match_set];
	uint32_t pods = 0, matched = 0;

	for (pod_id pod = set->first_pod; pod != ID_NONE && pods <= set->refs;
	     pod = cs->pods->slots[pod].labels_next)
		pods++;
	if (pods != set->refs)
		return wrong(k, "the pods of a label set are miscounted");
	for (selector_id s = 0; s < cs->selectors.ids.used; s++) {
		if (!cs->selectors.slots[s].body)
			continue;
		if (selector_matches(&cs->selectors, s, id) != match_set_has(match_set, s))
			return wrong(k, "the match set of a label set is wrong");
		matched += match_set_has(match_set, s);
	}
	return matched == match_set->n || wrong(k, "a match set has a selector that is gone");
}

static bool labels_valid(struct recount *k)
{
	for (labels_id id = 0; id < labels_used(&k->cs->labels); id++)
		if (k->cs->labels.sets[id].refs > 0 && !label_set_valid(k, id))
			return false;
	return true;
}

static bool pod_classes_valid(struct recount *k)
{
	const struct pod_counts *cs = k->cs;

	memset(k->numbers, 0, cs->pod_classes.limit * sizeof(*k->numbers));
	for (pod_id id = 0; id < cs->pods->used; id++) {
		const struct pod *p = &cs->pods->slots[id];

		if ((cs->pods->ending[id / 64] >> id % 64 & 1) != !!(p->flags & POD_DELETING))
			return wrong(k, "a pod that is being deleted is not listed so");
		if (p->generation == 0)
			continue;
		if (cs->labels.sets[p->labels].refs == 0)
			return wrong(k, "a pod has labels that are gone");
		if (cs->pod_classes.slots[p->class].shape != p->shape ||
		    cs->pod_classes.slots[p->class].match_set != cs->labels.sets[p->labels].match_set)
			return wrong(k, "the class of a pod is wrong");
		if (p->node != ID_NONE && p->leaving != !!(p->flags & POD_DELETING))
			return wrong(k, "a pod that is being deleted is not marked so");
		k->numbers[p->class]++;
	}
	for (class_id id = 0; id < pod_classes_used(&cs->pod_classes); id++)
		if (k->numbers[id] != cs->pod_classes.slots[id].pods)
			return wrong(k, "the pods of a class are miscounted");
	return true;
}

static bool counts_are(const struct node_counts *c, const uint32_t *numbers, uint32_t nodes)
{
	for (node_id id = 0; id < nodes; id++)
		if (node_counts_at(c, id) != numbers[id])
			return false;
	return true;
}

static bool selector_valid(struct recount *k, selector_id id)
{
	const struct pod_counts *cs = k->cs;
	const struct selector *s = &cs->selectors.slots[id];
	const uint32_t nodes = cs->nodes->span;
	uint64_t sum = 0;

	memset(k->numbers, 0, nodes * sizeof(*k->numbers));
	memset(k->staying, 0, nodes * sizeof(*k->staying));
	for (pod_id pod = 0; pod < cs->pods->used; pod++) {
		const struct pod *p = &cs->pods->slots[pod];

		if (p->generation == 0 || p->node == ID_NONE ||
		    !selector_matches(&cs->selectors, id, p->labels))
			continue;
		k->numbers[p->node]++;
		k->staying[p->node] += !p->leaving;
		sum += node_present(&cs->nodes->slots[p->node]);
	}
	if (!counts_are(s->placed, k->numbers, nodes) || !counts_are(s->staying, k->staying, nodes) ||
	    sum != s->placed_n)
		return wrong(k, "the counts of a selector are wrong");
	return true;
}

static bool placed_term_valid(struct recount *k, placed_term_id id)
{
	const struct pod_counts *cs = k->cs;
	uint64_t sum = 0;

	memset(k->numbers, 0, cs->nodes->span * sizeof(*k->numbers));
	for (pod_id pod = 0; pod < cs->pods->used; pod++) {
		const struct pod *p = &cs->pods->slots[pod];
		const struct shape_links *links = p->generation ? cs->links[p->shape] : NULL;

		for (uint32_t i = 0; links && p->node != ID_NONE && i < links->terms_n; i++) {
			k->numbers[p->node] += links->terms[i].placed_term == id;
			sum += links->terms[i].placed_term == id && node_present(&cs->nodes->slots[p->node]);
		}
	}
	if (!counts_are(cs->placed_terms[id].holders, k->numbers, cs->nodes->span) ||
	    sum != cs->placed_terms[id].holders_n)
		return wrong(k, "the holders of a placed term are miscounted");
	return true;
}

static bool counts_valid(struct recount *k)
{
	const struct pod_counts *cs = k->cs;

	for (selector_id id = 0; id < cs->selectors.ids.used; id++)
		if (cs->selectors.slots[id].body && !selector_valid(k, id))
			return false;
	for (placed_term_id id = 0; id < cs->placed_terms_n; id++)
		if (cs->placed_terms[id].refs > 0 && !placed_term_valid(k, id))
			return false;
	return true;
}

static bool topology_valid(struct recount *k, const struct topology *t)
{
	const struct nodes *ns = k->cs->nodes;
	uint32_t live = 0;

	memset(k->numbers, 0, ns->span * sizeof(*k->numbers));
	for (node_id id = 0; id < ns->span; id++) {
		const struct node *n = &ns->slots[id];
		const struct node_label *label = NULL;
		uint32_t domain = t->domain[id];

		for (uint32_t i = 0; node_present(n) && n->rules && i < n->rules->labels_n; i++)
			if (n->rules->labels[i].key == t->key)
				label = &n->rules->labels[i];
		if ((domain == DOMAIN_NONE) != (label == NULL) ||
		    (label && t->values[domain] != label->value))
			return wrong(k, "the domain of a node is wrong");
		if (domain != DOMAIN_NONE)
			live += k->numbers[domain]++ == 0;
	}
	if (live != t->live ||
	    (t->domains > 0 && memcmp(k->numbers, t->present, t->domains * sizeof(*k->numbers)) != 0))
		return wrong(k, "the nodes of a domain are miscounted");
	return true;
}

static bool topologies_valid(struct recount *k)
{
	const struct topologies *ts = &k->cs->topologies;

	for (topology_id id = 0; id < ts->n; id++)
		if (ts->slots[id].refs > 0 && !topology_valid(k, &ts->slots[id]))
			return false;
	return true;
}

static bool usage_valid(struct recount *k)
{
	const struct pod_counts *cs = k->cs;
	struct usage *again = usage_of_nodes(cs->usage);
	bool equal;

	for (pod_id id = 0; id < cs->pods->used; id++) {
		const struct pod *p = &cs->pods->slots[id];

		if (p->generation > 0 && p->node != ID_NONE)
			usage_add(again, p->node, &cs->shapes->slots[p->shape]);
	}
	equal = usage_equal(cs->usage, again);
	usage_free(again);
	return equal || wrong(k, "the usage of nodes is wrong");
}

bool pod_counts_valid(const struct pod_counts *cs, const char **why)
{
	const size_t most =
		cs->pod_classes.limit > cs->nodes->span ? cs->pod_classes.limit : cs->nodes->span;
	struct recount k = { .cs = cs,
		                 .numbers = must_array(most, sizeof(uint32_t)),
		                 .staying = must_array(cs->nodes->span, sizeof(uint32_t)) };
	const bool valid = labels_valid(&k) && pod_classes_valid(&k) && counts_valid(&k) &&
	                   topologies_valid(&k) && usage_valid(&k);

	free(k.numbers);
	free(k.staying);
	*why = k.why;
	return valid;
}
