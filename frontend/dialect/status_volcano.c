/* SPDX-License-Identifier: Apache-2.0 */
/* Phase, counters and conditions of Volcano's PodGroup.  muster has no queues of
 * Volcano: a group of ours is Inqueue at once.  The status of a group without a pod of ours is not
 * written, since only pods name a scheduler, unless its queue is muster's: the controller of a
 * Volcano job creates no pod before somebody has written Inqueue. */
#include "frontend/dialect/group_status.h"

#include <string.h>

enum { UNSCHEDULABLE, SCHEDULED };

static const char *reason_of(uint32_t why)
{
	switch (why) {
	case WAIT_MEMBERS:
	case WAIT_GATED:
	case WAIT_GROUP_MISSING:
		return "NotEnoughTasks";
	case WAIT_ROLE:
		return "NotEnoughPodsOfTask";
	default:
		return "NotEnoughResources";
	}
}

static const char *phase_of(const struct group_facts *f, uint32_t quorum)
{
	const struct gang_counts *pods = &f->gang->pods;
	uint32_t ended = pods->phases[POD_PHASE_SUCCEEDED] + pods->phases[POD_PHASE_FAILED];

	if (pods->bound >= quorum)
		return ended == pods->bound ? "Completed" : "Running";
	return f->why != WAIT_NONE && pods->phases[POD_PHASE_RUNNING] > 0 ? "Unknown" : "Inqueue";
}

static void volcano_want(const struct group_facts *f, struct group_status *out)
{
	const struct gang_view *g = f->gang;
	uint32_t quorum = group_quorum(g);
	struct group_condition *unschedulable = &out->conditions[UNSCHEDULABLE];
	struct group_condition *scheduled = &out->conditions[SCHEDULED];

	if (g->pods.ours == 0) {
		if (f->enqueue && g->pods.n == 0 && (!*out->phase || strcmp(out->phase, "Pending") == 0))
			out->phase = "Inqueue";
		return;
	}
	out->phase = phase_of(f, quorum);
	out->running = g->pods.phases[POD_PHASE_RUNNING];
	out->succeeded = g->pods.phases[POD_PHASE_SUCCEEDED];
	out->failed = g->pods.phases[POD_PHASE_FAILED];
	if (g->pods.bound >= quorum) {
		*scheduled = (struct group_condition){ "True", "tasks in gang are ready to be scheduled",
			                                   "", scheduled->turned };
		if (*unschedulable->status)
			unschedulable->status = "False";
	} else if (f->why != WAIT_NONE) {
		*unschedulable = (struct group_condition){ "True", reason_of(f->why), f->message,
			                                       unschedulable->turned };
		if (*scheduled->status)
			scheduled->status = "False";
	}
}

/* "Unknown": some of its pods run, and the others can't be scheduled. */
static bool volcano_was_whole(const struct group_status *s)
{
	return strcmp(s->phase, "Running") == 0 || strcmp(s->phase, "Completed") == 0 ||
	       strcmp(s->phase, "Unknown") == 0;
}

const struct dialect_status status_volcano = {
	.conditions = { "Unschedulable", "Scheduled" },
	.queues = true,
	.want = volcano_want,
	.was_whole = volcano_was_whole,
};
