/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are feasible for a pod that waits, of the world: reservations, promises and
 * nominations are in it, it comes in pages of one moment, and nothing changes. */
#include "core/world/live_verdict.h"
#include "core/filter/evaluation.h"
#include "core/world/what_if.h"
#include "tests/unit/support_nominations.h"

static struct verdicts *box;

static void verdicts_start(void)
{
	box = verdicts_new();
	start();
}

static void verdicts_end(void)
{
	scene_end();
	verdicts_free(box);
}

TestSuite(live_verdict, .init = verdicts_start, .fini = verdicts_end);

static bool ended(void *context)
{
	return context != NULL;
}

static const struct live_answer *ask_until(const char *name, uint32_t number, uint32_t from,
                                           bool end)
{
	static struct live_answer a;
	const struct keeper_hooks hooks = { .ends = ended, .context = end ? &x : NULL };
	struct live_question q = {
		.version = QUESTION_VERSION, .about = ABOUT_POD, .number = number, .from = from
	};

	snprintf(q.pod, sizeof(q.pod), "ns/%s", name);
	cr_assert_null(question_fault(&q, &x.loop.core->config.limits));
	verdicts_answer(box, follower_core(x.loop.world), 7, &q, &hooks, &a);
	return &a;
}

static const struct live_answer *ask(const char *name, uint32_t number, uint32_t from)
{
	return ask_until(name, number, from, false);
}

/* "0 yes, 1 cpu, 2 reserved for 0", ... by node; nodes are numbered in the order of their making.
 */
static const char *words_of(const struct live_answer *a)
{
	static const char *const how[] = { "bound", "binding", "nominated" };
	static const char *const held[] = { "yes", "reserved", "promised", "unknown" };
	static char text[1024];

	text[0] = '\0';
	if (a->verdict == QUESTION_PLACED)
		snprintf(text, sizeof(text), "%s to %u", how[a->page.placed], a->page.node);
	if (a->verdict == QUESTION_REFUSED)
		snprintf(text, sizeof(text), "%s", a->text);
	for (uint32_t i = 0; a->verdict == QUESTION_NODES && i < a->page.rows_n; i++) {
		const struct question_row *r = &a->page.rows[i];
		char *at = text + strlen(text);
		const size_t left = sizeof(text) - (size_t)(at - text);

		if (r->whys == 0)
			snprintf(at, left, "%s%u %s", i > 0 ? ", " : "", r->node, held[r->held]);
		else
			snprintf(at, left, "%s%u %s", i > 0 ? ", " : "", r->node,
			         r->whys == FILTER_BIT(FILTER_INSUFFICIENT) &&
			                 r->short_of == UINT64_C(1) << RESOURCE_CPU
			             ? "cpu"
			             : "no");
	}
	flush(); /* the world follows, and is valid */
	return text;
}

static const char *verdict_text(const char *name)
{
	return words_of(ask(name, 0, 0));
}

Test(live_verdict, has_the_filters_of_each_node)
{
	node("n1", 1);
	node("n2", 2);
	put("v1", "Node", "n3", "",
	    "\"spec\":{\"unschedulable\":true},\"status\":{\"allocatable\":{\"cpu\":\"4\","
	    "\"memory\":\"64Gi\",\"pods\":\"99\"}}");
	pod("there", 0, "", "n1", "");
	cr_assert_str_eq(verdict_text("there"), "muster-frontend is not there, or reads its lists");
	model_set_synced(x.m);
	group("g", 2);
	pod("g-0", 0, "g", "", "");
	flush();
	cr_assert_str_eq(verdict_text("g-0"), "0 cpu, 1 yes, 2 no", "its gang lacks a member");
	cr_assert_gt(ask("g-0", 0, 0)->page.rows[1].score, 0);
	cr_assert_str_eq(verdict_text("there"), "bound to 0");
	cr_assert_str_eq(verdict_text("nobody"), "there is no pod ns/nobody");
	pod("alone", 0, "", "", "");
	flush();
	cr_assert_str_eq(verdict_text("alone"), "binding to 1");
	cr_assert_str_eq(verdict_text("g-0"), "0 cpu, 1 yes, 2 no");
	cr_assert_eq(ask("g-0", 0, 0)->page.rows[1].binding, 1);
	cr_assert_eq(ask("g-0", 0, 0)->position, 7);
}

Test(live_verdict, nominated_members_have_their_capacity)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(api.nominated, 8);
	cr_assert(strstr(verdict_text("g-0"), "nominated to "));
	goes("low-0");
	goes("low-1");
	pod("late", 0, "", "", "");
	flush();
	cr_assert_str_eq(verdict_text("late"), "0 cpu, 1 cpu", "what two of them left is for g");
	cr_assert_eq(ask("late", 0, 0)->page.rows[0].nominated, 4);
}

Test(live_verdict, reserved_capacity_is_for_the_owner_and_who_is_before_it)
{
	start_with(MODEL_QUEUES_NONE, 0, S);
	node("n1", 4);
	ends("low-0", 50, "n1", 1);
	ends("low-1", 50, "n1", 1);
	node("n2", 1);
	pod("other", 50, "", "n2", "");
	model_set_synced(x.m);
	waits("big", 4, 10);
	flush();
	for (int i = 0; i < 4; i++)
		tick(3 * S);
	cr_assert_neq(x.loop.core->backfill.gang, ID_NONE);
	pod("small", 5, "", "", "");
	flush();
	cr_assert_str_eq(verdict_text("small"), "0 reserved, 1 cpu");
	cr_assert_eq(ask("small", 0, 0)->reserved_gang, x.loop.core->backfill.gang);
	cr_assert_str_eq(verdict_text("big-0"), "0 yes, 1 cpu", "it is the owner's");
}

/* For ever on n1 would break what p was promised there; n2 is nobody's. */
Test(live_verdict, a_start_that_breaks_a_promise_is_none)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 100, "n1", 1);
	model_set_synced(x.m);
	flush();
	group("p", 2);
	for (int i = 0; i < 2; i++)
		put("v1", "Pod", numbered("p", i), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"p\"}",
		    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"preemptionPolicy\":\"Never\","
		    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":500,\"containers\":[{\"name\":\"c\","
		    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	flush();
	tick(3 * S);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	group("g", 2);
	pod("g-0", 10, "g", "", "");
	flush();
	cr_assert_str_eq(verdict_text("g-0"), "0 promised");
	cr_assert_eq(ask("g-0", 0, 0)->page.rows[0].promised, 0, "the number of p");
	cr_assert_str_eq(words_of(ask_until("g-0", 0, 0, true)), "0 unknown");
	cr_assert_str_eq(verdict_text("p-0"), "0 yes", "it is its own");
	/* The pod that has ended by then may. */
	put("v1", "Pod", "s-0", ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"s\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"restartPolicy\":\"Never\","
	    "\"activeDeadlineSeconds\":10,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	group("s", 2);
	flush();
	cr_assert_str_eq(verdict_text("s-0"), "0 yes");
}

static const struct limits MANY = { .nodes = 512,
	                                .pods = 16,
	                                .gangs = 4,
	                                .shapes = 8,
	                                .names = 16,
	                                .resources = 8,
	                                .name_bytes = 1 << 16,
	                                .command_ring_bytes = 1 << 17 };

Test(live_verdict, pages_are_of_one_moment)
{
	uint32_t first, numbers[VERDICTS_KEPT];
	const struct live_answer *a;

	scene_end();
	scene_start((struct core_config){ .limits = MANY }, MODEL_QUEUES_NONE,
	            (struct lookout_config){ .feed_bytes = FEED_BYTES_LEAST * 16 });
	for (int i = 0; i < 400; i++)
		node(numbered("n", i), 1);
	model_set_synced(x.m);
	group("g", 2);
	pod("g-0", 0, "g", "", "");
	flush();
	a = ask("g-0", 0, 0);
	first = a->page.number;
	cr_assert(a->page.nodes == 400 && a->page.rows_n == QUESTION_ROWS && first != 0);
	pod("there", 0, "", "n-399", "");
	flush();
	a = ask("g-0", first, QUESTION_ROWS);
	cr_assert(a->verdict == QUESTION_NODES && a->page.from == QUESTION_ROWS);
	a = ask("g-0", first, 2 * QUESTION_ROWS);
	cr_assert_eq(a->page.rows_n, 400 - 2 * QUESTION_ROWS);
	cr_assert_eq(a->page.rows[a->page.rows_n - 1].whys, 0, "as it was");
	cr_assert_str_eq(words_of(ask("g-0", first, 0)),
	                 "more than 4 such answers are read at once; ask again", "it was given");
	/* The one that was read from the longest ago makes room. */
	for (unsigned i = 0; i < VERDICTS_KEPT; i++)
		numbers[i] = ask("g-0", 0, 0)->page.number;
	cr_assert_eq(ask("g-0", numbers[0], 5)->page.from, 5);
	cr_assert_eq(ask("g-0", 0, UINT32_MAX)->page.rows_n, 0, "behind the last one");
	cr_assert_eq(ask("g-0", numbers[0], 0)->verdict, QUESTION_NODES);
	cr_assert_eq(ask("g-0", 0, 0)->verdict, QUESTION_NODES);
	cr_assert_eq(ask("g-0", numbers[1], 0)->verdict, QUESTION_REFUSED);
}

Test(live_verdict, a_question_that_makes_no_sense_is_none)
{
	struct live_question q = { .version = QUESTION_VERSION, .about = ABOUT_POD };

	cr_assert_str_eq(question_fault(&q, &LIMITS), "the name of a pod has no namespace");
	q.number = 1;
	cr_assert_null(question_fault(&q, &LIMITS), "a later page names no pod");
	memset(q.pod, 'a', sizeof(q.pod));
	cr_assert_str_eq(question_fault(&q, &LIMITS), "a name has no end");
	q.about = ABOUT_KINDS;
	cr_assert_str_eq(question_fault(&q, &LIMITS), "a question of an unknown kind");
}
