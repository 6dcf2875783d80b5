/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a stage: gather, prepare, work, undo. */
#include "frontend/bind/prebind_impl.h"

#include "frontend/base/probe.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS (50 * NS_PER_MS)
#define GATHER_NS (5 * NS_PER_S)
#define JOURNAL_NS (2 * NS_PER_S) /* for the lines of all members, not only of a quorum */
#define LINES_NS (60 * NS_PER_S)  /* for lines within a share: others undo what they wrote */
#define UNDO_NS (30 * NS_PER_S)
#define NEVER_MS 600000u

/* Of a phase that was not started there may be what an earlier instance wrote.  It is found by the
 * pod's number, which another pod may have by now. */
static void works_undo(struct bind *b)
{
	struct held *h = b->held;
	struct pod_view pod;
	const bool left =
		b->left && model_pod(b->binder->config.model, b->cmd.pod, b->cmd.pod_generation, &pod);

	for (unsigned i = 0; i < prebind_kinds(b->binder); i++) {
		const struct prebind_kind *k = prebind_kind(b->binder, i);

		if (h->works[i] && i >= h->done + h->started) {
			k->free(k->context, h->works[i]);
			h->works[i] = NULL;
		}
		if (!h->works[i] && left)
			h->works[i] = k->recover(k->context, &h->member);
		if (h->works[i])
			k->undo(k->context, h->works[i]);
	}
}

static void fail(struct bind *b, const struct prebind_why *why)
{
	struct held *h = b->held;

	assert(!h->failed);
	works_undo(b);
	h->failed = true;
	h->since_ns = binder_now(b->binder);
	h->retry_ms = why->retry_ms;
	if (why->text[0])
		snprintf(b->error, sizeof(b->error), "%s", why->text);
	PROBE(prebind_failed, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
}

void prebind_fail_all(struct prebind_stage *s, const struct prebind_why *why)
{
	struct bind *b;

	TAILQ_FOREACH (b, &s->binds, link)
		if (!b->held->failed)
			fail(b, why);
}

static void fail_all_silently(struct prebind_stage *s, uint32_t retry_ms)
{
	prebind_fail_all(s, &(struct prebind_why){ .retry_ms = retry_ms });
}

static bool is_held(const struct bind *b)
{
	return b->held;
}

static bool is_prepared(const struct bind *b)
{
	return b->held->prepared;
}

static bool has_line(const struct bind *b)
{
	return b->intent || !b->binder->config.journal;
}

/* Members that count and have not failed, with those that have nodes already, are a quorum. */
static bool is_enough(const struct prebind_stage *s, bool (*counts)(const struct bind *b))
{
	struct gang_view gang;
	const struct bind *b;
	uint32_t n = 0;

	TAILQ_FOREACH (b, &s->binds, link)
		n += !b->held->failed && counts(b);
	if (s->gang == ID_NONE)
		return n > 0;
	return n > 0 && model_gang(s->binder->config.model, s->gang, s->generation, &gang) &&
	       !gang.missing && !gang.refusal[0] && n + gang.pods.bound >= gang.quorum;
}

/* A pod that can't be bound any more needs no writes. */
static bool pod_waits(const struct bind *b)
{
	struct pod_view pod;

	return model_pod(b->binder->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) &&
	       !pod.node[0] && !pod.deleting && !pod.gated &&
	       model_node(b->binder->config.model, b->cmd.node, b->cmd.node_generation);
}

static bool is_durable(const struct bind *b)
{
	return has_line(b) && (!b->intent || intent_is_durable(b->binder->config.journal, b->intent));
}

static bool prepare(struct bind *b, struct prebind_why *why)
{
	struct held *h = b->held;

	*why = (struct prebind_why){ .text = "" };
	h->prepared = true;
	for (unsigned i = 0; i < prebind_kinds(b->binder); i++) {
		const struct prebind_kind *k = prebind_kind(b->binder, i);

		if (!k->wants(k->context, b->cmd.pod, b->cmd.pod_generation))
			continue;
		h->works[i] = k->prepare(k->context, &h->member, why);
		if (!h->works[i])
			return false;
	}
	return true;
}

/* Fails those whose pods are gone. */
static void drop_gone(struct prebind_stage *s)
{
	const struct prebind_why why = { .text = "" };
	struct bind *b;

	TAILQ_FOREACH (b, &s->binds, link)
		if (!b->held->failed && !pod_waits(b))
			fail(b, &why);
}

/* True if the journal can never have a line for each member that has to start. */
static bool is_too_large(const struct prebind_stage *s)
{
	struct gang_view gang;

	return s->binder->config.journal && s->gang != ID_NONE &&
	       model_gang(s->binder->config.model, s->gang, s->generation, &gang) &&
	       gang.quorum > gang.pods.bound + prebind_lines_most(s->binder);
}

static void refuse_too_large(struct prebind_stage *s)
{
	struct prebind_why why = { .retry_ms = NEVER_MS };

	snprintf(why.text, sizeof(why.text),
	         "more than %zu members of a gang can't wait together for volumes or devices",
	         prebind_lines_most(s->binder));
	prebind_fail_all(s, &why);
}

/* True once the quorum has lines.  Within the share of its namespace it waits until others have
 * given way; above, what waits would keep nodes from others. */
static bool is_lined(struct prebind_stage *s, uint64_t now)
{
	struct prebind_why why;

	prebind_lines_take(s); /* also for those that came meanwhile */
	if (s->lined)
		return true;
	if (s->lines_ns == 0)
		s->lines_ns = now;
	if (is_enough(s, has_line)) {
		s->lined = true;
		s->lines_ns = now;
		return true;
	}
	if (now - s->lines_ns < JOURNAL_NS || (prebind_lines_due(s) && now - s->lines_ns < LINES_NS))
		return false;
	prebind_lines_say(s, &why);
	prebind_fail_all(s, &why);
	return false;
}

/* True once all members may be prepared, or enough of them while others wait for the journal. */
static bool is_gathered(struct prebind_stage *s)
{
	const uint64_t now = binder_now(s->binder);
	const struct bind *b;
	bool durable = true;

	if (!is_enough(s, is_held)) {
		if (now - s->since_ns >= GATHER_NS)
			fail_all_silently(s, 0);
		return false;
	}
	if (!is_lined(s, now))
		return false;
	TAILQ_FOREACH (b, &s->binds, link)
		durable = durable && (b->held->failed || !has_line(b) || is_durable(b));
	return durable || now - s->lines_ns >= JOURNAL_NS;
}

/* All choose, even if one can't: what each one learns is known to the next plan. */
static void gather(struct prebind_stage *s)
{
	struct prebind_why why;
	uint32_t retry_ms = 0;
	struct bind *b;

	drop_gone(s);
	if (is_too_large(s)) {
		refuse_too_large(s);
		return;
	}
	if (!is_gathered(s))
		return;
	s->working = true;
	TAILQ_FOREACH (b, &s->binds, link) {
		if (b->held->failed || !is_durable(b) || prepare(b, &why))
			continue;
		fail(b, &why);
		retry_ms = why.retry_ms;
	}
	if (!is_enough(s, is_prepared))
		fail_all_silently(s, retry_ms);
}

enum prebind_state prebind_look(struct bind *b, unsigned phase, struct prebind_why *why)
{
	const struct held *h = b->held;
	const struct prebind_kind *k = prebind_kind(b->binder, phase);
	enum prebind_state state = PREBIND_DONE;

	*why = (struct prebind_why){ .text = "" };
	if (h->works[phase])
		state = k->look(k->context, h->works[phase], why);
	if (state == PREBIND_BUSY && k->timeout_ns > 0 &&
	    binder_now(b->binder) >= h->since_ns + k->timeout_ns) {
		snprintf(why->text, sizeof(why->text), "%s", k->late);
		state = PREBIND_FAILED;
	}
	return state;
}

/* Looks at the phase of one member. */
static void advance(struct bind *b)
{
	struct held *h = b->held;
	struct prebind_why why;
	enum prebind_state state;

	if (!h->started)
		return;
	state = prebind_look(b, h->done, &why);
	if (state == PREBIND_DONE) {
		if (h->works[h->done])
			histogram_add(&b->binder->phases[h->done], &buckets_sli,
			              binder_now(b->binder) - h->since_ns);
		h->done++;
		h->started = false;
	} else if (state == PREBIND_FAILED) {
		fail(b, &why);
	}
}

/* What was done may be lost while others are waited for, which takes minutes.  False: something is
 * to be waited for once more. */
static bool all_hold(struct prebind_stage *s)
{
	struct prebind_why why;
	bool all = true;
	struct bind *b;

	TAILQ_FOREACH (b, &s->binds, link)
		for (unsigned i = 0; !b->held->failed && i < b->held->done; i++) {
			const enum prebind_state state = prebind_look(b, i, &why);

			all = all && state != PREBIND_BUSY;
			if (state == PREBIND_FAILED)
				fail(b, &why);
		}
	return all;
}

/* The first phase that is not over for all. */
static unsigned phase_of(const struct prebind_stage *s)
{
	unsigned least = prebind_kinds(s->binder);
	const struct bind *b;

	TAILQ_FOREACH (b, &s->binds, link)
		if (!b->held->failed && b->held->prepared && b->held->done < least)
			least = b->held->done;
	return least;
}

static void start(struct bind *b)
{
	struct held *h = b->held;
	const struct prebind_kind *k = prebind_kind(b->binder, h->done);

	h->started = true;
	h->since_ns = binder_now(b->binder);
	if (h->works[h->done])
		k->start(k->context, h->works[h->done]);
}

/* A member that came after the others had begun; true if it failed. */
static bool join(struct bind *b)
{
	struct prebind_why why;

	if (b->held->prepared || !is_durable(b) || prepare(b, &why))
		return false;
	fail(b, &why);
	return true;
}

static bool work_phase(struct prebind_stage *s, unsigned phase)
{
	struct bind *b;
	bool again = false;

	TAILQ_FOREACH (b, &s->binds, link) {
		struct held *h = b->held;

		if (h->failed || !h->prepared || h->done != phase || h->started)
			continue;
		start(b);
		again = again || !h->works[phase];
	}
	return again;
}

/* Also without a failure they may be no quorum any more: it was raised, or the group is gone. */
static void work(struct prebind_stage *s)
{
	struct bind *b, *after;
	unsigned phase;
	bool again, all, begun;

	drop_gone(s);
	all = all_hold(s);
	prebind_lines_take(s); /* for those that came meanwhile */
	do {
		TAILQ_FOREACH (b, &s->binds, link)
			if (!b->held->failed && !join(b))
				advance(b);
		if (!is_enough(s, is_prepared)) {
			fail_all_silently(s, 0);
			return;
		}
		phase = phase_of(s);
		again = phase < prebind_kinds(s->binder) && work_phase(s, phase);
	} while (again);
	if (phase < prebind_kinds(s->binder) || !all)
		return;
	/* Those that the journal had no line for follow. */
	s->working = s->lined = false;
	s->lines_ns = 0;
	s->since_ns = binder_now(s->binder);
	begun = s->gang != ID_NONE && prebind_has_begun(TAILQ_FIRST(&s->binds));
	for (b = TAILQ_FIRST(&s->binds); b; b = after) {
		after = TAILQ_NEXT(b, link);
		if (!b->held->failed && b->held->prepared)
			prebind_release(b, begun);
	}
}

/* True when nothing is left to take back. */
static bool is_undone(struct bind *b)
{
	struct held *h = b->held;
	struct prebind_why why;
	bool all = true;

	for (unsigned i = 0; i < prebind_kinds(b->binder); i++) {
		const struct prebind_kind *k = prebind_kind(b->binder, i);

		if (h->works[i] && k->look(k->context, h->works[i], &why) == PREBIND_BUSY)
			all = false;
	}
	if (all || binder_now(b->binder) < h->since_ns + UNDO_NS)
		return all;
	if (log_allowed(&b->binder->limit, b->binder->config.env, "bindings"))
		env_log(b->binder->config.env, "error",
		        "pod %s/%s: what was written for its place on node %s could not be taken back in "
		        "%u s",
		        b->namespace, b->name, b->node, (unsigned)(UNDO_NS / NS_PER_S));
	return true;
}

static void undone(struct bind *b)
{
	const uint32_t retry_ms = b->held->retry_ms;
	const bool dead = b->held->dead;

	b->prebound = dead || b->held->started || b->held->done > 0;
	prebind_leave(b);
	if (dead) {
		binding_refused(b);
		return;
	}
	binding_give_up(b, retry_ms);
}

static void stage_turn(struct prebind_stage *s)
{
	struct bind *b, *after;

	for (b = TAILQ_FIRST(&s->binds); b; b = after) {
		after = TAILQ_NEXT(b, link);
		if (b->held->failed && is_undone(b))
			undone(b);
	}
	if (s->working)
		work(s);
	else
		gather(s);
}

uint64_t prebind_poll(struct binder *w)
{
	struct prebind_stage *s;
	uint64_t next, due;

	if (TAILQ_EMPTY(&w->stages))
		return NEVER_NS;
	if (binder_now(w) >= w->prebind_due_ns) {
		w->prebind_due_ns = binder_now(w) + LOOK_NS;
		w->lines_were_short = w->lines_short;
		w->lines_short = false;
		TAILQ_FOREACH (s, &w->stages, link)
			stage_turn(s);
		prebind_sweep(w);
	}
	next = w->prebind_due_ns;
	for (unsigned i = 0; i < prebind_kinds(w); i++) {
		due = prebind_kind(w, i)->poll(prebind_kind(w, i)->context);
		next = due < next ? due : next;
	}
	return next;
}
