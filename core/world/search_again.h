/* SPDX-License-Identifier: Apache-2.0 */
/* Searches without a world's thread: of a replay, which searches for an answer (EVENT_ANSWER)
 * again, and of an offline core.  The records are followed as by a world, and a core is made of
 * them as for the first search; its memory is kept for the next one. */
#ifndef MUSTER_CORE_SEARCH_AGAIN_H
#define MUSTER_CORE_SEARCH_AGAIN_H

#include "ipc/abi.h"

#include <stdbool.h>

struct core;
struct search_again;

struct search_again *search_again_new(const struct limits *limits);
void search_again_free(struct search_again *s);

/* A core applied the record, with this result. */
void search_again_follow(struct search_again *s, const struct record *r, int rc);

/* A ticket that has no answer yet: of the gang, or lone pod, of that index. */
struct search_ticket {
	uint64_t number;
	uint32_t gang, generation;
};

/* The first one; false: there is none. */
bool search_again_open(const struct core *core, struct search_ticket *out);

/* The pod was evicted: each budget that it is in allows one less, as the Eviction API counts. */
void search_again_spend(struct search_again *s, const struct core *core, uint32_t pod);

/* The answer to that ticket of the core, which has applied so many records: memory of the caller.
 * NULL: there is no such ticket, or no search was asked for. */
struct record *search_again(struct search_again *s, const struct core *core, uint64_t ticket,
                            uint64_t position);

/* The same of a group where all that goes is reclaimed: every gang has one priority.  It is
 * searched for beside what runs alone, since tens of thousands may wait.  NULL also where no queue
 * uses so much that anything of it may go. */
struct record *search_again_reclaim(struct search_again *s, const struct core *core,
                                    uint64_t ticket, uint64_t position);

/* True if the search ended before its steps were spent: the answer is not of the records alone. */
bool search_again_was_cut(const struct event_answer *answer);

#endif
