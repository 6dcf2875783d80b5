/* SPDX-License-Identifier: Apache-2.0 */
/* A reason of the core as text, in kube-scheduler's words with muster's numbers
 * behind them. */
#ifndef MUSTER_FRONTEND_REASON_H
#define MUSTER_FRONTEND_REASON_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

/* Text of resource columns, taints, label keys and values; never NULL.  Where keys and
 * values are not known these two functions are NULL. */
struct reason_names {
	const char *(*resource)(const void *context, uint32_t resource);
	const char *(*taint)(const void *context, uint32_t name);
	const void *context;
	const char *(*key)(const void *context, uint32_t key);
	const char *(*value)(const void *context, uint32_t value);
};

/* From the model's tables. */
struct model;
struct reason_names reason_names_of(const struct model *model);

/* How the users of a dialect know its reasons: beginnings, behind which muster's own words
 * and numbers stand. */
struct dialect_texts {
	const char *missing; /* the group's object is not there */
	bool pre_filter; /* too few members, or gates: as a PreFilter says it, with the pod's name */
	const char *refused; /* stands before what the group's object is refused with; "" */
	const char *
		timeout; /* its timeout has passed: the duration follows, and timeout_end; NULL: not said */
	const char *timeout_end;
};

extern const struct dialect_texts texts_podgroup; /* scheduler-plugins; for dialects without any */
extern const struct dialect_texts texts_configmap;
extern const struct dialect_texts texts_plain; /* those that have no words of their own */

/* Why one node does not take a pod, in kube-scheduler's words and without a count; arg as
 * in struct why_count.  Written and counted as reason_text() does. */
size_t reason_node_text(uint32_t why, uint32_t arg, const struct reason_names *names, char *out,
                        size_t out_bytes);

struct reason_part {
	const char *text;
	uint64_t nodes; /* of which it is said; 0: of the pod as a whole, and no count is told */
};

/* kube-scheduler's message of a pod that fits on none of so many nodes.  Each text is
 * there once; sorts the parts. */
size_t reason_nodes_text(uint32_t nodes, struct reason_part *parts, size_t n, char *out,
                         size_t out_bytes);

/* For the PodScheduled condition and the FailedScheduling event of a pod:
 *
 *   0/12 nodes are available: 4 Insufficient nvidia.com/gpu, 8 node(s) didn't
 *   match Pod's node affinity/selector. gang ns/g: 8 of 16 members have room;
 *   nvidia.com/gpu: need 64, have 32.
 *
 * Written to out (always NUL terminated); returns the length that the whole text has. */
struct reason_about {
	const char *gang;                  /* "namespace/name", or NULL for a lone pod */
	const char *refusal;               /* for WHY_REFUSED */
	const struct dialect_texts *texts; /* of the gang's dialect; NULL: of scheduler-plugins */
	uint64_t timed_out_ns;             /* the group's timeout, which has passed; 0 */
};
size_t reason_text(const struct reason *reason, const struct reason_about *about,
                   const struct reason_names *names, char *out, size_t out_bytes);

/* Where a pod's name, with a space before it, belongs into that text; 0: nowhere. */
size_t reason_pod_at(const struct reason *reason, const struct reason_about *about);

/* Reason of the condition that has this text: "Unschedulable", or "SchedulerError" for the errors
 * of plugins. */
const char *reason_condition(const struct reason *reason, const char *text);

/* What stands before the refusal of a group's object. */
const char *reason_refused(const struct dialect_texts *texts);

#endif
