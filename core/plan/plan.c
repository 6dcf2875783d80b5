/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan/plan_impl.h"

#include "core/base/probe.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAKE_STEPS 8u /* work to place one member and to take it back */

int plan_init(struct plan *plan, const struct limits *limits)
{
	*plan = (struct plan){ .groups_limit = limits->pods };
	plan->pods = calloc(limits->pods, sizeof(*plan->pods));
	plan->nodes = calloc(limits->pods, sizeof(*plan->nodes));
	plan->set = calloc(limits->pods, sizeof(*plan->set));
	plan->ranks = calloc(limits->pods, sizeof(*plan->ranks));
	plan->groups = calloc(limits->pods, sizeof(*plan->groups));
	plan->roles = calloc(limits->pods, sizeof(*plan->roles));
	if (plan->pods && plan->nodes && plan->set && plan->ranks && plan->groups && plan->roles)
		return 0;
	plan_free(plan);
	return -ENOMEM;
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

/* ---- members ---------------------------------------------------------------- */

/* The ready members, as they came. */
static void collect(struct plan *plan, struct views *vs, const struct gangs *gs,
                    const struct gang *g)
{
	const struct pod *slots = gs->pods->slots, *first = NULL;
	uint32_t n = 0, differ = 0;
	uint64_t created_ns = 0;

	for (pod_id id = g->first; n < plan->n; id = slots[id].next) {
		const struct pod *p = &slots[id];

		if (p->class != MEMBER_READY)
			continue;
		first = n == 0 ? p : first;
		differ |= (uint32_t)(p->priority ^ first->priority) | (p->created_ns < created_ns);
		created_ns = p->created_ns;
		plan->nodes[n] = ID_NONE;
		plan->pods[n++] = id;
	}
	plan->in_order = differ == 0;
	vs->steps += n;
}

struct ordering {
	const struct pod *slots;
	const uint32_t *came; /* of each pod */
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

/* The highest priority first, then the oldest, by the API's whole seconds, then who came first. */
static void put_in_order(struct plan *plan, const struct gangs *gs)
{
	struct ordering o = { .slots = gs->pods->slots, .came = plan->set };

	if (plan->in_order)
		return;
	for (uint32_t i = 0; i < plan->n; i++)
		plan->set[plan->pods[i]] = i;
	qsort_r(plan->pods, plan->n, sizeof(*plan->pods), order_compare, &o);
}

/* ---- roles ------------------------------------------------------------------ */

static uint32_t role_index(const struct gang_need *need, uint32_t role)
{
	uint32_t i = 0;

	while (i < need->roles_n && need->roles[i].role != role)
		i++;
	return i;
}

/* Those that have to start come first: of each role as many as it needs, and others up to the
 * total.  Both parts stay in their order. */
static void chosen_first(struct plan *plan, const struct gangs *gs, const struct gang_need *need)
{
	uint32_t missing[GANG_ROLES_MAX + 1], chosen = 0, rest = 0;

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

/* ---- kinds ------------------------------------------------------------------ */

static void group_look(struct plan_group *g, const struct view *v)
{
	g->capacity = v->capacity;
	g->later = v->capacity > 0 && v->mode != VIEW_PLAIN && view_best(v) == TREE_NONE;
}

void groups_look(struct plan *plan, struct views *vs)
{
	for (uint32_t i = 0; i < plan->groups_n; i++)
		group_look(&plan->groups[i], views_get(vs, plan->groups[i].kind));
}

static void group_members(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	plan->groups_n = 0;
	for (uint32_t i = 0; i < plan->n; i++) {
		kind_id kind = kind_at(plan, gs, i);
		struct kind *k = &vs->census->kinds.slots[kind];

		if (k->mark >= plan->groups_n || plan->groups[k->mark].kind != kind) {
			k->mark = plan->groups_n++;
			plan->groups[k->mark] = (struct plan_group){ .kind = kind };
		}
		plan->groups[k->mark].n++;
	}
	plan->ordered = false;
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		group_look(&plan->groups[i], views_get(vs, plan->groups[i].kind));
		plan->ordered = plan->ordered || rules_ordered(vs->census, plan->groups[i].kind);
	}
}

/* The same of members that are alike. */
static struct view *group_alike(struct plan *plan, struct views *vs, kind_id kind)
{
	struct view *v = views_get(vs, kind);

	vs->census->kinds.slots[kind].mark = 0;
	plan->groups[0] = (struct plan_group){ .kind = kind, .n = plan->n };
	plan->groups_n = 1;
	group_look(&plan->groups[0], v);
	plan->ordered = v->mode != VIEW_PLAIN && rules_ordered(vs->census, kind);
	return v;
}

/* ---- taking and undoing ------------------------------------------------------- */

void plan_take(struct plan *plan, struct views *vs, uint32_t member, uint32_t rank, kind_id kind)
{
	view_take(vs, views_get(vs, kind), rank);
	plan->nodes[member] = vs->nodes->order[rank];
	plan->placed++;
	vs->steps += TAKE_STEPS;
}

void plan_undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member)
{
	census_give(vs->census, plan->nodes[member], kind_at(plan, gs, member), false);
	plan->nodes[member] = ID_NONE;
	plan->placed--;
}

bool plan_take_best(struct plan *plan, struct views *vs, uint32_t member, kind_id kind)
{
	uint32_t rank = view_best(views_get(vs, kind));

	if (rank == TREE_NONE)
		return false;
	plan_take(plan, vs, member, rank, kind);
	return true;
}

/* ---- members of one kind ------------------------------------------------------- */

/* Those of a block that are as good as the best take members, each until it is worse than those
 * behind it. */
static uint32_t fill_block(struct plan *plan, struct views *vs, struct view *v,
                           const struct filling *f, uint32_t member, uint32_t block, tree_key top)
{
	for (uint64_t bits = tree_block(f->tree, block, top); bits && member < f->end;
	     bits &= bits - 1) {
		const uint32_t at = block * TREE_FAN + (uint32_t)__builtin_ctzll(bits);
		const uint32_t rank = f->ranks ? f->ranks[at] : at;
		const node_id id = vs->nodes->order[rank];
		const uint32_t end = member + view_take_ahead(vs, v, rank, top, f->end - member);

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

/* All nodes of one score are one walk, in order; then comes the next score. */
void fill_levels(struct plan *plan, struct views *vs, struct view *v, const struct filling *f)
{
	uint32_t member = f->member;

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
	view_settle(vs, v);
}

/* No node took one more of the kind: why not, as things stand in the middle of the plan. */
static void note_why(struct plan *plan, struct views *vs, kind_id kind)
{
	judge(vs->census, kind, vs->score, &vs->judgement);
	plan->counts_n = judgement_counts(&vs->judgement, vs->nodes, plan->counts);
}

void note_why_if_ruled(struct plan *plan, struct views *vs, kind_id kind)
{
	if (views_get(vs, kind)->mode != VIEW_PLAIN)
		note_why(plan, vs, kind);
}

/* As many of the first members as find room, from `member` on; rules between pods are asked
 * anew after each. */
static void fill_each(struct plan *plan, struct views *vs, uint32_t member, kind_id kind)
{
	while (member < plan->n && plan_take_best(plan, vs, member, kind))
		member++;
}

void undo_all(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	for (uint32_t i = plan->n; i-- > 0;)
		if (plan->nodes[i] != ID_NONE)
			plan_undo(plan, vs, gs, i);
}

/* Does the first member bind all that follow?  Nobody whom they seek is there yet, or only on
 * nodes without the key. */
static bool first_binds(const struct views *vs, kind_id kind)
{
	const struct census *cs = vs->census;
	const struct shape_links *links = cs->links[cs->kinds.slots[kind].shape];
	const uint32_t *placed;

	if (!links || links->affinity == SELECTOR_NONE ||
	    !kind_matches(&cs->kinds, kind, links->affinity))
		return false;
	placed = cs->selectors.slots[links->affinity].placed;
	for (uint32_t i = 0; i < links->terms_n; i++) {
		const struct topology *t = &cs->topologies.slots[links->terms[i].topology];

		if (links->terms[i].term->kind != POD_TERM_AFFINITY)
			continue;
		for (node_id id = 0; id < cs->nodes->used; id++)
			if (placed[id] > 0 && t->domain[id] != DOMAIN_NONE)
				return false;
	}
	return true;
}

static bool fill_from_starts(struct plan *plan, struct views *vs, const struct gangs *gs,
                             kind_id kind, uint32_t need)
{
	starts_find(plan, vs, kind, need);
	for (uint32_t i = 0; i < plan->starts_n && vs->steps < PLAN_STEPS; i++) {
		plan_take(plan, vs, 0, plan->starts[i].rank, kind);
		fill_each(plan, vs, 1, kind);
		if (plan->placed >= need)
			return true;
		plan->fit = plan->placed > plan->fit ? plan->placed : plan->fit;
		undo_all(plan, vs, gs);
	}
	return false;
}

void set_first(struct plan *plan, uint32_t need)
{
	for (uint32_t i = 0; i < need; i++)
		plan->set[i] = i;
	plan->set_n = need;
}

/* The best node for each was not the way; is there any? */
static enum plan_answer search_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                                     uint32_t need)
{
	kind_id kind = plan->groups[0].kind;
	enum plan_answer answer;

	if (rules_simple(vs->census, kind) && !plan->starts_cut)
		return vs->steps < PLAN_STEPS ? PLAN_IMPOSSIBLE : PLAN_GAVE_UP;
	if (!plan->search)
		return PLAN_GAVE_UP;
	set_first(plan, plan->n);
	answer = set_search(plan, vs, gs, &(struct gang_need){ .total = need });
	plan->counts_n = answer == PLAN_PLACED ? 0 : plan->counts_n;
	for (uint32_t i = 0; answer == PLAN_PLACED && i < plan->n; i++)
		if (plan->nodes[i] == ID_NONE && !plan_take_best(plan, vs, i, kind))
			break;
	return answer;
}

/* Members of one kind with rules between pods, or weighed against all nodes. */
static enum plan_answer plan_ruled(struct plan *plan, struct views *vs, const struct gangs *gs,
                                   uint32_t need)
{
	kind_id kind = plan->groups[0].kind;
	enum plan_answer answer;
	bool binds = first_binds(vs, kind);

	fill_each(plan, vs, 0, kind);
	plan->failed = kind;
	plan->failed_need = need;
	plan->fit = plan->placed;
	plan->starts_cut = false;
	if (plan->placed > 0 && plan->placed < plan->n)
		note_why(plan, vs, kind);
	if (plan->placed < need) {
		undo_all(plan, vs, gs);
		if (!binds || need == 1 || !fill_from_starts(plan, vs, gs, kind, need)) {
			answer = need > 1 ? search_alike(plan, vs, gs, need) : PLAN_IMPOSSIBLE;
			if (answer != PLAN_PLACED)
				return answer;
		}
	}
	plan->failed_need = 1;
	return PLAN_PLACED;
}

void plan_nothing(struct plan *plan)
{
	plan->placed = 0;
	plan->fit = 0;
	plan->failed = KIND_NONE;
	plan->failed_need = 0;
	plan->counts_n = 0;
	plan->exact = false;
}

/* Are the counts of members that are alike too few?  Then no way of placing them is tried. */
static bool alike_refused(struct plan *plan, const struct view *v, uint32_t need)
{
	plan_nothing(plan);
	plan->roles_n = 0; /* the first of them are chosen, and any of them is as good */
	plan->exact = v->mode == VIEW_PLAIN;
	plan->failed = v->kind;
	if (v->capacity >= need)
		return false;
	plan->failed_need = need;
	plan->fit = (uint32_t)v->capacity;
	return true;
}

/* ... no. */
static enum plan_answer place_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                                    struct view *v, uint32_t need)
{
	const uint32_t most = v->capacity < plan->n ? (uint32_t)v->capacity : plan->n;

	if (!plan->exact)
		return plan_ruled(plan, vs, gs, need);
	fill_levels(plan, vs, v, &(struct filling){ &v->tree, NULL, 0, most });
	vs->steps += most;
	plan->placed = most;
	assert(plan->nodes[most - 1] != ID_NONE); /* the sum of counts is exact */
	plan->failed_need = 1;
	return PLAN_PLACED;
}

static enum plan_answer plan_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                                   const struct gang *g, const struct gang_need *need)
{
	struct view *v = group_alike(plan, vs, g->ready_kind);

	if (alike_refused(plan, v, need->total))
		return PLAN_IMPOSSIBLE; /* whoever they are */
	collect(plan, vs, gs, g);
	put_in_order(plan, gs);
	if (need->roles_n > 0)
		chosen_first(plan, gs, need);
	return place_alike(plan, vs, gs, v, need->total);
}

/* ---- a gang ------------------------------------------------------------------------ */

enum plan_answer plan_members(struct plan *plan, struct views *vs, const struct gangs *gs,
                              const struct gang_need *need)
{
	enum plan_answer answer;

	if (plan->alike) {
		struct view *v = views_get(vs, plan->groups[0].kind);

		return alike_refused(plan, v, need->total) ? PLAN_IMPOSSIBLE
		                                           : place_alike(plan, vs, gs, v, need->total);
	}
	plan_nothing(plan);
	answer = plan_sets(plan, vs, gs, need);
	assert(answer == PLAN_PLACED ? plan->placed >= need->total : plan->placed == 0);
	if (answer == PLAN_PLACED && plan->placed < plan->n)
		place_rest(plan, vs, gs);
	return answer;
}

BY_NAME enum plan_answer plan_gang(struct plan *plan, struct views *vs, const struct gangs *gs,
                                   const struct gang *g, const struct gang_need *need)
{
	plan->barred = KIND_NONE;
	plan->kept_together = false;
	plan->n = g->counts[MEMBER_READY];
	plan->alike = g->ready_kind != KIND_NONE;
	assert(plan->n >= need->total && need->total > 0);
	if (plan->alike && !gang_has_levels(g))
		return plan_alike(plan, vs, gs, g, need);
	collect(plan, vs, gs, g);
	if (plan->alike)
		group_alike(plan, vs, g->ready_kind);
	else
		group_members(plan, vs, gs);
	put_in_order(plan, gs);
	plan->roles_n = need->roles_n;
	if (need->roles_n > 0)
		chosen_first(plan, gs, need);
	return gang_has_levels(g) ? plan_levels(plan, vs, gs, g, need)
	                          : plan_members(plan, vs, gs, need);
}
