/* SPDX-License-Identifier: Apache-2.0 */
/* A gang begins only by what its group asks for now: what is read before its first Binding, and
 * what each answer does to those that wait for it. */
#include "frontend/bind/binder.h"

#include "frontend/dialect/dialects.h"

#include "tests/unit/support_world.h"

#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g"
#define GONE "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404}"

static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	char said[256]; /* results: "B r:1 " */
} b;

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	size_t n = strlen(b.said);

	if (kind == RESULT_REFUSED)
		snprintf(b.said + n, sizeof(b.said) - n, "refused:%u ", r->retry_ms);
	else
		snprintf(b.said + n, sizeof(b.said) - n, "%s ", kind == RESULT_BOUND ? "bound" : "unknown");
}

static void on_notice(void *context, const struct bind_notice *n)
{
}

/* Group g asks for two; a and b are its members. */
static void begin(void)
{
	struct binder_config config = {
		.env = &b.w.env,
		.connections = 4,
		.result = on_result,
		.notice = on_notice,
		.context = &b,
	};

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	config.model = b.m = world_model();
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 2));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "5", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "6", "g", ""));
	world_flush(b.m);
	b.binder = binder_new(&config);
}

static void end(void)
{
	binder_free(b.binder);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(group_recheck, .init = begin, .fini = end);

/* As the core plans it by what the model knows. */
static void bind_pod(const char *pod)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", pod);

	cr_assert_eq(binder_bind(b.binder, CMD_BIND, &cmd), 0);
	binder_poll(b.binder);
}

/* The same, after a read of the group that asks for so many. */
static struct http_call *read_and_bound(const char *pod, const char *version, unsigned quorum)
{
	char path[128];

	bind_pod(pod);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", version, quorum));
	binder_poll(b.binder);
	snprintf(path, sizeof(path), "/api/v1/namespaces/ns/pods/%s/binding", pod);
	return world_take(&b.w, "POST", path);
}

/* Of pod a. */
static struct gang_view gang(void)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", "a");
	struct gang_view g;

	cr_assert(model_gang(b.m, cmd.gang, cmd.gang_generation, &g));
	return g;
}

static struct http_call *asked(void)
{
	struct http_call *c;

	bind_pod("a");
	bind_pod("b");
	cr_assert_eq(world_open(&b.w), 1, "one read, and no Binding before its answer");
	cr_assert_eq(binder_queued(b.binder), 2);
	c = world_take(&b.w, "GET", GROUP);
	cr_assert_str_eq(c->path, GROUP);
	cr_assert_eq(c->lane, HTTP_CALL);
	return c;
}

static void both_go(void)
{
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/a/binding"), 201, "{}");
	world_answer(world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/b/binding"), 201, "{}");
	cr_assert_str_eq(b.said, "bound bound ");
	cr_assert_eq(binder_queued(b.binder), 0);
}

static void none_goes(void)
{
	cr_assert_str_eq(b.said, "refused:1 refused:1 ");
	binder_poll(b.binder);
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(binder_queued(b.binder), 0);
	cr_assert_eq(binder_counts(b.binder)->groups_changed, 1);
}

Test(group_recheck, goes_before_the_first_binding)
{
	world_answer(asked(), 200, world_group("g", "3", 2));
	both_go();
	cr_assert_eq(binder_counts(b.binder)->group_reads, 1);
	cr_assert_eq(binder_counts(b.binder)->groups_changed, 0);
}

Test(group_recheck, a_higher_quorum_gives_the_plan_back)
{
	world_answer(asked(), 200, world_group("g", "9", 5));
	none_goes();
	cr_assert_eq(gang().quorum, 5, "what was read is known");
}

/* muster writes statuses itself. */
Test(group_recheck, another_version_that_asks_for_the_same_does_not)
{
	world_answer(asked(), 200, world_group("g", "9", 2));
	both_go();
}

Test(group_recheck, a_plan_for_what_was_known_before_is_given_back)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", "a");

	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "9", 5));
	cr_assert_eq(binder_bind(b.binder, CMD_BIND, &cmd), 0);
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "9", 5));
	cr_assert_str_eq(b.said, "refused:1 ");
}

/* The quorum was raised while "a" waited for the answer: the plan of "b" counts on "a". */
Test(group_recheck, what_was_planned_beside_it_is_given_back_too)
{
	struct http_call *c;

	bind_pod("a");
	c = world_take(&b.w, "GET", GROUP);
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "9", 3));
	bind_pod("b");
	world_answer(c, 200, world_group("g", "9", 3));
	none_goes();
}

Test(group_recheck, a_group_that_is_gone_lets_nobody_begin)
{
	world_answer(asked(), 404, GONE);
	none_goes();
	cr_assert(gang().missing);
}

/* A proxy's 404, a server in trouble, no connection. */
Test(group_recheck, is_asked_again)
{
	struct http_call *c;
	uint64_t due;

	world_answer(asked(), 404, "<html>not found</html>");
	for (int i = 0; i < 3; i++) {
		due = binder_poll(b.binder);
		cr_assert_eq(world_open(&b.w), 0);
		cr_assert_neq(due, UINT64_MAX);
		b.w.now_ns = due;
		binder_poll(b.binder);
		c = world_take(&b.w, "GET", GROUP);
		if (i == 0)
			world_answer(c, 503, "{}");
		else if (i == 1)
			world_fail(c, HTTP_NOT_SENT);
		else
			world_answer(c, 200, world_group("g", "3", 2));
	}
	both_go();
}

Test(group_recheck, another_token_is_tried)
{
	world_answer(asked(), 401, "{}");
	cr_assert_eq(b.w.renewals, 1);
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 2));
	both_go();
}

/* A ClusterRole without get. */
Test(group_recheck, what_is_forbidden_holds_nobody_up)
{
	world_answer(asked(), 403, "{}");
	both_go();
	cr_assert(world_said(&b.w, "needs get"));
}

Test(group_recheck, a_gang_that_has_begun_goes_on)
{
	world_answer(read_and_bound("a", "3", 2), 201, "{}");
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "8", "g", "\"nodeName\":\"n1\""));
	binder_poll(b.binder);
	bind_pod("b");
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/b/binding");
	cr_assert_eq(binder_counts(b.binder)->group_reads, 1);
}

/* A member that has a node need not have it from this process: another scheduler may have begun the
 * gang, whose quorum the watch may not have told yet. */
Test(group_recheck, a_gang_that_another_scheduler_began_is_read_once)
{
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 1));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "8", "g", "\"nodeName\":\"n1\""));
	bind_pod("b");
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "9", 6));
	cr_assert_str_eq(b.said, "refused:1 ");
	cr_assert_eq(gang().quorum, 6);
	world_answer(read_and_bound("b", "9", 6), 201, "{}");
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "10", "g", "\"nodeName\":\"n1\""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "11", "g", ""));
	binder_poll(b.binder);
	bind_pod("c");
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/c/binding");
	cr_assert_eq(binder_counts(b.binder)->group_reads, 2);
}

/* What was released and refused has begun nothing. */
Test(group_recheck, a_gang_whose_bindings_failed_is_read_again)
{
	world_answer(read_and_bound("a", "3", 2), 404, GONE);
	binder_poll(b.binder);
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "8", "g", "\"nodeName\":\"n1\""));
	bind_pod("b");
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "9", 6));
	cr_assert_eq(gang().quorum, 6);
	cr_assert_eq(world_open(&b.w), 0, "it is planned again by the quorum of now");
}

/* The watch need not have told of the first one. */
Test(group_recheck, once_for_those_that_go_out_together)
{
	bind_pod("a");
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 2));
	bind_pod("b");
	both_go();
	cr_assert_eq(binder_counts(b.binder)->group_reads, 1);
}

Test(group_recheck, who_was_refused_altogether_is_read_anew)
{
	world_answer(asked(), 200, world_group("g", "9", 3));
	none_goes();
	b.said[0] = '\0';
	world_answer(asked(), 200, world_group("g", "10", 3));
	both_go();
	cr_assert_eq(binder_counts(b.binder)->group_reads, 2);
}

Test(group_recheck, a_core_that_is_gone_takes_its_plans_along)
{
	struct http_call *c = asked();
	binder_core_down(b.binder);
	cr_assert(c->cancelled);
	cr_assert_eq(binder_queued(b.binder), 0);
	cr_assert_str_eq(b.said, "", "nothing was sent, and nobody is there to be told");
	world_answer(asked(), 200, world_group("g", "3", 2)); /* the next one's */
	both_go();
}

Test(group_recheck, a_pod_by_itself_has_no_group)
{
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("lone", "7", "", ""));
	bind_pod("lone");
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/lone/binding");
}

/* Many small gangs at once leave connections to others. */
Test(group_recheck, few_at_once)
{
	char name[16], group[16], path[128];

	for (int i = 0; i < 10; i++) {
		snprintf(group, sizeof(group), "g%d", i);
		snprintf(name, sizeof(name), "m%d", i);
		world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group(group, "3", 1));
		world_put(b.m, RESOURCE_INDEX_PODS, world_member(name, "5", group, ""));
		world_flush(b.m);
		bind_pod(name);
	}
	for (unsigned i = 0; i < 10; i++) {
		cr_assert_eq(binder_counts(b.binder)->group_reads, i + 4 < 10 ? i + 4 : 10);
		snprintf(path, sizeof(path), GROUP "%u", i);
		world_answer(world_take(&b.w, "GET", path), 503, "{}");
		binder_poll(b.binder);
	}
	cr_assert_eq(world_open(&b.w), 0);
}
