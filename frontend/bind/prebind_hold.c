/* SPDX-License-Identifier: Apache-2.0 */
/* Which bindings are held, and what ends that from outside. */
#include "frontend/bind/prebind_impl.h"

#include "frontend/base/probe.h"

#include <stdlib.h>
#include <string.h>

static bool pod_wants(const struct binder *w, pod_id pod, uint32_t generation)
{
	for (unsigned i = 0; i < prebind_kinds(w); i++)
		if (prebind_kind(w, i)->wants(prebind_kind(w, i)->context, pod, generation))
			return true;
	return false;
}

struct asking {
	const struct binder *w;
	bool wants;
};

static void ask_pod(void *context, const struct pod_view *pod)
{
	struct asking *a = context;

	a->wants = a->wants || pod_wants(a->w, pod->id, pod->generation);
}

/* True if no member has a node, and some member has work.  A gang's commands come together: it is
 * asked once in a turn, not for each of them. */
static bool gang_wants(struct binder *w, const struct cmd_bind *cmd)
{
	struct asking a = { .w = w };
	struct gang_view gang;

	if (cmd->gang == ID_NONE)
		return false;
	if (w->asked_gang == cmd->gang && w->asked_generation == cmd->gang_generation)
		return w->asked_wants;
	if (!model_gang(w->config.model, cmd->gang, cmd->gang_generation, &gang) || gang.pods.bound > 0)
		return false;
	model_gang_pending(w->config.model, cmd->gang, ask_pod, &a);
	w->asked_gang = cmd->gang;
	w->asked_generation = cmd->gang_generation;
	w->asked_wants = a.wants;
	return a.wants;
}

struct prebind_stage *prebind_stage_make(const struct bind *b, gang_id gang)
{
	struct binder *w = b->binder;
	struct prebind_stage *s = must_alloc(sizeof(*s));

	s->binder = w;
	s->gang = gang;
	s->generation = b->cmd.gang_generation;
	s->share = prebind_share(w, b->namespace);
	s->since_ns = binder_now(w);
	TAILQ_INIT(&s->binds);
	TAILQ_INSERT_TAIL(&w->stages, s, link);
	return s;
}

struct prebind_stage *prebind_stage_of(struct binder *w, const struct cmd_bind *cmd)
{
	struct prebind_stage *s;

	TAILQ_FOREACH (s, &w->stages, link)
		if (s->gang == cmd->gang && s->generation == cmd->gang_generation)
			return s;
	return NULL;
}

static void stage_enter(struct prebind_stage *s, struct bind *b)
{
	struct binder *w = s->binder;
	struct held *h = must_alloc(sizeof(*h));

	h->stage = s;
	h->member = (struct prebind_member){ .pod = b->cmd.pod,
		                                 .generation = b->cmd.pod_generation,
		                                 .node = b->cmd.node,
		                                 .gang = b->cmd.gang,
		                                 .gang_generation = b->cmd.gang_generation,
		                                 .node_name = b->node,
		                                 .namespace = b->namespace,
		                                 .name = b->name,
		                                 .uid = b->uid };
	b->held = h;
	prebind_line_count(b);
	TAILQ_INSERT_TAIL(&s->binds, b, link);
	w->prebind_due_ns = 0;
	PROBE(prebind_held, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
}

void prebind_end(struct bind *b)
{
	struct held *h = b->held;
	const struct binder *w = b->binder;

	for (unsigned i = 0; i < prebind_kinds(w); i++)
		if (h->works[i])
			prebind_kind(w, i)->free(prebind_kind(w, i)->context, h->works[i]);
	free(h);
	b->held = NULL;
}

void prebind_leave(struct bind *b)
{
	prebind_line_return(b);
	TAILQ_REMOVE(&b->held->stage->binds, b, link);
	prebind_end(b);
}

static bool any_work(const struct binder *w)
{
	for (unsigned i = 0; i < prebind_kinds(w); i++)
		if (prebind_kind(w, i)->any(prebind_kind(w, i)->context))
			return true;
	return !TAILQ_EMPTY(&w->stages);
}

bool prebind_hold(struct bind *b)
{
	struct binder *w = b->binder;
	struct prebind_stage *s;
	bool together;

	if (b->prebound || b->step != STEP_POST || !any_work(w))
		return false;
	s = b->cmd.gang != ID_NONE ? prebind_stage_of(w, &b->cmd) : NULL;
	together = s || gang_wants(w, &b->cmd);
	if (!together && !pod_wants(w, b->cmd.pod, b->cmd.pod_generation))
		return false;
	w->queued--;
	/* It may be bound: what is written for it could not be taken back. */
	if (b->earlier) {
		b->maybe = b->settle = b->left = true;
		binder_later(b, STEP_READ, 0);
		return true;
	}
	if (!s)
		s = prebind_stage_make(b, together ? b->cmd.gang : ID_NONE);
	stage_enter(s, b);
	return true;
}

bool prebind_expects(struct bind *b)
{
	struct binder *w = b->binder;

	return !b->prebound && b->step == STEP_POST && any_work(w) &&
	       (prebind_stage_of(w, &b->cmd) || gang_wants(w, &b->cmd) ||
	        pod_wants(w, b->cmd.pod, b->cmd.pod_generation));
}

/* True if b goes back and an earlier instance may have written something for it that is to be
 * taken back: b is held until it is.  No Binding of b can land any more: a pod that runs uses what
 * was written. */
bool prebind_take_back(struct bind *b)
{
	struct binder *w = b->binder;
	struct pod_view pod;
	struct held *h;
	bool any = false;

	if ((!b->withdrawn && !b->left) || b->prebound || !any_work(w))
		return false;
	/* What is to be undone is found by the pod's number, which another pod may have by now. */
	if (!model_pod(w->config.model, b->cmd.pod, b->cmd.pod_generation, &pod))
		return false;
	stage_enter(prebind_stage_make(b, ID_NONE), b);
	h = b->held;
	h->stage->working = true;
	h->failed = h->prepared = h->dead = true;
	h->since_ns = binder_now(w);
	for (unsigned i = 0; i < prebind_kinds(w); i++) {
		const struct prebind_kind *k = prebind_kind(w, i);

		h->works[i] = k->recover(k->context, &h->member);
		if (h->works[i])
			k->undo(k->context, h->works[i]);
		any = any || h->works[i];
	}
	if (!any) {
		prebind_leave(b);
		return false;
	}
	return true;
}

void prebind_sweep(struct binder *w)
{
	struct prebind_stage *s, *after;

	for (s = TAILQ_FIRST(&w->stages); s; s = after) {
		after = TAILQ_NEXT(s, link);
		if (!TAILQ_EMPTY(&s->binds))
			continue;
		TAILQ_REMOVE(&w->stages, s, link);
		prebind_unshare(w, s->share);
		free(s);
	}
}

void prebind_core_down(struct binder *w)
{
	struct prebind_stage *s;
	struct bind *b, *after;

	TAILQ_FOREACH (s, &w->stages, link) {
		for (b = TAILQ_FIRST(&s->binds); b; b = after) {
			after = TAILQ_NEXT(b, link);
			if (!b->held->prepared && !b->left) {
				prebind_leave(b);
				binder_drop(b);
				continue;
			}
			if (!b->begun)
				binding_begin(b);
			b->cmd.attempt = ATTEMPT_OTHER;
		}
	}
	prebind_sweep(w);
}

void prebind_free(struct binder *w)
{
	struct prebind_stage *s;
	struct bind *b;

	TAILQ_FOREACH (s, &w->stages, link) {
		while ((b = TAILQ_FIRST(&s->binds)) != NULL) {
			prebind_leave(b);
			binder_forget(b);
		}
	}
	prebind_sweep(w);
}

size_t binder_held(const struct binder *w)
{
	const struct prebind_stage *s;
	const struct bind *b;
	size_t n = 0;

	TAILQ_FOREACH (s, &w->stages, link)
		TAILQ_FOREACH (b, &s->binds, link)
			n++;
	return n;
}
