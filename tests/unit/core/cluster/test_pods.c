/* SPDX-License-Identifier: Apache-2.0 */
/* The log of the pods that were placed last. */
#include "core/cluster/pods.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <string.h>

enum { MOST = 3 * PLACED_LOG };

/* By plans of any size, beside a log of one pod at a time; a plan may be longer than the log. */
Test(pods, placed_at_once_are_logged_as_one_by_one)
{
	static const struct limits limits = LIMITS_WITH(.pods = MOST);
	static pod_id ids[MOST];
	struct random r = random_start("pods placed");
	struct pods each, all;
	uint32_t wraps = 0;

	pods_init(&each, &limits);
	pods_init(&all, &limits);
	for (pod_id id = 0; id < MOST; id++)
		ids[id] = id;
	for (int plans = 0; plans < 100; plans++) {
		const uint32_t n = random_below(&r, plans % 10 == 0 ? MOST : 1000);
		const uint32_t first = random_below(&r, MOST - n);

		for (uint32_t i = 0; i < n; i++)
			pods_note_placed(&each, ids[first + i]);
		wraps += n > PLACED_LOG;
		pods_note_all_placed(&all, &ids[first], n);
		cr_assert_eq(all.placed_n, each.placed_n);
		cr_assert(memcmp(all.placed, each.placed, PLACED_LOG * sizeof(pod_id)) == 0, "%u", n);
	}
	cr_assert_gt(wraps, 0u);
	pods_free(&each);
	pods_free(&all);
}
