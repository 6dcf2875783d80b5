/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of a watch: events into the model, and the ways in which it ends. */
#include "frontend/watch/watch_impl.h"

#include "frontend/api/apistatus.h"
#include "frontend/base/probe.h"
#include "frontend/base/version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_SECONDS_MIN 300 /* the server ends the watch after a time that we choose */
#define WATCH_SECONDS_SPAN 301
#define WATCH_SECONDS_FIRST 90 /* silence cannot be detected before bookmarks were seen */
#define WATCH_SECONDS_FIRST_SPAN 31
#define WATCH_GRACE_MS 30000
#define WATCH_SHORT_NS NS_PER_S /* an earlier end without an event is a failure */
#define SILENCE_NS (150 * NS_PER_S)
#define RELIST_AGAIN_NS (30 * NS_PER_S)

/* The version is too old. A server that answers so to each fresh list would be listed in a loop. */
static void relist_expired(struct watch *w)
{
	bool again = w->relist_ns && env_now(w->env) - w->relist_ns < RELIST_AGAIN_NS;

	watch_list_again(w, RELIST_EXPIRED, again ? backoff_failed(&w->backoff, w->env) : 0);
}

static void bookmark(struct watch *w)
{
	uint64_t now = env_now(w->env);

	w->counts.bookmarks++;
	/* Only bookmarks of one connection are compared: silence of another one is not a measure. */
	if (w->bookmarks_seen > 0 && w->bookmark_ns >= w->began_ns &&
	    now - w->bookmark_ns > w->bookmark_gap_ns)
		w->bookmark_gap_ns = now - w->bookmark_ns;
	w->bookmark_ns = now;
	w->bookmarks_seen++;
}

static enum watch_verdict error_verdict(int code, const char *reason)
{
	if (code == 410 || strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0)
		return VERDICT_RELIST_NOW;
	return code == 429 ? VERDICT_BACKOFF : VERDICT_RELIST;
}

static void error_event(struct watch *w, const struct text *object)
{
	struct apistatus status;

	apistatus_read(object->at, object->bytes, &status);
	w->verdict = error_verdict(status.code, status.reason);
	if (log_allowed(&w->failure_limit, w->env, w->name))
		env_log(w->env, "info", "watch %s ended by the server: %d %s: %s", w->name, status.code,
		        status.reason, status.message);
}

static int event_take(void *context, const char *json, size_t bytes)
{
	struct watch *w = context;
	struct watch_event e;
	char version[sizeof(w->version)];

	if (watch_event_read(json, bytes, &e) < 0)
		return -EPROTO;
	PROBE(watch_event, w->index, bytes);
	w->said++;
	if (w->initial && !w->replacing && !text_is(e.type, "ERROR"))
		watch_list_begin(w);
	if (text_is(e.type, "ERROR")) {
		error_event(w, &e.object);
		return -ECANCELED;
	}
	if (text_is(e.type, "ADDED") || text_is(e.type, "MODIFIED")) {
		w->counts.events += !w->initial;
		backoff_reset(&w->backoff); /* the server works: the next failure is a new one */
		if (w->beside)
			watch_beside_changed(w, e.object.at, e.object.bytes);
		watch_put(w, e.object.at, e.object.bytes);
	} else if (text_is(e.type, "DELETED")) {
		w->counts.events++;
		PROBE(watch_removal, w->index);
		if (w->beside)
			watch_beside_changed(w, e.object.at, e.object.bytes);
		watch_remove(w, e.object.at, e.object.bytes);
	} else if (text_is(e.type, "BOOKMARK") && w->initial) {
		return watch_initial_bookmark(w, e.object.at, e.object.bytes);
	} else if (text_is(e.type, "BOOKMARK")) {
		bookmark(w);
	} else {
		return -EPROTO;
	}
	if (w->initial) /* objects come in no order of versions: the bookmark has that of the list */
		return 0;
	if (object_version_read(e.object.at, e.object.bytes, version, sizeof(version)) < 0 ||
	    !version[0])
		return 0;
	if (version_newer(w->version, version))
		return watch_went_backwards(w, version);
	PROBE(watch_event_taken, w->index);
	memcpy(w->version, version, sizeof(version));
	return 0;
}

static bool watch_data(void *context, int status, const char *bytes, size_t n)
{
	struct watch *w = context;
	int rc;

	w->heard_ns = env_now(w->env);
	PROBE(watch_read, w->index, n, w->heard_ns);
	if (status != 200) {
		if (n > sizeof(w->error_body) - w->error_bytes)
			n = sizeof(w->error_body) - w->error_bytes;
		memcpy(w->error_body + w->error_bytes, bytes, n);
		w->error_bytes += n;
		return true;
	}
	rc = frames_feed(&w->frames, bytes, n, event_take, w);
	if (rc == 0)
		return true;
	if (rc == -EMSGSIZE)
		w->counts.too_large++;
	if (w->verdict == VERDICT_NONE) {
		w->verdict = VERDICT_RELIST;
		if (log_allowed(&w->failure_limit, w->env, w->name))
			env_log(w->env, "error", "watch %s: %s; connection closed", w->name,
			        rc == -EMSGSIZE ? "an object is longer than 10 MiB"
			                        : "what comes is no watch event");
	}
	return false;
}

static void watch_done(void *context, const struct http_answer *answer, const char *body,
                       size_t body_bytes);

static unsigned watch_seconds(const struct watch *w)
{
	uint64_t random = w->env->random(w->env->context);

	if (w->bookmarks_seen < 2)
		return WATCH_SECONDS_FIRST + (unsigned)(random % WATCH_SECONDS_FIRST_SPAN);
	return WATCH_SECONDS_MIN + (unsigned)(random % WATCH_SECONDS_SPAN);
}

void watch_stream_ask(struct watch *w, const char *query, unsigned seconds)
{
	char *path;
	struct http_request request = {
		.method = "GET",
		.lane = HTTP_WATCH,
		.timeout_ms = seconds * 1000 + WATCH_GRACE_MS,
	};
	struct http_handler handler = { .data = watch_data, .done = watch_done, .context = w };

	path = watch_query(w, query);
	request.path = path;
	frames_reset(&w->frames);
	w->verdict = VERDICT_NONE;
	w->said = 0;
	w->error_bytes = 0;
	w->began_ns = env_now(w->env);
	w->heard_ns = w->began_ns;
	w->counts.watches++;
	PROBE(watch_ask, w->index);
	w->call = w->env->transport->ops->start(w->env->transport, &request, &handler);
	free(path);
	if (!w->call)
		fatal_memory();
	w->state = WATCH_WATCHING;
}

void watch_stream_start(struct watch *w)
{
	unsigned seconds = watch_seconds(w);
	char query[200];

	w->initial_over = false;
	snprintf(query, sizeof(query),
	         "watch=1&resourceVersion=%s&allowWatchBookmarks=true&timeoutSeconds=%u", w->version,
	         seconds);
	watch_stream_ask(w, query, seconds);
}

/* The watch ended with HTTP 200, or was closed by us. */
static void watch_ended(struct watch *w, const struct http_answer *answer)
{
	bool quick = env_now(w->env) - w->began_ns < WATCH_SHORT_NS && w->said == 0;

	switch (w->verdict) {
	case VERDICT_RELIST_NOW:
		relist_expired(w);
		return;
	case VERDICT_RELIST:
		watch_list_again(w, RELIST_FAILED, backoff_failed(&w->backoff, w->env));
		return;
	case VERDICT_BACKOFF:
		watch_wait(w, WATCH_WATCH, backoff_failed(&w->backoff, w->env));
		return;
	case VERDICT_NONE:
		break;
	}
	if (answer->end == HTTP_ANSWERED && !quick) {
		w->error[0] = '\0';
		watch_wait(w, WATCH_WATCH, 0);
		return;
	}
	if (answer->end != HTTP_ANSWERED)
		watch_failed(w, "watch", answer, NULL, 0);
	watch_wait(w, WATCH_WATCH, backoff_failed(&w->backoff, w->env));
}

/* A status other than 200. */
static void watch_refused(struct watch *w, const struct http_answer *answer, const char *body,
                          size_t body_bytes)
{
	if (watch_renew(w, answer, WATCH_WATCH))
		return;
	if (answer->status == 410) {
		relist_expired(w);
		return;
	}
	watch_failed(w, "watch", answer, body, body_bytes);
	/* A bad request, or the resource went away: a list decides. */
	if (answer->status == 400 || answer->status == 404 || answer->status == 422) {
		watch_list_again(w, RELIST_FAILED, backoff_answer(&w->backoff, w->env, answer));
		return;
	}
	watch_wait(w, WATCH_WATCH, backoff_answer(&w->backoff, w->env, answer));
}

static void watch_done(void *context, const struct http_answer *answer, const char *body,
                       size_t body_bytes)
{
	struct watch *w = context;

	w->call = NULL;
	PROBE(watch_ended, w->index, answer->status);
	if (w->initial) {
		watch_initial_ended(w, answer);
		return;
	}
	if (answer->end != HTTP_ANSWERED || answer->status == 200) {
		w->renewed = false;
		w->suspect = answer->end != HTTP_ANSWERED && w->verdict == VERDICT_NONE;
		watch_ended(w, answer);
		return;
	}
	watch_refused(w, answer, w->error_body, w->error_bytes);
}

/* A server restored to an older state accepts a watch from a version that it does not have yet, and
 * stays silent until it does: a list of one object shows it. */
static void probe_done(void *context, const struct http_answer *answer, const char *body,
                       size_t body_bytes)
{
	struct watch *w = context;
	struct list_page page;

	w->call = NULL;
	if (answer->end == HTTP_ANSWERED && answer->status == 200 &&
	    list_page_read(body, body_bytes, &page) == 0) {
		w->suspect = false;
		w->renewed = false;
		if (version_newer(w->version, page.resource_version))
			watch_went_backwards(w, page.resource_version);
		watch_wait(w, WATCH_WATCH, 0);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status != 200) {
		watch_refused(w, answer, body, body_bytes);
		return;
	}
	watch_failed(w, "list", answer, body, body_bytes);
	watch_wait(w, WATCH_WATCH, backoff_failed(&w->backoff, w->env));
}

void watch_probe_start(struct watch *w)
{
	char *path = watch_query(w, "limit=1");
	struct http_request request = {
		.method = "GET", .path = path, .lane = HTTP_LIST, .timeout_ms = WATCH_CALL_TIMEOUT_MS
	};
	struct http_handler handler = { .done = probe_done, .context = w };

	w->call = w->env->transport->ops->start(w->env->transport, &request, &handler);
	free(path);
	if (!w->call)
		fatal_memory();
	w->state = WATCH_PROBING;
}

/* After two bookmarks the server is known to send one about every minute; a connection that is
 * silent for much longer is dead. */
uint64_t watch_silence_deadline(const struct watch *w)
{
	uint64_t wait = SILENCE_NS;

	if (w->initial)
		return w->heard_ns + WATCH_CALL_TIMEOUT_MS * NS_PER_MS;
	if (w->bookmarks_seen < 2) /* one that began with a list has no short end */
		return w->initial_over ? w->heard_ns + wait : NEVER_NS;
	if (w->bookmark_gap_ns * 5 / 2 > wait)
		wait = w->bookmark_gap_ns * 5 / 2;
	return w->heard_ns + wait;
}

void watch_stream_silent(struct watch *w)
{
	w->suspect = true;
	w->counts.silences++;
	env_log(w->env, "warn", "watch %s: no byte for %llu s; connection closed, watching again",
	        w->name, (unsigned long long)((env_now(w->env) - w->heard_ns) / NS_PER_S));
	w->env->transport->ops->cancel(w->env->transport, w->call);
	w->call = NULL;
	if (w->initial)
		watch_initial_ended(w, &(struct http_answer){ .end = HTTP_BROKEN,
		                                              .retry_after_ms = -1,
		                                              .error = "the stream is silent" });
	else
		watch_wait(w, WATCH_WATCH, 0);
}
