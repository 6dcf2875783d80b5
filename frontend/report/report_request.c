/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of reports, and what their answers mean; what the kinds of reports do on their own
 * is behind struct item_ops. */
#include "frontend/report/report_impl.h"

#include "frontend/api/apistatus.h"
#include "frontend/report/event.h"
#include "frontend/base/probe.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 15000
#define TRIES_MAX 4

static const struct item_ops *ops_of(const struct item *i)
{
	return i->report->ops[i->kind];
}

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

static struct right *right_of(const struct item *i)
{
	return i->step != STEP_CONDITION ? &i->report->events : ops_of(i)->right(i);
}

/* A later sweep retries. */
static void item_defer(struct item *i)
{
	i->report->counts.deferred++;
	ops_of(i)->defer(i);
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

static void item_written(struct item *i)
{
	backoff_reset(&i->report->backoff);
	i->tries = 0;
	right_of(i)->missing = false;
	ops_of(i)->written(i);
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
	if (ops_of(i)->give_up)
		ops_of(i)->give_up(i);
}

static void refusal_log(const struct item *i, int status, const char *message)
{
	struct report *r = i->report;

	if (log_allowed(&r->limit, r->config.env, "reports"))
		env_log(r->config.env, "warn", "can't write the %s: HTTP %d: %.300s",
		        i->step != STEP_CONDITION ? "event of a pod or group (create and patch events)"
		                                  : ops_of(i)->what,
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
	} else if (!gone && !invalid) {
		ops_of(i)->defer(i);
	} else {
		ops_of(i)->finish(i);
	}
}

/* The requests of one flight that meet the same trouble count as one failure: each for itself would
 * pause all reports for the longest time at once. */
static void item_trouble(struct item *i, const struct http_answer *answer)
{
	struct report *r = i->report;
	bool first = true;

	if (i->kind == ITEM_BIND)
		first = window_slower(&r->window, env_now(r->config.env), i->due_ns);
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
	if (ops_of(i)->answered && ops_of(i)->answered(i, answer, body, body_bytes)) {
		report_item_queue(i);
	} else if (is_terminating(i, answer, body, body_bytes)) {
		r->counts.terminating++;
		item_give_up(i);
		ops_of(i)->finish(i);
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
	if (!ops_of(i)->send(i))
		ops_of(i)->finish(i);
}
