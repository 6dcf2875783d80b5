/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile core: commands with arbitrary numbers, sent to a frontend with a small cluster.  Each
 * Binding that the frontend sends is for a pending pod of ours, with its uid, to an existing node;
 * after an invalid command the next core is served.
 *
 * An input is a script: how the API server answers, then commands of twelve bytes {kind, what is
 * changed, pod, node, where, value}. */
#include "frontend/loop/frontend.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/support_script.h"
#include "tests/fuzz/support_stream.h"

#include <sys/queue.h>

#define STEP_BYTES 12
#define STEPS_MOST 24
#define SECOND UINT64_C(1000000000)
#define EVENT_ROOM RECORD_BYTES_MAX

static size_t change(struct random *r, uint8_t *data, size_t bytes, size_t cap)
{
	return script_change(r, data, bytes, cap, 1, STEP_BYTES);
}

const struct fuzzer fuzzer = { .name = "commands",
	                           .bytes_max = 1 + STEPS_MOST * STEP_BYTES,
	                           .change = change };

struct order {
	uint8_t kind, change, pod, node;
	uint32_t at, value;
};

/* The kinds of an order, and what is changed of it. */
enum {
	ORDER_BIND,
	ORDER_REASON,
	ORDER_GANG,
	ORDER_CLAIM,
	ORDER_OTHER,
	ORDER_TIME,
	ORDER_NEW_CORE,
	ORDERS
};
enum { CHANGE_NOTHING, CHANGE_WORD, CHANGE_EXTREME, CHANGE_BIT, CHANGE_LENGTH, CHANGES };

struct http_call {
	TAILQ_ENTRY(http_call) link;
	struct http_handler handler;
	bool is_binding, is_watch;
};

struct world {
	struct transport transport; /* first */
	struct env env;
	TAILQ_HEAD(, http_call) calls;
	struct model *model;
	struct frontend *frontend;
	uint64_t now_ns, random;
	unsigned answers; /* the first byte */
};

struct wanted {
	const char *path, *body;
	bool found;
};

static bool names_binding(const char *path, const struct pod_view *pod)
{
	char own[600];

	snprintf(own, sizeof(own), "/api/v1/namespaces/%s/pods/%s/binding", pod->namespace, pod->name);
	return strncmp(path, own, strlen(own)) == 0 &&
	       (path[strlen(own)] == '\0' || path[strlen(own)] == '?');
}

static void check_pod(void *context, const struct pod_view *pod)
{
	struct wanted *w = context;
	char uid[200];

	if (!names_binding(w->path, pod))
		return;
	w->found = true;
	snprintf(uid, sizeof(uid), "\"uid\":\"%s\"", pod->uid);
	if (!strstr(w->body, uid))
		fuzz_found("%s without its uid: %s", w->path, w->body);
	if (!pod->ours || pod->gated || pod->node[0] != '\0' || pod->refusal[0] != '\0')
		fuzz_found("%s does not wait for us", w->path);
}

static void check_binding(struct world *w, const char *path, const char *body)
{
	struct wanted wanted = { .path = path, .body = body };
	bool node = false;
	char target[64];

	model_each_pod(w->model, check_pod, &wanted);
	for (int i = 0; i < 6; i++) {
		snprintf(target, sizeof(target), "\"name\":\"n%d\"", i);
		node = node || strstr(body, target);
	}
	if (!wanted.found || !node)
		fuzz_found("a Binding of nobody or to nowhere: %s %s", path, body);
}

static struct http_call *start(struct transport *t, const struct http_request *r,
                               const struct http_handler *h)
{
	struct world *w = (struct world *)t;
	struct http_call *c = calloc(1, sizeof(*c));
	char *body = strndup(r->body ? r->body : "", r->body_bytes);

	if (c == NULL || body == NULL)
		fuzz_found("memory was short");
	c->handler = *h;
	c->is_binding = strcmp(r->method, "POST") == 0 && strstr(r->path, "/binding") != NULL;
	c->is_watch = strcmp(r->method, "GET") == 0;
	if (c->is_binding)
		check_binding(w, r->path, body);
	for (const char *p = r->path; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p > '~')
			fuzz_found("a path with a byte %02x", (unsigned char)*p);
	free(body);
	TAILQ_INSERT_TAIL(&w->calls, c, link);
	return c;
}

static void cancel(struct transport *t, struct http_call *c)
{
	TAILQ_REMOVE(&((struct world *)t)->calls, c, link);
	free(c);
}

/* The lists stay open: what is known is the model's.  All else is answered by turns. */
static void answer_all(struct world *w)
{
	static const int statuses[] = { 201, 409, 500, 404, 429, 403, 0, 200 };
	struct http_call *c, *next;

	for (c = TAILQ_FIRST(&w->calls); c != NULL; c = next) {
		int status = statuses[w->random++ % 8];
		struct http_answer a;

		next = TAILQ_NEXT(c, link);
		if (c->is_watch)
			continue;
		if (!(w->answers & 1))
			status = c->is_binding ? 201 : 200;
		a = (struct http_answer){ .end = status ? HTTP_ANSWERED : HTTP_BROKEN,
			                      .status = status,
			                      .retry_after_ms = -1,
			                      .error = "" };
		TAILQ_REMOVE(&w->calls, c, link);
		c->handler.done(c->handler.context, &a, "{}", 2);
		free(c);
	}
}

static uint64_t now(void *context)
{
	return ((struct world *)context)->now_ns;
}

static uint64_t some(void *context)
{
	return ((struct world *)context)->random;
}

static void say(void *context, const char *level, const char *message)
{
	for (const char *p = message; *p; p++)
		if ((unsigned char)*p < ' ')
			fuzz_found("%s with a byte %02x: %s", level, (unsigned char)*p, message);
}

static void *take_event(void *context, enum record_kind kind, uint32_t bytes)
{
	static _Alignas(8) unsigned char body[EVENT_ROOM];

	return bytes <= EVENT_ROOM ? body : NULL;
}

static bool take_result(void *context, enum record_kind kind, const struct result *r)
{
	if (kind < RESULT_BOUND || kind > RESULT_UNKNOWN || r->generation == 0)
		fuzz_found("result %u", kind);
	return true;
}

static void publish(void *context)
{
}

static bool all_read(void *context)
{
	return context != NULL;
}

static void core_up(struct world *w)
{
	const struct frontend_port port = { .event = take_event,
		                                .result = take_result,
		                                .publish = publish,
		                                .events_read = all_read,
		                                .context = w };

	if (frontend_core_up(w->frontend, &stream_limits, &port) < 0)
		fuzz_found("no core");
	frontend_poll(w->frontend);
}

static void world_open(struct world *w, unsigned answers)
{
	static const struct transport_ops ops = { .start = start, .cancel = cancel };
	const struct frontend_config config = { .bind_connections = 64,
		                                    .report_per_second = 1000,
		                                    .report_queue = 100,
		                                    .instance = "fuzz",
		                                    .extender_reservations = 4,
		                                    .extender_keep_ms = answers & 2 ? 1000 : 0 };

	*w =
		(struct world){ .transport = { .ops = &ops }, .now_ns = 1000 * SECOND, .answers = answers };
	TAILQ_INIT(&w->calls);
	w->env = (struct env){ .transport = &w->transport,
		                   .monotonic_ns = now,
		                   .wall_ns = now,
		                   .random = some,
		                   .log = say,
		                   .context = w };
	w->model = stream_model(answers & 2);
	w->frontend = frontend_new(&config, &w->env, w->model);
	core_up(w);
}

static void world_close(struct world *w)
{
	struct http_call *c;

	frontend_free(w->frontend);
	model_free(w->model);
	while ((c = TAILQ_FIRST(&w->calls)) != NULL) {
		TAILQ_REMOVE(&w->calls, c, link);
		free(c);
	}
}

union body {
	struct cmd_bind bind;
	struct cmd_reason reason;
	struct cmd_gang gang;
	struct cmd_assume assume;
	uint32_t words[sizeof(struct cmd_assume) / 4];
};

/* A good one, as far as the numbers of pod, gang and node go; how long. */
static size_t body_make(const struct order *o, union body *b)
{
	struct reason reason = { .why = (uint16_t)(o->value % WAIT_REASONS) };

	memset(b, 0, sizeof(*b));
	switch (o->kind % ORDERS) {
	case ORDER_BIND:
		b->bind = (struct cmd_bind){ .pod = o->pod % 48,
			                         .pod_generation = 1,
			                         .node = o->node % 8,
			                         .node_generation = 1,
			                         .gang = ID_NONE,
			                         .attempt = 1 };
		return sizeof(b->bind);
	case ORDER_REASON:
		b->reason = (struct cmd_reason){ .gang = o->node % 2 ? o->node % 16 : ID_NONE,
			                             .gang_generation = 1,
			                             .pod = o->pod % 48,
			                             .pod_generation = 1,
			                             .reason = reason };
		return sizeof(b->reason);
	case ORDER_GANG:
		b->gang = (struct cmd_gang){ .gang = o->node % 16,
			                         .generation = 1,
			                         .state = o->value % GANG_STATES,
			                         .members = 3,
			                         .bound = o->pod % 4,
			                         .quorum = 3 };
		return sizeof(b->gang);
	default:
		b->assume = (struct cmd_assume){ .pod = o->pod % 48,
			                             .pod_generation = 1,
			                             .ticket = o->value % 4,
			                             .node = o->node % 8,
			                             .node_generation = 1,
			                             .reason = reason };
		return sizeof(b->assume);
	}
}

static void body_change(const struct order *o, union body *b, size_t *bytes)
{
	static const uint32_t extremes[] = { 0, 1, UINT32_MAX, INT32_MAX, 15, 16, 47, 48, 63, 64, 2 };
	uint32_t *word = &b->words[o->at % (*bytes / 4)];

	switch (o->change % CHANGES) {
	case CHANGE_WORD:
		*word = o->value;
		break;
	case CHANGE_EXTREME:
		*word = extremes[o->value % (sizeof(extremes) / sizeof(extremes[0]))];
		break;
	case CHANGE_BIT:
		*word ^= UINT32_C(1) << o->value % 32;
		break;
	case CHANGE_LENGTH:
		*bytes = 8 * (o->value % (sizeof(*b) / 8 + 1));
		break;
	default:
		break;
	}
}

/* What the frontend makes of it, as frontend/main.c does: an order that makes no sense ends the
 * connection. */
static void give(struct world *w, const struct order *o)
{
	static const uint16_t kinds[] = { CMD_BIND, CMD_REASON, CMD_GANG, CMD_ASSUME };
	static const uint16_t binds[] = { CMD_BIND, CMD_BIND, CMD_RETRY_BIND, CMD_CANCEL_BIND };
	struct record *r;
	union body body;
	size_t bytes = body_make(o, &body);
	int rc;

	body_change(o, &body, &bytes);
	/* Exactly as long as its length field, so that a read of one byte more is detected. */
	r = malloc(sizeof(*r) + bytes);
	if (r == NULL)
		fuzz_found("memory was short");
	*r = (struct record){
		.bytes = (uint32_t)(sizeof(*r) + bytes), .epoch = 1, .sequence = 1, .time_ns = o->value
	};
	r->kind = o->kind % ORDERS == ORDER_OTHER ? (uint16_t)(o->value % RECORD_KINDS)
	                                          : kinds[o->kind % ORDERS];
	if (r->kind == CMD_BIND)
		r->kind = binds[o->value % 4];
	memcpy(r + 1, &body, bytes);
	rc = frontend_command(w->frontend, r);
	free(r);
	if (rc != 0 && rc != -EPROTO)
		fuzz_found("%d", rc);
	if (rc == 0)
		return;
	frontend_core_down(w->frontend);
	core_up(w);
}

static void follow(struct world *w, const struct order *o)
{
	if (o->kind % ORDERS == ORDER_TIME) {
		w->now_ns += o->value % 64 * SECOND / 4;
		answer_all(w);
	} else if (o->kind % ORDERS == ORDER_NEW_CORE) {
		frontend_core_down(w->frontend);
		core_up(w);
	} else {
		give(w, o);
	}
	frontend_poll(w->frontend);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct world w;

	world_open(&w, bytes > 0 ? data[0] : 0);
	for (size_t at = 1; at + STEP_BYTES <= bytes && at < fuzzer.bytes_max; at += STEP_BYTES) {
		struct order o;

		memcpy(&o, data + at, sizeof(o));
		follow(&w, &o);
	}
	for (int i = 0; i < 4; i++) {
		answer_all(&w);
		w.now_ns += 20 * SECOND;
		frontend_poll(w.frontend);
	}
	world_close(&w);
	return 0;
}
