/* SPDX-License-Identifier: Apache-2.0 */
/* F5: what a tenant wrote, before it is shown. */
#include "ipc/clean.h"

#include "ipc/logline.h"
#include "tests/unit/test.h"

static const struct {
	const char *text, *shown;
} rows[] = {
	{ "", "" },
	{ "plain", "plain" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a\x1b[2Jb", "a?[2Jb" },
	{ "a\nb\tc\rd\x7f", "a?b?c?d?" },
	{ "a\xc2\x9b"
	  "2J",
	  "a?2J" }, /* U+009B, CSI */
	{ "a\xc2\x9d"
	  "0;x\x07",
	  "a?0;x?" }, /* U+009D, OSC */
	{ "a\xc2\x80\xc2\x9f\xc2\xa0", "a??\xc2\xa0" },
	{ "a\xe2\x80\xae"
	  "b\xe2\x80\xaa",
	  "a?b?" }, /* U+202E, U+202A */
	{ "\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "?????" },
	{ "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7", "??\xe2\x80\xa7" }, /* separators */
	{ "a\xff\xfe", "a??" },
	{ "a\xe2\x80", "a??" },
	{ "a\xc0\x9b", "a??" },
	{ "a\xed\xa0\x80", "a???" },
	{ "\x9b", "?" },
};

Test(clean, f5_each_character)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64], quoted[80], want[80];

		strcpy(text, rows[i].text);
		cr_assert_eq(clean_is(text), strcmp(rows[i].text, rows[i].shown) == 0, "%zu", i);
		clean_text(text);
		cr_assert_str_eq(text, rows[i].shown, "%zu", i);
		cr_assert(clean_is(text));
		logline_quote(quoted, sizeof(quoted), rows[i].text);
		snprintf(want, sizeof(want), "\"%s\"", rows[i].shown);
		cr_assert_str_eq(quoted, want, "%zu", i);
	}
}

Test(clean, f5_lines_keep_their_ends)
{
	char text[] = "{\n\t\"a\": \"\xc2\x9b\x1b\"\r\n}";

	clean_lines(text);
	cr_assert_str_eq(text, "{\n\t\"a\": \"??\"?\n}");
}
