/* SPDX-License-Identifier: Apache-2.0 */
/* The evictor's commands, its queue and its pace. */
#include "frontend/evict/evictor_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BURST 5u       /* times the rate */
#define AT_ONCE 8u     /* requests; one while bindings wait */
#define LINES_MAX 256u /* in the journal; the rest of the queue waits */
#define WHOLE_NS (100 * NS_PER_MS)

struct evictor *evictor_new(const struct evictor_config *config)
{
	struct evictor *e = must_alloc(sizeof(*e));

	e->config = *config;
	e->tokens = (double)config->per_second * BURST;
	e->tokens_ns = env_now(config->env);
	TAILQ_INIT(&e->queue);
	TAILQ_INIT(&e->retries);
	TAILQ_INIT(&e->flying);
	TAILQ_INIT(&e->tickets);
	return e;
}

static void list_free(struct eviction_list *list)
{
	struct eviction *v;

	while ((v = TAILQ_FIRST(list)) != NULL) {
		const struct env *env = v->evictor->config.env;

		TAILQ_REMOVE(list, v, link);
		if (v->call)
			env->transport->ops->cancel(env->transport, v->call);
		eviction_free(v);
	}
}

void evictor_free(struct evictor *e)
{
	if (!e)
		return;
	list_free(&e->queue);
	list_free(&e->retries);
	list_free(&e->flying);
	nominations_free(e);
	free(e->by_pod);
	jsonout_free(&e->path);
	jsonout_free(&e->body);
	free(e);
}

const char *evictor_scheduler(const struct evictor *e, const struct cmd_evict *cmd)
{
	struct gang_view gang;
	struct pod_view pod;

	if (model_gang(e->config.model, cmd->gang, cmd->gang_generation, &gang) && *gang.scheduler_name)
		return gang.scheduler_name;
	if (model_waiting_pod(e->config.model, cmd->gang, cmd->gang_generation, &pod))
		return pod.scheduler_name;
	return e->config.scheduler;
}

static struct ticket *ticket_of(struct evictor *e, const struct cmd_evict *cmd)
{
	struct ticket *t;

	TAILQ_FOREACH (t, &e->tickets, link)
		if (t->id == cmd->ticket)
			return t;
	t = must_alloc(sizeof(*t));
	t->id = cmd->ticket;
	t->scheduler = must_copy(evictor_scheduler(e, cmd));
	TAILQ_INSERT_TAIL(&e->tickets, t, link);
	return t;
}

void ticket_leave(struct evictor *e, struct ticket *t)
{
	if (--t->open > 0)
		return;
	TAILQ_REMOVE(&e->tickets, t, link);
	free(t->cuts);
	free(t->scheduler);
	free(t);
}

static struct cut *cut_find(const struct eviction *v)
{
	const struct ticket *t = v->ticket;

	for (uint32_t i = t->cuts_n; i-- > 0;)
		if (t->cuts[i].gang == v->gang && t->cuts[i].generation == v->gang_generation)
			return &t->cuts[i];
	return NULL;
}

void ticket_cut(struct eviction *v, bool gone)
{
	struct ticket *t = v->ticket;
	struct cut *cut;

	if (v->cmd.cause.breaks_at == 0)
		return;
	cut = cut_find(v);
	if (!cut) {
		t->cuts = must_reach(t->cuts, &t->cuts_cap, t->cuts_n, 4, sizeof(*t->cuts));
		cut = &t->cuts[t->cuts_n++];
		*cut = (struct cut){ .gang = v->gang, .generation = v->gang_generation };
	}
	cut->gone += gone;
	cut->is_refused = cut->is_refused || !gone;
}

/* Of those in the list that are of v's gang and ticket, so many may have gone. */
static uint32_t open_n(const struct eviction_list *list, const struct eviction *v)
{
	const struct eviction *other;
	uint32_t n = 0;

	TAILQ_FOREACH (other, list, link)
		n += other->ticket == v->ticket && other->gang == v->gang &&
		     (other->step == EVICT_STEP_READ ? other->tried
		                                     : other->step == EVICT_STEP_SEND && other->call);
	return n;
}

/* True if its gang goes whole, and has lost its quorum by the ticket. */
static bool is_cut(const struct eviction *v)
{
	const struct evictor *e = v->evictor;
	const struct cut *cut = cut_find(v);

	if (v->cmd.cause.breaks_at == 0 || (cut && cut->is_refused))
		return false;
	return (cut ? cut->gone : 0) + open_n(&e->flying, v) + open_n(&e->retries, v) >=
	       v->cmd.cause.breaks_at;
}

bool eviction_is_withdrawn(const struct eviction *v)
{
	return v->cancelled && !is_cut(v);
}

static const char *text_put(char **at, const char *text)
{
	const size_t n = strlen(text) + 1;
	char *copy = memcpy(*at, text, n);

	*at += n;
	return copy;
}

static void texts_set(struct eviction *v, const struct pod_view *pod)
{
	char *at = v->texts = must_alloc(strlen(pod->namespace) + strlen(pod->name) + strlen(pod->uid) +
	                                 strlen(pod->node) + 4);

	v->target.namespace = text_put(&at, pod->namespace);
	v->target.name = text_put(&at, pod->name);
	v->target.uid = text_put(&at, pod->uid);
	v->node = text_put(&at, pod->node);
}

/* Behind the evictions of its ticket; guarded ones before the others of it. */
static void queue_add(struct evictor *e, struct eviction *v)
{
	struct ticket *t = v->ticket;

	if (v->guarded && t->plain)
		TAILQ_INSERT_BEFORE(t->plain, v, link);
	else
		TAILQ_INSERT_TAIL(&e->queue, v, link);
	if (!v->guarded && !t->plain)
		t->plain = v;
	e->queued++;
}

static void queue_remove(struct evictor *e, struct eviction *v)
{
	struct eviction *after = TAILQ_NEXT(v, link);

	if (v->ticket->plain == v)
		v->ticket->plain = after && after->ticket == v->ticket ? after : NULL;
	TAILQ_REMOVE(&e->queue, v, link);
	e->queued--;
}

/* The eviction of a pod for the ticket that has no result yet. */
static struct eviction *find(struct evictor *e, pod_id pod, uint32_t generation, uint64_t ticket)
{
	struct eviction *v = pod < e->by_pod_n ? e->by_pod[pod] : NULL;

	while (v && (v->cmd.pod_generation != generation || !v->ticket || v->cmd.ticket != ticket))
		v = v->same;
	return v;
}

int evictor_evict(struct evictor *e, const struct cmd_evict *cmd)
{
	struct eviction *v;
	struct pod_view pod;
	bool there;

	if (cmd->ticket == 0 || find(e, cmd->pod, cmd->pod_generation, cmd->ticket))
		return -EPROTO;
	v = must_alloc(sizeof(*v));
	v->evictor = e;
	v->cmd = *cmd;
	e->by_pod = must_reach(e->by_pod, &e->by_pod_n, cmd->pod, 1024, sizeof(struct eviction *));
	v->same = e->by_pod[cmd->pod];
	e->by_pod[cmd->pod] = v;
	v->step = e->config.best_effort ? EVICT_STEP_MARK : EVICT_STEP_SEND;
	v->backoff = (struct backoff){ .first_ns = 50 * NS_PER_MS,
		                           .cap_ns = 10 * NS_PER_S,
		                           .reset_ns = 120 * NS_PER_S };
	v->ticket = ticket_of(e, cmd);
	v->ticket->read++;
	v->ticket->open++;
	v->ticket->whole_ns = env_now(e->config.env) + WHOLE_NS;
	there = model_pod(e->config.model, cmd->pod, cmd->pod_generation, &pod);
	v->gang = there ? pod.gang_id : ID_NONE;
	v->gang_generation = v->gang != ID_NONE ? model_gang_generation(e->config.model, v->gang) : 0;
	if (!there || pod.deleting || !pod.node[0]) {
		e->counts.gone++;
		eviction_end(v, RESULT_EVICT_SENT);
		return 0;
	}
	texts_set(v, &pod);
	v->guarded = model_is_guarded(e->config.model, cmd->pod, cmd->pod_generation);
	v->ticket->guarded += v->guarded;
	queue_add(e, v);
	return 0;
}

/* True if it is. */
static bool withdraw(struct evictor *e, struct eviction *v)
{
	if (!eviction_is_withdrawn(v))
		return false;
	queue_remove(e, v);
	e->counts.withdrawn++;
	eviction_end(v, RESULT_EVICT_NOT_SENT);
	return true;
}

void evictor_cancel(struct evictor *e, const struct cmd_cancel_evict *cmd)
{
	struct eviction *v = find(e, cmd->pod, cmd->pod_generation, cmd->ticket);

	if (!v)
		return;
	v->cancelled = true;
	if (!v->begun) /* else its own answer is its result */
		withdraw(e, v);
}

static void tokens_fill(struct evictor *e, uint64_t now)
{
	const double most = (double)e->config.per_second * BURST;

	e->tokens += (double)(now - e->tokens_ns) * 1e-9 * e->config.per_second;
	if (e->tokens > most)
		e->tokens = most;
	e->tokens_ns = now;
}

/* Adds the lines of those that are sent next. */
static void lines_add(struct evictor *e)
{
	struct eviction *v;

	if (!e->config.journal)
		return;
	TAILQ_FOREACH (v, &e->queue, link) {
		const char *node_uid = model_node_uid(e->config.model, v->cmd.node);
		const struct intent_line line = { .kind = INTENT_EVICT,
			                              .uid = v->target.uid,
			                              .node = v->node,
			                              .node_uid = *node_uid ? node_uid : "-",
			                              .version = "-" };

		if (e->lines >= LINES_MAX)
			return;
		if (v->intent)
			continue;
		v->intent = journal_add(e->config.journal, &line);
		e->lines++;
	}
}

/* Of one pod one request at a time: an earlier ticket's may still be in flight. */
static bool may_begin(const struct evictor *e, const struct eviction *v, uint64_t now)
{
	const struct eviction *other = e->by_pod[v->cmd.pod];
	const struct ticket *t = v->ticket;

	if ((t->is_void && !is_cut(v)) || (t->read < v->cmd.victims && now < t->whole_ns))
		return false;
	if (!v->guarded && t->guarded > 0)
		return false;
	if (e->config.journal && (!v->intent || !intent_is_durable(e->config.journal, v->intent)))
		return false;
	while (other &&
	       (!other->begun || !other->ticket || other->cmd.pod_generation != v->cmd.pod_generation))
		other = other->same;
	return !other;
}

static void queue_send(struct evictor *e, size_t most, uint64_t now)
{
	struct eviction *v, *after;

	for (v = TAILQ_FIRST(&e->queue); v && e->flying_n < most && e->tokens >= 1; v = after) {
		after = TAILQ_NEXT(v, link);
		if (withdraw(e, v) || !may_begin(e, v, now))
			continue;
		queue_remove(e, v);
		e->tokens -= 1;
		eviction_step(v);
	}
}

static uint64_t retries_send(struct evictor *e, size_t most, uint64_t now)
{
	uint64_t next = NEVER_NS;
	struct eviction *v, *after;
	struct eviction *last = TAILQ_LAST(&e->retries, eviction_list);

	for (v = TAILQ_FIRST(&e->retries); v; v = after) {
		after = v == last ? NULL : TAILQ_NEXT(v, link);
		if (v->due_ns > now || e->flying_n >= most) {
			next = v->due_ns < next ? v->due_ns : next;
			continue;
		}
		TAILQ_REMOVE(&e->retries, v, link);
		eviction_step(v);
	}
	return next;
}

/* When the queue may be looked at again without an answer: for a token, or a ticket that waits for
 * commands.  A durable line wakes by the journal's answer. */
static uint64_t queue_due(const struct evictor *e, uint64_t now)
{
	const struct eviction *v = TAILQ_FIRST(&e->queue);

	if (!v)
		return NEVER_NS;
	if (e->tokens < 1)
		return now + (uint64_t)((1 - e->tokens) / e->config.per_second * 1e9) + 1;
	return now + 20 * NS_PER_MS;
}

uint64_t evictor_poll(struct evictor *e, bool binds_waiting)
{
	const uint64_t now = env_now(e->config.env);
	const size_t most = binds_waiting ? 1 : AT_ONCE;
	uint64_t next = nominations_look(e), due;

	tokens_fill(e, now);
	due = retries_send(e, most, now);
	next = due < next ? due : next;
	lines_add(e);
	queue_send(e, most, now);
	due = queue_due(e, now);
	next = due < next ? due : next;
	if (!TAILQ_EMPTY(&e->retries)) {
		const struct eviction *v = TAILQ_LAST(&e->retries, eviction_list);

		next = v->due_ns < next ? v->due_ns : next;
	}
	return next;
}

static void orphan(struct eviction *v)
{
	if (v->ticket)
		ticket_leave(v->evictor, v->ticket);
	v->ticket = NULL;
}

void evictor_core_down(struct evictor *e)
{
	struct eviction *v, *after;

	while ((v = TAILQ_FIRST(&e->queue)) != NULL) {
		TAILQ_REMOVE(&e->queue, v, link);
		eviction_free(v);
	}
	e->queued = 0;
	TAILQ_FOREACH (v, &e->flying, link)
		orphan(v);
	for (v = TAILQ_FIRST(&e->retries); v; v = after) {
		after = TAILQ_NEXT(v, link);
		TAILQ_REMOVE(&e->retries, v, link);
		eviction_free(v);
	}
	assert(TAILQ_EMPTY(&e->tickets));
	nominations_core_down(e);
}

size_t evictor_queued(const struct evictor *e)
{
	return e->queued;
}

size_t evictor_flying(const struct evictor *e)
{
	return e->flying_n;
}

const struct evictor_counts *evictor_counts(const struct evictor *e)
{
	return &e->counts;
}
