/* SPDX-License-Identifier: Apache-2.0 */
/* A list as a stream (KEP-3157): a watch without a version and with sendInitialEvents sends each
 * object as ADDED, then a bookmark with the version of the list, and goes on as a watch.  Objects
 * may change meanwhile: such events are a part of the list. */
#include "frontend/watch/watch_impl.h"

#include "frontend/base/probe.h"
#include "frontend/base/version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INITIAL_SECONDS 600 /* the list has to be complete by then */

void watch_initial_start(struct watch *w)
{
	char query[200];

	PROBE(list_ask, w->index);
	w->begun_ns = env_now(w->env);
	w->relist_wanted = false;
	w->initial = true;
	w->initial_over = false;
	snprintf(query, sizeof(query),
	         "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	         "&allowWatchBookmarks=true&timeoutSeconds=%u",
	         INITIAL_SECONDS);
	watch_stream_ask(w, query, INITIAL_SECONDS);
}

/* A bookmark of another sort: a server that does not know of lists as streams took the request for
 * one without a version. */
static int not_known(struct watch *w)
{
	w->streams = false;
	w->verdict = VERDICT_RELIST; /* it is logged where the stream ends */
	return -ECANCELED;
}

int watch_initial_bookmark(struct watch *w, const char *json, size_t bytes)
{
	char version[sizeof(w->version)];
	bool is_end;

	if (bookmark_read(json, bytes, version, sizeof(version), &is_end) < 0)
		return -EPROTO;
	if (!is_end || !version[0])
		return not_known(w);
	if (w->synced && version_newer(w->version, version)) {
		w->initial = false;
		watch_list_abort(w);
		return watch_went_backwards(w, version);
	}
	w->initial = false;
	w->initial_over = true;
	w->asked = true;
	w->renewed = false;
	memcpy(w->version, version, sizeof(version));
	w->counts.streamed++;
	watch_list_taken(w);
	return 0;
}

void watch_initial_ended(struct watch *w, const struct http_answer *answer)
{
	const bool answered = answer->end == HTTP_ANSWERED;
	struct http_answer early = { .end = HTTP_BROKEN,
		                         .retry_after_ms = -1,
		                         .error = "the stream ended before the list" };

	w->initial = false;
	w->suspect = false;
	w->pages_next = true;
	watch_list_abort(w);
	/* kube-apiserver over an etcd without RequestWatchProgress accepts the watch, and its first
	 * event is an ERROR with code 500. */
	if ((answered && (answer->status == 400 || answer->status == 422)) ||
	    (w->verdict == VERDICT_RELIST && w->said == 1))
		w->streams = false;
	if (!w->streams)
		env_log(w->env, "info", "the API server streams no lists of %s: they come in pages",
		        w->name);
	/* A page asks for the same and decides what follows of 401, 403 and the like. */
	if (!w->streams ||
	    (answered && answer->status >= 400 && answer->status < 500 && answer->status != 429)) {
		watch_wait(w, WATCH_LIST, 0);
		return;
	}
	if (answered && answer->status == 200)
		watch_failed(w, "list", &early, NULL, 0);
	else
		watch_failed(w, "list", answer, w->error_body, w->error_bytes);
	watch_wait(w, WATCH_LIST, backoff_answer(&w->backoff, w->env, answer));
}
