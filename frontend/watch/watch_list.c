/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a watch by pages: page by page, replacing the known objects at its end. */
#include "frontend/watch/watch_impl.h"

#include "frontend/api/apistatus.h"
#include "frontend/json/jsonout.h"
#include "frontend/base/probe.h"
#include "frontend/base/version.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_LIMIT 500
#define LIST_LIMIT_MAPS 50 /* an object may have 1 MiB */
#define ABSENT_NS (30 * NS_PER_S)
#define MISSING_AGAIN_NS (5 * NS_PER_S)
#define FORBIDDEN_NS (30 * NS_PER_S)
#define FULL_PAGES 16 /* a list in one answer may have so many times the bytes of a page */

void watch_list_abort(struct watch *w)
{
	if (w->replacing)
		model_replace_abort(w->model, w->index);
	w->replacing = false;
	free(w->continue_token);
	w->continue_token = NULL;
	w->page_failures = 0;
	bytes_free(&w->body);
}

void watch_list_again(struct watch *w, enum relist_reason reason, uint64_t wait_ns)
{
	watch_beside_end(w);
	PROBE(relist, w->index, (uint32_t)reason);
	w->counts.relists++;
	w->counts.relists_for[reason]++;
	w->full_list = false;
	/* The server may have been upgraded and serve newer versions only; until it answers so, objects
	 * are read and written in the known version. */
	w->resource.version = model_resource_older(w->model, w->index, NULL);
	w->relist_ns = env_now(w->env);
	watch_wait(w, WATCH_LIST, wait_ns);
}

static void list_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes);

uint32_t watch_page_objects(const struct watch *w, unsigned halvings)
{
	const bool is_map = strcmp(w->resource.plural, "configmaps") == 0;
	const uint32_t n = (is_map ? LIST_LIMIT_MAPS : LIST_LIMIT) >> halvings;

	return n > 0 ? n : 1;
}

static uint32_t page_objects(const struct watch *w)
{
	return watch_page_objects(w, w->page_halvings);
}

/* The page is to be asked for again with fewer objects, which tenants make up to 1.5 MB each. */
static bool page_halve(struct watch *w, const struct http_answer *answer)
{
	if (!answer->too_long || w->full_list || page_objects(w) == 1)
		return false;
	w->page_halvings++;
	watch_wait(w, WATCH_LIST, 0);
	return true;
}

struct http_call *watch_page_ask(struct watch *w, uint32_t objects, const char *continue_token,
                                 size_t answer_bytes, const struct http_handler *handler)
{
	struct jsonout query = { 0 };
	struct http_call *call;
	char *path;
	struct http_request request = { .method = "GET",
		                            .lane = HTTP_LIST,
		                            .answer_bytes = answer_bytes,
		                            .timeout_ms = WATCH_CALL_TIMEOUT_MS };

	/* A page of one object is as long as that is: else the resource could never be listed. */
	if (objects == 0)
		request.answer_bytes_max = w->page_bytes_max * FULL_PAGES;
	else if (objects > 1)
		request.answer_bytes_max = w->page_bytes_max;
	if (objects > 0)
		jsonout_add(&query, "limit=@u", (unsigned long long)objects);
	if (continue_token)
		jsonout_add(&query, "&continue=@p", continue_token);
	path = watch_query(w, query.at ? query.at : "");
	request.path = path;
	PROBE(list_ask, w->index);
	call = w->env->transport->ops->start(w->env->transport, &request, handler);
	free(path);
	jsonout_free(&query);
	if (!call)
		fatal_memory();
	return call;
}

void watch_list_start(struct watch *w)
{
	const struct http_handler handler = { .done = list_done, .context = w };
	const size_t expected = w->continue_token ? w->body.n + w->body.n / 8 : 0;

	if (w->streams && !w->pages_next && !w->continue_token && !w->full_list) {
		watch_initial_start(w);
		return;
	}
	if (!w->continue_token) {
		w->begun_ns = env_now(w->env);
		w->relist_wanted = false;
	}
	w->call = watch_page_ask(w, w->full_list ? 0 : page_objects(w), w->continue_token, expected,
	                         &handler);
	w->state = WATCH_LISTING;
}

void watch_list_begin(struct watch *w)
{
	model_resource_found(w->model, w->index, w->resource.version);
	model_replace_begin(w->model, w->index);
	w->replacing = true;
	w->no_room = false;
}

void watch_list_taken(struct watch *w)
{
	PROBE(list_end, w->index);
	model_replace_end(w->model, w->index);
	PROBE(list_taken, w->index);
	model_resource_served(w->model, w->index, true);
	w->replacing = false;
	w->full_list = false;
	w->page_halvings = 0;
	w->absent = false;
	w->served = true;
	w->listed_ns = w->begun_ns;
	w->took_ns = env_now(w->env) - w->begun_ns;
	w->error[0] = '\0';
	w->counts.lists++;
	if (!w->synced)
		env_log(w->env, "info", "listed %s, now watching from resourceVersion %s", w->name,
		        w->version);
	w->synced = true;
	w->bookmarks_seen = 0;
	w->pages_next = false;
}

static void list_broken(struct watch *w)
{
	struct http_answer bad = { .end = HTTP_BROKEN,
		                       .retry_after_ms = -1,
		                       .error = "the answer is no list" };

	if (w->call)
		w->env->transport->ops->cancel(w->env->transport, w->call);
	w->call = NULL;
	watch_failed(w, "list", &bad, NULL, 0);
	watch_list_abort(w);
	watch_wait(w, WATCH_LIST, backoff_failed(&w->backoff, w->env));
}

void watch_list_put(struct watch *w)
{
	if (list_page_items(&w->page, watch_put_item, w) < 0) {
		list_broken(w);
		return;
	}
	w->body.n = 0;
	if (w->continue_token)
		return;
	bytes_free(&w->body);
	watch_list_taken(w);
	watch_wait(w, WATCH_WATCH, 0);
}

/* The page becomes w->body, without a copy where the transport has it in a buffer. */
static void body_take(struct watch *w, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	const struct bytes empty = w->body;

	assert(empty.n == 0);
	if (answer->buffer && body_bytes > 0) {
		w->body = *answer->buffer;
		*answer->buffer = empty;
	} else {
		bytes_add(&w->body, body, body_bytes);
	}
}

/* The next page is requested before this one is decoded, in watch_poll(): the server works on it
 * meanwhile. */
static void list_page(struct watch *w, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	body_take(w, answer, body, body_bytes);
	if (list_page_read(w->body.at, w->body.n, &w->page) < 0) {
		list_broken(w);
		return;
	}
	if (!w->replacing && w->synced && version_newer(w->version, w->page.resource_version)) {
		watch_went_backwards(w, w->page.resource_version);
		return;
	}
	if (!w->replacing) {
		watch_list_begin(w);
		/* The version of the first page is the version of the whole list. */
		memcpy(w->version, w->page.resource_version, sizeof(w->version));
	}
	PROBE(list_page, w->index, body_bytes);
	free(w->continue_token);
	w->continue_token = NULL;
	w->page_failures = 0;
	if (w->page.continue_token.bytes == 0) {
		watch_list_put(w);
		return;
	}
	w->continue_token = strndup(w->page.continue_token.at, w->page.continue_token.bytes);
	if (!w->continue_token)
		fatal_memory();
	watch_list_start(w);
}

/* A Status, or the plain text of Kubernetes for an unknown group; not the page of a proxy. */
static bool says_missing(const struct http_answer *answer, const char *body, size_t bytes)
{
	static const char plain[] = "404 page not found";

	if (apistatus_says(answer, 404, body, bytes))
		return true;
	return answer->end == HTTP_ANSWERED && answer->status == 404 && bytes >= sizeof(plain) - 1 &&
	       memcmp(body, plain, sizeof(plain) - 1) == 0;
}

/* The server has the resource in no version: treated as an empty list. Waiting gangs dissolve by
 * that, so a resource that existed is requested once more some seconds later. */
static void list_missing(struct watch *w, bool forbidden)
{
	const char *older = model_resource_older(w->model, w->index, w->resource.version);

	watch_list_abort(w);
	w->resource.version = older ? older : model_resource_older(w->model, w->index, NULL);
	if (older) {
		watch_wait(w, WATCH_LIST, 0);
		return;
	}
	if (w->served) {
		w->served = false;
		env_log(w->env, "warn",
		        forbidden ? "the API server forbids to list %s now (403); asked again in %llu s"
		                  : "the cluster has no %s any more; asked again in %llu s",
		        w->name, (unsigned long long)(MISSING_AGAIN_NS / NS_PER_S));
		watch_wait(w, WATCH_LIST, MISSING_AGAIN_NS);
		return;
	}
	model_replace_begin(w->model, w->index);
	model_replace_end(w->model, w->index);
	model_resource_served(w->model, w->index, false);
	if (!w->absent && forbidden)
		env_log(w->env, "warn",
		        "the API server forbids to list %s (403): %s; tried again every %llu s", w->name,
		        model_resource_without(w->model, w->index),
		        (unsigned long long)(ABSENT_NS / NS_PER_S));
	else if (!w->absent)
		env_log(w->env, "info", "the cluster has no %s; looked for again every %llu s", w->name,
		        (unsigned long long)(ABSENT_NS / NS_PER_S));
	w->absent = true;
	w->synced = true;
	w->version[0] = '\0';
	w->error[0] = '\0';
	watch_wait(w, WATCH_LIST, ABSENT_NS);
}

/* True if a 403 means that there are none.  An API server that starts forbids everything until it
 * has read its rules, and queues that are not known limit no gang: what is waited
 * for counts as not there only after half a minute in which it was forbidden, and never once it was
 * listed. */
static bool is_forbidden(struct watch *w, const struct http_answer *answer)
{
	const uint64_t now = env_now(w->env);

	if (answer->end != HTTP_ANSWERED || answer->status != 403) {
		w->forbidden_ns = 0;
		return false;
	}
	if (!model_resource_without(w->model, w->index))
		return false;
	if (!model_resource_awaited(w->model, w->index))
		return true;
	if (w->listed_ns > 0)
		return false;
	w->forbidden_ns = w->forbidden_ns > 0 ? w->forbidden_ns : now;
	return now - w->forbidden_ns >= FORBIDDEN_NS;
}

/* A list of many pages would hardly ever finish while one request in fifty fails, and each restart
 * adds load to the server. */
bool watch_page_again(const struct http_answer *answer)
{
	return answer->end != HTTP_ANSWERED || answer->status == 429 || answer->status >= 500;
}

static bool page_again(struct watch *w, const struct http_answer *answer)
{
	if (!w->continue_token || ++w->page_failures == WATCH_PAGE_TRIES)
		return false;
	return watch_page_again(answer);
}

static void list_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct watch *w = context;
	bool first = !w->asked, forbidden;
	uint64_t wait_ns;

	w->call = NULL;
	w->heard_ns = env_now(w->env);
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		w->asked = true;
		w->renewed = false;
		w->forbidden_ns = 0;
		list_page(w, answer, body, body_bytes);
		return;
	}
	if (page_halve(w, answer))
		return;
	forbidden = is_forbidden(w, answer);
	if (forbidden || (w->resource.optional && says_missing(answer, body, body_bytes))) {
		w->asked = true;
		list_missing(w, forbidden);
		return;
	}
	if (watch_renew(w, answer, WATCH_LIST))
		return;
	if (answer->end == HTTP_ANSWERED) {
		w->asked = true;
		w->refused_at_start = first && answer->status == 401;
	}
	if (answer->status == 410 && w->continue_token && !w->full_list) {
		/* The remaining pages belong to an expired state: one full list. */
		watch_list_abort(w);
		w->full_list = true;
		watch_wait(w, WATCH_LIST, 0);
		return;
	}
	watch_failed(w, "list", answer, body, body_bytes);
	if (!page_again(w, answer)) {
		watch_list_abort(w);
		w->full_list = false; /* what was too large in one response may fit in pages */
	}
	wait_ns = backoff_answer(&w->backoff, w->env, answer);
	if (w->forbidden_ns > 0 && wait_ns > MISSING_AGAIN_NS)
		wait_ns = MISSING_AGAIN_NS;
	watch_wait(w, WATCH_LIST, wait_ns);
}
