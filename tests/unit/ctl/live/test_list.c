/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a list. */
#include "ctl/live/list.h"

#include "ctl/term/print.h"

#include "tests/unit/test.h"

#include <criterion/redirect.h>

static void row(const cJSON *item, bool wide, char **cells)
{
	cells[0] = must_copy(cJSON_GetObjectItem(item, "thing")->valuestring);
	cells[1] = must_copy(cJSON_GetObjectItem(item, "n")->valuestring);
	if (wide)
		cells[2] = must_copy("w");
}

static const struct list_kind kind = {
	.items = "things",
	.name = "thing",
	.ignored = (const char *const[]){ "age", NULL },
	.optional = (const char *const[]){ "why", "rare", NULL },
	.row = row,
	.heads = (const char *const[]){ "THING", "N", NULL },
	.wide_heads = (const char *const[]){ "MORE", NULL },
	.right = "LRL",
};

static void add(cJSON *items, const char *name, int64_t n, int64_t age, bool waits)
{
	cJSON *o = json_checked(cJSON_CreateObject()), *used;

	json_add_text(o, "thing", name);
	json_add_number(o, "n", n);
	json_add_number(o, "age", age);
	if (waits)
		json_add_text(o, "why", "no \"room\"");
	used = cJSON_AddObjectToObject(o, "used");
	json_add_number(used, "nvidia.com/gpu", n * 2);
	cJSON_AddItemToArray(items, o);
}

static cJSON *three(void)
{
	cJSON *items = cJSON_CreateArray();

	add(items, "a/z", 10, 1, false);
	add(items, "a/y", 9, 2, true);
	add(items, "b/x", -1, 3, false);
	return items;
}

static struct list_options read(const char *form)
{
	struct list_options o = { 0 };

	cr_assert(form == NULL || option_list_form("test", form, &o));
	return o;
}

static int print(const char *form, const char *sort_by, const cJSON *before)
{
	struct list_options o = read(form);
	cJSON *items = three();
	int rc = 2;

	o.sort_by = sort_by;
	if (list_sort("test", &o, &kind, items))
		rc = list_print("test", &o, &kind, items, before);
	cJSON_Delete(items);
	return rc;
}

TestSuite(list, .init = cr_redirect_stdout);

Test(list, text)
{
	cr_assert_eq(print(NULL, ".n", NULL), 0);
	fflush(stdout);
	cr_assert_stdout_eq_str("THING    N\nb/x     -1\na/y      9\na/z     10\n");
}

Test(list, wide_by_name)
{
	cr_assert_eq(print("wide", "{.thing}", NULL), 0);
	fflush(stdout);
	cr_assert_stdout_eq_str(
		"THING   MORE    N\na/y     w       9\na/z     w      10\nb/x     w      -1\n");
}

Test(list, names_by_a_field_that_not_all_have)
{
	cr_assert_eq(print("name", "why", NULL), 0);
	fflush(stdout);
	cr_assert_stdout_eq_str("thing/a/y\nthing/a/z\nthing/b/x\n");
}

/* A script sorts by the reason also while nothing waits. */
Test(list, by_a_field_that_none_has_today)
{
	cr_assert_eq(print("name", ".rare", NULL), 0);
	cr_assert_eq(print("name", "{.rare.deep}", NULL), 0);
	cr_redirect_stderr();
	cr_assert_eq(print("name", ".rar", NULL), 2);
	fflush(stderr);
	cr_assert_stderr_eq_str("test: --sort-by .rar: the JSON has no such field; there are thing, n, "
	                        "age, used, why, rare\n");
}

Test(list, columns_by_a_name_with_dots)
{
	cr_assert_eq(print("custom-columns=T:.thing,GPU:.used.nvidia.com/gpu,WHY:{.why}",
	                   ".used.nvidia.com/gpu", NULL),
	             0);
	fflush(stdout);
	cr_assert_stdout_eq_str("T     GPU   WHY\nb/x   -2    <none>\na/y   18    no \"room\"\n"
	                        "a/z   20    <none>\n");
}

Test(list, yaml)
{
	cr_assert_eq(print("yaml", ".n", NULL), 0);
	fflush(stdout);
	cr_assert_stdout_eq_str(
		"things:\n"
		"- thing: \"b/x\"\n  n: -1\n  age: 3\n  used:\n    \"nvidia.com/gpu\": -2\n"
		"- thing: \"a/y\"\n  n: 9\n  age: 2\n  why: \"no \\\"room\\\"\"\n  used:\n    \"nvidia.com/gpu\": 18\n"
		"- thing: \"a/z\"\n  n: 10\n  age: 1\n  used:\n    \"nvidia.com/gpu\": 20\n");
}

/* Ages change all the time. */
Test(list, watch_prints_what_changed)
{
	cJSON *before = cJSON_CreateArray();

	add(before, "a/z", 10, 100, false);
	add(before, "a/y", 8, 2, true);
	cr_assert_eq(print("name", NULL, before), 0);
	fflush(stdout);
	cr_assert_stdout_eq_str("thing/a/y\nthing/b/x\n");
	cJSON_Delete(before);
}

Test(list, what_is_refused)
{
	struct list_options o = { 0 };

	cr_redirect_stderr();
	cr_expect_not(option_list_form("test", "xml", &o));
	cr_expect_eq(print(NULL, ".no-such", NULL), 2);
	cr_expect_eq(print("custom-columns=", NULL, NULL), 2);
	cr_expect_eq(print("custom-columns=A", NULL, NULL), 2);
	cr_expect_eq(print("custom-columns=A:.n,B", NULL, NULL), 2);
}
