/* SPDX-License-Identifier: Apache-2.0 */
/* With reclaim: what counts as a change after which gangs that were reclaimed may be taken, and
 * take, again (core/share/taken.h).
 *
 *   arrived   a gang has its members, and did not have them before
 *   ended     a pod with a node is gone
 *   edited    the object of a gang; a queue, by its record; the queue of a pod that has a node;
 *             what the nodes have in all
 *
 * Not: what follows from evictions.  Members of a gang that was evicted end and come back; victims
 * that no gang misses (members beyond a quorum, lone pods) end; a lone pod comes, which takes
 * nothing of other queues.
 *
 * Memory of the core alone: after EVENT_BEGIN, and so after the death of either process, no gang
 * was reclaimed.  Each restart allows one more round. */
#ifndef MUSTER_CORE_EVICTED_H
#define MUSTER_CORE_EVICTED_H

#include "core/lifecycle/state.h"

/* The eviction of the pod was refused or withdrawn: a cycle of its gang may find that it stands. */
void evicted_pod_stays(struct core *c, pod_id id);

/* Both with taken_is_on() alone. */

/* The pod, which is about to be removed, may have ended by itself. */
void evicted_pod_ends(struct core *c, const struct pod *p);

/* The gang, of which a cycle has run, is about to be in that state. */
void evicted_gang_follow(struct core *c, uint32_t index, enum gang_state state);

#endif
