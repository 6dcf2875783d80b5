/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: free capacity over time, summed over all nodes. */
#include "core/timeline/timeline_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <string.h>

static wide *row(const struct profile *f, uint32_t i)
{
	return f->free + (size_t)i * f->stride;
}

static void reserve(struct profile *f, uint32_t n)
{
	if (n <= f->room)
		return;
	f->room = n * 2 + 64;
	f->times = must_grow(f->times, f->room * sizeof(*f->times));
	f->free = must_grow(f->free, (size_t)f->room * f->stride * sizeof(*f->free));
}

/* The index of the last row at or before the time, or of the first. */
static uint32_t row_at(const struct profile *f, uint64_t at_ns)
{
	uint32_t low = 0, high = f->n;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (f->times[middle] <= at_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A row begins at the time; its index. */
static uint32_t row_from(struct profile *f, uint64_t at_ns)
{
	const uint32_t i = row_at(f, at_ns);

	if (f->times[i] >= at_ns)
		return i;
	reserve(f, f->n + 1);
	memmove(&f->times[i + 2], &f->times[i + 1], (f->n - i - 1) * sizeof(*f->times));
	memmove(row(f, i + 2), row(f, i + 1), (size_t)(f->n - i - 1) * f->stride * sizeof(*f->free));
	memcpy(row(f, i + 1), row(f, i), f->stride * sizeof(*f->free));
	f->times[i + 1] = at_ns;
	f->n++;
	return i + 1;
}

static void shape_change(struct profile *f, wide *free, const struct shape *s, wide times)
{
	for (uint32_t i = 0; i < s->sums_n; i++)
		if (s->requests[i].resource < f->stride)
			free[s->requests[i].resource] += times * s->requests[i].value;
}

void profile_change(struct timeline *t, const struct timeline_ask *ask, uint64_t from_ns,
                    uint64_t to_ns, int sign)
{
	struct profile *f = &t->profile;
	uint32_t first, end;

	assert(from_ns < to_ns);
	first = row_from(f, from_ns);
	end = to_ns == TIME_NEVER ? f->n : row_from(f, to_ns);
	for (uint32_t i = first; i < end; i++)
		for (uint32_t k = 0; k < ask->wants_n; k++)
			shape_change(f, row(f, i), &t->shapes->slots[ask->wants[k].shape],
			             (wide)sign * ask->wants[k].members);
}

static bool is_of_rank(const struct promise *p, int64_t rank)
{
	return ask_rank(&p->ask) >= rank && promise_in_pictures(p);
}

/* How many ends the profile has: those up to the end of the window, or to the last promise. */
static uint32_t ends_within(const struct timeline *t, int64_t rank, uint64_t now_ns)
{
	uint64_t last_ns = time_add(now_ns, t->window_ns);

	for (uint32_t i = 0; i < t->promises_n; i++)
		if (is_of_rank(&t->promises[i], rank) && t->promises[i].at_ns > last_ns)
			last_ns = t->promises[i].at_ns;
	return ends_until(t, last_ns);
}

/* The rows of the first `ends` known ends alone. */
static void of_ends(struct timeline *t, uint32_t ends, uint64_t now_ns)
{
	struct profile *f = &t->profile;

	if (f->stride != t->nodes->columns) {
		f->stride = t->nodes->columns;
		f->room = 0;
	}
	reserve(f, ends + 1);
	f->times[0] = now_ns;
	memcpy(f->free, t->nodes->free_sum, f->stride * sizeof(*f->free));
	f->n = 1;
	for (uint32_t i = 0; i < ends; i++) {
		if (t->ends[i].end_ns > f->times[f->n - 1]) {
			memcpy(row(f, f->n), row(f, f->n - 1), f->stride * sizeof(*f->free));
			f->times[f->n++] = t->ends[i].end_ns;
		}
		shape_change(f, row(f, f->n - 1), &t->shapes->slots[t->ends[i].shape], 1);
	}
	budget_spend(t->budget, ends);
}

void profile_make(struct timeline *t, int64_t rank, bool whole, uint64_t now_ns)
{
	const size_t bytes = t->nodes->columns * sizeof(*t->profile_free);

	if (!t->profile_old && t->profile_ns == now_ns && t->profile_rank == rank &&
	    (t->profile_whole || !whole) && t->profile.stride == t->nodes->columns &&
	    memcmp(t->profile_free, t->nodes->free_sum, bytes) == 0)
		return;
	of_ends(t, whole ? t->ends_n : ends_within(t, rank, now_ns), now_ns);
	for (uint32_t i = 0; i < t->promises_n; i++) {
		const struct promise *p = &t->promises[i];
		const uint64_t from_ns = p->at_ns > now_ns ? p->at_ns : now_ns;

		if (is_of_rank(p, rank))
			profile_change(t, &p->ask, from_ns, ask_end(t, &p->ask, from_ns), -1);
	}
	budget_spend(t->budget, t->promises_n * UINT64_C(10));
	t->profile_old = false;
	t->profile_ns = now_ns;
	memcpy(t->profile_free, t->nodes->free_sum, bytes);
	t->profile_rank = rank;
	t->profile_whole = whole;
}

uint64_t profile_beyond(const struct timeline *t, uint64_t now_ns)
{
	const struct profile *f = &t->profile;
	const uint64_t last_ns = time_add(now_ns, t->window_ns);
	const uint32_t end = ends_until(t, last_ns), i = row_at(f, last_ns) + 1;
	const uint64_t row_ns = i < f->n ? f->times[i] : TIME_NEVER;

	return end < t->ends_n && t->ends[end].end_ns < row_ns ? t->ends[end].end_ns : row_ns;
}

static bool suffices(const struct timeline *t, const struct timeline_ask *ask, const wide *free)
{
	wide sums[RESOURCES_MAX];

	if (ask->wants_n == 1) { /* most gangs */
		const struct shape *s = &t->shapes->slots[ask->wants[0].shape];

		for (uint32_t i = 0; i < s->sums_n; i++)
			if (s->requests[i].group == 0 &&
			    (wide)s->requests[i].value * ask->wants[0].members > free[s->requests[i].resource])
				return false;
		return true;
	}
	memset(sums, 0, t->profile.stride * sizeof(sums[0]));
	for (uint32_t k = 0; k < ask->wants_n; k++) {
		const struct shape *s = &t->shapes->slots[ask->wants[k].shape];

		for (uint32_t i = 0; i < s->sums_n; i++)
			if (s->requests[i].group == 0)
				sums[s->requests[i].resource] += (wide)s->requests[i].value * ask->wants[k].members;
	}
	for (uint32_t r = 0; r < t->profile.stride; r++)
		if (sums[r] > free[r])
			return false;
	return true;
}

uint64_t profile_find(const struct timeline *t, const struct timeline_ask *ask, uint32_t *i)
{
	const struct profile *f = &t->profile;
	uint64_t from_ns = TIME_NEVER;
	uint32_t first = 0;

	for (uint32_t k = *i; k < f->n; k++) {
		if (!suffices(t, ask, row(f, k))) {
			from_ns = TIME_NEVER;
			continue;
		}
		if (from_ns == TIME_NEVER) {
			from_ns = f->times[k];
			first = k;
		}
		if (k + 1 == f->n || f->times[k + 1] >= ask_end(t, ask, from_ns)) {
			*i = first + 1;
			return from_ns;
		}
	}
	return TIME_NEVER;
}

uint32_t profile_row(const struct timeline *t, uint64_t at_ns)
{
	return row_at(&t->profile, at_ns);
}

void profile_begin(struct timeline *t, uint64_t at_ns)
{
	row_from(&t->profile, at_ns);
}

uint64_t profile_lacks(const struct timeline *t, const struct timeline_ask *ask, uint64_t until_ns)
{
	const struct profile *f = &t->profile;

	for (uint32_t i = 0; i < f->n && f->times[i] < until_ns; i++)
		if (!suffices(t, ask, row(f, i)))
			return f->times[i];
	return TIME_NEVER;
}
