/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_apisim.h"
#include "tests/unit/test.h"

static uint64_t next_random(void *context)
{
	uint64_t *state = context;

	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state ^ *state >> 29;
}

void server_start(struct server *s, size_t history)
{
	*s = (struct server){ .now_ns = UINT64_C(1795000000) * SECOND_NS, .random = 42 };
	s->api = as_api_new(&(struct as_config){
		.history = history, .random = next_random, .context = &s->random, .now_ns = s->now_ns });
	cr_assert_not_null(s->api);
}

void server_stop(struct server *s)
{
	as_kubelets_free(s->kubelets);
	as_api_free(s->api);
	as_arena_free(&s->arena);
}

int server_send(struct server *s, const char *method, const char *target, const char *body)
{
	struct as_response response;
	const char *error = NULL;

	as_api_handle(s->api,
	              &(struct as_request){
					  .method = method,
					  .target = target,
					  .content_type = s->type,
					  .body = body != NULL ? body : "",
					  .body_bytes = body != NULL ? strlen(body) : 0,
					  .now_ns = s->now_ns,
				  },
	              &response);
	as_arena_reset(&s->arena);
	s->type = NULL;
	s->status = response.status;
	s->retry_after_s = response.retry_after_s;
	s->cut = response.cut;
	s->watch = response.watch;
	s->body = as_json_parse(&s->arena, response.body.at != NULL ? response.body.at : "",
	                        response.body.bytes, &error);
	as_text_free(&response.body);
	return s->status;
}

int server_sendf(struct server *s, const char *method, const char *target, const char *format, ...)
{
	char *body;
	va_list list;
	int rc;

	va_start(list, format);
	cr_assert_geq(vasprintf(&body, format, list), 0);
	va_end(list);
	rc = server_send(s, method, target, body);
	free(body);
	return rc;
}

const char *server_text(const struct server *s, const char *path)
{
	const struct as_json *at = s->body;

	while (at != NULL && *path != '\0') {
		char name[64];
		size_t n = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		at = as_json_get(at, name);
		path += n + (path[n] == '.');
	}
	return at != NULL && (at->kind == AS_STRING || at->kind == AS_NUMBER) ? at->text : "";
}

uint64_t server_version(const struct server *s)
{
	return strtoull(server_text(s, "metadata.resourceVersion"), NULL, 10);
}

static void tell(struct server *s, struct as_text *out, const char *line, size_t bytes)
{
	const char *error = NULL, *name;
	struct as_json *event = as_json_parse(&s->arena, line, bytes, &error), *object;

	cr_assert_not_null(event, "%.*s: %s", (int)bytes, line, error);
	object = as_json_get(event, "object");
	name = as_json_string(as_json_get(object, "metadata"), "name");
	if (name == NULL)
		name = as_json_string(object, "reason"); /* of a Status */
	as_text_printf(
		out, "%s%s %s", out->bytes > 0 ? ", " : "", as_json_string(event, "type"),
		name != NULL ? name : as_json_string(as_json_get(object, "metadata"), "resourceVersion"));
}

const char *server_events(struct server *s, struct as_watch *w)
{
	static struct as_text out;
	struct as_text all = { 0 };
	enum as_watch_state state;
	size_t at = 0;

	do {
		char part[37]; /* small, so that events come in pieces */
		size_t n = as_watch_read(w, s->now_ns, part, sizeof(part), &state);

		as_text_add(&all, part, n);
	} while (state == AS_WATCH_MORE);
	out.bytes = 0;
	while (at < all.bytes) {
		const char *end = memchr(all.at + at, '\n', all.bytes - at);

		cr_assert_not_null(end, "a stream that stops within an event");
		tell(s, &out, all.at + at, (size_t)(end - all.at) - at);
		at = (size_t)(end - all.at) + 1;
	}
	if (state == AS_WATCH_ENDED)
		as_text_put(&out, out.bytes > 0 ? " (end)" : "(end)");
	as_text_add(&out, "", 1);
	as_text_free(&all);
	return out.at;
}

void server_pod(struct server *s, const char *name)
{
	cr_assert_eq(
		server_sendf(
			s, "POST", "/api/v1/namespaces/default/pods",
			"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
			"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
			name),
		201, "%s", server_text(s, "message"));
}

void server_node(struct server *s, const char *name, const char *cpu)
{
	cr_assert_eq(
		server_sendf(
			s, "POST", "/api/v1/nodes",
			"{\"metadata\":{\"name\":\"%s\"},\"status\":{\"capacity\":{\"cpu\":\"%s\",\"pods\":\"110\"}}}",
			name, cpu),
		201, "%s", server_text(s, "message"));
}

int server_bind(struct server *s, const char *pod, const char *node)
{
	char target[256];

	snprintf(target, sizeof(target), "/api/v1/namespaces/default/pods/%s/binding", pod);
	return server_sendf(
		s, "POST", target,
		"{\"metadata\":{\"name\":\"%s\"},\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}", pod,
		node);
}
