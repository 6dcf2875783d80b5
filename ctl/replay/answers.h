/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of searches in a recording (EVENT_ANSWER), searched for again: a replay takes them as
 * they were recorded, and does not say whether they were right.
 *
 *   answers_read()    first pass: which answers there are, and of which position
 *   answers_follow()  second pass, after each step: a core that is at the position of an answer is
 *                     searched as the world's thread did (core/world/search_again.h)
 */
#ifndef MUSTER_CTL_ANSWERS_H
#define MUSTER_CTL_ANSWERS_H

#include "ipc/abi.h"

struct answers;
struct core;

struct answers_counts {
	uint64_t answers; /* in the recording */
	uint64_t equal;
	uint64_t cut; /* the search was ended early, by a stop or by records that waited */
	uint64_t differ;
	char difference[512]; /* of the first one that differs */
};

/* EXIT_DONE, or the exit code and `error`. */
int answers_read(struct answers **out, const char *path, char *error, size_t error_bytes);
void answers_free(struct answers *a);

/* The core applied that record, with this result. */
void answers_follow(struct answers *a, const struct core *core, const struct record *r, int rc);

const struct answers_counts *answers_counts(const struct answers *a);

#endif
