/* SPDX-License-Identifier: Apache-2.0 */
/* The stage before Bindings, with two kinds of work that the tests let succeed or fail. */
#include "tests/unit/support_prebind.h"

TestSuite(prebind, .init = begin, .fini = end);

Test(prebind, without_work_nothing_is_held)
{
	command(CMD_BIND, "l");
	binder_poll(b.binder);
	binding_sent("l");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, a_pod_is_bound_after_both_kinds_one_after_the_other)
{
	b.kinds[0].wants[id("l")] = b.kinds[1].wants[id("l")] = true;
	command(CMD_BIND, "l");
	soon("start:A3 ");
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(binder_held(b.binder), 1);
	b.kinds[0].state[3] = PREBIND_DONE;
	soon("start:B3 ");
	cr_assert_eq(world_open(&b.w), 0);
	b.kinds[1].state[3] = PREBIND_DONE;
	turns();
	binding_sent("l");
	expect("bound:3 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

/* Its device may break while those of others become ready, which takes minutes. */
Test(prebind, a_member_that_was_done_and_fails_while_it_waits_takes_the_gang_back)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("ab");
	expect("start:A0 start:A1 ");
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	b.kinds[0].state[0] = PREBIND_FAILED;
	soon("undo:A0 undo:A1 refused:0 refused:1 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, a_member_that_was_done_and_writes_once_more_is_waited_for)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("ab");
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	b.kinds[0].state[0] = PREBIND_BUSY;
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	cr_assert_eq(world_open(&b.w), 0, "bound without what it lost");
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	bindings_sent("ab");
}

Test(prebind, members_without_work_wait_for_those_with_it)
{
	b.kinds[1].wants[id("b")] = true;
	bind_members("ab");
	expect("start:B1 ");
	cr_assert_eq(world_open(&b.w), 0);
	b.kinds[1].state[1] = PREBIND_DONE;
	turns();
	bindings_sent("ab");
	expect("bound:0 bound:1 ");
}

Test(prebind, a_phase_starts_when_all_are_through_the_one_before)
{
	b.kinds[0].wants[id("a")] = b.kinds[1].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("ab");
	b.kinds[0].state[0] = PREBIND_DONE;
	soon("start:A0 start:A1 ");
	b.kinds[0].state[1] = PREBIND_DONE;
	soon("start:B0 ");
}

Test(prebind, nothing_starts_before_the_quorum_is_there)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("a");
	expect("");
	command(CMD_BIND, "b");
	soon("start:A0 start:A1 ");
}

Test(prebind, a_quorum_that_does_not_come_gives_back_what_is_there)
{
	b.kinds[0].wants[id("a")] = true;
	bind_members("a");
	b.w.now_ns += 6 * NS_PER_S;
	soon("refused:0 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, a_quorum_that_is_raised_while_they_are_held_gives_all_back)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("ab");
	expect("start:A0 start:A1 ");
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "4", 3));
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	soon("undo:A0 undo:A1 refused:0 refused:1 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind_journal, without_a_quorum_no_lines_are_taken, .fini = end)
{
	begin_of(true, 8);
	b.kinds[0].wants[id("a")] = true;
	bind_members("a");
	cr_assert_eq(journal_size(b.journal), 0);
	expect("");
	b.w.now_ns += 6 * NS_PER_S;
	soon("refused:0 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, that_a_gang_has_no_work_is_asked_once_in_a_turn)
{
	b.kinds[0].wants[id("l")] = true;
	bind_members("abc");
	/* For all three members, and each for itself: before the group is read, and after. */
	cr_assert_eq(b.kinds[0].asked, 2 * (3 + 3), "%u times", b.kinds[0].asked);
	bindings_sent("abc");
}

Test(prebind, no_choice_for_one_starts_nothing_for_any)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	b.kinds[0].no_choice[id("b")] = true;
	bind_members("ab");
	expect("refused:0 refused:1 ");
	cr_assert_str_eq(b.noticed, "b: no choice; ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, one_that_fails_takes_the_gang_back_after_the_undo)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	b.kinds[0].undo_lasts = true;
	bind_members("ab");
	b.kinds[0].state[0] = PREBIND_DONE;
	b.kinds[0].state[1] = PREBIND_FAILED;
	soon("start:A0 start:A1 undo:A1 undo:A0 ");
	b.kinds[0].undo_lasts = false;
	soon("refused:0 refused:1 ");
	cr_assert_str_eq(b.noticed, "b: it failed; ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, an_undo_that_never_ends_is_given_up)
{
	b.kinds[0].wants[id("l")] = b.kinds[0].undo_lasts = true;
	command(CMD_BIND, "l");
	turns();
	b.kinds[0].state[3] = PREBIND_FAILED;
	soon("start:A3 undo:A3 ");
	b.w.now_ns += 31 * NS_PER_S;
	soon("refused:3 ");
	cr_assert(world_said(&b.w, "could not be taken back"));
}

Test(prebind, the_others_go_on_while_they_are_a_quorum)
{
	b.kinds[0].wants[id("c")] = b.kinds[0].wants[id("b")] = true;
	bind_members("abc");
	b.kinds[0].state[2] = PREBIND_FAILED;
	soon("start:A1 start:A2 undo:A2 refused:2 ");
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	bindings_sent("ab");
	expect("bound:0 bound:1 ");
}

Test(prebind, a_deleted_pod_is_undone_and_below_the_quorum_so_are_all)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	bind_members("ab");
	b.said[0] = '\0';
	drop("b");
	soon("undo:A1 undo:A0 refused:0 refused:1 ");
}

Test(prebind, a_phase_that_is_late_fails)
{
	b.kinds[1].wants[id("l")] = true;
	command(CMD_BIND, "l");
	turns();
	b.w.now_ns += 600 * NS_PER_S;
	soon("start:B3 undo:B3 refused:3 ");
	cr_assert_str_eq(b.noticed, "l: too late; ");
}

Test(prebind, what_was_started_outlives_the_core)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = b.kinds[0].wants[id("l")] = true;
	bind_members("ab");
	command(CMD_BIND, "l");
	binder_core_down(b.binder);
	cr_assert_eq(binder_held(b.binder), 2, "the lone pod was not started");
	binder_core_up(b.binder);
	binder_core_read_all(b.binder);
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	bindings_sent("ab");
	expect("start:A0 start:A1 bound:0 bound:1 ");
	cr_assert_eq(b.attempt, ATTEMPT_OTHER);
}

/* Its node is gone, so the next core can't be told where it is, and places the pod again. */
Test(prebind, a_pod_whose_held_binding_outlives_the_core_is_refused_meanwhile)
{
	b.kinds[0].wants[id("l")] = b.kinds[0].undo_lasts = true;
	command(CMD_BIND, "l");
	soon("start:A3 ");
	b.kinds[0].state[3] = PREBIND_FAILED;
	soon("undo:A3 ");
	binder_core_down(b.binder);
	binder_core_up(b.binder);
	command(CMD_BIND, "l");
	expect("refused:3 ");
	cr_assert_eq(binder_held(b.binder), 1, "it is still taken back");
	b.kinds[0].undo_lasts = false;
	turns();
	cr_assert_eq(binder_held(b.binder), 0);
}

/* A Binding of the earlier instance may be in flight: what it needs stays until it is dead. */
Test(prebind, what_a_late_binding_needs_is_not_taken_back_before_it_is_dead)
{
	b.kinds[0].left[id("l")] = b.kinds[0].undo_lasts = true;
	command(CMD_CANCEL_BIND, "l");
	soon("");
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "8", "", ""));
	turns();
	world_answer(world_take(&b.w, "PATCH", POD "l/status"), 200, world_pod("l", "9", "", ""));
	soon("");
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "9", "", ""));
	soon("undo:A3 ");
	cr_assert_eq(world_open(&b.w), 0);
	b.kinds[0].undo_lasts = false;
	soon("refused:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, nothing_is_taken_back_of_a_cancelled_binding_that_landed)
{
	b.kinds[0].left[id("l")] = true;
	command(CMD_CANCEL_BIND, "l");
	turns();
	world_answer(world_take(&b.w, "GET", POD "l"), 200,
	             world_pod("l", "9", "\"nodeName\":\"n1\"", ""));
	soon("bound:3 ");
}

Test(prebind, a_retried_binding_without_a_quorum_takes_back_what_an_earlier_instance_wrote)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].left[id("a")] = true;
	command(CMD_RETRY_BIND, "a");
	group_is_read();
	world_binding_dies(&b.w, "a", turns);
	b.w.now_ns += 6 * NS_PER_S;
	soon("undo:A0 refused:0 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, a_retried_binding_of_a_core_that_dies_takes_back_what_is_written)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].left[id("a")] = true;
	command(CMD_RETRY_BIND, "a");
	group_is_read();
	binder_core_down(b.binder);
	turns();
	world_binding_dies(&b.w, "a", turns);
	b.w.now_ns += 6 * NS_PER_S;
	soon("undo:A0 refused:0 ");
}

Test(prebind, nothing_is_written_for_a_retried_binding_that_landed)
{
	b.kinds[0].wants[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	soon("");
	world_answer(world_take(&b.w, "GET", POD "l"), 200,
	             world_pod("l", "9", "\"nodeName\":\"n1\"", ""));
	soon("bound:3 ");
}

/* Its volumes were bound meanwhile, or another member of its gang was. */
Test(prebind, a_retried_binding_that_needs_no_work_any_more_outlives_the_core)
{
	b.kinds[0].wants[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "90", "", ""));
	turns();
	world_answer(world_take(&b.w, "PATCH", POD "l/status"), 200, world_pod("l", "91", "", ""));
	turns();
	b.kinds[0].wants[id("l")] = false;
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "91", "", ""));
	binder_core_down(b.binder);
	turns();
	binding_sent("l");
	expect("bound:3 ");
	cr_assert_eq(b.attempt, ATTEMPT_OTHER);
}

Test(prebind_journal, a_retried_binding_that_needs_no_work_any_more_has_a_line, .fini = end)
{
	begin_of(true, 8);
	b.kinds[0].wants[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	b.kinds[0].wants[id("l")] = false;
	world_binding_dies(&b.w, "l", turns);
	cr_assert_eq(journal_size(b.journal), 1);
	cr_assert_eq(world_open(&b.w), 0, "a POST before its line is durable");
}

Test(prebind, a_retried_binding_without_a_choice_takes_back_what_is_written)
{
	b.kinds[0].wants[id("l")] = b.kinds[0].left[id("l")] = true;
	b.kinds[1].wants[id("l")] = b.kinds[1].no_choice[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	world_binding_dies(&b.w, "l", turns);
	expect("undo:A3 refused:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, a_cancelled_binding_with_nothing_left_is_read_at_once)
{
	b.kinds[0].left[id("a")] = true;
	command(CMD_CANCEL_BIND, "l");
	binder_poll(b.binder);
	world_take(&b.w, "GET", POD "l");
}
