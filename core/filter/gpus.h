/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of nodes for SCORE_FGD and SCORE_MUSTER: what the policies for shares of GPUs
 * (core/devices/shares.h) know in a running core.
 *
 *   GPUs of a node      extended resources NAME/gpu that are free, and devices that the simple
 *                       claims of the mix may have (core/devices/inventory_shares.h); a share
 *                       goes to the first with room, as the allocator chooses
 *   models              a bit for each such resource, and for each question of a simple claim
 *   typical tasks       the shapes of the pods that there are, each with its number of pods; CPU,
 *                       memory and GPUs of their requests and claims.  A pod that is bound has
 *                       claims no more (core/devices/inventory.h): with devices, of pods that ask
 *                       for no GPU those that are bound don't count
 *
 * The mix is made again after an eighth of the pods came or are gone, when a question changes, and
 * when the first pod comes that asks it.  Then all views are built again (rules_version).  It
 * depends on records and plans alone, so a replay makes the same.  Work for a score is bounded by
 * GPU_TASKS, and for a mix by GPU_SHAPES. */
#ifndef MUSTER_CORE_GPUS_H
#define MUSTER_CORE_GPUS_H

#include "core/base/config.h"
#include "core/classes/pod_counts.h"

struct gpus;

struct gpus *gpus_new(void);
void gpus_free(struct gpus *g);

/* Makes the mix if it is due.  Before a plan; not between two pods of one. Nothing without
 * cs->gpus. */
void gpus_follow(struct pod_counts *cs);
/* A question changed, or everything: there is no mix until the next gpus_follow(). */
void gpus_forget(struct pod_counts *cs);

/* A pod came that asks the question: if it is the first one since questions changed, the mix is
 * due, so that the question has a place in it.  Only with cs->gpus. */
void gpus_ask(struct pod_counts *cs, uint32_t question);

/* SCORE_FGD: 0 to 100, SCORE_MUSTER: 0 to SHARE_POINTS_MOST for a node on which the pod fits.
 * False: what it asks of GPUs is not known, or there is no mix. */
bool gpus_score(enum score_policy policy, const struct pod_counts *cs, node_id id,
                const struct shape *s, uint32_t *points);

#endif
