/* SPDX-License-Identifier: Apache-2.0 */
/* Which gangs were evicted for others, so that gangs of several queues do not take from each other
 * in a circle for ever (decision 095): one that was reclaimed is not taken again, and takes
 * nothing, until a gang arrives, ends or is edited.  Between two such changes a gang is reclaimed
 * once at most.
 *
 *   stands ──evicted──► away ──its victims are gone, and it starts again, or they stay──► stands
 *
 * What follows from evictions is no change: while a gang is away, its pods end and come back
 * unnoticed.  It may be dropped meanwhile and come back under its name.
 *
 * Pure: gangs are numbers below `gangs`.  Memory: 32 bytes for each of them from the first eviction
 * on, and TAKEN_GONE_MAX names; a gang that came back after so many others had gone, or under
 * another name, is one that arrived. */
#ifndef MUSTER_CORE_TAKEN_H
#define MUSTER_CORE_TAKEN_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAKEN_GONE_MAX 1024u

/* When a gang was reclaimed, and by which queue's. */
struct taken_by {
	uint64_t at_ns; /* 0: it was not */
	uint32_t queue; /* as the caller numbers them; QUEUE_MISSING: it isn't there any more */
};

struct taken {
	uint64_t changes; /* so far; a mark of before is none */
	struct taken_mark {
		uint64_t at; /* `changes` + 1 when it was reclaimed; 0: it never was */
		bool away;
		bool whole; /* `at` is of the eviction that it is away for, and nothing of it has gone */
		struct taken_by by; /* of `at`, also when there were changes since */
	} * marks;              /* by gang; NULL: none was evicted yet */
	struct taken_gone {     /* away, and dropped */
		char *name;         /* NULL: unused */
		uint32_t bytes;
		uint32_t hash; /* of the name, so that few are compared */
		uint64_t at;
		struct taken_by by;
	} * gone;        /* TAKEN_GONE_MAX, a ring */
	uint64_t gone_n; /* so far */
};

/* It forgets all, and owns no memory then. */
void taken_clear(struct taken *t);

/* *t, which owns memory of its own or none, becomes equal to *from. */
void taken_copy(struct taken *t, const struct taken *from, uint32_t gangs);

/* The gang has lost its quorum to another one; `by`: of another queue, else NULL. */
void taken_evict(struct taken *t, uint32_t gangs, uint32_t gang, const struct taken_by *by);

static inline bool taken_is_on(const struct taken *t)
{
	return t->marks != NULL;
}

/* A gang arrived, ended or was edited. */
static inline void taken_change(struct taken *t)
{
	t->changes++;
}

/* True if the gang is not taken, and takes nothing. */
static inline bool taken_is(const struct taken *t, uint32_t gang)
{
	return t->marks && t->marks[gang].at == t->changes + 1;
}

static inline bool taken_is_away(const struct taken *t, uint32_t gang)
{
	return t->marks && t->marks[gang].away;
}

static inline struct taken_by taken_by(const struct taken *t, uint32_t gang)
{
	return t->marks ? t->marks[gang].by : (struct taken_by){ 0 };
}

/* A member of the gang, which is away, has gone. */
static inline void taken_lose(struct taken *t, uint32_t gang)
{
	t->marks[gang].whole = false;
}

/* It started again, and none of its members is still to go.  If none went, because the eviction was
 * refused or withdrawn, it was not reclaimed. */
void taken_stands(struct taken *t, uint32_t gang);

/* The queues q < n with gone[q] are not there any more, and their numbers may get other ones. */
void taken_forget(struct taken *t, uint32_t gangs, const bool *gone, uint32_t n);

/* The gang's number is free, or is that of this gang; with taken_is_on() alone. */
void taken_drop(struct taken *t, uint32_t gang, const char *name, size_t bytes);
void taken_begin(struct taken *t, uint32_t gang, const char *name, size_t bytes);

#endif
