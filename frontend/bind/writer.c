/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/writer_impl.h"

#include "frontend/base/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANDED_LOOK_NS (200 * NS_PER_MS)

struct writer *writer_new(const struct writer_config *config)
{
	struct writer *w = must_alloc(sizeof(*w));

	w->config = *config;
	w->window = config->connections;
	w->pause = (struct backoff){ .first_ns = 100 * NS_PER_MS,
		                         .cap_ns = 5 * NS_PER_S,
		                         .reset_ns = 30 * NS_PER_S };
	w->retries_due_ns = NEVER_NS;
	TAILQ_INIT(&w->queue);
	TAILQ_INIT(&w->retries);
	TAILQ_INIT(&w->flying);
	TAILQ_INIT(&w->landed);
	TAILQ_INIT(&w->groups);
	TAILQ_INIT(&w->groups_due);
	return w;
}

void writer_forget(struct bind *b)
{
	struct writer *w = b->writer;

	if (b->cmd.pod < w->by_pod_n && w->by_pod[b->cmd.pod] == b)
		w->by_pod[b->cmd.pod] = NULL;
	if (b->group)
		groupread_leave(b);
	free(b->namespace);
	free(b->name);
	free(b->uid);
	free(b->node);
	free(b->scheduler);
	free(b);
}

void writer_drop(struct bind *b)
{
	if (b->earlier)
		binding_give_up(b, 0);
	else
		writer_forget(b);
}

static void list_free(struct bind_list *list)
{
	struct bind *b;

	while ((b = TAILQ_FIRST(list)) != NULL) {
		struct writer *w = b->writer;

		TAILQ_REMOVE(list, b, link);
		if (b->call)
			w->config.env->transport->ops->cancel(w->config.env->transport, b->call);
		writer_forget(b);
	}
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	groupread_forget(w);
	list_free(&w->queue);
	list_free(&w->retries);
	list_free(&w->flying);
	list_free(&w->landed);
	jsonout_free(&w->path);
	jsonout_free(&w->body);
	free(w->by_pod);
	free(w->refused);
	free(w->by_gang);
	free(w);
}

/* ---- for binding.c ------------------------------------------------------- */

void writer_later(struct bind *b, enum bind_step step, uint64_t wait_ns)
{
	struct writer *w = b->writer;

	b->step = step;
	b->due_ns = writer_now(w) + wait_ns;
	PROBE(bind_again, b->cmd.pod, b->cmd.pod_generation, (uint32_t)step);
	TAILQ_INSERT_TAIL(&w->retries, b, link);
	w->retrying++;
	if (b->due_ns < w->retries_due_ns)
		w->retries_due_ns = b->due_ns;
}

void writer_pause(struct writer *w, uint64_t wait_ns)
{
	uint64_t until = writer_now(w) + wait_ns;

	if (until > w->pause_until_ns)
		w->pause_until_ns = until;
}

void writer_window_halve(struct writer *w)
{
	w->window = w->window > 1 ? w->window / 2 : 1;
	w->window_credit = 0;
}

void writer_window_grow(struct writer *w)
{
	if (++w->window_credit < w->window || w->window >= w->config.connections)
		return;
	w->window++;
	w->window_credit = 0;
}

/* ---- queue ----------------------------------------------------------------- */

void writer_queue(struct bind *b)
{
	TAILQ_INSERT_TAIL(&b->writer->queue, b, link);
}

/* Answer at once what can't be sent at all. */
static void refuse_unsent(struct writer *w, const struct cmd_bind *cmd)
{
	struct bind *b = must_alloc(sizeof(*b));

	b->writer = w;
	b->cmd = *cmd;
	binding_refused(b);
}

static void take_back(struct bind *b)
{
	b->writer->counts.withdrawn++;
	b->give_up = b->maybe = b->withdrawn = true;
	b->step = STEP_READ;
	writer_queue(b);
}

int writer_bind(struct writer *w, enum record_kind kind, const struct cmd_bind *cmd)
{
	const char *node = model_node(w->config.model, cmd->node, cmd->node_generation);
	struct pod_view pod;
	struct bind *b;

	w->by_pod = must_reach(w->by_pod, &w->by_pod_n, cmd->pod, 1024, sizeof(struct bind *));
	b = w->by_pod[cmd->pod];
	if (b && b->cmd.pod_generation == cmd->pod_generation)
		return -EPROTO;
	if (!node || !model_pod(w->config.model, cmd->pod, cmd->pod_generation, &pod) ||
	    strlen(pod.resource_version) >= sizeof(b->version) ||
	    (kind == CMD_TAKE_BACK && !pod.ours)) {
		refuse_unsent(w, cmd);
		return 0;
	}
	b = must_alloc(sizeof(*b));
	b->writer = w;
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
	if (b->earlier)
		binding_begin(b); /* should the core die, the next one has to know of it */
	if (kind == CMD_TAKE_BACK)
		take_back(b);
	else if (!groupread_hold(b))
		writer_queue(b);
	return 0;
}

static void retries_send(struct writer *w)
{
	uint64_t now = writer_now(w), next = NEVER_NS;
	size_t left = w->retrying;
	struct bind *b, *after;

	if (now < w->retries_due_ns)
		return;
	/* A step may put its binding back at the end, and writer_later() then notes
	 * when it is due: not in this round. */
	w->retries_due_ns = NEVER_NS;
	for (b = TAILQ_FIRST(&w->retries); b && left > 0; b = after, left--) {
		after = TAILQ_NEXT(b, link);
		if (b->due_ns > now || w->in_flight >= w->window) {
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

static void queue_send(struct writer *w)
{
	struct bind *b;

	while (w->in_flight < w->window && (b = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, b, link);
		w->queued--;
		binding_step(b);
	}
}

static void landed_look(struct writer *w)
{
	struct bind *b, *after;

	if (TAILQ_EMPTY(&w->landed) || writer_now(w) < w->landed_look_ns)
		return;
	w->landed_look_ns = writer_now(w) + LANDED_LOOK_NS;
	for (b = TAILQ_FIRST(&w->landed); b; b = after) {
		struct pod_view pod;

		after = TAILQ_NEXT(b, link);
		if (model_pod(w->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) && !pod.node[0])
			continue;
		PROBE(bind_seen, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
		if (b->begun)
			model_bind_end(w->config.model, b->cmd.pod, b->cmd.pod_generation);
		TAILQ_REMOVE(&w->landed, b, link);
		writer_forget(b);
	}
}

uint64_t writer_poll(struct writer *w)
{
	uint64_t next = NEVER_NS, due;

	landed_look(w);
	if (!TAILQ_EMPTY(&w->landed))
		next = w->landed_look_ns;
	if (writer_now(w) < w->pause_until_ns) {
		if (w->retrying || w->queued)
			next = w->pause_until_ns < next ? w->pause_until_ns : next;
		return next;
	}
	due = groupread_send(w);
	next = due < next ? due : next;
	retries_send(w);
	queue_send(w);
	/* With a full window the next answer calls again. */
	if (w->in_flight < w->window && w->retries_due_ns < next)
		next = w->retries_due_ns;
	return next;
}

/* The next core counts attempts anew; it takes their answers only for what it was told is under
 * way. */
static void outlive(struct bind_list *list)
{
	struct bind *b;

	TAILQ_FOREACH (b, list, link)
		b->cmd.attempt = ATTEMPT_OTHER;
}

/* ---- what was refused: its room is kept while its gang is half bound, and a core that dies takes
 * that along ---- */

void writer_note_refused(struct writer *w, const struct cmd_bind *cmd)
{
	w->refused = must_reach(w->refused, &w->refused_n, cmd->pod, 1024, sizeof(*w->refused));
	w->refused[cmd->pod] = (struct refused_at){
		.generation = cmd->pod_generation,
		.node = cmd->node,
		.node_generation = cmd->node_generation,
	};
}

void writer_forget_refused(struct writer *w, pod_id pod)
{
	if (pod < w->refused_n)
		w->refused[pod] = (struct refused_at){ 0 };
}

/* Does it still wait, as what it was?  A pod by itself keeps no room. */
static bool refused_waits(const struct writer *w, pod_id id, const struct refused_at *at)
{
	struct pod_view pod;

	return model_node(w->config.model, at->node, at->node_generation) &&
	       model_pod(w->config.model, id, at->generation, &pod) && pod.gang[0] && !pod.node[0] &&
	       pod.ours && !pod.refusal[0] && !pod.deleting && !pod.gated;
}

static void refused_tell(struct writer *w)
{
	for (pod_id id = 0; id < w->refused_n; id++) {
		struct refused_at *at = &w->refused[id];

		if (at->generation == 0)
			continue;
		at->told = refused_waits(w, id, at);
		if (at->told)
			model_bind_begin(w->config.model, id, at->generation, at->node);
		else
			*at = (struct refused_at){ 0 };
	}
}

static void refused_untell(struct writer *w, pod_id id)
{
	w->refused[id].told = false;
	model_bind_end(w->config.model, id, w->refused[id].generation);
}

void writer_core_read_all(struct writer *w)
{
	for (pod_id id = 0; id < w->refused_n; id++) {
		const struct refused_at *at = &w->refused[id];
		const struct result r = {
			.pod = id, .generation = at->generation, .node = at->node, .attempt = ATTEMPT_OTHER
		};

		if (!at->told)
			continue;
		refused_untell(w, id);
		w->config.result(w->config.context, RESULT_REFUSED, &r);
	}
}

/* ---- the core comes and goes --------------------------------------------------- */

void writer_core_down(struct writer *w)
{
	struct bind *b;

	groupread_forget(w);
	w->queued = 0;
	while ((b = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, b, link);
		writer_drop(b);
	}
	outlive(&w->retries);
	outlive(&w->flying);
	outlive(&w->landed);
	for (pod_id id = 0; id < w->refused_n; id++)
		if (w->refused[id].told)
			refused_untell(w, id);
}

void writer_core_up(struct writer *w)
{
	struct bind *b;

	TAILQ_FOREACH (b, &w->landed, link)
		binding_tell(b, RESULT_BOUND);
	refused_tell(w);
}

bool writer_has(const struct writer *w, pod_id pod, uint32_t generation)
{
	return pod < w->by_pod_n && w->by_pod[pod] && w->by_pod[pod]->cmd.pod_generation == generation;
}

size_t writer_queued(const struct writer *w)
{
	return w->queued;
}

size_t writer_flying(const struct writer *w)
{
	return w->in_flight;
}

size_t writer_unknown(const struct writer *w)
{
	return w->in_flight + w->retrying;
}

unsigned writer_window(const struct writer *w)
{
	return w->window;
}

const struct writer_counts *writer_counts(const struct writer *w)
{
	return &w->counts;
}
