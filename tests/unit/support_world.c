/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

static struct http_call *fake_start(struct transport *t, const struct http_request *r,
                                    const struct http_handler *h)
{
	struct world *w = (struct world *)t;
	struct http_call *c = calloc(1, sizeof(*c));

	snprintf(c->method, sizeof(c->method), "%s", r->method);
	snprintf(c->type, sizeof(c->type), "%s", r->content_type ? r->content_type : "");
	c->path = strdup(r->path);
	c->body = r->body ? strndup(r->body, r->body_bytes) : strdup("");
	c->lane = r->lane;
	c->timeout_ms = r->timeout_ms;
	c->answer_bytes_max = r->answer_bytes_max;
	c->fresh_connection = r->fresh_connection;
	c->handler = *h;
	c->open = true;
	*w->calls_end = c;
	w->calls_end = &c->next;
	w->calls_n++;
	return c;
}

static void fake_cancel(struct transport *t, struct http_call *c)
{
	cr_assert(c->open);
	c->open = false;
	c->cancelled = true;
}

static void fake_renew(struct transport *t)
{
	((struct world *)t)->renewals++;
}

static const struct transport_ops fake_ops = {
	.start = fake_start,
	.cancel = fake_cancel,
	.renew_credentials = fake_renew,
};

static uint64_t fake_now(void *context)
{
	return ((struct world *)context)->now_ns;
}

static uint64_t fake_wall(void *context)
{
	return ((struct world *)context)->now_ns + UINT64_C(1700000000) * SECOND;
}

static uint64_t fake_random(void *context)
{
	return ((struct world *)context)->random;
}

static void fake_log(void *context, const char *level, const char *message)
{
	struct world *w = context;
	size_t n = strlen(w->log);

	snprintf(w->log + n, sizeof(w->log) - n, "%s: %s\n", level, message);
}

void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->transport.ops = &fake_ops;
	w->now_ns = 1000 * SECOND;
	w->calls_end = &w->calls;
	w->env = (struct env){
		.transport = &w->transport,
		.monotonic_ns = fake_now,
		.wall_ns = fake_wall,
		.random = fake_random,
		.log = fake_log,
		.context = w,
	};
}

void world_free(struct world *w)
{
	struct http_call *c;

	while ((c = w->calls) != NULL) {
		w->calls = c->next;
		free(c->path);
		free(c->body);
		free(c);
	}
}

unsigned world_open(const struct world *w)
{
	unsigned n = 0;

	for (const struct http_call *c = w->calls; c; c = c->next)
		n += c->open;
	return n;
}

struct http_call *world_take(struct world *w, const char *method, const char *path)
{
	for (struct http_call *c = w->calls; c; c = c->next) {
		if (!c->open || c->taken)
			continue;
		cr_assert(strcmp(c->method, method) == 0 && strncmp(c->path, path, strlen(path)) == 0,
		          "wanted %s %s, the next request is %s %s", method, path, c->method, c->path);
		c->taken = true;
		return c;
	}
	cr_assert_fail("wanted %s %s, there is no request", method, path);
	return NULL;
}

static void finish(struct http_call *c, const struct http_answer *answer, const char *body)
{
	cr_assert(c->open, "%s %s was answered already", c->method, c->path);
	c->open = false;
	c->handler.done(c->handler.context, answer, body, strlen(body));
}

void world_wait(struct world *w, int i, uint64_t due_ns)
{
	cr_assert_lt(i, 10);
	if (world_open(w) > 0)
		return;
	cr_assert_neq(due_ns, UINT64_MAX, "nothing is due");
	w->now_ns = due_ns > w->now_ns ? due_ns : w->now_ns + 1;
}

struct http_call *world_take_with(struct world *w, const char *method, const char *path,
                                  const char *part)
{
	struct http_call *c = world_take(w, method, path);

	cr_assert(strstr(c->body, part), "%s", c->body);
	return c;
}

void world_answer_after(struct http_call *c, int status, const char *body, int64_t retry_after_ms)
{
	struct http_answer answer = {
		.end = HTTP_ANSWERED,
		.status = status,
		.retry_after_ms = retry_after_ms,
		.error = "",
	};

	if (c->handler.data) {
		if (*body)
			c->handler.data(c->handler.context, status, body, strlen(body));
		body = "";
	}
	finish(c, &answer, body);
}

void world_answer(struct http_call *c, int status, const char *body)
{
	world_answer_after(c, status, body, -1);
}

void world_answer_repeated(struct http_call *c, int status, const char *body)
{
	const struct http_answer answer = {
		.end = HTTP_ANSWERED,
		.status = status,
		.repeated = true,
		.retry_after_ms = -1,
		.error = "",
	};

	finish(c, &answer, body);
}

void world_fail(struct http_call *c, enum http_end end)
{
	struct http_answer answer = {
		.end = end,
		.status = c->status,
		.retry_after_ms = -1,
		.error = end == HTTP_NOT_SENT ? "connection refused" : "connection reset",
	};

	finish(c, &answer, "");
}

void world_too_long(struct http_call *c)
{
	struct http_answer answer = { .end = HTTP_BROKEN,
		                          .too_long = true,
		                          .status = 200,
		                          .retry_after_ms = -1,
		                          .error = "too long" };

	finish(c, &answer, "");
}

bool world_piece(struct http_call *c, int status, const char *bytes, size_t n)
{
	cr_assert(c->open);
	c->status = status;
	return c->handler.data(c->handler.context, status, bytes, n);
}

bool world_text(struct http_call *c, const char *text)
{
	return world_piece(c, 200, text, strlen(text));
}

void world_end(struct http_call *c)
{
	struct http_answer answer = {
		.end = HTTP_ANSWERED, .status = 200, .retry_after_ms = -1, .error = ""
	};

	finish(c, &answer, "");
}

bool world_said(const struct world *w, const char *part)
{
	return strstr(w->log, part) != NULL;
}

static const char *pod_text(const char *name, const char *version, const char *group,
                            const char *more_spec, const char *more_status)
{
	static char text[8192];
	char labels[300] = "";

	if (*group)
		snprintf(labels, sizeof(labels), "\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"},",
		         group);

	snprintf(
		text, sizeof(text),
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{%s\"name\":\"%s\",\"namespace\":\"ns\","
		"\"uid\":\"00000000-0000-0000-0000-%012x\",\"resourceVersion\":\"%s\","
		"\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"schedulerName\":\"muster\","
		"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]%s%s},"
		"\"status\":{\"phase\":\"Pending\"%s%s}}",
		labels, name, (unsigned)name[0], version, *more_spec ? "," : "", more_spec,
		*more_status ? "," : "", more_status);
	return text;
}

const char *world_pod(const char *name, const char *version, const char *more_spec,
                      const char *more_status)
{
	return pod_text(name, version, "", more_spec, more_status);
}

const char *world_member(const char *name, const char *version, const char *group,
                         const char *more_spec)
{
	return pod_text(name, version, group, more_spec, "");
}

void world_binding_dies(struct world *w, const char *pod, void (*turns)(void))
{
	char path[64], status[80];

	snprintf(path, sizeof(path), "/api/v1/namespaces/ns/pods/%s", pod);
	snprintf(status, sizeof(status), "%s/status", path);
	world_answer(world_take(w, "GET", path), 200, world_pod(pod, "90", "", ""));
	turns();
	world_answer(world_take(w, "PATCH", status), 200, world_pod(pod, "91", "", ""));
	turns();
	world_answer(world_take(w, "GET", path), 200, world_pod(pod, "91", "", ""));
	turns();
}

const char *world_group(const char *name, const char *version, unsigned quorum)
{
	static char text[512];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\","
		"\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"g-%s\",\"resourceVersion\":\"%s\"},"
		"\"spec\":{\"minMember\":%u}}",
		name, name, version, quorum);
	return text;
}

const char *world_journal(unsigned version, const char *lines)
{
	static char text[2000];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"j\",\"resourceVersion\":\"%u\"},\"data\":{\"format\":\"1\","
	         "\"epoch\":\"7\",\"writer\":\"other\",\"fence\":\"\",\"intents\":\"%s\"}}",
	         version, lines);
	return text;
}

const char *world_node(const char *name, const char *version)
{
	static char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\","
		"\"resourceVersion\":\"%s\"},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"16Gi\","
		"\"pods\":\"110\"}}}",
		name, name, version);
	return text;
}

const struct limits world_limits =
	LIMITS_WITH(.nodes = 64, .pods = 256, .gangs = 64, .shapes = 64, .names = 64, .resources = 16,
                .name_bytes = 1u << 16, .command_ring_bytes = 1u << 16);

struct model *world_model_with(struct model_config config)
{
	static const char *const names[] = { "muster" };
	struct model *m;

	config.scheduler_names = names;
	config.scheduler_names_n = 1;
	config.limits = world_limits;
	m = model_new(&config);
	cr_assert(m);
	return m;
}

struct model *world_model(void)
{
	return world_model_with((struct model_config){ 0 });
}

struct model *world_model_of_all(void)
{
	return world_model_with((struct model_config){ .judges_others = true });
}

void world_put(struct model *m, int resource, const char *json)
{
	struct decode_error e = { 0 };
	int rc = model_put(m, resource, json, strlen(json), &e);

	cr_assert(rc == 0, "%s: %s: %s", e.object, e.field, e.text);
}

void world_flush(struct model *m)
{
	while (!model_flush(m, &world_sink))
		continue;
}

struct cmd_bind world_bind(const struct model *m, const char *namespace, const char *pod)
{
	struct cmd_bind cmd = { .node = model_node_id(m, text_of("n1")), .attempt = 7 };
	struct pod_view v;
	struct gang_view g;

	cr_assert(model_pod_by_name(m, namespace, pod, &v), "%s", pod);
	cmd.node_generation = model_node_generation(m, cmd.node);
	cmd.pod = v.id;
	cmd.pod_generation = v.generation;
	cmd.gang = v.gang_id;
	if (v.gang_id != ID_NONE) {
		cmd.gang_generation = model_gang_generation(m, v.gang_id);
		cmd.spec_id = model_gang_spec_id(m, v.gang_id);
		cr_assert(model_gang(m, v.gang_id, cmd.gang_generation, &g));
	}
	return cmd;
}

const char *world_status(int code, const char *reason, const char *message)
{
	static char text[1024];

	snprintf(text, sizeof(text),
	         "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
	         "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
	         message, reason, code);
	return text;
}

static void *sink_reserve(void *context, enum record_kind kind, uint32_t body_bytes)
{
	static _Alignas(8) unsigned char room[RECORD_BYTES_MAX];

	return body_bytes <= sizeof(room) ? room : NULL;
}

const struct model_sink world_sink = { .reserve = sink_reserve };
