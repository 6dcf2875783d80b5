/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan/minimum.h"

static int64_t request_of(const struct shape *s, uint32_t resource)
{
	for (uint32_t i = 0; i < s->sums_n; i++)
		if (s->requests[i].resource == resource)
			return s->requests[i].value;
	return 0;
}

static pod_id first_of(const struct gang *g)
{
	return g->members > 0 ? g->first : ID_NONE;
}

static wide free_of(const struct nodes *ns, node_id id, uint32_t resource, wide own)
{
	wide free = nodes_allocatable(ns, id, resource) - nodes_sum(ns, id, resource) + own;

	return free > 0 ? free : 0;
}

static wide free_without(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                         const struct nodes *ns, wide *own, uint32_t resource)
{
	wide free = ns->free_sum[resource];
	const struct pod *p;

	for (pod_id id = first_of(g); id != ID_NONE; id = p->next) {
		p = &ps->slots[id];
		if (p->node != ID_NONE && node_present(&ns->slots[p->node]))
			own[p->node] += request_of(&ss->slots[p->shape], resource);
	}
	/* Each node once, at its first member. */
	for (pod_id id = first_of(g); id != ID_NONE; id = p->next) {
		p = &ps->slots[id];
		if (p->node == ID_NONE || own[p->node] == 0)
			continue;
		free += free_of(ns, p->node, resource, own[p->node]) - free_of(ns, p->node, resource, 0);
		own[p->node] = 0;
	}
	return free;
}

/* True if nodes that have none of it may serve it to a member by devices, which are in no sum: then
 * the plan tells. */
static bool by_devices(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                       uint32_t resource)
{
	for (pod_id id = first_of(g); id != ID_NONE; id = ps->slots[id].next) {
		const struct shape *s = &ss->slots[ps->slots[id].shape];

		for (uint32_t i = 0; i < s->sums_n; i++)
			if (s->requests[i].resource == resource && s->requests[i].group > 0)
				return true;
	}
	return false;
}

bool minimum_met(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                 const struct nodes *ns, wide *own, struct reason *r)
{
	bool met = true, has_node = g->counts[MEMBER_OUTSIDE] > 0; /* members that are being deleted */

	for (uint32_t i = 0; i <= g->parts->amounts_n; i++) {
		bool pods = i == g->parts->amounts_n;
		uint32_t resource = pods ? RESOURCE_PODS : g->parts->amounts[i].resource;
		int64_t need = pods ? g->quorum : g->parts->amounts[i].value;
		wide free;

		if (resource == RESOURCE_PODS && !pods)
			continue; /* the quorum is used instead */
		free = resource >= ns->resources ? 0
		       : has_node                ? free_without(g, ps, ss, ns, own, resource)
		                                 : ns->free_sum[resource];
		if ((need <= free && need < INT64_MAX) || (!pods && by_devices(g, ps, ss, resource)))
			continue;
		met = false;
		reason_short(r, resource, need, wide_cut(free));
	}
	return met;
}

static int64_t left_of(const struct nodes *ns, node_id id, uint32_t resource,
                       const struct lasting *l)
{
	const int64_t allocatable = nodes_allocatable(ns, id, resource);

	return l ? lasting_leaves(l, id, resource, allocatable) : allocatable;
}

bool minimum_could_be_met(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                          const struct nodes *ns, const struct lasting *l)
{
	for (uint32_t i = 0; i < g->parts->amounts_n; i++) {
		const struct amount *need = &g->parts->amounts[i];
		wide all = 0;

		for (node_id id = 0; id < ns->used && need->resource < ns->resources; id++)
			if (node_present(&ns->slots[id]))
				all += left_of(ns, id, need->resource, l);
		if (need->resource != RESOURCE_PODS && (need->value > all || need->value == INT64_MAX) &&
		    !by_devices(g, ps, ss, need->resource))
			return false;
	}
	return true;
}
