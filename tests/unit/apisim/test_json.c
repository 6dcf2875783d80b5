/* SPDX-License-Identifier: Apache-2.0 */
/* apisim's JSON tree: cJSON is the oracle of random documents. */
#include "tests/apisim/json.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <cjson/cJSON.h>

static struct as_arena arena;

static char *printed(const struct as_json *v)
{
	struct as_text out = { 0 };

	as_json_print(&out, v);
	as_text_add(&out, "", 1);
	return out.at;
}

static struct as_json *parse(const char *text)
{
	const char *error = NULL;
	struct as_json *v = as_json_parse(&arena, text, strlen(text), &error);

	cr_assert_not_null(v, "%s: %s", text, error);
	return v;
}

static void expect(const struct as_json *v, const char *wanted)
{
	char *text = printed(v);

	cr_expect_str_eq(text, wanted);
	free(text);
}

static void clean(void)
{
	as_arena_free(&arena);
}

TestSuite(apisim_json, .fini = clean);

Test(apisim_json, prints_what_it_read)
{
	/* clang-format off */
	static const char *const same[] = {
		"{}", "[]", "null", "true", "[1,-2.5e+10,0]", "\"\"", "{\"a\":{\"b\":[{}]},\"c\":false}",
		"9007199254740993", "1e400", "\"\\\"\\\\\\n\\t\\u0001\"", "\"\xc3\xa9\"",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		expect(parse(same[i]), same[i]);
	expect(parse(" { \"a\" : [ 1 , 2 ] } "), "{\"a\":[1,2]}");
	expect(parse("\"\\u00e9\\ud83d\\ude00\\/\\ud83d\""),
	       "\"\xc3\xa9\xf0\x9f\x98\x80/\xef\xbf\xbd\"");
}

Test(apisim_json, refuses_what_is_not_json)
{
	static const char *const bad[] = {
		"",           " ",     "{",   "[",   "[1",      "[1,]",      "{\"a\"}",     "{\"a\":}",
		"{\"a\":1,}", "{a:1}", "'a'", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u0000\"", "\"\n\"",
		"01",         "-",     "1.",  "1e",  "+1",      ".5",        "tru",         "nul",
		"1 2",        "[]]",   "NaN",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *error = NULL;

		cr_expect_null(as_json_parse(&arena, bad[i], strlen(bad[i]), &error), "%s", bad[i]);
		cr_expect_not_null(error, "%s", bad[i]);
	}
	/* A NUL is no end of the text. */
	const char *error = NULL;

	cr_expect_null(as_json_parse(&arena, "1\0", 2, &error));
	cr_expect_null(as_json_parse(&arena, "\"a\0b\"", 5, &error));
}

Test(apisim_json, refuses_depth)
{
	char deep[1001];
	const char *error = NULL;

	memset(deep, '[', 1000);
	deep[1000] = '\0';
	cr_expect_null(as_json_parse(&arena, deep, 1000, &error));
	cr_expect_str_eq(error, "nested too deeply");
}

/* RFC 7386, appendix A. */
Test(apisim_json, merges_as_the_rfc_says)
{
	static const char *const cases[][3] = {
		{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
		{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
		{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
		{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
		{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
		{ "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
		{ "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]" },
		{ "{\"a\":\"foo\"}", "null", "null" },
		{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
		{ "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
		{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(as_json_merge(&arena, parse(cases[i][0]), parse(cases[i][1])), cases[i][2]);
}

Test(apisim_json, changes_members)
{
	struct as_json *v = parse("{\"a\":1,\"b\":null,\"c\":{\"d\":null,\"e\":[null]}}");

	as_json_drop_nulls(v);
	expect(v, "{\"a\":1,\"c\":{\"e\":[null]}}");
	as_json_set_string(&arena, v, "c", "x");
	as_json_set_integer(&arena, v, "z", -5);
	expect(v, "{\"a\":1,\"c\":\"x\",\"z\":-5}");
	as_json_remove(v, "z");
	as_json_remove(v, "nothing");
	as_json_append(as_json_member(&arena, v, "l", AS_ARRAY), as_json_new_integer(&arena, 1));
	expect(v, "{\"a\":1,\"c\":\"x\",\"l\":[1]}");
	cr_expect_null(as_json_member(&arena, v, "l", AS_OBJECT));
	cr_expect(as_json_equal(parse("{\"a\":1,\"b\":[2]}"), parse("{\"b\":[2],\"a\":1}")));
	cr_expect_not(as_json_equal(parse("{\"a\":1}"), parse("{\"a\":1,\"b\":1}")));
	cr_expect_not(as_json_equal(parse("[1,2]"), parse("[1,2,3]")));
}

static void random_value(struct random *r, struct as_text *out, unsigned depth)
{
	static const char *const strings[] = { "\"\"",        "\"abc\"",    "\"a\\\"b\"",
		                                   "\"\\u20ac\"", "\"\\n\\t\"", "\"\xc3\xa9\"" };
	static const char *const plain[] = { "null", "true", "false", "0", "-1", "17", "1.5", "2e3" };
	unsigned n = random_below(r, 4);
	bool object = random_below(r, 2) == 0;

	if (depth == 0 || random_below(r, 3) == 0) {
		as_text_put(out, random_below(r, 2) == 0 ? strings[random_below(r, 6)]
		                                         : plain[random_below(r, 8)]);
		return;
	}
	as_text_put(out, object ? "{" : "[");
	for (unsigned i = 0; i < n; i++) {
		if (i > 0)
			as_text_put(out, random_below(r, 2) == 0 ? "," : " ,\n ");
		if (object)
			as_text_printf(out, "\"k%u\" :", i);
		random_value(r, out, depth - 1);
	}
	as_text_put(out, object ? "}" : "]");
}

static void break_text(struct random *r, struct as_text *text)
{
	static const char bytes[] = "{}[]\",:\\ 0e-tn";

	for (unsigned i = random_below(r, 3); i > 0 && text->bytes > 1; i--)
		text->at[random_below(r, (uint32_t)text->bytes - 1)] =
			bytes[random_below(r, sizeof(bytes) - 1)];
}

Test(apisim_json, agrees_with_cjson)
{
	struct random r = random_start("apisim_json");
	unsigned good = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct as_text text = { 0 };
		const char *error = NULL;
		struct as_json *mine;
		cJSON *theirs, *again, *twin;
		char *out;

		random_value(&r, &text, 5);
		break_text(&r, &text);
		as_text_add(&text, "", 1);
		mine = as_json_parse(&arena, text.at, text.bytes - 1, &error);
		theirs = cJSON_ParseWithOpts(text.at, NULL, true);
		if (mine != NULL) {
			good++;
			cr_assert_not_null(theirs, "only apisim takes %s", text.at);
			out = printed(mine);
			again = cJSON_Parse(out);
			/* A name given twice makes a document unequal to itself. */
			twin = cJSON_Parse(text.at);
			cr_assert(!cJSON_Compare(theirs, twin, true) || cJSON_Compare(theirs, again, true),
			          "%s became %s", text.at, out);
			cJSON_Delete(twin);
			cJSON_Delete(again);
			free(out);
		}
		cJSON_Delete(theirs);
		as_text_free(&text);
		as_arena_reset(&arena);
	}
	cr_expect_gt(good, 1000);
}
