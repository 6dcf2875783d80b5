/* SPDX-License-Identifier: Apache-2.0 */
/* Views against judge(): on random clusters with every rule they name the same best node,
 * also for member after member of a plan that is taken back. */
#include "tests/unit/support_plain.h"

#include "core/index/views_impl.h"
#include "core/lifecycle/state.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ROUNDS = 200, MEMBERS = 12 };

struct seen {
	uint32_t looks[4]; /* by mode */
	uint32_t placed[4];
	uint32_t ahead; /* pods behind the first that a node took ahead */
};

/* ---- the plain way ------------------------------------------------------------------ */

static node_id judge_best(struct core *c, kind_id kind, struct judgement *j)
{
	node_id best = ID_NONE;

	nodes_sort(&c->nodes);
	judge(&c->census, kind, c->config.score, j);
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		node_id id = c->nodes.order[rank];

		if (!node_present(&c->nodes.slots[id]) || j->whys[id] != 0)
			continue;
		if (best == ID_NONE || j->scores[id] > j->scores[best])
			best = id;
	}
	return best;
}

static uint32_t plain_way(struct core *c, kind_id kind, struct judgement *j, node_id out[MEMBERS])
{
	uint32_t n = 0;

	while (n < MEMBERS && (out[n] = judge_best(c, kind, j)) != ID_NONE)
		census_take(&c->census, out[n++], kind, false);
	for (uint32_t i = n; i-- > 0;)
		census_give(&c->census, out[i], kind, false);
	return n;
}

/* ---- through views --------------------------------------------------------------------- */

/* In the middle of taking ahead only the keys of single nodes are right. */
static uint32_t best_by_key(const struct core *c, const struct view *v)
{
	uint32_t best = TREE_NONE;

	for (uint32_t rank = 0; rank < c->nodes.count; rank++)
		if (tree_at(&v->tree, rank) > (best == TREE_NONE ? 0 : tree_at(&v->tree, best)))
			best = rank;
	return best;
}

/* The same with pods that are taken ahead, and nodes that follow once, in both ways. */
static void look_ahead(struct core *c, kind_id kind, const node_id wanted[MEMBERS], uint32_t n,
                       struct seen *seen)
{
	for (int way = 0; way <= (int)lanes_are_wide(); way++) {
		struct view *v = views_get(&c->views, kind);
		uint32_t placed = 0, rank, taken;

		c->views.wide_lanes = way;
		while (placed < MEMBERS && (rank = best_by_key(c, v)) != TREE_NONE) {
			taken = view_take_ahead(&c->views, v, rank, tree_at(&v->tree, rank), MEMBERS - placed);
			cr_assert_gt(taken, 0);
			seen->ahead += taken - 1;
			for (; taken > 0; taken--, placed++)
				cr_assert(placed < n && c->nodes.order[rank] == wanted[placed],
				          "kind %u member %u, way %d", kind, placed, way);
		}
		cr_assert_eq(placed, n);
		view_settle(&c->views, v);
		cr_assert(view_check(&c->views, views_get(&c->views, kind)), "kind %u, way %d", kind, way);
		while (placed-- > 0)
			census_give(&c->census, wanted[placed], kind, false);
		cr_assert(view_check(&c->views, views_get(&c->views, kind)), "kind %u, way %d", kind, way);
	}
}

static void look(struct core *c, kind_id kind, struct judgement *j, struct seen *seen)
{
	const struct shape *s = &c->shapes.slots[c->census.kinds.slots[kind].shape];
	node_id wanted[MEMBERS];
	struct view *v;
	uint32_t n, i;

	/* As if there were so many pods of it. */
	for (i = 0; i < MEMBERS; i++)
		cr_assert_eq(things_reserve(c->census.things, s), 0);
	n = plain_way(c, kind, j, wanted);
	v = views_get(&c->views, kind);
	cr_assert(view_check(&c->views, v), "kind %u, mode %d", kind, v->mode);
	seen->looks[v->mode]++;
	seen->placed[v->mode] += n;
	cr_assert_geq(v->capacity, n);
	cr_assert_geq(view_bound(&c->views, v), n);
	if (v->mode == VIEW_PLAIN)
		cr_assert_eq(v->capacity < MEMBERS ? v->capacity : MEMBERS, n, "kind %u: %u placed of %llu",
		             kind, n, (unsigned long long)v->capacity);
	for (i = 0; i < MEMBERS; i++) {
		uint32_t rank = view_best(views_get(&c->views, kind));

		if (rank == TREE_NONE)
			break;
		cr_assert(i < n && c->nodes.order[rank] == wanted[i], "kind %u member %u, mode %d", kind, i,
		          v->mode);
		view_take(&c->views, v, rank);
	}
	cr_assert_eq(i, n);
	cr_assert(view_check(&c->views, views_get(&c->views, kind)));
	while (i-- > 0)
		census_give(&c->census, wanted[i], kind, false);
	cr_assert(view_check(&c->views, views_get(&c->views, kind)));
	if (views_get(&c->views, kind)->mode == VIEW_PLAIN)
		look_ahead(c, kind, wanted, n, seen);
	for (i = 0; i < MEMBERS; i++)
		things_release(c->census.things, s);
}

/* ---- what happens ---------------------------------------------------------------------- */

static void change_pod(struct plain *p, struct random *r)
{
	uint32_t id = random_below(r, PLAIN_PODS);
	struct plain_pod *pod = &p->pods[id];

	if (!pod->exists) {
		plain_random_pod(p, r, id);
	} else if (pod->node == PLAIN_NONE) {
		pod->node = random_below(r, PLAIN_NODES);
	} else if (!pod->deleting && random_below(r, 3) == 0) {
		pod->deleting = true;
	} else {
		plain_drop_pod(p, id);
		return;
	}
	plain_tell_pod(p, id);
}

static void change(struct plain *p, struct random *r)
{
	uint32_t what = random_below(r, 30), id;

	if (what == 0) {
		id = random_below(r, PLAIN_NODES);
		plain_random_node(p, r, id);
		plain_tell_node(p, id);
	} else if (what == 1) {
		id = random_below(r, PLAIN_NAMESPACES);
		p->namespaces[id] = (struct plain_namespace){ random_below(r, 3) > 0, random_below(r, 4) };
		plain_tell_namespace(p, id);
	} else {
		change_pod(p, r);
	}
}

/* Shapes with few rules, so that each way has its share. */
static void simplify(struct plain_shape *s, struct random *r)
{
	s->exclusives_n = random_below(r, 4) ? 0 : s->exclusives_n;
	s->attachments_n = random_below(r, 4) ? 0 : s->attachments_n;
	s->preferences_n = random_below(r, 3) ? 0 : s->preferences_n;
	s->pod_terms_n = random_below(r, 2) ? 0 : s->pod_terms_n;
	s->spreads_n = random_below(r, 2) ? 0 : s->spreads_n;
	for (uint32_t i = 0; i < s->pod_terms_n; i++)
		if (random_below(r, 3))
			s->pod_terms[i].kind = POD_TERM_ANTI_AFFINITY;
	for (uint32_t i = 0; i < s->spreads_n; i++)
		if (random_below(r, 4))
			s->spreads[i].flags |= SPREAD_HARD;
}

static void cluster(struct random *r, enum score_policy score, struct seen *seen)
{
	struct plain *p = plain_new(score);
	struct judgement j;
	bool soft_taints = random_below(r, 4) == 0;

	cr_assert_eq(judgement_init(&j, &p->limits, false), 0);
	for (uint32_t i = 0; i < PLAIN_NODES; i++) {
		plain_random_node(p, r, i);
		if (!soft_taints)
			for (uint32_t t = 0; t < p->nodes[i].taints_n; t++)
				p->nodes[i].taints[t].effect = EFFECT_NO_SCHEDULE;
		plain_tell_node(p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++) {
		plain_random_shape(p, r, i);
		simplify(&p->shapes[i], r);
	}
	plain_synced(p);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t pod = random_below(r, PLAIN_PODS);

		change(p, r);
		if (round > 20 && p->pods[pod].exists && p->pods[pod].node == PLAIN_NONE)
			look(p->core, p->core->pods.slots[pod].kind, &j, seen);
	}
	judgement_free(&j);
	plain_free(p);
}

static void clusters(const char *name, enum score_policy score, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		cluster(&r, score, &seen);
	fprintf(
		stderr,
		"%s: plain %u looks, %u placed, %u ahead; gated %u, %u; weighed %u, %u; judged %u, %u\n",
		name, seen.looks[VIEW_PLAIN], seen.placed[VIEW_PLAIN], seen.ahead, seen.looks[VIEW_GATED],
		seen.placed[VIEW_GATED], seen.looks[VIEW_WEIGHED], seen.placed[VIEW_WEIGHED],
		seen.looks[VIEW_JUDGED], seen.placed[VIEW_JUDGED]);
	for (int mode = VIEW_PLAIN; mode <= VIEW_JUDGED; mode++)
		cr_assert((mode == VIEW_WEIGHED && score != SCORE_KUBE) || seen.placed[mode] > 0,
		          "mode %d was never looked at", mode);
}

Test(views, are_what_judge_says)
{
	clusters("views.kube", SCORE_KUBE, 120);
}

Test(views, are_what_judge_says_when_packing)
{
	clusters("views.pack", SCORE_PACK, 40);
}

Test(views, are_what_judge_says_when_fitting_best)
{
	clusters("views.bestfit", SCORE_BESTFIT, 40);
}
