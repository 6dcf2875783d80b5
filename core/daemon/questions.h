/* SPDX-License-Identifier: Apache-2.0 */
/* Questions on their way from the control thread to the world's thread, and their answers back.
 *
 *   FREE --ask--> ASKED --next--> OPEN --answer--> ANSWERED --take--> FREE
 *
 * ASKED_MAX at a time, so memory is bounded, and a mutex: neither thread holds it for longer
 * than a copy, and the loop never takes it.  The world's thread closes the box when it ends: then
 * no question is taken, and those that were are answered with a refusal. */
#ifndef MUSTER_CORE_QUESTIONS_H
#define MUSTER_CORE_QUESTIONS_H

#include "ipc/question.h"

#include <stdbool.h>

#define ASKED_MAX 4u

struct questions;

/* What the question is about, if the cluster does not have it: then it names none.  One of them, or
 * NULL. */
struct asked_about {
	const struct live_pod *pod;
	const struct live_gang *gang;
};

struct asked_question {
	struct live_question question;
	bool with_pod, with_gang;
	union {
		struct live_pod pod;
		struct live_gang gang;
	};
};

/* `answered` is called after each answer, in the world's thread. */
struct questions *questions_new(void (*answered)(void *context), void *context);
void questions_free(struct questions *q);

/* Control thread.  The slot, or
 *
 *   -EBUSY      so many are asked
 *   -ESHUTDOWN  no world follows the loop any more */
int questions_ask(struct questions *q, const struct live_question *question,
                  const struct asked_about *about);
/* True: answered; the slot is free again. */
bool questions_take(struct questions *q, uint32_t slot, struct live_answer *out);
/* The asker is gone. */
void questions_forget(struct questions *q, uint32_t slot);

/* World's thread: true if one waits; the oldest of them, and its slot. */
bool questions_wait(struct questions *q);
bool questions_next(struct questions *q, uint32_t *slot, struct asked_question *out);
void questions_answer(struct questions *q, uint32_t slot, const struct live_answer *answer);
void questions_close(struct questions *q);

#endif
