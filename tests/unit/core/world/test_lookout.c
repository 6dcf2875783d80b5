/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for victims beside the loop, from objects to rows: which gangs, when, and what is said.
 * And questions about the world.
 */
#include "core/world/keeper.h"
#include "core/world/what_if.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_lookout.h"

static const struct limits LIMITS =
	LIMITS_WITH(.pods = 128, .gangs = 40, .name_bytes = 1 << 16, .command_ring_bytes = 8192);

static bool stop;
static unsigned calls, stop_at; /* stop_at: of calls; 0: never */

static bool stopped(void *context)
{
	calls++;
	return stop || (stop_at > 0 && calls >= stop_at);
}

static void start(void)
{
	stop = false;
	calls = stop_at = 0;
	scene_start((struct core_config){ .limits = LIMITS }, MODEL_QUEUES_NONE,
	            (struct lookout_config){ .feed_bytes = FEED_BYTES_LEAST * 4, .stopped = stopped });
}

TestSuite(lookout, .init = start, .fini = scene_end);

static void budget(const char *name, int allowed, const char *selector, const char *status)
{
	put("policy/v1", "PodDisruptionBudget", name, "",
	    "\"spec\":{\"selector\":%s},\"status\":{\"disruptionsAllowed\":%d%s}", selector, allowed,
	    status);
}

static void served(void)
{
	model_resource_served(x.m, model_resource_index(x.m, "policy/v1", "PodDisruptionBudget"), true);
	model_set_synced(x.m);
}

static unsigned searched(void)
{
	unsigned n = 0;

	for (int i = 0; i < VICTIMS_ROW_ANSWERS; i++)
		n += (unsigned)x.stats.answers[i];
	return n;
}

static unsigned rows_used(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < VICTIMS_ROWS; i++)
		n += x.rows[i].generation != 0;
	return n;
}

/* "proved a-0 a-1" of the first row, at that time. */
static const char *answer(uint64_t now_s)
{
	static const char *const names[] = { "none",  "proved", "gave up", "impossible",
		                                 "never", "fits",   "devices" };
	static char text[512];

	flush();
	lookout_run(x.lookout, now_s * S);
	snprintf(text, sizeof(text), "%s", names[x.rows[0].answer]);
	for (const char *at = x.rows[0].text, *line; (line = strchr(at, '\n')); at = line + 1)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %.*s", (int)(line - at - 3),
		         at + 3);
	return text;
}

static void lows(int n)
{
	for (int i = 0; i < n; i++)
		pod_since(numbered("low", i), 0, "", "n1", i, "");
}

Test(lookout, says_who_would_have_to_go)
{
	node("n1", 4);
	lows(4);
	waits("g", 2, 10);
	served();
	cr_assert_str_eq(answer(10), "proved low-2 low-3", "those that started last");
	cr_assert(x.rows[0].found && x.rows[0].pods == 2 && x.rows[0].lone == 2);
	cr_assert(x.rows[0].listed == 2 && x.rows[0].gangs_n == 0 && x.rows[0].highest == 0);
	cr_assert(!x.rows[0].budgets_unknown && x.rows[0].version % 2 == 0);
	cr_assert_eq(x.stats.answers[VICTIMS_ROW_PROVED], 1);
	cr_assert(x.stats.steps > 0 && x.stats.kept_bytes > 0);
}

Test(lookout, respects_budgets)
{
	node("n1", 4);
	lows(4);
	waits("g", 2, 10);
	served();
	budget("b", 1, "{\"matchLabels\":{\"app\":\"a\"}}", "");
	cr_assert_str_eq(answer(10), "impossible");
	budget("b", 2, "{\"matchLabels\":{\"app\":\"a\"}}", "");
	cr_assert_str_eq(answer(12), "proved low-2 low-3");
	budget("b", 1, "{\"matchLabels\":{\"app\":\"a\"}}",
	       ",\"disruptedPods\":{\"low-1\":\"2026-01-01T00:00:00Z\","
	       "\"low\":\"2026-01-01T00:00:00Z\"}");
	cr_assert_str_eq(answer(14), "proved low-1 low-3", "one is counted already");
	budget("b", 0,
	       "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\","
	       "\"values\":[\"a\"]}]}",
	       "");
	cr_assert_str_eq(answer(16), "proved low-2 low-3", "none is in it");
	budget("b", 0, "{\"matchExpressions\":[{\"key\":\"other\",\"operator\":\"DoesNotExist\"}]}",
	       "");
	cr_assert_str_eq(answer(18), "impossible");
	budget("b", 0, "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", "");
	budget("c", 9, "{}", "");
	cr_assert_str_eq(answer(22), "impossible", "two budgets spare a pod");
}

Test(lookout, reads_what_spares_a_pod)
{
	node("n1", 4);
	group("v", 2);
	pod_since("v-0", 0, "v", "n1", 1, "");
	pod_since("v-1", 0, "v", "n1", 2, "");
	pod_since("a", 0, "", "n1", 3, "");
	pod_since("b", 0, "", "n1", 4, "");
	waits("g", 1, 10);
	served();
	cr_assert_str_eq(answer(10), "proved b");
	pod_since("b", 0, "", "n1", 4, ",\"annotations\":{\"muster.dev/preemptible\":\"false\"}");
	cr_assert_str_eq(answer(12), "proved a");
	pod_since(
		"a", 0, "", "n1", 3,
		",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"name\":\"d\","
		"\"uid\":\"u\",\"controller\":true}]");
	cr_assert_str_eq(answer(14), "proved v-0 v-1", "a gang as a whole");
	cr_assert(x.rows[0].gangs_n == 1 && x.rows[0].gangs[0].goes == 2 && x.rows[0].gangs[0].broken);
	cr_assert(x.rows[0].gangs[0].bound == 2 && x.rows[0].gangs[0].quorum == 2);
	group_with("v", 2, ",\"annotations\":{\"muster.dev/disruption-mode\":\"pod\"}");
	cr_assert_str_eq(answer(16), "proved v-1");
	group_with("v", 1, ",\"annotations\":{\"muster.dev/disruption-mode\":\"whole\"}");
	cr_assert_str_eq(answer(18), "proved v-0 v-1");
	group("v", 1);
	cr_assert_str_eq(answer(20), "proved v-1", "above the quorum");
	group_with("v", 1, ",\"labels\":{\"volcano.sh/preemptable\":\"false\"}");
	cr_assert_str_eq(answer(22), "impossible");
	group("v", 1);
	put("v1", "Namespace", "ns", ",\"labels\":{\"muster.dev/preemption\":\"never\"}",
	    "\"spec\":{}");
	cr_assert_str_eq(answer(26), "impossible");
	put("v1", "Namespace", "ns", "", "\"spec\":{}");
	cr_assert_str_eq(answer(40), "proved v-1");
}

Test(lookout, asks_again_when_something_changed)
{
	node("n1", 4);
	lows(4);
	waits("g", 2, 10);
	served();
	answer(10);
	cr_assert_eq(searched(), 1);
	answer(13);
	cr_assert_eq(searched(), 1, "nothing changed");
	cr_assert_eq(lookout_due_ns(x.lookout), 15 * S);
	pod("low-9", -5, "", "n1", "");
	answer(14);
	cr_assert_eq(searched(), 1, "two seconds apart");
	answer(15);
	cr_assert_eq(searched(), 2);
	/* Room for all: the gang starts, and the row is empty. */
	node("n2", 8);
	answer(18);
	cr_assert_eq(rows_used(), 0);
	cr_assert_eq(searched(), 2);
	cr_assert_eq(lookout_due_ns(x.lookout), UINT64_MAX);
}

/* 2, 4, 8, 16, 32, 60, 60 seconds; and from the start again once there was an answer. */
Test(lookout, asks_less_often_when_it_is_futile)
{
	static const unsigned due[] = { 2, 4, 8, 16, 32, 60, 60 };
	uint64_t at = 100;
	unsigned n = 1;

	node("n1", 4);
	lows(4);
	waits("g", 5, 10);
	served();
	cr_assert_str_eq(answer(at), "impossible");
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		for (unsigned s = 1; s < due[i]; s++) {
			pod_since("low-0", 0, "", "n1", (int)(s % 60), "");
			answer(at + s);
			cr_assert_eq(searched(), n, "after %u of %u s", s, due[i]);
		}
		at += due[i] + due[i] % 2;
		pod_since("low-0", 0, "", "n1", 59, "");
		pod_since("low-1", (int)i - 50, "", "n1", 59, "");
		for (int k = 0; k < 3 && searched() == n; k++)
			answer(at += k);
		cr_assert_eq(searched(), ++n);
	}
	lows(4);
	node("n1", 5);
	at += 62;
	cr_assert_str_eq(answer(at), "proved low-0 low-1 low-2 low-3");
	pod_since("low-0", -1, "", "n1", 5, "");
	answer(at + 2);
	cr_assert_eq(searched(), n + 2);
}

/* Of 20 gangs the 16 of the highest priority. */
Test(lookout, searches_for_the_most_important)
{
	char name[32];

	node("n1", 4);
	lows(4);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		waits(name, 2, 1 + (i * 7) % 20);
	}
	served();
	answer(10);
	cr_assert_eq(rows_used(), VICTIMS_ROWS);
	cr_assert_eq(searched(), VICTIMS_ROWS);
	for (unsigned i = 0; i < VICTIMS_ROWS; i++)
		cr_assert(x.loop.core->gangs.slots[x.rows[i].gang].priority > 4);
	for (unsigned i = 0; i < VICTIMS_ROWS; i++)
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(x.rows[i].gang, x.rows[k].gang);
	/* A new core has other gangs. */
	model_restart(x.m);
	synced();
	lookout_run(x.lookout, 10 * S);
	cr_assert_eq(rows_used(), VICTIMS_ROWS, "at once: the rows were of other gangs");
	cr_assert_eq(searched(), 2 * VICTIMS_ROWS);
	lookout_clear(x.lookout);
	cr_assert_eq(rows_used(), 0);
}

Test(lookout, ends_for_the_feed)
{
	node("n1", 4);
	lows(4);
	waits("g", 2, 10);
	served();
	stop = true;
	cr_assert_str_eq(answer(10), "none", "it is to stop");
	stop = false;
	lookout_start((struct lookout_config){ .stopped = stopped });
	flush();
	/* With one step in the feed half of nothing is exceeded. */
	loop_step(&x.loop,
	          &(struct record){ .bytes = sizeof(struct record),
	                            .kind = EVENT_TICK,
	                            .epoch = x.loop.epoch,
	                            .time_ns = UINT64_C(1800000100) * S },
	          0);
	lookout_run(x.lookout, 20 * S);
	cr_assert_eq(searched(), 0);
	cr_assert_eq(follower_run(x.loop.world, 10), 1);
	lookout_run(x.lookout, 30 * S);
	cr_assert_eq(searched(), 1);
}

/* Making the core ends when asked, and that is no fault: it is searched later. */
Test(lookout, ends_while_the_core_is_made)
{
	node("n1", 4);
	lows(4);
	waits("g", 2, 10);
	served();
	stop_at = 2;
	cr_assert_str_eq(answer(10), "none");
	cr_assert_eq(x.stats.made_ns, 0);
	cr_assert_eq(calls, 2, "nothing was done after it");
	stop_at = 0;
	cr_assert_str_eq(answer(12), "proved low-2 low-3");
}

Test(lookout, says_who_may_not_preempt_and_what_is_unknown)
{
	node("n1", 4);
	lows(4);
	group("g", 1);
	put("v1", "Pod", "g-0", ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"preemptionPolicy\":\"Never\","
	    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}");
	model_set_synced(x.m);
	cr_assert_str_eq(answer(10), "never");
	cr_assert(x.rows[0].budgets_unknown);
	model_resource_served(x.m, model_resource_index(x.m, "policy/v1", "PodDisruptionBudget"), true);
	pod("low-0", -1, "", "n1", "");
	answer(12);
	cr_assert(!x.rows[0].budgets_unknown);
	/* The next pod in that slot may. */
	gone("g-0");
	pod("g-1", 10, "g", "", "");
	cr_assert_str_eq(answer(16), "proved low-0");
}

static bool ends_now(void *context)
{
	return context != NULL;
}

/* "starts 4 on 1", "waits 2 of 4", ..., of the gang with that number. */
static const char *what_if_text(gang_id gang, struct question_change change, bool end)
{
	const struct keeper_hooks hooks = { .ends = ends_now, .context = end ? &x : NULL };
	const struct core *world = follower_core(x.loop.world);
	struct live_question q = { .version = QUESTION_VERSION,
		                       .gang = gang,
		                       .generation = gang < 2 ? world->gangs.slots[gang].generation : 1,
		                       .changes_n = change.kind > 0 };
	struct live_answer *a = must_alloc(sizeof(*a));
	static char text[512];

	q.changes[0] = change;
	cr_assert_null(question_fault(&q, &LIMITS));
	what_if(&(struct what_if_of){ .keeper = follower_keeper(x.loop.world),
	                              .world = world,
	                              .hooks = &hooks },
	        &q, a);
	if (a->verdict == QUESTION_STARTS)
		snprintf(text, sizeof(text), "starts %u on %u", a->members, a->nodes);
	else if (a->verdict == QUESTION_WAITS)
		snprintf(text, sizeof(text), "waits %u of %u, %u go", a->reason.fit, a->reason.need,
		         a->victims.pods);
	else
		snprintf(text, sizeof(text), "%s", a->verdict == QUESTION_REFUSED ? a->text : "gave up");
	free(a);
	return text;
}

/* Of two gangs that wait, the one of the lower priority is the second. */
Test(lookout, what_if)
{
	const struct question_change none = { 0 }, two = { CHANGE_NODES, 2, "n1" },
								 one = { CHANGE_NODES, 1, "" }, first = { CHANGE_PRIORITY, 20, "" };
	gang_id g = 0, h = 1;

	node("n1", 4);
	node("n2", 2);
	lows(4);
	pod_since("two-0", 0, "", "n2", 5, "");
	pod_since("two-1", 0, "", "n2", 5, "");
	waits("g", 4, 10);
	waits("h", 4, 5);
	served();
	flush();
	cr_assert_str_eq(what_if_text(g, none, false), "waits 0 of 4, 4 go");
	cr_assert_str_eq(what_if_text(g, one, false), "starts 4 on 1", "like n1, the largest");
	cr_assert_str_eq(what_if_text(h, one, false), "waits 0 of 4, 4 go", "g comes first");
	cr_assert_str_eq(what_if_text(h, first, false), "waits 0 of 4, 4 go");
	cr_assert_str_eq(what_if_text(h, two, false), "starts 4 on 2");
	cr_assert_str_eq(what_if_text(g, (struct question_change){ CHANGE_NODES, 1, "n2" }, false),
	                 "waits 2 of 4, 2 go");
	cr_assert_str_eq(what_if_text(g, (struct question_change){ CHANGE_NODES, 7, "n2" }, false),
	                 "there is room for 6 more nodes only, by --max-nodes of muster-core");
	cr_assert_str_eq(
		what_if_text(g, (struct question_change){ CHANGE_WITHOUT_POD, 0, "ns/low-0" }, false),
		"waits 1 of 4, 3 go");
	cr_assert_str_eq(
		what_if_text(g, (struct question_change){ CHANGE_WITHOUT_POD, 0, "ns/low" }, false),
		"there is no pod ns/low");
	cr_assert_str_eq(
		what_if_text(g, (struct question_change){ CHANGE_WITHOUT_NAMESPACE, 0, "n" }, false),
		"there is no pod in the namespace n");
	cr_assert_str_eq(what_if_text(g, one, true), "gave up");
	cr_assert_str_eq(what_if_text(7, one, false), "the gang is gone");
	/* Nothing of it is in the world. */
	node("n1", 8);
	flush();
	cr_assert_eq(follower_state(x.loop.world), WORLD_FOLLOWS);
	cr_assert_str_eq(what_if_text(g, one, false), "the gang does not wait: its quorum has nodes");
	cr_assert_str_eq(what_if_text(h, none, false), "waits 0 of 4, 4 go");
}
