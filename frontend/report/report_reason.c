/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons for which a gang or pod waits, as the core gives them: the text, and the item of each
 * pod that is to show it. */
#include "frontend/report/report_impl.h"

#include "frontend/report/decisions.h"
#include "frontend/dialect/reason.h"

#include <stdio.h>

#define REASON_BYTES_MAX 8192

struct telling {
	struct report *report;
	struct note *note;
	const char *reason;
	char refusal[1024]; /* the first rejected member, or "" */
};

static void refused_member(void *context, const struct pod_view *pod)
{
	struct telling *t = context;

	if (!t->refusal[0] && pod->refusal[0])
		snprintf(t->refusal, sizeof(t->refusal), "pod %s: %s", pod->name, pod->refusal);
}

/* The API server sets SchedulingGated on gated pods itself. */
static void member_set_reason(void *context, const struct pod_view *pod)
{
	struct telling *t = context;

	if (!pod->gated && !pod->deleting)
		report_item_set(report_item_of_pod(t->report, pod->id, pod->generation), t->note,
		                t->reason);
}

static struct note *reason_note(struct report *r, const struct reason *reason,
                                const struct reason_about *about)
{
	struct reason_names names = reason_names_of(r->config.model);
	char text[REASON_BYTES_MAX];
	struct note *note;

	reason_text(reason, about, &names, text, sizeof(text));
	note = report_note_new(text);
	note->pod_at = reason_pod_at(reason, about);
	note->promised_pod = ID_NONE;
	note->promised_s = 0;
	note->urgent = about->timed_out_ns > 0;
	return note;
}

void report_gang_reason(struct report *r, const struct cmd_reason *cmd, uint64_t timed_out_ns)
{
	struct telling t = { .report = r };
	struct reason_about about = { .refusal = t.refusal,
		                          .refused_too = t.refusal,
		                          .timed_out_ns = timed_out_ns };
	struct gang_view gang;
	char name[600];

	if (!model_gang(r->config.model, cmd->gang, cmd->gang_generation, &gang))
		return;
	snprintf(name, sizeof(name), "%s/%s", gang.namespace, gang.name);
	if (cmd->reason.why == WAIT_REFUSED) {
		if (gang.refusal[0])
			snprintf(t.refusal, sizeof(t.refusal), "%s%s", reason_refused(gang.texts),
			         gang.refusal);
		else
			model_gang_pending(r->config.model, cmd->gang, refused_member, &t);
	} else if (cmd->reason.why == WAIT_GROUP_MISSING) {
		model_gang_pending(r->config.model, cmd->gang, refused_member, &t);
	}
	about.gang = name;
	about.tenant = gang.namespace;
	about.queue = model_gang_queue(r->config.model, cmd->gang);
	about.texts = gang.texts;
	if (timed_out_ns == 0)
		about.timed_out_ns = report_group_timeout(r, cmd, &gang);
	about.held_back = report_group_held_back(r, cmd, &gang);
	t.note = reason_note(r, &cmd->reason, &about);
	report_start_gang(r, cmd, &gang, t.note);
	if (r->config.decisions)
		decisions_waits(r->config.decisions, cmd, &gang, t.note->text);
	t.reason = reason_condition(&cmd->reason, t.note->text);
	model_gang_pending(r->config.model, cmd->gang, member_set_reason, &t);
	report_group_waits(r, cmd, &gang, t.note);
	report_note_drop(&t.note);
}

/* One log line for each pod, at the debug level. */
static void pod_waits(struct report *r, const struct pod_view *pod, const char *text)
{
	char name[600];
	const struct log_field fields[] = { { "pod", name, 0 },
		                                { "uid", pod->uid, 0 },
		                                { "reason", text, 0 } };

	snprintf(name, sizeof(name), "%s/%s", pod->namespace, pod->name);
	env_tell(r->config.env, "debug", "pod waits", fields, sizeof(fields) / sizeof(fields[0]));
}

void report_reason(struct report *r, const struct cmd_reason *cmd)
{
	struct reason_about about = { 0 };
	struct pod_view pod;
	struct note *note;

	if (cmd->reason.why == WAIT_NONE)
		return;
	if (cmd->gang != ID_NONE) {
		report_gang_reason(r, cmd, 0);
		return;
	}
	if (!model_pod(r->config.model, cmd->pod, cmd->pod_generation, &pod) || pod.gated ||
	    pod.deleting || pod.node[0])
		return;
	about.refusal = pod.refusal;
	about.tenant = pod.namespace;
	about.queue = model_pod_queue(r->config.model, pod.id);
	note = reason_note(r, &cmd->reason, &about);
	report_start_pod(r, cmd, &pod, note);
	pod_waits(r, &pod, note->text);
	report_item_set(report_item_of_pod(r, pod.id, pod.generation), note,
	                reason_condition(&cmd->reason, note->text));
	report_note_drop(&note);
}
