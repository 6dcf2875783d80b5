/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/sizing.h"

#include "ipc/size.h"
#include "tests/unit/test.h"

Test(sizing, defaults_without_a_bound)
{
	struct limits l = { .gangs = 1 };

	cr_assert_eq(sizing_complete(&l, 1, 0), 0);
	cr_expect(l.nodes == SIZING_NODES && l.pods == SIZING_PODS && l.gangs == 1);
	cr_assert_eq(sizing_complete(&l, 1, UINT64_C(1) << 40), 0);
	cr_expect(l.nodes == SIZING_NODES && l.pods == SIZING_PODS);
}

/* What was given stays, whatever it needs. */
Test(sizing, flags_precede)
{
	struct limits l = { .pods = 4000000 };

	cr_assert_eq(sizing_complete(&l, 1, UINT64_C(256) << 20), 0);
	cr_expect_eq(l.pods, 4000000);
	cr_expect_lt(l.nodes, SIZING_NODES);
	cr_expect_gt(sizing_bytes(&l, 1), UINT64_C(256) << 20);
	cr_assert_eq(sizing_complete(&l, 1, MAX_MEMORY_LEAST), 0, "nothing is left to choose");
}

/* The limits fit the bound, and the next larger ones would not. */
Test(sizing, is_the_most_that_fits)
{
	for (uint32_t searchers = 0; searchers < 2; searchers++) {
		for (uint64_t bytes = MAX_MEMORY_LEAST; bytes < UINT64_C(2) << 30; bytes += bytes / 7) {
			struct limits l = { 0 };

			if (sizing_complete(&l, searchers, bytes) < 0) {
				cr_expect(l.nodes == 0 && l.pods == 0);
				continue;
			}
			cr_expect(l.nodes > 0 && l.pods >= l.nodes);
			cr_expect_leq(sizing_bytes(&l, searchers), bytes);
			l.nodes++;
			l.pods += SIZING_PODS / SIZING_NODES;
			cr_expect(l.nodes > SIZING_NODES || sizing_bytes(&l, searchers) > bytes);
		}
	}
}
