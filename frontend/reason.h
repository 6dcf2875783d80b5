/* A reason of the core as text, in kube-scheduler's words with muster's numbers
 * behind them. */
#ifndef MUSTER_FRONTEND_REASON_H
#define MUSTER_FRONTEND_REASON_H

#include "ipc/abi.h"

#include <stddef.h>

/* Text of resource columns and taints; never NULL. */
struct reason_names {
	const char *(*resource)(const void *context, uint32_t resource);
	const char *(*taint)(const void *context, uint32_t name);
	const void *context;
};

/* Why one node does not take a pod, in kube-scheduler's words and without a count; arg as
 * in struct why_count.  Written and counted as reason_text() does. */
size_t reason_node_text(uint32_t why, uint32_t arg, const struct reason_names *names, char *out, size_t out_bytes);

struct reason_part {
	const char *text;
	uint64_t nodes; /* of which it is said; 0: of the pod as a whole, and no count is told */
};

/* kube-scheduler's message of a pod that fits on none of so many nodes.  Each text is
 * there once; sorts the parts. */
size_t reason_nodes_text(uint32_t nodes, struct reason_part *parts, size_t n, char *out, size_t out_bytes);

/* For the PodScheduled condition and the FailedScheduling event of a pod:
 *
 *   0/12 nodes are available: 4 Insufficient nvidia.com/gpu, 8 node(s) didn't
 *   match Pod's node affinity/selector. gang ns/g: 8 of 16 members have room;
 *   nvidia.com/gpu: need 64, have 32.
 *
 * `gang` is "namespace/name", or NULL for a lone pod; `refusal` the text for
 * WHY_REFUSED.  Written to out (always NUL terminated); returns the length that
 * the whole text has. */
size_t reason_text(const struct reason *reason, const char *gang, const char *refusal,
                   const struct reason_names *names, char *out, size_t out_bytes);

#endif
