/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of one eviction, and its end. */
#include "frontend/evict/evictor_impl.h"

#include "frontend/api/apistatus.h"
#include "frontend/base/probe.h"
#include "frontend/bind/bindanswer.h"

#include <stdlib.h>
#include <string.h>

#define INVALID_MAX 3u /* an API server that has just started rejects what it accepts later */

void eviction_free(struct eviction *v)
{
	struct evictor *e = v->evictor;
	struct eviction **at = &e->by_pod[v->cmd.pod];

	while (*at != v)
		at = &(*at)->same;
	*at = v->same;
	if (v->intent) {
		journal_remove(e->config.journal, v->intent);
		e->lines--;
	}
	if (v->ticket) {
		v->ticket->guarded -= v->guarded;
		ticket_leave(e, v->ticket);
	}
	free(v->texts);
	free(v);
}

void eviction_end(struct eviction *v, enum record_kind kind)
{
	struct evictor *e = v->evictor;
	const struct evict_result r = { .ticket = v->cmd.ticket,
		                            .pod = v->cmd.pod,
		                            .generation = v->cmd.pod_generation,
		                            .node = v->cmd.node };

	PROBE(evict_ended, v->cmd.pod, v->cmd.pod_generation, (uint32_t)kind);
	if (v->ticket) {
		if (!v->by_itself && (kind != RESULT_EVICT_NOT_SENT || !v->cancelled))
			ticket_cut(v, kind == RESULT_EVICT_SENT);
		v->ticket->is_void = v->ticket->is_void || (kind != RESULT_EVICT_SENT && !v->cancelled);
		e->config.result(e->config.context, kind, &r);
	}
	eviction_free(v);
}

/* An eviction whose core is gone is of a ticket that may be counted. */
static void rule_count(struct eviction *v)
{
	const uint32_t rule = v->cmd.cause.rule;
	struct evictor_counts *counts = &v->evictor->counts;

	counts->pods_by[rule]++;
	counts->extras += v->cmd.cause.extra;
	if (!v->ticket || (v->ticket->counted & 1u << rule))
		return;
	v->ticket->counted |= 1u << rule;
	counts->gangs_by[rule]++;
}

/* It has taken effect by a request of ours. */
static void evicted(struct eviction *v)
{
	struct evictor *e = v->evictor;
	const struct evict_notice n = { .namespace = v->target.namespace,
		                            .name = v->target.name,
		                            .uid = v->target.uid,
		                            .node = v->node,
		                            .scheduler = evictor_scheduler(e, &v->cmd),
		                            .giver = v->gang,
		                            .giver_generation = v->gang_generation,
		                            .cmd = &v->cmd };

	e->counts.evicted++;
	rule_count(v);
	model_evicted(e->config.model, v->cmd.pod, v->cmd.pod_generation,
	              e->config.env->wall_ns(e->config.env->context) / NS_PER_S);
	e->config.notice(e->config.context, &n);
	eviction_end(v, RESULT_EVICT_SENT);
}

static void gone(struct eviction *v)
{
	if (v->tried) {
		evicted(v);
		return;
	}
	v->evictor->counts.gone++;
	eviction_end(v, RESULT_EVICT_SENT);
}

static void not_sent(struct eviction *v)
{
	if (v->cancelled)
		v->evictor->counts.withdrawn++;
	else
		v->evictor->counts.failed++;
	eviction_end(v, RESULT_EVICT_NOT_SENT);
}

static void later(struct eviction *v, enum evict_step step, uint64_t wait_ns)
{
	struct evictor *e = v->evictor;

	v->step = step;
	v->due_ns = env_now(e->config.env) + wait_ns;
	TAILQ_INSERT_TAIL(&e->retries, v, link);
}

static void fly(struct eviction *v, const struct http_request *request,
                void (*done)(void *context, const struct http_answer *answer, const char *body,
                             size_t body_bytes))
{
	struct evictor *e = v->evictor;
	const struct http_handler handler = { .done = done, .context = v };

	v->call = e->config.env->transport->ops->start(e->config.env->transport, request, &handler);
	if (!v->call)
		fatal_memory();
	v->begun = true;
	TAILQ_INSERT_TAIL(&e->flying, v, link);
	e->flying_n++;
}

static void unfly(struct eviction *v)
{
	v->call = NULL;
	TAILQ_REMOVE(&v->evictor->flying, v, link);
	v->evictor->flying_n--;
}

static void say(const struct eviction *v, const struct http_answer *answer, const char *body,
                size_t bytes, const char *what)
{
	struct evictor *e = v->evictor;
	struct apistatus s;

	apistatus_read(body ? body : "", bytes, &s);
	if (log_allowed(&e->limit, e->config.env, "evictions"))
		env_log(e->config.env, "warn", "the eviction of pod %s/%s %s: HTTP %d: %.200s",
		        v->target.namespace, v->target.name, what, answer->status,
		        answer->end == HTTP_ANSWERED ? s.message : answer->error);
}

/* Nothing was done.  False: it is to be tried again. */
static bool refused(struct eviction *v, enum evict_answer a)
{
	struct evictor *e = v->evictor;

	if (a == EVICT_BUDGET) {
		e->counts.refused++;
		eviction_end(v, RESULT_EVICT_REFUSED);
		return true;
	}
	if (a == EVICT_FORBIDDEN || (a == EVICT_INVALID && ++v->invalid >= INVALID_MAX)) {
		if (a == EVICT_FORBIDDEN)
			e->config.forbidden(e->config.context);
		not_sent(v);
		return true;
	}
	return false;
}

static void write_done(void *context, const struct http_answer *answer, const char *body,
                       size_t body_bytes)
{
	struct eviction *v = context;
	struct evictor *e = v->evictor;
	const enum evict_answer a = evict_answer_read(answer, body, body_bytes);
	const enum evict_step step = v->step;

	PROBE(evict_answered, v->cmd.pod, v->cmd.pod_generation, answer->status);
	unfly(v);
	if (a == EVICT_TAKEN && step == EVICT_STEP_SEND) {
		evicted(v);
		return;
	}
	if (!v->ticket) { /* the lists tell the next core what became of it */
		eviction_free(v);
		return;
	}
	if (step == EVICT_STEP_MARK && eviction_is_withdrawn(v)) {
		not_sent(v);
		return;
	}
	if (a == EVICT_TAKEN) {
		later(v, EVICT_STEP_SEND, 0);
		return;
	}
	if (a != EVICT_AGAIN && a != EVICT_READ)
		say(v, answer, body, body_bytes, a == EVICT_UNKNOWN ? "has an unknown outcome" : "failed");
	if (refused(v, a))
		return;
	v->tried = v->tried || (step == EVICT_STEP_SEND && (a == EVICT_UNKNOWN || answer->repeated));
	e->counts.unknown += a == EVICT_UNKNOWN;
	if (a == EVICT_RENEW)
		env_renew_credentials(e->config.env);
	if (a == EVICT_READ || a == EVICT_UNKNOWN)
		later(v, EVICT_STEP_READ, a == EVICT_READ ? 0 : backoff_failed(&v->backoff, e->config.env));
	else
		later(v, step, backoff_answer(&v->backoff, e->config.env, answer));
}

/* Decides by the current pod. */
static void read_decide(struct eviction *v, const struct bind_pod *pod)
{
	struct evictor *e = v->evictor;

	if (strcmp(pod->uid, v->target.uid) != 0 || pod->deleting || pod->ended) {
		v->by_itself = !pod->deleting && !v->tried;
		gone(v);
	} else if (!v->ticket) {
		eviction_free(v);
	} else if (eviction_is_withdrawn(v)) {
		not_sent(v);
	} else {
		later(v, EVICT_STEP_SEND, backoff_failed(&v->backoff, e->config.env));
	}
}

static void read_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct eviction *v = context;
	struct evictor *e = v->evictor;
	struct bind_pod pod;

	unfly(v);
	if (answer->end == HTTP_ANSWERED && answer->status == 200 &&
	    bind_pod_read(body, body_bytes, &pod) == 0) {
		read_decide(v, &pod);
		return;
	}
	if (apistatus_says(answer, 404, body, body_bytes)) {
		gone(v);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 401)
		env_renew_credentials(e->config.env);
	later(v, EVICT_STEP_READ, backoff_answer(&v->backoff, e->config.env, answer));
}

/* False, and it is ended, if the watch shows that there is nothing to do. */
static bool is_wanted(struct eviction *v)
{
	struct pod_view pod;
	const bool there = model_pod(v->evictor->config.model, v->cmd.pod, v->cmd.pod_generation, &pod);

	if (!there || pod.deleting) {
		v->by_itself = !there && !v->tried;
		gone(v);
		return false;
	}
	if (eviction_is_withdrawn(v)) {
		not_sent(v);
		return false;
	}
	return true;
}

void eviction_step(struct eviction *v)
{
	struct evictor *e = v->evictor;
	struct http_request request;

	if (v->step == EVICT_STEP_READ) {
		request = evict_request_read(&v->target, &e->path);
		fly(v, &request, read_done);
		return;
	}
	if (!is_wanted(v))
		return;
	if (v->step == EVICT_STEP_MARK)
		request = evict_request_mark(
			&v->target, v->ticket->scheduler, v->cmd.gang < model_gangs_most(e->config.model),
			e->config.env->wall_ns(e->config.env->context), &e->path, &e->body);
	else if (e->config.best_effort)
		request = evict_request_delete(&v->target, e->config.deadline_ms, &e->path, &e->body);
	else
		request = evict_request_evict(&v->target, e->config.deadline_ms, &e->path, &e->body);
	PROBE(evict_ask, v->cmd.pod, v->cmd.pod_generation, (uint32_t)v->step);
	fly(v, &request, write_done);
}
