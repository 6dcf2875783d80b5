/* SPDX-License-Identifier: Apache-2.0 */
/* Publications: which time a record has, and what a reader that is late or early gets. */
#include "ipc/published.h"

#include "tests/unit/test.h"

Test(published, a_record_has_the_time_of_its_publication)
{
	static struct core_published p;
	struct published_reader r = { 0 };

	published_reset(&p);
	published_add(&p, 3, 100);
	published_add(&p, 5, 200);
	cr_assert_eq(published_find(&r, &p, 1), 100);
	cr_assert_eq(published_find(&r, &p, 3), 100);
	cr_assert_eq(published_find(&r, &p, 4), 200);
	cr_assert_eq(published_find(&r, &p, 6), 0, "not entered yet");
	published_add(&p, 6, 300);
	cr_assert_eq(published_find(&r, &p, 6), 300);
}

Test(published, of_what_is_no_longer_kept_the_first_time_that_is)
{
	static struct core_published p;
	struct published_reader r = { 0 };

	for (uint64_t i = 1; i <= 3 * PUBLISHED_KEPT; i++)
		published_add(&p, i, 1000 * i);
	cr_assert_eq(published_find(&r, &p, 1), 1000 * (2 * PUBLISHED_KEPT + 1));
	cr_assert_eq(published_find(&r, &p, 3 * PUBLISHED_KEPT), 3000 * PUBLISHED_KEPT);
}

Test(published, a_new_connection_finds_nothing_of_the_last_one)
{
	static struct core_published p;
	struct published_reader r = { 0 };

	published_add(&p, 900, 1);
	published_reset(&p);
	cr_assert_eq(published_find(&r, &p, 1), 0);
	published_add(&p, 2, 7);
	cr_assert_eq(published_find(&r, &p, 1), 7);
}
