/* SPDX-License-Identifier: Apache-2.0 */
/* Phases and counters of scheduler-plugins' PodGroup, in its current and its older API.
 *
 * Its controller advances by one phase a write and counts pods of every namespace.  Here one write
 * has the final phase, computed from the group's own pods.  Finished is final, and Failed until the
 * group is complete again without a member that failed: a controller that restarts a job (JobSet,
 * Kueue) deletes all pods and makes new ones for the same object.  Their own controller leaves a
 * group alone once it is Failed, and goes on with it from whatever phase it has then. */
#include "frontend/dialect/group_status.h"

#include <string.h>

static bool is_phase(const struct group_status *s, const char *phase)
{
	return strcmp(s->phase, phase) == 0;
}

static bool is_restarted(const struct gang_view *g, uint32_t quorum)
{
	return g->pods.n >= quorum && g->pods.phases[POD_PHASE_FAILED] == 0;
}

static bool is_final(const struct gang_view *g, uint32_t quorum, const struct group_status *s)
{
	return is_phase(s, "Finished") || (is_phase(s, "Failed") && !is_restarted(g, quorum));
}

static void count(const struct gang_view *g, struct group_status *out)
{
	out->running = g->pods.phases[POD_PHASE_RUNNING];
	out->succeeded = g->pods.phases[POD_PHASE_SUCCEEDED];
	out->failed = g->pods.phases[POD_PHASE_FAILED];
}

static void occupy(const struct gang_view *g, struct group_status *out)
{
	if (!*out->occupied_by)
		out->occupied_by = g->owners;
}

/* Sets a final phase if the members that ended reach the quorum. */
static void end(uint32_t quorum, struct group_status *out)
{
	if (out->failed > 0 && (uint64_t)out->failed + out->running + out->succeeded >= quorum)
		out->phase = "Failed";
	if (out->succeeded >= quorum)
		out->phase = "Finished";
}

static void podgroup_want(const struct group_facts *f, struct group_status *out)
{
	uint32_t quorum = group_quorum(f->gang);

	if (is_final(f->gang, quorum, out))
		return;
	count(f->gang, out);
	if (f->gang->pods.n < quorum) {
		out->phase = "Pending";
		return;
	}
	if (!*out->phase || is_phase(out, "Pending"))
		occupy(f->gang, out);
	out->phase = (uint64_t)out->running + out->succeeded >= quorum ? "Running" : "Scheduling";
	end(quorum, out);
}

/* Not Failed: a member may fail before it has a node. */
static bool podgroup_was_whole(const struct group_status *s)
{
	return is_phase(s, "Scheduled") || is_phase(s, "Running") || is_phase(s, "Finished");
}

const struct dialect_status status_podgroup = {
	.want = podgroup_want,
	.was_whole = podgroup_was_whole,
};

/* The group has members, `bound` of them on nodes. */
static void older_advance(const struct group_facts *f, uint32_t quorum, struct group_status *out)
{
	uint32_t bound = f->gang->pods.bound;

	if (!*out->phase || is_phase(out, "Pending")) {
		if (f->gang->pods.n < quorum) {
			out->phase = "Pending";
			return;
		}
		out->phase = "PreScheduling";
		occupy(f->gang, out);
	}
	if ((is_phase(out, "PreScheduling") || is_phase(out, "Scheduling")) && bound > 0) {
		out->phase = bound >= quorum ? "Scheduled" : "Scheduling";
		if (bound < quorum && !*out->started)
			out->started = f->now;
	}
	if (is_phase(out, "Scheduled") && (uint64_t)out->running + out->succeeded >= quorum)
		out->phase = "Running";
}

static void older_want(const struct group_facts *f, struct group_status *out)
{
	uint32_t quorum = group_quorum(f->gang);

	if (is_final(f->gang, quorum, out))
		return;
	if (is_phase(out, "Failed")) {
		out->phase = "";
		out->scheduled = 0;
	}
	count(f->gang, out);
	if (f->gang->pods.bound > out->scheduled)
		out->scheduled = f->gang->pods.bound;
	if (f->gang->pods.n == 0) {
		out->phase = "Pending";
		return;
	}
	older_advance(f, quorum, out);
	end(quorum, out);
}

const struct dialect_status status_podgroup_older = {
	.want = older_want,
	.was_whole = podgroup_was_whole,
};
