/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a reason: kube-scheduler's, followed by muster's numbers. */
#ifndef MUSTER_FRONTEND_REASON_H
#define MUSTER_FRONTEND_REASON_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

/* Names of resources, taints, label keys and values; never NULL.  `key` and `value` are NULL where
 * these names are not available. */
struct reason_names {
	const char *(*resource)(const void *context, uint32_t resource);
	const char *(*taint)(const void *context, uint32_t name);
	const void *context;
	const char *(*key)(const void *context, uint32_t key);
	const char *(*value)(const void *context, uint32_t value);
	/* "namespace/name" of a gang, or of a lone pod: limits.gangs + its id; false when it is gone.
	 * NULL: not available. */
	bool (*gang)(const void *context, uint32_t gang, uint32_t generation, char *out,
	             size_t out_bytes);
	/* Of a pod "namespace/name", and the scheduler in its spec; NULL when it is gone.  NULL: not
	 * available. */
	const char *(*pod)(const void *context, uint32_t pod, uint32_t generation, char *out,
	                   size_t out_bytes);
	/* A queue by its id.  NULL: not available. */
	const char *(*queue)(const void *context, uint32_t queue);
	/* "REQUEST CLASS ATTRIBUTE " of devices, as in struct event_question; false: not known.  NULL:
	 * not available. */
	bool (*device)(const void *context, const struct device_lack *lack, char *out,
	               size_t out_bytes);
};

/* What devices are about; an attribute of "": there is none. */
struct device_names {
	char text[QUESTION_TEXT_MAX + 1];
	const char *request, *class, *attribute; /* in `text` */
};
void reason_device_names(const struct device_lack *lack, const struct reason_names *names,
                         struct device_names *out);
/* "r: 8 devices of class gpu are needed, 7 are free on 2 nodes (8 match, 1 is taken)"; written and
 * counted as by reason_text(). */
size_t reason_device_text(const struct device_lack *lack, const struct reason_names *names,
                          char *out, size_t out_bytes);

#define REASON_GANG_BYTES 600 /* for the name of a gang */

/* From the model's tables. */
struct model;
struct reason_names reason_names_of(const struct model *model);

/* Beginnings of reasons as the system of a dialect writes them; muster's text follows. */
struct dialect_texts {
	const char *missing; /* the group's object does not exist */
	bool pre_filter;     /* too few members, or gates: a PreFilter error with the pod's name */
	const char *refused; /* before the reason for which the group's object is refused; "" */
	const char *timeout; /* its timeout has passed: the duration follows, then timeout_end; NULL: no
	                      * text */
	const char *timeout_end;
	/* Which controllers create no more members until the first ones run; NULL: not named, since the
	 * timeout is. */
	const char *held_back;
};

/* For how long the number of members is the same when a reason names them. */
#define HELD_BACK_NS (30 * UINT64_C(1000000000))

/* The default are those of scheduler-plugins. */
extern const struct dialect_texts texts_configmap;
extern const struct dialect_texts texts_plain; /* systems without texts of their own */
extern const struct dialect_texts texts_leaderworkerset;

/* kube-scheduler's text of a filter_reason, without a count; arg as in struct filter_count.
 * Written and counted as by reason_text(). */
size_t reason_node_text(uint32_t why, uint32_t arg, const struct reason_names *names, char *out,
                        size_t out_bytes);

struct reason_part {
	const char *text;
	uint64_t nodes; /* 0: the part is about the pod as a whole, and has no count */
};

/* kube-scheduler's message (framework.FitError) for a pod that fits on none of so many nodes.  All
 * texts are different; sorts the parts. */
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
	const char *refusal;               /* for WAIT_REFUSED */
	const char *refused_too;           /* for WAIT_GROUP_MISSING: of a member, or "", NULL */
	const struct dialect_texts *texts; /* of the gang's dialect; NULL: of scheduler-plugins */
	uint64_t timed_out_ns;             /* the group's timeout, which has passed; 0 */
	bool held_back;                    /* WAIT_MEMBERS, for HELD_BACK_NS: no member has come */
	const char *queue;                 /* what the pod or gang names; NULL: not known */
	const char *tenant; /* namespace whose users read the text: gangs of others are not
	                     * named; NULL: operators */
};
size_t reason_text(const struct reason *reason, const struct reason_about *about,
                   const struct reason_names *names, char *out, size_t out_bytes);

/* The offset in the text where " NAME" of the pod is inserted; 0: nowhere. */
size_t reason_pod_at(const struct reason *reason, const struct reason_about *about);

/* Reason of the condition that has this text: "Unschedulable", or "SchedulerError" for the errors
 * of plugins. */
const char *reason_condition(const struct reason *reason, const char *text);

/* The text before the refusal of a group's object. */
const char *reason_refused(const struct dialect_texts *texts);

#endif
