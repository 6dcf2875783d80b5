/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/questions.h"

#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum slot_state { SLOT_FREE, SLOT_ASKED, SLOT_OPEN, SLOT_ANSWERED };

struct slot {
	enum slot_state state;
	bool forgotten; /* FREE after its answer */
	uint64_t number;
	struct asked_question asked;
	struct live_answer answer;
};

struct questions {
	pthread_mutex_t lock; /* of all below */
	bool closed;
	uint64_t asked;
	struct slot slots[ASKED_MAX];
	_Atomic uint32_t waiting; /* SLOT_ASKED: written under the lock */
	void (*answered)(void *context);
	void *context;
};

struct questions *questions_new(void (*answered)(void *context), void *context)
{
	struct questions *q = must_alloc(sizeof(*q));

	q->answered = answered;
	q->context = context;
	pthread_mutex_init(&q->lock, NULL);
	return q;
}

void questions_free(struct questions *q)
{
	if (!q)
		return;
	pthread_mutex_destroy(&q->lock);
	free(q);
}

static void waiting_add(struct questions *q, uint32_t more)
{
	/* Relaxed: it is polled, and what is asked is read under the lock. */
	atomic_fetch_add_explicit(&q->waiting, more, memory_order_relaxed);
}

int questions_ask(struct questions *q, const struct live_question *question,
                  const struct asked_about *about)
{
	int slot = -EBUSY;

	pthread_mutex_lock(&q->lock);
	for (uint32_t i = 0; slot < 0 && i < ASKED_MAX; i++)
		if (q->slots[i].state == SLOT_FREE)
			slot = (int)i;
	if (q->closed)
		slot = -ESHUTDOWN;
	if (slot >= 0) {
		struct slot *s = &q->slots[slot];

		s->state = SLOT_ASKED;
		s->forgotten = false;
		s->number = ++q->asked;
		s->asked.question = *question;
		s->asked.with_pod = about->pod != NULL;
		s->asked.with_gang = about->gang != NULL;
		if (about->pod)
			s->asked.pod = *about->pod;
		if (about->gang)
			s->asked.gang = *about->gang;
		waiting_add(q, 1);
	}
	pthread_mutex_unlock(&q->lock);
	return slot;
}

bool questions_take(struct questions *q, uint32_t slot, struct live_answer *out)
{
	struct slot *s = &q->slots[slot];
	bool answered;

	assert(slot < ASKED_MAX);
	pthread_mutex_lock(&q->lock);
	answered = s->state == SLOT_ANSWERED;
	if (answered) {
		*out = s->answer;
		s->state = SLOT_FREE;
	}
	pthread_mutex_unlock(&q->lock);
	return answered;
}

void questions_forget(struct questions *q, uint32_t slot)
{
	struct slot *s = &q->slots[slot];

	assert(slot < ASKED_MAX);
	pthread_mutex_lock(&q->lock);
	if (s->state == SLOT_ASKED)
		waiting_add(q, UINT32_MAX);
	if (s->state == SLOT_OPEN)
		s->forgotten = true;
	else
		s->state = SLOT_FREE;
	pthread_mutex_unlock(&q->lock);
}

bool questions_wait(struct questions *q)
{
	/* Relaxed: it is polled. */
	return atomic_load_explicit(&q->waiting, memory_order_relaxed) > 0;
}

bool questions_next(struct questions *q, uint32_t *slot, struct asked_question *out)
{
	struct slot *first = NULL;

	pthread_mutex_lock(&q->lock);
	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (q->slots[i].state == SLOT_ASKED && (!first || q->slots[i].number < first->number))
			first = &q->slots[i];
	if (first) {
		first->state = SLOT_OPEN;
		waiting_add(q, UINT32_MAX);
		*slot = (uint32_t)(first - q->slots);
		*out = first->asked;
	}
	pthread_mutex_unlock(&q->lock);
	return first != NULL;
}

static void answer(struct slot *s, const struct live_answer *a)
{
	assert(s->state == SLOT_ASKED || s->state == SLOT_OPEN);
	s->answer = *a;
	s->state = s->forgotten ? SLOT_FREE : SLOT_ANSWERED;
}

void questions_answer(struct questions *q, uint32_t slot, const struct live_answer *a)
{
	pthread_mutex_lock(&q->lock);
	answer(&q->slots[slot], a);
	pthread_mutex_unlock(&q->lock);
	q->answered(q->context);
}

void questions_close(struct questions *q)
{
	struct live_answer a = { .version = QUESTION_VERSION, .verdict = QUESTION_REFUSED };

	snprintf(a.text, sizeof(a.text), "no world follows the loop any more");
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (q->slots[i].state == SLOT_ASKED)
			answer(&q->slots[i], &a);
	atomic_store_explicit(&q->waiting, 0, memory_order_relaxed);
	pthread_mutex_unlock(&q->lock);
	q->answered(q->context);
}
