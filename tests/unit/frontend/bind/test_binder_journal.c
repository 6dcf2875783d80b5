/* SPDX-License-Identifier: Apache-2.0 */
/* No Binding before the journal has its intent, and what becomes of the intents of an earlier
 * instance. */
#include "frontend/bind/binder.h"
#include "frontend/bind/takeover.h"
#include "frontend/dialect/dialects.h"
#include "frontend/journal/journal.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define POST "/api/v1/namespaces/ns/pods/a/binding"
#define POD "/api/v1/namespaces/ns/pods/a"
#define POST_M "/api/v1/namespaces/ns/pods/m/binding"
#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g"
#define JOURNAL "/api/v1/namespaces/ns/configmaps/j"
#define THEIRS                                                                                         \
	"{\"metadata\":{\"name\":\"t\",\"namespace\":\"ns\",\"uid\":\"uid-t\",\"resourceVersion\":\"6\"}," \
	"\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\"}]}}"
#define UID_A "00000000-0000-0000-0000-000000000061"

static void assumed_note(void *context, struct intent *i, pod_id pod, uint32_t generation);

static struct bench {
	struct world w;
	struct model *m;
	struct journal *journal;
	struct binder *binder;
	struct takeover *takeover;
	char said[200];
	uint32_t flags; /* of the last record of a pod */
	unsigned assumed;
	_Alignas(8) char body[RECORD_BYTES_MAX];
	enum record_kind kind;
} b;

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	strcat(b.said, kind == RESULT_BOUND     ? "bound "
	               : kind == RESULT_REFUSED ? "refused "
	                                        : "unknown ");
}

static void on_notice(void *context, const struct bind_notice *n)
{
}

static void look(void)
{
	if (b.kind == EVENT_POD)
		b.flags = ((const struct event_pod *)(const void *)b.body)->flags;
	b.kind = RECORD_PAD;
}

static void *take(void *context, enum record_kind kind, uint32_t bytes)
{
	cr_assert_leq(bytes, sizeof(b.body));
	look();
	b.kind = kind;
	return b.body;
}

static void flush(void)
{
	const struct model_sink sink = { .reserve = take };

	b.flags = 0;
	cr_assert(model_flush(b.m, &sink));
	look();
}

static void assumed_note(void *context, struct intent *i, pod_id pod, uint32_t generation)
{
	cr_assert(intent_line(i)->kind == INTENT_ASSUME && generation != 0);
	b.assumed++;
}

/* The journal is open, has what another instance left, and takes so many; 0: as in production. */
static void begin_of(const char *lines, bool extends, size_t intents_most)
{
	struct journal_config journal = { .env = &b.w.env,
		                              .namespace = "ns",
		                              .name = "j",
		                              .identity = "me",
		                              .intents_most = intents_most };
	struct binder_config config = {
		.env = &b.w.env, .connections = 4, .result = on_result, .notice = on_notice
	};

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = config.model = extends ? world_model_of_all() : world_model();
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n2", "2"));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "5", "", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, THEIRS);
	b.journal = config.journal = journal_new(&journal);
	b.takeover = takeover_new(&b.w.env, b.m);
	b.binder = binder_new(&config);
	flush();
	journal_claim(b.journal);
	journal_poll(b.journal);
	world_answer(world_take(&b.w, "GET", JOURNAL), 200, world_journal(10, lines));
	journal_poll(b.journal);
	world_answer(world_take(&b.w, "PUT", JOURNAL), 200, world_journal(11, ""));
	cr_assert(journal_is_open(b.journal));
	binder_take_over(b.binder, b.takeover, extends ? assumed_note : NULL, NULL);
	b.w.now_ns += SECOND;
}

static void begin_as(const char *lines, bool extends)
{
	begin_of(lines, extends, 0);
}

static void begin_with(const char *lines, size_t intents_most)
{
	begin_of(lines, false, intents_most);
}

static void begin(const char *lines)
{
	begin_of(lines, false, 0);
}

static void end(void)
{
	binder_free(b.binder);
	journal_free(b.journal);
	takeover_free(b.takeover);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(binder_journal, .fini = end);

static void command_of(const char *pod, enum record_kind kind)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", pod);

	cr_assert_eq(binder_bind(b.binder, kind, &cmd), 0);
}

static void command(enum record_kind kind)
{
	command_of("a", kind);
}

static void poll(void)
{
	journal_poll(b.journal);
	binder_poll(b.binder);
}

Test(binder_journal, no_binding_before_its_intent)
{
	struct http_call *c;

	begin("");
	command(CMD_BIND);
	poll();
	c = world_take(&b.w, "PUT", JOURNAL);
	cr_assert_eq(world_open(&b.w), 1, "the Binding waits");
	cr_assert(strstr(c->body, "bind " UID_A " n1 "), "%s", c->body);
	world_answer(c, 200, world_journal(12, ""));
	poll();
	world_answer(world_take(&b.w, "POST", POST), 201, "{}");
	cr_assert_str_eq(b.said, "bound ");
	cr_assert_eq(journal_size(b.journal), 0, "it is over");
}

/* A full journal takes the intent of a only when that of m is over, which was added before; m is
 * behind a since its group was read meanwhile. */
Test(binder_journal, a_binding_does_not_wait_for_intents_that_wait_for_it)
{
	struct http_call *put;

	begin_with("", 1);
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 1));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("m", "6", "g", ""));
	flush();
	command_of("m", CMD_BIND);
	command_of("a", CMD_BIND);
	poll();
	put = world_take(&b.w, "PUT", JOURNAL);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 1));
	poll();
	world_answer(put, 200, world_journal(12, ""));
	poll();
	world_answer(world_take(&b.w, "POST", POST_M), 201, "{}");
	b.w.now_ns += SECOND;
	poll();
	world_answer(world_take(&b.w, "PUT", JOURNAL), 200, world_journal(13, ""));
	poll();
	world_answer(world_take(&b.w, "POST", POST), 201, "{}");
	cr_assert_str_eq(b.said, "bound bound ");
}

/* Else an instance that does not know that another one leads (its clocks stood still) reads the
 * version after the fence of its Binding, and binds by it. */
Test(binder_journal, a_binding_names_the_version_of_its_intent)
{
	struct http_call *put;

	begin("");
	command(CMD_BIND);
	poll();
	world_answer(world_take(&b.w, "PUT", JOURNAL), 200, world_journal(12, ""));
	poll();
	world_answer(world_take(&b.w, "POST", POST), 409, world_status(409, "Conflict", "moved"));
	b.w.now_ns += SECOND;
	poll();
	world_answer(world_take(&b.w, "GET", POD), 200, world_pod("a", "6", "", ""));
	b.w.now_ns += SECOND;
	binder_poll(b.binder);
	poll();
	put = world_take(&b.w, "PUT", JOURNAL);
	cr_assert_eq(world_open(&b.w), 1, "no Binding for the new version yet");
	cr_assert(strstr(put->body, "bind " UID_A " n1 n-n1 6"), "%s", put->body);
	world_answer(put, 200, world_journal(13, ""));
	b.w.now_ns += SECOND;
	poll();
	world_answer(world_take(&b.w, "POST", POST), 201, "{}");
	cr_assert_str_eq(b.said, "unknown bound ");
	cr_assert_eq(journal_size(b.journal), 0);
}

Test(binder_journal, a_write_that_fails_keeps_the_binding_back)
{
	begin("");
	command(CMD_BIND);
	poll();
	world_answer(world_take(&b.w, "PUT", JOURNAL), 403, world_status(403, "Forbidden", "no"));
	poll();
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(binder_queued(b.binder), 1);
}

Test(binder_journal, an_earlier_intent_goes_to_the_core_and_stays_until_it_is_over)
{
	begin("bind " UID_A " n1 - 5\\n");
	flush();
	cr_assert(b.flags & POD_INTENT_BIND);
	model_restart(b.m);
	flush();
	cr_assert(b.flags & POD_INTENT_BIND, "the next core is told as well");
	command(CMD_CANCEL_BIND);
	poll();
	cr_assert_eq(journal_size(b.journal), 1, "it may still land");
	world_answer(world_take(&b.w, "GET", POD), 200, world_pod("a", "5", "", ""));
	b.w.now_ns += SECOND;
	poll();
	world_answer(world_take(&b.w, "PATCH", POD "/status"), 200, world_pod("a", "6", "", ""));
	poll();
	world_answer(world_take(&b.w, "GET", POD), 200, world_pod("a", "6", "", ""));
	cr_assert_str_eq(b.said, "refused ");
	cr_assert_eq(journal_size(b.journal), 0);
}

/* A Binding names the node by name: it may still land there. */
Test(binder_journal, one_to_a_node_that_was_made_again_is_cancelled)
{
	begin("bind " UID_A " n1 another-uid 5\\n");
	flush();
	cr_assert(b.flags & POD_INTENT_CANCEL);
}

Test(binder_journal, one_to_a_node_that_is_gone_is_fenced)
{
	begin("bind " UID_A " n9 - 5\\n");
	flush();
	cr_assert_eq(b.flags & POD_INTENTS, 0);
	takeover_begin(b.takeover, INTENTS_FENCE_NONE);
	takeover_poll(b.takeover);
	world_answer(world_take(&b.w, "PATCH", POD "/status"), 200, world_pod("a", "6", "", ""));
	cr_assert(takeover_over(b.takeover));
	cr_assert_eq(journal_size(b.journal), 1, "it may land until all are fenced");
	binder_fenced(b.binder);
	poll();
	cr_assert_eq(journal_size(b.journal), 0, "a pod that waits on keeps no intent");
}

Test(binder_journal, what_is_over_is_not_told)
{
	begin("bind 00000000-0000-0000-0000-00000000ffff n1 - 5\\n");
	flush();
	cr_assert_eq(b.flags & POD_INTENTS, 0);
	cr_assert_eq(journal_size(b.journal), 0);
}

Test(binder_journal, a_pod_that_got_its_node_needs_no_intent)
{
	begin("bind " UID_A " n1 - 5\\n");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", "\"nodeName\":\"n1\"", ""));
	poll();
	cr_assert_eq(journal_size(b.journal), 0);
}

/* Audit F8. */
Test(binder_journal, what_another_scheduler_was_given_goes_to_the_extender)
{
	begin_as("assume uid-t n1 - -\\n", true);
	cr_assert(b.assumed == 1 && journal_size(b.journal) == 1);
	end();
	begin_as("assume uid-t n1 - -\\n", false);
	cr_assert(b.assumed == 0 && journal_size(b.journal) == 0, "there is no extender");
}

/* Such a line was edited by hand, or the pod's scheduler is ours since. */
Test(binder_journal, a_pod_of_ours_is_not_assumed)
{
	begin_as("assume " UID_A " n1 - -\\n", true);
	flush();
	cr_assert(b.assumed == 0 && journal_size(b.journal) == 0);
	cr_assert_eq(b.flags & POD_INTENTS, 0);
}
