/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/api.h"

#include "frontend/base/bytes.h"
#include "ctl/term/ctl.h"
#include "frontend/api/kubeconfig.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct request *next; /* while it waits */
	char *path;
	char *body; /* NULL: GET */
	api_done_fn done;
	void *context;
};

struct lane {
	struct api *api;
	CURL *easy;
	struct request *request; /* NULL: idle */
	struct bytes answer;
};

struct stream {
	CURL *easy;        /* NULL: none */
	struct bytes rest; /* of a line that is not over */
	api_line_fn line;
	void *context;
	bool open;
};

struct api {
	CURLM *multi;
	struct access access;
	struct curl_slist *headers;
	struct lane *lanes;
	unsigned lanes_n;
	struct request *first, **last;
	struct stream stream;
};

static size_t take_bytes(char *from, size_t size, size_t n, void *context)
{
	struct lane *lane = context;

	bytes_add(&lane->answer, from, size * n);
	return size * n;
}

/* A handle that knows who we are. */
static CURL *new_handle(struct api *a)
{
	struct curl_blob ca = { .data = a->access.ca.at,
		                    .len = a->access.ca.bytes,
		                    .flags = CURL_BLOB_COPY };
	struct curl_blob cert = { .data = a->access.cert.at,
		                      .len = a->access.cert.bytes,
		                      .flags = CURL_BLOB_COPY };
	struct curl_blob key = { .data = a->access.key.at,
		                     .len = a->access.key.bytes,
		                     .flags = CURL_BLOB_COPY };
	CURL *easy = curl_easy_init();

	if (easy == NULL)
		ctl_no_memory();
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, a->headers);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (ca.len > 0)
		curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &ca);
	if (cert.len > 0 && key.len > 0) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &cert);
		curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
	}
	return easy;
}

static void set_up_lane(struct api *a, struct lane *lane)
{
	lane->api = a;
	lane->easy = new_handle(a);
	curl_easy_setopt(lane->easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(lane->easy, CURLOPT_WRITEDATA, lane);
	curl_easy_setopt(lane->easy, CURLOPT_PRIVATE, lane);
	curl_easy_setopt(lane->easy, CURLOPT_TIMEOUT_MS, 20000L);
}

static bool add_header(struct api *a, const char *text)
{
	struct curl_slist *longer = curl_slist_append(a->headers, text);

	if (longer != NULL)
		a->headers = longer;
	return longer != NULL;
}

static bool add_headers(struct api *a, char *error, size_t error_bytes)
{
	const char *why = "";
	char *token = a->access.token != NULL || a->access.token_file != NULL
	                  ? access_token(&a->access, &why)
	                  : NULL;
	char *line;
	bool ok;

	if (token == NULL && (a->access.token != NULL || a->access.token_file != NULL)) {
		snprintf(error, error_bytes, "%s", why);
		return false;
	}
	ok = add_header(a, "Content-Type: application/json") &&
	     add_header(a, "Accept: application/json") && add_header(a, "Expect:");
	if (token != NULL) {
		if (asprintf(&line, "Authorization: Bearer %s", token) < 0)
			ctl_no_memory();
		ok = ok && add_header(a, line);
		free(line);
		free(token);
	}
	if (!ok)
		ctl_no_memory();
	return true;
}

struct api *api_new(const char *kubeconfig, unsigned lanes, char *error, size_t error_bytes)
{
	struct access_options options = { .kubeconfig = kubeconfig };
	struct api *a = ctl_alloc(1, sizeof(*a));

	a->last = &a->first;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (access_load(&a->access, &options, error, error_bytes) < 0) {
		free(a);
		return NULL;
	}
	a->multi = curl_multi_init();
	if (a->multi == NULL)
		ctl_no_memory();
	if (!add_headers(a, error, error_bytes)) {
		api_free(a);
		return NULL;
	}
	a->lanes = ctl_alloc(lanes, sizeof(*a->lanes));
	for (a->lanes_n = 0; a->lanes_n < lanes; a->lanes_n++)
		set_up_lane(a, &a->lanes[a->lanes_n]);
	return a;
}

static void free_request(struct request *r)
{
	free(r->path);
	free(r->body);
	free(r);
}

void api_forget(struct api *a)
{
	while (a->first != NULL) {
		struct request *r = a->first;

		a->first = r->next;
		free_request(r);
	}
	a->last = &a->first;
}

void api_free(struct api *a)
{
	if (a == NULL)
		return;
	for (unsigned i = 0; i < a->lanes_n; i++) {
		struct lane *lane = &a->lanes[i];

		if (lane->request != NULL) {
			curl_multi_remove_handle(a->multi, lane->easy);
			free_request(lane->request);
		}
		curl_easy_cleanup(lane->easy);
		bytes_free(&lane->answer);
	}
	api_forget(a);
	if (a->stream.easy != NULL) {
		curl_multi_remove_handle(a->multi, a->stream.easy);
		curl_easy_cleanup(a->stream.easy);
		bytes_free(&a->stream.rest);
	}
	free(a->lanes);
	curl_multi_cleanup(a->multi);
	curl_slist_free_all(a->headers);
	access_free(&a->access);
	free(a);
}

void api_send(struct api *a, const char *path, char *body, api_done_fn done, void *context)
{
	struct request *r = ctl_alloc(1, sizeof(*r));

	r->path = ctl_copy(path);
	r->body = body;
	r->done = done;
	r->context = context;
	*a->last = r;
	a->last = &r->next;
}

static void start(struct lane *lane, struct request *r)
{
	char *url;

	if (asprintf(&url, "%s%s", lane->api->access.server, r->path) < 0)
		ctl_no_memory();
	lane->request = r;
	lane->answer.n = 0;
	curl_easy_setopt(lane->easy, CURLOPT_URL, url);
	if (r->body != NULL) {
		curl_easy_setopt(lane->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(r->body));
		curl_easy_setopt(lane->easy, CURLOPT_POSTFIELDS, r->body);
	} else {
		curl_easy_setopt(lane->easy, CURLOPT_HTTPGET, 1L);
	}
	curl_multi_add_handle(lane->api->multi, lane->easy);
	free(url);
}

static void start_what_fits(struct api *a)
{
	for (unsigned i = 0; i < a->lanes_n && a->first != NULL; i++) {
		struct request *r = a->first;

		if (a->lanes[i].request != NULL)
			continue;
		a->first = r->next;
		if (a->first == NULL)
			a->last = &a->first;
		r->next = NULL;
		start(&a->lanes[i], r);
	}
}

static void finish(struct api *a, CURL *easy, CURLcode code)
{
	struct lane *lane;
	struct request *r;
	long status = 0;

	if (easy == a->stream.easy) {
		a->stream.open = false;
		return;
	}
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &lane);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_multi_remove_handle(a->multi, easy);
	r = lane->request;
	lane->request = NULL;
	if (code != CURLE_OK) {
		status = 0;
		lane->answer.n = 0;
		bytes_put(&lane->answer, curl_easy_strerror(code));
	}
	*bytes_room(&lane->answer, 1) = '\0';
	r->done(r->context, (int)status, lane->answer.at, lane->answer.n);
	free_request(r);
}

static size_t take_stream(char *from, size_t size, size_t n, void *context)
{
	struct stream *s = context;
	char *line, *end;

	bytes_add(&s->rest, from, size * n);
	line = s->rest.at;
	while ((end = memchr(line, '\n', s->rest.n - (size_t)(line - s->rest.at))) != NULL) {
		s->line(s->context, line, (size_t)(end - line));
		line = end + 1;
	}
	s->rest.n -= (size_t)(line - s->rest.at);
	memmove(s->rest.at, line, s->rest.n);
	return size * n;
}

void api_watch(struct api *a, const char *path, api_line_fn line, void *context)
{
	char *url;

	if (asprintf(&url, "%s%s", a->access.server, path) < 0)
		ctl_no_memory();
	a->stream =
		(struct stream){ .easy = new_handle(a), .line = line, .context = context, .open = true };
	curl_easy_setopt(a->stream.easy, CURLOPT_URL, url);
	curl_easy_setopt(a->stream.easy, CURLOPT_WRITEFUNCTION, take_stream);
	curl_easy_setopt(a->stream.easy, CURLOPT_WRITEDATA, &a->stream);
	curl_multi_add_handle(a->multi, a->stream.easy);
	free(url);
}

bool api_watching(const struct api *a)
{
	return a->stream.open;
}

void api_run(struct api *a, int wait_ms)
{
	CURLMsg *message;
	int running, left;

	start_what_fits(a);
	curl_multi_perform(a->multi, &running);
	curl_multi_poll(a->multi, NULL, 0, wait_ms, NULL);
	curl_multi_perform(a->multi, &running);
	while ((message = curl_multi_info_read(a->multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE)
			finish(a, message->easy_handle, message->data.result);
	start_what_fits(a);
}
