/* SPDX-License-Identifier: Apache-2.0 */
/* The Event of a binding, an eviction or a promised start: sent once. */
#include "frontend/report/report_impl.h"

#include "frontend/json/json_scan.h"
#include "frontend/report/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the Event of a binding yields to other Bindings. */
#define BIND_EVENT_NS (5 * NS_PER_S)

static void happening_queue(struct report *r, enum report_happening what,
                            const char *const texts[BIND_TEXTS])
{
	size_t bytes = 0;
	struct bind_item *b;
	char *to;

	for (int i = 0; i < BIND_TEXTS; i++)
		bytes += strlen(texts[i]) + 1;
	b = must_alloc(sizeof(*b) + bytes);
	to = b->texts;
	for (int i = 0; i < BIND_TEXTS; i++)
		to = stpcpy(to, texts[i]) + 1;
	b->item.report = r;
	b->item.kind = ITEM_BIND;
	b->item.step = STEP_EVENT;
	b->what = (uint8_t)what;
	report_item_happened(&b->item);
	b->item.due_ns = b->item.since_ns + BIND_EVENT_NS;
	report_item_queue(&b->item);
}

void report_bind(struct report *r, const struct bind_notice *n)
{
	const char *const texts[BIND_TEXTS] = {
		[BIND_NAMESPACE] = n->namespace,
		[BIND_NAME] = n->name,
		[BIND_UID] = n->uid,
		[BIND_SCHEDULER] = n->scheduler,
		[BIND_DETAIL] = n->error ? n->error : n->node,
		[BIND_API_VERSION] = "",
		[BIND_KIND] = "",
	};

	happening_queue(r, n->error ? REPORT_BIND_REFUSED : REPORT_BOUND, texts);
}

void report_happened(struct report *r, const struct report_event *e)
{
	const char *const texts[BIND_TEXTS] = {
		[BIND_NAMESPACE] = e->namespace,
		[BIND_NAME] = e->name,
		[BIND_UID] = e->uid,
		[BIND_SCHEDULER] = e->scheduler,
		[BIND_DETAIL] = e->note,
		[BIND_API_VERSION] = e->api_version ? e->api_version : "",
		[BIND_KIND] = e->kind ? e->kind : "",
	};

	happening_queue(r, e->what, texts);
}

const char *report_bind_text(const struct bind_item *b, enum bind_text which)
{
	const char *at = b->texts;

	for (int k = 0; k < (int)which; k++)
		at += strlen(at) + 1;
	return at;
}

static bool bind_send(struct item *i)
{
	static const struct {
		const char *type, *reason, *action;
	} words[REPORT_HAPPENINGS] = {
		[REPORT_BOUND] = { "Normal", "Scheduled", "Binding" },
		[REPORT_BIND_REFUSED] = { "Warning", "FailedScheduling", "Scheduling" },
		[REPORT_CONDITIONS_PENDING] = { "Normal", "BindingConditionsPending", "Scheduling" },
		[REPORT_PREEMPTED] = { "Normal", "Preempted", "Preempting" },
		[REPORT_RECLAIMED] = { "Normal", "Reclaimed", "Preempting" },
		[REPORT_GIVEN_BACK] = { "Normal", "ElasticGivenBack", "Preempting" },
		[REPORT_PREEMPTING] = { "Normal", "Preempting", "Preempting" },
		[REPORT_PREEMPTION_STUCK] = { "Warning", "PreemptionStuck", "Preempting" },
		[REPORT_START_PROMISED] = { "Normal", "StartPromised", "Scheduling" },
		[REPORT_START_EARLIER] = { "Normal", "StartMovedEarlier", "Scheduling" },
		[REPORT_START_SLIPPED] = { "Warning", "StartSlipped", "Scheduling" },
	};
	const struct bind_item *b = (const struct bind_item *)i;
	const char *texts[BIND_TEXTS];
	char note[1200];
	struct event_text e = {
		.type = words[b->what].type,
		.reason = words[b->what].reason,
		.action = words[b->what].action,
		.note = note,
	};

	for (int k = 0; k < BIND_TEXTS; k++)
		texts[k] = report_bind_text(b, (enum bind_text)k);
	e.namespace = texts[BIND_NAMESPACE];
	e.object = texts[BIND_NAME];
	e.uid = texts[BIND_UID];
	e.controller = texts[BIND_SCHEDULER];
	if (texts[BIND_KIND][0]) {
		e.api_version = texts[BIND_API_VERSION];
		e.kind = texts[BIND_KIND];
	}
	if (b->what == REPORT_BOUND)
		snprintf(note, sizeof(note), "Successfully assigned %s/%s to %s", e.namespace, e.object,
		         texts[BIND_DETAIL]);
	else
		snprintf(note, sizeof(note), "%s", texts[BIND_DETAIL]);
	scan_drop_broken(note);
	report_event_send(i, &e);
	return true;
}

static void bind_free(struct item *i)
{
	free(i);
}

static void bind_written(struct item *i)
{
	struct report *r = i->report;

	r->counts.events++;
	window_answered(&r->window, env_now(r->config.env), i->due_ns,
	                !r->binds_waiting && r->queued_n[ITEM_BIND] > 0);
	bind_free(i);
}

const struct item_ops report_bind_ops = {
	.send = bind_send,
	.written = bind_written,
	.defer = report_item_keep,
	.finish = bind_free,
	.free = bind_free,
};
