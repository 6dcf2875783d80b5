/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/timers.h"

#include <stdio.h>
#include <stdlib.h>

static bool earlier(const struct as_timer *a, const struct as_timer *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void swap(struct as_timer *a, struct as_timer *b)
{
	struct as_timer t = *a;

	*a = *b;
	*b = t;
}

void as_timers_add(struct as_timers *t, uint64_t due_ns, const char *key, const char *uid,
                   int action)
{
	size_t i = t->n;

	if (t->n == t->room) {
		t->room = t->room > 0 ? t->room * 2 : 64;
		t->at = as_realloc(t->at, t->room * sizeof(*t->at));
	}
	t->at[t->n++] = (struct as_timer){
		.due_ns = due_ns, .order = t->added++, .key = as_copy(key), .action = action
	};
	snprintf(t->at[i].uid, sizeof(t->at[i].uid), "%s", uid);
	for (; i > 0 && earlier(&t->at[i], &t->at[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&t->at[i], &t->at[(i - 1) / 2]);
}

bool as_timers_take(struct as_timers *t, uint64_t now_ns, struct as_timer *out)
{
	size_t i = 0;

	if (t->n == 0 || t->at[0].due_ns > now_ns)
		return false;
	*out = t->at[0];
	t->at[0] = t->at[--t->n];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < t->n && earlier(&t->at[child + 1], &t->at[child]))
			child++;
		if (child >= t->n || !earlier(&t->at[child], &t->at[i]))
			return true;
		swap(&t->at[i], &t->at[child]);
		i = child;
	}
}

void as_timer_free(struct as_timer *t)
{
	free(t->key);
	t->key = NULL;
}

uint64_t as_timers_due_ns(const struct as_timers *t)
{
	return t->n > 0 ? t->at[0].due_ns : UINT64_MAX;
}

void as_timers_clear(struct as_timers *t)
{
	while (t->n > 0)
		as_timer_free(&t->at[--t->n]);
}
