/* SPDX-License-Identifier: Apache-2.0 */
/* What was meant by a word with a typing error. */
#include "ctl/term/near.h"

#include "tests/unit/test.h"

static const char *meant(const char *text)
{
	static const char *const words[] = { "gangs", "nodes", "explain", "top", "status", "up" };
	const char *near = near_word(text, words, sizeof(words) / sizeof(words[0]));

	return near != NULL ? near : "";
}

Test(near, distance)
{
	cr_expect_eq(near_distance("", ""), 0);
	cr_expect_eq(near_distance("", "abc"), 3);
	cr_expect_eq(near_distance("explan", "explain"), 1);
	cr_expect_eq(near_distance("sokcet", "socket"), 1, "two letters that are swapped");
	cr_expect_eq(near_distance("kitten", "sitting"), 3);
	cr_expect_eq(near_distance("a-word-of-more-than-thirty-two-letters", "up"), 99);
}

Test(near, words)
{
	cr_expect_str_eq(meant("explan"), "explain");
	cr_expect_str_eq(meant("gnags"), "gangs");
	cr_expect_str_eq(meant("stauts"), "status");
	cr_expect_str_eq(meant("bottom"), "");
	cr_expect_str_eq(meant("down"), "");
	cr_expect_str_eq(meant("tops"), "top");
	cr_expect_str_eq(meant("u"), "", "half of its letters are missing");
}
