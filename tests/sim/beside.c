/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/beside.h"

#include "core/lifecycle/state.h"
#include "core/world/answers.h"
#include "core/world/lookout.h"
#include "ipc/memory.h"

#include <stdlib.h>

#define STEPS 100000u /* of a search: many seeds are to run */

struct beside {
	struct feed *feed;
	struct follower *world;
	struct lookout *lookout;
	struct core_world stats;
	struct core_searches searches;
	struct victims_row *rows;
	struct answers *answers;
};

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
	struct follower_config world = { .limits = config->limits,
		                             .score = config->score,
		                             .reserve_after_ns = config->reserve_after_ns,
		                             .retain_for_ns = config->retain_for_ns,
		                             .stats = &b->stats };

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

void beside_free(struct beside *b)
{
	if (!b)
		return;
	found_all += b->searches.answers[VICTIMS_ROW_PROVED];
	lookout_free(b->lookout);
	follower_free(b->world);
	feed_close(b->feed);
	answers_free(b->answers);
	free(b->rows);
	free(b);
}

void beside_input(struct beside *b, const struct record *r)
{
	feed_input(b->feed, r);
}

void beside_output(struct beside *b, enum record_kind kind, const void *body, uint32_t bytes)
{
	feed_output(b->feed, kind, body, bytes);
}

void beside_done(struct beside *b, int rc, bool refused)
{
	feed_done(b->feed, rc, refused);
	follower_run(b->world, UINT32_MAX);
}

/* Of a row that was written for the present state of the world. */
static const char *row_fault(const struct core *world, const struct victims_row *row)
{
	const struct gang *g = gangs_group(&world->gangs, row->gang);

	if (row->generation == 0 || !row->found || row->searched_ns != world->now_ns)
		return NULL;
	if (!g || g->generation != row->generation || g->state != GANG_WAITING)
		return "there are victims for a gang that does not wait";
	if (row->highest >= g->priority)
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
	lookout_run(b->lookout, now_ns);
	for (uint32_t i = 0; !fault && i < VICTIMS_ROWS; i++)
		fault = row_fault(follower_core(b->world), &b->rows[i]);
	return fault;
}
