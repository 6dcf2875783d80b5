/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the claims of devices before a pod is bound, as kind of work before Bindings.
 *
 *     CMD_DEVICES ─► kept by pod ─► prepare(): checked, the devices are taken in the model
 *
 *     each claim:  PATCH finalizer ─► PATCH status: allocation, reservedFor ─► seen allocated
 *                  (allocated by another:   PATCH status: reservedFor)             │
 *                                                                                  ▼
 *     after all:   a device that another claim has too, or a claim that was    all devices' binding
 *                  allocated elsewhere; a device whose binding failed,         conditions are True:
 *                  or was not ready in time: FAILED, and undone                       DONE
 *
 *     undo:        PATCH status: allocation and reservedFor away, or our consumer alone when the
 *                  claim has others, or was allocated before
 *
 *     extended resources that devices serve: POST claim ─► as above ─► PATCH status of the pod;
 *     undo: PATCH finalizer away ─► DELETE, also of those that earlier attempts left
 *
 * Binding conditions (KEP 5007) are waited for on the watch, so long from the allocation on; a
 * clock that is behind makes it so long from the last write.  Devices that were not ready are
 * not chosen for CLAIM_AVOID_MS.
 *
 * Each write names uid and resourceVersion.  After an answer that leaves it open, and after a
 * conflict, the claim is read before anything else; what the API server has is never written again.
 *
 * Deaths: the choice is not kept, and the time of the allocation is the claim's.  An instance that
 * comes after finds the claims of a pod allocated, and binds it there, or it takes them back: what
 * is not allocated gets another version first, so that no write of the instance before can land
 * (CMD_CANCEL_BIND).  And whatever happened, a claim that was made for a pod of ours from a
 * template, or is reserved for it, and is allocated while the pod waits and nothing is being
 * written, is given back after CLAIM_KEPT_MS: of one that others have, too, its reservation.
 */
#ifndef MUSTER_FRONTEND_CLAIM_BIND_H
#define MUSTER_FRONTEND_CLAIM_BIND_H

#include "frontend/base/env.h"
#include "frontend/bind/prebind.h"
#include "frontend/model/model.h"

#define CLAIM_KEPT_MS 20000u
#define CLAIM_AVOID_MS 60000u

struct claim_bind_counts {
	uint64_t allocated; /* claims */
	uint64_t undone;    /* claims */
	uint64_t failed;    /* pods, planned again */
	uint64_t conflicts; /* a device was in another claim too */
};

struct claim_bind;
struct binder;

/* With model_live().  Binding conditions have `conditions_ns` of time. */
struct claim_bind *claim_bind_new(const struct env *env, struct model *model,
                                  uint64_t conditions_ns);
void claim_bind_free(struct claim_bind *cb); /* after the binder */

/* Called once in each attempt of a pod whose claims are written and whose devices are not ready. */
typedef void claim_waits_fn(void *context, pod_id pod, uint32_t generation, const char *node);
void claim_bind_on_wait(struct claim_bind *cb, claim_waits_fn *fn, void *context);

const struct prebind_kind *claim_bind_kind(const struct claim_bind *cb);
const struct claim_bind_counts *claim_bind_counts(const struct claim_bind *cb);

/* Gives back what is left, also while nothing is to be bound; of no pod that `binder` has.  The
 * monotonic time of the next call. */
uint64_t claim_bind_poll(struct claim_bind *cb, const struct binder *binder);

/* The ids are checked; of two commands for a pod the last counts. */
void claim_bind_devices(struct claim_bind *cb, const struct cmd_devices *cmd,
                        const struct device_pick *picks);

#endif
