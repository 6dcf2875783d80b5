#include "core/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ready members of one shape. */
struct plan_group {
	shape_id shape;
	uint32_t n;
	uint32_t wanted; /* of them in the set */
	uint64_t capacity;
};

int plan_init(struct plan *plan, const struct limits *limits)
{
	*plan = (struct plan){ .groups_limit = limits->shapes };
	plan->pods = calloc(limits->pods, sizeof(*plan->pods));
	plan->nodes = calloc(limits->pods, sizeof(*plan->nodes));
	plan->set = calloc(limits->pods, sizeof(*plan->set));
	plan->ranks = calloc(limits->pods, sizeof(*plan->ranks));
	plan->groups = calloc(limits->shapes, sizeof(*plan->groups));
	if (plan->pods && plan->nodes && plan->set && plan->ranks && plan->groups)
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
	*plan = (struct plan){ 0 };
}

/* ---- members ---------------------------------------------------------------- */

static int member_compare(const void *a, const void *b, void *context)
{
	const struct pods *ps = context;

	return pod_compare(&ps->slots[*(const pod_id *)a], &ps->slots[*(const pod_id *)b]);
}

/* The ready members in their order.  They mostly come in it. */
static void collect(struct plan *plan, const struct gangs *gs, const struct gang *g)
{
	struct pods *ps = gs->pods;
	bool sorted = true;

	plan->n = 0;
	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE; id = ps->slots[id].next) {
		if (ps->slots[id].class != MEMBER_READY)
			continue;
		sorted = sorted && (plan->n == 0 || pod_compare(&ps->slots[plan->pods[plan->n - 1]], &ps->slots[id]) < 0);
		plan->nodes[plan->n] = ID_NONE;
		plan->pods[plan->n++] = id;
	}
	if (!sorted)
		qsort_r(plan->pods, plan->n, sizeof(*plan->pods), member_compare, ps);
}

static struct plan_group *group_of(struct plan *plan, const struct views *vs, shape_id shape)
{
	return &plan->groups[vs->shapes->slots[shape].mark];
}

static shape_id shape_at(const struct plan *plan, const struct gangs *gs, uint32_t member)
{
	return gs->pods->slots[plan->pods[member]].shape;
}

static void group_members(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	plan->groups_n = 0;
	for (uint32_t i = 0; i < plan->n; i++) {
		shape_id shape = shape_at(plan, gs, i);
		struct shape *s = &vs->shapes->slots[shape];

		if (s->mark >= plan->groups_n || plan->groups[s->mark].shape != shape) {
			s->mark = plan->groups_n++;
			plan->groups[s->mark] = (struct plan_group){ .shape = shape };
		}
		plan->groups[s->mark].n++;
	}
	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].capacity = views_get(vs, plan->groups[i].shape)->capacity;
}

/* ---- taking and undoing ------------------------------------------------------- */

static void take(struct plan *plan, struct views *vs, uint32_t member, node_id node, shape_id shape)
{
	nodes_take(vs->nodes, node, &vs->shapes->slots[shape]);
	plan->nodes[member] = node;
	plan->placed++;
}

static void undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member)
{
	nodes_give(vs->nodes, plan->nodes[member], &vs->shapes->slots[shape_at(plan, gs, member)]);
	plan->nodes[member] = ID_NONE;
	plan->placed--;
}

static bool take_best(struct plan *plan, struct views *vs, uint32_t member, shape_id shape)
{
	uint32_t rank = view_best(views_get(vs, shape));
	node_id node;

	if (rank == TREE_NONE)
		return false;
	node = vs->nodes->order[rank];
	/* The view may count in narrow steps; the node is asked in full width. */
	assert(nodes_fit(vs->nodes, node, &vs->shapes->slots[shape]));
	take(plan, vs, member, node, shape);
	return true;
}

/* ---- members of one shape ------------------------------------------------------- */

/* The next `n` members, each on the best node there is.  The first of the best keeps
 * taking members until it is worse than those behind it; then they have their turn in
 * order, so that all nodes of one score are one walk. */
static void fill_levels(struct plan *plan, struct views *vs, struct view *v, uint32_t n)
{
	uint32_t member = 0;

	while (member < n) {
		tree_key top = tree_top(&v->tree);

		if (top == 0)
			return;
		for (uint32_t rank = tree_next(&v->tree, 0, top); rank != TREE_NONE && member < n;
		     rank = tree_next(&v->tree, rank + 1, top)) {
			do {
				view_take(vs, v, rank);
				plan->nodes[member++] = vs->nodes->order[rank];
			} while (member < n && tree_at(&v->tree, rank) >= top);
		}
	}
	plan->placed = n;
}

static enum plan_answer plan_alike(struct plan *plan, struct views *vs, uint32_t need)
{
	struct plan_group *group = &plan->groups[0];
	uint32_t most = group->capacity < plan->n ? (uint32_t)group->capacity : plan->n;

	plan->failed = group->shape;
	if (most < need) {
		plan->failed_need = need;
		plan->fit = most;
		return PLAN_IMPOSSIBLE;
	}
	fill_levels(plan, vs, views_get(vs, group->shape), most);
	vs->steps += most;
	assert(plan->placed == most); /* the sum of counts is exact */
	plan->failed_need = 1;
	return PLAN_PLACED;
}

/* ---- of several shapes ------------------------------------------------------------ */

/* Does a have less room for its members than b? */
static bool harder(const struct plan_group *a, const struct plan_group *b)
{
	wide left = (wide)a->capacity * b->wanted, right = (wide)b->capacity * a->wanted;

	return left != right ? left < right : a < b;
}

struct sorting {
	struct plan *plan;
	const struct gangs *gs;
	const struct views *vs;
};

static int hard_first(const void *a, const void *b, void *context)
{
	const struct sorting *s = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct plan_group *g = group_of(s->plan, s->vs, shape_at(s->plan, s->gs, left));
	const struct plan_group *h = group_of(s->plan, s->vs, shape_at(s->plan, s->gs, right));

	if (g != h)
		return harder(g, h) ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* The set is chosen: count it by shape, sort it, and say whether every shape alone
 * has room.  If not, the first that has none is noted. */
static bool set_ready(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	struct sorting sorting = { .plan = plan, .gs = gs, .vs = vs };
	const struct plan_group *worst = NULL;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].wanted = 0;
	for (uint32_t i = 0; i < plan->set_n; i++)
		group_of(plan, vs, shape_at(plan, gs, plan->set[i]))->wanted++;
	qsort_r(plan->set, plan->set_n, sizeof(*plan->set), hard_first, &sorting);
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		const struct plan_group *g = &plan->groups[i];

		if (g->wanted > g->capacity && (!worst || harder(g, worst)))
			worst = g;
	}
	if (worst && plan->failed == ID_NONE) {
		plan->failed = worst->shape;
		plan->failed_need = worst->wanted;
	}
	return worst == NULL;
}

/* Every member of the set on its best node, or nothing. */
static bool set_greedy(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	for (uint32_t i = 0; i < plan->set_n; i++) {
		shape_id shape = shape_at(plan, gs, plan->set[i]);

		if (take_best(plan, vs, plan->set[i], shape))
			continue;
		if (plan->failed == ID_NONE) {
			plan->failed = shape;
			plan->failed_need = group_of(plan, vs, shape)->wanted;
		}
		if (i > plan->fit)
			plan->fit = i;
		while (i > 0)
			undo(plan, vs, gs, plan->set[--i]);
		return false;
	}
	return true;
}

static uint32_t next_rank(struct views *vs, shape_id shape, uint32_t from)
{
	const struct view *v = views_get(vs, shape);
	uint32_t rank = from;

	while (rank < vs->nodes->count && v->counts[rank] == 0)
		rank++;
	vs->steps += (rank - from) / 16 + 1;
	return rank;
}

/* Every way to place `need` members of the set, which is all of them, up to swapping
 * members of one shape: those take ranks that do not fall, and those left out come
 * last.  Depth first; rank `end` stands for left out.  At most PLAN_TRIES. */
static enum plan_answer set_search(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t need)
{
	const uint32_t end = vs->nodes->count;
	uint32_t depth = 0, from = 0, left_out = 0;

	for (uint32_t tries = 0; tries < PLAN_TRIES; tries++) {
		shape_id shape = shape_at(plan, gs, plan->set[depth]);
		uint32_t rank = from <= end ? next_rank(vs, shape, from) : end;

		if (rank < end || (from <= end && left_out < plan->set_n - need)) {
			plan->ranks[depth] = rank;
			if (rank < end)
				take(plan, vs, plan->set[depth], vs->nodes->order[rank], shape);
			else
				left_out++;
			if (plan->placed == need)
				return PLAN_PLACED;
			depth++;
			from = shape_at(plan, gs, plan->set[depth]) == shape ? rank : 0;
			continue;
		}
		if (depth == 0)
			return PLAN_IMPOSSIBLE;
		depth--;
		from = plan->ranks[depth] + 1;
		if (plan->ranks[depth] < end)
			undo(plan, vs, gs, plan->set[depth]);
		else
			left_out--;
	}
	while (depth-- > 0)
		if (plan->ranks[depth] < end)
			undo(plan, vs, gs, plan->set[depth]);
	return PLAN_GAVE_UP;
}

static void set_first(struct plan *plan, uint32_t need)
{
	for (uint32_t i = 0; i < need; i++)
		plan->set[i] = i;
	plan->set_n = need;
}

static int roomy_first(const void *a, const void *b)
{
	const struct plan_group *g = a, *h = b;

	if (g->capacity != h->capacity)
		return g->capacity > h->capacity ? -1 : 1;
	return g->shape < h->shape ? -1 : g->shape > h->shape;
}

/* The members of the shapes with most room, as many as each shape alone takes. */
static void set_easiest(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t need)
{
	uint32_t left = need;

	qsort(plan->groups, plan->groups_n, sizeof(*plan->groups), roomy_first);
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		struct plan_group *g = &plan->groups[i];
		uint64_t most = g->capacity < g->n ? g->capacity : g->n;

		vs->shapes->slots[g->shape].mark = i;
		g->wanted = most < left ? (uint32_t)most : left;
		left -= g->wanted;
	}
	plan->set_n = 0;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct plan_group *g = group_of(plan, vs, shape_at(plan, gs, i));

		if (g->wanted == 0)
			continue;
		g->wanted--;
		plan->set[plan->set_n++] = i;
	}
}

/* Members beyond the quorum, each on its own. */
static void place_rest(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	plan->failed = ID_NONE;
	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].wanted = 1; /* not failed yet */
	for (uint32_t i = 0; i < plan->n; i++) {
		shape_id shape = shape_at(plan, gs, i);
		struct plan_group *g = group_of(plan, vs, shape);

		if (plan->nodes[i] != ID_NONE || !g->wanted)
			continue;
		g->wanted = take_best(plan, vs, i, shape);
		if (!g->wanted && plan->failed == ID_NONE)
			plan->failed = shape;
	}
	plan->failed_need = 1;
}

static uint64_t most_that_fit(const struct plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		sum += plan->groups[i].capacity < plan->groups[i].n ? plan->groups[i].capacity : plan->groups[i].n;
	return sum;
}

static enum plan_answer plan_sets(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t need)
{
	uint64_t most = most_that_fit(plan);

	set_first(plan, need);
	if (set_ready(plan, vs, gs) && set_greedy(plan, vs, gs))
		return PLAN_PLACED;
	if (most < need) {
		plan->fit = (uint32_t)most;
		return PLAN_IMPOSSIBLE;
	}
	if (plan->n > need) {
		set_easiest(plan, vs, gs, need);
		if (set_ready(plan, vs, gs) && set_greedy(plan, vs, gs))
			return PLAN_PLACED;
	}
	if (!plan->search)
		return PLAN_GAVE_UP;
	set_first(plan, plan->n);
	set_ready(plan, vs, gs);
	return set_search(plan, vs, gs, need);
}

enum plan_answer plan_gang(struct plan *plan, struct views *vs, const struct gangs *gs, const struct gang *g,
                           uint32_t need)
{
	enum plan_answer answer;

	collect(plan, gs, g);
	assert(plan->n >= need && need > 0);
	plan->placed = 0;
	plan->fit = 0;
	plan->failed = ID_NONE;
	plan->failed_need = 0;
	vs->steps += plan->n;
	group_members(plan, vs, gs);
	plan->alike = plan->groups_n == 1;
	if (plan->alike)
		return plan_alike(plan, vs, need);
	answer = plan_sets(plan, vs, gs, need);
	assert(answer == PLAN_PLACED ? plan->placed >= need : plan->placed == 0);
	if (answer == PLAN_PLACED && plan->placed < plan->n)
		place_rest(plan, vs, gs);
	return answer;
}
