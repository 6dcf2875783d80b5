/* SPDX-License-Identifier: Apache-2.0 */
/* Views against evaluate(): on random clusters with every rule they choose the same best node, also
 * for one member after the other of a plan that is then undone. */
#include "tests/unit/support_plain.h"

#include "core/lifecycle/state.h"
#include "core/index/views_impl.h"
#include "tests/unit/test.h"

enum { ROUNDS = 200, MEMBERS = 12 };

struct seen {
	uint32_t views[4]; /* by mode */
	uint32_t placed[4];
	uint32_t batched; /* pods after the first of a batch */
};

static node_id evaluated_best(struct core *c, class_id class, struct evaluation *j)
{
	node_id best = ID_NONE;

	nodes_sort(&c->nodes);
	evaluate(&c->pod_counts, class, c->config.score, j);
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		node_id id = c->nodes.order[rank];

		if (!node_present(&c->nodes.slots[id]) || j->whys[id] != 0)
			continue;
		if (best == ID_NONE || j->scores[id] > j->scores[best])
			best = id;
	}
	return best;
}

static uint32_t plain_way(struct core *c, class_id class, struct evaluation *j,
                          node_id out[MEMBERS])
{
	uint32_t n = 0;

	while (n < MEMBERS && (out[n] = evaluated_best(c, class, j)) != ID_NONE)
		pod_counts_allocate(&c->pod_counts, out[n++], class, false);
	for (uint32_t i = n; i-- > 0;)
		pod_counts_release(&c->pod_counts, out[i], class, false);
	return n;
}

/* Within a batch only level 0 of the tree is current. */
static uint32_t best_by_key(const struct core *c, const struct view *v)
{
	uint32_t best = TREE_NONE;

	for (uint32_t rank = 0; rank < c->nodes.count; rank++)
		if (tree_at(&v->tree, rank) > (best == TREE_NONE ? 0 : tree_at(&v->tree, best)))
			best = rank;
	return best;
}

/* The same with batches, with and without AVX2. */
static void compare_batches(struct core *c, class_id class, const node_id wanted[MEMBERS],
                            uint32_t n, struct seen *seen)
{
	for (int way = 0; way <= (int)simd_has_avx2(); way++) {
		struct view *v = views_get(&c->views, &(struct view_scope){ 0 }, class);
		uint32_t placed = 0, rank, taken;

		c->views.avx2 = way;
		while (placed < MEMBERS && (rank = best_by_key(c, v)) != TREE_NONE) {
			taken = view_take_batch(&c->views, v, rank, tree_at(&v->tree, rank), MEMBERS - placed);
			cr_assert_gt(taken, 0);
			seen->batched += taken - 1;
			for (; taken > 0; taken--, placed++)
				cr_assert(placed < n && c->nodes.order[rank] == wanted[placed],
				          "kind %u member %u, way %d", class, placed, way);
		}
		cr_assert_eq(placed, n);
		view_batch_end(&c->views, v);
		cr_assert(view_check(&c->views, views_get(&c->views, &(struct view_scope){ 0 }, class)),
		          "kind %u, way %d", class, way);
		while (placed-- > 0)
			pod_counts_release(&c->pod_counts, wanted[placed], class, false);
		cr_assert(view_check(&c->views, views_get(&c->views, &(struct view_scope){ 0 }, class)),
		          "kind %u, way %d", class, way);
	}
}

static void compare(struct core *c, class_id class, struct evaluation *j, struct seen *seen)
{
	node_id wanted[MEMBERS];
	struct view *v;
	uint32_t n, i;

	n = plain_way(c, class, j, wanted);
	v = views_get(&c->views, &(struct view_scope){ 0 }, class);
	cr_assert(view_check(&c->views, v), "kind %u, mode %d", class, v->mode);
	seen->views[v->mode]++;
	seen->placed[v->mode] += n;
	cr_assert_geq(v->capacity, n);
	cr_assert_geq(view_bound(&c->views, v), n);
	if (v->mode == VIEW_PLAIN)
		cr_assert_eq(v->capacity < MEMBERS ? v->capacity : MEMBERS, n, "kind %u: %u placed of %llu",
		             class, n, (unsigned long long)v->capacity);
	for (i = 0; i < MEMBERS; i++) {
		uint32_t rank = view_best(views_get(&c->views, &(struct view_scope){ 0 }, class));

		if (rank == TREE_NONE)
			break;
		cr_assert(i < n && c->nodes.order[rank] == wanted[i], "kind %u member %u, mode %d", class,
		          i, v->mode);
		view_take(&c->views, v, rank);
	}
	cr_assert_eq(i, n);
	cr_assert(view_check(&c->views, views_get(&c->views, &(struct view_scope){ 0 }, class)));
	while (i-- > 0)
		pod_counts_release(&c->pod_counts, wanted[i], class, false);
	cr_assert(view_check(&c->views, views_get(&c->views, &(struct view_scope){ 0 }, class)));
	if (views_get(&c->views, &(struct view_scope){ 0 }, class)->mode == VIEW_PLAIN)
		compare_batches(c, class, wanted, n, seen);
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
	struct evaluation j;
	bool soft_taints = random_below(r, 4) == 0;

	evaluation_init(&j, &p->limits, false);
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

		plain_random_change(p, r, 30);
		if (round > 20 && p->pods[pod].exists && p->pods[pod].node == PLAIN_NONE)
			compare(p->core, p->core->pods.slots[pod].class, &j, seen);
	}
	evaluation_free(&j);
	plain_free(p);
}

static void clusters(const char *name, enum score_policy score, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		cluster(&r, score, &seen);
	fprintf(stderr,
	        "%s: plain %u views, %u placed, %u in batches; constrained %u, %u; weighed %u, %u; "
	        "evaluated %u, %u\n",
	        name, seen.views[VIEW_PLAIN], seen.placed[VIEW_PLAIN], seen.batched,
	        seen.views[VIEW_CONSTRAINED], seen.placed[VIEW_CONSTRAINED], seen.views[VIEW_WEIGHED],
	        seen.placed[VIEW_WEIGHED], seen.views[VIEW_EVALUATED], seen.placed[VIEW_EVALUATED]);
	for (int mode = VIEW_PLAIN; mode <= VIEW_EVALUATED; mode++)
		cr_assert((mode == VIEW_WEIGHED && score != SCORE_KUBE) || seen.placed[mode] > 0,
		          "mode %d was never used", mode);
}

Test(views, equal_the_evaluation)
{
	clusters("views.kube", SCORE_KUBE, 120);
}

Test(views, equal_the_evaluation_with_packing)
{
	clusters("views.pack", SCORE_PACK, 40);
}

Test(views, equal_the_evaluation_with_best_fit)
{
	clusters("views.bestfit", SCORE_BESTFIT, 40);
}

Test(views, equal_the_evaluation_by_gpus)
{
	clusters("views.fgd", SCORE_FGD, 20);
	clusters("views.muster", SCORE_MUSTER, 20);
}
