/* SPDX-License-Identifier: Apache-2.0 */
/* Many pods of one class placed one after the other: view_take_batch().
 *
 * Each pod adds the same to a node, so the keys that the node has after one, two, three and four
 * more pods are computed in one step, for when it is chosen again.  The node, its sums and all
 * other views follow once, in view_batch_end().
 *
 * The keys equal those of node_key(): as long as the numbers are whole and below FIT_MOST, adding n
 * pods at once equals adding them one after the other. */
#include "core/index/views.h"
#include "core/index/views_impl.h"

#include "core/base/simd.h"

#include <assert.h>
#include <string.h>

static_assert(BATCH_KEYS == F64_LANES, "the keys are one step");

/* fit_balance() */
INLINE i32x4 balances(const struct node_fit *f, f64x4 cpu_used, f64x4 memory_used)
{
	const f64x4 cpu = f64x4_min(cpu_used / f->cpu, f64x4_set(1));
	const f64x4 memory = f64x4_min(memory_used / f->memory, f64x4_set(1));
	const f64x4 apart = f64x4_max(cpu - memory, memory - cpu);

	return __builtin_convertvector((1.0 - apart * 0.5) * 100.0, i32x4);
}

/* The free share of a resource in percent, as in fit_points(). */
INLINE i32x4 left(double all, f64x4 scored)
{
	return __builtin_convertvector(f64x4_max(all - scored, f64x4_set(0)) * 100.0 / all, i32x4);
}

/* fit_points() with n, n + 1, n + 2 and n + 3 more pods on the node. */
INLINE i32x4 points_after(const struct node_fit *f, const struct shape *s, double n)
{
	const struct shape_fit *each = &s->placed, *asked = &s->fit;
	const f64x4 pods = (f64x4){ 0, 1, 2, 3 } + n;
	const f64x4 cpu_used = f->cpu_used + pods * each->cpu_used;
	const f64x4 memory_used = f->memory_used + pods * each->memory_used;
	const i32x4 cpu = left(f->cpu, f->cpu_scored + asked->cpu_scored + pods * each->cpu_scored);
	const i32x4 memory =
		left(f->memory, f->memory_scored + asked->memory_scored + pods * each->memory_scored);
	const i32x4 points = (cpu + memory) >> 1;
	i32x4 change;

	if (!asked->balances)
		return points;
	change = balances(f, cpu_used + asked->cpu_used, memory_used + asked->memory_used) -
	         balances(f, cpu_used, memory_used);
	return points + 50 + ((change + 50) >> 1);
}

INLINE void keys_after(tree_key *keys, const struct node_fit *f, const struct shape *s, uint32_t n,
                       uint32_t more)
{
	const i32x4 points = points_after(f, s, n) + (int32_t)(more + 1);
	const keyx4 narrow = __builtin_convertvector(points, keyx4);

	memcpy(keys, &narrow, sizeof(narrow));
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void keys_after_avx2(tree_key *keys,
                                                            const struct node_fit *f,
                                                            const struct shape *s, uint32_t n,
                                                            uint32_t more)
{
	keys_after(keys, f, s, n, more);
}
#endif

static void keys_after_sse2(tree_key *keys, const struct node_fit *f, const struct shape *s,
                            uint32_t n, uint32_t more)
{
	keys_after(keys, f, s, n, more);
}

/* True if all numbers stay below FIT_MOST with n more pods. */
static bool stays_exact(const struct node_fit *f, const struct shape_fit *s, double n)
{
	return fit_exact(f) && s->exact && f->cpu_scored + n * s->cpu_scored < FIT_MOST &&
	       f->memory_scored + n * s->memory_scored < FIT_MOST &&
	       f->cpu_used + n * s->cpu_used < FIT_MOST &&
	       f->memory_used + n * s->memory_used < FIT_MOST && f->pods_left - n > -FIT_MOST;
}

/* Computes the keys after the next pods; false when numbers get too large. */
static bool keys_find(const struct views *vs, const struct view *v, const struct shape *s,
                      struct batch_node *a)
{
	const node_id id = vs->nodes->order[a->rank];
	const struct node_fit *f = &vs->nodes->fits[id];
	const uint32_t more = v->has_images ? v->images_of[a->rank] : 0;

	if (!stays_exact(f, &s->placed, (double)a->taken + BATCH_KEYS))
		return false;
#ifdef __x86_64__
	if (vs->avx2) {
		keys_after_avx2(a->keys, f, s, a->taken + 1, more);
		return true;
	}
#endif
	keys_after_sse2(a->keys, f, s, a->taken + 1, more);
	return true;
}

/* The node's entry in the batch; NULL when its pods must be placed one by one. */
static struct batch_node *batch_node_of(struct views *vs, const struct view *v,
                                        const struct shape *s, uint32_t rank)
{
	struct batch_node *a;

	if (vs->batch_at[rank] > 0)
		return &vs->batch[vs->batch_at[rank] - 1];
	if (!v->plain_counts || v->counts[rank] == vs->most || vs->score != SCORE_KUBE || !s->fit.exact)
		return NULL;
	a = &vs->batch[vs->batch_n];
	*a = (struct batch_node){ .rank = rank };
	if (!keys_find(vs, v, s, a))
		return NULL;
	vs->batch_at[rank] = ++vs->batch_n;
	return a;
}

/* Places pods as long as the node's keys can be computed here. */
static uint32_t take_known(struct views *vs, struct view *v, const struct shape *s,
                           struct batch_node *a, tree_key least, uint32_t most)
{
	const uint32_t rank = a->rank, before = a->taken;
	uint32_t count = v->counts[rank], taken = before;
	tree_key key = least;

	most += before;
	while (taken < most && key >= least) {
		if (taken % BATCH_KEYS == 0 && taken > 0) {
			a->taken = taken;
			if (!keys_find(vs, v, s, a))
				break;
		}
		key = --count > 0 ? a->keys[taken % BATCH_KEYS] : 0;
		taken++;
	}
	if (taken == before)
		return 0;
	a->taken = taken;
	v->counts[rank] = count;
	v->capacity = v->counted -= taken - before;
	if (v->masked)
		v->points[rank] = key;
	tree_put(&v->tree, rank, key);
	return taken - before;
}

uint32_t view_take_batch(struct views *vs, struct view *v, uint32_t rank, tree_key least,
                         uint32_t most)
{
	const struct shape *s = shape_of(vs, v->class);
	struct batch_node *a = batch_node_of(vs, v, s, rank);
	uint32_t n = a ? take_known(vs, v, s, a, least, most) : 0;

	assert(v->mode == VIEW_PLAIN && least > 0 && most > 0);
	if (n == most || tree_at(&v->tree, rank) < least)
		return n;
	view_batch_end(vs, v);
	do {
		view_take(vs, v, rank);
		n++;
	} while (n < most && tree_at(&v->tree, rank) >= least);
	return n;
}

void view_batch_end(struct views *vs, struct view *v)
{
	uint32_t mended = TREE_NONE;

	assert(vs->batch_n <= vs->nodes->count);
	for (uint32_t i = 0; i < vs->batch_n; i++) {
		const struct batch_node *a = &vs->batch[i];

		if (a->rank / TREE_FAN != mended) {
			mended = a->rank / TREE_FAN;
			tree_mend(&v->tree, mended);
		}
		pod_counts_allocate_many(vs->pod_counts, vs->nodes->order[a->rank], v->class, a->taken);
		vs->batch_at[a->rank] = 0;
	}
	vs->batch_n = 0;
	v->position = vs->nodes->log_n;
}
