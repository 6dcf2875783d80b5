/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/queues.h"

#include "core/lifecycle/queued.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static void scratch_free(struct turns *t)
{
	shares_free(t->shares);
	defined_set_free(t->set);
	free(t->counted);
	free(t->queue);
	free(t->parked);
	free(t->blocker);
	free(t->next);
	free(t->quorums);
	free(t->extras);
	free(t->waiting);
	free(t->asks);
	free(t->nodes);
	free(t->order);
	free(t->values);
	t->shares = NULL;
	t->set = NULL;
	t->counted = t->queue = t->next = NULL;
	t->blocker = NULL;
	t->parked = NULL;
	t->quorums = t->extras = NULL;
	t->waiting = NULL;
	t->asks = NULL;
	t->nodes = NULL;
	t->order = NULL;
	t->values = NULL;
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
	memset(t->blocker, 0xff, set->n * sizeof(*t->blocker)); /* ID_NONE */
	t->blockers_n = 0;
	t->listed = false;
	t->facts_version = UINT64_MAX;
	t->shown = false;
}

void turns_init(struct core *c)
{
	scratch_make(c, c->config.queues);
}

void turns_free(struct core *c)
{
	scratch_free(&c->turns);
	defined_free(c->turns.defined);
	free(c->turns.named);
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
	}
	if (defined_put(t->defined, record->body, record->amounts, record->name))
		taken_change(&c->taken);
	t->stale = true;
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

void turns_make(struct core *c)
{
	struct turns *t = &c->turns;

	scratch_free(t);
	t->stale = false;
	if (defined_any(t->defined)) {
		t->set = defined_set(t->defined, c->nodes.columns);
		scratch_make(c, &t->set->set);
		pods_count(c);
	}
	rows_clear(c);
	while (c->queue.unschedulable.n > 0) {
		budget_spend(&c->budget, 1);
		squeue_activate(&c->queue, queue_first(&c->queue.unschedulable));
	}
}
