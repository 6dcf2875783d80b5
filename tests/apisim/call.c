/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/call.h"

#include <stdarg.h>
#include <time.h>

const char *as_query_get(const struct as_call *c, const char *name)
{
	const char *value = NULL;

	for (const struct as_query *q = c->query; q != NULL; q = q->next)
		if (strcmp(q->name, name) == 0)
			value = q->value;
	return value;
}

bool as_query_true(const struct as_call *c, const char *name)
{
	const char *value = as_query_get(c, name);

	return value != NULL && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void as_decode(char *text, bool plus_is_space)
{
	char *to = text;

	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0 && (at[1] != '0' || at[2] != '0')) {
			*to++ = (char)(hex(at[1]) * 16 + hex(at[2]));
			at += 2;
		} else {
			*to++ = *at == '+' && plus_is_space ? ' ' : *at;
		}
	}
	*to = '\0';
}

int as_answer_json(struct as_call *c, int code, const struct as_json *value)
{
	c->response->status = code;
	c->response->body.bytes = 0;
	as_json_print(&c->response->body, value);
	as_text_add(&c->response->body, "\n", 1);
	return code < 400 ? 0 : -1;
}

int as_answer_object(struct as_call *c, int code, const struct as_object *object)
{
	c->response->status = code;
	as_object_print(&c->response->body, object, 0);
	as_text_add(&c->response->body, "\n", 1);
	return 0;
}

int as_answer_tree(struct as_call *c, int code, const struct as_json *tree)
{
	struct as_text *out = &c->response->body;
	size_t at;

	c->response->status = code;
	as_text_put(out, c->resource->prefix);
	at = out->bytes;
	as_json_print(out, tree);
	/* The prefix's opening brace replaces the tree's. */
	memmove(out->at + at, out->at + at + 1, out->bytes - at - 1);
	out->at[out->bytes - 1] = '\n';
	return 0;
}

struct answer {
	int code;
	const char *reason;
	const char *message;
	const char *group, *kind, *name; /* details; NULL: none */
	struct as_json *causes;
	bool details; /* even if empty */
};

static int answer_status(struct as_call *c, const struct answer *answer)
{
	struct as_arena *a = c->arena;
	struct as_json *status = as_json_new(a, AS_OBJECT), *details = NULL;

	as_json_set_string(a, status, "kind", "Status");
	as_json_set_string(a, status, "apiVersion", "v1");
	as_json_set(a, status, "metadata", as_json_new(a, AS_OBJECT));
	as_json_set_string(a, status, "status", "Failure");
	as_json_set_string(a, status, "message", answer->message);
	if (answer->reason[0] != '\0')
		as_json_set_string(a, status, "reason", answer->reason);
	if (answer->details || answer->kind != NULL || answer->causes != NULL)
		details = as_json_member(a, status, "details", AS_OBJECT);
	if (answer->name != NULL && answer->name[0] != '\0')
		as_json_set_string(a, details, "name", answer->name);
	if (answer->group != NULL && answer->group[0] != '\0')
		as_json_set_string(a, details, "group", answer->group);
	if (answer->kind != NULL)
		as_json_set_string(a, details, "kind", answer->kind);
	if (answer->causes != NULL)
		as_json_set(a, details, "causes", answer->causes);
	as_json_set_integer(a, status, "code", answer->code);
	return as_answer_json(c, answer->code, status);
}

__attribute__((format(printf, 2, 0))) static char *vformat(struct as_arena *a, const char *format,
                                                           va_list list)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, list);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0)
		as_die("bad format");
	text = as_arena_alloc(a, (size_t)n + 1);
	vsnprintf(text, (size_t)n + 1, format, list);
	return text;
}

int as_refuse(struct as_call *c, int code, const char *reason, const char *format, ...)
{
	struct answer answer = { .code = code, .reason = reason };
	va_list list;

	va_start(list, format);
	answer.message = vformat(c->arena, format, list);
	va_end(list);
	return answer_status(c, &answer);
}

int as_refuse_not_found(struct as_call *c, const struct as_resource *resource, const char *name)
{
	return answer_status(c, &(struct answer){
								.code = 404,
								.reason = "NotFound",
								.message = as_arena_printf(c->arena, "%s \"%s\" not found",
	                                                       resource->qualified, name),
								.group = resource->group,
								.kind = resource->plural,
								.name = name,
							});
}

int as_refuse_exists(struct as_call *c, const char *name)
{
	return answer_status(c, &(struct answer){
								.code = 409,
								.reason = "AlreadyExists",
								.message = as_arena_printf(c->arena, "%s \"%s\" already exists",
	                                                       c->resource->qualified, name),
								.group = c->resource->group,
								.kind = c->resource->plural,
								.name = name,
							});
}

int as_refuse_no_resource(struct as_call *c)
{
	return answer_status(
		c, &(struct answer){ .code = 404,
	                         .reason = "NotFound",
	                         .message = "the server could not find the requested resource",
	                         .details = true });
}

int as_refuse_method(struct as_call *c)
{
	return answer_status(
		c, &(struct answer){ .code = 405,
	                         .reason = "MethodNotAllowed",
	                         .message =
	                             "the server does not allow this method on the requested resource",
	                         .details = true });
}

int as_refuse_media_type(struct as_call *c)
{
	return as_refuse(
		c, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: "
		"application/json; for PATCH application/merge-patch+json and, for built-in kinds, "
		"application/strategic-merge-patch+json");
}

int as_refuse_conflict(struct as_call *c, const char *qualified, const char *name,
                       const char *format, ...)
{
	struct answer answer = { .code = 409, .reason = "Conflict", .name = name };
	const char *dot = strchr(qualified, '.');
	va_list list;
	char *why;

	va_start(list, format);
	why = vformat(c->arena, format, list);
	va_end(list);
	answer.message = as_arena_printf(c->arena, "Operation cannot be fulfilled on %s \"%s\": %s",
	                                 qualified, name, why);
	answer.kind =
		dot == NULL ? qualified : as_arena_copy(c->arena, qualified, (size_t)(dot - qualified));
	answer.group = dot == NULL ? NULL : dot + 1;
	return answer_status(c, &answer);
}

int as_refuse_forbidden(struct as_call *c, const char *format, ...)
{
	struct answer answer = { .code = 403, .reason = "Forbidden" };
	va_list list;
	char *why;

	va_start(list, format);
	why = vformat(c->arena, format, list);
	va_end(list);
	answer.name = c->name != NULL ? c->name : "";
	answer.message = as_arena_printf(c->arena, "%s \"%s\" is forbidden: %s", c->resource->qualified,
	                                 answer.name, why);
	answer.kind = c->resource->plural;
	answer.group = c->resource->group;
	return answer_status(c, &answer);
}

void as_invalid(struct as_call *c, const char *cause, const char *field, const char *format, ...)
{
	struct as_arena *a = c->arena;
	struct as_json *entry = as_json_new(a, AS_OBJECT);
	va_list list;
	char *message;

	va_start(list, format);
	message = vformat(a, format, list);
	va_end(list);
	if (c->causes == NULL)
		c->causes = as_json_new(a, AS_ARRAY);
	as_json_set_string(a, entry, "reason", cause);
	as_json_set_string(a, entry, "message", message);
	as_json_set_string(a, entry, "field", field);
	as_json_append(c->causes, entry);
}

int as_refuse_invalid_kind(struct as_call *c, const char *group, const char *kind,
                           const char *details_kind, const char *name)
{
	struct as_text list = { 0 };
	bool many;
	int rc;

	if (c->causes == NULL)
		return 0;
	many = c->causes->first != c->causes->last;
	for (const struct as_json *e = c->causes->first; e != NULL; e = e->next)
		as_text_printf(&list, "%s%s: %s", e == c->causes->first ? "" : ", ",
		               as_json_string(e, "field"), as_json_string(e, "message"));
	as_text_add(&list, "", 1);
	rc = answer_status(
		c, &(struct answer){
			   .code = 422,
			   .reason = "Invalid",
			   .message = as_arena_printf(
				   c->arena, "%s%s%s \"%s\" is invalid: %s%s%s", kind, group[0] != '\0' ? "." : "",
				   group, name != NULL ? name : "", many ? "[" : "", list.at, many ? "]" : ""),
			   .group = group,
			   .kind = details_kind,
			   .name = name,
			   .causes = c->causes,
		   });
	as_text_free(&list);
	return rc;
}

int as_refuse_invalid(struct as_call *c, const char *name)
{
	const struct as_resource *r = c->resource;

	return as_refuse_invalid_kind(c, r->core_kind ? "" : r->group, r->kind, r->kind, name);
}

int as_refuse_undecodable(struct as_call *c, const char *format, ...)
{
	va_list list;
	char *why;

	va_start(list, format);
	why = vformat(c->arena, format, list);
	va_end(list);
	if (strcmp(c->request->method, "PATCH") != 0)
		return as_refuse_bad(c, "%s in version \"%s\" cannot be handled as a %s: %s",
		                     c->resource->kind, c->resource->version, c->resource->kind, why);
	c->causes = NULL;
	as_invalid(c, "FieldValueInvalid", "patch", "Invalid value: %s", why);
	return as_refuse_invalid_kind(c, "", "", NULL, NULL);
}

int as_answer_success(struct as_call *c, int code, const struct as_json *details)
{
	struct as_arena *a = c->arena;
	struct as_json *status = as_json_new(a, AS_OBJECT);

	as_json_set_string(a, status, "kind", "Status");
	as_json_set_string(a, status, "apiVersion", "v1");
	as_json_set(a, status, "metadata", as_json_new(a, AS_OBJECT));
	as_json_set_string(a, status, "status", "Success");
	if (details != NULL)
		as_json_set(a, status, "details", as_json_copy(a, details));
	if (code == 201)
		as_json_set_integer(a, status, "code", code);
	return as_answer_json(c, code, status);
}

bool as_media_type_is(const char *type, const char *wanted)
{
	size_t n = strlen(wanted);

	return strncasecmp(type, wanted, n) == 0 &&
	       (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

struct as_json *as_body(struct as_call *c)
{
	const char *type = c->request->content_type, *error = NULL;
	struct as_json *body;

	if (type != NULL && !as_media_type_is(type, "application/json")) {
		as_refuse_media_type(c);
		return NULL;
	}
	body = as_json_parse(c->arena, c->request->body, c->request->body_bytes, &error);
	if (body == NULL) {
		as_refuse_bad(c, "the object provided is unrecognized: %s", error);
		return NULL;
	}
	if (body->kind != AS_OBJECT) {
		as_refuse_bad(c, "the object provided is unrecognized: not an object");
		return NULL;
	}
	return body;
}

char *as_time(struct as_arena *a, uint64_t now_ns)
{
	time_t seconds = (time_t)(now_ns / 1000000000);
	struct tm tm;
	char text[32];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return as_arena_copy(a, text, strlen(text));
}

char *as_new_uid(struct as_api *api)
{
	uint64_t a = api->config.random(api->config.context),
			 b = api->config.random(api->config.context);

	return as_arena_printf(&api->arena, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
	                       (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
	                       (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
	                       (unsigned long long)(b & 0xffffffffffff));
}
