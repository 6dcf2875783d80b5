/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/beside.h"

#include "core/cycle/reclaim.h"

#include "core/lifecycle/state.h"
#include "core/world/answers.h"
#include "core/world/lookout.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 100000u /* of a search: many seeds are to run */
#define EVICTS 1024u
#define TICKETS 1024u

struct beside {
	struct feed *feed;
	struct follower *world;
	struct lookout *lookout;
	struct core_world stats;
	struct core_searches searches;
	struct victims_row *rows;
	struct answers *answers;
	struct cmd_evict evicts[EVICTS]; /* of the present step */
	uint32_t evicts_n;
	struct {
		uint64_t ticket;
		uint32_t evicted;
	} tickets[TICKETS]; /* the latest ones, by number */
	const char *fault;
};

static struct core_preemption preempted;
static uint64_t lone_all; /* evictions for lone pods */

static uint64_t found_all;

uint64_t beside_found(void)
{
	return found_all;
}

static void answered(void *context, struct record *r)
{
	const struct beside *b = context;

	if (!answers_push(b->answers, r))
		free(r);
}

struct record *beside_answer(struct beside *b)
{
	return answers_pop(b->answers);
}

struct beside *beside_new(const struct core_config *config)
{
	struct beside *b = must_alloc(sizeof(*b));
	struct follower_config world = { .core = *config, .stats = &b->stats };

	if (feed_open(&b->feed, FEED_BYTES_LEAST) < 0)
		fatal_memory();
	world.feed = b->feed;
	if (follower_new(&b->world, &world) < 0)
		fatal_memory();
	b->answers = answers_new();
	b->rows = must_array(VICTIMS_ROWS, sizeof(*b->rows));
	b->lookout = lookout_new(&(struct lookout_config){ .follower = b->world,
	                                                   .stats = &b->searches,
	                                                   .rows = b->rows,
	                                                   .steps_most = STEPS,
	                                                   .feed_bytes = FEED_BYTES_LEAST,
	                                                   .answer = answered,
	                                                   .context = b });
	return b;
}

int32_t beside_priority(const struct beside *b, uint32_t gang)
{
	return gang_priority(&follower_core(b->world)->gangs.slots[gang]);
}

const char *beside_started(const struct beside *b, uint32_t gang, size_t *bytes)
{
	const struct gang *g = &follower_core(b->world)->gangs.slots[gang];

	if (!gang_partially_bound(g))
		return NULL;
	*bytes = g->name_bytes;
	return g->name;
}

uint64_t beside_lone(void)
{
	return lone_all;
}

void beside_preempted(struct core_preemption *out)
{
	*out = preempted;
}

/* Of a core that ends. */
static void counts_add(const struct core *c)
{
	const struct core_preemption *n;

	if (!c)
		return;
	n = &c->ledger.ledger->preemption;
	preempted.packed += n->packed;
	preempted.stale += n->stale;
	preempted.nominations += n->nominations;
	preempted.placed += n->placed;
	preempted.evictions += n->evictions;
	preempted.wasted += n->wasted;
}

void beside_free(struct beside *b)
{
	if (!b)
		return;
	found_all += b->searches.answers[VICTIMS_ROW_PROVED];
	counts_add(follower_core(b->world));
	lookout_free(b->lookout);
	follower_free(b->world);
	feed_close(b->feed);
	answers_free(b->answers);
	free(b->rows);
	free(b);
}

void beside_input(struct beside *b, const struct record *r)
{
	if (r->kind == EVENT_BEGIN)
		memset(b->tickets, 0, sizeof(b->tickets)); /* their numbers are those of an epoch */
	feed_input(b->feed, r);
}

/* The nomination of which the pod is a victim by that ticket; NULL: none. */
static const struct nomination *nomination_find(const struct core *c, const struct cmd_evict *e)
{
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		const struct nomination *n = &c->nominations.all[i];

		for (uint32_t k = 0; n->ticket != 0 && k < n->victims_n; k++)
			if (n->victims[k].pod == e->pod && n->victims[k].generation == e->pod_generation &&
			    n->victims[k].ticket == e->ticket)
				return n;
	}
	return NULL;
}

/* By reclaim also pods of other queues, and of its own members beyond the quorum of a gang, which
 * may have gone below it since. */
static bool may_evict(const struct core *c, const struct nomination *n, const struct pod *victim,
                      pod_id id)
{
	if (victim->priority == n->priority)
		return reclaim_is_on(c);
	return victim->priority < n->priority || reclaim_is_other(c, n->gang, id);
}

/* No eviction without a nomination of who it is for, none of a priority that is not lower, and no
 * more for a ticket than it has victims. */
static const char *evict_fault(struct beside *b, const struct core *c, const struct cmd_evict *e)
{
	const struct nomination *n = nomination_find(c, e);
	const uint32_t at = e->ticket % TICKETS;

	if (!n)
		return "an eviction without a nomination";
	if (n->gang != e->gang || n->generation != e->gang_generation)
		return "an eviction for another gang than the nominated one";
	lone_all += !gang_is_group(&c->gangs, e->gang);
	if (!may_evict(c, n, &c->pods.slots[e->pod], e->pod))
		return "an eviction of a priority that is not lower";
	if (b->tickets[at].ticket != e->ticket) {
		b->tickets[at].ticket = e->ticket;
		b->tickets[at].evicted = 0;
	}
	return ++b->tickets[at].evicted > e->victims ? "more evictions than victims" : NULL;
}

static void evicts_check(struct beside *b)
{
	const struct core *c = follower_core(b->world);

	for (uint32_t i = 0; c && !b->fault && i < b->evicts_n; i++)
		b->fault = evict_fault(b, c, &b->evicts[i]);
	b->evicts_n = 0;
}

void beside_output(struct beside *b, enum record_kind kind, const void *body, uint32_t bytes)
{
	if (kind == CMD_EVICT && b->evicts_n < EVICTS)
		memcpy(&b->evicts[b->evicts_n++], body, sizeof(struct cmd_evict));
	else if (kind == CMD_EVICT)
		b->fault = "too many evictions in a step to check";
	feed_output(b->feed, kind, body, bytes);
}

void beside_done(struct beside *b, int rc, bool refused)
{
	feed_done(b->feed, rc, refused);
	follower_run(b->world, UINT32_MAX);
	evicts_check(b);
}

/* Of a row that was written for the present state of the world. */
static const char *row_fault(const struct core *world, const struct victims_row *row)
{
	const struct gang *g = gangs_group(&world->gangs, row->gang);

	if (row->generation == 0 || !row->found || row->searched_ns != world->now_ns)
		return NULL;
	if (!g || g->generation != row->generation || g->state != GANG_WAITING)
		return "there are victims for a gang that does not wait";
	if (row->highest >= g->priority && !reclaim_is_on(world))
		return "a victim's priority is not lower";
	if (row->pods == 0 || row->violations > 0)
		return "victims are none, or exceed a budget";
	return NULL;
}

const char *beside_fault(struct beside *b, uint64_t now_ns)
{
	const char *fault = NULL;

	if (follower_state(b->world) != WORLD_FOLLOWS)
		return "it does not follow";
	if (b->fault)
		return b->fault;
	lookout_run(b->lookout, now_ns);
	for (uint32_t i = 0; !fault && i < VICTIMS_ROWS; i++)
		fault = row_fault(follower_core(b->world), &b->rows[i]);
	return fault;
}
