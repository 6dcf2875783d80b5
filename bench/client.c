/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/client.h"

#include "bench/bench.h"
#include "frontend/api/curl.h"
#include "frontend/api/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 60000u
#define MARK "{\"type\":\"ADDED\""
#define MARK_BYTES (sizeof(MARK) - 1)

struct client {
	struct access access;
	struct env env;
	struct curl_transport *curl;
	struct transport *io;
	struct client_seen seen;
	struct http_call *watch; /* NULL: none */
	char line[MARK_BYTES];   /* how the line begins that comes in now */
	size_t line_bytes;
	unsigned open; /* requests under way */
	bool failed;
	int status;
	char *said;
	char what[640]; /* the request that failed, or is under way alone */
};

static uint64_t now_ns(void *context)
{
	return bench_now_ns();
}

static uint64_t no_random(void *context)
{
	return 4; /* the transport asks for none */
}

static void say(void *context, const char *level, const char *message)
{
	fprintf(stderr, "muster-bench: %s\n", message);
}

struct client *client_new(const char *kubeconfig)
{
	struct access_options options = { .kubeconfig = kubeconfig };
	struct client *c = calloc(1, sizeof(*c));
	const char *error = "no memory";
	struct curl_config config;
	char text[512];

	if (!c) {
		fprintf(stderr, "muster-bench: no memory\n");
		return NULL;
	}
	if (access_load(&c->access, &options, text, sizeof(text)) < 0) {
		fprintf(stderr, "muster-bench: %s\n", text);
		free(c);
		return NULL;
	}
	c->env =
		(struct env){ .monotonic_ns = now_ns, .wall_ns = now_ns, .random = no_random, .log = say };
	config = (struct curl_config){ .access = &c->access,
		                           .env = &c->env,
		                           .lane_max = { [HTTP_WATCH] = 1,
		                                         [HTTP_BIND] = 1,
		                                         [HTTP_REPORT] = 1,
		                                         [HTTP_CALL] = CLIENT_AT_ONCE } };
	c->curl = curl_transport_new(&config, &error);
	if (!c->curl) {
		fprintf(stderr, "muster-bench: %s\n", error);
		client_free(c);
		return NULL;
	}
	c->io = curl_transport_interface(c->curl);
	return c;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	if (c->curl)
		curl_transport_free(c->curl);
	access_free(&c->access);
	free(c->said);
	free(c);
}

/* ---- requests ----------------------------------------------------------------------- */

static void on_done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct client *c = context;

	c->open--;
	c->status = answer->end == HTTP_ANSWERED ? answer->status : 0;
	if (c->status >= 200 && c->status < 300 && c->what[0] == '\0')
		return;
	free(c->said);
	c->said = c->status > 0 ? strndup(body, bytes) : strdup(answer->error);
	c->failed = true;
}

static bool start(struct client *c, const char *method, const char *path, const char *body)
{
	struct http_request request = { .method = method,
		                            .path = path,
		                            .body = body,
		                            .content_type = body ? "application/json" : NULL,
		                            .body_bytes = body ? strlen(body) : 0,
		                            .lane = HTTP_CALL,
		                            .timeout_ms = TIMEOUT_MS };
	struct http_handler handler = { .done = on_done, .context = c };

	if (!c->io->ops->start(c->io, &request, &handler))
		return false;
	c->open++;
	return true;
}

static void poll_once(struct client *c, uint32_t ms)
{
	bool extra;

	curl_transport_poll(c->curl, ms, -1, &extra);
}

bool client_row(struct client *c, const char *method, uint32_t n, client_make_fn make,
                void *context)
{
	char path[512] = "";

	c->failed = false;
	c->what[0] = '\0'; /* only failures are kept */
	for (uint32_t i = 0; i < n || c->open > 0;) {
		while (!c->failed && i < n && c->open < CLIENT_AT_ONCE) {
			char *body = NULL;

			make(context, i++, path, &body);
			c->failed = !start(c, method, path, body);
			free(body);
		}
		if (c->failed && c->open == 0)
			break;
		poll_once(c, 100);
	}
	if (c->failed)
		fprintf(stderr, "muster-bench: %s %s or one shortly before: %d %.300s\n", method, path,
		        c->status, c->said ? c->said : "");
	return !c->failed;
}

int client_one(struct client *c, const char *method, const char *path, const char *body)
{
	snprintf(c->what, sizeof(c->what), "%s %s", method, path);
	c->status = 0;
	if (!start(c, method, path, body))
		return 0;
	while (c->open > 0)
		poll_once(c, 100);
	c->what[0] = '\0';
	return c->status;
}

const char *client_said(const struct client *c)
{
	return c->said ? c->said : "";
}

/* ---- the watch ------------------------------------------------------------------------ */

static void on_line(struct client *c)
{
	if (c->line_bytes < MARK_BYTES || memcmp(c->line, MARK, MARK_BYTES) != 0)
		return;
	c->seen.last_ns = bench_now_ns();
	if (c->seen.bound++ == 0)
		c->seen.first_ns = c->seen.last_ns;
}

/* Only the beginnings of lines are looked at: each is an event. */
static bool on_watch_data(void *context, int status, const char *bytes, size_t n)
{
	struct client *c = context;
	const char *end = bytes + n;

	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		const char *stop = newline ? newline : end;

		for (; c->line_bytes < MARK_BYTES && bytes < stop; bytes++)
			c->line[c->line_bytes++] = *bytes;
		bytes = stop;
		if (newline) {
			on_line(c);
			c->line_bytes = 0;
			bytes++;
		}
	}
	return status == 200;
}

static void on_watch_done(void *context, const struct http_answer *answer, const char *body,
                          size_t bytes)
{
	struct client *c = context;

	c->watch = NULL;
	c->seen.open = false;
}

bool client_watch(struct client *c, const char *namespace)
{
	struct http_handler handler = { .data = on_watch_data, .done = on_watch_done, .context = c };
	struct http_request request = { .method = "GET", .lane = HTTP_WATCH };
	char path[256];

	if (c->watch)
		c->io->ops->cancel(c->io, c->watch);
	c->seen = (struct client_seen){ .open = true };
	c->line_bytes = 0;
	snprintf(path, sizeof(path),
	         "/api/v1/namespaces/%s/pods?watch=1&fieldSelector=spec.nodeName%%21%%3D", namespace);
	request.path = path;
	c->watch = c->io->ops->start(c->io, &request, &handler);
	/* What was bound before it stands is told first, so nothing is missed. */
	client_idle(c, 200);
	return c->watch != NULL;
}

const struct client_seen *client_seen(const struct client *c)
{
	return &c->seen;
}

bool client_wait(struct client *c, uint32_t n, uint32_t seconds)
{
	const uint64_t for_ns = (uint64_t)seconds * 1000000000u;
	uint64_t end = bench_now_ns() + for_ns;
	uint32_t bound = c->seen.bound;

	while (c->seen.bound < n && c->seen.open && bench_now_ns() < end) {
		poll_once(c, 50);
		if (c->seen.bound != bound)
			end = bench_now_ns() + for_ns;
		bound = c->seen.bound;
	}
	return c->seen.bound >= n;
}

void client_idle(struct client *c, uint32_t ms)
{
	uint64_t end = bench_now_ns() + (uint64_t)ms * 1000000u;

	while (bench_now_ns() < end)
		poll_once(c, 10);
}
