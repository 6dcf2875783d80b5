/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/queues.h"

#include "core/cycle/queue_past.h"
#include "core/cycle/turns.h"
#include "core/lifecycle/queued.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <stdlib.h>
#include <string.h>

static void scratch_free(struct turns *t)
{
	shares_free(t->shares);
	free(t->counted);
	free(t->queue);
	free(t->parked);
	free(t->blocker);
	free(t->promised);
	free(t->next);
	free(t->quorums);
	free(t->extras);
	free(t->waiting);
	free(t->asks);
	free(t->nodes);
	free(t->order);
	free(t->values);
	t->shares = NULL;
	t->counted = t->queue = t->next = NULL;
	t->blocker = NULL;
	t->parked = NULL;
	t->promised = NULL;
	t->promised_n = t->promised_room = 0;
	t->quorums = t->extras = NULL;
	t->waiting = NULL;
	t->asks = NULL;
	t->nodes = NULL;
	t->order = NULL;
	t->values = NULL;
}

static void history_begin(struct core *c)
{
	shares_history_begin(c->turns.shares, c->turns.terms, c->now_ns / NS_PER_S);
	c->turns.history_due_ns = c->now_ns;
}

/* Queues of the set, which nothing uses yet. */
static void scratch_make(struct core *c, const struct share_set *set)
{
	struct turns *t = &c->turns;

	t->shares = shares_new(set);
	t->counted = must_array(c->pods.limit, sizeof(*t->counted));
	t->queue = must_array(c->gangs.n, sizeof(*t->queue));
	t->parked = must_array(c->gangs.n, sizeof(*t->parked));
	t->next = must_array(c->gangs.n, sizeof(*t->next));
	t->blocker = must_array(set->n, sizeof(*t->blocker));
	t->quorums = must_array(set->n, sizeof(*t->quorums));
	t->extras = must_array(set->n, sizeof(*t->extras));
	t->waiting = must_array(set->n, sizeof(*t->waiting));
	t->asks = must_array(set->n, sizeof(*t->asks));
	t->nodes = must_array(c->pods.limit, sizeof(*t->nodes));
	t->order = must_array(c->pods.limit, sizeof(*t->order));
	t->values = must_array(c->pods.limit, sizeof(*t->values));
	if (t->terms)
		history_begin(c);
	memset(t->blocker, 0xff, set->n * sizeof(*t->blocker)); /* ID_NONE */
	t->blockers_n = 0;
	t->listed = false;
	t->facts_version = UINT64_MAX;
	t->shown = false;
}

void turns_init(struct core *c)
{
	c->turns.stated = must_array(c->pods.limit, sizeof(*c->turns.stated));
	scratch_make(c, c->config.queues);
}

void turns_free(struct core *c)
{
	scratch_free(&c->turns);
	defined_set_free(c->turns.set);
	defined_free(c->turns.defined);
	free(c->turns.named);
	free(c->turns.stated);
	free(c->turns.terms);
	past_list_free(&c->turns.pasts);
}

void turns_clear(struct core *c)
{
	turns_free(c);
	c->turns = (struct turns){ 0 };
	if (c->config.queues)
		turns_init(c);
}

void turns_record(struct core *c, const struct queue_record *record)
{
	struct turns *t = &c->turns;

	if (c->config.queues)
		return;
	if (!t->defined) {
		t->defined = defined_new();
		t->named = must_array(c->pods.limit, sizeof(*t->named));
		t->stated = must_array(c->pods.limit, sizeof(*t->stated));
	}
	if (defined_put(t->defined, record->body, record->amounts, record->name)) {
		taken_change(&c->taken);
		t->edited = c->synced; /* until then the epoch lists what there is */
	}
	t->stale = true;
}

void turns_terms(struct core *c, const struct event_queue_terms *terms)
{
	struct turns *t = &c->turns;

	free(t->terms);
	t->terms = NULL;
	if (terms->factor > 0) {
		t->terms = must_alloc(sizeof(*t->terms));
		*t->terms = *terms;
	}
	if (!c->config.queues)
		t->stale = t->defined != NULL;
	else if (t->terms)
		history_begin(c);
	else
		shares_history_begin(t->shares, terms, 0);
}

void turns_past(struct core *c, const struct queue_past_record *past)
{
	if (c->config.queues || !c->turns.terms)
		return;
	past_list_add(&c->turns.pasts, past);
	c->turns.stale = c->turns.defined != NULL;
}

void turns_tick(struct core *c)
{
	struct turns *t = &c->turns;

	t->history_due_ns = c->now_ns + NS_PER_S;
	if (!t->shares || !shares_has_history(t->shares))
		return;
	shares_history_time(t->shares, c->now_ns / NS_PER_S);
	t->history_due_ns = shares_history_due_s(t->shares) * NS_PER_S;
}

bool turns_due(const struct core *c)
{
	const struct turns *t = &c->turns;

	return t->stale || (t->set && t->set->set.resources < c->nodes.columns);
}

/* Every pod that has a node. */
static void pods_count(struct core *c)
{
	for (pod_id id = 0; id < c->pods.used; id++)
		if (c->pods.slots[id].generation != 0 && c->pods.slots[id].node != ID_NONE)
			queued_enter(c, id);
}

static void rows_clear(struct core *c)
{
	for (uint32_t id = 0; id < c->ledger.queues_used; id++) {
		struct queue_row *row = ledger_queue(&c->ledger, id);

		if (row->there == 0 || (c->turns.set && defined_number(c->turns.set, id) != SHARE_MISSING))
			continue;
		row_begin(&row->version);
		row->there = 0;
		row_end(&row->version);
	}
}

/* NULL: no queue has the id. */
static const char *name_of(const struct defined_set *s, uint32_t id)
{
	const uint32_t number = s ? defined_number(s, id) : SHARE_MISSING;

	return number != SHARE_MISSING ? s->defs[number].name : NULL;
}

/* The id of a queue that is gone will be that of another one, by whose name the row of a gang would
 * tell who reclaimed it. */
static void takers_forget(struct core *c, const struct defined_set *before)
{
	const uint32_t n = before->numbers_n;
	bool *gone = must_array(n + 1u, sizeof(*gone));
	uint32_t gone_n = 0;

	for (uint32_t id = 0; id < n; id++) {
		const char *was = name_of(before, id), *is = name_of(c->turns.set, id);

		gone[id] = was && (!is || strcmp(was, is) != 0);
		gone_n += gone[id];
	}
	for (gang_id id = 0; gone_n > 0 && id < c->gangs.groups; id++) {
		const struct taken_by by = taken_by(&c->taken, id);

		if (by.at_ns > 0 && by.queue < n && gone[by.queue])
			refresh_defer(&c->refresh, id); /* its row is written again */
	}
	if (gone_n > 0)
		taken_forget(&c->taken, c->gangs.groups, gone, n);
	free(gone);
}

/* A queue that is there under its name still has the past of before, unless a record has one. */
static void histories_take(struct core *c, const struct defined_set *before, struct shares *used)
{
	const struct defined_set *s = c->turns.set;

	for (uint32_t q = 0; before && used && s && q < s->set.n; q++) {
		const char *was = name_of(before, s->about[q].id);

		if (was && strcmp(was, s->defs[q].name) == 0)
			shares_history_copy(c->turns.shares, q, used, defined_number(before, s->about[q].id));
	}
	if (s)
		past_list_restore(c->turns.pasts, c);
	past_list_free(&c->turns.pasts);
}

void turns_make(struct core *c)
{
	struct turns *t = &c->turns;
	struct defined_set *before = t->set;
	struct shares *used = t->shares;

	t->shares = NULL;
	scratch_free(t);
	t->set = NULL;
	t->stale = false;
	if (defined_any(t->defined)) {
		t->set = defined_set(t->defined, c->nodes.columns);
		scratch_make(c, &t->set->set);
		pods_count(c);
	}
	if (before && taken_is_on(&c->taken))
		takers_forget(c, before);
	if (t->terms)
		histories_take(c, before, used);
	shares_free(used);
	defined_set_free(before);
	rows_clear(c);
	if (t->shares)
		turns_capacity(c);
	while (c->queue.unschedulable.n > 0) {
		budget_spend(&c->budget, 1);
		squeue_activate(&c->queue, queue_first(&c->queue.unschedulable));
	}
}
