/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a plan: members take nodes and leave them. */
#include "core/plan/plan_impl.h"

#include "core/filter/evaluate.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TAKE_STEPS 8u /* of work to place one member and to undo it */

void plan_init(struct plan *plan, const struct limits *limits)
{
	*plan = (struct plan){ .groups_limit = limits->pods };
	plan->pods = must_array(limits->pods, sizeof(*plan->pods));
	plan->nodes = must_array(limits->pods, sizeof(*plan->nodes));
	plan->set = must_array(limits->pods, sizeof(*plan->set));
	plan->ranks = must_array(limits->pods, sizeof(*plan->ranks));
	plan->groups = must_array(limits->pods, sizeof(*plan->groups));
	plan->roles = must_array(limits->pods, sizeof(*plan->roles));
}

void plan_free(struct plan *plan)
{
	free(plan->pods);
	free(plan->nodes);
	free(plan->set);
	free(plan->ranks);
	free(plan->groups);
	free(plan->roles);
	domains_free(&plan->domains);
	*plan = (struct plan){ 0 };
}

void group_look(struct plan_group *g, const struct view *v)
{
	g->capacity = v->capacity;
	g->later = v->capacity > 0 && v->mode != VIEW_PLAIN && view_best(v) == TREE_NONE;
}

void groups_look(struct plan *plan, struct views *vs)
{
	for (uint32_t i = 0; i < plan->groups_n; i++)
		group_look(&plan->groups[i], views_get(vs, &plan->scope, plan->groups[i].class));
}

void plan_take(struct plan *plan, struct views *vs, uint32_t member, uint32_t rank, class_id class)
{
	view_take(vs, views_get(vs, &plan->scope, class), rank);
	plan->nodes[member] = vs->nodes->order[rank];
	plan->placed++;
	budget_spend(vs->budget, TAKE_STEPS);
}

bool plan_take_on(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member,
                  node_id node)
{
	const class_id class = class_at(plan, gs, member);

	assert(plan->nodes[member] == ID_NONE);
	views_get(vs, &plan->scope, class); /* and ranks are in order */
	if (views_count_at(vs, node, class) == 0)
		return false;
	plan_take(plan, vs, member, vs->nodes->ranks[node], class);
	return true;
}

void plan_undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member)
{
	assert(plan->placed > 0);
	pod_counts_release(vs->pod_counts, plan->nodes[member], class_at(plan, gs, member), false);
	plan->nodes[member] = ID_NONE;
	plan->placed--;
}

/* kube-scheduler: selectHost; of nodes with equal scores the first by name, not a random one. */
bool plan_take_best(struct plan *plan, struct views *vs, uint32_t member, class_id class)
{
	uint32_t rank = view_best(views_get(vs, &plan->scope, class));

	if (rank == TREE_NONE)
		return false;
	plan_take(plan, vs, member, rank, class);
	return true;
}

/* The nodes of a block whose key is `top` take members, each until its key is lower. */
static uint32_t fill_block(struct plan *plan, struct views *vs, struct view *v,
                           const struct filling *f, uint32_t member, uint32_t block, tree_key top)
{
	for (uint64_t bits = tree_block(f->tree, block, top); bits && member < f->end;
	     bits &= bits - 1) {
		const uint32_t at = block * TREE_FAN + (uint32_t)__builtin_ctzll(bits);
		const uint32_t rank = f->ranks ? f->ranks[at] : at;
		const node_id id = vs->nodes->order[rank];
		const uint32_t end = member + view_take_batch(vs, v, rank, top, f->end - member);

		while (member < end)
			plan->nodes[member++] = id;
		tree_put(f->tree, at, tree_at(&v->tree, rank));
	}
	tree_mend(f->tree, block);
	return member;
}

static void fill_one(struct plan *plan, struct views *vs, struct view *v, const struct filling *f)
{
	uint32_t at = tree_best(f->tree), rank;

	if (at == TREE_NONE)
		return;
	rank = f->ranks ? f->ranks[at] : at;
	view_take(vs, v, rank);
	plan->nodes[f->member] = vs->nodes->order[rank];
}

/* design.md, A plan, 3: one walk over all nodes of the highest score, then over those of the
 * next. */
void fill_levels(struct plan *plan, struct views *vs, struct view *v, const struct filling *f)
{
	uint32_t member = f->member;

	assert(f->end <= plan->n);
	assert(f->member <= f->end);
	if (f->end - member == 1) {
		fill_one(plan, vs, v, f);
		return;
	}
	while (member < f->end) {
		uint32_t at = tree_best(f->tree);
		tree_key top = at != TREE_NONE ? tree_at(f->tree, at) : 0;

		if (top == 0)
			break;
		while (at != TREE_NONE) {
			uint32_t block = at / TREE_FAN;

			member = fill_block(plan, vs, v, f, member, block, top);
			at = member < f->end ? tree_next(f->tree, (block + 1) * TREE_FAN, top) : TREE_NONE;
		}
	}
	view_batch_end(vs, v);
}

void note_why(struct plan *plan, struct views *vs, class_id class)
{
	evaluate(vs->pod_counts, class, vs->score, &vs->evaluation);
	plan->counts_n = evaluation_counts(&vs->evaluation, vs->nodes, plan->counts);
}

void note_why_if_ruled(struct plan *plan, struct views *vs, class_id class)
{
	if (views_get(vs, &plan->scope, class)->mode != VIEW_PLAIN)
		note_why(plan, vs, class);
}

void undo_all(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	for (uint32_t i = plan->n; i-- > 0;)
		if (plan->nodes[i] != ID_NONE)
			plan_undo(plan, vs, gs, i);
	assert(plan->placed == 0);
}

void set_first(struct plan *plan, uint32_t need)
{
	assert(need <= plan->n);
	for (uint32_t i = 0; i < need; i++)
		plan->set[i] = i;
	plan->set_n = need;
}

void plan_nothing(struct plan *plan)
{
	plan->placed = 0;
	plan->fit = 0;
	plan->failed = CLASS_NONE;
	plan->failed_need = 0;
	plan->counts_n = 0;
	plan->exact = false;
}
