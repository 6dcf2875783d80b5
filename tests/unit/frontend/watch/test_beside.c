/* SPDX-License-Identifier: Apache-2.0 */
/* Lists beside the watch, for objects that were left out. */
#include "tests/unit/support_replay.h"
#include "tests/unit/support_watch.h"

TestSuite(watch_beside, .fini = end);

#define PAGE "/api/v1/pods?limit=500"

static struct {
	struct http_call *watch, *list;
} calls;

/* The watch runs with pod "a", and the first page of a list beside it is asked for. */
static void listing(void)
{
	calls.watch = watching();
	watch_relist(b.watch, RELIST_ROOM);
	calls.list = next(PAGE);
	cr_assert_str_eq(calls.list->path, PAGE);
}

/* Of the last put of that pod. */
static const char *node_of(const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", name, &v), "no pod %s", name);
	return v.node ? v.node : "";
}

Test(watch_beside, events_go_on_while_it_lists)
{
	listing();
	world_text(calls.watch, event_of("ADDED", world_pod("b", "11", "", "")));
	cr_assert(has_pod("b"));
	world_answer(calls.list, 200, list_of("10", "t", world_pod("c", "9", "", "")));
	cr_assert(has_pod("a") && has_pod("c"), "it replaces nothing");
	calls.list = next(PAGE "&continue=t");
	world_text(calls.watch, event_of("ADDED", world_pod("d", "12", "", "")));
	cr_assert(has_pod("d"));
	world_answer(calls.list, 200, list_of("10", "", world_pod("e", "8", "", "")));
	cr_assert(has_pod("a") && has_pod("b") && has_pod("d") && has_pod("e"));
	cr_assert_eq(watch_counts(b.watch)->lists, 2);
	cr_assert_eq(watch_counts(b.watch)->relists_for[RELIST_ROOM], 1);
	cr_assert_eq(watch_counts(b.watch)->watches, 1);
	world_end(calls.watch);
	next("/api/v1/pods?watch=1&resourceVersion=12&");
}

/* The list has the state of its first page; what the watch heard meanwhile is newer. */
Test(watch_beside, what_the_watch_changes_is_newer)
{
	listing();
	world_text(calls.watch, event_of("DELETED", world_pod("a", "11", "", "")));
	world_text(calls.watch, event_of("MODIFIED", world_pod("b", "12", "\"nodeName\":\"n2\"", "")));
	world_answer(calls.list, 200, list_of("10", "t", world_pod("a", "9", "", "")));
	cr_assert(!has_pod("a"));
	calls.list = next(PAGE "&continue=t");
	world_answer(calls.list, 200,
	             list_of("10", "u", world_pod("b", "8", "\"nodeName\":\"n1\"", "")));
	cr_assert_str_eq(node_of("b"), "n2");
	calls.list = next(PAGE "&continue=u");
	world_text(calls.watch, event_of("DELETED", world_pod("c", "13", "", "")));
	world_answer(calls.list, 200, list_of("10", "", world_pod("c", "7", "", "")));
	cr_assert(!has_pod("c"));
	cr_assert_eq(watch_counts(b.watch)->lists, 2);
}

Test(watch_beside, a_page_is_asked_for_again)
{
	listing();
	world_answer_after(calls.list, 429, "slower", 3000);
	pass(2999 * MS);
	cr_assert_eq(world_open(&b.w), 1);
	pass(MS);
	world_too_long(world_take(&b.w, "GET", PAGE));
	world_answer(next("/api/v1/pods?limit=250"), 200,
	             list_of("10", "", world_pod("c", "9", "", "")));
	cr_assert(has_pod("c"));
	cr_assert_eq(watch_counts(b.watch)->lists, 2);
	cr_assert(calls.watch->open);
}

/* The remaining pages expired, the server was restored, it is no list, or it fails again and again:
 * a list in place of the watch decides. */
Test(watch_beside, a_list_in_place_of_the_watch_copes_with_failures)
{
	for (int how = 0; how < 4; how++) {
		listing();
		if (how == 0)
			world_answer(calls.list, 410, world_status(410, "Expired", "too old"));
		else if (how == 1)
			world_answer(calls.list, 200, list_of("9", "", ""));
		else if (how == 2)
			world_answer(calls.list, 200, "[]");
		for (int i = 0; how == 3 && i < 10; i++) {
			world_answer(calls.list, 503, "busy");
			if (i < 9) {
				pass(60 * SECOND);
				calls.list = world_take(&b.w, "GET", PAGE);
			}
		}
		cr_assert(calls.watch->open);
		calls.list = next(PAGE);
		cr_assert(!calls.watch->open);
		world_answer(calls.list, 200, list_of("14", "", world_pod("b", "12", "", "")));
		cr_assert(has_pod("b") && !has_pod("a"), "%d", how);
		next("/api/v1/pods?watch=1&resourceVersion=14&");
	}
}

Test(watch_beside, another_reason_lists_in_place_of_the_watch)
{
	listing();
	watch_relist(b.watch, RELIST_LEADING);
	watch_relist(b.watch, RELIST_ROOM);
	next(PAGE);
	cr_assert(!calls.watch->open && !calls.list->open);
	cr_assert_eq(world_open(&b.w), 1);
}

/* The watch ends and goes on, or has to list: then the list beside it is needless. */
Test(watch_beside, it_outlives_the_connection_of_the_watch)
{
	listing();
	pass(2 * SECOND);
	world_text(calls.watch, event_of("ADDED", world_pod("b", "11", "", "")));
	world_end(calls.watch);
	calls.watch = next("/api/v1/pods?watch=1&resourceVersion=11&");
	cr_assert(calls.list->open);
	world_answer(calls.watch, 410, world_status(410, "Expired", "too old"));
	next(PAGE);
	cr_assert(!calls.list->open);
	cr_assert_eq(world_open(&b.w), 1);
}

/* One that was asked for meanwhile comes after it. */
Test(watch_beside, one_at_a_time)
{
	listing();
	watch_relist(b.watch, RELIST_ROOM);
	watch_poll(b.watch);
	cr_assert_eq(world_open(&b.w), 2);
	world_answer(calls.list, 200, list_of("10", "", ""));
	next(PAGE);
	cr_assert(calls.watch->open);
}

/* The core gets amounts of the node, so that pods can be placed there. */
static bool has_amounts(struct replay *r, const char *node)
{
	while (!replay_flush(r, b.m, 10000))
		continue;
	cr_assert(replay_node(r, node), "no node %s", node);
	return replay_node(r, node)->amounts_n > 0;
}

/* The node of a bound pod that was left out gets no pods until that is counted: it got none until
 * the watch expired. */
Test(watch_beside, a_node_gets_pods_again_once_its_own_are_listed)
{
	const char *bound = "\"nodeName\":\"n2\"";
	struct limits limits = world_limits;
	struct replay r;

	limits.pods = 1;
	calls.watch = watching();
	cr_assert_eq(model_set_limits(b.m, &limits), 0);
	replay_start(&r, &limits);
	world_put(b.m, RESOURCE_INDEX_NODES,
	          "{\"metadata\":{\"name\":\"n2\",\"uid\":\"u-n2\",\"resourceVersion\":\"1\"},"
	          "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"pods\":\"110\"}}}");
	cr_assert(has_amounts(&r, "n2"));
	world_text(calls.watch, event_of("ADDED", world_pod("b", "11", bound, "")));
	cr_assert_not(has_amounts(&r, "n2"));
	watch_relist(b.watch, RELIST_ROOM);
	calls.list = next(PAGE);
	world_text(calls.watch, event_of("ADDED", world_pod("c", "12", bound, "")));
	world_answer(calls.list, 200, list_of("12", "", world_pod("b", "11", bound, "")));
	cr_assert_not(has_amounts(&r, "n2"), "b and c are still left out");
	world_text(calls.watch, event_of("DELETED", world_pod("c", "13", bound, "")));
	world_text(calls.watch, event_of("DELETED", world_pod("a", "14", "", "")));
	cr_assert_not(has_amounts(&r, "n2"));
	watch_relist(b.watch, RELIST_ROOM);
	calls.list = next(PAGE);
	cr_assert_not(has_amounts(&r, "n2"), "the list is not over");
	world_answer(calls.list, 200, list_of("14", "", world_pod("b", "11", bound, "")));
	cr_assert_str_eq(node_of("b"), "n2");
	cr_assert(has_amounts(&r, "n2"));
	replay_free(&r);
}

/* An event shows that the server was restored, and libcurl takes no cancellation while it has data:
 * the list ends by itself, unread. */
Test(watch_beside, no_request_is_cancelled_while_data_comes)
{
	listing();
	world_text(calls.watch, event_of("MODIFIED", world_pod("a", "8", "", "")));
	cr_assert(watch_went_back(b.watch));
	cr_assert(calls.list->open);
	world_answer(calls.list, 200, list_of("10", "t", world_pod("b", "9", "", "")));
	cr_assert(!has_pod("b"));
	cr_assert_eq(watch_poll(b.watch), UINT64_MAX);
	cr_assert_eq(world_open(&b.w), 1, "the watch alone");
}
