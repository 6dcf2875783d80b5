/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/settle.h"

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/base/probe.h"
#include "frontend/bind/fence.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#define AT_ONCE 16u
#define MOST_NS (10 * NS_PER_S)
#define CONFLICTS_MAX 2u /* by then the watch is behind */

/* A pod whose version is to move on. */
struct settling {
	TAILQ_ENTRY(settling) link;
	struct settle *settle;
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	unsigned conflicts;
	pod_id id;
	uint32_t generation;
	char *namespace, *name, *uid;
};
TAILQ_HEAD(settling_list, settling);

struct settle {
	const struct env *env;
	struct model *model;
	struct settling_list waiting, flying;
	unsigned flying_n;
	bool begun;
	uint64_t until_ns;
	struct jsonout path, body;
	struct settle_counts counts;
};

struct settle *settle_new(const struct env *env, struct model *model)
{
	struct settle *s = must_alloc(sizeof(*s));

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

/* How many there were. */
static uint64_t forget_all(struct settle *s)
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

void settle_free(struct settle *s)
{
	if (!s)
		return;
	forget_all(s);
	jsonout_free(&s->path);
	jsonout_free(&s->body);
	free(s);
}

/* ---- who ------------------------------------------------------------------------ */

/* Of one that is gated or being deleted no Binding is taken. */
static void collect(void *context, const struct pod_view *pod)
{
	struct settle *s = context;
	struct settling *p;

	if (pod->gated || pod->deleting)
		return;
	p = must_alloc(sizeof(*p));
	p->settle = s;
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

/* ---- the write ------------------------------------------------------------------------ */

static void again(struct settling *p, uint64_t wait_ns)
{
	p->due_ns = env_now(p->settle->env) + wait_ns;
	TAILQ_INSERT_TAIL(&p->settle->waiting, p, link);
}

/* The pod as it is now: with a node, if a Binding was faster. */
static void taken(struct settling *p, const char *body, size_t body_bytes)
{
	struct decode_error error = { 0 };

	if (model_put(p->settle->model, RESOURCE_INDEX_PODS, body, body_bytes, &error) == -ENOMEM)
		fatal_memory();
	p->settle->counts.settled++;
	forget(p);
}

/* Then muster can't say of any pod why it waits either. */
static void refused(struct settle *s, const struct http_answer *answer)
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
	struct settle *s = p->settle;

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

/* p is in no list.  What the watch has told of it is written over, so that a pod that has just got
 * a node is not told that it has none; where somebody writes to it all the time, whatever there is.
 */
static void ask(struct settling *p)
{
	const struct http_handler handler = { .done = done, .context = p };
	struct fence fence = { .namespace = p->namespace, .name = p->name, .uid = p->uid };
	struct settle *s = p->settle;
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

/* ---- from outside ------------------------------------------------------------------------ */

static void begin(struct settle *s)
{
	s->begun = true;
	s->until_ns = env_now(s->env) + MOST_NS;
	model_begun_pending(s->model, collect, s);
}

static void give_up(struct settle *s)
{
	const uint64_t n = forget_all(s);

	s->counts.left += n;
	env_log(
		s->env, "warn",
		"the status of %llu pods could not be written in %u s before the first plan: an earlier binding of "
		"a gang that had begun may still land",
		(unsigned long long)n, (unsigned)(MOST_NS / NS_PER_S));
}

uint64_t settle_poll(struct settle *s)
{
	uint64_t now = env_now(s->env), next;
	struct settling *p, *after;

	if (!s->begun)
		begin(s);
	if (settle_over(s))
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

bool settle_over(const struct settle *s)
{
	return s->begun && TAILQ_EMPTY(&s->waiting) && TAILQ_EMPTY(&s->flying);
}

const struct settle_counts *settle_counts(const struct settle *s)
{
	return &s->counts;
}
