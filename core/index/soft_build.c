/* SPDX-License-Identifier: Apache-2.0 */
/* Soft rules: sums and sites, from the rules of a class and the pod counts. */
#include "core/index/soft.h"
#include "core/index/soft_impl.h"

#include "core/cluster/rule_node.h"
#include "core/filter/evaluation.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct topology *topology_of(const struct soft *s, const struct soft_sum *sum)
{
	return &s->pod_counts->topologies.slots[sum->topology];
}

int64_t soft_value(const struct soft *s, const struct soft_sum *sum, uint32_t rank)
{
	const node_id node = soft_node(s, rank);
	int64_t value = 0;

	if (topology_of(s, sum)->domain[node] == DOMAIN_NONE ||
	    (sum->eligible && !(sum->eligible[rank / 64] >> (rank % 64) & 1)))
		return 0;
	for (uint32_t i = 0; i < sum->terms_n; i++)
		value += sum->terms[i].weight * node_counts_at(sum->terms[i].counter, node);
	return value;
}

/* podtopologyspread: initPreScoreState; default constraints score nodes without a key as well. */
static bool is_scored(const struct soft *s, node_id node)
{
	for (uint32_t i = 0; i < s->spreads_n; i++)
		if (!(s->sums[0].spread->flags & SPREAD_DEFAULT) &&
		    topology_of(s, &s->sums[i])->domain[node] == DOMAIN_NONE)
			return false;
	return true;
}

void soft_site_words(const struct soft *s, uint32_t rank, uint32_t *out)
{
	const node_id node = soft_node(s, rank);
	const struct shape *shape = class_shape(s->pod_counts, s->class);

	out[SITE_TAINTS] = rule_soft_taints(shape, &s->pod_counts->nodes->slots[node]);
	out[SITE_PREFERRED] = s->known.preferred ? (uint32_t)s->known.preferred[rank] : 0;
	out[SITE_SCORED] = is_scored(s, node);
	out[SITE_SEGMENT] = s->known.rules ? constraints_segment(s->known.rules, rank) : 0;
	for (uint32_t i = 0; i < s->sums_n; i++) {
		const uint32_t domain = topology_of(s, &s->sums[i])->domain[node];

		out[SITE_DOMAINS + i] = s->sums[i].own && domain != DOMAIN_NONE ? 0 : domain;
	}
}

/* podtopologyspread: Score counts the pods of nodes that satisfy nodeAffinityPolicy and
 * nodeTaintsPolicy and, but for default constraints, have all keys. */
static uint64_t *eligible_new(const struct soft *s, const struct spread *spread)
{
	const uint8_t *facts = s->known.facts;
	const bool keyed = !((spread->flags | s->sums[0].spread->flags) & SPREAD_DEFAULT);
	uint64_t *eligible = must_array((s->nodes + 63) / 64, sizeof(*eligible));

	for (uint32_t rank = 0; rank < s->nodes; rank++) {
		const node_id node = soft_node(s, rank);
		bool counts =
			node_present(&s->pod_counts->nodes->slots[node]) &&
			((spread->flags & SPREAD_IGNORES_AFFINITY) || (facts[rank] & FACT_AFFINITY)) &&
			(!(spread->flags & SPREAD_HONORS_TAINTS) || (facts[rank] & FACT_TAINTS));

		for (uint32_t i = 0; counts && i < s->spreads_n; i++)
			counts = !keyed || topology_of(s, &s->sums[i])->domain[node] != DOMAIN_NONE;
		eligible[rank / 64] |= (uint64_t)counts << (rank % 64);
	}
	return eligible;
}

static struct soft_sum *sum_add(struct soft *s, topology_id topology, const struct spread *spread)
{
	struct soft_sum *sum;

	s->sums = must_grow(s->sums, (s->sums_n + 1) * sizeof(*s->sums));
	sum = &s->sums[s->sums_n++];
	*sum = (struct soft_sum){ .spread = spread, .topology = topology };
	sum->domains = topology_of(s, sum)->domains;
	sum->own =
		(spread && (spread->flags & SPREAD_BY_NODE)) || topology_is_single(topology_of(s, sum));
	return sum;
}

static void term_add(struct soft_sum *sum, const struct node_counts *counter, int64_t weight)
{
	sum->terms = must_grow(sum->terms, (sum->terms_n + 1) * sizeof(*sum->terms));
	sum->terms[sum->terms_n++] = (struct soft_term){ .counter = counter, .weight = weight };
}

static void spreads_add(struct soft *s, const struct shape_links *links)
{
	for (uint32_t i = 0; links && i < links->spreads_n; i++) {
		const struct spread_link *link = &links->spreads[i];
		struct soft_sum *sum;

		if (link->spread->flags & SPREAD_HARD)
			continue;
		sum = sum_add(s, link->topology, link->spread);
		if (link->selector != SELECTOR_NONE)
			term_add(sum, s->pod_counts->selectors.slots[link->selector].staying, 1);
	}
	s->spreads_n = s->sums_n;
	for (uint32_t i = 0; i < s->spreads_n; i++) {
		struct soft_sum *sum = &s->sums[i];

		if (!(sum->spread->flags & SPREAD_BY_NODE))
			sum->eligible = eligible_new(s, sum->spread);
		sum->seen = must_array(sum->domains + 1, sizeof(*sum->seen));
	}
}

/* Terms over a topology without a node score nothing; a sum takes memory for each node. */
static bool has_domains(const struct soft *s, topology_id topology)
{
	return s->pod_counts->topologies.slots[topology].live > 0;
}

/* The sum of the terms of that topology. */
static struct soft_sum *terms_of(struct soft *s, topology_id topology)
{
	for (uint32_t i = s->spreads_n; i < s->sums_n; i++)
		if (s->sums[i].topology == topology)
			return &s->sums[i];
	return sum_add(s, topology, NULL);
}

/* interpodaffinity: processExistingPod, terms of the pod itself. */
static void own_terms_add(struct soft *s, const struct shape_links *links)
{
	for (uint32_t i = 0; links && i < links->terms_n; i++) {
		const struct term_link *t = &links->terms[i];
		const bool anti = t->term->kind == POD_TERM_PREFERRED_ANTI;

		if ((anti || t->term->kind == POD_TERM_PREFERRED) && has_domains(s, t->topology))
			term_add(terms_of(s, t->topology), s->pod_counts->selectors.slots[t->selector].placed,
			         anti ? -(int64_t)t->term->weight : t->term->weight);
	}
}

/* Terms of placed pods: required affinity counts 1 (hardPodAffinityWeight). */
static void placed_terms_add(struct soft *s)
{
	const struct pod_counts *cs = s->pod_counts;

	for (placed_term_id id = 0; id < cs->placed_terms_n; id++) {
		const struct placed_term *b = &cs->placed_terms[id];

		if (b->refs == 0 || b->kind == POD_TERM_ANTI_AFFINITY || !has_domains(s, b->topology) ||
		    !class_matches(&cs->pod_classes, s->class, b->selector))
			continue;
		term_add(terms_of(s, b->topology), b->holders,
		         b->kind == POD_TERM_AFFINITY         ? 1
		         : b->kind == POD_TERM_PREFERRED_ANTI ? -(int64_t)b->weight
		                                              : b->weight);
	}
}

static void sums_set(struct soft *s)
{
	s->values = must_array((size_t)s->nodes * (s->sums_n + 1), sizeof(*s->values));
	for (uint32_t i = 0; i < s->sums_n; i++) {
		struct soft_sum *sum = &s->sums[i];

		if (!sum->own)
			sum->sums = must_array(sum->domains, sizeof(*sum->sums));
		for (uint32_t rank = 0; rank < s->nodes; rank++) {
			const uint32_t domain = topology_of(s, sum)->domain[soft_node(s, rank)];
			const int64_t value = soft_value(s, sum, rank);

			s->values[(size_t)rank * s->sums_n + i] = value;
			if (!sum->own && domain != DOMAIN_NONE)
				sum->sums[domain] += value;
		}
	}
}

/* The site of s->words, which is made if it is new. */
static uint32_t site_find(struct soft *s)
{
	const uint32_t *words = s->words;
	uint32_t hash = 1, site, cap;

	for (uint32_t i = 0; i < s->site_words; i++)
		hash = id_hash(hash, words[i]);
	site = id_table_first(&s->site_ids, hash);
	while (site != ID_TABLE_NONE &&
	       memcmp(soft_site(s, site), words, s->site_words * sizeof(*words)) != 0)
		site = id_table_next(&s->site_ids, site);
	if (site != ID_TABLE_NONE)
		return site;
	id_table_reserve(&s->site_ids, 1);
	site = id_table_add(&s->site_ids, hash);
	cap = s->site_ids.cap;
	s->sites = must_grow(s->sites, (size_t)cap * s->site_words * sizeof(*s->sites));
	memcpy(&s->sites[(size_t)site * s->site_words], words, s->site_words * sizeof(*words));
	return site;
}

static void sites_find(struct soft *s)
{
	s->site_words = SITE_DOMAINS + s->sums_n;
	s->site = must_array(s->nodes, sizeof(*s->site));
	s->words = must_array(s->site_words, sizeof(*s->words));
	id_table_init(&s->site_ids, 64);
	for (uint32_t rank = 0; rank < s->nodes; rank++) {
		soft_site_words(s, rank, s->words);
		s->site[rank] = site_find(s);
	}
}

struct soft *soft_new(const struct pod_counts *pod_counts, class_id class,
                      const struct soft_known *known)
{
	struct soft *s = must_alloc(sizeof(*s));
	const struct shape_links *links = class_links(pod_counts, class);

	assert(class < pod_classes_used(&pod_counts->pod_classes));
	s->pod_counts = pod_counts;
	s->class = class;
	s->known = *known;
	s->nodes = pod_counts->nodes->count;
	spreads_add(s, links);
	own_terms_add(s, links);
	placed_terms_add(s);
	sums_set(s);
	sites_find(s);
	s->facts = must_array(s->nodes, sizeof(*s->facts));
	memcpy(s->facts, known->facts, s->nodes * sizeof(*s->facts));
	s->shown = must_array((s->nodes + 63) / 64, sizeof(*s->shown));
	s->key_words = GROUP_OWN + s->sums_n;
	s->key = must_array(s->key_words, sizeof(*s->key));
	s->group = must_array(s->nodes, sizeof(*s->group));
	s->place = must_array(s->nodes, sizeof(*s->place));
	id_table_init(&s->group_ids, 64);
	groups_form(s);
	return s;
}

void soft_free(struct soft *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->sums_n; i++) {
		free(s->sums[i].terms);
		free(s->sums[i].eligible);
		free(s->sums[i].sums);
		free(s->sums[i].seen);
	}
	for (uint32_t i = 0; i < s->groups_cap; i++)
		free(s->groups[i].heap);
	free(s->sums);
	free(s->values);
	free(s->facts);
	free(s->site);
	id_table_free(&s->site_ids);
	free(s->sites);
	free(s->words);
	free(s->shown);
	id_table_free(&s->group_ids);
	free(s->groups);
	free(s->keys);
	free(s->key);
	free(s->group);
	free(s->place);
	free(s->live);
	free(s);
}

void soft_set_class(struct soft *s, class_id class)
{
	s->class = class;
}

/* The sums, spans and groups of both. */
static bool sums_equal(const struct soft *a, const struct soft *b)
{
	for (uint32_t i = 0; i < a->sums_n; i++)
		if (!a->sums[i].own && memcmp(a->sums[i].sums, b->sums[i].sums,
		                              a->sums[i].domains * sizeof(*a->sums[i].sums)) != 0)
			return false;
	return memcmp(a->values, b->values, (size_t)a->nodes * a->sums_n * sizeof(*a->values)) == 0;
}

static bool groups_equal(const struct soft *a, const struct soft *b)
{
	for (uint32_t rank = 0; rank < a->nodes; rank++) {
		const uint32_t x = a->group[rank], y = b->group[rank];

		if ((x == GROUP_NONE) != (y == GROUP_NONE) || a->site[rank] != b->site[rank])
			return false;
		if (x != GROUP_NONE &&
		    (a->groups[x].n != b->groups[y].n || a->groups[x].heap[0] != b->groups[y].heap[0] ||
		     memcmp(soft_group_key(a, x), soft_group_key(b, y), a->key_words * sizeof(*a->keys)) !=
		         0))
			return false;
	}
	return a->live_n == b->live_n;
}

bool soft_check(const struct soft *s)
{
	struct soft *fresh = soft_new(s->pod_counts, s->class, &s->known);
	bool same;

	soft_mask(fresh, s->masked, s->masked ? s->shown : NULL);
	same = s->sums_n == fresh->sums_n && s->nodes == fresh->nodes && sums_equal(s, fresh) &&
	       groups_equal(s, fresh);
	soft_free(fresh);
	return same;
}
