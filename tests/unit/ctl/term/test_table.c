/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that end at the edge of a terminal. */
#include "ctl/term/edge.h"
#include "ctl/term/table.h"

#include "tests/unit/test.h"

#include <locale.h>
#include <stdlib.h>

/* What is printed of the cells, row by row; to be freed. */
static char *printed(const char *right, const char *spare, size_t edge, const char *const *cells)
{
	struct text_table *t = text_table_new(right);
	char *text;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	for (; *cells != NULL; cells++)
		text_table_cell(t, "%s", *cells);
	text_table_cut(t, edge, spare, NULL);
	text_table_print(t, to);
	fclose(to);
	text_table_free(t);
	return text;
}

static void expect(const char *spare, size_t edge, const char *wanted)
{
	static const char *const cells[] = { "NAME", "N", "AGE", "WHY",
		                                 "a/b",  "7", "3m",  "no room for it on any of the nodes",
		                                 NULL };
	char *text = printed("LRRL", spare, edge, cells);

	cr_expect_str_eq(text, wanted, "%zu: %s", edge, text);
	free(text);
}

Test(table, ends_at_the_edge)
{
	const char *whole = "NAME   N   AGE   WHY\n"
						"a/b    7    3m   no room for it on any of the nodes\n";

	setlocale(LC_CTYPE, "C.UTF-8");
	expect(NULL, 0, whole);
	expect(NULL, 51, whole);
	expect(NULL, 50,
	       "NAME   N   AGE   WHY\n"
	       "a/b    7    3m   no room for it on any of the nod\u2026\n");
	expect(NULL, 8, "NAME   \u2026\na/b    \u2026\n");
	expect(NULL, 1, "N\na\n");
}

Test(table, columns_are_left_out_until_the_last_one_has_room)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	expect("0210", 41, "NAME   N   AGE   WHY\na/b    7    3m   no room for it on any o\u2026\n");
	expect("0210", 40, "NAME   N   WHY\na/b    7   no room for it on any of the\u2026\n");
	expect("0210", 34, "NAME   WHY\na/b    no room for it on any of t\u2026\n");
	expect("0210", 20, "NAME   WHY\na/b    no room for \u2026\n");
	expect("0210", 0,
	       "NAME   N   AGE   WHY\na/b    7    3m   no room for it on any of the nodes\n");
}

/* A wide character has two columns, a combining one none; none is cut in two. */
Test(table, columns_of_a_terminal_are_not_bytes)
{
	static const char *const cells[] = { "\u540d\u540d", "x", "e\u0301e", "y", NULL };
	char *text;

	setlocale(LC_CTYPE, "C.UTF-8");
	cr_expect_eq(edge_width("\u540de\u0301"), 3);
	text = printed("LL", NULL, 0, cells);
	cr_expect_str_eq(text, "\u540d\u540d   x\ne\u0301e     y\n");
	free(text);
	text = printed("LL", NULL, 4, cells);
	cr_expect_str_eq(text, "\u540d\u2026\ne\u0301e \u2026\n");
	free(text);
}

Test(table, mark_without_utf8)
{
	setlocale(LC_CTYPE, "C");
	expect(NULL, 30, "NAME   N   AGE   WHY\na/b    7    3m   no room fo...\n");
	expect(NULL, 2, "NA\na/\n");
}
