/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/follower.h"

#include "core/lifecycle/state.h"
#include "core/world/keeper.h"
#include "ipc/logline.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

struct follower {
	struct follower_config config;
	struct feed_reader reader;
	enum world_state state;
	struct core *core; /* NULL: dropped */
	struct keeper *keeper;
	struct ledger *ledger;
	uint64_t ledger_bytes;
	uint64_t position;

	/* The step that is compared. */
	struct feed_entry entry;
	const unsigned char *expected; /* the next command */
	uint32_t left;                 /* commands */
	const char *difference;        /* NULL: none */
};

static bool is_expected(struct follower *w, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct feed_command command;

	memcpy(&command, w->expected, sizeof(command));
	w->expected += command.bytes;
	w->left--;
	return command.kind == kind && command.bytes - sizeof(command) == bytes &&
	       memcmp(w->expected - bytes, body, bytes) == 0;
}

/* core_emit_fn: the ring has space for as many commands as the loop's had. */
static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct follower *w = context;

	if (w->left == 0 && w->entry.step.refused)
		return false;
	if (w->left == 0)
		w->difference = "a command more";
	else if (!w->difference && !is_expected(w, kind, body, bytes))
		w->difference = "another command";
	return !w->difference;
}

static void ledger_unmap(struct follower *w)
{
	core_ledger_free(w->ledger, w->ledger_bytes);
	w->ledger = NULL;
}

int follower_new(struct follower **out, const struct follower_config *config)
{
	struct follower *w = must_alloc(sizeof(*w));
	struct core_config core = config->core;

	w->config = *config;
	w->reader.feed = config->feed;
	w->ledger_bytes = core_ledger_bytes(&config->core.limits, NULL);
	w->ledger = core_ledger_new(w->ledger_bytes);
	if (!w->ledger) {
		free(w);
		return -ENOMEM;
	}
	core.emit = emit;
	core.context = w;
	w->core = core_new(&core, w->ledger);
	w->keeper = keeper_new(&config->core.limits);
	w->state = WORLD_FOLLOWS;
	/* Relaxed, here and below: figures for observers. */
	atomic_store_explicit(&config->stats->state, WORLD_FOLLOWS, memory_order_relaxed);
	*out = w;
	return 0;
}

static void drop(struct follower *w, enum world_state why)
{
	assert(w->state == WORLD_FOLLOWS && w->core);
	feed_leave(w->config.feed);
	core_free(w->core);
	keeper_clear(w->keeper);
	w->core = NULL;
	ledger_unmap(w);
	w->state = why;
	atomic_store_explicit(&w->config.stats->state, why, memory_order_relaxed);
}

void follower_free(struct follower *w)
{
	if (!w)
		return;
	core_free(w->core);
	keeper_free(w->keeper);
	ledger_unmap(w);
	free(w);
}

static void mismatch(struct follower *w)
{
	const struct record *r = w->entry.record;

	log_line(LOG_ERROR,
	         "msg=\"the world differs from the loop, dropped: this is a bug\" kind=%u "
	         "sequence=%llu position=%llu difference=\"%s\"",
	         r->kind, (unsigned long long)r->sequence, (unsigned long long)w->position,
	         w->difference);
	atomic_fetch_add_explicit(&w->config.stats->mismatches, 1, memory_order_relaxed);
	drop(w, WORLD_MISMATCH);
}

static void step(struct follower *w)
{
	int rc;

	w->expected = w->entry.commands;
	w->left = w->entry.step.commands_n;
	w->difference = NULL;
	rc = core_apply(w->core, w->entry.record);
	if (!w->difference && w->left > 0)
		w->difference = "a command less";
	else if (!w->difference && rc != w->entry.step.error)
		w->difference = "another result";
	w->position++;
	if (w->difference)
		mismatch(w);
	else if (rc == 0)
		keeper_take(w->keeper, w->entry.record);
}

uint32_t follower_run(struct follower *w, uint32_t most)
{
	struct core_world *stats = w->config.stats;
	/* Before the steps: what was published before it was full is applied. */
	const bool over = feed_is_over(w->config.feed);
	uint32_t n = 0;

	while (w->core && n < most && feed_next(&w->reader, &w->entry)) {
		step(w);
		n++;
	}
	feed_release(&w->reader); /* also what is unused at the end of the buffer */
	if (w->core)
		atomic_store_explicit(&stats->events, w->ledger->stats.events, memory_order_relaxed);
	atomic_store_explicit(&stats->waiting_bytes, w->core ? feed_waiting(&w->reader) : 0,
	                      memory_order_relaxed);
	if (w->core && over && n < most) {
		log_line(LOG_WARN,
		         "msg=\"the world was slower than the loop, dropped\" position=%llu bytes=%llu",
		         (unsigned long long)w->position, (unsigned long long)(w->config.feed->mask + 1));
		drop(w, WORLD_FULL);
	}
	return n;
}

enum world_state follower_state(const struct follower *w)
{
	return w->state;
}

struct core *follower_core(struct follower *w)
{
	return w->core;
}

struct keeper *follower_keeper(struct follower *w)
{
	return w->keeper;
}

uint64_t follower_waiting(const struct follower *w)
{
	return feed_waiting(&w->reader);
}

uint64_t follower_position(const struct follower *w)
{
	return w->position;
}

bool follower_has_news(const struct follower *w)
{
	return w->core && feed_waiting(&w->reader) > 0;
}

void follower_sleep(struct follower *w, bool (*ready)(void *), void *context, uint64_t timeout_ns)
{
	feed_sleep(&w->reader, ready, context, timeout_ns);
}
