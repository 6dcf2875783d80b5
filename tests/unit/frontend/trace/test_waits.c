/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting times of gangs: when a wait begins and ends, and how many namespaces have their own. */
#include "frontend/trace/waits.h"
#include "tests/unit/test.h"

#define NOT_OVER UINT64_MAX

/* The wait that this state ends. */
static uint64_t told(struct waits *w, gang_id id, uint32_t generation, enum gang_state state,
                     uint64_t now_ns)
{
	const struct cmd_gang cmd = { .gang = id, .generation = generation, .state = state };
	uint64_t waited_ns = 7;

	return waits_gang(w, &cmd, now_ns, &waited_ns) ? waited_ns : NOT_OVER;
}

Test(waits, from_its_first_plan_to_its_quorum)
{
	struct waits *w = waits_new();

	cr_assert_eq(told(w, 3, 1, GANG_INCOMPLETE, 100), NOT_OVER);
	cr_assert_eq(told(w, 3, 1, GANG_WAITING, 200), NOT_OVER);
	cr_assert_eq(told(w, 3, 1, GANG_BINDING, 300), NOT_OVER);
	cr_assert_eq(told(w, 3, 1, GANG_WAITING, 400), NOT_OVER, "a binding was refused");
	cr_assert_eq(told(w, 3, 1, GANG_BINDING, 500), NOT_OVER);
	cr_assert_eq(told(w, 3, 1, GANG_PLACED, 650), 450);
	cr_assert_eq(told(w, 3, 1, GANG_PLACED, 700), NOT_OVER, "counted once");
	/* Placed at once, and again after a member was replaced. */
	cr_assert_eq(told(w, 3, 1, GANG_BINDING, 800), NOT_OVER);
	cr_assert_eq(told(w, 3, 1, GANG_PLACED, 810), 10);
	waits_free(w);
}

Test(waits, of_another_gang_or_without_all_members_is_no_wait)
{
	struct waits *w = waits_new();

	cr_assert_eq(told(w, 0, 1, GANG_WAITING, 100), NOT_OVER);
	cr_assert_eq(told(w, 0, 1, GANG_INCOMPLETE, 200), NOT_OVER);
	cr_assert_eq(told(w, 0, 1, GANG_PLACED, 300), NOT_OVER);
	/* The id of a gang that is gone. */
	cr_assert_eq(told(w, 0, 1, GANG_WAITING, 400), NOT_OVER);
	cr_assert_eq(told(w, 0, 2, GANG_PLACED, 500), NOT_OVER);
	cr_assert_eq(told(w, 0, 3, GANG_BINDING, 600), NOT_OVER);
	cr_assert_eq(told(w, 0, 3, GANG_PLACED, 640), 40);
	/* What a new core finds placed; ids far apart. */
	cr_assert_eq(told(w, 100000, 1, GANG_PLACED, 700), NOT_OVER);
	cr_assert_eq(told(w, 100000, 0, GANG_PLACED, 700), NOT_OVER);
	waits_free(w);
}

Test(waits, namespaces_beyond_the_bound_share_one)
{
	struct waits *w = waits_new();
	const struct waits_table *f = &waits_figures(w)->namespaces;
	const struct waits_table *q = &waits_figures(w)->queues;
	char name[80];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < WAITS_NAMED + 10; i++) {
			snprintf(name, sizeof(name), "team-%d", i);
			waits_add(w, name, i % 2 ? "root/a" : NULL, UINT64_C(1000000000));
		}
	cr_assert_eq(f->n, WAITS_NAMED + 1);
	cr_assert_str_eq(f->named[0].name, "team-0");
	cr_assert_eq(f->named[0].waited.n, 2);
	cr_assert_eq(f->named[WAITS_NAMED - 1].waited.n, 2);
	cr_assert_str_eq(f->named[WAITS_NAMED].name, WAITS_OTHERS);
	cr_assert_eq(f->named[WAITS_NAMED].waited.n, 20);
	cr_assert(q->n == 1 && q->named[0].waited.n == WAITS_NAMED + 10);
	cr_assert_str_eq(q->named[0].name, "root/a");
	memset(name, 'x', 63);
	name[63] = '\0';
	waits_free(w);
	w = waits_new();
	waits_add(w, name, "", 1);
	waits_add(w, name, "", 1);
	cr_assert_eq(waits_figures(w)->namespaces.n, 1, "the longest name that there is");
	cr_assert_eq(waits_figures(w)->namespaces.named[0].waited.sum, 2);
	cr_assert_eq(waits_figures(w)->queues.n, 0, "without queues");
	waits_free(w);
}
