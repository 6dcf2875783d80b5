/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of GPUs on files (docs/decisions/092): as soon as a pod asks for one by annotations, the
 * GPUs of nodes become devices with consumable capacity, and what pods ask for becomes claims, so
 * that all that places pods by claims places shares.
 *
 *     Node with nvidia.com/gpu: 8      ─► ResourceSlice <gpu-share>-NODE: gpu-0 ... gpu-7
 *     pod that waits, with annotations ─► ResourceClaim <gpu-share>-POD, named in the pod
 *              ... with whole GPUs     ─► the same for all of each; its resources stay as well
 *     pod that is bound                ─► the claim, allocated
 *
 * The names have characters that no object of an API server has. */
#ifndef MUSTER_CTL_GPUS_SHARES_H
#define MUSTER_CTL_GPUS_SHARES_H

#include "ctl/objects/files.h"

#define GPU_SHARE "<gpu-share>"

/* Changes `files`, if a pod of them asks for a share.  A pod with a value that can't be read names
 * a claim that does not exist; why is in files_notes().  Without `devices` pods that wait name
 * their claims, and nothing else is made: the caller refuses pods with claims. */
void gpu_shares(struct files *files, bool devices);

/* True for a claim of this kind: no API server has such an object. */
bool gpu_share_claim(const char *name);

#endif
