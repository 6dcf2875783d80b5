/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as lists of members. */
#include "ctl/objects/members.h"

#include "tests/unit/test.h"

static struct arena arena;

static void end(void)
{
	arena_free(&arena);
}

TestSuite(members, .fini = end);

static const char *printed(const char *json)
{
	const struct members m = members_of(&arena, text_of(json));
	const struct text t = members_print(&arena, &m);

	return arena_copy(&arena, t);
}

Test(members, of_a_name_that_occurs_twice_the_last_counts)
{
	cr_assert_str_eq(printed("{}"), "{}");
	cr_assert_str_eq(printed("{\"b\":1,\"a\":2}"), "{\"b\":1,\"a\":2}");
	cr_assert_str_eq(printed("{\"b\":1,\"a\":2,\"b\":\"\",\"c\":null,\"b\":[3],\"a\":4}"),
	                 "{\"b\":[3],\"a\":4,\"c\":null}");
}

Test(members, one_is_set_in_its_place)
{
	struct members m = members_of(&arena, text_of("{\"a\":1,\"b\":2}"));

	members_set_text(&arena, &m, "a", "x");
	members_set_text(&arena, &m, "c", "y");
	cr_assert(text_is(members_print(&arena, &m), "{\"a\":\"x\",\"b\":2,\"c\":\"y\"}"));
}

/* In an ask for GPUs a pod with 100,000 labels took a minute. */
Test(members, many_members_took_quadratic_time, .timeout = 60)
{
	enum { MANY = 200000 };
	struct bytes b = { 0 };
	struct members m;

	bytes_put(&b, "{");
	for (unsigned i = 0; i < MANY; i++) {
		char one[32];

		snprintf(one, sizeof(one), "%s\"n%06u\":%u", i > 0 ? "," : "", i % (MANY - 1), i);
		bytes_put(&b, one);
	}
	bytes_put(&b, "}");
	m = members_of(&arena, (struct text){ b.at, b.n });
	cr_assert_eq(m.n, MANY - 1);
	cr_assert(text_is(members_get(&m, "n000000"), "199999"));
	cr_assert(text_is(m.at[MANY - 2].name, "n199998"));
	bytes_free(&b);
}
