#include "frontend/watch.h"

#include "frontend/apistatus.h"
#include "frontend/backoff.h"
#include "frontend/frames.h"
#include "frontend/log.h"
#include "frontend/version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_LIMIT 500
#define LIST_TIMEOUT_MS 60000
#define WATCH_SECONDS_MIN 300 /* the server ends it after a time of our choice */
#define WATCH_SECONDS_SPAN 301
#define WATCH_GRACE_MS 30000
#define WATCH_SHORT_NS NS_PER_S /* one that ends sooner and said nothing failed */
#define ABSENT_NS (30 * NS_PER_S)
#define SILENCE_NS (150 * NS_PER_S)
#define RELIST_AGAIN_NS (30 * NS_PER_S)
#define ERROR_BODY_MAX 4096

/* What the watch's own ERROR event, or its body, asks for. */
enum watch_verdict { VERDICT_NONE, VERDICT_RELIST_NOW, VERDICT_RELIST, VERDICT_BACKOFF };

struct watch {
	const struct env *env;
	struct model *model;
	int index;
	const struct resource *resource;
	char name[128]; /* "nodes", "podgroups.scheduling.x-k8s.io" */
	enum watch_state state;
	uint64_t wait_until_ns;
	uint64_t relist_ns; /* when the last relist was asked for; 0: never */
	struct backoff backoff;
	struct http_call *call;

	char version[64]; /* resume from here */
	char *continue_token;
	bool full_list;  /* paging failed: all in one answer */
	bool replacing;  /* model_replace_begin() was called */
	bool synced;
	bool absent;
	bool asked;      /* an answer came, whatever it said */
	bool refused_at_start;
	bool renewed;    /* the token was read again after a 401 */
	bool relist_wanted;
	bool no_room;    /* objects of the last list, or since, were left out */
	bool suspect;    /* the connection broke: is it still the same state that is served? */
	bool went_back;  /* it is not: nothing known is of use, nothing more is asked */

	/* The watch under way. */
	struct frames frames;
	enum watch_verdict verdict;
	uint64_t began_ns;
	uint64_t heard_ns;
	uint64_t bookmark_ns;
	uint64_t bookmark_gap_ns;
	uint64_t said; /* events and bookmarks of this watch */
	uint32_t bookmarks_seen;
	char error_body[ERROR_BODY_MAX];
	size_t error_bytes;

	struct watch_counts counts;
	struct log_limit bad_limit;
	struct log_limit failure_limit;
	char error[640];
};

struct watch *watch_new(const struct env *env, struct model *model, int index)
{
	size_t n;
	const struct resource *resources = model_resources(model, &n);
	struct watch *w = must_alloc(sizeof(*w));

	w->env = env;
	w->model = model;
	w->index = index;
	w->resource = &resources[index];
	w->backoff = BACKOFF_REFLECTOR;
	w->frames.bytes_max = FRAME_BYTES_MAX;
	snprintf(w->name, sizeof(w->name), "%s%s%s", w->resource->plural, w->resource->group[0] ? "." : "",
	         w->resource->group);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	if (w->call)
		w->env->transport->ops->cancel(w->env->transport, w->call);
	frames_free(&w->frames);
	free(w->continue_token);
	free(w);
}

static void watch_wait(struct watch *w, enum watch_state next, uint64_t wait_ns)
{
	w->state = next;
	w->wait_until_ns = env_now(w->env) + wait_ns;
}

static void path_begin(const struct watch *w, char *out, size_t out_bytes)
{
	const struct resource *r = w->resource;

	if (r->group[0])
		snprintf(out, out_bytes, "/apis/%s/%s/%s", r->group, r->version, r->plural);
	else
		snprintf(out, out_bytes, "/api/%s/%s", r->version, r->plural);
}

/* ---- objects ------------------------------------------------------------ */

static void object_complain(struct watch *w, int rc, const struct decode_error *e)
{
	if (rc == -ENOMEM)
		fatal_memory();
	w->counts.bad_objects++;
	if (log_allowed(&w->bad_limit, w->env, w->name))
		env_log(w->env, "error", "%s%s%s%s%s", e->object[0] ? e->object : w->name, e->field[0] ? ": " : "",
		        e->field, e->text[0] ? ": " : "", e->text[0] ? e->text : strerror(-rc));
}

static int object_put(void *context, const char *json, size_t bytes)
{
	struct watch *w = context;
	struct decode_error e = {0};
	int rc = model_put(w->model, w->index, json, bytes, &e);

	if (rc < 0)
		object_complain(w, rc, &e);
	w->no_room = w->no_room || rc == -ENOSPC;
	return 0;
}

static void object_remove(struct watch *w, const char *json, size_t bytes)
{
	struct decode_error e = {0};
	int rc = model_remove(w->model, w->index, json, bytes, &e);

	if (rc < 0)
		object_complain(w, rc, &e);
}

/* ---- failures ------------------------------------------------------------ */

static void list_abort(struct watch *w)
{
	if (w->replacing)
		model_replace_abort(w->model, w->index);
	w->replacing = false;
	free(w->continue_token);
	w->continue_token = NULL;
}

static void failure_note(struct watch *w, const char *verb, const struct http_answer *answer, const char *body,
                         size_t body_bytes)
{
	struct apistatus status;

	w->counts.failures++;
	if (answer->end != HTTP_ANSWERED) {
		snprintf(w->error, sizeof(w->error), "can't %s %s: %s", verb, w->name, answer->error);
	} else if (answer->status == 401) {
		snprintf(w->error, sizeof(w->error),
		         "the API server refuses these credentials (401) to %s %s: is the token right and not expired?", verb,
		         w->name);
	} else if (answer->status == 403) {
		snprintf(w->error, sizeof(w->error),
		         "the API server forbids to %s %s (403): its user needs get, list and watch on them (ClusterRole)",
		         verb, w->name);
	} else {
		apistatus_read(body, body_bytes, &status);
		snprintf(w->error, sizeof(w->error), "can't %s %s: HTTP %d: %.300s", verb, w->name, answer->status,
		         status.message);
	}
	if (log_allowed(&w->failure_limit, w->env, w->name))
		env_log(w->env, answer->status == 401 || answer->status == 403 ? "error" : "warn", "%s", w->error);
}

/* A 401: read the token again and ask once more at once, then back off. */
static bool credentials_retry(struct watch *w, const struct http_answer *answer, enum watch_state next)
{
	if (answer->status != 401 || w->renewed || !w->env->transport->ops->renew_credentials)
		return false;
	w->renewed = true;
	w->env->transport->ops->renew_credentials(w->env->transport);
	watch_wait(w, next, 0);
	return true;
}

/* A server that was restored from a backup, or another one behind the same
 * address. */
static int version_went_back(struct watch *w, const char *version)
{
	w->went_back = true;
	env_log(w->env, "warn", "the resourceVersion of %s went back from %s to %s: the API server was restored or is "
	        "another one", w->name, w->version, version);
	return -ECANCELED;
}

/* ---- list ---------------------------------------------------------------- */

static void list_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes);

static void list_start(struct watch *w)
{
	char base[256];
	size_t room = sizeof(base) + (w->continue_token ? strlen(w->continue_token) * 3 : 0) + 64;
	char *path = must_alloc(room);
	struct http_request request = {
		.method = "GET", .path = path, .lane = HTTP_CALL, .timeout_ms = LIST_TIMEOUT_MS,
	};
	struct http_handler handler = {.done = list_done, .context = w};
	int n;

	path_begin(w, base, sizeof(base));
	if (w->full_list) {
		snprintf(path, room, "%s", base);
	} else if (!w->continue_token) {
		snprintf(path, room, "%s?limit=%d", base, LIST_LIMIT);
	} else {
		n = snprintf(path, room, "%s?limit=%d&continue=", base, LIST_LIMIT);
		for (const char *c = w->continue_token; *c; c++)
			n += snprintf(path + n, room - (size_t)n, *c == '+' || *c == '/' || *c == '=' || *c == '%' || *c == '&' ?
			              "%%%02X" : "%c", (unsigned char)*c);
	}
	w->call = w->env->transport->ops->start(w->env->transport, &request, &handler);
	free(path);
	if (!w->call)
		fatal_memory();
	w->state = WATCH_LISTING;
}

static void list_finished(struct watch *w)
{
	model_replace_end(w->model, w->index);
	w->replacing = false;
	w->full_list = false;
	w->absent = false;
	w->error[0] = '\0';
	w->counts.lists++;
	if (!w->synced)
		env_log(w->env, "info", "listed %s, now watching from resourceVersion %s", w->name, w->version);
	w->synced = true;
	w->bookmarks_seen = 0;
	watch_wait(w, WATCH_WATCH, 0);
}

static void list_page(struct watch *w, const char *body, size_t body_bytes)
{
	struct list_page page;
	struct http_answer bad = {.end = HTTP_BROKEN, .retry_after_ms = -1, .error = "the answer is no list"};
	int rc = list_page_read(body, body_bytes, &page);

	if (rc == 0 && !w->replacing && w->synced && version_newer(w->version, page.resource_version)) {
		version_went_back(w, page.resource_version);
		return;
	}
	if (rc == 0 && !w->replacing) {
		model_replace_begin(w->model, w->index);
		w->replacing = true;
		w->no_room = false;
		/* The version of the first page is that of the whole list. */
		memcpy(w->version, page.resource_version, sizeof(w->version));
	}
	if (rc == 0)
		rc = list_page_items(&page, object_put, w);
	if (rc < 0) {
		failure_note(w, "list", &bad, NULL, 0);
		list_abort(w);
		watch_wait(w, WATCH_LIST, backoff_failed(&w->backoff, w->env));
		return;
	}
	free(w->continue_token);
	w->continue_token = NULL;
	if (page.continue_token.bytes == 0) {
		list_finished(w);
		return;
	}
	w->continue_token = strndup(page.continue_token.at, page.continue_token.bytes);
	if (!w->continue_token)
		fatal_memory();
	watch_wait(w, WATCH_LIST, 0);
}

/* The server does not know the resource: as good as an empty list, for now. */
static void list_missing(struct watch *w)
{
	list_abort(w);
	model_replace_begin(w->model, w->index);
	model_replace_end(w->model, w->index);
	if (!w->absent)
		env_log(w->env, "info", "the cluster has no %s; looked for again every %llu s", w->name,
		        (unsigned long long)(ABSENT_NS / NS_PER_S));
	w->absent = true;
	w->synced = true;
	w->version[0] = '\0';
	w->error[0] = '\0';
	watch_wait(w, WATCH_LIST, ABSENT_NS);
}

static void list_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct watch *w = context;
	bool first = !w->asked;

	w->call = NULL;
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		w->asked = true;
		w->renewed = false;
		list_page(w, body, body_bytes);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 404 && w->resource->optional) {
		w->asked = true;
		list_missing(w);
		return;
	}
	if (credentials_retry(w, answer, WATCH_LIST))
		return;
	if (answer->end == HTTP_ANSWERED) {
		w->asked = true;
		w->refused_at_start = first && answer->status == 401;
	}
	if (answer->status == 410 && w->continue_token && !w->full_list) {
		/* The pages left belong to a state that is gone: one full list. */
		list_abort(w);
		w->full_list = true;
		watch_wait(w, WATCH_LIST, 0);
		return;
	}
	failure_note(w, "list", answer, body, body_bytes);
	list_abort(w);
	watch_wait(w, WATCH_LIST, backoff_answer(&w->backoff, w->env, answer));
}

/* ---- watch ---------------------------------------------------------------- */

static void relist(struct watch *w, uint64_t wait_ns)
{
	w->counts.relists++;
	w->full_list = false;
	w->relist_ns = env_now(w->env);
	watch_wait(w, WATCH_LIST, wait_ns);
}

/* The version is too old.  A server that says so of each fresh list would be
 * listed in a circle. */
static void relist_expired(struct watch *w)
{
	bool again = w->relist_ns && env_now(w->env) - w->relist_ns < RELIST_AGAIN_NS;

	relist(w, again ? backoff_failed(&w->backoff, w->env) : 0);
}

static void bookmark(struct watch *w)
{
	uint64_t now = env_now(w->env);

	w->counts.bookmarks++;
	if (w->bookmarks_seen > 0 && now - w->bookmark_ns > w->bookmark_gap_ns)
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
		env_log(w->env, "info", "watch %s ended by the server: %d %s: %s", w->name, status.code, status.reason,
		        status.message);
}

static int event_take(void *context, const char *json, size_t bytes)
{
	struct watch *w = context;
	struct watch_event e;
	char version[sizeof(w->version)];

	if (watch_event_read(json, bytes, &e) < 0)
		return -EPROTO;
	w->said++;
	if (text_is(e.type, "ERROR")) {
		error_event(w, &e.object);
		return -ECANCELED;
	}
	if (text_is(e.type, "ADDED") || text_is(e.type, "MODIFIED")) {
		w->counts.events++;
		object_put(w, e.object.at, e.object.bytes);
	} else if (text_is(e.type, "DELETED")) {
		w->counts.events++;
		object_remove(w, e.object.at, e.object.bytes);
	} else if (text_is(e.type, "BOOKMARK")) {
		bookmark(w);
	} else {
		return -EPROTO;
	}
	if (object_version_read(e.object.at, e.object.bytes, version, sizeof(version)) < 0 || !version[0])
		return 0;
	if (version_newer(w->version, version))
		return version_went_back(w, version);
	memcpy(w->version, version, sizeof(version));
	return 0;
}

static bool watch_data(void *context, int status, const char *bytes, size_t n)
{
	struct watch *w = context;
	int rc;

	w->heard_ns = env_now(w->env);
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
	if (rc == -ENOMEM)
		fatal_memory();
	if (rc == -EMSGSIZE)
		w->counts.too_large++;
	if (w->verdict == VERDICT_NONE) {
		w->verdict = VERDICT_RELIST;
		if (log_allowed(&w->failure_limit, w->env, w->name))
			env_log(w->env, "error", "watch %s: %s; connection closed", w->name, rc == -EMSGSIZE ?
			        "an object is longer than 4 MiB" : "what comes is no watch event");
	}
	return false;
}

static void watch_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes);

static void watch_start(struct watch *w)
{
	char base[256], path[512];
	unsigned seconds = WATCH_SECONDS_MIN + (unsigned)(w->env->random(w->env->context) % WATCH_SECONDS_SPAN);
	struct http_request request = {
		.method = "GET", .path = path, .lane = HTTP_WATCH, .timeout_ms = seconds * 1000 + WATCH_GRACE_MS,
	};
	struct http_handler handler = {.data = watch_data, .done = watch_done, .context = w};

	path_begin(w, base, sizeof(base));
	snprintf(path, sizeof(path), "%s?watch=1&resourceVersion=%s&allowWatchBookmarks=true&timeoutSeconds=%u", base,
	         w->version, seconds);
	frames_reset(&w->frames);
	w->verdict = VERDICT_NONE;
	w->said = 0;
	w->error_bytes = 0;
	w->began_ns = env_now(w->env);
	w->heard_ns = w->began_ns;
	w->counts.watches++;
	w->call = w->env->transport->ops->start(w->env->transport, &request, &handler);
	if (!w->call)
		fatal_memory();
	w->state = WATCH_WATCHING;
}

/* The watch ended with HTTP 200, or was broken off by ourselves. */
static void watch_ended(struct watch *w, const struct http_answer *answer)
{
	bool quick = env_now(w->env) - w->began_ns < WATCH_SHORT_NS && w->said == 0;

	switch (w->verdict) {
	case VERDICT_RELIST_NOW:
		relist_expired(w);
		return;
	case VERDICT_RELIST:
		relist(w, backoff_failed(&w->backoff, w->env));
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
		failure_note(w, "watch", answer, NULL, 0);
	watch_wait(w, WATCH_WATCH, backoff_failed(&w->backoff, w->env));
}

/* Another status than 200. */
static void watch_refused(struct watch *w, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	if (credentials_retry(w, answer, WATCH_WATCH))
		return;
	if (answer->status == 410) {
		relist_expired(w);
		return;
	}
	failure_note(w, "watch", answer, body, body_bytes);
	/* Asked wrongly, or the resource went: a list will tell. */
	if (answer->status == 400 || answer->status == 404 || answer->status == 422) {
		relist(w, backoff_answer(&w->backoff, w->env, answer));
		return;
	}
	watch_wait(w, WATCH_WATCH, backoff_answer(&w->backoff, w->env, answer));
}

static void watch_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct watch *w = context;

	(void)body;
	(void)body_bytes;
	w->call = NULL;
	if (answer->end != HTTP_ANSWERED || answer->status == 200) {
		w->renewed = false;
		w->suspect = answer->end != HTTP_ANSWERED && w->verdict == VERDICT_NONE;
		watch_ended(w, answer);
		return;
	}
	watch_refused(w, answer, w->error_body, w->error_bytes);
}

/* A server put back to an older state takes a watch from a version that it does
 * not have yet, and stays silent until it has: a list of one object tells. */
static void probe_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct watch *w = context;
	struct list_page page;

	w->call = NULL;
	if (answer->end == HTTP_ANSWERED && answer->status == 200 && list_page_read(body, body_bytes, &page) == 0) {
		w->suspect = false;
		w->renewed = false;
		if (version_newer(w->version, page.resource_version))
			version_went_back(w, page.resource_version);
		watch_wait(w, WATCH_WATCH, 0);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status != 200) {
		watch_refused(w, answer, body, body_bytes);
		return;
	}
	failure_note(w, "list", answer, body, body_bytes);
	watch_wait(w, WATCH_WATCH, backoff_failed(&w->backoff, w->env));
}

static void probe_start(struct watch *w)
{
	char base[256], path[300];
	struct http_request request = {.method = "GET", .path = path, .lane = HTTP_CALL, .timeout_ms = LIST_TIMEOUT_MS};
	struct http_handler handler = {.done = probe_done, .context = w};

	path_begin(w, base, sizeof(base));
	snprintf(path, sizeof(path), "%s?limit=1", base);
	w->call = w->env->transport->ops->start(w->env->transport, &request, &handler);
	if (!w->call)
		fatal_memory();
	w->state = WATCH_PROBING;
}

/* Once two bookmarks were seen the server is known to say something about every
 * minute; a connection that stays silent much longer is dead. */
static uint64_t silence_deadline(const struct watch *w)
{
	uint64_t wait = SILENCE_NS;

	if (w->bookmarks_seen < 2)
		return NEVER_NS;
	if (w->bookmark_gap_ns * 5 / 2 > wait)
		wait = w->bookmark_gap_ns * 5 / 2;
	return w->heard_ns + wait;
}

static void watch_silent(struct watch *w)
{
	w->suspect = true;
	w->counts.silences++;
	env_log(w->env, "warn", "watch %s: no byte for %llu s; connection closed, watching again", w->name,
	        (unsigned long long)((env_now(w->env) - w->heard_ns) / NS_PER_S));
	w->env->transport->ops->cancel(w->env->transport, w->call);
	w->call = NULL;
	watch_wait(w, WATCH_WATCH, 0);
}

uint64_t watch_poll(struct watch *w)
{
	uint64_t now = env_now(w->env);

	if (w->went_back)
		return NEVER_NS;
	if (w->relist_wanted && (w->state == WATCH_WATCHING || w->state == WATCH_WATCH)) {
		w->relist_wanted = false;
		if (w->call)
			w->env->transport->ops->cancel(w->env->transport, w->call);
		w->call = NULL;
		relist(w, 0);
	}
	if (w->state == WATCH_WATCHING && now >= silence_deadline(w))
		watch_silent(w);
	if (w->state == WATCH_LIST && now >= w->wait_until_ns)
		list_start(w);
	else if (w->state == WATCH_WATCH && now >= w->wait_until_ns && w->suspect)
		probe_start(w);
	else if (w->state == WATCH_WATCH && now >= w->wait_until_ns)
		watch_start(w);
	if (w->state == WATCH_LISTING || w->state == WATCH_PROBING)
		return NEVER_NS;
	return w->state == WATCH_WATCHING ? silence_deadline(w) : w->wait_until_ns;
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
	return w->no_room;
}

bool watch_went_back(const struct watch *w)
{
	return w->went_back;
}

void watch_relist(struct watch *w)
{
	w->relist_wanted = true;
}

enum watch_state watch_state(const struct watch *w)
{
	return w->state;
}

const struct resource *watch_resource(const struct watch *w)
{
	return w->resource;
}

const struct watch_counts *watch_counts(const struct watch *w)
{
	return &w->counts;
}

const char *watch_error(const struct watch *w)
{
	return w->error;
}
