/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log that nothing in them can break. */
#include "ipc/logline.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <cjson/cJSON.h>

static const char *quoted(const char *text)
{
	static char out[64];

	cr_assert_eq(logline_quote(out, sizeof(out), text), strlen(out));
	return out;
}

Test(logline, quotes_what_could_end_them)
{
	cr_assert_str_eq(quoted("a b"), "\"a b\"");
	cr_assert_str_eq(quoted("say \"x\\y\""), "\"say \\\"x\\\\y\\\"\"");
	cr_assert_str_eq(quoted("a\nlevel=error\x7f"), "\"a?level=error?\"");
	cr_assert_str_eq(quoted("gr\xc3\xbc\xc3\x9f \xe2\x82\xac"),
	                 "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac\"");
	cr_assert_str_eq(quoted("\xc3 \xff \xed\xa0\x80 \xc0\xaf \xe2\x82"), "\"? ? ??? ?? ??\"");
}

Test(logline, is_cut_between_characters)
{
	char out[8];

	logline_quote(out, sizeof(out), "abcde\xc3\xbc");
	cr_assert_str_eq(out, "\"abcde\"");
	logline_quote(out, sizeof(out), "abcd\xc3\xbc");
	cr_assert_str_eq(out, "\"abcd\"");
	logline_quote(out, sizeof(out), "abcd\"");
	cr_assert_str_eq(out, "\"abcd\"");
}

Test(logline, becomes_json)
{
	char out[256];

	logline_json(
		out, sizeof(out),
		"ts=2026-01-02T03:04:05.678Z level=info msg=\"a \\\"b\\\\\" n=12 m=-3 z=007 hex=00ff e= q=\"\"");
	cr_assert_str_eq(
		out,
		"{\"ts\":\"2026-01-02T03:04:05.678Z\",\"level\":\"info\",\"msg\":\"a \\\"b\\\\\",\"n\":12,\"m\":-3,"
		"\"z\":\"007\",\"hex\":\"00ff\",\"e\":\"\",\"q\":\"\"}");
	logline_json(out, sizeof(out), "level=info msg=\"cut of");
	cr_assert_str_eq(out, "{\"level\":\"info\"}");
	logline_json(out, 30, "level=info msg=\"this has no room there\"");
	cr_assert_str_eq(out, "{\"level\":\"info\"}");
}

Test(logline, any_text_comes_back)
{
	struct random r = random_start("logline");

	for (int i = 0; i < 20000; i++) {
		char text[40], line[128], json[256];
		size_t n = random_below(&r, sizeof(text));
		cJSON *o;

		for (size_t k = 0; k < n; k++)
			text[k] = (char)(1 + random_below(&r, 255));
		text[n] = '\0';
		strcpy(line, "msg=");
		logline_quote(line + 4, sizeof(line) - 4, text);
		strcat(line, " n=1");
		logline_json(json, sizeof(json), line);
		o = cJSON_Parse(json);
		cr_assert_not_null(o, "%s", json);
		cr_assert_eq(cJSON_GetObjectItem(o, "n")->valueint, 1, "%s", json);
		cr_assert_not_null(cJSON_GetStringValue(cJSON_GetObjectItem(o, "msg")), "%s", json);
		cJSON_Delete(o);
	}
}
