/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods of other queues a search for victims of a gang may take: as many, in the order in
 * which they are given back, as leave every queue its guarantee, or with PREEMPTION_FAIR its share.
 * So whatever set of them the search chooses, none falls below.
 *
 * Given first: members beyond their gang's quorum; then what is of the queue with the greatest
 * share, of the lowest priority, and started last.  A gang that can't lose members one by one is
 * given whole or not at all.  Of the sets of equally many pods and priorities the search takes the
 * one that comes first in this order.
 *
 * What has run for less than its queue's minRunSeconds is left out.
 *
 * Of the gang's own queue: members beyond the quorums of gangs of no higher priority; all else goes
 * by priority. */
#ifndef MUSTER_CORE_RECLAIM_MARKS_H
#define MUSTER_CORE_RECLAIM_MARKS_H

#include "core/world/keeper.h"

/* By pod; both are NULL when reclaim is off. */
struct reclaim_marks {
	uint8_t *marks;  /* enum search_reclaim */
	uint32_t *ranks; /* its place in the order of giving */
};

/* `has`: the core that has the gang and its queue: the world, or that of a question which created
 * it (keeper_hooks.whole).  Sets kept->young. */
struct reclaim_marks reclaim_marks(struct kept *kept, const struct core *has, gang_id gang);
void reclaim_marks_free(struct reclaim_marks *marks);

/* The marks for a lone pod: it takes nothing of other queues.  `has` as above.
 * To be freed; NULL: reclaim is off. */
uint8_t *reclaim_marks_lone(const struct kept *kept, const struct core *has, pod_id pod);

#endif
