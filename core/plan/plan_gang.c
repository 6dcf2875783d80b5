/* SPDX-License-Identifier: Apache-2.0 */
/* The ready members of a gang: collected, ordered and grouped by class, then placed. */
#include "core/plan/plan_impl.h"

#include "core/base/probe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The ready members, by arrival. */
static void collect(struct plan *plan, struct views *vs, const struct gangs *gs,
                    const struct gang *g)
{
	const struct pod *slots = gs->pods->slots, *first = NULL;
	uint32_t n = 0, differ = 0;
	uint64_t created_ns = 0;

	for (pod_id id = g->first; n < plan->n; id = slots[id].next) {
		const struct pod *p = &slots[id];

		if (p->readiness != MEMBER_READY)
			continue;
		first = n == 0 ? p : first;
		differ |= (uint32_t)(p->priority ^ first->priority) | (p->created_ns < created_ns);
		created_ns = p->created_ns;
		plan->nodes[n] = ID_NONE;
		plan->pods[n++] = id;
	}
	plan->in_order = differ == 0;
	budget_spend(vs->budget, n);
}

struct ordering {
	const struct pod *slots;
	const uint32_t *came; /* arrival, by pod */
};

static int order_compare(const void *a, const void *b, void *context)
{
	const struct ordering *o = context;
	const pod_id left = *(const pod_id *)a, right = *(const pod_id *)b;
	const struct pod *p = &o->slots[left], *q = &o->slots[right];

	if (p->priority != q->priority)
		return p->priority > q->priority ? -1 : 1;
	if (p->created_ns != q->created_ns)
		return p->created_ns < q->created_ns ? -1 : 1;
	return o->came[left] < o->came[right] ? -1 : 1;
}

/* queuesort.PrioritySort within the gang: priority, then age in the whole seconds of the API, then
 * arrival. */
static void put_in_order(struct plan *plan, const struct gangs *gs)
{
	struct ordering o = { .slots = gs->pods->slots, .came = plan->set };

	if (plan->in_order)
		return;
	for (uint32_t i = 0; i < plan->n; i++)
		plan->set[plan->pods[i]] = i;
	qsort_r(plan->pods, plan->n, sizeof(*plan->pods), order_compare, &o);
}

static uint32_t role_index(const struct gang_need *need, uint32_t role)
{
	uint32_t i = 0;

	while (i < need->roles_n && need->roles[i].role != role)
		i++;
	return i;
}

/* Moves the members that have to start together to the front: of each role as many as it needs, and
 * others up to the total.  Both parts keep their order. */
static void chosen_first(struct plan *plan, const struct gangs *gs, const struct gang_need *need)
{
	uint32_t missing[GANG_ROLES_MAX + 1], chosen = 0, rest = 0;

	assert(need->roles_n <= GANG_ROLES_MAX);
	missing[need->roles_n] = need->total;
	for (uint32_t r = 0; r < need->roles_n; r++) {
		missing[r] = need->roles[r].quorum;
		missing[need->roles_n] -= missing[r];
	}
	for (uint32_t i = 0; i < plan->n; i++) {
		pod_id pod = plan->pods[i];
		uint32_t role = role_index(need, gs->pods->slots[pod].role);

		role = missing[role] > 0 ? role : need->roles_n;
		if (missing[role] == 0) {
			plan->set[rest++] = pod;
			continue;
		}
		missing[role]--;
		plan->pods[chosen++] = pod;
	}
	assert(chosen == need->total);
	memcpy(plan->pods + chosen, plan->set, rest * sizeof(*plan->pods));
	for (uint32_t i = 0; i < plan->n; i++)
		plan->roles[i] = (uint8_t)role_index(need, gs->pods->slots[plan->pods[i]].role);
}

static void group_members(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	plan->groups_n = 0;
	plan->pack_left = plan->pack_steps;
	for (uint32_t i = 0; i < plan->n; i++) {
		class_id class = class_at(plan, gs, i);
		struct pod_class *k = &vs->pod_counts->pod_classes.slots[class];

		if (k->mark >= plan->groups_n || plan->groups[k->mark].class != class) {
			k->mark = plan->groups_n++;
			plan->groups[k->mark] = (struct plan_group){ .class = class };
		}
		plan->groups[k->mark].n++;
	}
	plan->ordered = false;
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		group_look(&plan->groups[i], views_get(vs, &plan->scope, plan->groups[i].class));
		plan->ordered = plan->ordered || rules_ordered(vs->pod_counts, plan->groups[i].class);
	}
}

/* The same for members of one class. */
static struct view *group_alike(struct plan *plan, struct views *vs, class_id class)
{
	struct view *v = views_get(vs, &plan->scope, class);

	vs->pod_counts->pod_classes.slots[class].mark = 0;
	plan->groups[0] = (struct plan_group){ .class = class, .n = plan->n };
	plan->groups_n = 1;
	group_look(&plan->groups[0], v);
	plan->ordered = v->mode != VIEW_PLAIN && rules_ordered(vs->pod_counts, class);
	return v;
}

static enum plan_answer plan_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                                   const struct gang *g, const struct gang_need *need)
{
	struct view *v = group_alike(plan, vs, g->ready_class);

	if (alike_refused(plan, v, need->total))
		return PLAN_IMPOSSIBLE; /* before the members are collected */
	collect(plan, vs, gs, g);
	put_in_order(plan, gs);
	if (need->roles_n > 0)
		chosen_first(plan, gs, need);
	return place_alike(plan, vs, gs, v, need->total);
}

/* Resets the plan: nothing of the gang is collected yet. */
static void plan_begin(struct plan *plan, bool behind, const struct gang *g,
                       const struct gang_need *need)
{
	plan->scope = (struct view_scope){ .behind = behind };
	plan->barred = CLASS_NONE;
	plan->lacks_known = false;
	plan->kept_together = false;
	plan->n = g->counts[MEMBER_READY];
	plan->alike = g->ready_class != CLASS_NONE;
	assert(plan->n >= need->total && need->total > 0);
}

static void members_begin(struct plan *plan, struct views *vs, const struct gangs *gs,
                          const struct gang *g, const struct gang_need *need)
{
	collect(plan, vs, gs, g);
	if (plan->alike)
		group_alike(plan, vs, g->ready_class);
	else
		group_members(plan, vs, gs);
	put_in_order(plan, gs);
	plan->roles_n = need->roles_n;
	if (need->roles_n > 0)
		chosen_first(plan, gs, need);
}

/* False: the place is not as it was, or a rule forbids it now. */
static bool take_fixed(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member,
                       const struct answer_pod *place)
{
	const class_id class = class_at(plan, gs, member);
	const struct node *n = nodes_find(vs->nodes, place->node);
	const struct view *v;

	if (gs->pods->slots[plan->pods[member]].generation != place->generation || !n ||
	    n->generation != place->node_generation || !node_present(n))
		return false;
	v = views_get(vs, &plan->scope, class);
	return view_open(v, vs->nodes->ranks[place->node]) &&
	       plan_take_on(plan, vs, gs, member, place->node);
}

/* True if the placed members are those that have to start, or more. */
static bool need_is_met(const struct plan *plan, const struct gang_need *need)
{
	uint32_t placed[GANG_ROLES_MAX + 1] = { 0 };

	for (uint32_t i = 0; need->roles_n > 0 && i < plan->n; i++)
		placed[plan->roles[i]] += plan->nodes[i] != ID_NONE;
	for (uint32_t r = 0; r < need->roles_n; r++)
		if (placed[r] < need->roles[r].quorum)
			return false;
	return plan->placed >= need->total;
}

enum plan_answer plan_fixed(struct plan *plan, struct views *vs, bool behind,
                            const struct gangs *gs, const struct gang *g,
                            const struct gang_need *need, const struct answer_pod *places,
                            uint32_t places_n)
{
	bool holds = true;

	assert(!gang_has_levels(g));
	plan_begin(plan, behind, g, need);
	members_begin(plan, vs, gs, g, need);
	plan_nothing(plan);
	/* Its entries need no reset: each is compared with what it refers to. */
	for (uint32_t k = 0; k < places_n; k++)
		plan->ranks[places[k].pod] = k;
	for (uint32_t i = 0; holds && i < plan->n; i++) {
		const uint32_t k = plan->ranks[plan->pods[i]];

		if (k < places_n && places[k].pod == plan->pods[i])
			holds = take_fixed(plan, vs, gs, i, &places[k]);
	}
	if (!holds || !need_is_met(plan, need)) {
		undo_all(plan, vs, gs);
		return PLAN_GAVE_UP;
	}
	if (plan->placed < plan->n)
		place_rest(plan, vs, gs);
	return PLAN_PLACED;
}

BY_NAME enum plan_answer plan_gang(struct plan *plan, struct views *vs, bool behind,
                                   const struct gangs *gs, const struct gang *g,
                                   const struct gang_need *need)
{
	plan_begin(plan, behind, g, need);
	if (plan->alike && !gang_has_levels(g))
		return plan_alike(plan, vs, gs, g, need);
	members_begin(plan, vs, gs, g, need);
	return gang_has_levels(g) ? plan_levels(plan, vs, gs, g, need)
	                          : plan_members(plan, vs, gs, need);
}
