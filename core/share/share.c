/* SPDX-License-Identifier: Apache-2.0 */
/* The tree, its guarantees, and what each queue uses. */
#include "core/share/share_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void share_ask_add(struct share_ask *ask, uint32_t resource, wide value)
{
	uint32_t i = 0;

	if (resource >= RESOURCES_MAX || value <= 0)
		return;
	while (i < ask->n && ask->wants[i].resource != resource)
		i++;
	if (i == ask->n)
		ask->wants[ask->n++] = (struct share_want){ .resource = resource };
	ask->wants[i].value += value;
}

static int names_compare(const void *a, const void *b, void *context)
{
	const struct share_def *defs = context;

	return strcmp(defs[*(const uint32_t *)a].name, defs[*(const uint32_t *)b].name);
}

static void ranks_find(struct shares *s)
{
	uint32_t *order = must_array(s->set->n, sizeof(*order));

	for (uint32_t q = 0; q < s->set->n; q++)
		order[q] = q;
	qsort_r(order, s->set->n, sizeof(*order), names_compare, (void *)(uintptr_t)s->set->defs);
	for (uint32_t i = 0; i < s->set->n; i++)
		s->queues[order[i]].rank = i;
	free(order);
}

/* QUEUE_WEIGHT_OF_LIMIT is at most what there is: a limit that stands for none is not all. */
static wide weight_of(const struct shares *s, uint32_t q, uint32_t r)
{
	const struct share_def *d = &s->set->defs[q];

	if (d->weight[r] != QUEUE_WEIGHT_OF_LIMIT)
		return d->weight[r];
	return d->limit[r] < s->total[r] ? d->limit[r] : s->total[r];
}

/* A queue's part of its siblings' weights; those of some dialects are bytes. */
static void weights_find(struct shares *s)
{
	const struct share_def *defs = s->set->defs;
	wide *sums = must_array(s->set->n, sizeof(*sums));

	for (uint32_t r = 0; r < s->set->resources; r++) {
		memset(sums, 0, s->set->n * sizeof(*sums));
		for (uint32_t q = 1; q < s->set->n; q++)
			sums[defs[q].parent] += weight_of(s, q, r);
		for (uint32_t q = 1; q < s->set->n; q++) {
			const wide weight = weight_of(s, q, r);
			const wide part = weight > 0 ? weight * 1000000 / sums[defs[q].parent] : 0;

			s->weight[share_at(s, q, r)] = weight > 0 && part == 0 ? 1 : (int64_t)part;
		}
		s->weight[share_at(s, 0, r)] = 1000000;
	}
	free(sums);
}

/* An inner queue is guaranteed at least what its children are. */
static void guarantees_add(struct shares *s)
{
	const struct share_def *defs = s->set->defs;

	for (uint32_t r = 0; r < s->set->resources; r++) {
		wide *sums = s->below; /* scratch: kept_all() follows */

		for (uint32_t q = 0; q < s->set->n; q++)
			sums[share_at(s, q, r)] = 0;
		for (uint32_t q = s->set->n; q-- > 0;) {
			const wide sum = sums[share_at(s, q, r)],
					   own = defs[q].guarantee[r] == QUEUE_ALL ? s->total[r] : defs[q].guarantee[r];

			s->own[share_at(s, q, r)] = wide_cut(sum > own ? sum : own);
			if (q > 0)
				sums[share_at(s, defs[q].parent, r)] += s->own[share_at(s, q, r)];
		}
	}
}

static void children_count(struct shares *s)
{
	const struct share_set *set = s->set;
	uint32_t at = 0;

	for (uint32_t q = 0; q < set->n; q++) {
		assert(q == 0 ? set->defs[q].parent == 0 : set->defs[q].parent < q);
		if (q > 0)
			s->queues[q].slot = s->queues[set->defs[q].parent].children++;
	}
	for (uint32_t q = 0; q < set->n; q++) {
		s->queues[q].leaf = s->queues[q].children == 0;
		s->queues[q].children_at = at;
		at += 2 * s->queues[q].children;
	}
	memset(s->firsts, 0xff, (size_t)at * sizeof(*s->firsts)); /* UINT32_MAX: none waits */
}

struct shares *shares_new(const struct share_set *set)
{
	struct shares *s = must_alloc(sizeof(*s));
	const size_t rows = (size_t)set->n * set->resources;

	assert(set->n > 0 && set->n <= QUEUES_MAX && set->resources <= RESOURCES_MAX);
	*s = (struct shares){ .set = set,
		                  .queues = must_array(set->n, sizeof(*s->queues)),
		                  .total = must_array(set->resources + 1, sizeof(*s->total)),
		                  .used = must_array(rows + 1, sizeof(*s->used)),
		                  .promised = must_array(rows + 1, sizeof(*s->promised)),
		                  .kept = must_array(rows + 1, sizeof(*s->kept)),
		                  .below = must_array(rows + 1, sizeof(*s->below)),
		                  .has = must_array(rows + 1, sizeof(*s->has)),
		                  .own = must_array(rows + 1, sizeof(*s->own)),
		                  .weight = must_array(rows + 1, sizeof(*s->weight)),
		                  .stale = must_array(set->n / 64 + 1u, sizeof(*s->stale)),
		                  .firsts = must_array(set->n * 2u, sizeof(*s->firsts)),
		                  .rests = must_array(set->n, sizeof(*s->rests)) };
	children_count(s);
	ranks_find(s);
	shares_capacity(s, s->total); /* none yet */
	return s;
}

void shares_free(struct shares *s)
{
	if (!s)
		return;
	free(s->queues);
	free(s->total);
	free(s->used);
	free(s->promised);
	free(s->kept);
	free(s->below);
	free(s->has);
	free(s->own);
	free(s->weight);
	free(s->stale);
	free(s->firsts);
	free(s->rests);
	history_free(s->history);
	free(s);
}

const struct share_set *shares_set(const struct shares *s)
{
	return s->set;
}

static int rests_compare(const void *a, const void *b)
{
	const struct share_rest *left = a, *right = b;

	if (left->rest != right->rest)
		return left->rest > right->rest ? -1 : 1;
	return left->rank < right->rank ? -1 : 1;
}

/* What the children of a queue are guaranteed of `cap`: scaled down if it is less than their sum,
 * what is left by rounding to those that lost most, then by name. */
static void children_scale(struct shares *s, const uint32_t *children, uint32_t n, uint32_t r,
                           wide cap)
{
	wide sum = 0, left = cap;

	for (uint32_t i = 0; i < n; i++)
		sum += s->own[share_at(s, children[i], r)];
	for (uint32_t i = 0; i < n; i++) {
		const size_t at = share_at(s, children[i], r);
		const wide part = sum > cap ? s->own[at] * cap / sum : s->own[at];

		s->has[at] = (int64_t)part;
		s->queues[children[i]].scaled |= sum > cap && s->own[at] > 0;
		s->rests[i] = (struct share_rest){ .rest = sum > cap ? s->own[at] * cap % sum : 0,
			                               .rank = s->queues[children[i]].rank,
			                               .queue = children[i] };
		left -= part;
	}
	if (sum <= cap)
		return;
	qsort(s->rests, n, sizeof(*s->rests), rests_compare);
	for (uint32_t i = 0; i < n && left > 0; i++, left--)
		s->has[share_at(s, s->rests[i].queue, r)]++;
}

/* Children by parent: `first[p]` to first[p + 1] of the array that is returned, to be freed. */
static uint32_t *children_list(const struct shares *s, uint32_t *first)
{
	const struct share_set *set = s->set;
	uint32_t *list = must_array(set->n + 1, sizeof(*list));

	memset(first, 0, (set->n + 2) * sizeof(*first));
	for (uint32_t q = 1; q < set->n; q++)
		first[set->defs[q].parent + 2]++;
	for (uint32_t p = 0; p < set->n; p++)
		first[p + 2] += first[p + 1];
	for (uint32_t q = 1; q < set->n; q++)
		list[first[set->defs[q].parent + 1]++] = q;
	return list;
}

static wide most(wide a, wide b)
{
	return a > b ? a : b;
}

/* kept of one queue, by what it uses and what its children keep. */
static wide kept_find(const struct shares *s, uint32_t queue, uint32_t r)
{
	const size_t at = share_at(s, queue, r);

	return most(most(0, s->below[at]), shares_reserved(s, queue, r) - s->used[at]);
}

static void kept_all(struct shares *s)
{
	for (uint32_t r = 0; r < s->set->resources; r++) {
		for (uint32_t q = 0; q < s->set->n; q++)
			s->below[share_at(s, q, r)] = 0;
		for (uint32_t q = s->set->n; q-- > 0;) {
			s->kept[share_at(s, q, r)] = kept_find(s, q, r);
			if (q > 0)
				s->below[share_at(s, s->set->defs[q].parent, r)] += s->kept[share_at(s, q, r)];
		}
	}
}

void shares_capacity(struct shares *s, const wide *total)
{
	uint32_t *first = must_array(s->set->n + 2, sizeof(*first));
	uint32_t *children = children_list(s, first);

	for (uint32_t q = 0; q < s->set->n; q++)
		s->queues[q].scaled = false;
	for (uint32_t r = 0; r < s->set->resources; r++)
		s->total[r] = wide_cut(total[r] > 0 ? total[r] : 0);
	weights_find(s);
	guarantees_add(s);
	for (uint32_t r = 0; r < s->set->resources; r++) {
		s->has[share_at(s, 0, r)] = (int64_t)s->total[r];
		for (uint32_t p = 0; p < s->set->n; p++)
			children_scale(s, children + first[p], first[p + 1] - first[p], r,
			               s->has[share_at(s, p, r)]);
	}
	free(children);
	free(first);
	kept_all(s);
	for (uint32_t q = 0; q < s->set->n; q++)
		share_mark_stale(s, q);
	s->eased++;
}

static void use(struct shares *s, uint32_t queue, uint32_t r, wide delta, bool supposed)
{
	uint32_t q = share_is_queue(s, queue) ? queue : 0;

	if (!share_counts(s, r))
		return;
	share_mark_stale(s, q);
	for (;; q = s->set->defs[q].parent) {
		const size_t at = share_at(s, q, r);
		const wide before = s->kept[at];

		if (s->history && !supposed)
			history_bring_up(s, q);
		s->used[at] += delta;
		assert(s->used[at] >= 0);
		s->kept[at] = kept_find(s, q, r);
		s->queues[q].eased += !supposed && delta < 0;
		if (q == 0)
			return;
		s->below[share_at(s, s->set->defs[q].parent, r)] += s->kept[at] - before;
	}
}

void shares_use(struct shares *s, uint32_t queue, uint32_t r, wide delta)
{
	use(s, queue, r, delta, false);
}

void shares_suppose(struct shares *s, uint32_t queue, uint32_t r, wide delta)
{
	use(s, queue, r, delta, true);
}

void shares_promise(struct shares *s, uint32_t queue, uint32_t r, wide value)
{
	if (!share_is_queue(s, queue) || !share_counts(s, r))
		return;
	share_mark_stale(s, queue);
	for (uint32_t q = queue;; q = s->set->defs[q].parent) {
		s->promised[share_at(s, q, r)] += value;
		if (q == 0)
			return;
	}
}

void shares_promise_none(struct shares *s, uint32_t queue)
{
	if (!share_is_queue(s, queue))
		return;
	share_mark_stale(s, queue);
	for (uint32_t q = queue;; q = s->set->defs[q].parent) {
		for (uint32_t r = 0; r < s->set->resources; r++)
			s->promised[share_at(s, q, r)] = 0;
		if (q == 0)
			return;
	}
}

void shares_waits_anew(struct shares *s, uint32_t queue)
{
	share_mark_stale(s, queue);
}

uint64_t shares_eased(const struct shares *s, uint32_t queue)
{
	return s->queues[share_is_queue(s, queue) ? queue : 0].eased + s->eased;
}

bool shares_is_leaf(const struct shares *s, uint32_t queue)
{
	return s->queues[queue].leaf;
}

wide shares_used(const struct shares *s, uint32_t queue, uint32_t r)
{
	return share_counts(s, r) ? s->used[share_at(s, queue, r)] : 0;
}

int64_t shares_guarantee(const struct shares *s, uint32_t queue, uint32_t r)
{
	return share_counts(s, r) ? s->has[share_at(s, queue, r)] : 0;
}

bool shares_scaled(const struct shares *s, uint32_t queue)
{
	return s->queues[queue].scaled;
}

int64_t shares_reserved(const struct shares *s, uint32_t queue, uint32_t r)
{
	const int64_t reserved = share_counts(s, r) ? s->set->defs[queue].reserved[r] : 0;
	const int64_t has = shares_guarantee(s, queue, r);

	return reserved < has ? reserved : has;
}

int64_t shares_limit(const struct shares *s, uint32_t queue, uint32_t r)
{
	int64_t limit = QUEUE_NO_LIMIT;

	for (uint32_t q = queue; share_counts(s, r); q = s->set->defs[q].parent) {
		if (s->set->defs[q].limit[r] < limit)
			limit = s->set->defs[q].limit[r];
		if (q == 0)
			break;
	}
	return limit;
}

wide shares_total(const struct shares *s, uint32_t r)
{
	return share_counts(s, r) ? s->total[r] : 0;
}
