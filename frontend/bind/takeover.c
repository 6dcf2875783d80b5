/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/takeover.h"

#include "frontend/base/backoff.h"
#include "frontend/bind/fence.h"
#include "frontend/base/log.h"
#include "frontend/base/probe.h"

#include <stdlib.h>
#include <sys/queue.h>

#define AT_ONCE 16u
#define MOST_NS (10 * NS_PER_S)
#define MOST_POD_NS (5 * NS_PER_MS)
#define CONFLICTS_MAX 2u /* after that the watch lags */

/* A pod whose version is to be advanced. */
struct settling {
	TAILQ_ENTRY(settling) link;
	struct takeover *takeover;
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	unsigned conflicts;
	pod_id id;
	uint32_t generation;
	char *namespace, *name, *uid;
};
TAILQ_HEAD(settling_list, settling);

struct takeover {
	const struct env *env;
	struct model *model;
	struct settling_list waiting, flying;
	unsigned flying_n;
	uint64_t added;
	bool begun;
	uint64_t until_ns;
	struct jsonout path, body;
	struct takeover_counts counts;
};

struct takeover *takeover_new(const struct env *env, struct model *model)
{
	struct takeover *s = must_alloc(sizeof(*s));

	s->env = env;
	s->model = model;
	TAILQ_INIT(&s->waiting);
	TAILQ_INIT(&s->flying);
	return s;
}

/* p is in no list. */
static void forget(struct settling *p)
{
	free(p->namespace);
	free(p->name);
	free(p->uid);
	free(p);
}

/* Returns how many there were. */
static uint64_t forget_all(struct takeover *s)
{
	struct settling *p;
	uint64_t n = 0;

	while ((p = TAILQ_FIRST(&s->flying)) != NULL) {
		TAILQ_REMOVE(&s->flying, p, link);
		s->env->transport->ops->cancel(s->env->transport, p->call);
		forget(p);
		n++;
	}
	while ((p = TAILQ_FIRST(&s->waiting)) != NULL) {
		TAILQ_REMOVE(&s->waiting, p, link);
		forget(p);
		n++;
	}
	s->flying_n = 0;
	return n;
}

void takeover_free(struct takeover *s)
{
	if (!s)
		return;
	forget_all(s);
	jsonout_free(&s->path);
	jsonout_free(&s->body);
	free(s);
}

void takeover_add(struct takeover *s, const struct pod_view *pod)
{
	struct settling *p;

	s->added++;
	p = must_alloc(sizeof(*p));
	p->takeover = s;
	p->backoff = (struct backoff){ .first_ns = 100 * NS_PER_MS,
		                           .cap_ns = 2 * NS_PER_S,
		                           .reset_ns = 30 * NS_PER_S };
	p->id = pod->id;
	p->generation = pod->generation;
	p->namespace = must_copy(pod->namespace);
	p->name = must_copy(pod->name);
	p->uid = must_copy(pod->uid);
	TAILQ_INSERT_TAIL(&s->waiting, p, link);
}

/* A gated or terminating pod cannot be bound. */
static void collect(void *context, const struct pod_view *pod)
{
	if (pod->ours && !pod->node[0] && !pod->gated && !pod->deleting)
		takeover_add(context, pod);
}

static void again(struct settling *p, uint64_t wait_ns)
{
	p->due_ns = env_now(p->takeover->env) + wait_ns;
	TAILQ_INSERT_TAIL(&p->takeover->waiting, p, link);
}

/* The current pod, with a node if a Binding was faster. */
static void taken(struct settling *p, const char *body, size_t body_bytes)
{
	struct decode_error error = { 0 };

	model_put(p->takeover->model, RESOURCE_INDEX_PODS, body, body_bytes, &error);
	p->takeover->counts.fenced++;
	forget(p);
}

/* Without this right muster cannot report reasons either. */
static void refused(struct takeover *s, const struct http_answer *answer)
{
	if (s->counts.left++ == 0)
		env_log(
			s->env, "warn",
			"can't write the status of pods before the first plan (HTTP %d): an earlier binding of a "
			"gang that had begun may still land",
			answer->status);
}

static void done(void *context, const struct http_answer *answer, const char *body,
                 size_t body_bytes)
{
	struct settling *p = context;
	struct takeover *s = p->takeover;

	PROBE(fence_answered, p->id, p->generation, answer->status);
	TAILQ_REMOVE(&s->flying, p, link);
	s->flying_n--;
	p->call = NULL;
	switch (fence_read(answer, body, body_bytes)) {
	case FENCE_TAKEN:
		taken(p, body, body_bytes);
		return;
	case FENCE_GONE:
		forget(p);
		return;
	case FENCE_MOVED:
		/* The watch, or the answer to the next write, shows whether it was the Binding. */
		p->conflicts++;
		again(p, backoff_failed(&p->backoff, s->env));
		return;
	case FENCE_RENEW:
		env_renew_credentials(s->env);
		break;
	case FENCE_REFUSED:
		if (answer->status == 403) {
			refused(s, answer);
			forget(p);
			return;
		}
		break;
	case FENCE_UNKNOWN:
		break;
	}
	again(p, backoff_answer(&p->backoff, s->env, answer));
}

/* p is in no list. The write is conditional on the version from the watch, so that a pod that has
 * just got a node is not marked as waiting; after CONFLICTS_MAX conflicts it is unconditional. */
static void ask(struct settling *p)
{
	const struct http_handler handler = { .done = done, .context = p };
	struct fence fence = { .namespace = p->namespace, .name = p->name, .uid = p->uid };
	struct takeover *s = p->takeover;
	struct http_request request;
	struct pod_view pod;

	if (!model_pod(s->model, p->id, p->generation, &pod) || pod.node[0]) {
		forget(p);
		return;
	}
	if (p->conflicts < CONFLICTS_MAX)
		fence.version = pod.resource_version;
	request = fence_request(&fence, s->env, &s->path, &s->body);
	PROBE(fence_ask, p->id, p->generation);
	p->call = s->env->transport->ops->start(s->env->transport, &request, &handler);
	if (!p->call)
		fatal_memory();
	TAILQ_INSERT_TAIL(&s->flying, p, link);
	s->flying_n++;
}

void takeover_begin(struct takeover *s, enum intents_fence fence)
{
	if (fence == INTENTS_FENCE_BEGUN)
		model_begun_pending(s->model, collect, s);
	else if (fence == INTENTS_FENCE_ALL)
		model_each_pod(s->model, collect, s);
	s->begun = true;
	s->until_ns = env_now(s->env) + MOST_NS + s->added * MOST_POD_NS;
}

static void give_up(struct takeover *s)
{
	const uint64_t n = forget_all(s);

	s->counts.left += n;
	env_log(
		s->env, "warn",
		"the status of %llu pods could not be written before the first plan: an earlier binding of them "
		"may still land",
		(unsigned long long)n);
}

uint64_t takeover_poll(struct takeover *s)
{
	uint64_t now = env_now(s->env), next;
	struct settling *p, *after;

	if (takeover_over(s))
		return NEVER_NS;
	if (now >= s->until_ns) {
		give_up(s);
		return NEVER_NS;
	}
	next = s->until_ns;
	for (p = TAILQ_FIRST(&s->waiting); p && s->flying_n < AT_ONCE; p = after) {
		after = TAILQ_NEXT(p, link);
		if (p->due_ns > now) {
			next = p->due_ns < next ? p->due_ns : next;
			continue;
		}
		TAILQ_REMOVE(&s->waiting, p, link);
		ask(p);
	}
	return next;
}

bool takeover_over(const struct takeover *s)
{
	return s->begun && TAILQ_EMPTY(&s->waiting) && TAILQ_EMPTY(&s->flying);
}

const struct takeover_counts *takeover_counts(const struct takeover *s)
{
	return &s->counts;
}
