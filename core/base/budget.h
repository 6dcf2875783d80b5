/* SPDX-License-Identifier: Apache-2.0 */
/* The work budget of a scheduling round: a count of work done, in units of about 10 ns, that loops
 * compare with their limits.  It replaces a clock, so that a recording replays to the same
 * decisions.
 *
 * One budget belongs to a core; everything that works for a round spends from it. */
#ifndef MUSTER_CORE_BUDGET_H
#define MUSTER_CORE_BUDGET_H

#include <stdint.h>

struct budget {
	uint64_t spent;
};

static inline void budget_reset(struct budget *b)
{
	b->spent = 0;
}

static inline void budget_spend(struct budget *b, uint64_t work)
{
	b->spent += work;
}

/* What is left of a limit; 0 when the limit is reached. */
static inline uint64_t budget_left(const struct budget *b, uint64_t limit)
{
	return b->spent < limit ? limit - b->spent : 0;
}

#endif
