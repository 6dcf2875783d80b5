/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner against cJSON on good documents, and on broken ones: whatever it
 * takes, cJSON takes too, and it never reads past the end. */
#include "frontend/json/json.h"

#include "frontend/json/json_scan.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <cjson/cJSON.h>

struct document {
	struct arena arena;
	struct json j;
	char *text; /* of its exact size, so that a byte too far is seen */
};

static void open_bytes(struct document *d, const char *text, size_t bytes)
{
	memset(d, 0, sizeof(*d));
	d->text = malloc(bytes + (bytes == 0));
	cr_assert(d->text);
	memcpy(d->text, text, bytes);
	json_begin(&d->j, d->text, bytes, &d->arena);
}

static void document_free(struct document *d)
{
	arena_free(&d->arena);
	free(d->text);
}

/* What json_string() makes of a document that is one string: NULL on an error. */
static const char *string_of(const char *json, size_t bytes)
{
	static char out[256];
	struct document d;
	struct text t;
	bool good;

	open_bytes(&d, json, bytes);
	good = json_string(&d.j, &t) && json_end(&d.j);
	if (good) {
		memcpy(out, t.at, t.bytes);
		out[t.bytes] = '\0';
	}
	document_free(&d);
	return good ? out : NULL;
}

#define STRING(json) string_of(json, sizeof(json) - 1)

Test(json, strings)
{
	cr_assert_str_eq(STRING("\"\""), "");
	cr_assert_str_eq(STRING(" \"abc\" "), "abc");
	cr_assert_str_eq(STRING("\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\""), "a\"b\\c/d\b\f\n\r\t");
	cr_assert_str_eq(STRING("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\""),
	                 "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	cr_assert_str_eq(STRING("\"\xc3\xa9 and plain bytes after it, more than sixteen\""),
	                 "\xc3\xa9 and plain bytes after it, more than sixteen");
	cr_assert_str_eq(STRING("null"), "");
}

Test(json, bad_strings)
{
	static const struct {
		const char *json;
		size_t bytes;
	} bad[] = {
#define BAD(s) { s, sizeof(s) - 1 }
		BAD("\"a\\u0000b\""),
		BAD("\"a\0b\""),
		BAD("\"a\nb\""),
		BAD("\"\x1f\""),
		BAD("\"\\ud83d\""),
		BAD("\"\\ude00\""),
		BAD("\"\\ud83d\\u0041\""),
		BAD("\"\\ud83dx\""),
		BAD("\"\\u12\""),
		BAD("\"\\u12g4\""),
		BAD("\"\\x41\""),
		BAD("\"\\"),
		BAD("\"\\\""),
		BAD("\"abc"),
		BAD("\""),
		BAD(""),
		BAD("\"\xff\""),
		BAD("\"\xc0\xaf\""),
		BAD("\"\xed\xa0\x80\""),
		BAD("\"\xf4\x90\x80\x80\""),
		BAD("\"\xe2\x82\""),
		BAD("\"\x80\""),
		BAD("\"a\" x"),
		BAD("abc"),
		BAD("12"),
		BAD("nul"),
		BAD("\"a\"\0"),
#undef BAD
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_null(string_of(bad[i].json, bad[i].bytes), "number %zu is no string", i);
}

static bool int64_of(const char *json, int64_t *out)
{
	struct document d;
	bool good;

	open_bytes(&d, json, strlen(json));
	good = json_int64(&d.j, out) && json_end(&d.j);
	document_free(&d);
	return good;
}

Test(json, numbers)
{
	/* clang-format off */
	static const char *const bad[] = {
		"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "01", "-", "+1", "1.", ".5",
		"\"1\"", "true", "0x10", "1 2", "- 1", "", "99999999999999999999999",
	};
	/* clang-format on */
	int64_t n;

	cr_assert(int64_of("9223372036854775807", &n) && n == INT64_MAX);
	cr_assert(int64_of("-9223372036854775808", &n) && n == INT64_MIN);
	cr_assert(int64_of("9007199254740993", &n) && n == INT64_C(9007199254740993));
	cr_assert(int64_of(" -0 ", &n) && n == 0);
	cr_assert(int64_of("null", &n) && n == 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(int64_of(bad[i], &n), "%s is no integer", bad[i]);
}

Test(json, names_are_compared_exactly)
{
	static const char json[] = "{\"NAME\":1,\"n\\u0061me\":2,\"name\":3}";
	struct document d;
	struct text name;
	int64_t n = 0, value;

	open_bytes(&d, json, sizeof(json) - 1);
	cr_assert(json_object(&d.j));
	while (json_member(&d.j, &name))
		if (text_is(name, "name") && json_int64(&d.j, &value))
			n = n * 10 + value;
		else
			json_skip(&d.j);
	cr_assert(json_end(&d.j));
	cr_assert_eq(n, 23, "both spellings of it, in their order");
	document_free(&d);
}

Test(json, an_error_shows_the_value)
{
	static const struct {
		const char *json, *error;
	} rows[] = {
		{ "\"high\"", "\"high\" is a string, not an integer" },
		{ "\"a\\\"b\\n\xc3\xbc\"", "\"a\\\"b\\n??\" is a string, not an integer" },
		{ "true,", "true is a boolean, not an integer" },
		{ "{}", "is an object, not an integer" },
		{ "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
		  "\"01234567890123456789012345678901234567890123456789012345678 is a string, not an integer" },
	};
	struct document d;
	int64_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_bytes(&d, rows[i].json, strlen(rows[i].json));
		cr_assert_not(json_int64(&d.j, &n));
		cr_assert_str_eq(d.j.error, rows[i].error);
		document_free(&d);
	}
}

Test(json, an_error_has_a_path)
{
	static const char json[] =
		"{\"status\":{\"allocatable\":{\"cpu\":\"1\",\"example.com/x\":[]}},\"list\":[0,{\"a\":[1,true]}]}";
	char path[256], small[8];
	struct document d;
	struct text name, key, t;
	int64_t n;

	open_bytes(&d, json, sizeof(json) - 1);
	json_object(&d.j);
	json_member(&d.j, &name);
	json_object(&d.j);
	json_member(&d.j, &name);
	json_object(&d.j);
	while (json_key(&d.j, &key) && json_string(&d.j, &t))
		;
	json_path(&d.j, path, sizeof(path));
	cr_assert_str_eq(path, "status.allocatable[\"example.com/x\"]");
	cr_assert_str_eq(d.j.error, "is an array, not a string");
	json_path(&d.j, small, sizeof(small));
	cr_assert_str_eq(small, "status.");
	document_free(&d);

	open_bytes(&d, json, sizeof(json) - 1);
	json_object(&d.j);
	json_member(&d.j, &name);
	json_skip(&d.j);
	json_member(&d.j, &name);
	json_array(&d.j);
	json_item(&d.j);
	json_skip(&d.j);
	json_item(&d.j);
	json_object(&d.j);
	json_member(&d.j, &name);
	json_array(&d.j);
	while (json_item(&d.j))
		json_int64(&d.j, &n);
	json_path(&d.j, path, sizeof(path));
	cr_assert_str_eq(path, "list[1].a[1]");
	document_free(&d);
}

static bool skips(const char *json, size_t bytes)
{
	struct document d;
	bool good;

	open_bytes(&d, json, bytes);
	json_skip(&d.j);
	good = json_end(&d.j);
	document_free(&d);
	return good;
}

Test(json, depth_is_bounded)
{
	char text[4 * JSON_DEPTH + 8] = "";

	for (int depth = JSON_DEPTH - 1; depth <= JSON_DEPTH + 1; depth++) {
		struct document d;
		bool opened = true;

		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		cr_assert(skips(text, 2 * (size_t)depth), "%d levels skipped", depth);
		cr_assert_not(skips(text, 2 * (size_t)depth - 1), "%d levels cut off", depth);
		open_bytes(&d, text, 2 * (size_t)depth);
		for (int i = 0; opened && i < depth; i++)
			opened = json_array(&d.j) && (i == depth - 1 || json_item(&d.j));
		cr_assert_eq(opened, depth <= JSON_DEPTH, "%d levels read", depth);
		document_free(&d);
	}
}

Test(json, what_is_skipped_has_to_match)
{
	static const char *const good[] = {
		"[]",
		"{}",
		"{\"a\":[1,{\"b\":\"]}\"}]}",
		"[\"\\\\\"]",
		"[\"\\\"]\"]",
		"1",
		"\"x\"",
		"{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123456789\\\\\",\"b\":{}}"
	};
	/* clang-format off */
	static const char *const bad[] = {
		"[", "{", "[}", "{]", "[\"", "[\"\\\"]", "[[]", "]", "", "x", "[] []", "{\"a\":}}",
		"[0123456789012345678901234567890123456789012345678901234567890123456789",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert(skips(good[i], strlen(good[i])), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(skips(bad[i], strlen(bad[i])), "%s", bad[i]);
}

struct out {
	char at[65536];
	size_t n;
};

static void put(struct out *o, const char *text)
{
	size_t n = strlen(text);

	cr_assert(o->n + n < sizeof(o->at));
	memcpy(o->at + o->n, text, n + 1);
	o->n += n;
}

static void make_space(struct random *r, struct out *o)
{
	static const char *const spaces[] = { "", "", "", " ", "\n", "\t ", "                  " };

	put(o, spaces[random_below(r, 7)]);
}

static void make_string(struct random *r, struct out *o)
{
	/* clang-format off */
	static const char *const parts[] = {
		"a", "B7", "-", ".", "\\\"", "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "\xc3\xa9", "{",
		"]", "kubernetes.io/hostname", ",", ":",
	};
	/* clang-format on */

	put(o, "\"");
	for (uint32_t i = random_below(r, 9); i > 0; i--)
		put(o, parts[random_below(r, sizeof(parts) / sizeof(parts[0]))]);
	put(o, "\"");
}

static void make_value(struct random *r, struct out *o, int depth)
{
	static const char *const scalars[] = { "0", "-1", "12345678901", "true", "false", "null" };
	uint32_t kind = random_below(r, depth > 0 ? 6 : 3), n = random_below(r, 6);
	char name[16];

	make_space(r, o);
	if (kind < 2) {
		make_string(r, o);
	} else if (kind == 2) {
		put(o, scalars[random_below(r, 6)]);
	} else if (kind == 3) {
		put(o, "[");
		for (uint32_t i = 0; i < n; i++) {
			put(o, i == 0 ? "" : ",");
			make_value(r, o, depth - 1);
		}
		put(o, "]");
	} else {
		put(o, "{");
		for (uint32_t i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "\"k%u\"", i);
			put(o, i == 0 ? "" : ",");
			make_space(r, o);
			put(o, name);
			make_space(r, o);
			put(o, ":");
			make_value(r, o, depth - 1);
		}
		put(o, "}");
	}
	make_space(r, o);
}

/* Is what the scanner reads what cJSON made of it?  `skip`: skip a value now and
 * then.  False when the scanner fails; a difference fails the test. */
static bool same(struct json *j, const cJSON *c, struct random *skip)
{
	struct text t;
	int64_t n;
	bool b;

	if (skip && random_below(skip, 4) == 0) {
		json_skip(j);
		return !j->failed;
	}
	if (cJSON_IsObject(c)) {
		c = c->child;
		if (!json_object(j))
			return false;
		for (; json_member(j, &t); c = c->next) {
			cr_assert(c && strlen(c->string) == t.bytes && memcmp(c->string, t.at, t.bytes) == 0);
			if (!same(j, c, skip))
				return false;
		}
		cr_assert(j->failed || !c);
	} else if (cJSON_IsArray(c)) {
		c = c->child;
		if (!json_array(j))
			return false;
		for (; json_item(j); c = c->next)
			if (!same(j, c, skip))
				return false;
		cr_assert(j->failed || !c);
	} else if (cJSON_IsString(c)) {
		if (json_string(j, &t))
			cr_assert(strlen(c->valuestring) == t.bytes &&
			          memcmp(c->valuestring, t.at, t.bytes) == 0);
	} else if (cJSON_IsNumber(c)) {
		if (json_int64(j, &n))
			cr_assert_eq((double)n, c->valuedouble);
	} else if (cJSON_IsBool(c)) {
		if (json_bool(j, &b))
			cr_assert_eq(b, cJSON_IsTrue(c));
	} else {
		json_null(j);
	}
	return !j->failed;
}

Test(json, good_documents_are_what_cjson_makes_of_them)
{
	struct random r = random_start("json good");
	static struct out o;

	for (int round = 0; round < 4000; round++) {
		struct document d;
		cJSON *c;

		o.n = 0;
		make_value(&r, &o, 1 + (int)random_below(&r, 5));
		c = cJSON_ParseWithLength(o.at, o.n);
		cr_assert(c, "cJSON takes %s", o.at);
		for (int pass = 0; pass < 2; pass++) {
			open_bytes(&d, o.at, o.n);
			cr_assert(same(&d.j, c, pass == 0 ? NULL : &r) && json_end(&d.j), "%s: %s", d.j.error,
			          o.at);
			document_free(&d);
		}
		cJSON_Delete(c);
	}
}

/* Read all of a document without knowing what is in it; with `r`, skip some. */
static void read_all(struct json *j, struct random *r)
{
	struct text t;
	int64_t n;
	bool b;

	while (j->at < j->end && strchr(" \n\t\r", *j->at))
		j->at++;
	if (j->failed || j->at == j->end || (r && random_below(r, 8) == 0)) {
		json_skip(j);
		return;
	}
	switch (*j->at) {
	case '{':
		if (json_object(j))
			while (json_member(j, &t))
				read_all(j, r);
		break;
	case '[':
		if (json_array(j))
			while (json_item(j))
				read_all(j, r);
		break;
	case '"':
		json_string(j, &t);
		break;
	case 't':
	case 'f':
		json_bool(j, &b);
		break;
	case 'n':
		json_null(j);
		break;
	default:
		if (r && random_below(r, 2))
			json_int64(j, &n);
		else
			json_scalar(j, &t);
	}
}

static void mutate(struct random *r, char *text, size_t *bytes)
{
	static const char letters[] = "{}[]\",:\\u0d8ntf-1e. \x01\x80\xff";

	for (uint32_t i = 1 + random_below(r, 3); i > 0 && *bytes > 0; i--) {
		size_t at = random_below(r, (uint32_t)*bytes);

		switch (random_below(r, 4)) {
		case 0:
			*bytes = at;
			break;
		case 1:
			memmove(text + at, text + at + 1, *bytes - at - 1);
			--*bytes;
			break;
		default:
			text[at] = letters[random_below(r, sizeof(letters) - 1)];
		}
	}
}

Test(json, broken_documents_are_no_harm)
{
	struct random r = random_start("json broken");
	static struct out o;
	int taken = 0;

	for (int round = 0; round < 20000; round++) {
		struct document d;
		char path[40];

		o.n = 0;
		make_value(&r, &o, 1 + (int)random_below(&r, 4));
		mutate(&r, o.at, &o.n);
		open_bytes(&d, o.at, o.n);
		read_all(&d.j, &r);
		if (json_end(&d.j))
			taken++;
		else
			cr_assert(d.j.error[0] != '\0');
		json_path(&d.j, path, sizeof(path));
		cr_assert(strlen(path) < sizeof(path));
		document_free(&d);
		skips(o.at, o.n);
	}
	cr_assert(taken > 100 && taken < 19900, "%d of 20000 were taken", taken);
}

/* What is taken without skipping is JSON to cJSON too. */
Test(json, what_is_read_is_json)
{
	struct random r = random_start("json read");
	static struct out o;
	int taken = 0;

	for (int round = 0; round < 20000; round++) {
		struct document d;
		cJSON *c;

		o.n = 0;
		make_value(&r, &o, 1 + (int)random_below(&r, 4));
		mutate(&r, o.at, &o.n);
		open_bytes(&d, o.at, o.n);
		read_all(&d.j, NULL);
		if (json_end(&d.j)) {
			taken++;
			c = cJSON_ParseWithLength(o.at, o.n);
			cr_assert(c, "%.*s", (int)o.n, o.at);
			cJSON_Delete(c);
		}
		document_free(&d);
	}
	cr_assert(taken > 100 && taken < 19900, "%d of 20000 were taken", taken);
}

Test(json, what_is_left_of_a_character_is_dropped)
{
	static const struct {
		const char *text, *left;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "a\xc3", "a" },
		{ "a\xe2\x82 b", "a b" },
		{ "\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf0\x9f\x98", " \xe2\x82\xac \xf0\x9f\x98\x80 " },
		{ "\xed\xa0\x80 \xc0\x80", " " },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t before = strlen(cases[i].text);

		snprintf(text, sizeof(text), "%s", cases[i].text);
		cr_assert_eq(scan_drop_broken(text), before - strlen(cases[i].left));
		cr_assert_str_eq(text, cases[i].left);
		cr_assert(scan_utf8(text, text + strlen(text)));
	}
}
