/* SPDX-License-Identifier: Apache-2.0 */
/* From the stage to the outcome of the Binding: what was done must hold at each POST. */
#include "frontend/bind/prebind_impl.h"

#include <assert.h>

static void suspend(struct bind *b, bool suspended)
{
	for (unsigned i = 0; i < prebind_kinds(b->binder); i++) {
		const struct prebind_kind *k = prebind_kind(b->binder, i);

		if (k->suspend && b->held->works[i])
			k->suspend(k->context, b->held->works[i], suspended);
	}
}

/* One that was sent before, or that a dead core had begun, is in flight for the next core: it is
 * not among those that can be dropped. */
void prebind_release(struct bind *b, bool begun)
{
	struct held *h = b->held;

	prebind_line_return(b);
	TAILQ_REMOVE(&h->stage->binds, b, link);
	h->together = h->stage->gang != ID_NONE;
	h->parted = begun;
	h->stage = NULL;
	suspend(b, true);
	b->prebound = true;
	if (b->begun && !b->earlier) {
		binder_later(b, STEP_POST, 0);
		return;
	}
	b->binder->queued++;
	binder_queue(b);
}

/* True if no Binding of its gang can have been sent by this process. */
static bool is_together(const struct bind *b)
{
	struct gang_view gang;

	return b->held->together && !b->held->parted &&
	       model_gang(b->binder->config.model, b->cmd.gang, b->cmd.gang_generation, &gang) &&
	       gang.pods.bound == 0;
}

/* `list`: where m is; NULL: it is the one that is to be sent. */
typedef void member_do(struct bind *m, struct bind_list *list, void *context);

/* b, and while none of them was sent, the others that were released with it; m may leave its list.
 * One that was given up is not among them: an earlier instance may have sent it. */
static void each_together(struct bind *b, member_do *each, void *context)
{
	struct binder *w = b->binder;
	struct bind_list *const lists[] = { &w->queue, &w->unwritten, &w->retries };
	const bool together = is_together(b);
	struct bind *m, *after;

	for (size_t i = 0; together && i < sizeof(lists) / sizeof(lists[0]); i++)
		for (m = TAILQ_FIRST(lists[i]); m; m = after) {
			after = TAILQ_NEXT(m, link);
			if (m->held && m->held->together && !m->maybe && m->cmd.gang == b->cmd.gang &&
			    m->cmd.gang_generation == b->cmd.gang_generation)
				each(m, lists[i], context);
		}
	each(b, NULL, context);
}

static void member_look(struct bind *m, struct bind_list *list, void *context)
{
	bool *all = context;
	struct prebind_why why;

	for (unsigned i = 0; i < m->held->done; i++)
		*all = prebind_look(m, i, &why) == PREBIND_DONE && *all;
}

static void member_part(struct bind *m, struct bind_list *list, void *context)
{
	m->held->parted = true;
}

static void member_join(struct bind *m, struct bind_list *list, void *context)
{
	m->held->parted = false;
}

static void member_back(struct bind *m, struct bind_list *list, void *context)
{
	struct prebind_stage *s = context;
	struct binder *w = m->binder;

	assert(!m->maybe);
	if (list == &w->retries) {
		w->retrying--;
		w->retries_next = w->retries_next == m ? TAILQ_NEXT(m, link) : w->retries_next;
	} else if (list) {
		w->queued--;
	}
	if (list)
		TAILQ_REMOVE(list, m, link);
	m->prebound = false;
	m->held->stage = s;
	m->held->since_ns = binder_now(w);
	TAILQ_INSERT_TAIL(&s->binds, m, link);
	prebind_line_count(m);
	suspend(m, false);
}

static struct prebind_stage *stage_again(const struct bind *b)
{
	struct prebind_stage *s = NULL;

	if (is_together(b)) {
		s = prebind_stage_of(b->binder, &b->cmd);
		return s ? s : prebind_stage_make(b, b->cmd.gang);
	}
	return prebind_stage_make(b, ID_NONE);
}

/* all_hold() then waits for what is lost, or undoes it. */
static void go_back(struct bind *b)
{
	struct prebind_stage *s = stage_again(b);

	s->working = true;
	b->binder->prebind_due_ns = 0;
	each_together(b, member_back, s);
}

bool prebind_admits(struct bind *b)
{
	bool all = true;

	each_together(b, member_look, &all);
	if (all) {
		each_together(b, member_part, NULL);
		return true;
	}
	/* The pod may run with what it has, until the fence says that it does not. */
	if (b->maybe)
		binder_later(b, STEP_FENCE, 0);
	else
		go_back(b);
	return false;
}

/* A Binding of the gang is on its way, has landed, or may. */
static bool may_have_begun(const struct bind *b, const struct bind_list *list, bool all)
{
	const struct bind *m;

	TAILQ_FOREACH (m, list, link)
		if (m->cmd.gang == b->cmd.gang && m->cmd.gang_generation == b->cmd.gang_generation &&
		    (all || m->maybe || m->earlier))
			return true;
	return false;
}

bool prebind_has_begun(const struct bind *b)
{
	const struct binder *w = b->binder;

	return may_have_begun(b, &w->flying, true) || may_have_begun(b, &w->landed, true) ||
	       may_have_begun(b, &w->queue, false) || may_have_begun(b, &w->unwritten, false) ||
	       may_have_begun(b, &w->retries, false);
}

void prebind_had_no_effect(struct bind *b)
{
	if (!b->held || !b->held->together || !b->held->parted || b->maybe || b->earlier ||
	    prebind_has_begun(b))
		return;
	b->held->parted = false;
	each_together(b, member_join, NULL);
}
