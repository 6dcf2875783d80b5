/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/ends.h"

#include "frontend/decode/fields.h"
#include "ipc/promises.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUN_MOST_S INT64_C(315360000) /* ten years: more is no end to plan with */
#define START_LATE_S 60               /* from the binding to status.startTime */
#define GRACE_S 30                    /* of a pod that gives none */
#define NS UINT64_C(1000000000)

static bool text_ends(struct text t, const char *with)
{
	const size_t n = strlen(with);

	return t.bytes >= n && memcmp(t.at + t.bytes - n, with, n) == 0;
}

/* Pods of Deployments, DaemonSets and StatefulSets, and mirror pods, restart always.  A controller
 * of a job (Job, PyTorchJob, RayJob ...) deletes such pods when the job has ended. */
bool pod_lasts(const struct pod_object *pod)
{
	if (pod->meta.deleting || pod->has_deadline)
		return false;
	if (pod->restart_policy.bytes > 0 && !text_is(pod->restart_policy, "Always"))
		return false;
	return !text_ends(pod->owner.kind, "Job") && !text_is(pod->owner.kind, "PodGroup");
}

/* Whole seconds, 1 to RUN_MOST_S; 0: it is none. */
static int64_t seconds_of(const char *text)
{
	char *end;
	long long n;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoll(text, &end, 10);
	return errno || *end || n < 1 || n > RUN_MOST_S ? 0 : n;
}

static int64_t annotated_s(const struct meta *meta, struct arena *arena)
{
	return seconds_of(annotation_find(&meta->annotations, "muster.dev/run-seconds", arena));
}

static int64_t kueue_s(const struct pod_object *pod, struct arena *arena)
{
	const struct text *label =
		pairs_find(&pod->meta.labels, "kueue.x-k8s.io/max-exec-time-seconds");

	return label ? seconds_of(arena_copy(arena, *label)) : 0;
}

/* `from_start`: seconds after status.startTime, as seconds after the binding. */
static uint32_t after_binding(const struct pod_object *pod, int64_t from_start)
{
	const int64_t start_s = (int64_t)(pod->start_ns / NS);
	const bool known = start_s > 0 && pod->scheduled_s > 0;
	const int64_t late = known ? start_s - (int64_t)pod->scheduled_s : START_LATE_S;
	const int64_t s = from_start + (late > 0 ? late : 0);

	return s < RUN_MOST_S ? (uint32_t)s : (uint32_t)RUN_MOST_S;
}

uint32_t pod_grace_s(const struct pod_object *pod)
{
	const bool given = pod->has_grace && pod->grace_s >= 0 && pod->grace_s < RUN_MOST_S;

	return given ? (uint32_t)pod->grace_s : GRACE_S;
}

/* The Job controller counts from the start of the Job, which may be long before that of the pod. */
uint32_t job_run_s(const struct job_end *end, uint32_t scheduled_s, uint32_t grace_s)
{
	int64_t s = (end->deadline_s < RUN_MOST_S ? end->deadline_s : RUN_MOST_S) + grace_s;

	if (end->start_s == 0)
		s += START_LATE_S;
	else if (scheduled_s > 0)
		s += end->start_s - scheduled_s;
	return s < 1 ? 1 : s < RUN_MOST_S ? (uint32_t)s : (uint32_t)RUN_MOST_S;
}

uint32_t job_stated_s(const struct job_end *end)
{
	return (uint32_t)(end->deadline_s < RUN_MOST_S ? end->deadline_s : RUN_MOST_S);
}

struct pod_ends pod_ends_of(const struct pod_object *pod, struct arena *arena)
{
	const int64_t grace = pod_grace_s(pod);
	struct pod_ends ends = { 0 };
	int64_t s, stated = 0;

	if (pod_lasts(pod))
		return ends;
	if (pod->deadline_s > 0)
		ends.run_s = after_binding(
			pod, (pod->deadline_s < RUN_MOST_S ? pod->deadline_s : RUN_MOST_S) + grace);
	s = annotated_s(&pod->meta, arena);
	if (s > 0)
		ends.expected_s = after_binding(pod, s);
	stated = s;
	s = kueue_s(pod, arena);
	if (s > 0 && (stated == 0 || s < stated))
		stated = s;
	if (pod->deadline_s > 0)
		stated = pod->deadline_s < RUN_MOST_S ? pod->deadline_s : RUN_MOST_S;
	ends.stated_s = (uint32_t)stated;
	if (s > 0 && (ends.expected_s == 0 || after_binding(pod, s + grace) < ends.expected_s))
		ends.expected_s = after_binding(pod, s + grace);
	return ends;
}

/* Of pods that are not bound yet; s <= RUN_MOST_S. */
static uint32_t from_binding(int64_t s)
{
	return s > 0 ? (uint32_t)(s + START_LATE_S) : 0;
}

uint32_t group_expected_s(const struct meta *meta, struct arena *arena)
{
	return from_binding(annotated_s(meta, arena));
}

uint32_t group_stated_s(uint32_t expected_s)
{
	return expected_s > 0 ? expected_s - START_LATE_S : 0;
}

uint32_t queue_expected_s(uint32_t run_s)
{
	return from_binding(run_s < RUN_MOST_S ? run_s : RUN_MOST_S);
}

uint32_t pod_promised_s(const struct pod_object *pod, struct arena *arena)
{
	const char *at = annotation_find(&pod->meta.annotations, PROMISED_ANNOTATION, arena);
	char time[PROMISE_TIME_BYTES];
	uint64_t ns = 0;

	if (!at || !text_is(pod->condition_status, "False") || !extract_time_text(text_of(at), &ns))
		return 0;
	promise_time_text(ns, time);
	if (!text_ends(pod->condition_message, arena_printf(arena, PROMISED_ENDING, time)))
		return 0;
	return ns / NS < UINT32_MAX ? (uint32_t)(ns / NS) : 0;
}
