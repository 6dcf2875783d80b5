/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/watch/watch_impl.h"

#include "frontend/api/apipath.h"
#include "frontend/api/apistatus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watch *watch_new(const struct env *env, struct model *model, int index)
{
	size_t n;
	const struct resource *resources = model_resources(model, &n);
	struct watch *w = must_alloc(sizeof(*w));

	w->env = env;
	w->model = model;
	w->index = index;
	w->resource = resources[index];
	w->backoff = BACKOFF_REFLECTOR;
	w->frames.bytes_max = FRAME_BYTES_MAX;
	snprintf(w->name, sizeof(w->name), "%s%s%s", w->resource.plural,
	         w->resource.group[0] ? "." : "", w->resource.group);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	if (w->call)
		w->env->transport->ops->cancel(w->env->transport, w->call);
	watch_beside_end(w);
	frames_free(&w->frames);
	bytes_free(&w->body);
	free(w->selector);
	free(w->continue_token);
	free(w);
}

void watch_wait(struct watch *w, enum watch_state next, uint64_t wait_ns)
{
	w->state = next;
	w->wait_until_ns = env_now(w->env) + wait_ns;
}

void watch_select(struct watch *w, const char *label_selector)
{
	struct jsonout query = { 0 };

	jsonout_add(&query, "labelSelector=@p", label_selector);
	free(w->selector);
	w->selector = query.at;
}

void watch_share_outage(struct watch *w, struct watch_outage *outage)
{
	outage->refused.most = 1;
	outage->unreachable.most = 1;
	w->outage = outage;
}

void watch_stream_lists(struct watch *w)
{
	w->streams = true;
}

void watch_follow(struct watch *w, void (*put)(void *context, uint64_t heard_ns), void *context)
{
	w->put = put;
	w->put_context = context;
}

void watch_select_fields(struct watch *w, const char *field_selector)
{
	struct jsonout query = { 0 };

	jsonout_add(&query, "fieldSelector=@p", field_selector);
	free(w->selector);
	w->selector = query.at;
}

char *watch_query(const struct watch *w, const char *rest)
{
	bool both = w->selector && *rest;
	struct jsonout out = { 0 };

	apipath_all(&out, &w->resource);
	jsonout_add(&out, "@r@r@r@r", w->selector || *rest ? "?" : "", rest, both ? "&" : "",
	            w->selector ? w->selector : "");
	return out.at;
}

static void object_complain(struct watch *w, int rc, const struct decode_error *e)
{
	w->counts.bad_objects++;
	if (log_allowed(&w->bad_limit, w->env, w->name))
		env_log(w->env, "error", "%s%s%s%s%s", e->object[0] ? e->object : w->name,
		        e->field[0] ? ": " : "", e->field, e->text[0] ? ": " : "",
		        e->text[0] ? e->text : strerror(-rc));
}

static void object_put(struct watch *w, int rc, const struct decode_error *e)
{
	if (rc < 0)
		object_complain(w, rc, e);
	else if (e->text[0] && log_allowed(&w->bad_limit, w->env, w->name))
		env_log(w->env, "warn", "%s: %s", e->object, e->text);
	w->no_room = w->no_room || rc == -ENOSPC;
	if (w->put)
		w->put(w->put_context, w->heard_ns);
}

void watch_put(struct watch *w, const char *json, size_t bytes)
{
	struct decode_error e;

	e.text[0] = e.object[0] = e.field[0] = '\0';
	object_put(w, model_put(w->model, w->index, json, bytes, &e), &e);
}

int watch_put_item(void *context, const char *json, size_t bytes, size_t *used)
{
	struct watch *w = context;
	struct decode_error e;

	e.text[0] = e.object[0] = e.field[0] = '\0';
	object_put(w, model_put_first(w->model, w->index, json, bytes, used, &e), &e);
	return 0;
}

void watch_remove(struct watch *w, const char *json, size_t bytes)
{
	struct decode_error e = { 0 };
	int rc = model_remove(w->model, w->index, json, bytes, &e);

	if (rc < 0)
		object_complain(w, rc, &e);
}

/* A request that was sent and got no answer may be of a list that takes too long: its collection's
 * failure. */
static bool failure_is_logged(struct watch *w, const struct http_answer *answer)
{
	if (w->outage != NULL && answer->end == HTTP_NOT_SENT)
		return log_allowed(&w->outage->unreachable, w->env, "requests without a connection");
	if (w->outage != NULL && answer->end == HTTP_ANSWERED && answer->status == 401)
		return log_allowed(&w->outage->refused, w->env, "answers 401");
	return log_allowed(&w->failure_limit, w->env, w->name);
}

void watch_failed(struct watch *w, const char *verb, const struct http_answer *answer,
                  const char *body, size_t body_bytes)
{
	struct apistatus status;

	w->counts.failures++;
	if (answer->end != HTTP_ANSWERED) {
		snprintf(w->error, sizeof(w->error), "can't %s %s: %s", verb, w->name, answer->error);
	} else if (answer->status == 401) {
		snprintf(
			w->error, sizeof(w->error),
			"the API server refuses these credentials (401) to %s %s: is the token right and not expired?",
			verb, w->name);
	} else if (answer->status == 403) {
		snprintf(
			w->error, sizeof(w->error),
			"the API server forbids to %s %s (403): its user needs get, list and watch on them (ClusterRole)",
			verb, w->name);
	} else {
		apistatus_read(body, body_bytes, &status);
		snprintf(w->error, sizeof(w->error), "can't %s %s: HTTP %d: %.300s", verb, w->name,
		         answer->status, status.message);
	}
	if (failure_is_logged(w, answer))
		env_log(w->env, answer->status == 401 || answer->status == 403 ? "error" : "warn", "%s",
		        w->error);
}

/* After a 401 the token is read again each time, since its file may be late; the request is
 * repeated once immediately, then with backoff. */
bool watch_renew(struct watch *w, const struct http_answer *answer, enum watch_state next)
{
	if (answer->status != 401 || !w->env->transport->ops->renew_credentials)
		return false;
	w->env->transport->ops->renew_credentials(w->env->transport);
	if (w->renewed)
		return false;
	w->renewed = true;
	watch_wait(w, next, 0);
	return true;
}

/* A server that was restored from a backup, or another one at the same address.  A list beside the
 * watch ends by itself: this may be called while the transport has data, when nothing may be
 * cancelled. */
int watch_went_backwards(struct watch *w, const char *version)
{
	w->went_back = true;
	env_log(w->env, "warn",
	        "the resourceVersion of %s went back from %s to %s: the API server was restored or is "
	        "another one",
	        w->name, w->version, version);
	return -ECANCELED;
}

/* Starts the list that was asked for; one beside the watch waits for the last one's end. */
static void relist_start(struct watch *w)
{
	if (w->initial || (w->state != WATCH_WATCHING && w->state != WATCH_WATCH))
		return;
	if (w->relist_reason == RELIST_ROOM && w->beside)
		return;
	if (w->relist_reason == RELIST_ROOM && w->state == WATCH_WATCHING) {
		watch_beside_start(w);
		return;
	}
	if (w->call)
		w->env->transport->ops->cancel(w->env->transport, w->call);
	w->call = NULL;
	watch_list_again(w, w->relist_reason, 0);
}

static uint64_t own_poll(struct watch *w)
{
	const uint64_t now = env_now(w->env);

	if (w->body.n > 0)
		watch_list_put(w);
	if (w->relist_wanted)
		relist_start(w);
	if (w->state == WATCH_WATCHING && now >= watch_silence_deadline(w))
		watch_stream_silent(w);
	if (w->state == WATCH_LIST && now >= w->wait_until_ns)
		watch_list_start(w);
	else if (w->state == WATCH_WATCH && now >= w->wait_until_ns && w->suspect)
		watch_probe_start(w);
	else if (w->state == WATCH_WATCH && now >= w->wait_until_ns)
		watch_stream_start(w);
	if (w->state == WATCH_LISTING || w->state == WATCH_PROBING)
		return NEVER_NS;
	return w->state == WATCH_WATCHING ? watch_silence_deadline(w) : w->wait_until_ns;
}

uint64_t watch_poll(struct watch *w)
{
	uint64_t own, beside;

	if (w->went_back)
		return NEVER_NS;
	own = own_poll(w);
	beside = watch_beside_poll(w);
	return own < beside ? own : beside;
}

bool watch_synced(const struct watch *w)
{
	return w->synced;
}

bool watch_absent(const struct watch *w)
{
	return w->absent;
}

bool watch_refused_at_start(const struct watch *w)
{
	return w->refused_at_start;
}

bool watch_lacks_room(const struct watch *w)
{
	return w->no_room || model_lacks(w->model, w->index);
}

bool watch_went_back(const struct watch *w)
{
	return w->went_back;
}

void watch_limit_pages(struct watch *w, size_t bytes)
{
	w->page_bytes_max = bytes;
}

void watch_relist(struct watch *w, enum relist_reason reason)
{
	/* Any other list reads what was left out as well. */
	if (!w->relist_wanted || reason != RELIST_ROOM)
		w->relist_reason = reason;
	w->relist_wanted = true;
}

uint64_t watch_list_ns(const struct watch *w)
{
	const bool lists = w->state == WATCH_LISTING || w->replacing || w->initial;
	const uint64_t so_far = lists ? env_now(w->env) - w->begun_ns : watch_beside_ns(w);

	return so_far > w->took_ns ? so_far : w->took_ns;
}

uint64_t watch_listed_ns(const struct watch *w)
{
	return w->listed_ns;
}

const struct resource *watch_resource(const struct watch *w)
{
	return &w->resource;
}

uint64_t watch_silence_ns(const struct watch *w)
{
	return w->state == WATCH_WATCHING ? env_now(w->env) - w->heard_ns : 0;
}

const struct watch_counts *watch_counts(const struct watch *w)
{
	return &w->counts;
}

const char *watch_error(const struct watch *w)
{
	return w->error;
}
