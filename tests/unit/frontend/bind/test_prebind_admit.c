/* SPDX-License-Identifier: Apache-2.0 */
/* What a Binding needs is looked at before each POST, and taken back only from pods that don't run.
 */
#include "tests/unit/support_prebind.h"

TestSuite(prebind_admit, .init = begin, .fini = end);

/* All their works are done, and the one connection is taken by pod l. */
static void gang_waits_for_a_connection(void)
{
	begin_of(false, 1);
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("ab");
	command(CMD_BIND, "l");
	turns();
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	soon("start:A0 start:A1 ");
	cr_assert_eq(binder_held(b.binder), 0);
	cr_assert_eq(world_open(&b.w), 1);
}

Test(prebind_wait, a_member_that_is_lost_before_the_first_binding_takes_the_gang_back, .fini = end)
{
	gang_waits_for_a_connection();
	b.kinds[0].state[1] = PREBIND_FAILED;
	binding_sent("l");
	soon("bound:3 undo:A1 undo:A0 refused:1 refused:0 ");
	cr_assert_str_eq(b.noticed, "b: it failed; ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind_wait, what_is_lost_before_the_first_binding_is_waited_for_by_all, .fini = end)
{
	gang_waits_for_a_connection();
	b.kinds[0].state[1] = PREBIND_BUSY;
	binding_sent("l");
	turns();
	cr_assert_eq(world_open(&b.w), 0, "bound without what it lost");
	cr_assert_eq(binder_held(b.binder), 2);
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	binding_sent("b");
	turns();
	binding_sent("a");
	expect("bound:3 bound:1 bound:0 ");
}

Test(prebind_wait, a_member_that_is_lost_after_the_first_binding_is_taken_back_alone, .fini = end)
{
	gang_waits_for_a_connection();
	binding_sent("l");
	turns();
	b.kinds[0].state[1] = PREBIND_FAILED;
	binding_sent("a");
	soon("bound:3 bound:0 undo:A1 refused:1 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* The first Binding of the gang ends with that status, 0: it is not sent; b loses its device. */
static void first_has_no_effect(int status)
{
	struct http_call *post;

	gang_waits_for_a_connection();
	binding_sent("l");
	turns();
	b.kinds[0].state[1] = PREBIND_FAILED;
	post = world_take(&b.w, "POST", POD "a/binding");
	if (status == 0)
		world_fail(post, HTTP_NOT_SENT);
	else
		world_answer(post, status, "{}");
	b.w.now_ns += 10 * NS_PER_S;
	soon("bound:3 undo:A1 undo:A0 refused:1 refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
	end();
}

Test(prebind_wait, a_first_binding_without_effect_does_not_part_the_gang)
{
	first_has_no_effect(0);
	first_has_no_effect(429);
	first_has_no_effect(401);
}

/* Both are on their way at once, so that the answer of one comes while the other may land. */
Test(prebind_admit, first_bindings_that_all_have_no_effect_do_not_part_the_gang)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	bind_members("ab");
	cr_assert_eq(world_open(&b.w), 2);
	b.kinds[0].state[1] = PREBIND_FAILED;
	world_answer(world_take(&b.w, "POST", POD "a/binding"), 429, "{}");
	world_answer(world_take(&b.w, "POST", POD "b/binding"), 429, "{}");
	b.w.now_ns += 10 * NS_PER_S;
	soon("start:A0 start:A1 undo:A1 undo:A0 refused:1 refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* A Binding of a has landed and is not seen yet, and b, whose version had changed, is to be sent
 * again: then c and d, which came later, have lost their devices. */
Test(prebind_wait, those_released_after_the_first_binding_are_taken_back_alone, .fini = end)
{
	static const char conflict[] =
		"{\"kind\":\"Status\",\"code\":409,\"reason\":\"Conflict\",\"message\":"
		"\"Precondition failed: ResourceVersion in precondition: 6\"}";

	gang_waits_for_a_connection();
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("d", "9", "g", ""));
	world_flush(b.m);
	b.kinds[0].wants[2] = b.kinds[0].wants[4] = true;
	b.kinds[0].state[2] = b.kinds[0].state[4] = PREBIND_DONE;
	binding_sent("l");
	turns();
	command(CMD_BIND, "c");
	command(CMD_BIND, "d");
	turns();
	binding_sent("a");
	soon("bound:3 start:A2 start:A4 bound:0 ");
	world_answer(world_take(&b.w, "POST", POD "b/binding"), 409, conflict);
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "GET", POD "b"), 200, world_pod("b", "60", "", ""));
	b.kinds[0].state[2] = b.kinds[0].state[4] = PREBIND_FAILED;
	binder_poll(b.binder); /* b is not due yet */
	soon("undo:A2 undo:A4 refused:2 refused:4 ");
	binding_sent("b");
	expect("bound:1 ");
}

Test(prebind_wait, a_core_that_dies_drops_what_waits_for_a_connection, .fini = end)
{
	gang_waits_for_a_connection();
	binder_core_down(b.binder);
	binding_sent("l");
	soon("bound:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* The answer says nothing, the pod has no node yet, and then the device is lost. */
static void binding_may_land_and_loses(void)
{
	b.kinds[0].wants[id("l")] = true;
	b.kinds[0].state[3] = PREBIND_DONE;
	command(CMD_BIND, "l");
	turns();
	world_fail(world_take(&b.w, "POST", POD "l/binding"), HTTP_BROKEN);
	turns();
	b.kinds[0].state[3] = PREBIND_FAILED;
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "8", "", ""));
	soon("start:A3 bound:3 "); /* RESULT_UNKNOWN */
	world_answer(world_take(&b.w, "PATCH", POD "l/status"), 200, world_pod("l", "9", "", ""));
	soon("");
}

Test(prebind_admit, nothing_is_taken_back_while_a_binding_may_land)
{
	binding_may_land_and_loses();
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "9", "", ""));
	soon("undo:A3 refused:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind_admit, nothing_is_taken_back_of_a_binding_that_landed_before_the_fence)
{
	binding_may_land_and_loses();
	world_answer(world_take(&b.w, "GET", POD "l"), 200,
	             world_pod("l", "9", "\"nodeName\":\"n1\"", ""));
	soon("bound:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}
