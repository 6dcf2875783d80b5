/* SPDX-License-Identifier: Apache-2.0 */
/* The network between the frontend and the API server: each way takes 0.2 to 2 ms, nothing is
 * lost.  Watches that have news are read within 1 ms, a quarter of them one round later, so that
 * they come in different orders.
 *
 * Events (Kubernetes' objects) go to a server of their own, as large clusters have it, which
 * answers and stores none: an hour of them would fill the memory. */
#include "tests/hour/hour.h"

#include "ipc/memory.h"
#include "tests/apisim/call.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 65536u
#define LOOK_NS HOUR_S /* at watches without news: bookmarks, and their end */

struct http_call {
	struct http_call *next; /* of the watches */
	struct http_handler handler;
	char *method, *path, *type, *body;
	size_t body_bytes;
	bool arrived;
	bool orphan; /* the client does not want the answer */
	struct http_answer answer;
	struct as_text said; /* body of the answer */
	struct as_watch *watch;
};

struct hour_net {
	struct transport transport; /* first */
	struct hour *hour;
	struct http_call *watches;
	uint64_t look_ns;        /* at watches, for news */
	uint64_t looked_ns;      /* the last time */
	uint64_t looked_version; /* of the store then; 0: some were not read */
	char piece[PIECE_BYTES];
};

static void call_free(struct http_call *c)
{
	as_watch_free(c->watch);
	as_text_free(&c->said);
	free(c->method);
	free(c->path);
	free(c->type);
	free(c->body);
	free(c);
}

static void call_timer(struct hour_net *n, struct http_call *c)
{
	struct hour *h = n->hour;
	const uint64_t way_ns = 200 * HOUR_US + hour_random(h, 1800 * HOUR_US);

	timers_add(&h->timers,
	           (struct timer){ .at_ns = h->now_ns + way_ns, .kind = TIMER_CALL, .call = c });
}

static struct http_call *net_start(struct transport *t, const struct http_request *r,
                                   const struct http_handler *handler)
{
	struct hour_net *n = (struct hour_net *)t;
	const int64_t heap = daemons_heap_begin();
	struct http_call *c = must_alloc(sizeof(*c));

	c->handler = *handler;
	c->method = must_copy(r->method);
	c->path = must_copy(r->path);
	c->type = must_copy(r->content_type != NULL ? r->content_type : "application/json");
	c->body = must_alloc(r->body_bytes + 1);
	if (r->body_bytes > 0)
		memcpy(c->body, r->body, r->body_bytes);
	c->body_bytes = r->body_bytes;
	call_timer(n, c);
	daemons_heap_end(n->hour->daemons, heap);
	return c;
}

static void net_cancel(struct transport *t, struct http_call *c)
{
	c->orphan = true;
}

static const struct transport_ops net_ops = { .start = net_start, .cancel = net_cancel };

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_binding(const struct http_call *c)
{
	return strcmp(c->method, "POST") == 0 && strstr(c->path, "/binding") != NULL;
}

static bool is_event(const struct http_call *c)
{
	return strcmp(c->method, "POST") == 0 && ends_with(c->path, "/events");
}

static void handle(struct hour_net *n, struct http_call *c)
{
	struct hour *h = n->hour;
	struct as_request request = {
		.method = c->method,
		.target = c->path,
		.content_type = c->type,
		.body = c->body,
		.body_bytes = c->body_bytes,
		.now_ns = HOUR_EPOCH_NS + h->now_ns,
	};
	struct as_response response = { .status = 201 };

	c->arrived = true;
	if (is_event(c))
		as_text_add(&response.body, c->body, c->body_bytes);
	else
		as_api_handle(h->api, &request, &response);
	if (is_binding(c) && response.status < 300)
		load_bound(h->load, c->path, c->body);
	c->said = response.body;
	c->watch = response.watch;
	c->answer = (struct http_answer){
		.end = HTTP_ANSWERED, .status = response.status, .retry_after_ms = -1, .error = ""
	};
}

/* The last callback of a call. */
static void call_done(struct hour_net *n, struct http_call *c)
{
	const struct http_handler *handler = &c->handler;
	const bool pieces = handler->data != NULL;

	if (!c->orphan) {
		c->orphan = true;
		daemons_callback_begin(n->hour->daemons);
		if (pieces && c->said.bytes > 0)
			handler->data(handler->context, c->answer.status, c->said.at, c->said.bytes);
		handler->done(handler->context, &c->answer,
		              pieces || c->said.bytes == 0 ? NULL : c->said.at, pieces ? 0 : c->said.bytes);
		daemons_callback_end(n->hour->daemons);
	}
	call_free(c);
}

void hour_net_timer(struct hour_net *n, struct http_call *c)
{
	if (!c->arrived) {
		handle(n, c);
		call_timer(n, c);
	} else if (c->watch != NULL && !c->orphan) {
		c->next = n->watches;
		n->watches = c;
		n->looked_version = 0;
	} else {
		call_done(n, c);
	}
}

/* All that the watch has; false: it is over. */
static bool watch_read(struct hour_net *n, struct http_call *c)
{
	enum as_watch_state state = AS_WATCH_MORE;
	bool goes_on = !c->orphan;

	while (goes_on && state == AS_WATCH_MORE) {
		const size_t got = as_watch_read(c->watch, HOUR_EPOCH_NS + n->hour->now_ns, n->piece,
		                                 sizeof(n->piece), &state);

		if (got == 0)
			continue;
		daemons_callback_begin(n->hour->daemons);
		goes_on = c->handler.data(c->handler.context, 200, n->piece, got) && !c->orphan;
		daemons_callback_end(n->hour->daemons);
		if (!goes_on)
			c->answer.end = HTTP_BROKEN;
	}
	return goes_on && state != AS_WATCH_ENDED;
}

void hour_net_watches(struct hour_net *n)
{
	struct http_call **link = &n->watches, *c;
	bool all = true;

	n->look_ns = HOUR_NEVER;
	n->looked_ns = n->hour->now_ns;
	n->looked_version = as_store_version(n->hour->api->store);
	while ((c = *link) != NULL) {
		const bool later = hour_random(n->hour, 4) == 0;

		all = all && !later;
		if (later || watch_read(n, c)) {
			link = &c->next;
			continue;
		}
		/* A callback starts requests, which are put in by their own timers: *link is still c. */
		*link = c->next;
		call_done(n, c);
	}
	if (!all)
		n->looked_version = 0;
}

uint64_t hour_net_due_ns(struct hour_net *n)
{
	struct hour *h = n->hour;

	if (n->look_ns != HOUR_NEVER)
		return n->look_ns;
	if (n->looked_version == as_store_version(h->api->store))
		return n->looked_ns + LOOK_NS;
	n->look_ns = h->now_ns + 100 * HOUR_US + hour_random(h, 900 * HOUR_US);
	return n->look_ns;
}

struct transport *hour_net_transport(struct hour_net *n)
{
	return &n->transport;
}

struct hour_net *hour_net_new(struct hour *h)
{
	struct hour_net *n = must_alloc(sizeof(*n));

	n->transport.ops = &net_ops;
	n->hour = h;
	n->look_ns = HOUR_NEVER;
	return n;
}

void hour_net_free(struct hour_net *n)
{
	struct http_call *c;

	while ((c = n->watches) != NULL) {
		n->watches = c->next;
		call_free(c);
	}
	for (size_t i = 0; i < n->hour->timers.n; i++)
		if (n->hour->timers.at[i].kind == TIMER_CALL)
			call_free(n->hour->timers.at[i].call);
	free(n);
}
