/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/answers.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

/* Positions count records and never wrap in practice; the slot is position % ANSWERS_MAX. */
struct answers {
	alignas(CACHE_LINE) _Atomic uint64_t tail; /* the world's */
	struct record *slots[ANSWERS_MAX];
	alignas(CACHE_LINE) _Atomic uint64_t head; /* the loop's */
};

struct answers *answers_new(void)
{
	struct answers *a = aligned_alloc(alignof(struct answers), sizeof(*a));

	if (!a)
		fatal_memory();
	*a = (struct answers){ 0 };
	return a;
}

void answers_free(struct answers *a)
{
	struct record *r;

	if (!a)
		return;
	while ((r = answers_pop(a)) != NULL)
		free(r);
	free(a);
}

bool answers_push(struct answers *a, struct record *r)
{
	/* Relaxed: its own. */
	const uint64_t tail = atomic_load_explicit(&a->tail, memory_order_relaxed);

	assert(r->kind == EVENT_ANSWER);
	/* A2 */
	if (tail - atomic_load_explicit(&a->head, memory_order_acquire) == ANSWERS_MAX)
		return false;
	a->slots[tail % ANSWERS_MAX] = r;
	atomic_store_explicit(&a->tail, tail + 1, memory_order_release); /* R1 */
	return true;
}

struct record *answers_pop(struct answers *a)
{
	/* Relaxed: its own. */
	const uint64_t head = atomic_load_explicit(&a->head, memory_order_relaxed);
	struct record *r;

	if (head == atomic_load_explicit(&a->tail, memory_order_acquire)) /* A1 */
		return NULL;
	r = a->slots[head % ANSWERS_MAX];
	atomic_store_explicit(&a->head, head + 1, memory_order_release); /* R2 */
	return r;
}

bool answers_wait(const struct answers *a)
{
	/* Relaxed: answers_pop() loads it again with acquire. */
	return atomic_load_explicit(&a->head, memory_order_relaxed) !=
	       atomic_load_explicit(&a->tail, memory_order_relaxed);
}
