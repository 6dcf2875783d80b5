/* SPDX-License-Identifier: Apache-2.0 */
/* Evictions: what is sent, in which order, and which result each answer leads to. */
#include "frontend/evict/evictor.h"
#include "frontend/evict/rights.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define POD(name) "/api/v1/namespaces/ns/pods/" name
#define JOURNAL "/api/v1/namespaces/ns/configmaps/j"
#define BUDGET_CAUSE                                                                               \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"TooManyRequests\",\"code\":429,"     \
	"\"message\":\"Cannot evict pod as it would violate the pod's disruption budget.\","           \
	"\"details\":{\"causes\":[{\"reason\":\"DisruptionBudget\",\"message\":\"x\"}]}}"

static struct bench {
	struct world w;
	struct model *m;
	struct journal *journal;
	struct evictor *e;
	char said[400];
	unsigned notices, forbidden, lapsed;
} b;

static void on_result(void *context, enum record_kind kind, const struct evict_result *r)
{
	const size_t n = strlen(b.said);

	snprintf(b.said + n, sizeof(b.said) - n, "%s:%u ",
	         kind == RESULT_EVICT_SENT      ? "sent"
	         : kind == RESULT_EVICT_REFUSED ? "refused"
	                                        : "not-sent",
	         (unsigned)r->ticket);
}

static void on_notice(void *context, const struct evict_notice *n)
{
	cr_assert_str_eq(n->node, "n1");
	b.notices++;
}

static void on_forbidden(void *context)
{
	b.forbidden++;
}

static void on_lapsed(void *context, pod_id pod, uint32_t generation)
{
	cr_assert_neq(generation, 0);
	b.lapsed++;
}

static const char *bound(const char *name, const char *version)
{
	return world_pod(name, version, "\"nodeName\":\"n1\"", "\"phase\":\"Running\"");
}

static const char *going(const char *name)
{
	static char text[2000];
	const char *pod = bound(name, "9"), *at = strstr(pod, "\"resourceVersion\"");

	cr_assert_not_null(at);
	snprintf(text, sizeof(text), "%.*s\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",%s",
	         (int)(at - pod), pod, at);
	return text;
}

static void budget(const char *app)
{
	char text[600];
	const int resource = model_resource_index(b.m, "policy/v1", "PodDisruptionBudget");

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"pdb\",\"namespace\":\"ns\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"%s\"}}},"
		"\"status\":{\"disruptionsAllowed\":1}}",
		app);
	world_put(b.m, resource, text);
}

static void begin_of(bool best_effort, bool journals, uint32_t per_second)
{
	struct evictor_config config = { .env = &b.w.env,
		                             .per_second = per_second,
		                             .deadline_ms = 4000,
		                             .best_effort = best_effort,
		                             .scheduler = "muster",
		                             .result = on_result,
		                             .notice = on_notice,
		                             .forbidden = on_forbidden,
		                             .lapsed = on_lapsed };

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = config.model =
		world_model_with((struct model_config){ .preemption = true, .may_evict = true });
	if (journals) {
		const struct journal_config journal = {
			.env = &b.w.env, .namespace = "ns", .name = "j", .identity = "me"
		};

		b.journal = config.journal = journal_new(&journal);
	}
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	for (const char *name = "a\0b\0c\0d\0e\0f\0g\0"; *name; name += 2)
		world_put(b.m, RESOURCE_INDEX_PODS, bound(name, "5"));
	b.e = evictor_new(&config);
}

static void begin(void)
{
	begin_of(false, false, 20);
}

static void end(void)
{
	evictor_free(b.e);
	journal_free(b.journal);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(evictor, .fini = end);

static int evict_of(const char *name, uint64_t ticket, uint32_t victims, uint32_t breaks_at)
{
	struct pod_view pod;
	struct cmd_evict cmd = { .ticket = ticket,
		                     .gang = ID_NONE,
		                     .victims = victims,
		                     .members = 1,
		                     .cause.breaks_at = breaks_at };

	cr_assert(model_pod_by_name(b.m, "ns", name, &pod));
	cmd.pod = pod.id;
	cmd.pod_generation = pod.generation;
	return evictor_evict(b.e, &cmd);
}

static int evict(const char *name, uint64_t ticket, uint32_t victims)
{
	return evict_of(name, ticket, victims, 0);
}

static void cancel(const char *name, uint64_t ticket)
{
	struct pod_view pod;

	cr_assert(model_pod_by_name(b.m, "ns", name, &pod));
	evictor_cancel(b.e, &(struct cmd_cancel_evict){
							.ticket = ticket, .pod = pod.id, .pod_generation = pod.generation });
}

static void poll(void)
{
	evictor_poll(b.e, false);
}

static struct http_call *take(const char *method, const char *path)
{
	for (int i = 0; world_open(&b.w) == 0; i++) {
		cr_assert_lt(i, 20);
		b.w.now_ns += SECOND;
		poll();
	}
	return world_take(&b.w, method, path);
}

static void expect(const char *said)
{
	cr_assert_str_eq(b.said, said);
	b.said[0] = '\0';
}

Test(evictor, evicts_by_the_eviction_api)
{
	struct http_call *c;

	begin();
	cr_assert_eq(evict("a", 1, 1), 0);
	c = take("POST", POD("a") "/eviction?timeout=4000ms");
	cr_expect_not_null(strstr(c->body, "\"kind\":\"Eviction\""));
	cr_expect_not_null(strstr(c->body, "\"preconditions\":{\"uid\":\"00000000"));
	cr_expect_null(strstr(c->body, "gracePeriodSeconds"));
	expect("");
	world_answer(c, 201, "{}");
	expect("sent:1 ");
	cr_expect_eq(b.notices, 1);
	cr_expect_eq(evictor_counts(b.e)->evicted, 1);
	/* the same once more, while the watch lags: the server takes that too */
	cr_assert_eq(evict("a", 2, 1), 0);
	cr_expect_eq(evict("a", 2, 1), -EPROTO);
	world_answer(take("POST", POD("a") "/eviction"), 201, "{}");
	expect("sent:2 ");
}

/* A gang counts once, however many pods go for it; by the rule of each. */
Test(evictor, counts_reclaims_by_their_rule)
{
	static const uint32_t rules[] = { EVICT_FAIR, EVICT_FAIR, EVICT_GUARANTEE };
	struct pod_view pod;

	begin();
	for (uint32_t i = 0; i < 3; i++) {
		struct cmd_evict cmd = { .ticket = 1, .gang = ID_NONE, .victims = 3, .members = 1 };

		cr_assert(model_pod_by_name(b.m, "ns", (const char[]){ (char)('a' + i), '\0' }, &pod));
		cmd.pod = pod.id;
		cmd.pod_generation = pod.generation;
		cmd.cause.rule = rules[i];
		cr_assert_eq(evictor_evict(b.e, &cmd), 0);
	}
	world_answer(take("POST", POD("a") "/eviction"), 201, "{}");
	world_answer(take("POST", POD("b") "/eviction"), 201, "{}");
	world_answer(take("POST", POD("c") "/eviction"), 201, "{}");
	cr_expect_eq(evictor_counts(b.e)->pods_by[EVICT_FAIR], 2);
	cr_expect_eq(evictor_counts(b.e)->gangs_by[EVICT_FAIR], 1);
	cr_expect_eq(evictor_counts(b.e)->pods_by[EVICT_GUARANTEE], 1);
	cr_expect_eq(evictor_counts(b.e)->gangs_by[EVICT_GUARANTEE], 1);
	cr_expect_eq(evictor_counts(b.e)->pods_by[EVICT_PRIORITY], 0);
}

Test(evictor, waits_until_the_ticket_is_whole)
{
	begin();
	evict("a", 1, 2);
	poll();
	cr_assert_eq(world_open(&b.w), 0);
	evict("b", 1, 2);
	poll();
	cr_assert_eq(world_open(&b.w), 2);
	/* commands that never come delay it only for a moment */
	evict("c", 2, 2);
	b.w.now_ns += SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 3);
}

/* The bound pod, with the label that a budget matches. */
static const char *web(const char *name)
{
	static char text[2000];
	const char *pod = bound(name, "6"), *at = strstr(pod, "\"resourceVersion\"");

	snprintf(text, sizeof(text), "%.*s\"labels\":{\"app\":\"web\"},%s", (int)(at - pod), pod, at);
	return text;
}

Test(evictor, pods_of_a_budget_go_first_and_a_refusal_costs_no_other)
{
	begin();
	world_put(b.m, RESOURCE_INDEX_PODS, web("b"));
	budget("web");
	evict("a", 1, 3);
	evict("b", 1, 3);
	evict("c", 1, 3);
	poll();
	cr_assert_eq(world_open(&b.w), 1, "the others wait");
	world_answer(world_take(&b.w, "POST", POD("b") "/eviction"), 429, BUDGET_CAUSE);
	expect("refused:1 ");
	b.w.now_ns += SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 0, "none of a plan that is void");
	/* the core then withdraws it */
	cancel("a", 1);
	cancel("c", 1);
	cancel("b", 1);
	expect("not-sent:1 not-sent:1 ");
	b.w.now_ns += SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 0);
	cr_expect_eq(evictor_counts(b.e)->refused, 1);
	cr_expect_eq(evictor_counts(b.e)->withdrawn, 2);
}

Test(evictor, throttling_is_no_refusal)
{
	begin();
	evict("a", 1, 1);
	world_answer(take("POST", POD("a") "/eviction"), 429, "Too many requests");
	expect("");
	world_answer(take("POST", POD("a") "/eviction"), 201, "{}");
	expect("sent:1 ");
	/* two budgets are more than the Eviction API takes */
	evict("b", 2, 1);
	world_answer(
		take("POST", POD("b") "/eviction"), 500,
		world_status(500, "", "This pod has more than one PodDisruptionBudget, which ..."));
	expect("refused:2 ");
}

Test(evictor, an_unknown_answer_is_looked_up)
{
	static const int ways[] = { 500, 502, 504, 0 };

	for (size_t i = 0; i < 4; i++) {
		struct http_call *c;

		if (i > 0)
			end();
		begin();
		evict("a", 1, 1);
		c = take("POST", POD("a") "/eviction");
		if (ways[i])
			world_answer(c, ways[i], "?");
		else
			world_fail(c, HTTP_BROKEN);
		world_answer(take("GET", POD("a")), 200, bound("a", "8"));
		expect("");
		world_fail(take("POST", POD("a") "/eviction"), HTTP_BROKEN);
		world_answer(take("GET", POD("a")), 200, going("a"));
		expect("sent:1 ");
		cr_expect_eq(b.notices, 1, "it was ours");
		cr_expect_eq(evictor_counts(b.e)->unknown, 2);
	}
}

Test(evictor, who_is_gone_has_gone)
{
	begin();
	evict("a", 1, 1);
	world_answer(take("POST", POD("a") "/eviction"), 404, world_status(404, "NotFound", "no"));
	world_answer(take("GET", POD("a")), 404, world_status(404, "NotFound", "no"));
	expect("sent:1 ");
	evict("b", 1, 1);
	world_answer(take("POST", POD("b") "/eviction"), 409, world_status(409, "Conflict", "UID"));
	world_answer(take("GET", POD("b")), 200, bound("c", "8")); /* another uid */
	expect("sent:1 ");
	world_put(b.m, RESOURCE_INDEX_PODS, going("d"));
	evict("d", 2, 1);
	expect("sent:2 ");
	cr_expect_eq(b.notices, 0, "nobody was evicted");
	cr_expect_eq(world_open(&b.w), 0);
}

Test(evictor, best_effort_marks_and_deletes)
{
	struct http_call *c;

	begin_of(true, false, 20);
	evict("a", 1, 1);
	c = take("PATCH", POD("a") "/status");
	cr_expect_not_null(strstr(c->body, "\"type\":\"DisruptionTarget\""));
	cr_expect_not_null(strstr(c->body, "\"reason\":\"PreemptionByScheduler\""));
	cr_expect_not_null(strstr(c->body, "muster: preempting to accommodate a higher priority pod"));
	cr_expect_null(strstr(c->body, "phase"));
	world_answer(c, 200, "{}");
	c = take("DELETE", POD("a") "?timeout=4000ms");
	cr_expect_not_null(strstr(c->body, "\"preconditions\":{\"uid\":\"00000000"));
	cr_expect_null(strstr(c->body, "gracePeriodSeconds"));
	world_answer(c, 200, "{}");
	expect("sent:1 ");
	/* withdrawn between the two: the pod stays */
	evict("b", 2, 1);
	c = take("PATCH", POD("b") "/status");
	cancel("b", 2);
	expect("");
	world_answer(c, 200, "{}");
	expect("not-sent:2 ");
	b.w.now_ns += SECOND;
	poll();
	cr_expect_eq(world_open(&b.w), 0);
}

Test(evictor, what_is_in_flight_has_its_own_result)
{
	struct http_call *c;

	begin();
	evict("a", 1, 1);
	c = take("POST", POD("a") "/eviction");
	cancel("a", 1);
	expect("");
	/* for another ticket meanwhile: one request at a time */
	evict("a", 2, 1);
	b.w.now_ns += SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 1);
	world_answer(c, 201, "{}");
	expect("sent:1 ");
	world_put(b.m, RESOURCE_INDEX_PODS, going("a"));
	b.w.now_ns += SECOND;
	poll();
	expect("sent:2 ");
	/* unknown, and cancelled: not sent again */
	evict("b", 3, 1);
	c = take("POST", POD("b") "/eviction");
	cancel("b", 3);
	world_answer(c, 504, "?");
	world_answer(take("GET", POD("b")), 200, bound("b", "8"));
	expect("not-sent:3 ");
}

/* Bound members of a gang, which all go for ticket 1. */
static void gang_goes(const char *names, uint32_t breaks_at)
{
	const uint32_t n = (uint32_t)strlen(names);

	for (uint32_t i = 0; i < n; i++) {
		const char name[] = { names[i], '\0' };

		world_put(b.m, RESOURCE_INDEX_PODS, world_member(name, "6", "v", "\"nodeName\":\"n1\""));
		evict_of(name, 1, n, breaks_at);
	}
}

/* The preemptor starts in the room of two, and the third one's eviction may not have been done. */
Test(evictor, a_gang_that_lost_its_quorum_goes_whole_although_it_is_cancelled)
{
	begin();
	gang_goes("abc", 1);
	world_answer(take("POST", POD("a") "/eviction"), 201, "{}");
	world_answer(take("POST", POD("b") "/eviction"), 504, "?");
	world_answer(take("POST", POD("c") "/eviction"), 201, "{}");
	expect("sent:1 sent:1 ");
	cancel("b", 1);
	world_answer(take("GET", POD("b")), 200, bound("b", "8"));
	expect("");
	world_answer(take("POST", POD("b") "/eviction"), 201, "{}");
	expect("sent:1 ");
}

/* Six of its seven members break it: of five that may have gone the rest stays. */
Test(evictor, a_gang_that_kept_its_quorum_is_not_evicted_when_it_is_cancelled)
{
	struct http_call *a, *c;

	begin_of(false, false, 1); /* five at once */
	gang_goes("abcdefg", 6);
	a = take("POST", POD("a") "/eviction");
	for (char name = 'b'; name <= 'e'; name++)
		c = take("POST", "");
	world_answer(a, 201, "{}");
	expect("sent:1 ");
	cancel("f", 1);
	cancel("g", 1);
	expect("not-sent:1 not-sent:1 ");
	world_answer(c, 504, "?");
	cancel("e", 1);
	b.w.now_ns += SECOND;
	poll();
	world_answer(take("GET", POD("e")), 200, bound("e", "8"));
	expect("not-sent:1 ");
}

/* Five members are in flight when the other two are cancelled. */
static void answers_decide(int status, unsigned sent)
{
	struct http_call *calls[5];

	begin_of(false, false, 1);
	gang_goes("abcdefg", 1);
	for (int i = 0; i < 5; i++)
		calls[i] = take("POST", "");
	cancel("f", 1);
	cancel("g", 1);
	expect("");
	for (int i = 0; i < 5; i++)
		world_answer(calls[i], status, "{}");
	b.said[0] = '\0';
	for (int i = 0; i < 3; i++) {
		b.w.now_ns += SECOND;
		poll();
	}
	cr_expect_eq(world_open(&b.w), sent);
	expect(sent > 0 ? "" : "not-sent:1 not-sent:1 ");
}

Test(evictor, members_that_are_cancelled_wait_for_those_in_flight)
{
	answers_decide(201, 2);
	end();
	answers_decide(403, 0);
}

/* One of its members is as `change` has it before its turn, and the others are cancelled. */
static void member_goes(const char *field, const char *change, const char *result)
{
	char text[2000];
	const char *pod, *at;

	begin_of(false, false, 1); /* five at once: the lone pods, and the one that goes */
	for (const char *name = "d\0e\0f\0g\0"; *name; name += 2)
		evict(name, 1, 7);
	for (const char *name = "a\0b\0c\0"; *name; name += 2) {
		world_put(b.m, RESOURCE_INDEX_PODS, world_member(name, "6", "v", "\"nodeName\":\"n1\""));
		evict_of(name, 1, 7, 1);
	}
	pod = world_member("a", "7", "v", "\"nodeName\":\"n1\"");
	at = strstr(pod, field);
	cr_assert_not_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - pod), pod, change, at + strlen(field));
	world_put(b.m, RESOURCE_INDEX_PODS, text);
	for (int i = 0; i < 4; i++)
		world_answer(take("POST", ""), 201, "{}");
	expect("sent:1 sent:1 sent:1 sent:1 sent:1 ");
	cancel("b", 1);
	cancel("c", 1);
	expect(result);
}

Test(evictor, a_member_that_has_succeeded_does_not_cut_its_gang)
{
	member_goes("\"phase\":\"Pending\"", "\"phase\":\"Succeeded\"", "not-sent:1 not-sent:1 ");
	end();
	member_goes("\"creationTimestamp\"",
	            "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"creationTimestamp\"", "");
}

/* A lone pod can't be evicted: the ticket is void, but one of its gangs has lost a member. */
Test(evictor, a_gang_that_lost_its_quorum_goes_whole_although_its_ticket_is_void)
{
	struct http_call *a, *g;

	begin_of(false, false, 1);
	evict("g", 1, 7);
	gang_goes("abcdef", 1);
	g = take("POST", POD("g"));
	a = take("POST", POD("a"));
	for (int i = 0; i < 3; i++)
		world_answer(take("POST", ""), 429, "Too many requests");
	world_answer(g, 403, "{}");
	expect("not-sent:1 ");
	b.w.now_ns += SECOND;
	poll();
	world_answer(a, 201, "{}");
	expect("sent:1 ");
	cancel("e", 1);
	cancel("f", 1);
	for (int i = 0; i < 3; i++) {
		b.w.now_ns += SECOND;
		poll();
	}
	cr_expect_eq(world_open(&b.w), 5);
	expect("");
}

/* Each command of a pod is found by its ticket, whatever others the pod has. */
Test(evictor, a_pod_of_several_tickets_has_a_result_for_each)
{
	begin();
	evict("a", 1, 1);
	evict("a", 2, 1);
	evict("a", 3, 1);
	evict("b", 1, 1);
	cr_expect_eq(evict("a", 2, 1), -EPROTO);
	cancel("a", 2);
	expect("not-sent:2 ");
	cancel("a", 2);
	expect("");
	cancel("a", 1);
	expect("not-sent:1 ");
	cr_assert_eq(evictor_queued(b.e), 2);
	b.w.now_ns += SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 2);
	world_answer(world_take(&b.w, "POST", POD("a") "/eviction"), 201, "{}");
	world_answer(world_take(&b.w, "POST", POD("b") "/eviction"), 201, "{}");
	expect("sent:3 sent:1 ");
}

/* Also when those before them in the queue have been withdrawn. */
Test(evictor, pods_of_a_budget_stay_before_the_others_of_their_ticket)
{
	struct http_call *c;

	begin();
	budget("web");
	world_put(b.m, RESOURCE_INDEX_PODS, web("c"));
	world_put(b.m, RESOURCE_INDEX_PODS, web("d"));
	evict("a", 1, 4);
	evict("b", 1, 4);
	evict("c", 1, 4);
	cancel("a", 1);
	expect("not-sent:1 ");
	evict("d", 1, 4);
	c = take("POST", POD("c") "/eviction");
	world_answer(c, 201, "{}");
	expect("sent:1 ");
	world_answer(take("POST", POD("d") "/eviction"), 201, "{}");
	world_answer(take("POST", POD("b") "/eviction"), 201, "{}");
	expect("sent:1 sent:1 ");
}

Test(evictor, nothing_is_sent_for_another_core)
{
	struct http_call *c;

	begin();
	evict("a", 1, 1);
	c = take("POST", POD("a") "/eviction");
	evict("b", 2, 2);
	evictor_core_down(b.e);
	cr_expect_eq(evictor_queued(b.e), 0);
	cr_expect_eq(evictor_flying(b.e), 1);
	b.w.now_ns += 10 * SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 1);
	world_answer(c, 504, "?");
	b.w.now_ns += 10 * SECOND;
	poll();
	cr_expect_eq(world_open(&b.w), 0);
	expect("");
	/* one that was accepted is told its users all the same */
	evict("c", 1, 1);
	c = take("POST", POD("c") "/eviction");
	evictor_core_down(b.e);
	world_answer(c, 201, "{}");
	cr_expect_eq(b.notices, 1);
	expect("");
}

Test(evictor, is_paced_and_waits_for_bindings)
{
	begin_of(false, false, 1);
	for (const char *name = "a\0b\0c\0d\0e\0f\0g\0"; *name; name += 2)
		evict(name, 1, 7);
	evictor_poll(b.e, true);
	cr_assert_eq(world_open(&b.w), 1, "bindings go first");
	evictor_poll(b.e, false);
	cr_assert_eq(world_open(&b.w), 5, "five times the rate at once");
	b.w.now_ns += SECOND + MS;
	poll();
	cr_assert_eq(world_open(&b.w), 6);
}

Test(evictor, a_missing_right_is_no_eviction)
{
	begin();
	evict("a", 1, 1);
	world_answer(take("POST", POD("a") "/eviction"), 403, world_status(403, "Forbidden", "no"));
	expect("not-sent:1 ");
	cr_expect_eq(b.forbidden, 1);
	/* what is invalid is not repeated for ever */
	evict("b", 2, 1);
	for (int i = 0; i < 3; i++) {
		expect("");
		world_answer(take("POST", POD("b") "/eviction"), 400, world_status(400, "BadRequest", "x"));
	}
	expect("not-sent:2 ");
}

static void journal_opens(const char *lines)
{
	journal_claim(b.journal);
	journal_poll(b.journal);
	world_answer(world_take(&b.w, "GET", JOURNAL), 200, world_journal(1, lines));
	journal_poll(b.journal);
	world_answer(world_take(&b.w, "PUT", JOURNAL), 200, world_journal(2, ""));
	cr_assert(journal_is_open(b.journal));
}

Test(evictor, nothing_is_sent_before_its_line_is_durable)
{
	struct http_call *put;

	begin_of(false, true, 20);
	journal_opens("");
	evict("a", 1, 1);
	poll();
	b.w.now_ns += SECOND;
	poll();
	cr_assert_eq(world_open(&b.w), 0);
	journal_poll(b.journal);
	put = world_take(&b.w, "PUT", JOURNAL);
	cr_expect_not_null(strstr(put->body, "evict 00000000-"));
	poll();
	cr_assert_eq(world_open(&b.w), 1);
	world_answer(put, 200, world_journal(3, ""));
	world_answer(take("POST", POD("a") "/eviction"), 201, "{}");
	expect("sent:1 ");
	cr_expect_eq(journal_size(b.journal), 0);
}

Test(evictor, nominations_outlive_the_process)
{
	struct pod_view pod;
	struct http_call *put;

	begin_of(false, true, 20);
	journal_opens("");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("m", "5", "", ""));
	cr_assert(model_pod_by_name(b.m, "ns", "m", &pod));
	evictor_nominate(b.e, &(struct cmd_nominate){ .ticket = 1,
	                                              .pod = pod.id,
	                                              .pod_generation = pod.generation,
	                                              .node = 0,
	                                              .node_generation = 1 });
	b.w.now_ns += SECOND;
	journal_poll(b.journal);
	put = world_take(&b.w, "PUT", JOURNAL);
	cr_expect_not_null(strstr(put->body, "nominate 00000000-"));
	cr_expect_not_null(strstr(put->body, " n1 "));
	world_answer(put, 200, world_journal(3, ""));
	poll();
	cr_expect_eq(journal_size(b.journal), 1);
	/* it ends with the binding, which the watch shows */
	world_put(b.m, RESOURCE_INDEX_PODS, bound("m", "6"));
	b.w.now_ns += 2 * SECOND;
	poll();
	cr_expect_eq(journal_size(b.journal), 0);
}

static void nominate(const char *name, uint64_t ticket)
{
	struct pod_view pod;

	cr_assert(model_pod_by_name(b.m, "ns", name, &pod));
	evictor_nominate(b.e, &(struct cmd_nominate){ .ticket = ticket,
	                                              .pod = pod.id,
	                                              .pod_generation = pod.generation,
	                                              .node = 0,
	                                              .node_generation = 1 });
}

Test(evictor, a_nomination_that_the_next_core_does_not_make_ends)
{
	begin();
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("m", "5", "", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("n", "5", "", ""));
	nominate("m", 1);
	nominate("n", 1);
	b.w.now_ns += 100 * SECOND;
	poll();
	cr_expect_eq(b.lapsed, 0, "the core that made them lives");
	evictor_core_down(b.e);
	b.w.now_ns += 100 * SECOND;
	poll();
	b.w.now_ns += 10 * SECOND;
	nominate("n", 1);
	poll();
	cr_expect_eq(b.lapsed, 0, "the next core has time for it");
	b.w.now_ns += 30 * SECOND;
	poll();
	cr_expect_eq(b.lapsed, 1, "m");
	b.w.now_ns += 100 * SECOND;
	poll();
	cr_expect_eq(b.lapsed, 1);
}

#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define ALLOWED(word) "{\"status\":{\"allowed\":" word "}}"

static struct world w;

static void rights_end(void)
{
	world_free(&w);
}

TestSuite(rights, .fini = rights_end);

Test(rights, are_asked_for_before_and_while_one_is_missing)
{
	struct rights *r;
	struct http_call *c;

	world_init(&w);
	r = rights_new(&w.env, RIGHTS_EVICT);
	cr_expect(!rights_known(r));
	rights_poll(r);
	c = world_take(&w, "POST", REVIEWS);
	cr_expect_not_null(strstr(
		c->body,
		"\"verb\":\"create\",\"group\":\"\",\"resource\":\"pods\",\"subresource\":\"eviction\""));
	world_answer(c, 201, ALLOWED("false"));
	cr_expect(rights_known(r) && !rights_granted(r));
	cr_expect(world_said(&w, "falls back to explain"));
	rights_poll(r);
	cr_assert_eq(world_open(&w), 0);
	w.now_ns += 61 * SECOND;
	rights_poll(r);
	world_answer(world_take(&w, "POST", REVIEWS), 201, ALLOWED("true"));
	rights_poll(r);
	c = world_take(&w, "POST", REVIEWS);
	cr_expect_not_null(strstr(
		c->body,
		"\"verb\":\"patch\",\"group\":\"\",\"resource\":\"pods\",\"subresource\":\"status\""));
	cr_expect(!rights_granted(r));
	world_answer(c, 201, ALLOWED("true"));
	cr_expect(rights_granted(r));
	w.now_ns += 600 * SECOND;
	rights_poll(r);
	cr_assert_eq(world_open(&w), 0);
	/* a 403 */
	rights_doubt(r);
	rights_poll(r);
	world_answer(world_take(&w, "POST", REVIEWS), 201, ALLOWED("false"));
	cr_expect(rights_known(r) && !rights_granted(r));
	rights_free(r);
}

Test(rights, that_nobody_answers_for_are_missing)
{
	struct rights *r;

	world_init(&w);
	r = rights_new(&w.env, RIGHTS_DELETE);
	for (int i = 0; i < 3; i++) {
		cr_expect(!rights_known(r));
		w.now_ns += 60 * SECOND;
		rights_poll(r);
		world_answer(world_take(&w, "POST", REVIEWS), i ? 503 : 404, "?");
	}
	cr_expect(rights_known(r) && !rights_granted(r));
	w.now_ns += 60 * SECOND;
	rights_poll(r);
	world_answer(world_take(&w, "POST", REVIEWS), 201, ALLOWED("true"));
	rights_poll(r);
	world_answer(world_take(&w, "POST", REVIEWS), 201, ALLOWED("true"));
	cr_expect(rights_granted(r));
	rights_free(r);
}

Test(rights, of_claims_name_the_one_that_is_missing)
{
	static const char *const asked[] = { "\"resource\":\"resourceclaims\"}",
		                                 "\"resourceclaims\",\"subresource\":\"status\"}",
		                                 "\"resourceclaims\",\"subresource\":\"binding\"}" };
	struct rights *r;
	struct http_call *c;

	world_init(&w);
	r = rights_new(&w.env, RIGHTS_CLAIMS);
	for (int i = 0; i < 3; i++) {
		rights_poll(r);
		c = world_take(&w, "POST", REVIEWS);
		cr_expect_not_null(strstr(c->body, "\"verb\":\"patch\",\"group\":\"resource.k8s.io\""));
		cr_expect_not_null(strstr(c->body, asked[i]), "%s", c->body);
		world_answer(c, 201, i < 2 ? ALLOWED("true") : ALLOWED("false"));
	}
	cr_expect(rights_known(r) && !rights_granted(r));
	cr_expect(world_said(&w, "--devices auto: may not patch resourceclaims/binding; no pod"));
	rights_free(r);
}
