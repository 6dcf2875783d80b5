/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of reservations: what core/lifecycle/reservation.h draws, and nothing else. */
#include "core/lifecycle/reservation.h"
#include "tests/unit/support_story.h"

#include <signal.h>

static struct pod *pod_first(struct story *s)
{
	return &story_core(s)->pods.slots[0];
}

/* NONE -> RESERVED -> SENT -> BOUND -> CONFIRMED -> NONE: the ring is full at first. */
Test(reservation, goes_from_a_plan_to_a_bound_pod)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	const struct pod *p = pod_first(s);
	const uint32_t *counts = story_core(s)->pods.reservations;

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_plan(s);
	story_room(s, 0);
	story_pod(s, .name = "a", .cpu = 1);
	cr_assert_eq(p->reservation, RESERVATION_NONE);
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	cr_assert_eq(p->reservation, RESERVATION_RESERVED);
	cr_assert_neq(p->node, ID_NONE);
	story_room(s, UINT32_MAX);
	story_plan(s);
	cr_assert_eq(p->reservation, RESERVATION_SENT);
	story_bound(s, "a");
	cr_assert_eq(p->reservation, RESERVATION_BOUND);
	story_pod(s, .name = "a", .node = "n1", .cpu = 1);
	cr_assert_eq(p->reservation, RESERVATION_CONFIRMED);
	cr_assert_eq(counts[RESERVATION_CONFIRMED], 1);
	story_drop_pod(s, "a");
	cr_assert_eq(counts[RESERVATION_CONFIRMED] + counts[RESERVATION_NONE], 0);
	story_free(s);
}

/* A command that was sent can not be unsent, and a binding that is being cancelled is not retried.
 */
Test(reservation, has_no_way_back)
{
	static const enum reservation never[][2] = { { RESERVATION_SENT, RESERVATION_RESERVED },
		                                         { RESERVATION_CANCEL, RESERVATION_RETRY },
		                                         { RESERVATION_BOUND, RESERVATION_RETAINED },
		                                         { RESERVATION_RETAINED, RESERVATION_SENT },
		                                         { RESERVATION_ASSUMED, RESERVATION_RESERVED },
		                                         { RESERVATION_CANCEL_SENT, RESERVATION_RETAINED },
		                                         { RESERVATION_CONFIRMED, RESERVATION_RESERVED } };

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		cr_assert_eq(reservation_transitions[never[i][0]] >> never[i][1] & 1, 0, "%zu", i);
	for (int state = 0; state < RESERVATIONS; state++) {
		cr_assert(reservation_transitions[state] & RESERVATION_BIT(NONE)); /* deleted */
		cr_assert(reservation_transitions[state] &
		          RESERVATION_BIT(CONFIRMED)); /* bound by others */
	}
}

Test(reservation, asserts_each_transition, .signal = SIGABRT)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	struct pod *p = pod_first(s);

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_pod(s, .name = "a", .cpu = 1);
	story_plan(s);
	cr_assert_eq(p->reservation, RESERVATION_SENT);
	reservation_set(story_core(s), p, RESERVATION_RESERVED, p->node);
}
