/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated kubelets, one for each node, and the controller that empties
 * namespaces.
 *
 *   bound ─► admission ─► Running ─► Succeeded (annotation muster.io/run-seconds)
 *               └─► Failed, OutOf...          any ─► deleted ─► removed
 *
 * They look at the store's history and write through it, on the time that is
 * passed in.  A kubelet rejects a pod that does not fit into its node's
 * allocatable, as the real one does; the server counts it as overcommitted.
 * With `enabled` off nothing is written, but pods are still counted. */
#ifndef MUSTER_APISIM_KUBELET_H
#define MUSTER_APISIM_KUBELET_H

#include <stdbool.h>
#include <stdint.h>

struct as_api;
struct as_kubelets;

struct as_kubelet_config {
	bool enabled;
	uint32_t start_ms; /* from bound to Running */
	uint32_t grace_ms; /* the longest time a deleted pod takes to go */
	double time_scale; /* seconds of a job in one second */
};

struct as_kubelets *as_kubelets_new(struct as_api *api, const struct as_kubelet_config *config);
void as_kubelets_free(struct as_kubelets *k);

/* Look at all that happened and do all that is due.  Call it after requests. */
void as_kubelets_run(struct as_kubelets *k, uint64_t now_ns);
uint64_t as_kubelets_due_ns(const struct as_kubelets *k); /* UINT64_MAX: nothing */

#endif
