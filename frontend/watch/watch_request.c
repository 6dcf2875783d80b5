/* SPDX-License-Identifier: Apache-2.0 */
/* What the requests of a watch have in common: the path, the way of objects into the model, and
 * failures. */
#include "frontend/watch/watch_impl.h"

#include "frontend/api/apipath.h"
#include "frontend/api/apistatus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void watch_wait(struct watch *w, enum watch_state next, uint64_t wait_ns)
{
	w->state = next;
	w->wait_until_ns = env_now(w->env) + wait_ns;
}

void watch_relist(struct watch *w, enum relist_reason reason)
{
	/* Any other list reads what was left out as well. */
	if (!w->relist_wanted || reason != RELIST_ROOM)
		w->relist_reason = reason;
	w->relist_wanted = true;
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
