/* SPDX-License-Identifier: Apache-2.0 */
/* Many pods of one kind taken in a row: core/index/views.h.
 *
 * What a pod adds to a node is the same for each of them, so the keys that the node has after one,
 * two, three and four more are worked out together, and are there when it is chosen again.  Its
 * line, its sums and all that others see follow once, with view_settle().
 *
 * The numbers are those of node_key(): as long as they are whole and below FIT_MOST, n pods at once
 * are n pods one after the other. */
#include "core/index/views_impl.h"

#include "core/base/lanes.h"

#include <assert.h>
#include <string.h>

static_assert(AHEAD_KEYS == LANES, "one step");

/* fit_balance() */
INLINE numbers balances(const struct node_fit *f, reals cpu_used, reals memory_used)
{
	const reals cpu = smaller(cpu_used / same(f->cpu), same(1)),
				memory = smaller(memory_used / same(f->memory), same(1));

	return __builtin_convertvector(
		(same(1) - larger(cpu - memory, memory - cpu) * same(0.5)) * same(100), numbers);
}

/* The share of a resource that is left, in percent, as fit_points() has it. */
INLINE numbers left(double all, reals scored)
{
	return __builtin_convertvector(larger(same(all) - scored, same(0)) * same(100) / same(all),
	                               numbers);
}

/* fit_points() with n pods more on the node, n + 1, ... */
INLINE numbers points_after(const struct node_fit *f, const struct shape *s, double n)
{
	const struct shape_fit *each = &s->placed, *asked = &s->fit;
	const reals pods = (reals){ 0, 1, 2, 3 } + same(n);
	const reals cpu_used = same(f->cpu_used) + pods * same(each->cpu_used);
	const reals memory_used = same(f->memory_used) + pods * same(each->memory_used);
	const numbers cpu =
		left(f->cpu, same(f->cpu_scored + asked->cpu_scored) + pods * same(each->cpu_scored));
	const numbers memory = left(f->memory, same(f->memory_scored + asked->memory_scored) +
	                                           pods * same(each->memory_scored));
	const numbers points = (cpu + memory) >> 1;
	numbers change;

	if (!asked->balances)
		return points;
	change = balances(f, cpu_used + same(asked->cpu_used), memory_used + same(asked->memory_used)) -
	         balances(f, cpu_used, memory_used);
	return points + 50 + ((change + 50) >> 1);
}

INLINE void keys_after(tree_key *keys, const struct node_fit *f, const struct shape *s, uint32_t n,
                       uint32_t more)
{
	const numbers points = points_after(f, s, n) + (int32_t)(more + 1);
	const keys_of_step narrow = __builtin_convertvector(points, keys_of_step);

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

static void keys_after_plain(tree_key *keys, const struct node_fit *f, const struct shape *s,
                             uint32_t n, uint32_t more)
{
	keys_after(keys, f, s, n, more);
}

/* Do the numbers stay small enough with so many pods more? */
static bool stays_exact(const struct node_fit *f, const struct shape_fit *s, double n)
{
	return fit_exact(f) && s->exact && f->cpu_scored + n * s->cpu_scored < FIT_MOST &&
	       f->memory_scored + n * s->memory_scored < FIT_MOST &&
	       f->cpu_used + n * s->cpu_used < FIT_MOST &&
	       f->memory_used + n * s->memory_used < FIT_MOST && f->pods_left - n > -FIT_MOST;
}

/* The keys after the next pods; false when they are too large for that. */
static bool keys_find(const struct views *vs, const struct view *v, const struct shape *s,
                      struct ahead *a)
{
	const node_id id = vs->nodes->order[a->rank];
	const struct node_fit *f = &vs->nodes->fits[id];
	const uint32_t more = s->body->images_n > 0 ? v->images_of[a->rank] : 0;

	if (!stays_exact(f, &s->placed, (double)a->taken + AHEAD_KEYS))
		return false;
#ifdef __x86_64__
	if (vs->wide_lanes) {
		keys_after_avx2(a->keys, f, s, a->taken + 1, more);
		return true;
	}
#endif
	keys_after_plain(a->keys, f, s, a->taken + 1, more);
	return true;
}

/* What was taken of the node; NULL when it is not to be taken ahead. */
static struct ahead *ahead_of(struct views *vs, const struct view *v, const struct shape *s,
                              uint32_t rank)
{
	struct ahead *a;

	if (vs->ahead_at[rank] > 0)
		return &vs->ahead[vs->ahead_at[rank] - 1];
	if (!v->plain_room || v->counts[rank] == vs->most || vs->score != SCORE_KUBE || !s->fit.exact)
		return NULL;
	a = &vs->ahead[vs->ahead_n];
	*a = (struct ahead){ .rank = rank };
	if (!keys_find(vs, v, s, a))
		return NULL;
	vs->ahead_at[rank] = ++vs->ahead_n;
	return a;
}

/* As many as its keys are known for. */
static uint32_t take_known(struct views *vs, struct view *v, const struct shape *s, struct ahead *a,
                           tree_key least, uint32_t most)
{
	const uint32_t rank = a->rank, before = a->taken;
	uint32_t count = v->counts[rank], taken = before;
	tree_key key = least;

	most += before;
	while (taken < most && key >= least) {
		if (taken % AHEAD_KEYS == 0 && taken > 0) {
			a->taken = taken;
			if (!keys_find(vs, v, s, a))
				break;
		}
		key = --count > 0 ? a->keys[taken % AHEAD_KEYS] : 0;
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

uint32_t view_take_ahead(struct views *vs, struct view *v, uint32_t rank, tree_key least,
                         uint32_t most)
{
	const struct shape *s = shape_of(vs, v->kind);
	struct ahead *a = ahead_of(vs, v, s, rank);
	uint32_t n = a ? take_known(vs, v, s, a, least, most) : 0;

	assert(v->mode == VIEW_PLAIN && least > 0 && most > 0);
	if (n == most || tree_at(&v->tree, rank) < least)
		return n;
	view_settle(vs, v);
	do {
		view_take(vs, v, rank);
		n++;
	} while (n < most && tree_at(&v->tree, rank) >= least);
	return n;
}

void view_settle(struct views *vs, struct view *v)
{
	uint32_t mended = TREE_NONE;

	for (uint32_t i = 0; i < vs->ahead_n; i++) {
		const struct ahead *a = &vs->ahead[i];

		if (a->rank / TREE_FAN != mended) {
			mended = a->rank / TREE_FAN;
			tree_mend(&v->tree, mended);
		}
		census_take_many(vs->census, vs->nodes->order[a->rank], v->kind, a->taken);
		vs->ahead_at[a->rank] = 0;
	}
	vs->ahead_n = 0;
	v->position = vs->nodes->log_n;
}
