/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/binder_impl.h"

#include "frontend/base/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANDED_LOOK_NS (200 * NS_PER_MS)

struct binder *binder_new(const struct binder_config *config)
{
	struct binder *w = must_alloc(sizeof(*w));

	w->config = *config;
	window_init(&w->window,
	            config->connections_first ? config->connections_first : config->connections,
	            config->connections);
	w->pause = (struct backoff){ .first_ns = 100 * NS_PER_MS,
		                         .cap_ns = 5 * NS_PER_S,
		                         .reset_ns = 30 * NS_PER_S };
	w->retries_due_ns = NEVER_NS;
	TAILQ_INIT(&w->unwritten);
	TAILQ_INIT(&w->queue);
	TAILQ_INIT(&w->retries);
	TAILQ_INIT(&w->flying);
	TAILQ_INIT(&w->landed);
	TAILQ_INIT(&w->groups);
	TAILQ_INIT(&w->groups_due);
	TAILQ_INIT(&w->stages);
	TAILQ_INIT(&w->shares);
	return w;
}

void binder_forget(struct bind *b)
{
	struct binder *w = b->binder;

	if (b->cmd.pod < w->by_pod_n && w->by_pod[b->cmd.pod] == b)
		w->by_pod[b->cmd.pod] = NULL;
	if (b->group)
		group_recheck_leave(b);
	if (b->held)
		prebind_end(b);
	intent_end(b);
	free(b->namespace);
	free(b->name);
	free(b->uid);
	free(b->node);
	free(b->scheduler);
	free(b);
}

void binder_drop(struct bind *b)
{
	if (b->earlier)
		binding_give_up(b, 0);
	else
		binder_forget(b);
}

static void list_free(struct bind_list *list)
{
	struct bind *b;

	while ((b = TAILQ_FIRST(list)) != NULL) {
		struct binder *w = b->binder;

		TAILQ_REMOVE(list, b, link);
		if (b->call)
			w->config.env->transport->ops->cancel(w->config.env->transport, b->call);
		binder_forget(b);
	}
}

void binder_free(struct binder *w)
{
	if (!w)
		return;
	group_recheck_forget(w);
	prebind_free(w);
	list_free(&w->unwritten);
	list_free(&w->queue);
	list_free(&w->retries);
	list_free(&w->flying);
	list_free(&w->landed);
	jsonout_free(&w->path);
	jsonout_free(&w->body);
	free(w->by_pod);
	free(w->refused);
	free(w->adopted);
	free(w->by_gang);
	free(w->begun_gangs);
	free(w);
}

void binder_later(struct bind *b, enum bind_step step, uint64_t wait_ns)
{
	struct binder *w = b->binder;

	b->step = step;
	b->due_ns = binder_now(w) + wait_ns;
	PROBE(bind_again, b->cmd.pod, b->cmd.pod_generation, (uint32_t)step);
	TAILQ_INSERT_TAIL(&w->retries, b, link);
	w->retrying++;
	if (b->due_ns < w->retries_due_ns)
		w->retries_due_ns = b->due_ns;
}

void binder_pause(struct binder *w, uint64_t wait_ns)
{
	uint64_t until = binder_now(w) + wait_ns;

	if (until > w->pause_until_ns)
		w->pause_until_ns = until;
}

bool binder_window_slower(struct bind *b)
{
	return window_slower(&b->binder->window, binder_now(b->binder), b->sent_ns);
}

void binder_window_answered(struct bind *b)
{
	struct binder *w = b->binder;

	window_answered(&w->window, binder_now(w), b->sent_ns, !TAILQ_EMPTY(&w->queue));
}

void binder_queue(struct bind *b)
{
	struct binder *w = b->binder;

	if (prebind_hold(b))
		return;
	intent_need(b);
	if (b->intent && !intent_is_durable(w->config.journal, b->intent))
		TAILQ_INSERT_TAIL(&w->unwritten, b, link);
	else
		TAILQ_INSERT_TAIL(&w->queue, b, link);
}

/* Refuses immediately what cannot be sent. */
static void refuse_unsent(struct binder *w, const struct cmd_bind *cmd)
{
	struct bind *b = must_alloc(sizeof(*b));

	b->binder = w;
	b->cmd = *cmd;
	binding_refused(b);
}

static void take_back(struct bind *b)
{
	b->binder->counts.cancelled++;
	b->give_up = b->maybe = true;
	b->step = STEP_READ;
	binder_queue(b);
}

int binder_bind(struct binder *w, enum record_kind kind, const struct cmd_bind *cmd)
{
	const char *node = model_node(w->config.model, cmd->node, cmd->node_generation);
	struct pod_view pod;
	struct bind *b;

	w->by_pod = must_reach(w->by_pod, &w->by_pod_n, cmd->pod, 1024, sizeof(struct bind *));
	b = w->by_pod[cmd->pod];
	if (b && b->cmd.pod_generation == cmd->pod_generation) {
		if (b->cmd.attempt != ATTEMPT_OTHER)
			return -EPROTO;
		/* One of an earlier core whose node is gone: this core can't have it. */
		refuse_unsent(w, cmd);
		return 0;
	}
	if (!node || !model_pod(w->config.model, cmd->pod, cmd->pod_generation, &pod) ||
	    strlen(pod.resource_version) >= sizeof(b->version) ||
	    (kind == CMD_CANCEL_BIND && !pod.ours)) {
		refuse_unsent(w, cmd);
		return 0;
	}
	b = must_alloc(sizeof(*b));
	b->binder = w;
	b->cmd = *cmd;
	b->step = STEP_POST;
	b->backoff = (struct backoff){ .first_ns = 20 * NS_PER_MS,
		                           .cap_ns = 10 * NS_PER_S,
		                           .reset_ns = 120 * NS_PER_S };
	strcpy(b->version, pod.resource_version);
	b->namespace = must_copy(pod.namespace);
	b->name = must_copy(pod.name);
	b->uid = must_copy(pod.uid);
	b->node = must_copy(node);
	b->scheduler = must_copy(pod.scheduler_name);
	w->by_pod[cmd->pod] = b;
	w->queued++;
	PROBE(bind_queued, cmd->pod, cmd->pod_generation, cmd->node);
	b->earlier = kind != CMD_BIND;
	b->withdrawn = kind == CMD_CANCEL_BIND;
	intent_begin(b);
	if (b->earlier)
		binding_begin(b); /* a successor of the core must see it */
	if (kind == CMD_CANCEL_BIND)
		take_back(b);
	else if (!group_recheck_hold(b))
		binder_queue(b);
	else if (!prebind_expects(b))
		intent_need(b); /* it is written while the group is read */
	return 0;
}

static void retries_send(struct binder *w)
{
	uint64_t now = binder_now(w), next = NEVER_NS;
	size_t left = w->retrying;
	struct bind *b;

	if (now < w->retries_due_ns)
		return;
	/* A step may requeue its binding, and binder_later() notes when it is due: not in this round.
	 * It may also remove others of its gang. */
	w->retries_due_ns = NEVER_NS;
	for (b = TAILQ_FIRST(&w->retries); b && left > 0; b = w->retries_next, left--) {
		w->retries_next = TAILQ_NEXT(b, link);
		if (b->due_ns > now || w->in_flight >= w->window.size) {
			if (b->due_ns < next)
				next = b->due_ns;
			continue;
		}
		TAILQ_REMOVE(&w->retries, b, link);
		w->retrying--;
		binding_step(b);
	}
	if (next < w->retries_due_ns)
		w->retries_due_ns = next;
}

static void queue_send(struct binder *w)
{
	struct bind *b;

	while (w->in_flight < w->window.size && (b = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, b, link);
		w->queued--;
		binding_step(b);
	}
}

static void landed_look(struct binder *w)
{
	struct bind *b, *after;

	if (TAILQ_EMPTY(&w->landed) || binder_now(w) < w->landed_look_ns)
		return;
	w->landed_look_ns = binder_now(w) + LANDED_LOOK_NS;
	for (b = TAILQ_FIRST(&w->landed); b; b = after) {
		struct pod_view pod;

		after = TAILQ_NEXT(b, link);
		if (model_pod(w->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) && !pod.node[0])
			continue;
		PROBE(bind_seen, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
		if (b->begun)
			model_bind_end(w->config.model, b->cmd.pod, b->cmd.pod_generation);
		TAILQ_REMOVE(&w->landed, b, link);
		binder_forget(b);
	}
}

uint64_t binder_poll(struct binder *w)
{
	uint64_t next = NEVER_NS, due;

	w->asked_generation = 0;
	landed_look(w);
	intents_ready(w);
	next = intents_look(w);
	if (!TAILQ_EMPTY(&w->landed) && w->landed_look_ns < next)
		next = w->landed_look_ns;
	if (binder_now(w) < w->pause_until_ns) {
		if (w->retrying || w->queued)
			next = w->pause_until_ns < next ? w->pause_until_ns : next;
		return next;
	}
	due = group_recheck_send(w);
	next = due < next ? due : next;
	due = prebind_poll(w);
	next = due < next ? due : next;
	retries_send(w);
	queue_send(w);
	if (!TAILQ_EMPTY(&w->stages) && w->prebind_due_ns < next)
		next = w->prebind_due_ns; /* some went back */
	/* With a full window the next answer triggers the call. */
	if (w->in_flight < w->window.size && w->retries_due_ns < next)
		next = w->retries_due_ns;
	return next;
}

/* A new core numbers attempts from 1; answers then match only what was announced as in flight. */
static void detach_attempts(struct bind_list *list)
{
	struct bind *b;

	TAILQ_FOREACH (b, list, link)
		b->cmd.attempt = ATTEMPT_OTHER;
}

/* Refused members retain their reservations while their gang is partially bound, and a core that
 * dies loses them. */

void binder_note_refused(struct binder *w, const struct cmd_bind *cmd)
{
	w->refused = must_reach(w->refused, &w->refused_n, cmd->pod, 1024, sizeof(*w->refused));
	binder_forget_refused(w, cmd->pod);
	w->refused[cmd->pod] = (struct refused_at){
		.generation = cmd->pod_generation,
		.node = cmd->node,
		.node_generation = cmd->node_generation,
	};
}

void binder_forget_refused(struct binder *w, pod_id pod)
{
	if (pod >= w->refused_n)
		return;
	intent_forget_refused(w, &w->refused[pod]);
	w->refused[pod] = (struct refused_at){ 0 };
}

bool refused_waits(const struct binder *w, pod_id id, const struct refused_at *at)
{
	struct pod_view pod;

	return model_node(w->config.model, at->node, at->node_generation) &&
	       model_pod(w->config.model, id, at->generation, &pod) && pod.gang[0] && !pod.node[0] &&
	       pod.ours && !pod.refusal[0] && !pod.deleting && !pod.gated;
}

static void refused_announce(struct binder *w)
{
	for (pod_id id = 0; id < w->refused_n; id++) {
		struct refused_at *at = &w->refused[id];

		if (at->generation == 0)
			continue;
		at->announced = refused_waits(w, id, at);
		if (at->announced)
			model_bind_begin(w->config.model, id, at->generation, at->node);
		else
			binder_forget_refused(w, id);
	}
}

static void refused_withdraw(struct binder *w, pod_id id)
{
	w->refused[id].announced = false;
	model_bind_end(w->config.model, id, w->refused[id].generation);
}

void binder_core_read_all(struct binder *w)
{
	for (pod_id id = 0; id < w->refused_n; id++) {
		const struct refused_at *at = &w->refused[id];
		const struct result r = {
			.pod = id, .generation = at->generation, .node = at->node, .attempt = ATTEMPT_OTHER
		};

		if (!at->announced)
			continue;
		refused_withdraw(w, id);
		w->config.result(w->config.context, RESULT_REFUSED, &r);
	}
}

void binder_core_down(struct binder *w)
{
	struct bind *b;

	group_recheck_forget(w);
	prebind_core_down(w);
	w->queued = 0;
	TAILQ_CONCAT(&w->queue, &w->unwritten, link);
	while ((b = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, b, link);
		binder_drop(b);
	}
	detach_attempts(&w->retries);
	detach_attempts(&w->flying);
	detach_attempts(&w->landed);
	for (pod_id id = 0; id < w->refused_n; id++)
		if (w->refused[id].announced)
			refused_withdraw(w, id);
}

void binder_core_up(struct binder *w)
{
	struct bind *b;

	TAILQ_FOREACH (b, &w->landed, link)
		binding_tell(b, RESULT_BOUND);
	refused_announce(w);
}

bool binder_has(const struct binder *w, pod_id pod, uint32_t generation)
{
	return pod < w->by_pod_n && w->by_pod[pod] && w->by_pod[pod]->cmd.pod_generation == generation;
}

size_t binder_queued(const struct binder *w)
{
	return w->queued;
}

size_t binder_flying(const struct binder *w)
{
	return w->in_flight;
}

size_t binder_unknown(const struct binder *w)
{
	return w->in_flight + w->retrying;
}

unsigned binder_window(const struct binder *w)
{
	return w->window.size;
}

const struct binder_counts *binder_counts(const struct binder *w)
{
	return &w->counts;
}

const struct histogram *binder_phase(const struct binder *w, const struct prebind_kind *kind)
{
	for (unsigned i = 0; kind && i < w->config.prebind_n; i++)
		if (w->config.prebind[i] == kind)
			return &w->phases[i];
	return NULL;
}
