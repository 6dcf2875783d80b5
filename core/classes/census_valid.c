/* SPDX-License-Identifier: Apache-2.0 */
/* The census recounted from the pods, slow and obvious. */
#include "core/classes/census_impl.h"

#include <stdlib.h>
#include <string.h>

struct recount {
	const struct census *cs;
	const char *why;
	uint32_t *numbers; /* scratch: by node, kind or label set; as long as the longest of them */
	uint32_t *staying; /* by node */
};

static bool wrong(struct recount *k, const char *why)
{
	k->why = why;
	return false;
}

static bool label_set_valid(struct recount *k, labels_id id)
{
	const struct census *cs = k->cs;
	const struct label_set *set = &cs->labels.sets[id];
	const struct class *class = &cs->kinds.classes[set->class];
	uint32_t pods = 0, matched = 0;

	for (pod_id pod = set->first_pod; pod != ID_NONE && pods <= set->refs;
	     pod = cs->pods->slots[pod].labels_next)
		pods++;
	if (pods != set->refs)
		return wrong(k, "the pods of a label set");
	for (selector_id s = 0; s < cs->selectors.chains.used; s++) {
		if (!cs->selectors.slots[s].body)
			continue;
		if (selector_matches(&cs->selectors, s, id) != class_has(class, s))
			return wrong(k, "the class of a label set");
		matched += class_has(class, s);
	}
	return matched == class->n || wrong(k, "a class has a selector that is gone");
}

static bool labels_valid(struct recount *k)
{
	for (labels_id id = 0; id < labels_used(&k->cs->labels); id++)
		if (k->cs->labels.sets[id].refs > 0 && !label_set_valid(k, id))
			return false;
	return true;
}

static bool kinds_valid(struct recount *k)
{
	const struct census *cs = k->cs;

	memset(k->numbers, 0, cs->kinds.limit * sizeof(*k->numbers));
	for (pod_id id = 0; id < cs->pods->used; id++) {
		const struct pod *p = &cs->pods->slots[id];

		if (p->generation == 0)
			continue;
		if (cs->labels.sets[p->labels].refs == 0)
			return wrong(k, "a pod has labels that are gone");
		if (cs->kinds.slots[p->kind].shape != p->shape ||
		    cs->kinds.slots[p->kind].class != cs->labels.sets[p->labels].class)
			return wrong(k, "the kind of a pod");
		if (p->node != ID_NONE && p->leaving != !!(p->flags & POD_DELETING))
			return wrong(k, "a pod that is being deleted");
		k->numbers[p->kind]++;
	}
	for (kind_id id = 0; id < kinds_used(&cs->kinds); id++)
		if (k->numbers[id] != cs->kinds.slots[id].pods)
			return wrong(k, "the pods of a kind");
	return true;
}

static bool selector_valid(struct recount *k, selector_id id)
{
	const struct census *cs = k->cs;
	const struct selector *s = &cs->selectors.slots[id];
	const uint32_t nodes = cs->nodes->limit;
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
	if (memcmp(k->numbers, s->placed, nodes * sizeof(*k->numbers)) != 0 ||
	    memcmp(k->staying, s->staying, nodes * sizeof(*k->staying)) != 0 || sum != s->placed_n)
		return wrong(k, "counts of a selector");
	return true;
}

static bool bond_valid(struct recount *k, bond_id id)
{
	const struct census *cs = k->cs;
	uint64_t sum = 0;

	memset(k->numbers, 0, cs->nodes->limit * sizeof(*k->numbers));
	for (pod_id pod = 0; pod < cs->pods->used; pod++) {
		const struct pod *p = &cs->pods->slots[pod];
		const struct shape_links *links = p->generation ? cs->links[p->shape] : NULL;

		for (uint32_t i = 0; links && p->node != ID_NONE && i < links->terms_n; i++) {
			k->numbers[p->node] += links->terms[i].bond == id;
			sum += links->terms[i].bond == id && node_present(&cs->nodes->slots[p->node]);
		}
	}
	if (memcmp(k->numbers, cs->bonds[id].holders, cs->nodes->limit * sizeof(*k->numbers)) != 0 ||
	    sum != cs->bonds[id].holders_n)
		return wrong(k, "holders of a bond");
	return true;
}

static bool counts_valid(struct recount *k)
{
	const struct census *cs = k->cs;

	for (selector_id id = 0; id < cs->selectors.chains.used; id++)
		if (cs->selectors.slots[id].body && !selector_valid(k, id))
			return false;
	for (bond_id id = 0; id < cs->bonds_n; id++)
		if (cs->bonds[id].refs > 0 && !bond_valid(k, id))
			return false;
	return true;
}

static bool topology_valid(struct recount *k, const struct topology *t)
{
	const struct nodes *ns = k->cs->nodes;
	uint32_t live = 0;

	memset(k->numbers, 0, ns->limit * sizeof(*k->numbers));
	for (node_id id = 0; id < ns->limit; id++) {
		const struct node *n = &ns->slots[id];
		const struct node_label *label = NULL;
		uint32_t domain = t->domain[id];

		for (uint32_t i = 0; node_present(n) && n->rules && i < n->rules->labels_n; i++)
			if (n->rules->labels[i].key == t->key)
				label = &n->rules->labels[i];
		if ((domain == DOMAIN_NONE) != (label == NULL) ||
		    (label && t->values[domain] != label->value))
			return wrong(k, "the domain of a node");
		if (domain != DOMAIN_NONE)
			live += k->numbers[domain]++ == 0;
	}
	if (memcmp(k->numbers, t->present, t->domains * sizeof(*k->numbers)) != 0 || live != t->live)
		return wrong(k, "nodes of a domain");
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

static bool things_valid(struct recount *k)
{
	const struct census *cs = k->cs;
	struct things *again = things_again(cs->things);
	bool enough = again != NULL, equal;

	for (pod_id id = 0; enough && id < cs->pods->used; id++) {
		const struct pod *p = &cs->pods->slots[id];

		if (p->generation == 0)
			continue;
		enough = things_reserve(again, &cs->shapes->slots[p->shape]) == 0;
		if (enough && p->node != ID_NONE)
			things_take(again, p->node, &cs->shapes->slots[p->shape]);
	}
	equal = enough && things_equal(cs->things, again);
	things_free(again);
	if (!enough)
		return wrong(k, "no memory to recount things");
	return equal || wrong(k, "things in use");
}

bool census_valid(const struct census *cs, const char **why)
{
	const size_t most = cs->kinds.limit > cs->nodes->limit ? cs->kinds.limit : cs->nodes->limit;
	struct recount k = { .cs = cs,
		                 .numbers = calloc(most, sizeof(uint32_t)),
		                 .staying = calloc(cs->nodes->limit, sizeof(uint32_t)) };
	bool valid;

	if (!k.numbers || !k.staying)
		valid = wrong(&k, "no memory to recount");
	else
		valid = labels_valid(&k) && kinds_valid(&k) && counts_valid(&k) && topologies_valid(&k) &&
		        things_valid(&k);
	free(k.numbers);
	free(k.staying);
	*why = k.why;
	return valid;
}
