/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: a place in history, a selector, and the bytes not yet taken. */
#include "tests/apisim/call.h"
#include "tests/apisim/selector.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

struct as_watch {
	struct as_api *api;
	const struct as_resource *resource;
	struct as_arena arena; /* of selector and namespace */
	const char *namespace; /* NULL: all */
	struct as_selector selector;
	uint64_t seen;    /* all events up to this version are handled */
	uint64_t expired; /* not 0: the requested version is too old */
	bool bookmarks;
	bool ended;

	/* The state that is sent first, if requested. */
	struct as_object **initial;
	size_t initial_n, initial_i;
	uint64_t initial_version;
	bool initial_mark; /* a bookmark marks its end */

	uint64_t end_ns;
	uint64_t bookmark_ns;
	struct as_text text; /* printed, not yet read */
	size_t text_at;
};

/* *initial: the present state comes first; *mark: with a bookmark behind it. */
static int read_options(struct as_call *c, uint64_t *version, bool *initial, bool *mark)
{
	const char *text = as_query_get(c, "resourceVersion");
	const char *send = as_query_get(c, "sendInitialEvents");

	if (as_check_list_options(c, true) < 0)
		return -1;
	*version = 0;
	if (text != NULL && text[0] != '\0' && !as_parse_version(text, version))
		return as_refuse(c, 500, "", "resourceVersion: Invalid value: \"%s\"", text);
	*mark = as_query_true(c, "sendInitialEvents");
	*initial = *mark || (*version == 0 && (send == NULL || send[0] == '\0'));
	return 0;
}

static bool wants(const struct as_watch *w, struct as_object *o)
{
	struct as_object *shown;
	bool matches;

	if (o == NULL)
		return false;
	if (w->namespace != NULL && (strlen(w->namespace) != o->namespace_bytes ||
	                             memcmp(o->key, w->namespace, o->namespace_bytes) != 0))
		return false;
	shown = as_object_shown(o, w->resource, &w->api->arena);
	matches = as_selector_matches(&w->selector, shown);
	as_object_unref(shown);
	return matches;
}

static void collect_initial(struct as_watch *w, struct as_arena *a)
{
	struct as_cursor cursor;
	struct as_object *o;
	size_t room = 0;

	w->initial_version = as_store_version(w->api->store);
	as_cursor_open(w->api->store, w->resource->stored, a, w->namespace, NULL, w->initial_version,
	               &cursor);
	while ((o = as_cursor_next(&cursor)) != NULL) {
		if (!wants(w, o))
			continue;
		if (w->initial_n == room) {
			room = room > 0 ? room * 2 : 64;
			w->initial = as_realloc(w->initial, room * sizeof(struct as_object *));
		}
		w->initial[w->initial_n++] = as_object_ref(o);
	}
}

/* Without timeoutSeconds the real server takes 30 to 60 minutes; with 0 too. */
static uint64_t read_timeout(struct as_call *c)
{
	const char *text = as_query_get(c, "timeoutSeconds");
	uint64_t seconds = 0;

	if (text == NULL || !as_parse_version(text, &seconds) || seconds == 0 || seconds > 86400)
		seconds = 1800 + c->api->config.random(c->api->config.context) % 1800;
	return seconds;
}

int as_watch_start(struct as_call *c)
{
	struct as_store *store = c->api->store;
	struct as_selector selector;
	const char *error = NULL;
	struct as_watch *w;
	uint64_t version;
	bool initial = false, mark = false; /* gcc 14 does not see that read_options() sets them */

	if (read_options(c, &version, &initial, &mark) < 0)
		return -1;
	if (!as_selector_parse(c->arena, c->resource, as_query_get(c, "labelSelector"),
	                       as_query_get(c, "fieldSelector"), &selector, &error))
		return as_refuse_bad(c, "%s", error);

	w = as_alloc(sizeof(*w));
	w->api = c->api;
	w->resource = c->resource;
	w->namespace =
		c->namespace != NULL ? as_arena_copy(&w->arena, c->namespace, strlen(c->namespace)) : NULL;
	w->selector = as_selector_copy(&w->arena, &selector);
	w->bookmarks = as_query_true(c, "allowWatchBookmarks");
	w->end_ns = c->now_ns + read_timeout(c) * NS_PER_S;
	w->bookmark_ns = c->now_ns + c->api->config.bookmark_ms * NS_PER_MS;
	w->seen = version;
	if (initial) {
		collect_initial(w, c->arena);
		w->initial_mark = mark && w->bookmarks;
		w->seen = w->initial_version;
	} else if (version == 0) {
		w->seen = as_store_version(store);
	} else if (version < as_store_oldest(store)) {
		w->expired = version;
	}
	c->api->stats.watches_open++;
	c->response->status = 200;
	c->response->watch = w;
	return 0;
}

void as_watch_free(struct as_watch *w)
{
	if (w == NULL)
		return;
	w->api->stats.watches_open--;
	for (size_t i = w->initial_i; i < w->initial_n; i++)
		as_object_unref(w->initial[i]);
	free(w->initial);
	as_text_free(&w->text);
	as_arena_free(&w->arena);
	free(w);
}

static void print_event(struct as_watch *w, const char *kind, struct as_object *o, uint64_t version)
{
	struct as_object *shown = as_object_shown(o, w->resource, &w->api->arena);

	as_text_printf(&w->text, "{\"type\":\"%s\",\"object\":", kind);
	as_object_print(&w->text, shown, version);
	as_text_add(&w->text, "}\n", 2);
	as_object_unref(shown);
	w->api->stats.watch_events++;
}

/* An object that leaves the selector is DELETED in its last shape that matched,
 * with the version of the change. */
static void print_change(struct as_watch *w, const struct as_event *e)
{
	bool was, is;

	if (e->object->resource != w->resource->stored)
		return;
	was = wants(w, e->previous);
	is = e->kind != AS_DELETED && wants(w, e->object);
	if (is)
		print_event(w, was ? "MODIFIED" : "ADDED", e->object, 0);
	else if (was && e->kind == AS_DELETED)
		print_event(w, "DELETED", e->object, 0);
	else if (was)
		print_event(w, "DELETED", e->previous, e->version);
}

static void print_bookmark(struct as_watch *w, uint64_t version, bool initial_end)
{
	/* Bookmarks of built-in kinds carry the empty fields of their types; what
	 * counts is the version. */
	as_text_printf(
		&w->text,
		"{\"type\":\"BOOKMARK\",\"object\":%s\"metadata\":{\"resourceVersion\":\"%llu\"%s}}}\n",
		w->resource->prefix, (unsigned long long)version,
		initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

static void print_expired(struct as_watch *w)
{
	as_text_printf(&w->text,
	               "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
	               "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: "
	               "%llu (%llu)\",\"reason\":\"Expired\",\"code\":410}}\n",
	               (unsigned long long)w->expired,
	               (unsigned long long)as_store_oldest(w->api->store) + 1);
	w->ended = true;
}

#define FILL_BYTES ((size_t)64 * 1024) /* printed ahead of the reader */

static void fill_initial(struct as_watch *w)
{
	while (w->initial_i < w->initial_n && w->text.bytes < FILL_BYTES) {
		struct as_object *o = w->initial[w->initial_i++];

		print_event(w, "ADDED", o, 0);
		as_object_unref(o);
	}
	if (w->initial_i == w->initial_n && w->initial_mark) {
		w->initial_mark = false;
		print_bookmark(w, w->initial_version, true);
	}
}

static bool initial_left(const struct as_watch *w)
{
	return w->initial_i < w->initial_n || w->initial_mark;
}

/* The stream is clean at any byte that ends an event. */
static void fill(struct as_watch *w, uint64_t now_ns)
{
	const struct as_store *store = w->api->store;

	w->text.bytes = w->text_at = 0;
	if (w->ended)
		return;
	if (w->expired != 0) {
		print_expired(w);
		return;
	}
	if (initial_left(w))
		fill_initial(w);
	if (initial_left(w))
		return;
	if (w->seen < as_store_oldest(store)) {
		w->ended = true; /* too slow, or compacted: the client's next request gets a 410 */
		return;
	}
	while (w->seen < as_store_version(store) && w->text.bytes < FILL_BYTES)
		print_change(w, as_store_event(store, ++w->seen));
	if (now_ns >= w->end_ns)
		w->ended = true;
	if (w->bookmarks && (now_ns >= w->bookmark_ns || w->ended) &&
	    w->seen >= as_store_version(store)) {
		w->bookmark_ns = now_ns + w->api->config.bookmark_ms * NS_PER_MS;
		print_bookmark(w, as_store_version(store), false);
	}
}

size_t as_watch_read(struct as_watch *w, uint64_t now_ns, char *out, size_t room,
                     enum as_watch_state *state)
{
	size_t n = 0;

	while (n < room) {
		size_t part = w->text.bytes - w->text_at;

		if (part == 0) {
			fill(w, now_ns);
			part = w->text.bytes;
			if (part == 0)
				break;
		}
		if (part > room - n)
			part = room - n;
		memcpy(out + n, w->text.at + w->text_at, part);
		w->text_at += part;
		n += part;
	}
	*state = n == room ? AS_WATCH_MORE : w->ended ? AS_WATCH_ENDED : AS_WATCH_IDLE;
	return n;
}

/* Events of other resources count as something to read only when they lie in
 * front of one that matters: they are passed over here. */
bool as_watch_ready(struct as_watch *w, uint64_t now_ns)
{
	const struct as_store *store = w->api->store;

	if (w->ended || w->expired != 0 || w->text_at < w->text.bytes || initial_left(w) ||
	    now_ns >= as_watch_due_ns(w) || w->seen < as_store_oldest(store))
		return true;
	while (w->seen < as_store_version(store)) {
		const struct as_event *e = as_store_event(store, w->seen + 1);

		if (e->object->resource == w->resource->stored &&
		    (wants(w, e->object) || wants(w, e->previous)))
			return true;
		w->seen++;
	}
	return false;
}

bool as_watch_lags(const struct as_watch *w)
{
	uint64_t now = as_store_version(w->api->store);

	return w->expired == 0 && !initial_left(w) && w->seen < now &&
	       now - w->seen > w->api->config.watch_lag;
}

uint64_t as_watch_due_ns(const struct as_watch *w)
{
	return w->bookmarks && w->bookmark_ns < w->end_ns ? w->bookmark_ns : w->end_ns;
}
