/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/watch/frames.h"

#include "frontend/json/json.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES_MAX (1u << 20) /* what a stream keeps between objects */

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Scans inside an object. Returns how many bytes belong to it; the object is complete when depth is
 * 0. */
static size_t frame_scan(struct frames *f, const char *bytes, size_t n)
{
	size_t i = 0;

	while (i < n) {
		char c = bytes[i++];

		if (f->escaped) {
			f->escaped = false;
		} else if (f->in_string) {
			if (c == '\\')
				f->escaped = true;
			else if (c == '"')
				f->in_string = false;
		} else if (c == '"') {
			f->in_string = true;
		} else if (c == '{' || c == '[') {
			f->depth++;
		} else if (c == '}' || c == ']') {
			if (--f->depth == 0)
				return i;
		}
	}
	return i;
}

static void frame_keep(struct frames *f, const char *bytes, size_t n)
{
	if (f->kept_bytes + n > f->kept_cap) {
		size_t cap = f->kept_cap ? f->kept_cap : 4096;

		while (cap < f->kept_bytes + n)
			cap *= 2;
		f->kept = must_grow(f->kept, cap);
		f->kept_cap = cap;
	}
	memcpy(f->kept + f->kept_bytes, bytes, n);
	f->kept_bytes += n;
}

static void kept_release(struct frames *f, size_t above)
{
	if (f->kept_cap <= above)
		return;
	free(f->kept);
	f->kept = NULL;
	f->kept_cap = 0;
}

/* Delivers an object that started in an earlier piece. */
static int frame_deliver_kept(struct frames *f, frame_fn each, void *context)
{
	size_t bytes = f->kept_bytes;
	int rc;

	f->kept_bytes = 0;
	rc = each(context, f->kept, bytes);
	kept_release(f, KEPT_BYTES_MAX);
	return rc;
}

int frames_feed(struct frames *f, const char *bytes, size_t n, frame_fn each, void *context)
{
	size_t at = 0;
	int rc;

	while (at < n) {
		size_t taken;

		if (f->depth == 0) {
			if (is_space(bytes[at])) {
				at++;
				continue;
			}
			if (bytes[at] != '{')
				return -EPROTO;
		}
		taken = frame_scan(f, bytes + at, n - at);
		if (f->kept_bytes + taken > f->bytes_max) {
			kept_release(f, KEPT_BYTES_MAX);
			return -EMSGSIZE;
		}
		if (f->depth > 0 || f->kept_bytes > 0)
			frame_keep(f, bytes + at, taken);
		if (f->depth > 0)
			return 0;
		if (f->kept_bytes > 0) {
			rc = frame_deliver_kept(f, each, context);
		} else {
			rc = each(context, bytes + at, taken);
		}
		if (rc < 0)
			return rc;
		at += taken;
	}
	return 0;
}

bool frames_partial(const struct frames *f)
{
	return f->depth > 0;
}

void frames_reset(struct frames *f)
{
	kept_release(f, KEPT_BYTES_MAX);
	f->kept_bytes = 0;
	f->depth = 0;
	f->in_string = false;
	f->escaped = false;
}

void frames_free(struct frames *f)
{
	kept_release(f, 0);
	frames_reset(f);
}

int watch_event_read(const char *json, size_t bytes, struct watch_event *out)
{
	struct arena arena = { 0 };
	struct watch_event event = { 0 };
	struct text name;
	struct json j;

	json_begin(&j, json, bytes, &arena);
	if (json_object(&j)) {
		while (json_member(&j, &name)) {
			if (text_is(name, "type"))
				json_raw(&j, &event.type);
			else if (text_is(name, "object"))
				json_raw(&j, &event.object);
			else
				json_skip(&j);
		}
	}
	arena_free(&arena);
	/* Types have no escapes: the text between the quotes is the type. */
	if (!json_end(&j) || event.type.bytes < 2 || event.type.at[0] != '"' || event.object.bytes == 0)
		return -EINVAL;
	event.type.at++;
	event.type.bytes -= 2;
	*out = event;
	return 0;
}

/* Copies a short string; a longer one, or one with escapes, is an error. */
static bool short_string(struct json *j, char *out, size_t out_bytes)
{
	struct text text;

	if (!json_string(j, &text))
		return false;
	if (text.bytes >= out_bytes) {
		json_fail(j, "longer than %zu bytes", out_bytes - 1);
		return false;
	}
	if (text.bytes)
		memcpy(out, text.at, text.bytes);
	out[text.bytes] = '\0';
	return true;
}

static void list_metadata_read(struct json *j, struct list_page *page)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "resourceVersion"))
			short_string(j, page->resource_version, sizeof(page->resource_version));
		else if (text_is(name, "continue"))
			json_raw(j, &page->continue_token);
		else
			json_skip(j);
	}
}

int list_page_read(const char *json, size_t bytes, struct list_page *out)
{
	struct list_page page = { .continue_token = { .at = "" }, .text = { json, bytes } };
	struct arena arena = { 0 };
	bool is_enough = false;
	struct text name;
	struct json j;

	json_begin(&j, json, bytes, &arena);
	if (json_object(&j)) {
		while (!is_enough && json_member(&j, &name)) {
			if (text_is(name, "metadata"))
				list_metadata_read(&j, &page);
			else if (text_is(name, "items") && page.resource_version[0] != '\0')
				is_enough = true;
			else
				json_skip(&j);
		}
	}
	arena_free(&arena);
	if ((!is_enough && !json_end(&j)) || page.resource_version[0] == '\0')
		return -EINVAL;
	/* A continue token is base64: nothing to unescape. */
	if (page.continue_token.bytes >= 2 && page.continue_token.at[0] == '"') {
		page.continue_token.at++;
		page.continue_token.bytes -= 2;
	} else {
		page.continue_token = (struct text){ .at = "" };
	}
	*out = page;
	return 0;
}

static int items_read(struct json *j, item_fn each, void *context)
{
	int rc = 0;

	if (!json_array(j))
		return 0;
	while (rc >= 0 && json_item(j)) {
		const struct text rest = json_rest(j);
		size_t used = 0;

		if (rest.bytes > 0)
			rc = each(context, rest.at, rest.bytes, &used);
		if (used > 0)
			json_pass(j, used);
		else
			json_skip(j);
	}
	return rc;
}

int list_page_items(const struct list_page *page, item_fn each, void *context)
{
	struct arena arena = { 0 };
	struct text name;
	struct json j;
	int rc = 0;

	json_begin(&j, page->text.at, page->text.bytes, &arena);
	if (json_object(&j)) {
		while (rc >= 0 && json_member(&j, &name)) {
			if (text_is(name, "items"))
				rc = items_read(&j, each, context);
			else
				json_skip(&j);
		}
	}
	arena_free(&arena);
	if (rc < 0)
		return rc;
	return json_end(&j) ? 0 : -EINVAL;
}

/* The next member of the object's metadata; *inside: whether the one before it was. */
static bool metadata_member(struct json *j, bool *inside, struct text *name)
{
	for (;;) {
		if (!json_member(j, name)) {
			if (!*inside)
				return false;
			*inside = false; /* its end */
		} else if (*inside) {
			return true;
		} else if (text_is(*name, "metadata")) {
			*inside = json_object(j);
		} else {
			json_skip(j);
		}
	}
}

/* Stops at the version: most of the object follows its metadata. */
static bool version_find(struct json *j, char *out, size_t out_bytes)
{
	struct text name;
	bool inside = false;

	if (!json_object(j))
		return false;
	while (metadata_member(j, &inside, &name)) {
		if (text_is(name, "resourceVersion"))
			return short_string(j, out, out_bytes);
		json_skip(j);
	}
	return false;
}

int object_version_read(const char *json, size_t bytes, char *out, size_t out_bytes)
{
	struct arena arena = { 0 };
	struct json j;
	int rc = 0;

	out[0] = '\0';
	json_begin(&j, json, bytes, &arena);
	if (!version_find(&j, out, out_bytes) && !json_end(&j))
		rc = -EINVAL;
	arena_free(&arena);
	return rc;
}

static bool initial_end_find(struct json *j)
{
	struct text name, value;
	bool is = false;

	if (!json_object(j))
		return false;
	while (json_member(j, &name))
		if (!text_is(name, "k8s.io/initial-events-end"))
			json_skip(j);
		else if (json_string(j, &value))
			is = text_is(value, "true");
	return is;
}

int bookmark_read(const char *json, size_t bytes, char *out, size_t out_bytes, bool *initial_end)
{
	struct arena arena = { 0 };
	bool is_object, inside = false;
	struct text name;
	struct json j;
	int rc = 0;

	out[0] = '\0';
	*initial_end = false;
	json_begin(&j, json, bytes, &arena);
	is_object = json_object(&j);
	while (is_object && metadata_member(&j, &inside, &name))
		if (text_is(name, "resourceVersion"))
			short_string(&j, out, out_bytes);
		else if (text_is(name, "annotations"))
			*initial_end = initial_end_find(&j);
		else
			json_skip(&j);
	if (!json_end(&j))
		rc = -EINVAL;
	arena_free(&arena);
	return rc;
}
