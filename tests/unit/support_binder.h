/* SPDX-License-Identifier: Apache-2.0 */
/* A binder with the pod ns/a and two nodes, and what it says of each binding. */
#ifndef MUSTER_TESTS_SUPPORT_BINDER_H
#define MUSTER_TESTS_SUPPORT_BINDER_H

#include "frontend/bind/binder.h"

#include "tests/unit/support_world.h"

#define POST "/api/v1/namespaces/ns/pods/a/binding"
#define POD "/api/v1/namespaces/ns/pods/a"

static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	bool other_core; /* than the one that commanded it */
	char said[1024]; /* results: "B u R:600000 " */
	char noticed[1024];
} b;

static inline void on_result(void *context, enum record_kind kind, const struct result *r)
{
	size_t n = strlen(b.said);

	cr_assert_eq(r->attempt, b.other_core ? ATTEMPT_OTHER : 7);
	if (kind == RESULT_REFUSED)
		snprintf(b.said + n, sizeof(b.said) - n, "refused:%u ", r->retry_ms);
	else
		snprintf(b.said + n, sizeof(b.said) - n, "%s ", kind == RESULT_BOUND ? "bound" : "unknown");
}

static inline void on_notice(void *context, const struct bind_notice *n)
{
	snprintf(b.noticed, sizeof(b.noticed), "%s/%s %s %s", n->namespace, n->name, n->node,
	         n->error ? n->error : "ok");
}

static inline void end(void)
{
	binder_free(b.binder);
	model_free(b.m);
	world_free(&b.w);
}

static inline void begin_with(unsigned connections)
{
	struct binder_config config = {
		.env = &b.w.env,
		.connections = connections,
		.deadline_ms = 4000,
		.result = on_result,
		.notice = on_notice,
		.context = &b,
	};

	if (b.m)
		end();
	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = world_model();
	config.model = b.m;
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n2", "2"));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "5", "", ""));
	world_flush(b.m);
	b.binder = binder_new(&config);
}

static inline void begin(void)
{
	begin_with(4);
}

static inline int command(enum record_kind kind, const char *name)
{
	struct cmd_bind cmd = world_bind(b.m, "ns", name);

	cmd.gang = ID_NONE; /* of no gang, also for a member */
	return binder_bind(b.binder, kind, &cmd);
}

static inline int bind_pod(const char *name)
{
	return command(CMD_BIND, name);
}

/* Bind "a" to n1; the POST. */
static inline struct http_call *posted(void)
{
	begin();
	cr_assert_eq(bind_pod("a"), 0);
	binder_poll(b.binder);
	return world_take(&b.w, "POST", POST);
}

/* Go on to the next request, whenever it is due. */
static inline struct http_call *next(const char *method, const char *path)
{
	for (int i = 0; world_open(&b.w) == 0; i++)
		world_wait(&b.w, i, binder_poll(b.binder));
	return world_take(&b.w, method, path);
}

static inline void expect(const char *said)
{
	cr_assert_str_eq(b.said, said);
	b.said[0] = '\0';
}

/* Nothing is under way or to come. */
static inline void expect_rest(void)
{
	cr_assert_eq(binder_unknown(b.binder), 0);
	cr_assert_eq(binder_queued(b.binder), 0);
	cr_assert_eq(world_open(&b.w), 0);
}

static inline const char *conflict(const char *message)
{
	return world_status(409, "Conflict", message);
}

#define PRECONDITION                                                                                                     \
	"Operation cannot be fulfilled on pods \\\"a\\\": StorageError: invalid object, Code: 4, Key: /registry/pods/ns/a, " \
	"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: 5, "                  \
	"ResourceVersion in object meta: 8"
#define ASSIGNED                                                                                   \
	"Operation cannot be fulfilled on pods/binding \\\"a\\\": pod a is already assigned to node \\\"n1\\\""
#define ETCD                                                                                       \
	"Operation cannot be fulfilled on pods/binding \\\"a\\\": etcdserver: request timed out"

#define ON(node) "\"nodeName\":\"" node "\""

/* A read of the pod is answered with that version. */
static inline void reads(const char *version, const char *spec)
{
	world_answer(next("GET", POD), 200, world_pod("a", version, spec, ""));
}

/* The write of the status that moves the version on succeeds. */
static inline void fenced(void)
{
	world_answer(next("PATCH", POD "/status"), 200, "{}");
}

static inline void expect_last(const char *said)
{
	expect(said);
	expect_rest();
}

/* No refusal before a read shows the version that the write made. */
static inline void fenced_and_refused(void)
{
	fenced();
	expect("");
	reads("9", "");
	expect_last("refused:0 ");
}

static inline void expect_version(const struct http_call *c, const char *version)
{
	char part[64];

	snprintf(part, sizeof(part), "\"resourceVersion\":\"%s\"", version);
	cr_assert(strstr(c->body, part), "%s", c->body);
}

/* All the ways in which the server does not say; status 0: the connection breaks. */
enum { WAYS = 9 };

static inline struct http_call *unknown(int way)
{
	static const struct {
		int status;
		const char *reason, *text; /* no reason: the body */
	} ways[WAYS] = {
		{ 409, "Conflict", ETCD },
		{ 500, "InternalError", "x" },
		{ 502, NULL, "<html>" },
		{ 503, NULL, "no" },
		{ 504, "Timeout", "request did not complete within requested timeout" },
		{ 0, NULL, NULL },
		{ 404, NULL, "404 page not found" },
		{ 409, NULL, "no status at all" },
		{ 302, NULL, "" },
	};
	const int status = ways[way].status;
	const char *text = ways[way].text;
	struct http_call *c = posted();

	if (status == 0)
		world_fail(c, HTTP_BROKEN);
	else
		world_answer(c, status,
		             ways[way].reason ? world_status(status, ways[way].reason, text) : text);
	cr_assert_str_eq(b.said, "unknown ", "way %d: %s", way, b.said);
	b.said[0] = '\0';
	return next("GET", POD);
}

/* Counts POD_BINDING records of a replay. */
struct replay {
	_Alignas(8) unsigned char cap[RECORD_BYTES_MAX];
	enum record_kind kind;
	unsigned binding, pods;
};

static inline void replay_count(struct replay *r)
{
	const struct event_pod *e = (const void *)r->cap;

	if (r->kind != EVENT_POD)
		return;
	r->pods++;
	r->binding += (e->flags & POD_BINDING) != 0;
}

static inline void *replay_reserve(void *context, enum record_kind kind, uint32_t bytes)
{
	struct replay *r = context;

	replay_count(r);
	r->kind = kind;
	return r->cap;
}

static inline unsigned replayed_binding(void)
{
	static struct replay r;
	struct model_sink sink = { .reserve = replay_reserve, .context = &r };

	memset(&r, 0, sizeof(r));
	model_restart(b.m);
	cr_assert(model_flush(b.m, &sink));
	replay_count(&r);
	cr_assert_gt(r.pods, 0);
	return r.binding;
}

static inline struct http_call *commanded(enum record_kind kind)
{
	begin();
	cr_assert_eq(command(kind, "a"), 0);
	return kind == CMD_CANCEL_BIND ? next("GET", POD) : next("POST", POST);
}

/* By which version nobody knows: that the pod has another one now than its list told proves
 * nothing. */
static inline void expect_taken_back(struct http_call *read, const char *version, const char *after)
{
	world_answer(read, 200, world_pod("a", version, "", ""));
	fenced();
	expect("");
	reads(after, "");
	expect_last("refused:0 ");
	cr_assert_eq(replayed_binding(), 0);
	cr_assert_str_eq(b.noticed, "");
}

#endif
