/* SPDX-License-Identifier: Apache-2.0 */
/* When pods end, worked out in one place: POD_LASTS (decision 047) and the known ends of promised
 * starts (decision 085).
 *
 *   hard   spec.activeDeadlineSeconds from status.startTime, plus the grace period: the kubelet
 *          ends the pod then; with --job-deadlines that of its Job likewise (jobs.h)
 *   soft   the annotation muster.dev/run-seconds of the pod, else of its group's object; the label
 *          of Kueue, plus the grace period, which nothing enforces where Kueue is not (decision
 *          085); of both the earlier; with no end at all runSeconds of the pod's queue
 *
 * Before status.startTime is known a minute is added for the time from the binding to it.  Numbers
 * that don't parse count as absent. */
#ifndef MUSTER_FRONTEND_MODEL_ENDS_H
#define MUSTER_FRONTEND_MODEL_ENDS_H

#include "frontend/decode/object.h"

/* As in struct event_pod; 0: not known. */
struct pod_ends {
	uint32_t run_s, expected_s;
	uint32_t stated_s; /* as its user wrote it: the deadline, else the least that is expected */
};

/* POD_LASTS. */
bool pod_lasts(const struct pod_object *pod);

struct pod_ends pod_ends_of(const struct pod_object *pod, struct arena *arena);

/* terminationGracePeriodSeconds, or what it is by default. */
uint32_t pod_grace_s(const struct pod_object *pod);

/* When a Job's controller ends its pods. */
struct job_end {
	int64_t deadline_s; /* from its start, 0 or more */
	int64_t start_s;    /* since 1970; 0: it has not started */
};

/* run_s by the deadline of the pod's Job, never 0.  Of a pod that waits (scheduled_s 0) the most
 * that can be left: the whole deadline, though its Job may have started. */
uint32_t job_run_s(const struct job_end *end, uint32_t scheduled_s, uint32_t grace_s);

/* The deadline itself. */
uint32_t job_stated_s(const struct job_end *end);

/* expected_s of members without an annotation of their own, from that of their group's object. */
uint32_t group_expected_s(const struct meta *meta, struct arena *arena);

/* What that object states: group_expected_s() was made of it; 0: nothing. */
uint32_t group_stated_s(uint32_t expected_s);

/* expected_s of pods that say nothing, in a queue whose pods run for so long; 0: it has none. */
uint32_t queue_expected_s(uint32_t run_s);

/* What muster promised the pod or its gang, in seconds since 1970: the annotation
 * muster.dev/promised-start, if the condition of the pod, which its user can't write, has that time
 * as well; 0: nothing. */
uint32_t pod_promised_s(const struct pod_object *pod, struct arena *arena);

#endif
