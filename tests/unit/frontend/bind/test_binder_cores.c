/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings that are under way while one core ends and the next one starts. */
#include "tests/unit/support_binder.h"

TestSuite(binder, .fini = end);

Test(binder, what_was_never_sent_is_forgotten_with_the_core)
{
	begin();
	bind_pod("a");
	binder_core_down(b.binder);
	binder_poll(b.binder);
	expect_rest();
	expect("");
	cr_assert_eq(replayed_binding(), 0);
	cr_assert_eq(bind_pod("a"), 0, "the next core may bind it");
}

Test(binder, what_was_sent_goes_on_and_the_next_core_hears_of_it)
{
	struct http_call *c = posted();

	binder_core_down(b.binder);
	b.other_core = true;
	cr_assert_eq(replayed_binding(), 1);
	binder_core_up(b.binder);
	expect("");
	world_answer(c, 201, "");
	expect("bound ");
}

#define POST_M "/api/v1/namespaces/ns/pods/m/binding"

/* A member of a gang, its Binding refused. */
static void member_refused(void)
{
	begin();
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 2));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("m", "6", "g", ""));
	cr_assert_eq(bind_pod("m"), 0);
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "POST", POST_M), 403, world_status(403, "Forbidden", "no"));
	expect("refused:0 ");
	cr_assert_eq(replayed_binding(), 0);
}

/* How many a new core is told of as under way, and whether it hears at the end that one is refused.
 */
static void expect_next_core(unsigned binding, const char *said)
{
	binder_core_down(b.binder);
	b.other_core = true;
	binder_core_up(b.binder);
	cr_assert_eq(replayed_binding(), binding);
	expect("");
	binder_core_read_all(b.binder);
	expect(said);
	cr_assert_eq(replayed_binding(), 0);
}

/* The core keeps room for it while its gang is half bound; the next one knew nothing of it, and
 * another gang that had begun took it. */
Test(binder, a_refused_member_is_refused_to_the_next_core_as_well)
{
	member_refused();
	expect_next_core(1, "refused:0 ");
	binder_core_read_all(b.binder);
	expect("");
	/* A core that dies while it reads. */
	binder_core_down(b.binder);
	binder_core_up(b.binder);
	expect_next_core(1, "refused:0 ");
	/* It is asked for again, which that core does not live to see sent; and once more. */
	cr_assert_eq(bind_pod("m"), 0);
	expect_next_core(1, "refused:0 ");
	cr_assert_eq(bind_pod("m"), 0);
	binder_poll(b.binder);
	b.other_core = false;
	world_answer(world_take(&b.w, "POST", POST_M), 201, "");
	expect("bound ");
	binder_core_read_all(b.binder);
	expect("");
}

Test(binder, what_is_not_as_it_was_refused_is_not_told_to_the_next_core)
{
	static const char *const now[] = { "\"schedulingGates\":[{\"name\":\"x\"}]", ON("n2") };

	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
		member_refused();
		world_put(b.m, RESOURCE_INDEX_PODS, world_member("m", "7", "g", now[i]));
		expect_next_core(0, "");
	}
	/* A pod by itself keeps no room. */
	world_answer(posted(), 403, world_status(403, "Forbidden", "no"));
	expect("refused:0 ");
	expect_next_core(0, "");
}

Test(binder, what_an_earlier_frontend_sent_is_not_forgotten_with_the_core)
{
	static const enum record_kind kinds[] = { CMD_RETRY_BIND, CMD_CANCEL_BIND };

	for (size_t i = 0; i < 2; i++) {
		begin();
		cr_assert_eq(command(kinds[i], "a"), 0);
		cr_assert_eq(replayed_binding(), 1);
		binder_core_down(b.binder);
		b.other_core = true;
		cr_assert_eq(replayed_binding(), 1, "the next core keeps its room");
		binder_core_up(b.binder);
		expect_taken_back(next("GET", POD), "5", "9");
	}
}

/* Between the answer and the event on the watch the model does not show a node: a
 * core that starts just then must not think that the pod is free. */
Test(binder, what_landed_is_told_again_until_the_watch_shows_it)
{
	struct http_call *c = posted();

	world_answer(c, 201, "");
	expect("bound ");
	binder_core_down(b.binder);
	b.other_core = true;
	cr_assert_eq(replayed_binding(), 1);
	binder_core_up(b.binder);
	expect("bound ");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", ON("n1"), ""));
	b.w.now_ns += SECOND;
	binder_poll(b.binder);
	binder_core_down(b.binder);
	cr_assert_eq(replayed_binding(), 0);
	binder_core_up(b.binder);
	expect("");
}
