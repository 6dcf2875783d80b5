/* SPDX-License-Identifier: Apache-2.0 */
/* How long a verdict on a token holds, and which are forgotten. */
#include "frontend/serve/tokens.h"
#include "tests/unit/test.h"

Test(tokens, a_verdict_ends)
{
	static struct tokens t;

	cr_assert_eq(tokens_find(&t, "a", 1), TOKEN_UNKNOWN);
	tokens_put(&t, "a", TOKEN_GOOD, 1);
	tokens_put(&t, "b", TOKEN_BAD, 1);
	tokens_put(&t, "c", TOKEN_FORBIDDEN, 1);
	cr_assert_eq(tokens_find(&t, "a", TOKEN_KEPT_NS), TOKEN_GOOD);
	cr_assert_eq(tokens_find(&t, "b", TOKEN_KEPT_NS), TOKEN_BAD);
	cr_assert_eq(tokens_find(&t, "c", TOKEN_KEPT_NS), TOKEN_FORBIDDEN);
	cr_assert_eq(tokens_find(&t, "aa", 2), TOKEN_UNKNOWN);
	/* One that was good is reviewed again ahead of unknown ones; it is not good meanwhile. */
	cr_assert_eq(tokens_find(&t, "a", TOKEN_KEPT_NS + 1), TOKEN_STALE);
	cr_assert_eq(tokens_find(&t, "b", TOKEN_KEPT_NS + 1), TOKEN_UNKNOWN);
	tokens_put(&t, "a", TOKEN_BAD, TOKEN_KEPT_NS + 2);
	cr_assert_eq(tokens_find(&t, "a", TOKEN_KEPT_NS + 3), TOKEN_BAD, "revoked");
}

Test(tokens, random_ones_do_not_push_out_good_ones)
{
	static struct tokens t;
	char text[32];

	tokens_put(&t, "good", TOKEN_GOOD, 1);
	for (unsigned i = 0; i < 10 * TOKENS_MAX; i++) {
		snprintf(text, sizeof(text), "%u", i);
		tokens_put(&t, text, TOKEN_BAD, i + 2);
	}
	cr_assert_eq(tokens_find(&t, "good", 1000), TOKEN_GOOD);
	cr_assert_eq(tokens_find(&t, "0", 1000), TOKEN_UNKNOWN, "the oldest is forgotten");
	cr_assert_eq(tokens_find(&t, text, 1000), TOKEN_BAD);
	for (unsigned i = 0; i < TOKENS_MAX; i++) {
		snprintf(text, sizeof(text), "good %u", i);
		tokens_put(&t, text, TOKEN_GOOD, 2000 + i);
	}
	cr_assert_eq(tokens_find(&t, "good", 3000), TOKEN_UNKNOWN, "the least recently used");
}
