/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/client.h"

#include "bench/bench.h"
#include "ipc/memory.h"

#define MARK "{\"type\":\"ADDED\""
#define POD "\"name\":\"pod-"

bool client_open(struct client *c, const char *kubeconfig)
{
	struct access_options options = { .kubeconfig = kubeconfig };
	char error[512];

	*c = (struct client){ .api = apiclient_new(&options, CLIENT_AT_ONCE, error, sizeof(error)) };
	if (!c->api)
		fprintf(stderr, "muster-bench: %s\n", error);
	return c->api;
}

void client_close(struct client *c)
{
	apiclient_free(c->api);
	bytes_free(&c->said);
}

static void on_one(void *context, int status, const char *body, size_t bytes)
{
	struct client *c = context;

	c->status = status;
	c->said.n = 0;
	bytes_add(&c->said, body, bytes);
	bytes_add(&c->said, "", 1);
}

static void on_row(void *context, int status, const char *body, size_t bytes)
{
	struct client *c = context;

	if (c->failed || (status >= 200 && status < 300))
		return;
	c->failed = true;
	on_one(c, status, body, bytes);
}

static uint64_t due_ns(const struct client_pace *pace, uint32_t i)
{
	return pace->start_ns + (uint64_t)((double)i * 1e9 / pace->per_s);
}

static bool may_send(const struct client *c, uint32_t i, uint32_t n)
{
	return !c->failed && i < n && apiclient_open(c->api) < CLIENT_AT_ONCE &&
	       (!c->pace || due_ns(c->pace, i) <= bench_now_ns());
}

bool client_row(struct client *c, const char *method, uint32_t n, client_make_fn make,
                void *context)
{
	char path[512] = "";

	c->failed = false;
	for (uint32_t i = 0; (i < n && !c->failed) || apiclient_open(c->api) > 0;) {
		while (may_send(c, i, n)) {
			char *body = NULL;

			make(context, i++, path, &body);
			apiclient_send(c->api, method, path, body, on_row, c);
		}
		apiclient_run(c->api, c->pace ? 1 : 100);
	}
	if (c->failed)
		fprintf(stderr, "muster-bench: %s %s or one shortly before: %d %.300s\n", method, path,
		        c->status, client_said(c));
	return !c->failed;
}

int client_one(struct client *c, const char *method, const char *path, const char *body)
{
	apiclient_send(c->api, method, path, body ? must_copy(body) : NULL, on_one, c);
	while (apiclient_open(c->api) > 0)
		apiclient_run(c->api, 100);
	return c->status;
}

const char *client_said(const struct client *c)
{
	return c->said.n > 0 ? c->said.at : "";
}

/* Of pod-i, by the name in its metadata, which comes first. */
static void took(struct client_pace *pace, const char *line, size_t bytes, uint64_t now_ns)
{
	const char *at = memmem(line, bytes, POD, strlen(POD));
	unsigned long i;

	if (!at)
		return;
	i = strtoul(at + strlen(POD), NULL, 10);
	if (i < pace->n)
		pace->took_ms[i] = (double)(now_ns - due_ns(pace, (uint32_t)i)) / 1e6;
}

static void on_line(void *context, const char *line, size_t bytes)
{
	struct client *c = context;

	if (bytes < strlen(MARK) || memcmp(line, MARK, strlen(MARK)) != 0)
		return;
	c->seen.last_ns = bench_now_ns();
	if (c->seen.bound++ == 0 && c->seen.first_ns == 0)
		c->seen.first_ns = c->seen.last_ns;
	if (c->pace)
		took(c->pace, line, bytes, c->seen.last_ns);
}

static void on_event(void *context, const char *line, size_t bytes)
{
	static const char scheduled[] = "\"reason\":\"Scheduled\"";

	if (memmem(line, bytes, scheduled, sizeof(scheduled) - 1))
		on_line(context, line, bytes);
}

/* Both watches begin with what the API server has in its cache (resourceVersion=0).  Without a
 * version one waits until the cache is as new as the store, and ends after 3 s: with an etcd below
 * 3.4.25 a cache is only as new as the last change of a pod. */
static void watch_from(struct client *c, const char *namespace, uint64_t first_ns)
{
	char path[256];

	c->seen = (struct client_seen){ .first_ns = first_ns };
	snprintf(path, sizeof(path),
	         "/api/v1/namespaces/%s/pods?watch=1&resourceVersion=0&fieldSelector="
	         "spec.nodeName%%21%%3D",
	         namespace);
	apiclient_watch(c->api, path, on_line, c);
	/* What was bound before it is open comes first, so that nothing is missed. */
	client_idle(c, 200);
}

void client_watch(struct client *c, const char *namespace)
{
	watch_from(c, namespace, 0);
}

void client_watch_again(struct client *c, const char *namespace)
{
	watch_from(c, namespace, c->seen.first_ns);
}

void client_watch_events(struct client *c, const char *namespace)
{
	char path[256];

	c->seen = (struct client_seen){ 0 };
	snprintf(path, sizeof(path),
	         "/apis/events.k8s.io/v1/namespaces/%s/events?watch=1&resourceVersion=0", namespace);
	apiclient_watch(c->api, path, on_event, c);
}

bool client_wait(struct client *c, uint32_t n, uint32_t seconds)
{
	const uint64_t for_ns = (uint64_t)seconds * 1000000000u;
	uint64_t end = bench_now_ns() + for_ns;
	uint32_t bound = c->seen.bound;

	while (c->seen.bound < n && apiclient_watching(c->api) && bench_now_ns() < end) {
		apiclient_run(c->api, 50);
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
		apiclient_run(c->api, 10);
}
