/* SPDX-License-Identifier: Apache-2.0 */
/* A binder with a gang and a pod that is alone, and two kinds of work before their Bindings that
 * the tests let succeed or fail; what it calls and says is one text. */
#ifndef MUSTER_TESTS_SUPPORT_PREBIND_H
#define MUSTER_TESTS_SUPPORT_PREBIND_H

#include "frontend/bind/binder.h"
#include "frontend/bind/prebind.h"
#include "frontend/journal/journal.h"
#include "frontend/base/log.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g"
#define POD "/api/v1/namespaces/ns/pods/"
#define PODS 8u

/* Of one kind: what it is to do for the pod with that number, and what was called. */
struct kind {
	struct prebind_kind ops;
	char letter;
	bool wants[PODS], no_choice[PODS], left[PODS];
	enum prebind_state state[PODS];
	bool undo_lasts;
	unsigned asked; /* if a pod wants it */
};

static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	struct journal *journal; /* NULL: none is kept */
	struct kind kinds[2];
	const struct prebind_kind *list[2];
	char said[256]; /* results and calls, in order */
	char noticed[256];
	uint32_t attempt; /* of the last result */
} b;

static inline void say(const char *what, char letter, pod_id pod)
{
	const size_t n = strlen(b.said);

	cr_assert_lt(n, sizeof(b.said) - 32);
	snprintf(b.said + n, sizeof(b.said) - n, "%s:%.1s%u ", what, letter ? &letter : "", pod);
}

struct work {
	struct kind *kind;
	pod_id pod;
	bool suspended, undone;
};

static inline bool any(void *context)
{
	const struct kind *k = context;

	for (unsigned i = 0; i < PODS; i++)
		if (k->wants[i] || k->left[i])
			return true;
	return false;
}

static inline bool wants(void *context, pod_id pod, uint32_t generation)
{
	struct kind *k = context;

	k->asked++;
	return k->wants[pod];
}

static inline struct work *work_new(struct kind *k, pod_id pod)
{
	struct work *w = calloc(1, sizeof(*w));

	*w = (struct work){ .kind = k, .pod = pod };
	return w;
}

static inline void *prepare(void *context, const struct prebind_member *m, struct prebind_why *why)
{
	struct kind *k = context;

	cr_assert_str_eq(m->node_name, "n1");
	cr_assert_str_eq(m->namespace, "ns");
	if (k->no_choice[m->pod]) {
		strcpy(why->text, "no choice");
		why->retry_ms = 20;
		return NULL;
	}
	return work_new(k, m->pod);
}

static inline void start(void *context, void *work)
{
	say("start", ((const struct kind *)context)->letter, ((const struct work *)work)->pod);
}

static inline enum prebind_state look(void *context, void *work, struct prebind_why *why)
{
	const struct kind *k = context;
	const struct work *w = work;

	if (w->undone)
		return k->undo_lasts ? PREBIND_BUSY : PREBIND_DONE;
	if (k->state[w->pod] == PREBIND_FAILED)
		strcpy(why->text, "it failed");
	return k->state[w->pod];
}

static inline void undo(void *context, void *work)
{
	struct work *w = work;

	cr_assert_not(w->suspended);
	say("undo", ((const struct kind *)context)->letter, w->pod);
	w->undone = true;
}

static inline void suspend(void *context, void *work, bool suspended)
{
	struct work *w = work;

	cr_assert_neq(w->suspended, suspended);
	w->suspended = suspended;
}

static inline void *find_left(void *context, const struct prebind_member *m)
{
	struct kind *k = context;

	return k->left[m->pod] ? work_new(k, m->pod) : NULL;
}

static inline void work_free(void *context, void *work)
{
	free(work);
}

static inline uint64_t poll(void *context)
{
	return UINT64_MAX;
}

static inline void on_result(void *context, enum record_kind kind, const struct result *r)
{
	b.attempt = r->attempt;
	say(kind == RESULT_REFUSED ? "refused" : "bound", '\0', r->pod);
}

static inline void on_notice(void *context, const struct bind_notice *n)
{
	const size_t used = strlen(b.noticed);

	if (n->error)
		snprintf(b.noticed + used, sizeof(b.noticed) - used, "%s: %s; ", n->name, n->error);
}

/* Group g asks for two; a, b and c are its members, l is alone.  The journal never answers. */
static inline void begin_of(bool has_journal, unsigned connections)
{
	const struct journal_config journal = {
		.env = &b.w.env, .namespace = "ns", .name = "j", .identity = "me"
	};
	struct binder_config config = { .env = &b.w.env,
		                            .connections = connections,
		                            .result = on_result,
		                            .notice = on_notice,
		                            .prebind = b.list,
		                            .prebind_n = 2 };

	memset(&b, 0, sizeof(b));
	for (unsigned i = 0; i < 2; i++) {
		b.kinds[i].letter = (char)('A' + (int)i);
		b.kinds[i].ops = (struct prebind_kind){ .name = "kind",
			                                    .context = &b.kinds[i],
			                                    .timeout_ns = 600 * NS_PER_S,
			                                    .late = "too late",
			                                    .any = any,
			                                    .wants = wants,
			                                    .prepare = prepare,
			                                    .start = start,
			                                    .look = look,
			                                    .suspend = suspend,
			                                    .undo = undo,
			                                    .recover = find_left,
			                                    .free = work_free,
			                                    .poll = poll };
		b.list[i] = &b.kinds[i].ops;
	}
	world_init(&b.w);
	config.model = b.m = world_model();
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 2));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "5", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "6", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "7", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("l", "8", "", ""));
	world_flush(b.m);
	if (has_journal)
		b.journal = config.journal = journal_new(&journal);
	b.binder = binder_new(&config);
}

static inline void begin(void)
{
	begin_of(false, 8);
}

static inline void end(void)
{
	binder_free(b.binder);
	journal_free(b.journal);
	model_free(b.m);
	world_free(&b.w);
}

static inline pod_id id(const char *pod)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	cr_assert_lt(v.id, PODS);
	return v.id;
}

static inline void command(enum record_kind kind, const char *pod)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", pod);

	cr_assert_eq(binder_bind(b.binder, kind, &cmd), 0);
}

/* Enough turns for every phase, and no time to speak of. */
static inline void turns(void)
{
	for (int i = 0; i < 8; i++) {
		b.w.now_ns += 50 * NS_PER_MS;
		binder_poll(b.binder);
	}
}

static inline void group_is_read(void)
{
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 2));
	turns();
}

static inline void expect(const char *said)
{
	cr_assert_str_eq(b.said, said, "\"%s\"", b.said);
	b.said[0] = '\0';
}

static inline void binding_sent(const char *pod)
{
	char path[128];

	snprintf(path, sizeof(path), "/api/v1/namespaces/ns/pods/%s/binding", pod);
	world_answer(world_take(&b.w, "POST", path), 201, "{}");
}

/* Each letter is a pod. */
static inline void bindings_sent(const char *pods)
{
	for (; *pods; pods++)
		binding_sent((const char[]){ *pods, '\0' });
}

static inline void bind_members(const char *pods)
{
	for (; *pods; pods++)
		command(CMD_BIND, (const char[]){ *pods, '\0' });
	group_is_read();
}

static inline void soon(const char *said)
{
	turns();
	expect(said);
}

static inline void drop(const char *pod)
{
	struct decode_error e = { 0 };
	struct pod_view v;
	char json[256];

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	snprintf(json, sizeof(json),
	         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\","
	         "\"resourceVersion\":\"99\"}}",
	         pod, v.uid);
	model_remove(b.m, RESOURCE_INDEX_PODS, json, strlen(json), &e);
}

#endif
