/* SPDX-License-Identifier: Apache-2.0 */
/* The set as a packing: members of one class and role are pieces of one kind, and nodes have room.
 * Only where a node takes members by its room alone. */
#include "core/plan/plan_impl.h"

#include "core/pack/pack.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

struct packing {
	struct plan *plan;
	struct views *vs;
	const struct gangs *gs;
	uint32_t kinds, nodes, resources;
	uint32_t first[PACK_KINDS]; /* of the members of each kind, in the set */
	class_id classes[PACK_KINDS];
	uint32_t n[PACK_KINDS], role[PACK_KINDS];
	uint32_t column[RESOURCES_MAX],
		resource_of[RESOURCES_MAX]; /* of resources that are requested */
	uint32_t omits[GANG_ROLES_MAX + 1];
	int64_t *takes, *room;
	uint32_t *most;
	uint16_t *placed;
};

static const struct shape *shape_at(const struct packing *p, class_id class)
{
	return class_shape(p->vs->pod_counts, class);
}

/* Each pod lowers the room of its node and nothing else. */
static bool by_room_alone(const struct view *v)
{
	return v->plain_counts && (v->mode == VIEW_PLAIN || (v->mode == VIEW_WEIGHED &&
	                                                     v->closed_form && v->constraints == NULL));
}

static bool kinds_find(struct packing *p)
{
	const struct plan *plan = p->plan;

	for (uint32_t i = 0; i < plan->set_n; i++) {
		const class_id class = class_at(plan, p->gs, plan->set[i]);
		const uint32_t role = role_at(plan, plan->set[i]), last = p->kinds - 1;

		p->omits[role]++;
		if (p->kinds > 0 && p->classes[last] == class && p->role[last] == role) {
			p->n[last]++;
			continue;
		}
		if (p->kinds == PACK_KINDS || !by_room_alone(views_get(p->vs, &plan->scope, class)))
			return false;
		p->first[p->kinds] = i;
		p->classes[p->kinds] = class;
		p->role[p->kinds] = role;
		p->n[p->kinds++] = 1;
	}
	return true;
}

static void resources_find(struct packing *p)
{
	bool asked[RESOURCES_MAX] = { false };

	for (uint32_t k = 0; k < p->kinds; k++) {
		const struct shape *s = shape_at(p, p->classes[k]);

		for (uint32_t i = 0; i < s->requests_n; i++)
			asked[s->requests[i].resource] = true;
	}
	for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
		if (!asked[r])
			continue;
		p->column[r] = p->resources;
		p->resource_of[p->resources++] = r;
	}
}

static void amounts_fill(struct packing *p)
{
	const struct nodes *ns = p->vs->nodes;

	p->takes = must_array((size_t)p->kinds * p->resources + 1, sizeof(*p->takes));
	p->room = must_array((size_t)p->nodes * p->resources + 1, sizeof(*p->room));
	p->most = must_array((size_t)p->nodes * p->kinds, sizeof(*p->most));
	p->placed = must_array((size_t)p->nodes * p->kinds, sizeof(*p->placed));
	for (uint32_t rank = 0; rank < p->nodes; rank++)
		for (uint32_t i = 0; i < p->resources; i++)
			p->room[(size_t)rank * p->resources + i] =
				nodes_free_amount(ns, ns->order[rank], p->resource_of[i]);
	for (uint32_t k = 0; k < p->kinds; k++) {
		const struct shape *s = shape_at(p, p->classes[k]);
		const struct view *v = views_get(p->vs, &p->plan->scope, p->classes[k]);

		for (uint32_t i = 0; i < s->requests_n; i++)
			p->takes[(size_t)k * p->resources + p->column[s->requests[i].resource]] =
				s->requests[i].value;
		for (uint32_t rank = 0; rank < p->nodes; rank++)
			p->most[(size_t)rank * p->kinds + k] = view_open(v, rank) ? v->counts[rank] : 0;
	}
}

/* True if each piece went to its node; else nothing is placed. */
static bool carry_out(struct packing *p)
{
	struct plan *plan = p->plan;
	const node_id *order = p->vs->nodes->order;

	for (uint32_t k = 0; k < p->kinds; k++) {
		uint32_t next = p->first[k];

		for (uint32_t rank = 0; rank < p->nodes; rank++)
			for (uint32_t n = p->placed[(size_t)rank * p->kinds + k]; n > 0; n--)
				if (!plan_take_on(plan, p->vs, p->gs, plan->set[next++], order[rank])) {
					undo_all(plan, p->vs, p->gs);
					return false;
				}
	}
	return true;
}

static void packing_free(struct packing *p)
{
	free(p->takes);
	free(p->room);
	free(p->most);
	free(p->placed);
}

enum plan_answer set_pack(struct plan *plan, struct views *vs, const struct gangs *gs,
                          const struct gang_need *need)
{
	struct packing p = { .plan = plan, .vs = vs, .gs = gs, .nodes = vs->nodes->count };
	enum pack_answer answer;

	assert(plan->placed == 0 && need->total <= plan->set_n);
	if (plan->ordered || plan->pack_left == 0 || !kinds_find(&p) ||
	    (uint64_t)p.nodes * PACK_KINDS > PACK_CELLS)
		return PLAN_GAVE_UP;
	for (uint32_t r = 0; r < need->roles_n; r++)
		p.omits[r] -= need->roles[r].quorum;
	resources_find(&p);
	amounts_fill(&p);
	answer = pack(&(struct pack_problem){ .nodes = p.nodes,
	                                      .kinds = p.kinds,
	                                      .resources = p.resources,
	                                      .roles = need->roles_n + 1,
	                                      .takes = p.takes,
	                                      .n = p.n,
	                                      .role = p.role,
	                                      .room = p.room,
	                                      .most = p.most,
	                                      .omit = plan->set_n - need->total,
	                                      .omits = p.omits },
	              &plan->pack_left, p.placed);
	if (answer == PACK_PLACED && !carry_out(&p))
		answer = PACK_GAVE_UP;
	packing_free(&p);
	return answer == PACK_PLACED ? PLAN_PLACED
	                             : (answer == PACK_IMPOSSIBLE ? PLAN_IMPOSSIBLE : PLAN_GAVE_UP);
}
