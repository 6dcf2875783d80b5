/* SPDX-License-Identifier: Apache-2.0 */
/* The extender: kube-scheduler's requests as text, and what the loop makes of them, with a core
 * that the test plays. */
#include "frontend/serve/extender.h"

#include "frontend/base/log.h"
#include "frontend/journal/journal.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define POD                                                                                        \
	"\"Pod\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"uid-a\",\"labels\":{\"uid\":\"x\"}},\"spec\":{}}"

static int read_question(struct arena *a, enum extender_verb verb, const char *json,
                         struct extender_question *q, char error[256])
{
	*error = '\0';
	return extender_read(verb, json, strlen(json), a, q, error, 256);
}

static const char *written(const struct extender_question *q, size_t chosen, const char *error)
{
	static char text[4096];
	struct extender_answer a = { .chosen = chosen, .error = error };
	struct bytes out = { 0 };

	extender_write(q, &a, &out);
	snprintf(text, sizeof(text), "%.*s", (int)out.n, out.at);
	bytes_free(&out);
	return text;
}

Test(extender, names_alone)
{
	struct arena arena = { 0 };
	struct extender_question q;
	char error[256];

	cr_assert_eq(read_question(&arena, EXTENDER_FILTER,
	                           "{" POD ",\"Nodes\":null,\"NodeNames\":[\"n1\",\"n\\u0032\"]}", &q,
	                           error),
	             0, "%s", error);
	cr_assert_str_eq(q.name, "a");
	cr_assert_str_eq(q.namespace, "ns");
	cr_assert_str_eq(q.uid, "uid-a");
	cr_assert(q.nodes_n == 2 && q.names_only && text_is(q.names[1], "n2"));
	cr_assert_str_eq(
		written(&q, 1, NULL),
		"{\"Nodes\":null,\"NodeNames\":[\"n2\"],\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
	cr_assert_str_eq(
		written(&q, EXTENDER_NOWHERE, NULL),
		"{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{\"n1\":\"node(s) had no room that muster has not promised to "
		"others\",\"n2\":\"node(s) had no room that muster has not promised to others\"},"
		"\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
	cr_assert_str_eq(
		written(&q, EXTENDER_NOWHERE, "no \"core\""),
		"{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"no \\\"core\\\"\"}");
	arena_free(&arena);
}

Test(extender, whole_nodes)
{
	const char *n1 =
		"{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"name\":\"x\"}},\"status\":{\"a\":[1,2]}}";
	struct arena arena = { 0 };
	struct extender_question q;
	char json[1000], wanted[1000], error[256];

	snprintf(
		json, sizeof(json),
		"{" POD
		",\"Nodes\":{\"metadata\":{},\"items\":[%s,{\"metadata\":{\"name\":\"n2\"}}]},\"NodeNames\":null}",
		n1);
	cr_assert_eq(read_question(&arena, EXTENDER_FILTER, json, &q, error), 0, "%s", error);
	cr_assert(q.nodes_n == 2 && !q.names_only && text_is(q.names[0], "n1") &&
	          text_is(q.names[1], "n2"));
	snprintf(
		wanted, sizeof(wanted),
		"{\"Nodes\":{\"metadata\":{},\"items\":[%s]},\"NodeNames\":null,\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}",
		n1);
	cr_assert_str_eq(written(&q, 0, NULL), wanted);
	arena_free(&arena);
}

Test(extender, scores)
{
	struct arena arena = { 0 };
	struct extender_question q;
	char error[256];

	cr_assert_eq(read_question(&arena, EXTENDER_PRIORITIZE,
	                           "{" POD ",\"NodeNames\":[\"n1\",\"n2\"]}", &q, error),
	             0);
	cr_assert_str_eq(written(&q, 1, NULL),
	                 "[{\"Host\":\"n1\",\"Score\":0},{\"Host\":\"n2\",\"Score\":10}]");
	cr_assert_str_eq(written(&q, EXTENDER_NOWHERE, NULL),
	                 "[{\"Host\":\"n1\",\"Score\":0},{\"Host\":\"n2\",\"Score\":0}]");
	arena_free(&arena);
}

Test(extender, bad_requests)
{
	static const struct {
		const char *json, *error;
	} bad[] = {
		{ "", "the request is cut off" },
		{ "{}", "Pod.metadata: no name or no namespace" },
		{ "{" POD ",\"NodeNames\":[1]}", "NodeNames[0]" },
		{ "{" POD ",\"Nodes\":{\"items\":[{\"metadata\":7}]}}", "Nodes.items[0]: is not a node" },
		{ "{" POD ",\"NodeNames\":[\"n1\"]} x", "" },
		{ "{\"Pod\":{\"metadata\":{\"name\":3}}}", "Pod.metadata.name" },
		{ "{" POD ",\"NodeNames\":[\"n\\u0001\"]}", "NodeNames[0]: is not a name" },
		{ "{" POD ",\"NodeNames\":[\"\"]}", "NodeNames[0]: is not a name" },
		{ "{" POD ",\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a b\"}}]}}", "is not a name" },
		{ "{\"Pod\":{\"metadata\":{\"name\":\"a/b\"}}}", "Pod.metadata.name: is not a name" },
	};
	struct arena arena = { 0 };
	struct extender_question q;
	char error[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cr_assert_eq(read_question(&arena, EXTENDER_FILTER, bad[i].json, &q, error), -EINVAL, "%s",
		             bad[i].json);
		cr_assert(*error && strstr(error, bad[i].error), "%s: %s", bad[i].json, error);
	}
	arena_free(&arena);
}

/* Audit F4: small items of a legal body would take more memory than the body. */
Test(extender, f4_nodes_of_a_request_are_bounded)
{
	const size_t n = EXTENDER_NODES_MAX + 1;
	char *json = malloc(n * 4 + 200), *at = json, error[256];
	struct arena arena = { 0 };
	struct extender_question q;

	at += sprintf(at, "{" POD ",\"NodeNames\":[");
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, "%s\"a\"", i > 0 ? "," : "");
	strcpy(at, "]}");
	cr_assert_eq(read_question(&arena, EXTENDER_FILTER, json, &q, error), -EINVAL);
	cr_assert(strstr(error, "more than 131072 nodes"), "%s", error);
	arena_free(&arena);
	free(json);
}

static struct scene {
	struct world w;
	struct model *m;
	struct journal *journal; /* NULL: none is kept */
	struct extender *x;
	struct frontend_port port;
	struct limits limits;
	bool full;
	unsigned published, done;
	struct {
		struct event_assume e;
		uint64_t set[16];
	} assume;
	struct arena arena;
	struct extender_job job;
	const char *error; /* of the job that was done */
	size_t chosen;
} s;

static void *scene_event(void *context, enum record_kind kind, uint32_t bytes)
{
	cr_assert_eq(kind, EVENT_ASSUME);
	cr_assert(bytes <= sizeof(s.assume));
	return s.full ? NULL : &s.assume;
}

static void scene_publish(void *context)
{
	s.published++;
}

static void scene_done(void *context)
{
	s.done++;
	s.error = s.job.answer.error;
	s.chosen = s.job.answer.chosen;
}

#define JOURNAL "/api/v1/namespaces/ns/configmaps/j"

/* The journal is open, and has what another instance left. */
static void journal_begin(const char *lines)
{
	const struct journal_config config = {
		.env = &s.w.env, .namespace = "ns", .name = "j", .identity = "me"
	};

	s.journal = journal_new(&config);
	journal_claim(s.journal);
	journal_poll(s.journal);
	world_answer(world_take(&s.w, "GET", JOURNAL), 200, world_journal(10, lines));
	journal_poll(s.journal);
	world_answer(world_take(&s.w, "PUT", JOURNAL), 200, world_journal(11, ""));
	cr_assert(journal_is_open(s.journal));
}

static void scene_begin_with(const char *lines)
{
	memset(&s, 0, sizeof(s));
	world_init(&s.w);
	if (lines)
		journal_begin(lines);
	s.m = world_model_of_all();
	s.limits = (struct limits){ .nodes = 64, .pods = 256 };
	s.port = (struct frontend_port){ .event = scene_event, .publish = scene_publish };
	s.x = extender_new(&(struct extender_config){ .env = &s.w.env,
	                                              .model = s.m,
	                                              .journal = s.journal,
	                                              .keep_ms = 30000,
	                                              .reservations_max = 2 });
	world_put(s.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(s.m, RESOURCE_INDEX_NODES, world_node("n2", "1"));
}

static void scene_begin(void)
{
	scene_begin_with(NULL);
}

static void scene_end(void)
{
	if (!s.x)
		return;
	extender_free(s.x);
	s.x = NULL;
	journal_free(s.journal);
	model_free(s.m);
	arena_free(&s.arena);
	world_free(&s.w);
}

TestSuite(extender, .fini = scene_end);

static const char THEIRS[] =
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"uid-a\",\"resourceVersion\":\"5\"},"
	"\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\"}]}}";

static void scene_ask(enum extender_verb verb)
{
	char error[256];

	s.job = (struct extender_job){ .done = scene_done };
	cr_assert_eq(read_question(&s.arena, verb, "{" POD ",\"NodeNames\":[\"n2\",\"gone\",\"n1\"]}",
	                           &s.job.question, error),
	             0);
	extender_find(&s.job.question, model_node_names(s.m), &s.arena);
	extender_ask(s.x, &s.job);
}

Test(extender, a_question_and_its_answer)
{
	struct pod_view pod;
	struct cmd_assume answer;
	node_id n1;

	scene_begin();
	world_put(s.m, RESOURCE_INDEX_PODS, THEIRS);
	scene_ask(EXTENDER_FILTER);
	/* Not before there is a core, and room in its ring. */
	extender_poll(s.x, NULL, &s.limits);
	s.full = true;
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.published == 0 && s.done == 0);
	s.full = false;
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.published, 1);
	cr_assert(model_pod_by_name(s.m, "ns", "a", &pod));
	n1 = model_node_id(s.m, text_of("n1"));
	cr_assert(s.assume.e.pod == pod.id && s.assume.e.pod_generation == pod.generation &&
	          s.assume.e.keep_ms == 30000 && s.assume.e.words == 1);
	cr_assert_eq(s.assume.set[0], UINT64_C(1) << n1 | UINT64_C(1)
	                                                      << model_node_id(s.m, text_of("n2")));
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.published, 1, "it is sent once");
	answer = (struct cmd_assume){
		.pod = pod.id, .ticket = s.assume.e.ticket + 1, .node = n1, .node_generation = 1
	};
	extender_answered(s.x, &answer);
	cr_assert_eq(s.done, 0, "the answer to another question");
	answer.ticket--;
	extender_answered(s.x, &answer);
	cr_assert(s.done == 1 && !s.error && s.chosen == 2);
	cr_assert_eq(extender_counts(s.x)->placed, 1);
	scene_ask(EXTENDER_PRIORITIZE);
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.assume.e.keep_ms, 0, "a score keeps nothing");
	answer = (struct cmd_assume){
		.pod = pod.id, .ticket = s.assume.e.ticket, .node = ID_NONE, .reason = { .why = WAIT_ROOM }
	};
	extender_answered(s.x, &answer);
	cr_assert(s.done == 2 && !s.error && s.chosen == EXTENDER_NOWHERE);
}

/* Its names were read before. */
Test(extender, nodes_that_come_and_go_while_a_question_waits)
{
	node_id gone;
	const char *n1;

	scene_begin();
	scene_ask(EXTENDER_FILTER);
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.published, 0);
	world_put(s.m, RESOURCE_INDEX_NODES, world_node("gone", "1"));
	n1 = world_node("n1", "1");
	cr_assert_eq(model_remove(s.m, RESOURCE_INDEX_NODES, n1, strlen(n1), NULL), 0);
	world_put(s.m, RESOURCE_INDEX_PODS, THEIRS);
	extender_poll(s.x, &s.port, &s.limits);
	gone = model_node_id(s.m, text_of("gone"));
	cr_assert_eq(s.published, 1);
	cr_assert_eq(s.assume.set[0], UINT64_C(1) << gone | UINT64_C(1)
	                                                        << model_node_id(s.m, text_of("n2")));
}

Test(extender, a_pod_that_comes_later_and_one_that_never_comes)
{
	scene_begin();
	scene_ask(EXTENDER_FILTER);
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.published == 0 && s.done == 0);
	world_put(s.m, RESOURCE_INDEX_PODS, THEIRS);
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.published, 1);
	/* That core goes: the next one is asked. */
	extender_core_down(s.x);
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.published, 2);
	s.w.now_ns += 3 * SECOND;
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.done == 1 && strcmp(s.error, "muster-core does not answer") == 0);
	world_put(
		s.m, RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"another\",\"resourceVersion\":\"9\"},"
		"\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
	scene_ask(EXTENDER_FILTER);
	s.w.now_ns += 3 * SECOND;
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.done == 2 && strcmp(s.error, "muster does not know the pod yet") == 0);
	scene_ask(EXTENDER_FILTER);
	scene_end();
	cr_assert_eq(s.done, 3);
	cr_assert_str_eq(s.error, "muster is stopping");
}

Test(extender, a_pod_of_our_own_is_not_given_away)
{
	scene_begin();
	world_put(
		s.m, RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"uid-a\",\"resourceVersion\":\"5\"},"
		"\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\"}]}}");
	scene_ask(EXTENDER_FILTER);
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.done == 1 && strcmp(s.error, "muster places this pod itself") == 0);
}

#define KEEP_S 30

/* A filter question for the pod, whose text is THEIRS but for the name; what the core is asked to
 * keep, and `fits` as its answer. */
static uint32_t reserved_on(const char *pod_json, const char *node)
{
	struct cmd_assume answer;
	char json[400], error[256];

	snprintf(json, sizeof(json), "{\"Pod\":%s,\"NodeNames\":[\"n1\",\"n2\"]}", pod_json);
	s.job = (struct extender_job){ .done = scene_done };
	cr_assert_eq(read_question(&s.arena, EXTENDER_FILTER, json, &s.job.question, error), 0, "%s",
	             error);
	extender_find(&s.job.question, model_node_names(s.m), &s.arena);
	extender_ask(s.x, &s.job);
	extender_poll(s.x, &s.port, &s.limits);
	answer = (struct cmd_assume){ .pod = s.assume.e.pod,
		                          .ticket = s.assume.e.ticket,
		                          .node = node ? model_node_id(s.m, text_of(node)) : ID_NONE,
		                          .node_generation = 1 };
	extender_answered(s.x, &answer);
	return s.assume.e.keep_ms;
}

static const char *theirs(const char *name, const char *more)
{
	static char text[400];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"uid-%s\","
	         "\"resourceVersion\":\"5\"},\"spec\":{%s\"schedulerName\":\"default-scheduler\","
	         "\"containers\":[{\"name\":\"c\"}]}}",
	         name, name, more);
	return text;
}

static uint32_t reserved_ms(const char *pod_json, bool fits)
{
	return reserved_on(pod_json, fits ? "n1" : NULL);
}

/* Audit F3. */
Test(extender, f3_a_pod_without_uid_gets_no_reservation)
{
	scene_begin();
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	cr_assert_eq(reserved_ms("{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}", true), 0);
	cr_assert(s.done == 1 && s.chosen == 0, "it has an answer");
	cr_assert_eq(extender_counts(s.x)->unreserved[UNRESERVED_UID], 1);
	cr_assert_eq(reserved_ms(theirs("a", ""), true), KEEP_S * 1000);
}

Test(extender, f3_a_pod_that_is_never_bound_has_half_of_the_time)
{
	uint64_t begun;

	scene_begin();
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	/* While it does not fit its time does not begin. */
	cr_assert_eq(reserved_ms(theirs("a", ""), false), KEEP_S * 1000);
	s.w.now_ns += 40 * SECOND;
	begun = s.w.now_ns;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), KEEP_S * 1000);
	s.w.now_ns = begun + 10 * SECOND;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), 20000, "no longer than at first");
	cr_assert_eq(reserved_ms(theirs("a", ""), false), 20000);
	s.w.now_ns = begun + KEEP_S * SECOND;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), 0);
	s.w.now_ns = begun + 2 * KEEP_S * SECOND - 1;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), 0);
	cr_assert_eq(extender_counts(s.x)->unreserved[UNRESERVED_TIME], 2);
	s.w.now_ns = begun + 2 * KEEP_S * SECOND;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), KEEP_S * 1000);
}

Test(extender, f3_so_many_pods_at_once)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	scene_begin();
	for (int i = 0; i < 4; i++)
		world_put(s.m, RESOURCE_INDEX_PODS, theirs(names[i], ""));
	s.w.now_ns += SECOND;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), KEEP_S * 1000);
	cr_assert_eq(reserved_ms(theirs("b", ""), true), KEEP_S * 1000);
	cr_assert_eq(reserved_ms(theirs("c", ""), true), 0, "two are the most in this test");
	cr_assert_eq(extender_counts(s.x)->unreserved[UNRESERVED_LIMIT], 1);
	/* A pod that is bound makes room for the next. */
	world_put(
		s.m, RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"uid-b\",\"resourceVersion\":\"9\"},"
		"\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\"}]}}");
	s.w.now_ns += SECOND;
	cr_assert_eq(reserved_ms(theirs("c", ""), true), KEEP_S * 1000);
	/* One whose time is over does as well. */
	s.w.now_ns += (KEEP_S - 1) * SECOND;
	cr_assert_eq(reserved_ms(theirs("d", ""), true), KEEP_S * 1000);
	cr_assert_eq(reserved_ms(theirs("a", ""), true), 0);
}

/* What the ConfigMap gets. */
static struct http_call *journal_write(void)
{
	s.w.now_ns += SECOND; /* what was removed is written then */
	journal_poll(s.journal);
	return world_take(&s.w, "PUT", JOURNAL);
}

/* Accepts it; the extender goes on. */
static void journal_written(struct http_call *c)
{
	world_answer(c, 200, world_journal(12, ""));
	extender_poll(s.x, &s.port, &s.limits);
}

/* The last record of a pod, which the model writes after it got the space. */
static struct {
	_Alignas(8) char body[RECORD_BYTES_MAX];
	bool is_pod;
	struct event_pod pod;
} sent;

static void sent_look(void)
{
	if (sent.is_pod)
		memcpy(&sent.pod, sent.body, sizeof(sent.pod));
	sent.is_pod = false;
}

static void *sent_reserve(void *context, enum record_kind kind, uint32_t bytes)
{
	cr_assert_leq(bytes, sizeof(sent.body));
	sent_look();
	sent.is_pod = kind == EVENT_POD;
	return sent.body;
}

/* What the core gets of the only pod. */
static const struct event_pod *pod_sent(void)
{
	const struct model_sink sink = { .reserve = sent_reserve };

	sent.pod.generation = 0;
	cr_assert(model_flush(s.m, &sink));
	sent_look();
	cr_assert_neq(sent.pod.generation, 0);
	return &sent.pod;
}

static const struct event_pod *core_reads(void)
{
	extender_core_down(s.x);
	model_restart(s.m);
	extender_core_up(s.x);
	return pod_sent();
}

/* Audit F8. */
Test(extender, f8_no_answer_before_its_line)
{
	struct http_call *c;

	scene_begin_with("");
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	cr_assert_eq(reserved_ms(theirs("a", ""), true), KEEP_S * 1000);
	cr_assert_eq(s.done, 0, "both may die now");
	journal_poll(s.journal);
	c = world_take_with(&s.w, "PUT", JOURNAL, "\"intents\":\"assume uid-a n1 ");
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(s.done, 0);
	journal_written(c);
	cr_assert(s.done == 1 && s.chosen == 0 && !s.error);
	/* The same node again needs no write, another one replaces it. */
	reserved_ms(theirs("a", ""), true);
	cr_assert_eq(s.done, 2);
	reserved_on(theirs("a", ""), "n2");
	cr_assert_eq(s.done, 2);
	c = journal_write();
	cr_assert(strstr(c->body, "\"intents\":\"assume uid-a n2 "), "%s", c->body);
	journal_written(c);
	cr_assert(s.done == 3 && s.chosen == 1);
	/* The core found none, and reserves none any more. */
	reserved_ms(theirs("a", ""), false);
	c = journal_write();
	cr_assert(strstr(c->body, "\"intents\":\"\""), "%s", c->body);
}

Test(extender, f8_the_line_ends_with_the_pod_and_with_its_time)
{
	struct http_call *c;

	scene_begin_with("");
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("b", ""));
	reserved_ms(theirs("a", ""), true);
	journal_written(journal_write());
	reserved_ms(theirs("b", ""), true);
	journal_written(journal_write());
	cr_assert_eq(s.done, 2);
	world_put(
		s.m, RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"uid-b\",\"resourceVersion\":\"9\"},"
		"\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\"}]}}");
	s.w.now_ns += SECOND;
	cr_assert_leq(extender_poll(s.x, &s.port, &s.limits), s.w.now_ns + SECOND);
	c = journal_write();
	cr_assert(strstr(c->body, "\"intents\":\"assume uid-a n1 n-n1 -\\n\""), "%s", c->body);
	journal_written(c);
	s.w.now_ns += KEEP_S * SECOND;
	cr_assert_eq(extender_poll(s.x, &s.port, &s.limits), NEVER_NS, "nothing is reserved");
	c = journal_write();
	cr_assert(strstr(c->body, "\"intents\":\"\""), "%s", c->body);
	journal_written(c);
	cr_assert_eq(journal_size(s.journal), 0);
}

Test(extender, f8_nothing_is_reserved_that_can_not_be_written)
{
	scene_begin_with("");
	for (int i = 0; i < 2; i++)
		world_put(s.m, RESOURCE_INDEX_PODS, theirs(i == 0 ? "a" : "b", ""));
	cr_assert_eq(reserved_ms(theirs("a", ""), true), KEEP_S * 1000);
	world_answer(journal_write(), 403, world_status(403, "Forbidden", "no"));
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.done == 1 && s.chosen == 0 && !s.error, "it has an answer");
	cr_assert_eq(extender_counts(s.x)->unreserved[UNRESERVED_JOURNAL], 1);
	cr_assert_eq(reserved_ms(theirs("b", ""), true), 0);
	cr_assert(s.done == 2 && s.chosen == 0 && !s.error);
	cr_assert_eq(extender_counts(s.x)->unreserved[UNRESERVED_JOURNAL], 2);
}

Test(extender, f8_a_write_without_an_answer_delays_for_two_seconds)
{
	scene_begin_with("");
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	reserved_ms(theirs("a", ""), true);
	journal_write();
	cr_assert_leq(extender_poll(s.x, &s.port, &s.limits), s.w.now_ns + SECOND);
	cr_assert_eq(s.done, 0);
	s.w.now_ns += SECOND;
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert(s.done == 1 && s.chosen == 0 && !s.error);
	cr_assert_eq(extender_counts(s.x)->unreserved[UNRESERVED_JOURNAL], 1);
}

Test(extender, f8_a_new_core_reserves_for_the_rest_of_the_time)
{
	const struct event_pod *e;

	scene_begin();
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	reserved_ms(theirs("a", ""), true);
	s.w.now_ns += 10 * SECOND;
	e = core_reads();
	cr_assert_eq(e->flags & POD_INTENTS, POD_INTENT_BIND);
	cr_assert(e->node == model_node_id(s.m, text_of("n1")) && e->keep_ms == 20000);
	s.w.now_ns += 15 * SECOND;
	cr_assert_eq(core_reads()->keep_ms, 5000);
	s.w.now_ns += 5 * SECOND;
	e = core_reads();
	cr_assert_eq(e->flags & POD_INTENTS, 0, "it is over");
}

Test(extender, f8_what_an_earlier_instance_answered_has_its_time_again)
{
	struct pod_view pod;
	const struct event_pod *e;

	scene_begin_with("assume uid-a n1 - -\\nassume uid-a n2 - -\\nassume uid-b gone - -\\n");
	world_put(s.m, RESOURCE_INDEX_PODS, theirs("a", ""));
	cr_assert_eq(pod_sent()->flags & POD_INTENTS, 0, "it is read before the lists are complete");
	cr_assert(model_pod_by_name(s.m, "ns", "a", &pod));
	for (struct intent *i = journal_first(s.journal), *next; i; i = next) {
		next = journal_next(i);
		extender_adopt(s.x, i, pod.id,
		               pod.generation + (strcmp(intent_line(i)->uid, "uid-b") == 0));
	}
	cr_assert_eq(journal_size(s.journal), 1, "a pod has one, on a node that exists");
	e = pod_sent();
	cr_assert_eq(e->flags & POD_INTENTS, POD_INTENT_BIND);
	cr_assert(e->node == model_node_id(s.m, text_of("n1")) && e->keep_ms == KEEP_S * 1000);
	/* Its time is that of a first question. */
	s.w.now_ns += 10 * SECOND;
	cr_assert_eq(reserved_ms(theirs("a", ""), true), 20000);
	cr_assert_eq(s.done, 1, "the line is there");
	s.w.now_ns += 20 * SECOND;
	extender_poll(s.x, &s.port, &s.limits);
	cr_assert_eq(journal_size(s.journal), 0);
	cr_assert_eq(reserved_ms(theirs("a", ""), true), 0);
}
