/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about a pod that waits: its condition, then an Event, or one more in a series of equal
 * ones. */
#include "frontend/report/report_impl.h"

#include "frontend/base/probe.h"
#include "frontend/report/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pod_free(struct item *i)
{
	struct pod_item *p = pod_of(i);
	struct report *r = p->item.report;

	if (p->pod < r->by_pod_n && r->by_pod[p->pod] == p)
		r->by_pod[p->pod] = NULL;
	if (p->recent)
		TAILQ_REMOVE(&r->recent, p, recent_link);
	report_note_drop(&p->item.note);
	report_note_drop(&p->next_note);
	report_note_drop(&p->standing);
	report_note_drop(&p->event_note);
	free(p->event_name);
	free(p->nominated);
	free(p);
}

bool report_pod_replaced(const struct pod_item *p)
{
	return p->item.report->by_pod[p->pod] != p;
}

struct pod_item *report_item_of_pod(struct report *r, pod_id pod, uint32_t generation)
{
	struct pod_item *p;

	r->by_pod = must_reach(r->by_pod, &r->by_pod_n, pod, 1024, sizeof(struct pod_item *));
	p = r->by_pod[pod];
	if (p && p->generation != generation) {
		/* Another pod owns the slot; an item in flight ends by itself. */
		r->by_pod[pod] = NULL;
		if (!p->item.flying) {
			report_item_unlist(&p->item);
			pod_free(&p->item);
		}
		p = NULL;
	}
	if (!p) {
		p = must_alloc(sizeof(*p));
		p->item.report = r;
		p->item.kind = ITEM_POD;
		p->pod = pod;
		p->generation = generation;
		r->by_pod[pod] = p;
	}
	return p;
}

bool report_event_owed(const struct pod_item *p)
{
	return p->standing && (!p->event_note || strcmp(p->event_note->text, p->standing->text) != 0);
}

void report_item_owe(struct pod_item *p)
{
	struct item *i = &p->item;

	assert(!i->queued && !i->flying);
	report_note_drop(&i->note);
	i->note = report_note_use(p->standing);
	p->reason = p->standing_reason;
	i->step = STEP_EVENT;
	i->tries = 0;
	i->due_ns = env_now(i->report->config.env);
	report_item_queue(i);
}

void report_item_set(struct pod_item *p, struct note *note, const char *reason)
{
	struct item *i = &p->item;
	struct report *r = i->report;
	struct note *before = p->standing;

	p->standing = report_note_use(note);
	p->standing_reason = reason;
	report_note_drop(&before);
	if (i->flying) {
		if (p->next_note)
			r->counts.coalesced++;
		report_note_drop(&p->next_note);
		p->next_note = report_note_use(note);
		p->next_reason = reason;
		return;
	}
	if (i->queued)
		r->counts.coalesced++;
	report_note_drop(&p->next_note); /* older; left by a write that failed and is tried again */
	report_note_drop(&i->note);
	i->note = report_note_use(note);
	p->reason = reason;
	i->step = STEP_CONDITION;
	i->tries = 0;
	if (i->queued)
		return;
	i->due_ns = env_now(r->config.env) + r->config.delay_ns;
	report_item_queue(i);
}

void report_nominate(struct report *r, pod_id pod, uint32_t generation, const char *node)
{
	struct pod_item *p;

	if (!node && (pod >= r->by_pod_n || !r->by_pod[pod]))
		return;
	p = report_item_of_pod(r, pod, generation);
	free(p->nominated);
	p->nominated = must_copy(node ? node : "");
	if (p->standing)
		report_item_set(p, p->standing, p->standing_reason);
}

/* The text for that pod; valid until the next call. */
static const char *note_text(struct report *r, const struct note *note, const char *pod)
{
	char head[64];

	if (note->pod_at == 0 || note->pod_at >= sizeof(head))
		return note->text;
	snprintf(head, sizeof(head), "%.*s", (int)note->pod_at, note->text);
	jsonout_clear(&r->text);
	jsonout_add(&r->text, "@r @r@r", head, pod, note->text + note->pod_at);
	return r->text.at;
}

bool report_pod_waits(const struct report *r, const struct pod_view *pod)
{
	return !pod->node[0] && !pod->deleting &&
	       (!r->config.binder || !binder_has(r->config.binder, pod->id, pod->generation));
}

bool report_condition_is(const struct pod_item *p, const struct pod_view *pod,
                         const struct note *note, const char *reason)
{
	struct report *r = p->item.report;

	return (!p->nominated || strcmp(pod->nominated, p->nominated) == 0) &&
	       strcmp(pod->condition_status, "False") == 0 &&
	       strcmp(pod->condition_reason, reason) == 0 &&
	       (note->promised_pod != pod->id || note->promised_s == 0 ||
	        note->promised_s == pod->promised_s) &&
	       strcmp(pod->condition_message, note_text(r, note, pod->name)) == 0;
}

/* For the annotation of the pod; 0: it is left as it is. */
static uint32_t promised_of(const struct note *note, const struct pod_view *pod)
{
	return note->promised_pod == pod->id ? note->promised_s : 0;
}

static void condition_send(struct pod_item *p, const struct pod_view *pod, const char *text)
{
	struct report *r = p->item.report;
	bool turned = strcmp(pod->condition_status, "False") != 0;

	jsonout_add(&r->path, "/api/v1/namespaces/@p/pods/@p/status", pod->namespace, pod->name);
	condition_write(&r->body,
	                &(struct condition_text){ .uid = pod->uid,
	                                          .reason = p->reason,
	                                          .message = text,
	                                          .turned = turned,
	                                          .promised_s = promised_of(p->item.note, pod),
	                                          .nominated = p->nominated },
	                r->config.env->wall_ns(r->config.env->context));
	report_item_request(&p->item, "PATCH", "application/strategic-merge-patch+json");
}

static void series_send(struct pod_item *p, const struct pod_view *pod)
{
	struct report *r = p->item.report;

	jsonout_add(&r->path, "/apis/events.k8s.io/v1/namespaces/@p/events/@p", pod->namespace,
	            p->event_name);
	event_series_write(&r->body, p->event_count + 1,
	                   r->config.env->wall_ns(r->config.env->context));
	report_item_request(&p->item, "PATCH", "application/merge-patch+json");
}

/* Which Event, if any, follows the condition: an equal one increments the series, a new text makes
 * a new one, both rate-limited: report_recent() sends a new text when the gap is over. */
static bool event_wanted(struct pod_item *p)
{
	struct item *i = &p->item;

	if (p->event_count > 0 && !i->note->urgent &&
	    env_now(i->report->config.env) - p->event_ns < EVENT_GAP_NS)
		return false;
	if (i->step != STEP_SERIES)
		i->step =
			p->event_count > 0 && p->event_note && strcmp(p->event_note->text, i->note->text) == 0
				? STEP_SERIES
				: STEP_EVENT;
	return true;
}

/* Sends the next request of a waiting pod; false if none is left, the item is in no list then. */
static bool pod_send(struct item *i)
{
	struct pod_item *p = pod_of(i);
	struct report *r = i->report;
	struct event_text e = { .type = "Warning",
		                    .reason = "FailedScheduling",
		                    .action = "Scheduling" };
	struct pod_view pod;

	if (!model_pod(r->config.model, p->pod, p->generation, &pod) || !report_pod_waits(r, &pod))
		return false;
	if (i->step == STEP_CONDITION) {
		if (!report_condition_is(p, &pod, i->note, p->reason)) {
			condition_send(p, &pod, note_text(r, i->note, pod.name));
			return true;
		}
		r->counts.unchanged++;
		i->step = STEP_EVENT;
	}
	if (!event_wanted(p))
		return false;
	if (i->step == STEP_SERIES) {
		series_send(p, &pod);
		return true;
	}
	e.namespace = pod.namespace;
	e.object = pod.name;
	e.uid = pod.uid;
	e.controller = pod.scheduler_name;
	e.note = note_text(r, i->note, pod.name);
	report_event_send(i, &e);
	return true;
}

/* Finished: it is kept for its series. */
static void pod_finish(struct item *i)
{
	struct report *r = i->report;
	struct pod_item *p = pod_of(i);
	struct pod_view pod;

	if (report_pod_replaced(p) || !model_pod(r->config.model, p->pod, p->generation, &pod) ||
	    pod.node[0]) {
		pod_free(i);
		return;
	}
	report_note_drop(&i->note);
	if (p->next_note) {
		struct note *note = p->next_note;

		p->next_note = NULL;
		report_item_set(p, note, p->next_reason);
		report_note_drop(&note);
	}
}

/* An Event of this text exists, or never will. */
static void event_ended(struct pod_item *p)
{
	report_note_drop(&p->event_note);
	p->event_note = report_note_use(p->item.note);
}

static void pod_event_written(struct pod_item *p)
{
	struct report *r = p->item.report;

	p->event_count = p->item.step == STEP_SERIES ? p->event_count + 1 : 1;
	p->event_ns = env_now(r->config.env);
	event_ended(p);
	if (p->recent)
		TAILQ_REMOVE(&r->recent, p, recent_link);
	TAILQ_INSERT_TAIL(&r->recent, p, recent_link);
	p->recent = true;
}

static void pod_written(struct item *i)
{
	struct report *r = i->report;

	if (i->step == STEP_CONDITION) {
		PROBE(condition_written, pod_of(i)->pod);
		r->counts.conditions++;
		i->step = STEP_EVENT;
		if (pod_of(i)->next_note) /* that text is outdated */
			pod_finish(i);
		else
			report_item_queue(i);
		return;
	}
	r->counts.events++;
	pod_event_written(pod_of(i));
	pod_finish(i);
}

static void pod_give_up(struct item *i)
{
	if (i->step == STEP_CONDITION)
		report_note_drop(&pod_of(i)->standing);
	else
		event_ended(pod_of(i));
}

static struct right *pod_right(const struct item *i)
{
	return &i->report->conditions;
}

const struct item_ops report_pod_ops = {
	.what = "condition of a pod (patch pods/status)",
	.send = pod_send,
	.written = pod_written,
	.give_up = pod_give_up,
	.defer = pod_finish,
	.finish = pod_finish,
	.right = pod_right,
	.free = pod_free,
};
