/* SPDX-License-Identifier: Apache-2.0 */
/* Retained reservations: a member whose binding was refused keeps its capacity until the gang's
 * next plan has tried it, so that other gangs do not take what a partially bound gang needs.
 *
 * A gang has them only while it is partially bound (core/lifecycle/precedence.h) and its members
 * could still complete it. */
#ifndef MUSTER_CORE_RETAIN_H
#define MUSTER_CORE_RETAIN_H

#include "core/lifecycle/state.h"

/* Ends the pod's reservation if it is retained. */
void retained_end(struct core *c, struct pod *p);

/* Call when the gang changed: ends all that it retains unless it is partially bound and has members
 * enough that can be placed now or after their backoff. */
void gang_retain_check(struct core *c, uint32_t index);

/* A plan was tried: ends what is retained for members that are out of backoff. */
void gang_retain_untried(struct core *c, uint32_t index);

/* Releases what the gang retains, in the sums of nodes only: its own plan may use it.  In the same
 * step one of the next two has to follow. */
void gang_release_tentatively(struct core *c, const struct gang *g);

/* The plan failed: allocates it again, except where the node no longer has the capacity and, unless
 * of_tried_too, for members that the plan has tried. */
void gang_restore(struct core *c, const struct gang *g, bool of_tried_too);

/* One more pod of the class fits nowhere: sets in the gang's reason on how many nodes it would but
 * for what others retain.  Looks at RETAINING_SHOWN gangs and 64 members. */
void retained_count(struct core *c, uint32_t index, class_id class, struct reason *r);

/* The plan placed members: nothing is retained any more. */
void gang_release_finally(struct core *c, const struct gang *g);

#endif
