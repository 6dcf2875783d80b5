/* SPDX-License-Identifier: Apache-2.0 */
/* Answers on their way from the world's thread to the loop (EVENT_ANSWER): pointers to records,
 * each of one owner at a time.  One producer, one consumer, private memory.
 *
 * Progress: wait-free.  An answer that finds no space is dropped; its ticket expires.
 *
 * Pairs
 *   R1 -> A1   tail: the record, to the loop
 *   R2 -> A2   head: the slot, back to the world's thread */
#ifndef MUSTER_CORE_ANSWERS_H
#define MUSTER_CORE_ANSWERS_H

#include "ipc/abi.h"

#include <stdbool.h>

#define ANSWERS_MAX 32u

struct answers;

struct answers *answers_new(void);
void answers_free(struct answers *a); /* and the records in it */

/* World's thread: the record is the loop's afterwards.  False: there is no space. */
bool answers_push(struct answers *a, struct record *r);

/* Loop: the next record, memory of the caller; NULL: none. */
struct record *answers_pop(struct answers *a);
bool answers_wait(const struct answers *a);

#endif
