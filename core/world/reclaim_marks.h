/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods of other queues a search for victims of a gang may take: as many, in the order in
 * which they are given back, as leave every queue its guarantee, or with PREEMPTION_FAIR its share.
 * So whatever set of them the search chooses, none falls below.
 *
 * Given first: members beyond their gang's quorum; then what is of the queue with the greatest
 * share, of the lowest priority, and started last.  A gang that can't lose members one by one is
 * given whole or not at all.
 *
 * What has run for less than its queue's minRunSeconds is left out.
 *
 * Of the gang's own queue: members beyond the quorums of gangs of no higher priority; all else goes
 * by priority. */
#ifndef MUSTER_CORE_RECLAIM_MARKS_H
#define MUSTER_CORE_RECLAIM_MARKS_H

#include "core/world/keeper.h"

/* By pod: enum search_reclaim, to be freed; NULL: reclaim is off.  Sets kept->young. */
uint8_t *reclaim_marks(struct kept *kept, gang_id gang);
/* The same for a lone pod, by its index among the gangs: it takes nothing of other queues. */
uint8_t *reclaim_marks_lone(const struct kept *kept, uint32_t index);

#endif
