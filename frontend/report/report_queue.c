/* SPDX-License-Identifier: Apache-2.0 */
/* Items of all kinds and their texts: the queues, what is held or kept, and their end. */
#include "frontend/report/report_impl.h"

#include "frontend/json/json_scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_NS (2 * NS_PER_S)

struct note *report_note_new(const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct note *n = must_alloc(sizeof(*n) + bytes);

	n->users = 1;
	memcpy(n->text, text, bytes);
	scan_drop_broken(n->text);
	return n;
}

struct note *report_note_use(struct note *n)
{
	n->users++;
	return n;
}

void report_note_drop(struct note **n)
{
	if (*n && --(*n)->users == 0)
		free(*n);
	*n = NULL;
}

void report_item_free(struct item *i)
{
	i->report->ops[i->kind]->free(i);
}

void report_item_unlist(struct item *i)
{
	struct report *r = i->report;

	if (i->flying) {
		TAILQ_REMOVE(&r->flying, i, link);
		r->flying_n--;
		r->events_flying -= i->kind == ITEM_BIND;
	} else if (i->held) {
		TAILQ_REMOVE(&r->held, i, link);
		r->held_n--;
	} else if (i->kept) {
		TAILQ_REMOVE(&r->kept, i, link);
		r->kept_n--;
	} else if (i->queued) {
		TAILQ_REMOVE(&r->queues[i->kind], i, link);
		r->queued_n[i->kind]--;
	}
	i->queued = false;
	i->held = false;
	i->kept = false;
	i->flying = false;
}

void report_dropped(struct report *r, const char *why)
{
	r->counts.dropped++;
	if (log_allowed(&r->drop_limit, r->config.env, "dropped reports"))
		env_log(r->config.env, "warn", "%s", why);
}

/* Leaves the oldest to a sweep; groups never, there are no more than gangs. */
static void defer_oldest(struct report *r, enum item_kind kind)
{
	struct item *oldest = TAILQ_FIRST(&r->queues[kind]);

	report_item_unlist(oldest);
	r->counts.deferred++;
	if (log_allowed(&r->defer_limit, r->config.env, "deferred reports"))
		env_log(
			r->config.env, "warn",
			"%zu conditions and events wait to be written, the oldest is deferred; --report-qps "
			"is how many are written a second",
			r->config.queue_max);
	if (kind == ITEM_BIND)
		report_item_keep(oldest);
	else if (report_pod_replaced(pod_of(oldest)))
		report_item_free(oldest); /* no sweep comes to it */
	else
		report_note_drop(&oldest->note);
}

void report_item_keep(struct item *i)
{
	struct report *r = i->report;
	struct item *oldest;

	assert(i->kind == ITEM_BIND && !i->queued && !i->flying);
	if (r->kept_n >= r->config.queue_max) {
		oldest = TAILQ_FIRST(&r->kept);
		report_item_unlist(oldest);
		report_item_free(oldest);
		report_dropped(r,
		               "too many events of bindings could not be written, the oldest is dropped");
	}
	i->tries = 0;
	TAILQ_INSERT_TAIL(&r->kept, i, link);
	r->kept_n++;
	i->kept = true;
}

/* Groups are ordered by due time; the others are queued in that order.  The Event of a binding that
 * is tried again stays before later ones about the same pod. */
static void queue_insert(struct item_list *list, struct item *i)
{
	struct item *before = i->kind == ITEM_BIND && i->tries > 0 ? NULL : TAILQ_LAST(list, item_list);

	while (i->kind == ITEM_GROUP && before && before->due_ns > i->due_ns)
		before = TAILQ_PREV(before, item_list, link);
	if (before)
		TAILQ_INSERT_AFTER(list, before, i, link);
	else
		TAILQ_INSERT_HEAD(list, i, link);
}

void report_item_queue(struct item *i)
{
	struct report *r = i->report;

	if (i->kind != ITEM_GROUP && r->queued_n[i->kind] >= r->config.queue_max)
		defer_oldest(r, i->kind);
	queue_insert(&r->queues[i->kind], i);
	r->queued_n[i->kind]++;
	i->queued = true;
}

void report_item_hold(struct item *i)
{
	struct report *r = i->report;

	i->due_ns = env_now(r->config.env) + HOLD_NS;
	TAILQ_INSERT_TAIL(&r->held, i, link);
	r->held_n++;
	i->held = true;
	i->queued = true;
}

void report_held_go(struct report *r, uint64_t now)
{
	struct item *i;

	while ((i = TAILQ_FIRST(&r->held)) != NULL && i->due_ns <= now) {
		report_item_unlist(i);
		report_item_queue(i);
	}
}

void report_item_happened(struct item *i)
{
	const struct env *env = i->report->config.env;

	i->since_ns = env_now(env);
	i->since_wall_ns = env->wall_ns(env->context);
}

bool report_may_ask(struct right *right, size_t object)
{
	if (!right->missing)
		return true;
	if (right->asked)
		return false;
	if (object < right->next) {
		right->passed = true;
		return false;
	}
	right->asked = true;
	right->next = object + 1;
	return true;
}
