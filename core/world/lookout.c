/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/lookout.h"

#include "core/lifecycle/state.h"
#include "core/queue/gangs.h"
#include "core/shm/ledger.h"
#include "core/world/keeper.h"
#include "core/world/ticket_search.h"
#include "core/world/victims_row.h"
#include "ipc/logline.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS (2 * NS_PER_S)
#define REST_NS (NS_PER_S / 10) /* between two ticks, with tickets */
#define WAIT_MOST_NS (60 * NS_PER_S)
#define SHARE 20u /* of the time, at most one part is searched */

/* A gang that is searched for; of one row. */
struct target {
	uint32_t generation; /* 0: unused */
	gang_id gang;
	bool waits; /* as of this tick */
	uint64_t due_ns;
	uint64_t wait_ns;
	uint64_t searched; /* keeper_changes() then */
};

struct candidate {
	gang_id gang;
	uint32_t generation;
	int32_t priority;
	uint64_t since_ns;
};

struct lookout {
	struct lookout_config config;
	struct target targets[VICTIMS_ROWS];
	uint64_t searched[TICKETS_MAX]; /* by slot: number of the ticket that was searched for */
	uint64_t next_ns;               /* no tick before */
	uint64_t rests_ns;              /* no search before */
	uint64_t epoch;
	bool broken; /* the records of the epoch make no core: a bug, said once */
};

struct lookout *lookout_new(const struct lookout_config *config)
{
	struct lookout *l = must_alloc(sizeof(*l));

	l->config = *config;
	return l;
}

void lookout_free(struct lookout *l)
{
	free(l);
}

static uint64_t clock_ns(const struct lookout *l)
{
	return l->config.clock_ns ? l->config.clock_ns() : 0;
}

static bool has_to_end(void *context)
{
	const struct lookout *l = context;

	return follower_waiting(l->config.follower) > l->config.feed_bytes / 2 ||
	       (l->config.stopped && l->config.stopped(l->config.context));
}

static void target_release(struct lookout *l, uint32_t i)
{
	if (l->targets[i].generation == 0)
		return;
	l->targets[i] = (struct target){ 0 };
	victims_row_clear(&l->config.rows[i]);
}

static bool comes_before(const struct candidate *a, const struct candidate *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->since_ns != b->since_ns)
		return a->since_ns < b->since_ns;
	return a->gang < b->gang;
}

/* Keeps the best ones, sorted. */
static void candidate_add(struct candidate *all, uint32_t *n, const struct candidate *c)
{
	uint32_t at = *n < VICTIMS_ROWS ? (*n)++ : VICTIMS_ROWS;

	if (at == VICTIMS_ROWS && !comes_before(c, &all[--at]))
		return;
	while (at > 0 && comes_before(c, &all[at - 1])) {
		all[at] = all[at - 1];
		at--;
	}
	all[at] = *c;
}

/* Groups that wait for capacity, the most important first. */
static uint32_t candidates_find(const struct core *c, struct candidate *all)
{
	uint32_t n = 0;

	for (gang_id id = 0; c->gangs.states[GANG_WAITING] > 0 && id < c->gangs.used; id++) {
		const struct gang *g = gangs_group(&c->gangs, id);

		if (g && g->state == GANG_WAITING && waits_for_capacity(c->ledger.gangs[id].reason.why))
			candidate_add(all, &n,
			              &(struct candidate){ .gang = id,
			                                   .generation = g->generation,
			                                   .priority = g->priority,
			                                   .since_ns = g->lacks_since_ns });
	}
	return n;
}

static uint32_t target_find(const struct lookout *l, gang_id gang, uint32_t generation)
{
	uint32_t i = 0;

	while (i < VICTIMS_ROWS &&
	       (l->targets[i].generation != generation || l->targets[i].gang != gang))
		i++;
	return i;
}

/* Each of these gangs has a target, and no other one has. */
static void targets_set(struct lookout *l, const struct candidate *all, uint32_t n)
{
	for (uint32_t i = 0; i < VICTIMS_ROWS; i++)
		l->targets[i].waits = false;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = target_find(l, all[i].gang, all[i].generation);

		if (at < VICTIMS_ROWS)
			l->targets[at].waits = true;
	}
	for (uint32_t i = 0; i < VICTIMS_ROWS; i++)
		if (!l->targets[i].waits)
			target_release(l, i);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = target_find(l, all[i].gang, all[i].generation);

		if (at < VICTIMS_ROWS)
			continue;
		at = target_find(l, 0, 0);
		assert(at < VICTIMS_ROWS);
		l->targets[at] =
			(struct target){ .gang = all[i].gang, .generation = all[i].generation, .waits = true };
	}
}

static bool is_due(const struct target *t, uint64_t changes, uint64_t now_ns)
{
	return t->generation != 0 && t->searched != changes && now_ns >= t->due_ns;
}

/* The more often nothing came of it, the later it is asked again. */
static void target_wait(struct target *t, enum gang_answer answer, uint64_t now_ns)
{
	const bool futile =
		answer == VICTIMS_IMPOSSIBLE || answer == VICTIMS_GAVE_UP || answer == VICTIMS_DEVICES;

	if (!futile || t->wait_ns == 0)
		t->wait_ns = TICK_NS;
	else
		t->wait_ns = t->wait_ns < WAIT_MOST_NS / 2 ? 2 * t->wait_ns : WAIT_MOST_NS;
	t->due_ns = now_ns + t->wait_ns;
}

static void search(struct lookout *l, uint32_t i, struct kept *kept, uint64_t now_ns)
{
	struct core_searches *stats = l->config.stats;
	struct target *t = &l->targets[i];
	const uint64_t begun_ns = clock_ns(l);
	struct gang_search found;
	uint32_t answer;

	if (kept_search(kept, kept->world, t->gang, &found) < 0)
		return;
	target_wait(t, found.answer, now_ns);
	answer =
		victims_row_set(&l->config.rows[i],
	                    &(struct victims_found){
							.core = kept->core,
							.facts = &kept->facts,
							.search = &found,
							.gang = t->gang,
							.generation = t->generation,
							.budgets_unknown = keeper_flags(follower_keeper(l->config.follower)) &
	                                           PREEMPTION_BUDGETS_UNKNOWN,
							.young = kept->young });
	stat_add(&stats->answers[answer], 1);
	stat_add(&stats->steps, found.steps);
	stat_add(&stats->ns, clock_ns(l) - begun_ns);
	stat_add(&stats->cut, found.answer == VICTIMS_GAVE_UP && has_to_end(l));
	gang_search_free(&found);
}

static bool ticket_is_due(const struct lookout *l, const struct core *world, uint32_t i)
{
	const struct ticket *t = &world->tickets.all[i];

	return t->number != 0 && !t->answer && l->searched[i] != t->number;
}

static bool tickets_are_due(const struct lookout *l, const struct core *world)
{
	bool due = false;

	for (uint32_t i = 0; l->config.answer && world->tickets.n > 0 && i < TICKETS_MAX; i++)
		due = due || ticket_is_due(l, world, i);
	return due;
}

/* Answers each ticket that was not searched for yet. */
static void tickets_search(struct lookout *l, const struct core *world, struct kept *kept)
{
	for (uint32_t i = 0; l->config.answer && i < TICKETS_MAX && !has_to_end(l); i++) {
		struct record *r;

		if (!ticket_is_due(l, world, i))
			continue;
		l->searched[i] = world->tickets.all[i].number;
		r = ticket_search(kept, &world->tickets.all[i], follower_position(l->config.follower),
		                  world->tickets.flags);
		r->epoch = world->epoch;
		l->config.answer(l->config.context, r);
	}
}

static void search_due(struct lookout *l, const struct core *world, uint64_t now_ns)
{
	const struct keeper *k = follower_keeper(l->config.follower);
	const uint64_t changes = keeper_changes(k), begun_ns = clock_ns(l);
	const struct keeper_hooks hooks = { .ends = has_to_end, .context = l };
	struct kept kept;
	const int rc = keeper_make(k, world, &hooks, &kept);

	if (rc == -ECANCELED) { /* later */
		l->rests_ns = now_ns + (clock_ns(l) - begun_ns) * SHARE;
		return;
	}
	if (rc < 0) {
		l->broken = rc == -EPROTO || rc == -ENOSPC;
		log_line(LOG_ERROR,
		         "msg=\"no searches for victims: the records that are kept make no core\" "
		         "rc=%d",
		         rc);
		return;
	}
	stat_add(&l->config.stats->made_ns, clock_ns(l) - begun_ns);
	kept.facts.steps_most = l->config.steps_most;
	kept.facts.ends = has_to_end;
	kept.facts.context = l;
	tickets_search(l, world, &kept);
	for (uint32_t i = 0; i < VICTIMS_ROWS && !has_to_end(l); i++) {
		if (!is_due(&l->targets[i], changes, now_ns))
			continue;
		l->targets[i].searched = changes;
		search(l, i, &kept, now_ns);
	}
	kept_free(&kept);
	l->rests_ns = now_ns + (clock_ns(l) - begun_ns) * SHARE;
}

void lookout_clear(struct lookout *l)
{
	targets_set(l, NULL, 0);
}

void lookout_run(struct lookout *l, uint64_t now_ns)
{
	const struct core *world = follower_core(l->config.follower);
	const struct keeper *k = follower_keeper(l->config.follower);
	struct candidate all[VICTIMS_ROWS];
	bool due = false;

	if (world && l->epoch != world->epoch) {
		lookout_clear(l);
		memset(l->searched, 0, sizeof(l->searched));
		l->epoch = world->epoch;
		l->next_ns = l->rests_ns = 0;
		l->broken = false;
	}
	if (!world || now_ns < l->rests_ns)
		return;
	due = keeper_is_on(k) && world->synced && !l->broken && tickets_are_due(l, world);
	if (now_ns < l->next_ns && !due)
		return;
	l->next_ns = now_ns + TICK_NS;
	l->rests_ns = now_ns + REST_NS;
	atomic_store_explicit(&l->config.stats->kept_bytes, keeper_bytes(k), memory_order_relaxed);
	targets_set(l, all,
	            keeper_is_on(k) && world->synced && !l->broken ? candidates_find(world, all) : 0);
	for (uint32_t i = 0; i < VICTIMS_ROWS; i++)
		due = due || is_due(&l->targets[i], keeper_changes(k), now_ns);
	if (due && !has_to_end(l))
		search_due(l, world, now_ns);
	if (l->rests_ns < now_ns + REST_NS)
		l->rests_ns = now_ns + REST_NS;
	if (l->next_ns < l->rests_ns)
		l->next_ns = l->rests_ns;
}

uint64_t lookout_due_ns(const struct lookout *l)
{
	for (uint32_t i = 0; i < VICTIMS_ROWS; i++)
		if (l->targets[i].generation != 0)
			return l->next_ns;
	return UINT64_MAX;
}
