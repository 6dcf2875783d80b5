/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about one pod, request by request, and the end of each request. */
#include "frontend/report/report_impl.h"

#include "frontend/api/apistatus.h"
#include "frontend/report/event.h"
#include "frontend/base/probe.h"
#include "frontend/json/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 15000
#define TRIES_MAX 4
static void item_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes);

void report_item_request(struct item *i, const char *method, const char *type)
{
	struct report *r = i->report;
	struct http_request request = {
		.method = method,
		.path = r->path.at,
		.content_type = type,
		.body = r->body.at,
		.body_bytes = r->body.bytes,
		.lane = HTTP_REPORT,
		.timeout_ms = TIMEOUT_MS,
	};
	struct http_handler handler = { .done = item_done, .context = i };

	PROBE(report_ask, (uint32_t)i->kind, (uint32_t)i->step,
	      i->kind == ITEM_POD ? pod_of(i)->pod : ID_NONE);
	i->call = r->config.env->transport->ops->start(r->config.env->transport, &request, &handler);
	if (!i->call)
		fatal_memory();
	i->flying = true;
	i->tries++;
	i->due_ns = env_now(r->config.env);
	if (i->kind == ITEM_BIND)
		r->events_flying++;
	else
		r->tokens -= 1;
	TAILQ_INSERT_TAIL(&r->flying, i, link);
	r->flying_n++;
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

void report_event_send(struct item *i, const struct event_text *about)
{
	struct report *r = i->report;
	struct event_text e = *about;
	char name[256];

	e.wall_ns =
		i->since_wall_ns ? i->since_wall_ns : r->config.env->wall_ns(r->config.env->context);
	event_name(name, sizeof(name), e.object, e.wall_ns);
	if (i->kind == ITEM_POD) {
		free(pod_of(i)->event_name);
		pod_of(i)->event_name = must_copy(name);
	}
	e.name = name;
	e.instance = r->instance;
	jsonout_add(&r->path, "/apis/events.k8s.io/v1/namespaces/@p/events", e.namespace);
	event_write(&r->body, &e);
	report_item_request(i, "POST", "application/json");
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

const char *report_bind_text(const struct bind_item *b, enum bind_text which)
{
	const char *at = b->texts;

	for (int k = 0; k < (int)which; k++)
		at += strlen(at) + 1;
	return at;
}

static void bind_send(struct item *i)
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
}

/* Finished: a pod's item is kept for its series, that of a binding is freed. */
static void item_finish(struct item *i)
{
	struct report *r = i->report;
	struct pod_item *p;
	struct pod_view pod;

	if (i->kind == ITEM_GROUP) {
		report_group_finish(i);
		return;
	}
	if (i->kind == ITEM_BIND) {
		report_item_free(i);
		return;
	}
	p = pod_of(i);
	if (r->by_pod[p->pod] != p || !model_pod(r->config.model, p->pod, p->generation, &pod) ||
	    pod.node[0]) {
		report_item_free(i);
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

/* A later sweep retries. */
static void item_defer(struct item *i)
{
	i->report->counts.deferred++;
	if (i->kind == ITEM_BIND)
		report_item_keep(i);
	else
		item_finish(i);
}

/* The server has a problem: pauses all reports. */
static void item_again(struct item *i, uint64_t pause_ns)
{
	struct report *r = i->report;
	uint64_t until = env_now(r->config.env) + pause_ns;

	if (until > r->pause_until_ns)
		r->pause_until_ns = until;
	if (i->tries >= TRIES_MAX)
		item_defer(i);
	else
		report_item_queue(i);
}

/* Perhaps this object alone is rejected, by a webhook of its namespace: others continue. */
static void item_later(struct item *i)
{
	if (i->tries >= TRIES_MAX)
		item_defer(i);
	else
		report_item_hold(i);
}

static struct right *right_of(const struct item *i)
{
	if (i->step != STEP_CONDITION)
		return &i->report->events;
	return i->kind == ITEM_GROUP ? report_group_right(i) : &i->report->conditions;
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

static void item_written(struct item *i)
{
	struct report *r = i->report;

	backoff_reset(&r->backoff);
	i->tries = 0;
	right_of(i)->missing = false;
	if (i->kind == ITEM_GROUP) {
		report_group_written(i);
		return;
	}
	if (i->step == STEP_CONDITION) {
		PROBE(condition_written, pod_of(i)->pod);
		r->counts.conditions++;
		i->step = STEP_EVENT;
		if (pod_of(i)->next_note) /* that text is outdated */
			item_finish(i);
		else
			report_item_queue(i);
		return;
	}
	r->counts.events++;
	if (i->kind == ITEM_POD)
		pod_event_written(pod_of(i));
	else if (i->kind == ITEM_BIND)
		report_rate_answered(r, i->due_ns);
	item_finish(i);
}

/* An API server that has just started rejects what it accepts a second later. */
#define FORBIDDEN_TRIES 4u

static bool is_forbidden_yet(const struct item *i)
{
	return right_of(i)->missing || i->tries >= FORBIDDEN_TRIES;
}

/* An overloaded or starting server answers 429 or 503, or sends Retry-After. */
static bool is_in_trouble(const struct http_answer *answer)
{
	if (answer->end != HTTP_ANSWERED || answer->status == 429)
		return true;
	return answer->status >= 500 && (answer->status != 500 || answer->retry_after_ms >= 0);
}

static bool is_invalid(int status)
{
	return status == 400 || status == 413 || status == 415 || status == 422;
}

/* The object would be rejected again, or is not there. */
static void item_give_up(struct item *i)
{
	if (i->kind == ITEM_GROUP)
		report_group_give_up(group_of_item(i));
	else if (i->kind == ITEM_POD && i->step == STEP_CONDITION)
		report_note_drop(&pod_of(i)->standing);
	else if (i->kind == ITEM_POD)
		event_ended(pod_of(i));
}

static void refusal_log(const struct item *i, int status, const char *message)
{
	struct report *r = i->report;

	if (log_allowed(&r->limit, r->config.env, "reports"))
		env_log(r->config.env, "warn", "can't write the %s: HTTP %d: %.300s",
		        i->step != STEP_CONDITION ? "event of a pod or group (create and patch events)"
		        : i->kind == ITEM_GROUP ? "status of a group (patch podgroups/status, or podgroups)"
		                                : "condition of a pod (patch pods/status)",
		        status, message);
}

/* The admission plugin NamespaceLifecycle: nothing is created there any more. */
static bool is_terminating(const struct item *i, const struct http_answer *answer, const char *body,
                           size_t body_bytes)
{
	struct apistatus s;

	if (i->step == STEP_CONDITION || answer->end != HTTP_ANSWERED || answer->status != 403)
		return false;
	apistatus_read(body, body_bytes, &s);
	return s.code == 403 && strstr(s.message, "because it is being terminated") != NULL;
}

static void item_refused(struct item *i, const struct http_answer *answer, const char *body,
                         size_t body_bytes)
{
	struct report *r = i->report;
	bool gone, invalid = is_invalid(answer->status);
	struct apistatus s;

	if (i->step == STEP_SERIES && answer->status == 404) {
		pod_of(i)->event_count = 0; /* too old to be incremented */
		i->step = STEP_EVENT;
		report_item_queue(i);
		return;
	}
	apistatus_read(body, body_bytes, &s);
	gone = s.code == 404;
	if (!gone)
		refusal_log(i, answer->status, s.message);
	if (answer->status == 403 && !gone)
		right_of(i)->missing = true;
	if (gone || invalid)
		item_give_up(i);
	r->counts.dropped += invalid;
	r->counts.deferred += !gone && !invalid;
	/* A rejected condition does not suppress the event. */
	if (i->step == STEP_CONDITION && answer->status != 404) {
		i->step = STEP_EVENT;
		report_item_queue(i);
	} else if (i->kind == ITEM_BIND && !gone && !invalid) {
		report_item_keep(i);
	} else {
		item_finish(i);
	}
}

/* True if a group asks discovery where its status is written (STATUS_OBJECT), or has the answer.
 * Another 404 of the place that discovery named is final for DISCOVERED_NS. */
static bool discovered(struct item *i, const struct http_answer *answer, const char *body,
                       size_t body_bytes)
{
	if (i->kind != ITEM_GROUP || answer->end != HTTP_ANSWERED)
		return false;
	if (group_of_item(i)->discovers && answer->status == 200) {
		report_status_discovered(group_of_item(i), body, body_bytes);
		i->tries = 0;
		return true;
	}
	return answer->status == 404 && i->step == STEP_CONDITION && !group_of_item(i)->discovers &&
	       report_status_missing(group_of_item(i));
}

/* The requests of one flight that meet the same trouble count as one failure: each for itself would
 * pause all reports for the longest time at once. */
static void item_trouble(struct item *i, const struct http_answer *answer)
{
	struct report *r = i->report;
	bool first = true;

	if (i->kind == ITEM_BIND)
		first = report_rate_slower(r, i->due_ns);
	if (first || answer->retry_after_ms >= 0)
		item_again(i, backoff_answer(&r->backoff, r->config.env, answer));
	else
		item_again(i, 0);
}

static void item_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct item *i = context;
	struct report *r = i->report;

	i->call = NULL;
	PROBE(report_answered, (uint32_t)i->kind, (uint32_t)i->step, answer->status);
	report_item_unlist(i);
	if (discovered(i, answer, body, body_bytes)) {
		report_item_queue(i);
	} else if (is_terminating(i, answer, body, body_bytes)) {
		r->counts.terminating++;
		item_give_up(i);
		item_finish(i);
	} else if (is_in_trouble(answer)) {
		item_trouble(i, answer);
	} else if (answer->status == 500) {
		item_later(i);
	} else if (answer->status == 409 && i->step == STEP_EVENT) {
		item_written(i); /* its name is ours: an earlier try, whose answer was lost */
	} else if (answer->status == 409 && i->kind == ITEM_GROUP && i->tries < TRIES_MAX) {
		/* The object changed: retry with the watch's new state. */
		i->due_ns = env_now(r->config.env) + NS_PER_S;
		report_item_queue(i);
	} else if (answer->status == 403 && !is_forbidden_yet(i)) {
		report_item_hold(i);
	} else if (answer->status == 401) {
		env_renew_credentials(r->config.env);
		item_again(i, i->tries > 1 ? backoff_failed(&r->backoff, r->config.env) : 0);
	} else if (answer->status >= 200 && answer->status < 300) {
		item_written(i);
	} else {
		item_refused(i, answer, body, body_bytes);
	}
}

void report_item_send(struct item *i)
{
	jsonout_clear(&i->report->path);
	jsonout_clear(&i->report->body);
	if (i->kind == ITEM_BIND)
		bind_send(i);
	else if (!(i->kind == ITEM_GROUP ? report_group_send(i) : pod_send(i)))
		item_finish(i);
}
