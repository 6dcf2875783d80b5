/* SPDX-License-Identifier: Apache-2.0 */
/* A gang begins only by what its group asks for now: what is read before its first Binding, and
 * what each answer does to those that wait for it. */
#include "frontend/bind/writer.h"

#include "frontend/dialect/dialect.h"

#include "tests/unit/support_world.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g"
#define GONE "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404}"

struct bench {
	struct world w;
	struct model *m;
	struct writer *writer;
	char said[256]; /* results: "B r:1 " */
};

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	struct bench *b = context;
	size_t n = strlen(b->said);

	if (kind == RESULT_REFUSED)
		snprintf(b->said + n, sizeof(b->said) - n, "refused:%u ", r->retry_ms);
	else
		snprintf(b->said + n, sizeof(b->said) - n, "%s ",
		         kind == RESULT_BOUND ? "bound" : "unknown");
}

static void on_notice(void *context, const struct bind_notice *n)
{
	(void)context, (void)n;
}

static void told(struct bench *b)
{
	while (!model_flush(b->m, &world_sink))
		continue;
}

/* Group g asks for two; a and b are its members. */
static void begin(struct bench *b)
{
	struct writer_config config = {
		.env = &b->w.env,
		.connections = 4,
		.result = on_result,
		.notice = on_notice,
		.context = b,
	};

	memset(b, 0, sizeof(*b));
	world_init(&b->w);
	config.model = b->m = world_model();
	world_put(b->m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b->m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 2));
	world_put(b->m, RESOURCE_INDEX_PODS, world_member("a", "5", "g", ""));
	world_put(b->m, RESOURCE_INDEX_PODS, world_member("b", "6", "g", ""));
	told(b);
	b->writer = writer_new(&config);
}

static void end(struct bench *b)
{
	writer_free(b->writer);
	model_free(b->m);
	world_free(&b->w);
}

static struct gang_view gang(struct bench *b, const char *pod, struct cmd_bind *cmd)
{
	struct pod_view v;
	struct gang_view g;

	cr_assert(model_pod_by_name(b->m, "ns", pod, &v));
	cmd->pod = v.id;
	cmd->pod_generation = v.generation;
	cmd->gang = v.gang_id;
	for (cmd->gang_generation = 1; !model_gang(b->m, v.gang_id, cmd->gang_generation, &g);
	     cmd->gang_generation++)
		cr_assert_lt(cmd->gang_generation, 10);
	return g;
}

/* As the core plans it by what the model knows. */
static void bind_pod(struct bench *b, const char *pod)
{
	struct cmd_bind cmd = { .node = 0, .node_generation = 1, .attempt = 1 };

	gang(b, pod, &cmd);
	cmd.terms = model_gang_terms(b->m, cmd.gang);
	cr_assert_eq(writer_bind(b->writer, CMD_BIND, &cmd), 0);
	writer_poll(b->writer);
}

static uint32_t quorum(struct bench *b)
{
	struct cmd_bind cmd;

	return gang(b, "a", &cmd).quorum;
}

static struct http_call *asked(struct bench *b)
{
	struct http_call *c;

	bind_pod(b, "a");
	bind_pod(b, "b");
	cr_assert_eq(world_open(&b->w), 1, "one read, and no Binding before its answer");
	cr_assert_eq(writer_queued(b->writer), 2);
	c = world_take(&b->w, "GET", GROUP);
	cr_assert_str_eq(c->path, GROUP);
	cr_assert_eq(c->lane, HTTP_CALL);
	return c;
}

static void both_go(struct bench *b)
{
	writer_poll(b->writer);
	world_answer(world_take(&b->w, "POST", "/api/v1/namespaces/ns/pods/a/binding"), 201, "{}");
	world_answer(world_take(&b->w, "POST", "/api/v1/namespaces/ns/pods/b/binding"), 201, "{}");
	cr_assert_str_eq(b->said, "bound bound ");
	cr_assert_eq(writer_queued(b->writer), 0);
}

static void none_goes(struct bench *b)
{
	cr_assert_str_eq(b->said, "refused:1 refused:1 ");
	writer_poll(b->writer);
	cr_assert_eq(world_open(&b->w), 0);
	cr_assert_eq(writer_queued(b->writer), 0);
	cr_assert_eq(writer_counts(b->writer)->groups_changed, 1);
}

Test(groupread, goes_before_the_first_binding)
{
	struct bench b;

	begin(&b);
	world_answer(asked(&b), 200, world_group("g", "3", 2));
	both_go(&b);
	cr_assert_eq(writer_counts(b.writer)->group_reads, 1);
	cr_assert_eq(writer_counts(b.writer)->groups_changed, 0);
	end(&b);
}

Test(groupread, a_higher_quorum_gives_the_plan_back)
{
	struct bench b;

	begin(&b);
	world_answer(asked(&b), 200, world_group("g", "9", 5));
	none_goes(&b);
	cr_assert_eq(quorum(&b), 5, "what was read is known");
	end(&b);
}

/* muster writes statuses itself. */
Test(groupread, another_version_that_asks_for_the_same_does_not)
{
	struct bench b;

	begin(&b);
	world_answer(asked(&b), 200, world_group("g", "9", 2));
	both_go(&b);
	end(&b);
}

Test(groupread, a_plan_for_what_was_known_before_is_given_back)
{
	struct bench b;
	struct cmd_bind cmd = { .node = 0, .node_generation = 1, .attempt = 1 };

	begin(&b);
	gang(&b, "a", &cmd);
	cmd.terms = model_gang_terms(b.m, cmd.gang);
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "9", 5));
	cr_assert_eq(writer_bind(b.writer, CMD_BIND, &cmd), 0);
	writer_poll(b.writer);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "9", 5));
	cr_assert_str_eq(b.said, "refused:1 ");
	end(&b);
}

Test(groupread, a_group_that_is_gone_lets_nobody_begin)
{
	struct bench b;
	struct cmd_bind cmd;

	begin(&b);
	world_answer(asked(&b), 404, GONE);
	none_goes(&b);
	cr_assert(gang(&b, "a", &cmd).missing);
	end(&b);
}

/* A proxy's 404, a server in trouble, no connection. */
Test(groupread, is_asked_again)
{
	struct bench b;
	struct http_call *c;
	uint64_t due;

	begin(&b);
	world_answer(asked(&b), 404, "<html>not found</html>");
	for (int i = 0; i < 3; i++) {
		due = writer_poll(b.writer);
		cr_assert_eq(world_open(&b.w), 0);
		cr_assert_neq(due, UINT64_MAX);
		b.w.now_ns = due;
		writer_poll(b.writer);
		c = world_take(&b.w, "GET", GROUP);
		if (i == 0)
			world_answer(c, 503, "{}");
		else if (i == 1)
			world_fail(c, HTTP_NOT_SENT);
		else
			world_answer(c, 200, world_group("g", "3", 2));
	}
	both_go(&b);
	end(&b);
}

Test(groupread, another_token_is_tried)
{
	struct bench b;

	begin(&b);
	world_answer(asked(&b), 401, "{}");
	cr_assert_eq(b.w.renewals, 1);
	writer_poll(b.writer);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 2));
	both_go(&b);
	end(&b);
}

/* A ClusterRole without get. */
Test(groupread, what_is_forbidden_holds_nobody_up)
{
	struct bench b;

	begin(&b);
	world_answer(asked(&b), 403, "{}");
	both_go(&b);
	cr_assert(world_said(&b.w, "needs get"));
	end(&b);
}

Test(groupread, a_gang_that_has_begun_goes_on)
{
	struct bench b;

	begin(&b);
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "8", "g", "\"nodeName\":\"n1\""));
	bind_pod(&b, "b");
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/b/binding");
	cr_assert_eq(writer_counts(b.writer)->group_reads, 0);
	end(&b);
}

/* The watch need not have told of the first one. */
Test(groupread, once_for_those_that_go_out_together)
{
	struct bench b;

	begin(&b);
	bind_pod(&b, "a");
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 2));
	bind_pod(&b, "b");
	both_go(&b);
	cr_assert_eq(writer_counts(b.writer)->group_reads, 1);
	end(&b);
}

Test(groupread, who_was_refused_altogether_is_read_anew)
{
	struct bench b;

	begin(&b);
	world_answer(asked(&b), 200, world_group("g", "9", 3));
	none_goes(&b);
	b.said[0] = '\0';
	world_answer(asked(&b), 200, world_group("g", "10", 3));
	both_go(&b);
	cr_assert_eq(writer_counts(b.writer)->group_reads, 2);
	end(&b);
}

Test(groupread, a_core_that_is_gone_takes_its_plans_along)
{
	struct bench b;
	struct http_call *c;

	begin(&b);
	c = asked(&b);
	writer_core_down(b.writer);
	cr_assert(c->cancelled);
	cr_assert_eq(writer_queued(b.writer), 0);
	cr_assert_str_eq(b.said, "", "nothing was sent, and nobody is there to be told");
	world_answer(asked(&b), 200, world_group("g", "3", 2)); /* the next one's */
	both_go(&b);
	end(&b);
}

Test(groupread, a_pod_by_itself_has_no_group)
{
	struct bench b;
	struct cmd_bind cmd = { .node = 0, .node_generation = 1, .gang = ID_NONE, .attempt = 1 };
	struct pod_view v;

	begin(&b);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("lone", "7", "", ""));
	cr_assert(model_pod_by_name(b.m, "ns", "lone", &v));
	cmd.pod = v.id;
	cmd.pod_generation = v.generation;
	cr_assert_eq(writer_bind(b.writer, CMD_BIND, &cmd), 0);
	writer_poll(b.writer);
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/lone/binding");
	end(&b);
}

/* Many small gangs at once leave connections to others. */
Test(groupread, few_at_once)
{
	struct bench b;
	char name[16], group[16], path[128];

	begin(&b);
	for (int i = 0; i < 10; i++) {
		snprintf(group, sizeof(group), "g%d", i);
		snprintf(name, sizeof(name), "m%d", i);
		world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group(group, "3", 1));
		world_put(b.m, RESOURCE_INDEX_PODS, world_member(name, "5", group, ""));
		told(&b);
		bind_pod(&b, name);
	}
	for (unsigned i = 0; i < 10; i++) {
		cr_assert_eq(writer_counts(b.writer)->group_reads, i + 4 < 10 ? i + 4 : 10);
		snprintf(path, sizeof(path), GROUP "%u", i);
		world_answer(world_take(&b.w, "GET", path), 503, "{}");
		writer_poll(b.writer);
	}
	cr_assert_eq(world_open(&b.w), 0);
	end(&b);
}
