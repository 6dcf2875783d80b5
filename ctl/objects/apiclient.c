/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/apiclient.h"

#include "frontend/api/curl.h"
#include "frontend/base/bytes.h"
#include "ipc/clock.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define TIMEOUT_MS 60000u

struct request {
	TAILQ_ENTRY(request) link; /* while it waits */
	struct apiclient *client;
	const char *method;
	char *path, *body;
	apiclient_done_fn done;
	void *context;
};
TAILQ_HEAD(request_list, request);

struct apiclient {
	struct access access;
	struct env env;
	struct curl_transport *curl;
	struct transport *io;
	struct request_list waiting, started;
	unsigned most, waiting_n, started_n;

	struct http_call *watch; /* NULL: none */
	struct bytes rest;       /* of a line that is incomplete */
	apiclient_line_fn line;
	void *context;
};

static uint64_t now_ns(void *context)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static uint64_t no_random(void *context)
{
	return 0; /* the transport uses none */
}

static void print_log(void *context, const char *level, const char *message)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, level, message);
}

struct apiclient *apiclient_new(const struct access_options *options, unsigned most, char *error,
                                size_t error_bytes)
{
	struct apiclient *c = must_alloc(sizeof(*c));
	struct curl_config config = { .access = &c->access,
		                          .env = &c->env,
		                          .lane_max = { [HTTP_WATCH] = 1, [HTTP_LIST] = most } };
	const char *why = "";

	TAILQ_INIT(&c->waiting);
	TAILQ_INIT(&c->started);
	c->most = most;
	c->env = (struct env){
		.monotonic_ns = now_ns, .wall_ns = now_ns, .random = no_random, .log = print_log
	};
	if (access_load(&c->access, options, error, error_bytes) < 0) {
		free(c);
		return NULL;
	}
	c->curl = curl_transport_new(&config, &why);
	if (c->curl == NULL) {
		snprintf(error, error_bytes, "%s: server %s: %s", c->access.source, c->access.server, why);
		apiclient_free(c);
		return NULL;
	}
	c->io = curl_transport_interface(c->curl);
	return c;
}

static void free_request(struct request *r)
{
	free(r->path);
	free(r->body);
	free(r);
}

static void free_all(struct request_list *list)
{
	struct request *r;

	while ((r = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, r, link);
		free_request(r);
	}
}

void apiclient_forget(struct apiclient *c)
{
	free_all(&c->waiting);
	c->waiting_n = 0;
}

void apiclient_free(struct apiclient *c)
{
	if (c == NULL)
		return;
	curl_transport_free(c->curl);
	free_all(&c->started);
	free_all(&c->waiting);
	bytes_free(&c->rest);
	access_free(&c->access);
	free(c);
}

const char *apiclient_server(const struct apiclient *c)
{
	return c->access.server;
}

const char *apiclient_source(const struct apiclient *c)
{
	return c->access.source;
}

unsigned apiclient_open(const struct apiclient *c)
{
	return c->waiting_n + c->started_n;
}

void apiclient_send(struct apiclient *c, const char *method, const char *path, char *body,
                    apiclient_done_fn done, void *context)
{
	struct request *r = must_alloc(sizeof(*r));

	*r = (struct request){ .client = c,
		                   .method = method,
		                   .path = must_copy(path),
		                   .body = body,
		                   .done = done,
		                   .context = context };
	TAILQ_INSERT_TAIL(&c->waiting, r, link);
	c->waiting_n++;
}

static void on_done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct request *r = context;
	bool answered = answer->end == HTTP_ANSWERED;

	TAILQ_REMOVE(&r->client->started, r, link);
	r->client->started_n--;
	r->done(r->context, answered ? answer->status : 0, answered ? body : answer->error,
	        answered ? bytes : strlen(answer->error));
	free_request(r);
}

static const char *content_type(const struct request *r)
{
	if (!r->body)
		return NULL;
	return strcmp(r->method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
}

static void start(struct apiclient *c)
{
	struct request *r;

	while (c->started_n < c->most && (r = TAILQ_FIRST(&c->waiting)) != NULL) {
		struct http_request request = { .method = r->method,
			                            .path = r->path,
			                            .body = r->body,
			                            .content_type = content_type(r),
			                            .body_bytes = r->body != NULL ? strlen(r->body) : 0,
			                            .lane = HTTP_LIST,
			                            .timeout_ms = TIMEOUT_MS };
		struct http_handler handler = { .done = on_done, .context = r };

		TAILQ_REMOVE(&c->waiting, r, link);
		c->waiting_n--;
		TAILQ_INSERT_TAIL(&c->started, r, link);
		c->started_n++;
		if (c->io->ops->start(c->io, &request, &handler) == NULL)
			fatal_memory();
	}
}

static bool on_watch_data(void *context, int status, const char *bytes, size_t n)
{
	struct apiclient *c = context;
	char *line, *end;

	bytes_add(&c->rest, bytes, n);
	line = c->rest.at;
	while (status == 200 &&
	       (end = memchr(line, '\n', c->rest.n - (size_t)(line - c->rest.at))) != NULL) {
		c->line(c->context, line, (size_t)(end - line));
		line = end + 1;
	}
	c->rest.n -= (size_t)(line - c->rest.at);
	memmove(c->rest.at, line, c->rest.n);
	return status == 200;
}

static void on_watch_done(void *context, const struct http_answer *answer, const char *body,
                          size_t bytes)
{
	struct apiclient *c = context;

	c->watch = NULL;
}

void apiclient_watch(struct apiclient *c, const char *path, apiclient_line_fn line, void *context)
{
	struct http_handler handler = { .data = on_watch_data, .done = on_watch_done, .context = c };
	struct http_request request = { .method = "GET", .path = path, .lane = HTTP_WATCH };

	if (c->watch != NULL)
		c->io->ops->cancel(c->io, c->watch);
	c->rest.n = 0;
	c->line = line;
	c->context = context;
	c->watch = c->io->ops->start(c->io, &request, &handler);
}

bool apiclient_watching(const struct apiclient *c)
{
	return c->watch != NULL;
}

void apiclient_run(struct apiclient *c, uint32_t wait_ms)
{
	bool extra;

	start(c);
	curl_transport_poll(c->curl, wait_ms, -1, &extra);
	start(c);
}
