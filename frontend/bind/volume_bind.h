/* SPDX-License-Identifier: Apache-2.0 */
/* Binds the claims of pods that wait for their first consumer, as kind of work before Bindings.
 *
 *   chosen ──PATCH volume.claimRef────────► written ──its controller binds both──► bound
 *   chosen ──PATCH claim.selected-node────► written ──the provisioner makes one──► bound
 *                                              │ annotation or claimRef taken away, late
 *                                              ▼
 *                                            failed ──PATCH: what is not bound is taken back
 *
 * Which volume a claim gets is volumes_choose(): a function of the node and of the objects.  All
 * members of a gang choose before anything is written, one after another, each volume once.  If one
 * finds nothing left, that is a rule of the next plan.  Each write names uid and resourceVersion,
 * and after an answer that leaves it open the object is read.  What the API server has is never
 * written again, so an instance that comes after goes on where the one before was.  Claims that
 * several members name are written once, for the first of them.
 *
 * What is bound is kept.  A node where provisioning failed is avoided for the claim for a while. */
#ifndef MUSTER_FRONTEND_VOLUME_BIND_H
#define MUSTER_FRONTEND_VOLUME_BIND_H

#include "frontend/base/env.h"
#include "frontend/bind/prebind.h"
#include "frontend/model/model.h"

struct volume_bind_counts {
	uint64_t bound;  /* claims */
	uint64_t failed; /* claims, whose pods are planned again */
	uint64_t undone; /* writes that were taken back */
};

struct volume_bind;

struct volume_bind *volume_bind_new(const struct env *env, struct model *model,
                                    uint64_t timeout_ns);
void volume_bind_free(struct volume_bind *vb); /* after the binder */
const struct prebind_kind *volume_bind_kind(const struct volume_bind *vb);
const struct volume_bind_counts *volume_bind_counts(const struct volume_bind *vb);

#endif
