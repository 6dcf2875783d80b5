/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/facts.h"
#include "tests/unit/test.h"

#define S UINT64_C(1000000000)
#define PATIENCE 10u

static struct event_pod_facts sent(uint32_t generation, uint32_t ends_s, uint32_t grace_s)
{
	return (
		struct event_pod_facts){ .generation = generation, .ends_s = ends_s, .grace_s = grace_s };
}

Test(facts, first_record_that_says_so_begins_the_grace)
{
	struct kept_facts f = { .deleting_ns = 0 };
	struct event_pod_facts e = sent(1, 0, 0);

	facts_keep(&f, &e, 100 * S);
	cr_assert_eq(facts_gone_ns(&f, 1), 0);
	e = sent(1, 7, 30);
	facts_keep(&f, &e, 200 * S);
	cr_assert_eq(facts_gone_ns(&f, 1), 230 * S);
	cr_assert_eq(facts_gone_ns(&f, 2), 0, "another pod has the slot");
	facts_keep(&f, &e, 220 * S);
	cr_assert_eq(facts_gone_ns(&f, 1), 230 * S, "another record of it does not put it off");
	cr_assert(!facts_overdue(&f, 1, PATIENCE, 240 * S));
	cr_assert(facts_overdue(&f, 1, PATIENCE, 240 * S + 1));
}

Test(facts, a_shorter_grace_is_that_of_the_same_time)
{
	struct kept_facts f = { .deleting_ns = 0 };
	struct event_pod_facts e = sent(1, 7, 30);

	facts_keep(&f, &e, 200 * S);
	e = sent(1, 3, 5);
	facts_keep(&f, &e, 220 * S);
	cr_assert_eq(facts_gone_ns(&f, 1), 205 * S);
}

Test(facts, a_new_pod_of_the_slot_begins_anew)
{
	struct kept_facts f = { .deleting_ns = 0 };
	struct event_pod_facts e = sent(1, 7, 30);

	facts_keep(&f, &e, 200 * S);
	e = sent(2, 7, 30);
	facts_keep(&f, &e, 300 * S);
	cr_assert_eq(facts_gone_ns(&f, 2), 330 * S);
}

Test(facts, the_longest_grace_does_not_wrap_around)
{
	struct kept_facts f = { .deleting_ns = 0 };
	struct event_pod_facts e = sent(1, 7, UINT32_MAX);

	facts_keep(&f, &e, UINT64_C(4000000000) * S);
	cr_assert(facts_gone_ns(&f, 1) > UINT64_C(8000000000) * S);
	cr_assert(!facts_overdue(&f, 1, UINT32_MAX, UINT64_C(5000000000) * S));
}

/* Of a tenant that kept room and slots of nominations by a grace of years. */
Test(facts, a_grace_of_years_is_overdue_after_an_hour)
{
	struct kept_facts f = { .deleting_ns = 0 };
	struct event_pod_facts e = sent(1, 7, UINT32_MAX);

	facts_keep(&f, &e, 200 * S);
	cr_assert(!facts_overdue(&f, 1, 30, (200 + 3600 + 30) * S));
	cr_assert(facts_overdue(&f, 1, 30, (200 + 3600 + 31) * S));
}
