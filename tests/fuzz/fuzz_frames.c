/* SPDX-License-Identifier: Apache-2.0 */
/* The cutter of streams: however a stream is cut into pieces, the objects are those that a slow
 * cutter finds, or the same error ends it.  What an object is then read as (an event of a watch, a
 * page of a list, the version of an object) lies within it. */
#include "ctl/objects/json_check.h"
#include "frontend/json/json.h"
#include "frontend/watch/frames.h"

#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>

#define STREAM_BYTES 4096
#define OBJECT_BYTES 512 /* the cap; some inputs are longer */
#define OBJECTS (STREAM_BYTES / 2)

/* clang-format off */
static const char *const words[] = {
	"{", "}", "[", "]", "\"", "\\\"", "\\\\", "\\", ":", ",", "\n", " ", "\r\n", "{}",
	"{\"type\":\"ADDED\",\"object\":", "\"type\":", "\"object\":{", "\"items\":[",
	"\"metadata\":{", "\"resourceVersion\":\"7\"", "\"continue\":\"abc\"", "null", "true", "-1",
	"\"kind\":\"Status\"", "\"code\":410", "\\u0000", "\\ud800", "\xff", "\xc3\xa9",
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "frames", .bytes_max = STREAM_BYTES, .words = words };

struct cut {
	struct {
		size_t at, bytes; /* in the stream */
	} object[OBJECTS];
	size_t n;
	int rc;
	bool partial;
};

/* Past the object that begins at `at`; 0 when the stream ends first. */
static size_t object_end(const char *stream, size_t bytes, size_t at)
{
	bool in_string = false;
	size_t depth = 0;

	for (size_t i = at; i < bytes; i++) {
		char c = stream[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '['))
			depth++;
		else if (!in_string && (c == '}' || c == ']') && --depth == 0)
			return i + 1;
	}
	return 0;
}

static void cut_slowly(const char *stream, size_t bytes, struct cut *out)
{
	size_t at = 0;

	out->n = 0;
	out->rc = 0;
	out->partial = false;
	while (at < bytes) {
		size_t end, length;

		if (strchr(" \t\r\n", stream[at]) && stream[at] != '\0') {
			at++;
			continue;
		}
		if (stream[at] != '{') {
			out->rc = -EPROTO;
			return;
		}
		end = object_end(stream, bytes, at);
		length = (end ? end : bytes) - at;
		if (length > OBJECT_BYTES) {
			out->rc = -EMSGSIZE;
			return;
		}
		out->partial = end == 0;
		if (end == 0)
			return;
		out->object[out->n].at = at;
		out->object[out->n++].bytes = length;
		at = end;
	}
}

struct feeding {
	const char *stream;
	const struct cut *wanted;
	size_t n;
	size_t stop_at; /* answer an error to this object */
};

static int take(void *context, const char *json, size_t bytes)
{
	struct feeding *f = context;
	size_t i = f->n++;

	if (i >= f->wanted->n)
		fuzz_found("an object too many: %.*s", (int)bytes, json);
	if (bytes != f->wanted->object[i].bytes ||
	    memcmp(json, f->stream + f->wanted->object[i].at, bytes) != 0)
		fuzz_found("object %zu is %.*s", i, (int)bytes, json);
	return i == f->stop_at ? -ECANCELED : 0;
}

/* In pieces of 1 to `most` bytes, each in memory of its own length. */
static void feed(const char *stream, size_t bytes, const struct cut *wanted, struct random *r,
                 uint32_t most, size_t stop_at)
{
	struct feeding f = { .stream = stream, .wanted = wanted, .stop_at = stop_at };
	struct frames frames = { .bytes_max = OBJECT_BYTES };
	int rc = 0, expected = stop_at < wanted->n ? -ECANCELED : wanted->rc;

	for (size_t at = 0; at < bytes && rc == 0;) {
		size_t n = most > 1 ? 1 + random_below(r, most) : 1;
		char *piece;

		if (n > bytes - at)
			n = bytes - at;
		piece = malloc(n);
		if (!piece)
			fuzz_found("memory was short");
		memcpy(piece, stream + at, n);
		rc = frames_feed(&frames, piece, n, take, &f);
		free(piece);
		at += n;
	}
	if (rc != expected)
		fuzz_found("pieces up to %u: %d instead of %d", most, rc, expected);
	if (rc == 0 && (f.n != wanted->n || frames_partial(&frames) != wanted->partial))
		fuzz_found("pieces up to %u: %zu objects instead of %zu", most, f.n, wanted->n);
	frames_free(&frames);
}

static void check_within(const char *json, size_t bytes, struct text t, const char *what)
{
	if (t.bytes > 0 && (t.at < json || t.bytes > bytes || t.at + t.bytes > json + bytes))
		fuzz_found("the %s does not lie within: %.*s", what, (int)bytes, json);
}

struct items {
	const struct list_page *page;
	size_t n;
};

static int take_item(void *context, const char *json, size_t bytes, size_t *used)
{
	struct items *items = context;
	const size_t n = json_value_bytes(json, bytes);

	check_within(items->page->text.at, items->page->text.bytes, (struct text){ json, bytes },
	             "item");
	if (bytes == 0 || n > bytes)
		fuzz_found("an item of %zu bytes in %zu", n, bytes);
	*used = items->n % 2 == 0 ? n : 0;
	items->n++;
	return 0;
}

/* Strings that are no UTF-8, escapes and control bytes are the extractor's fuzzer's. */
static bool is_ascii(const char *json, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (json[i] < ' ' || json[i] > '~' || json[i] == '\\')
			return false;
	return true;
}

/* For an object without duplicate names cJSON has the same result. */
static bool is_plain(const cJSON *object)
{
	for (const cJSON *a = object ? object->child : NULL; a; a = a->next)
		for (const cJSON *b = a->next; b; b = b->next)
			if (a->string && b->string && strcmp(a->string, b->string) == 0)
				return false;
	return cJSON_IsObject(object);
}

static void check_event(const char *json, size_t bytes, const cJSON *tree)
{
	struct watch_event event;
	const cJSON *type, *object;

	if (watch_event_read(json, bytes, &event) == 0) {
		check_within(json, bytes, event.type, "type");
		check_within(json, bytes, event.object, "object");
	} else {
		event.object.bytes = 0;
	}
	if (!is_plain(tree))
		return;
	type = cJSON_GetObjectItemCaseSensitive(tree, "type");
	object = cJSON_GetObjectItemCaseSensitive(tree, "object");
	if ((cJSON_IsString(type) && object) != (event.object.bytes > 0))
		fuzz_found("an event or not: %.*s", (int)bytes, json);
	if (event.object.bytes > 0 && !text_is(event.type, type->valuestring))
		fuzz_found("type %.*s instead of %s", (int)event.type.bytes, event.type.at,
		           type->valuestring);
}

static void check_page(const char *json, size_t bytes, const cJSON *tree)
{
	const cJSON *metadata, *items;
	struct list_page page;
	struct items taken = { .page = &page };
	int rc;

	if (list_page_read(json, bytes, &page) < 0)
		return;
	if (page.resource_version[0] == '\0')
		fuzz_found("a page without a version");
	check_within(json, bytes, page.continue_token, "token");
	rc = list_page_items(&page, take_item, &taken);
	if (!is_plain(tree))
		return;
	metadata = cJSON_GetObjectItemCaseSensitive(tree, "metadata");
	items = cJSON_GetObjectItemCaseSensitive(tree, "items");
	if ((rc < 0) == (!items || cJSON_IsNull(items) || cJSON_IsArray(items)) ||
	    taken.n != (cJSON_IsArray(items) ? (size_t)cJSON_GetArraySize(items) : 0))
		fuzz_found("%zu items, %d", taken.n, rc);
	items = cJSON_GetObjectItemCaseSensitive(metadata, "resourceVersion");
	if (is_plain(metadata) &&
	    (!cJSON_IsString(items) || strcmp(items->valuestring, page.resource_version) != 0))
		fuzz_found("version %s", page.resource_version);
}

static void check_object(const char *json, size_t bytes)
{
	const char *where, *what;
	/* cJSON takes numbers that are none. */
	bool plain = is_ascii(json, bytes) && json_check(json, json + bytes, &where, &what) != NULL;
	cJSON *tree = plain ? cJSON_ParseWithLength(json, bytes) : NULL;
	char version[64];

	check_event(json, bytes, tree);
	check_page(json, bytes, tree);
	if (object_version_read(json, bytes, version, sizeof(version)) < 0 && version[0] != '\0')
		fuzz_found("no version, and %s", version);
	cJSON_Delete(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct cut wanted;
	const char *stream = (const char *)data;
	struct random r = { bytes };

	for (size_t i = 0; i < bytes; i++)
		r.state = (r.state ^ data[i]) * UINT64_C(0x100000001b3);
	cut_slowly(stream, bytes, &wanted);
	feed(stream, bytes, &wanted, &r, 1, SIZE_MAX);
	feed(stream, bytes, &wanted, &r, 40, SIZE_MAX);
	feed(stream, bytes, &wanted, &r, STREAM_BYTES, SIZE_MAX);
	if (wanted.n > 0)
		feed(stream, bytes, &wanted, &r, 200, random_below(&r, (uint32_t)wanted.n));
	for (size_t i = 0; i < wanted.n; i++)
		check_object(stream + wanted.object[i].at, wanted.object[i].bytes);
	return 0;
}
