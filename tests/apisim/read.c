/* SPDX-License-Identifier: Apache-2.0 */
/* GET of one object, and lists: paging, and the state of an earlier version. */
#include "tests/apisim/call.h"
#include "tests/apisim/selector.h"

int as_get(struct as_call *c)
{
	struct as_object *o =
		as_index_find(&c->resource->stored->index, as_object_key(c->arena, c->namespace, c->name));
	struct as_object *shown;

	if (o == NULL)
		return as_refuse_not_found(c, c->resource, c->name);
	shown = as_object_shown(o, c->resource, c->arena);
	as_answer_object(c, 200, shown);
	as_object_unref(shown);
	return 0;
}

struct list {
	struct as_selector selector;
	bool selects;
	uint64_t limit;   /* 0: none */
	uint64_t version; /* of the state that is listed */
	const char *after_key;
	int64_t left; /* by the continue token; -1: not known */
};

bool as_parse_version(const char *text, uint64_t *out)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* The token is base64 of {"rv":N,"left":N,"start":"key"}, without padding. */
static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static char *token_encode(struct as_arena *a, const char *text)
{
	size_t n = strlen(text), at = 0;
	char *out = as_arena_alloc(a, n * 4 / 3 + 4);
	uint32_t bits = 0;
	int have = 0;

	for (size_t i = 0; i < n; i++) {
		bits = bits << 8 | (unsigned char)text[i];
		for (have += 8; have >= 6; have -= 6)
			out[at++] = base64_digits[bits >> (have - 6) & 63];
	}
	if (have > 0)
		out[at++] = base64_digits[bits << (6 - have) & 63];
	out[at] = '\0';
	return out;
}

static struct as_json *token_decode(struct as_arena *a, const char *token)
{
	size_t n = strlen(token), at = 0;
	char *out = as_arena_alloc(a, n + 1);
	const char *error;
	uint32_t bits = 0;
	int have = 0;

	for (size_t i = 0; i < n; i++) {
		const char *digit = strchr(base64_digits, token[i]);

		if (digit == NULL)
			return NULL;
		bits = bits << 6 | (uint32_t)(digit - base64_digits);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[at++] = (char)(bits >> have & 255);
		}
	}
	return as_json_parse(a, out, at, &error);
}

static int read_token(struct as_call *c, const char *token, struct list *l)
{
	const struct as_json *json = token_decode(c->arena, token);
	int64_t version;

	l->after_key = as_json_string(json, "start");
	if (l->after_key == NULL || !as_json_integer(json, "rv", &version) ||
	    !as_json_integer(json, "left", &l->left) || version < 0 ||
	    (uint64_t)version > as_store_version(c->api->store))
		return as_refuse_bad(c, "continue key is not valid: %s", token);
	l->version = (uint64_t)version;
	return 0;
}

static int refuse_too_large(struct as_call *c, uint64_t version)
{
	struct as_arena *a = c->arena;
	struct as_json *status, *details, *causes, *cause;
	const char *error;

	as_refuse(c, 504, "Timeout", "Timeout: Too large resource version: %llu, current: %llu",
	          (unsigned long long)version, (unsigned long long)as_store_version(c->api->store));
	status = as_json_parse(a, c->response->body.at, c->response->body.bytes, &error);
	details = as_json_member(a, status, "details", AS_OBJECT);
	causes = as_json_member(a, details, "causes", AS_ARRAY);
	cause = as_json_new(a, AS_OBJECT);
	as_json_set_string(a, cause, "reason", "ResourceVersionTooLarge");
	as_json_set_string(a, cause, "message", "Too large resource version");
	as_json_append(causes, cause);
	as_json_set_integer(a, details, "retryAfterSeconds", 1);
	c->response->retry_after_s = 1;
	return as_answer_json(c, 504, status);
}

/* As apimachinery's ValidateListOptions. */
int as_check_list_options(struct as_call *c, bool watch)
{
	static const char field[] = "resourceVersionMatch", forbidden[] = "FieldValueForbidden";
	const char *version = as_query_get(c, "resourceVersion"), *match = as_query_get(c, field);
	const char *token = as_query_get(c, "continue"), *send = as_query_get(c, "sendInitialEvents");
	bool sends = send != NULL && send[0] != '\0', newer, exact;

	match = match != NULL ? match : "";
	version = version != NULL ? version : "";
	newer = strcmp(match, "NotOlderThan") == 0;
	exact = strcmp(match, "Exact") == 0;
	if (watch && sends && !newer)
		as_invalid(
			c, forbidden, field,
			"Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (watch && match[0] != '\0' && !sends)
		as_invalid(
			c, forbidden, field,
			"Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
	if (!watch && match[0] != '\0' && version[0] == '\0')
		as_invalid(
			c, forbidden, field,
			"Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (match[0] != '\0' && token != NULL && token[0] != '\0')
		as_invalid(c, forbidden, field,
		           "Forbidden: resourceVersionMatch is forbidden when continue is provided");
	if (match[0] != '\0' && !newer && (watch || !exact))
		as_invalid(c, "FieldValueNotSupported", field, "Unsupported value: \"%s\"", match);
	if (!watch && exact && strcmp(version, "0") == 0)
		as_invalid(
			c, forbidden, field,
			"Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	if (!watch && sends)
		as_invalid(c, forbidden, "sendInitialEvents",
		           "Forbidden: sendInitialEvents is forbidden for list");
	return as_refuse_invalid_kind(c, "meta.k8s.io", "ListOptions", "ListOptions", NULL);
}

/* The rules of resourceVersion and resourceVersionMatch. */
static int read_versions(struct as_call *c, struct list *l)
{
	const char *text = as_query_get(c, "resourceVersion");
	const char *match = as_query_get(c, "resourceVersionMatch");
	uint64_t asked = 0;
	bool exact;

	if (text != NULL && text[0] == '\0')
		text = NULL;
	if (match != NULL && match[0] == '\0')
		match = NULL;
	exact = match != NULL && match[0] == 'E';
	if (text != NULL && !as_parse_version(text, &asked))
		return as_refuse_bad(c, "Invalid value: \"%s\": resourceVersion is not a number", text);
	if (asked > as_store_version(c->api->store))
		return refuse_too_large(c, asked);
	if (text != NULL && asked == 0)
		l->limit = 0; /* served from the watch cache, which has no paging */
	/* The old meaning of a limit with a version and no match is Exact. */
	if (exact || (asked > 0 && match == NULL && l->limit > 0))
		l->version = asked;
	return 0;
}

static int read_options(struct as_call *c, struct list *l)
{
	const char *limit = as_query_get(c, "limit"), *token = as_query_get(c, "continue"),
			   *error = NULL;
	const char *labels = as_query_get(c, "labelSelector"),
			   *fields = as_query_get(c, "fieldSelector");
	const char *version = as_query_get(c, "resourceVersion");

	if (as_check_list_options(c, false) < 0)
		return -1;
	*l = (struct list){ .version = as_store_version(c->api->store), .left = -1 };
	if (!as_selector_parse(c->arena, c->resource, labels, fields, &l->selector, &error))
		return as_refuse_bad(c, "%s", error);
	l->selects = l->selector.labels != NULL || l->selector.fields != NULL;
	/* A negative one is none. */
	if (limit != NULL && limit[0] != '\0' &&
	    !as_parse_version(limit + (limit[0] == '-'), &l->limit))
		return as_refuse_bad(c, "strconv.ParseInt: parsing \"%s\": invalid syntax", limit);
	if (limit != NULL && limit[0] == '-')
		l->limit = 0;
	if (token == NULL || token[0] == '\0')
		return read_versions(c, l);
	if (version != NULL && version[0] != '\0' && strcmp(version, "0") != 0)
		return as_refuse_bad(c, "specifying resource version is not allowed when using continue");
	return read_token(c, token, l);
}

/* Of a first page: how many objects there are from here on. */
static int64_t count_left(const struct as_call *c, struct as_cursor cursor)
{
	int64_t n = 0;

	if (cursor.namespace == NULL && cursor.past_n == 0)
		return (int64_t)c->resource->stored->index.n;
	while (as_cursor_next(&cursor) != NULL)
		n++;
	return n;
}

static void print_head(struct as_call *c, const struct list *l)
{
	as_text_printf(&c->response->body,
	               "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{"
	               "\"resourceVersion\":\"%llu\"",
	               c->resource->kind, c->resource->api_version, (unsigned long long)l->version);
}

static void print_continue(struct as_call *c, const struct list *l, const char *last_key,
                           int64_t left)
{
	struct as_text *out = &c->response->body;
	struct as_text token = { 0 };

	as_text_printf(&token, "{\"rv\":%llu,\"left\":%lld,\"start\":", (unsigned long long)l->version,
	               (long long)left);
	as_text_quote(&token, last_key, strlen(last_key));
	as_text_add(&token, "}", 2);
	as_text_printf(out, ",\"continue\":\"%s\"", token_encode(c->arena, token.at));
	if (!l->selects)
		as_text_printf(out, ",\"remainingItemCount\":%lld", (long long)left);
	as_text_free(&token);
}

static int refuse_expired(struct as_call *c)
{
	return as_refuse(
		c, 410, "Expired",
		"The provided continue parameter is too old to display a consistent list result. You "
		"must start a new list without the continue parameter.");
}

/* A page is collected first: its metadata has the number of the remaining items. */
int as_list(struct as_call *c)
{
	struct as_cursor cursor, ahead;
	struct as_object *o, *last = NULL;
	struct as_text items = { 0 };
	uint64_t n = 0;
	struct list l;
	bool more = false;

	if (read_options(c, &l) < 0)
		return -1;
	if (as_cursor_open(c->api->store, c->resource->stored, c->arena, c->namespace, l.after_key,
	                   l.version, &cursor) < 0)
		return refuse_expired(c);
	ahead = cursor;
	while (!more && (o = as_cursor_next(&cursor)) != NULL) {
		struct as_object *shown = as_object_shown(o, c->resource, c->arena);

		if (l.selects && !as_selector_matches(&l.selector, shown)) {
			as_object_unref(shown);
			continue;
		}
		more = l.limit > 0 && n == l.limit;
		if (!more) {
			as_text_put(&items, n++ > 0 ? "," : "");
			as_object_print_item(&items, shown);
			last = o;
		}
		as_object_unref(shown);
	}
	print_head(c, &l);
	if (more)
		print_continue(c, &l, last->key,
		               (l.left >= 0 || l.selects ? l.left : count_left(c, ahead)) - (int64_t)n);
	as_text_put(&c->response->body, "},\"items\":[");
	as_text_add(&c->response->body, items.at, items.bytes);
	as_text_put(&c->response->body, "]}\n");
	as_text_free(&items);
	c->response->status = 200;
	return 0;
}
