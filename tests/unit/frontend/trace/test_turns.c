/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a turn of the loop: what counts as time of a part, and where a stall of one shows. */
#include "frontend/trace/turns.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)

static uint64_t above(const struct histogram *h, uint64_t ns)
{
	uint64_t n = 0;

	for (uint32_t i = buckets_index(&buckets_attempt, ns) + 1; i <= buckets_attempt.n; i++)
		n += h->counts[i];
	return n;
}

Test(turns, a_stall_shows_in_the_part_that_made_it)
{
	static struct turns t;
	uint64_t at = 5 * MS;

	for (unsigned part = 0; part < TURN_PARTS; part++)
		at = turns_add(&t, part, at, at + (part == TURN_PAGES ? 120 * MS : MS / 2), 0);
	cr_assert_eq(at, (5 + 120 + 2) * MS, "the next part begins where this one ended");
	for (unsigned part = 0; part < TURN_PARTS; part++) {
		cr_assert_eq(t.parts[part].n, 1);
		cr_assert_eq(above(&t.parts[part], 64 * MS), part == TURN_PAGES, "%s",
		             turn_part_name(part));
	}
}

Test(turns, time_asleep_is_no_stall)
{
	static struct turns t;

	turns_add(&t, TURN_RESPONSES, 0, 1002 * MS, 1000 * MS);
	cr_assert_eq(t.parts[TURN_RESPONSES].max, 2 * MS);
	/* The wait and the part are measured by two pairs of readings. */
	turns_add(&t, TURN_RESPONSES, 2000 * MS, 2001 * MS, 1 * MS + 7);
	cr_assert_eq(t.parts[TURN_RESPONSES].sum, 2 * MS);
	cr_assert_eq(turns_add(&t, TURN_RESPONSES, 9, 3, 0), 3, "a clock that went back");
}
