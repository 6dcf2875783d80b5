/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan/domains.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void domains_reach(struct domains *d, const struct limits *limits)
{
	const size_t nodes = limits->nodes, most = 1 + GANG_LEVELS_MAX * nodes;
	const size_t lines = (tree_bytes(limits->nodes) + CACHE_LINE - 1) / CACHE_LINE;

	if (d->at)
		return;
	/* Separate allocations, whose pages are touched only as far as a plan needs them. */
	*d = (struct domains){ .at = must_array(most, sizeof(*d->at)),
		                   .firsts = must_array(most, sizeof(*d->firsts)),
		                   .list = must_array(most, sizeof(*d->list)),
		                   .of_rank = must_array(nodes, sizeof(*d->of_rank)),
		                   .ranks = must_array(nodes, sizeof(*d->ranks)),
		                   .heads = must_array(nodes + 1, sizeof(*d->heads)),
		                   .shares = must_array(nodes + 1, sizeof(*d->shares)),
		                   .mask = must_array(nodes / 64 + 1, sizeof(*d->mask)),
		                   .keys = aligned_alloc(CACHE_LINE, lines * CACHE_LINE),
		                   .kept = must_array(limits->pods, sizeof(*d->kept)) };
	if (!d->keys)
		fatal_memory();
}

void domains_free(struct domains *d)
{
	free(d->at);
	free(d->firsts);
	free(d->list);
	free(d->of_rank);
	free(d->ranks);
	free(d->heads);
	free(d->shares);
	free(d->mask);
	free(d->keys);
	free(d->kept);
	*d = (struct domains){ 0 };
}

static void levels_set(struct domains *d, const struct gang_parts *parts)
{
	d->depth = d->required = 0;
	for (int preferred = 0; preferred < 2; preferred++)
		for (uint32_t i = 0; i < parts->levels_n; i++) {
			const bool required = parts->levels[i].flags & LEVEL_REQUIRED;

			if (required == (bool)preferred)
				continue;
			d->topologies[d->depth++] = parts->topologies[i];
			d->required += required;
		}
}

static uint32_t domain_add(struct domains *d, uint32_t parent, uint32_t number, uint32_t *head)
{
	struct domain *in = &d->at[parent];
	const uint32_t i = d->n++;

	d->at[i] = (struct domain){ .parent = parent,
		                        .first = OUTSIDE,
		                        .next = in->first,
		                        .twin = *head,
		                        .number = number,
		                        .depth = in->depth + 1,
		                        .best = OUTSIDE };
	in->first = i;
	*head = i;
	return i;
}

/* The domain of that number within another, made if it is new. */
static uint32_t domain_within(struct domains *d, uint32_t parent, uint32_t number, uint32_t *head)
{
	uint32_t i = *head;

	while (i != OUTSIDE && d->at[i].parent != parent)
		i = d->at[i].twin;
	return i != OUTSIDE ? i : domain_add(d, parent, number, head);
}

/* Adds one level: finds the domain of every node. */
static void level_add(struct domains *d, const struct pod_counts *cs, uint32_t depth)
{
	const struct topology *t = &cs->topologies.slots[d->topologies[depth - 1]];
	const struct nodes *ns = cs->nodes;

	memset(d->heads, 0xff, (t->domains + 1) * sizeof(*d->heads));
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		uint32_t number = t->domain[ns->order[rank]];

		if (d->of_rank[rank] == OUTSIDE)
			continue;
		if (number != DOMAIN_NONE)
			d->of_rank[rank] = domain_within(d, d->of_rank[rank], number, &d->heads[number]);
		else if (depth > d->required)
			d->of_rank[rank] = domain_within(d, d->of_rank[rank], number, &d->heads[t->domains]);
		else
			d->of_rank[rank] = OUTSIDE;
	}
}

/* Sorts nodes by innermost domain. */
static void rows_set(struct domains *d, const struct nodes *ns)
{
	uint32_t sum = 0;

	for (uint32_t rank = 0; rank < ns->count; rank++)
		if (d->of_rank[rank] != OUTSIDE)
			d->at[d->of_rank[rank]].nodes++;
	for (uint32_t i = 0; i < d->n; i++) {
		d->firsts[i] = sum;
		sum += d->at[i].nodes;
		d->at[i].nodes = 0;
	}
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		uint32_t i = d->of_rank[rank];

		if (i != OUTSIDE)
			d->ranks[d->firsts[i] + d->at[i].nodes++] = rank;
	}
	for (uint32_t i = d->n; i-- > 1;)
		d->at[d->at[i].parent].nodes += d->at[i].nodes;
}

static bool has_node(const struct pod *p)
{
	return p->node != ID_NONE && (p->readiness == MEMBER_BINDING || p->readiness == MEMBER_BOUND);
}

/* Counts placed members by domain; `fixed` is the one with most, the first by name of equals. */
static void members_find(struct domains *d, const struct pod_counts *cs, const struct gang *g)
{
	const struct nodes *ns = cs->nodes;

	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
	     id = cs->pods->slots[id].next) {
		const struct pod *p = &cs->pods->slots[id];
		uint32_t i = has_node(p) && node_present(&ns->slots[p->node])
		                 ? d->of_rank[ns->ranks[p->node]]
		                 : OUTSIDE;

		for (; i != OUTSIDE; i = d->at[i].parent)
			d->at[i].members++;
	}
	d->fixed = OUTSIDE;
	for (uint32_t i = 0; d->required > 0 && i < d->n; i++)
		if (d->at[i].depth == d->required && d->at[i].members > 0 &&
		    (d->fixed == OUTSIDE || d->at[i].members > d->at[d->fixed].members))
			d->fixed = i;
}

void domains_find(struct domains *d, const struct pod_counts *cs, const struct gang *g)
{
	const struct nodes *ns = cs->nodes;

	assert(gang_has_levels(g));
	levels_set(d, g->parts);
	d->n = 1;
	d->shares_n = d->list_n = 0;
	d->at[0] = (struct domain){
		.parent = OUTSIDE, .first = OUTSIDE, .next = OUTSIDE, .twin = OUTSIDE, .best = OUTSIDE
	};
	for (uint32_t rank = 0; rank < ns->count; rank++)
		d->of_rank[rank] = node_present(&ns->slots[ns->order[rank]]) ? 0 : OUTSIDE;
	for (uint32_t depth = 1; depth <= d->depth; depth++)
		level_add(d, cs, depth);
	rows_set(d, ns);
	members_find(d, cs, g);
}

void domains_mask_add(struct domains *d, const struct nodes *ns, uint32_t domain)
{
	assert(domain < d->n);
	for (uint32_t rank = 0; rank < ns->count; rank++)
		d->mask[rank / 64] |= (uint64_t)domain_has(d, domain, rank) << (rank % 64);
}

static int best_compare(const struct domain *x, const struct domain *y)
{
	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->best < y->best ? -1 : x->best > y->best;
}

void domains_sum(struct domains *d, uint32_t wanted)
{
	for (uint32_t i = d->n; i-- > 0;) {
		struct domain *x = &d->at[i], *in = i > 0 ? &d->at[x->parent] : NULL;
		const uint64_t most = x->capacity < wanted ? x->capacity : wanted;

		if (x->capacity == 0)
			continue;
		x->bound += most;
		x->spare += x->capacity - most;
		if (!in)
			continue;
		if (in->best == OUTSIDE || best_compare(x, in) < 0) {
			in->key = x->key;
			in->best = x->best;
		}
		in->capacity += x->capacity;
		in->spans[x->depth] += x->members == 0;
		for (uint32_t depth = x->depth + 1; depth <= d->depth; depth++)
			in->spans[depth] += x->spans[depth];
	}
}

void domains_next_class(struct domains *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		d->at[i].capacity = 0;
		memset(d->at[i].spans, 0, sizeof(d->at[i].spans));
	}
}

/* 0: has members, 1: other domains, 2: nodes without the key. */
static int sort_of(const struct domain *x)
{
	return x->members > 0 ? 0 : x->number != DOMAIN_NONE ? 1 : 2;
}

static int paths_compare(const struct domains *d, const struct domain *x, const struct domain *y)
{
	int above =
		x->depth > d->required + 1 ? paths_compare(d, &d->at[x->parent], &d->at[y->parent]) : 0;

	return above != 0 ? above : sort_of(x) - sort_of(y);
}

int domain_compare(const struct domains *d, uint32_t a, uint32_t b)
{
	const struct domain *x = &d->at[a], *y = &d->at[b];
	int paths = paths_compare(d, x, y);

	if (paths != 0)
		return paths;
	if (x->bound != y->bound)
		return x->bound > y->bound ? -1 : 1;
	if (x->spare != y->spare)
		return x->spare < y->spare ? -1 : 1;
	return best_compare(x, y);
}

static int spans_compare(const struct domains *d, const uint32_t *a, const uint32_t *b,
                         uint32_t above)
{
	for (uint32_t depth = above + 1; depth <= d->depth; depth++)
		if (a[depth] != b[depth])
			return a[depth] < b[depth] ? -1 : 1;
	return 0;
}

/* Domains that would be filled: most capacity first. */
static int most_capacity_first(const void *a, const void *b, void *context)
{
	const struct domains *d = context;
	const struct domain *x = &d->at[*(const uint32_t *)a], *y = &d->at[*(const uint32_t *)b];
	int spans;

	if (sort_of(x) != sort_of(y))
		return sort_of(x) - sort_of(y);
	if (x->capacity != y->capacity)
		return x->capacity > y->capacity ? -1 : 1;
	spans = spans_compare(d, x->spans, y->spans, x->depth);
	return spans != 0 ? spans : best_compare(x, y);
}

/* How many domains below it get their first member when it gets so many. */
static void spans_find(struct domains *d, uint32_t domain, uint64_t members,
                       uint32_t spans[GANG_LEVELS_MAX + 1])
{
	memset(spans, 0, (GANG_LEVELS_MAX + 1) * sizeof(spans[0]));
	if (members == d->at[domain].capacity)
		memcpy(spans, d->at[domain].spans, (GANG_LEVELS_MAX + 1) * sizeof(spans[0]));
	else if (d->at[domain].depth < d->depth)
		domains_share(d, domain, members, spans, false);
}

/* True if x is better than y for so many members; both have capacity for them. */
static bool closer(struct domains *d, uint32_t x, uint32_t y, uint64_t members)
{
	uint32_t xs[GANG_LEVELS_MAX + 1], ys[GANG_LEVELS_MAX + 1];
	int spans;

	spans_find(d, x, members, xs);
	spans_find(d, y, members, ys);
	spans = spans_compare(d, xs, ys, d->at[x].depth);
	if (spans != 0)
		return spans < 0;
	if (d->at[x].capacity != d->at[y].capacity)
		return d->at[x].capacity < d->at[y].capacity;
	return best_compare(&d->at[x], &d->at[y]) < 0;
}

/* The best for all members that are left, of those from `first` on that are of one sort and take
 * all. */
static uint32_t last_of(struct domains *d, uint32_t first, uint32_t end, uint64_t left)
{
	uint32_t best = d->list[first];

	for (uint32_t i = first + 1; i < end; i++) {
		uint32_t x = d->list[i];

		if (d->at[x].capacity < left || sort_of(&d->at[x]) != sort_of(&d->at[best]))
			break;
		best = closer(d, x, best, left) ? x : best;
	}
	return best;
}

static void share_add(struct domains *d, uint32_t domain, uint64_t members,
                      uint32_t spans[GANG_LEVELS_MAX + 1], bool keep)
{
	uint32_t below[GANG_LEVELS_MAX + 1] = { 0 };

	if (keep)
		domains_share(d, domain, members, below, true);
	else
		spans_find(d, domain, members, below);
	spans[d->at[domain].depth] += d->at[domain].members == 0;
	for (uint32_t depth = d->at[domain].depth + 1; depth <= d->depth; depth++)
		spans[depth] += below[depth];
}

void domains_share(struct domains *d, uint32_t domain, uint64_t members,
                   uint32_t spans[GANG_LEVELS_MAX + 1], bool keep)
{
	const uint32_t first = d->list_n;
	uint64_t left = members;
	uint32_t end;

	assert(domain < d->n);
	if (d->at[domain].depth == d->depth) {
		if (keep)
			d->shares[d->shares_n++] = (struct share){ domain, (uint32_t)members };
		return;
	}
	for (uint32_t i = d->at[domain].first; i != OUTSIDE; i = d->at[i].next)
		if (d->at[i].capacity > 0)
			d->list[d->list_n++] = i;
	end = d->list_n;
	qsort_r(d->list + first, end - first, sizeof(*d->list), most_capacity_first, d);
	for (uint32_t i = first; left > 0 && i < end; i++) {
		uint32_t x = d->at[d->list[i]].capacity < left ? d->list[i] : last_of(d, i, end, left);
		uint64_t given = d->at[x].capacity < left ? d->at[x].capacity : left;

		share_add(d, x, given, spans, keep);
		left -= given;
	}
	d->list_n = first;
}

uint32_t domains_choose(struct domains *d, uint32_t need, uint32_t wanted)
{
	uint32_t best = OUTSIDE;
	uint64_t most = 0;

	assert(need <= wanted);
	for (uint32_t i = 0; i < d->n; i++) {
		uint64_t takes = d->at[i].capacity < wanted ? d->at[i].capacity : wanted;

		if (!domain_eligible(d, i) || takes < need || takes < most)
			continue;
		if (takes > most || closer(d, i, best, takes))
			best = i;
		most = takes;
	}
	return best;
}

uint32_t domains_closest(const struct domains *d)
{
	uint32_t best = OUTSIDE;

	for (uint32_t i = 0; i < d->n; i++)
		if (domain_eligible(d, i) &&
		    (best == OUTSIDE || d->at[i].bound > d->at[best].bound ||
		     (d->at[i].bound == d->at[best].bound && d->at[i].key > d->at[best].key)))
			best = i;
	return best;
}
