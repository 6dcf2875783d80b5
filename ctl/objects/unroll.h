/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of workloads in files: Deployment, ReplicaSet, StatefulSet, Job, JobSet and LeaderWorkerSet
 * become the objects that their controllers would make, down to pods, as far as the files do not
 * have them.
 *
 *   Deployment ─► ReplicaSet ─┐
 *   JobSet ─► Job ────────────┼─► Pod
 *   LeaderWorkerSet ─► StatefulSet (leaders, and the workers of each group)
 *   StatefulSet ─► PersistentVolumeClaim
 *
 * Rules and names: kubernetes 1.36 (pkg/controller, the API server's name generator), jobset 0.10,
 * lws 0.7.  The five random characters of a name are a hash here, so that the same files give the
 * same names. */
#ifndef MUSTER_CTL_UNROLL_H
#define MUSTER_CTL_UNROLL_H

#include "ctl/objects/files.h"

/* Pods that the workloads of one call may have in all: as many as Kubernetes supports in a cluster.
 * Anybody may write a larger number, so a workload that goes beyond is left out, with a note. */
#define UNROLL_PODS_MAX 150000

/* True for the six kinds. */
bool unroll_takes(const struct object *object);

/* Adds what the controllers would make to `files`.  What was made, and each workload that was left
 * as it is with the reason, is in files_notes().  False and `error`: file, object, field and value.
 */
bool unroll(struct files *files, char *error, size_t error_bytes);

#endif
