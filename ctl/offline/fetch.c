/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/fetch.h"

#include "ctl/offline/offline.h"
#include "frontend/api/apistatus.h"
#include "frontend/api/curl.h"
#include "frontend/json/json.h"
#include "frontend/json/jsonout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_MS 60000u
#define WAIT_MS 1000u

struct fetching {
	struct curl_transport *curl;
	struct files *files;
	struct jsonout path;
	const char *selector; /* of what is listed now, NULL */
	char more[2048];      /* token of the next page, "" */
	char seen[2048]; /* that of the page whose number is the last power of two: in a circle it comes
	                    again (Brent) */
	unsigned pages_n;
	int status;
	bool done, ok;
	char *error;
	size_t error_bytes;
};

static uint64_t now_ns(void *context)
{
	struct timespec t;

	(void)context;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t no_chance(void *context)
{
	(void)context;
	return 0;
}

static void log_line(void *context, const char *level, const char *message)
{
	(void)context;
	fprintf(stderr, "musterctl: %s: %s\n", level, message);
}

/* metadata.continue of a list.  False and an error: it makes no sense. */
static bool read_more(struct fetching *f, const char *body, size_t bytes)
{
	struct arena arena = { 0 };
	struct text more = { 0 };
	struct json j;
	const char *wrong = NULL;

	json_begin(&j, body, bytes, &arena);
	if (!json_find_text(&j, "metadata", "continue", &more))
		wrong = "not a text";
	else if (more.bytes >= sizeof(f->more))
		wrong = "longer than 2047 bytes";
	else if (more.bytes > 0 && more.bytes == strlen(f->seen) &&
	         memcmp(more.at, f->seen, more.bytes) == 0)
		wrong = "names a page that has come before"; /* there would be no end to it */
	else if (more.bytes > 0)
		memcpy(f->more, more.at, more.bytes);
	f->more[wrong == NULL ? more.bytes : 0] = '\0';
	f->pages_n++;
	if ((f->pages_n & (f->pages_n - 1)) == 0)
		strcpy(f->seen, f->more);
	arena_free(&arena);
	if (wrong != NULL)
		snprintf(f->error, f->error_bytes, "%s: metadata.continue: %s", f->path.at, wrong);
	return wrong == NULL;
}

static void on_done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct fetching *f = context;
	struct apistatus s;

	f->done = true;
	f->status = answer->status;
	f->ok = answer->end == HTTP_ANSWERED && answer->status == 200;
	if (f->ok) {
		f->ok = files_take(f->files, f->path.at, body, bytes, f->error, f->error_bytes) &&
		        read_more(f, body, bytes);
		return;
	}
	if (answer->end != HTTP_ANSWERED) {
		snprintf(f->error, f->error_bytes, "%s: %.300s", f->path.at, answer->error);
		return;
	}
	apistatus_read(body != NULL ? body : "", bytes, &s);
	snprintf(f->error, f->error_bytes, "%s: %d %.300s", f->path.at, answer->status, s.message);
}

static void get(struct fetching *f, const struct resource *r, const char *version)
{
	struct transport *t = curl_transport_interface(f->curl);
	struct http_request request = { .method = "GET", .lane = HTTP_LIST, .timeout_ms = TIMEOUT_MS };
	struct http_handler handler = { .done = on_done, .context = f };
	bool ready;

	jsonout_clear(&f->path);
	jsonout_add(&f->path, *r->group ? "/apis/@p/" : "/api@p/", r->group);
	jsonout_add(&f->path, "@p/@p?limit=500", version, r->plural);
	if (f->selector != NULL)
		jsonout_add(&f->path, "&labelSelector=@p", f->selector);
	if (*f->more)
		jsonout_add(&f->path, "&continue=@p", f->more);
	request.path = f->path.at;
	f->done = f->ok = false;
	f->status = 0;
	f->more[0] = '\0';
	if (t->ops->start(t, &request, &handler) == NULL) {
		snprintf(f->error, f->error_bytes, "%s: the request can't be started", f->path.at);
		return;
	}
	while (!f->done)
		curl_transport_poll(f->curl, WAIT_MS, -1, &ready);
}

/* All pages of one kind; of an older version if the server does not know the newest. */
static bool fetch_kind(struct fetching *f, const struct model *m, int index)
{
	size_t n;
	const struct resource *r = &model_resources(m, &n)[index];
	const char *version = NULL;

	while ((version = model_resource_older(m, index, version)) != NULL) {
		f->seen[0] = '\0';
		f->pages_n = 0;
		do
			get(f, r, version);
		while (f->ok && *f->more);
		if (f->ok || f->status != 404)
			break;
	}
	return f->ok || (f->status == 404 && r->optional);
}

bool fetch_all(struct files *files, const struct access_options *options, char *error,
               size_t error_bytes)
{
	return fetch_selected(files, options, NULL, error, error_bytes);
}

bool fetch_selected(struct files *files, const struct access_options *options,
                    const char *node_selector, char *error, size_t error_bytes)
{
	struct env env = {
		.monotonic_ns = now_ns, .wall_ns = now_ns, .random = no_chance, .log = log_line
	};
	struct offline *offline = offline_new(&(struct offline_config){ 0 });
	struct model *m = offline_own_model(offline);
	struct fetching f = { .files = files, .error = error, .error_bytes = error_bytes };
	struct access access;
	struct curl_config config = { .access = &access, .env = &env, .lane_max = { [HTTP_LIST] = 1 } };
	const char *why = "";
	size_t n;
	bool ok = access_load(&access, options, error, error_bytes) == 0;

	if (ok) {
		f.curl = curl_transport_new(&config, &why);
		if (f.curl == NULL)
			snprintf(error, error_bytes, "%s: server %s: %s", access.source, access.server, why);
		ok = f.curl != NULL;
		model_resources(m, &n);
		for (size_t i = 0; ok && i < n; i++) {
			f.selector = i == RESOURCE_INDEX_NODES ? node_selector : NULL;
			ok = fetch_kind(&f, m, (int)i);
		}
		curl_transport_free(f.curl);
		access_free(&access);
	}
	jsonout_free(&f.path);
	offline_free(offline);
	return ok;
}
