/* SPDX-License-Identifier: Apache-2.0 */
/* When pods end, worked out in one place: POD_LASTS (decision 047) and the known ends of promised
 * starts (decision 085).
 *
 *   hard   spec.activeDeadlineSeconds from status.startTime, plus the grace period: the kubelet
 *          ends the pod then
 *   soft   the annotation muster.dev/run-seconds of the pod, else of its group's object; the label
 *          of Kueue, plus the grace period, which nothing enforces where Kueue is not (decision
 *          085); of both the earlier
 *
 * Before status.startTime is known a minute is added for the time from the binding to it.  Numbers
 * that don't parse count as absent.  The deadline of a Job is not read. */
#ifndef MUSTER_FRONTEND_MODEL_ENDS_H
#define MUSTER_FRONTEND_MODEL_ENDS_H

#include "frontend/decode/object.h"

/* As in struct event_pod; 0: not known. */
struct pod_ends {
	uint32_t run_s, expected_s;
};

/* POD_LASTS. */
bool pod_lasts(const struct pod_object *pod);

struct pod_ends pod_ends_of(const struct pod_object *pod, struct arena *arena);

/* expected_s of members without an annotation of their own, from that of their group's object. */
uint32_t group_expected_s(const struct meta *meta, struct arena *arena);

/* What muster promised the pod or its gang, in seconds since 1970: the annotation
 * muster.dev/promised-start, if the condition of the pod, which its user can't write, has that time
 * as well; 0: nothing. */
uint32_t pod_promised_s(const struct pod_object *pod, struct arena *arena);

#endif
