/* SPDX-License-Identifier: Apache-2.0 */
/* Objects cut out of a stream, wherever it is cut. */
#include "frontend/json/json.h"
#include "frontend/watch/frames.h"

#include "tests/unit/test.h"

#include <unistd.h>

struct seen {
	char text[8192]; /* each object, ended by '|' */
	unsigned n;
	int say;
};

static int see(void *context, const char *json, size_t bytes)
{
	struct seen *s = context;
	size_t at = strlen(s->text);

	cr_assert(at + bytes + 2 < sizeof(s->text));
	memcpy(s->text + at, json, bytes);
	strcpy(s->text + at + bytes, "|");
	s->n++;
	return s->say;
}

static int take(void *context, const char *json, size_t bytes)
{
	struct seen *s = context;

	(void)json;
	(void)bytes;
	s->n++;
	return 0;
}

/* Every other item is measured by list_page_items(). */
static int see_item(void *context, const char *json, size_t bytes, size_t *used)
{
	struct seen *s = context;
	const size_t n = json_value_bytes(json, bytes);

	if (n == 0)
		return 0;
	*used = s->n % 2 == 0 ? n : 0;
	return see(context, json, n);
}

static const char stream[] =
	"{\"a\":1}\n{\"b\":\"} { \\\" \\\\\"}{\"c\":[{},{\"d\":\"]\"}]} \t\r\n{}";
static const char objects[] = "{\"a\":1}|{\"b\":\"} { \\\" \\\\\"}|{\"c\":[{},{\"d\":\"]\"}]}|{}|";

Test(frames, finds_objects_however_the_stream_is_cut)
{
	for (size_t piece = 1; piece <= strlen(stream); piece++) {
		struct frames f = { .bytes_max = 64 };
		struct seen s = { 0 };

		for (size_t at = 0; at < strlen(stream); at += piece) {
			size_t n = strlen(stream) - at < piece ? strlen(stream) - at : piece;

			cr_assert_eq(frames_feed(&f, stream + at, n, see, &s), 0);
		}
		cr_assert_str_eq(s.text, objects, "pieces of %zu", piece);
		cr_assert(!frames_partial(&f));
		frames_free(&f);
	}
}

Test(frames, an_object_over_the_cap_is_an_error)
{
	char text[200] = "{\"a\":\"";
	struct frames f = { .bytes_max = 64 };
	struct seen s = { 0 };

	memset(text + 6, 'x', 57);
	strcpy(text + 63, "\"}");
	cr_assert_eq(strlen(text), 65);
	cr_assert_eq(frames_feed(&f, text, 65, see, &s), -EMSGSIZE);
	frames_reset(&f);
	for (size_t i = 0; i < 64; i++)
		cr_assert_eq(frames_feed(&f, text + i, 1, see, &s), 0, "byte %zu", i);
	cr_assert_eq(frames_feed(&f, text + 64, 1, see, &s), -EMSGSIZE);
	frames_reset(&f);
	memmove(text + 6, text + 7, strlen(text + 7) + 1); /* 64 bytes: just fits */
	cr_assert_eq(frames_feed(&f, text, 64, see, &s), 0);
	cr_assert_eq(s.n, 1);
	frames_free(&f);
}

Test(frames, memory_of_a_large_object_goes_with_it)
{
	static char text[3u << 20];
	struct frames f = { .bytes_max = sizeof(text) };
	struct seen s = { .say = 0 };

	memset(text, 'x', sizeof(text));
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + sizeof(text) - 2, "\"}", 2);
	cr_assert_eq(frames_feed(&f, text, sizeof(text) - 1, see, &s), 0);
	cr_assert_geq(f.kept_cap, sizeof(text) - 1);
	cr_assert_eq(frames_feed(&f, "}", 1, take, &s), 0);
	cr_assert_eq(s.n, 1);
	cr_assert_eq(f.kept_cap, 0);
	cr_assert_eq(frames_feed(&f, text, sizeof(text) - 1, take, &s), 0);
	frames_reset(&f); /* the stream broke */
	cr_assert_eq(f.kept_cap, 0);
	frames_free(&f);
}

Test(frames, what_stands_between_objects_is_an_error)
{
	static const char *const bad[] = { "[1]", "x{}", "\"a\"", "}", "{}1", "<html>", "null" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct frames f = { .bytes_max = 64 };
		struct seen s = { 0 };

		cr_assert_eq(frames_feed(&f, bad[i], strlen(bad[i]), see, &s), -EPROTO, "%s", bad[i]);
		frames_free(&f);
	}
}

Test(frames, a_negative_answer_ends_it)
{
	struct frames f = { .bytes_max = 64 };
	struct seen s = { .say = -ECANCELED };

	cr_assert_eq(frames_feed(&f, "{}{}", 4, see, &s), -ECANCELED);
	cr_assert_eq(s.n, 1);
	frames_free(&f);
}

static bool is(struct text t, const char *literal)
{
	return text_is(t, literal);
}

Test(watch_event, has_a_type_and_an_object_in_any_order)
{
	const char *a = "{\"type\":\"ADDED\",\"object\":{\"x\":1}}";
	const char *b = "{ \"object\" : {\"x\":1} , \"new\":[1,{}], \"type\" : \"ADDED\" }";
	struct watch_event e;

	cr_assert_eq(watch_event_read(a, strlen(a), &e), 0);
	cr_assert(is(e.type, "ADDED") && is(e.object, "{\"x\":1}"));
	cr_assert_eq(watch_event_read(b, strlen(b), &e), 0);
	cr_assert(is(e.type, "ADDED") && is(e.object, "{\"x\":1}"));
}

Test(watch_event, without_one_of_them_is_refused)
{
	static const char *const bad[] = {
		"{}",
		"{\"type\":\"ADDED\"}",
		"{\"object\":{}}",
		"{\"type\":1,\"object\":{}}",
		"{\"type\":\"ADDED\",\"object\":{}",
	};
	struct watch_event e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(watch_event_read(bad[i], strlen(bad[i]), &e), -EINVAL, "%s", bad[i]);
}

Test(list_page, has_version_token_and_items)
{
	const char *json =
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"71\",\"continue\":\"abc+/=\","
		"\"remainingItemCount\":9},\"items\":[{\"a\":1}, {\"b\":[2]}]}";
	struct list_page page;
	struct seen s = { 0 };

	cr_assert_eq(list_page_read(json, strlen(json), &page), 0);
	cr_assert_str_eq(page.resource_version, "71");
	cr_assert(is(page.continue_token, "abc+/="));
	cr_assert_eq(list_page_items(&page, see_item, &s), 0);
	cr_assert_str_eq(s.text, "{\"a\":1}|{\"b\":[2]}|");
}

Test(list_page, may_have_no_items_and_be_the_last)
{
	static const char *const pages[] = {
		"{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":null}",
		"{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"},\"items\":[]}",
		"{\"items\":[],\"metadata\":{\"continue\":null,\"resourceVersion\":\"1\"}}",
	};

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		struct list_page page;
		struct seen s = { 0 };

		cr_assert_eq(list_page_read(pages[i], strlen(pages[i]), &page), 0, "%s", pages[i]);
		cr_assert_eq(page.continue_token.bytes, 0);
		cr_assert_eq(list_page_items(&page, see_item, &s), 0);
		cr_assert_eq(s.n, 0);
	}
}

/* Parameters of a claim for its driver may be any JSON of 10 KiB: with 60 arrays in them anybody
 * who makes claims stopped the list of all claims, and the watch. */
Test(list_page, an_object_nested_deep_stopped_the_list)
{
	static char json[30000];
	struct list_page page;
	struct watch_event e;
	struct seen s = { 0 };
	char deep[2001];

	memset(deep, '[', 1000);
	memset(deep + 1000, ']', 1000);
	deep[2000] = '\0';
	snprintf(json, sizeof(json),
	         "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"a\":{\"b\":%s}},{\"c\":1}]}",
	         deep);
	cr_assert_eq(list_page_read(json, strlen(json), &page), 0);
	cr_assert_eq(list_page_items(&page, see_item, &s), 0);
	cr_assert_eq(s.n, 2);
	snprintf(json, sizeof(json), "{\"type\":\"ADDED\",\"object\":{\"a\":%s}}", deep);
	cr_assert_eq(watch_event_read(json, strlen(json), &e), 0);
	cr_assert_eq(e.object.bytes, 2006);
}

Test(list_page, that_is_none_is_refused)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"metadata\":{}}",
		"{\"metadata\":{\"resourceVersion\":7},\"items\":[]}",
		"{\"items\":[],\"metadata\":{\"resourceVersion\":\"1\"}",
		"{\"items\":[{],\"metadata\":{\"resourceVersion\":\"1\"}}",
	};
	struct list_page page;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(list_page_read(bad[i], strlen(bad[i]), &page), -EINVAL, "%s", bad[i]);
}

Test(list_page, whose_items_are_broken_is_found_where_they_are_read)
{
	static const char *const rests[] = {
		"",
		"[",
		"[{\"a\":1}",
		"[{\"a\":1}]",
		"[{\"a\":1]}",
		"[{\"a\":1}}",
		"[{}{}]}",
		"[{\"a\":1}]} x",
		"{}}",
		"7}",
	};
	struct list_page page;
	struct seen s = { 0 };
	char json[200];

	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++) {
		snprintf(json, sizeof(json), "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":%s",
		         rests[i]);
		cr_assert_eq(list_page_read(json, strlen(json), &page), 0, "%s", json);
		cr_assert_eq(list_page_items(&page, see_item, &s), -EINVAL, "%s", json);
	}
}

/* As the API server writes lists of objects of a CustomResourceDefinition: sorted by name. */
Test(list_page, may_have_its_metadata_behind_the_items)
{
	const char *json =
		"{\"apiVersion\":\"x/v1\",\"items\":[{\"a\":1},{\"b\":2}],\"kind\":\"XList\","
		"\"metadata\":{\"continue\":\"t\",\"resourceVersion\":\"5\"}}";
	struct list_page page;
	struct seen s = { 0 };

	cr_assert_eq(list_page_read(json, strlen(json), &page), 0);
	cr_assert_str_eq(page.resource_version, "5");
	cr_assert(is(page.continue_token, "t"));
	cr_assert_eq(list_page_items(&page, see_item, &s), 0);
	cr_assert_str_eq(s.text, "{\"a\":1}|{\"b\":2}|");
}

Test(object_version, is_that_of_the_metadata)
{
	const char *json =
		"{\"a\":{\"resourceVersion\":\"1\"},\"metadata\":{\"labels\":{\"resourceVersion\":\"2\"},"
		"\"resourceVersion\":\"3\"},\"resourceVersion\":\"4\"}";
	char version[16];

	cr_assert_eq(object_version_read(json, strlen(json), version, sizeof(version)), 0);
	cr_assert_str_eq(version, "3");
	cr_assert_eq(object_version_read("{}", 2, version, sizeof(version)), 0);
	cr_assert_str_eq(version, "");
	cr_assert_eq(object_version_read(json, strlen(json), version, 1), -EINVAL);
}

/* Any cut of a random stream gives the same objects. */
Test(frames, random_streams)
{
	unsigned seed = (unsigned)getpid();

	printf("seed %u\n", seed);
	for (int round = 0; round < 300; round++) {
		char text[600] = "", wanted[800] = "";
		struct frames f = { .bytes_max = 200 };
		struct seen s = { 0 };
		size_t n = 0;

		for (int i = rand_r(&seed) % 6; i >= 0; i--) {
			char object[100];
			int depth = rand_r(&seed) % 5;

			snprintf(object, sizeof(object), "{\"k%d\":%.*s\"%s\"%.*s}", i, depth, "[[[[[",
			         rand_r(&seed) % 2 ? "\\\\\\\"}{][" : "x", depth, "]]]]]");
			n += (size_t)sprintf(text + n, "%s%s", object, rand_r(&seed) % 2 ? "\n" : "");
			strcat(strcat(wanted, object), "|");
		}
		for (size_t at = 0; at < n;) {
			size_t piece = 1 + (size_t)rand_r(&seed) % 40;

			if (piece > n - at)
				piece = n - at;
			/* A copy of its own, so that a sanitizer sees a read beyond it. */
			char *copy = malloc(piece);

			memcpy(copy, text + at, piece);
			cr_assert_eq(frames_feed(&f, copy, piece, see, &s), 0);
			free(copy);
			at += piece;
		}
		cr_assert_str_eq(s.text, wanted);
		frames_free(&f);
	}
}
