/* SPDX-License-Identifier: Apache-2.0 */
/* Members shared out over curves of nodes, so that the victims of all nodes together are the best
 * set.
 *
 * What a set costs is a list: sum, pods, ranks, starts, then for each name, the first one first,
 * whether that pod is spared.  Lists are compared by the first number that differs and add up over
 * nodes, so they can be reckoned with as numbers are.
 *
 *   greedy     each member more costs no less than the one before, on each node: the cheapest one
 *              on any node, again and again
 *   knapsack   else */
#include "core/search/counts_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>

#define CHOICES_MOST 64000000u

void counts_names_differ(const struct counts *t, const struct option *a, const struct option *b,
                         pod_id *first, bool *in_a)
{
	const uint32_t *x = t->victims + a->first, *y = t->victims + b->first;
	uint32_t i = 0, k = 0;

	while (i < a->pods || k < b->pods) {
		const bool from_a = k == b->pods || (i < a->pods && x[i] < y[k]);
		pod_id at;

		if (i < a->pods && k < b->pods && x[i] == y[k]) {
			i++, k++;
			continue;
		}
		at = pod_of(t, from_a ? x[i++] : y[k++]);
		if (*first == ID_NONE || gang_name_before(t->q, at, *first)) {
			*first = at;
			*in_a = from_a;
		}
	}
}

static const struct option *option_at(const struct counts *t, uint32_t curve, uint32_t e)
{
	static const struct option none = { .known = true };

	return e > 0 ? &t->options[t->curves[curve].first + e - 1] : &none;
}

static void option_choose(const struct counts *t, uint32_t curve, uint32_t e, bool *goes)
{
	const struct option *o = option_at(t, curve, e);

	for (uint32_t i = 0; i < o->pods; i++)
		goes[t->victims[o->first + i]] = true;
}

/* What member e costs on a curve that takes e - 1 already. */
struct extra {
	int64_t sum, pods, rank_sum, start_sum;
	uint32_t curve, e;
};

static struct extra extra_of(const struct counts *t, uint32_t curve, uint32_t e)
{
	const struct option *o = option_at(t, curve, e), *before = option_at(t, curve, e - 1);

	return (struct extra){ .sum = (int64_t)(o->sum - before->sum),
		                   .pods = (int64_t)o->pods - (int64_t)before->pods,
		                   .rank_sum = (int64_t)(o->rank_sum - before->rank_sum),
		                   .start_sum = (int64_t)(o->start_sum - before->start_sum),
		                   .curve = curve,
		                   .e = e };
}

static int signed_compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* The first pod by name that goes or is spared with the extra member; ID_NONE: none does. */
static pod_id extra_name(const struct counts *t, const struct extra *x, bool *goes)
{
	pod_id first = ID_NONE;

	counts_names_differ(t, option_at(t, x->curve, x->e), option_at(t, x->curve, x->e - 1), &first,
	                    goes);
	return first;
}

/* Negative if `a` costs less. */
static int extra_compare(const struct counts *t, const struct extra *a, const struct extra *b)
{
	bool a_goes = false, b_goes = false;
	pod_id x, y;

	if (a->sum != b->sum)
		return signed_compare(a->sum, b->sum);
	if (a->pods != b->pods)
		return signed_compare(a->pods, b->pods);
	if (a->rank_sum != b->rank_sum)
		return signed_compare(a->rank_sum, b->rank_sum);
	if (a->start_sum != b->start_sum)
		return signed_compare(b->start_sum, a->start_sum);
	x = extra_name(t, a, &a_goes);
	y = extra_name(t, b, &b_goes);
	if (x == ID_NONE && y == ID_NONE)
		return 0;
	if (x == y)
		return (a_goes ? -1 : 1) - (b_goes ? -1 : 1);
	if (y == ID_NONE || (x != ID_NONE && gang_name_before(t->q, x, y)))
		return a_goes ? -1 : 1;
	return b_goes ? 1 : -1;
}

static bool is_convex(const struct counts *t, uint32_t curve)
{
	for (uint32_t e = 2; e <= t->curves[curve].n; e++) {
		const struct extra before = extra_of(t, curve, e - 1), next = extra_of(t, curve, e);

		if (extra_compare(t, &before, &next) > 0)
			return false;
	}
	return true;
}

static void heap_sink(const struct counts *t, struct extra *heap, uint32_t n, uint32_t at)
{
	const struct extra moved = heap[at];

	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && extra_compare(t, &heap[child + 1], &heap[child]) < 0)
			child++;
		if (extra_compare(t, &moved, &heap[child]) <= 0)
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

/* Curves that are convex: the cheapest member more, again and again. */
static bool share_greedily(struct counts *t, bool *goes)
{
	struct extra *heap = must_array(t->curves_n + 1u, sizeof(*heap));
	uint32_t n = t->curves_n, left = t->missing;

	for (uint32_t curve = 0; curve < n; curve++)
		heap[curve] = extra_of(t, curve, 1);
	for (uint32_t i = n / 2; i-- > 0;)
		heap_sink(t, heap, n, i);
	for (; left > 0 && n > 0; left--) {
		const uint32_t curve = heap[0].curve, e = heap[0].e;

		if (e < t->curves[curve].n) {
			heap[0] = extra_of(t, curve, e + 1);
		} else {
			option_choose(t, curve, e, goes);
			heap[0] = heap[--n];
		}
		heap_sink(t, heap, n, 0);
	}
	for (uint32_t i = 0; i < n; i++)
		option_choose(t, heap[i].curve, heap[i].e - 1, goes);
	t->q->s.steps += CHOICE_STEPS * ((uint64_t)t->curves_n + t->missing);
	free(heap);
	return left == 0;
}

static uint16_t *choice_at(const struct counts *t, uint32_t curve, uint32_t members)
{
	return &t->choices[(size_t)curve * (t->missing + 1) + members];
}

/* Two ways to `members` on curves 0 to `curve` cost the same, with e_a and e_b on the last: true if
 * the first name that is in one of them only is a's. */
static bool names_better(struct counts *t, uint32_t curve, uint32_t members, uint32_t e_a,
                         uint32_t e_b)
{
	uint32_t a = members, b = members;
	pod_id first = ID_NONE;
	bool in_a = false;

	for (;;) {
		const struct option *x = option_at(t, curve, e_a), *y = option_at(t, curve, e_b);

		if (e_a != e_b)
			counts_names_differ(t, x, y, &first, &in_a);
		t->q->s.steps += CHOICE_STEPS;
		a -= e_a;
		b -= e_b;
		if (curve-- == 0 || a == b)
			return in_a;
		e_a = *choice_at(t, curve, a);
		e_b = *choice_at(t, curve, b);
	}
}

/* The best way to that many members on curves 0 to `curve`; values[] is that of the curves
 * before. */
static void choose(struct counts *t, struct option *values, uint32_t curve, uint32_t members)
{
	const uint32_t n = t->curves[curve].n < members ? t->curves[curve].n : members;
	struct option best = values[members];
	uint32_t choice = 0;

	for (uint32_t e = 1; e <= n; e++) {
		const struct option *before = &values[members - e], *o = option_at(t, curve, e);
		const struct option way = { .known = true,
			                        .sum = before->sum + o->sum,
			                        .pods = before->pods + o->pods,
			                        .rank_sum = before->rank_sum + o->rank_sum,
			                        .start_sum = before->start_sum + o->start_sum };
		int order;

		if (!before->known)
			continue;
		order = best.known ? option_compare(&way, &best) : -1;
		if (order > 0 || (order == 0 && !names_better(t, curve, members, e, choice)))
			continue;
		best = way;
		choice = e;
	}
	values[members] = best;
	*choice_at(t, curve, members) = (uint16_t)choice;
	t->q->s.steps += CHOICE_STEPS * (n + 1);
}

/* Any curves: a knapsack. */
static bool share_by_knapsack(struct counts *t, bool *goes)
{
	struct option *values;
	uint32_t left = t->missing;
	bool found;

	if ((uint64_t)t->curves_n * (t->missing + 1u) > CHOICES_MOST)
		return false;
	gang_rank_names(t->q);
	values = must_array(t->missing + 1u, sizeof(*values));
	t->choices = must_array((size_t)t->curves_n * (t->missing + 1u), sizeof(*t->choices));
	values[0].known = true;
	for (uint32_t curve = 0; curve < t->curves_n && !search_spent(&t->q->s); curve++)
		for (uint32_t members = t->missing; members > 0; members--)
			choose(t, values, curve, members);
	found = values[left].known && !search_spent(&t->q->s);
	for (uint32_t curve = t->curves_n; found && curve-- > 0;) {
		const uint32_t e = *choice_at(t, curve, left);

		option_choose(t, curve, e, goes);
		left -= e;
	}
	free(values);
	return found;
}

bool counts_share_out(struct counts *t, bool *goes)
{
	bool convex = true;

	for (uint32_t curve = 0; convex && curve < t->curves_n; curve++)
		convex = is_convex(t, curve);
	return convex ? share_greedily(t, goes) : share_by_knapsack(t, goes);
}
