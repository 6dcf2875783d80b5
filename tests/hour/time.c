/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hour/hour.h"
#include "ipc/memory.h"

static bool is_before(const struct timer *a, const struct timer *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

void timers_add(struct timers *t, struct timer timer)
{
	size_t i = t->n;

	if (t->n == t->room) {
		t->room = t->room > 0 ? 2 * t->room : 1024;
		t->at = must_grow(t->at, t->room * sizeof(*t->at));
	}
	timer.order = t->added++;
	t->n++;
	for (; i > 0 && is_before(&timer, &t->at[(i - 1) / 2]); i = (i - 1) / 2)
		t->at[i] = t->at[(i - 1) / 2];
	t->at[i] = timer;
}

uint64_t timers_due_ns(const struct timers *t)
{
	return t->n > 0 ? t->at[0].at_ns : HOUR_NEVER;
}

struct timer timers_take(struct timers *t)
{
	const struct timer first = t->at[0], last = t->at[--t->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < t->n; i = child) {
		if (child + 1 < t->n && is_before(&t->at[child + 1], &t->at[child]))
			child++;
		if (!is_before(&t->at[child], &last))
			break;
		t->at[i] = t->at[child];
	}
	t->at[i] = last;
	return first;
}
