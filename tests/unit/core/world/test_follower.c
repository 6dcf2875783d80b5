/* SPDX-License-Identifier: Apache-2.0 */
/* A world that follows a core over random clusters: it has the loop's state after each step, and a
 * record, a command or a result that was changed on the way is noticed. */
#include "core/lifecycle/state.h"
#include "core/world/follower.h"
#include "ipc/logline.h"
#include "tests/unit/support_followed.h"
#include "tests/unit/support_slow.h"
#include "tests/unit/test.h"

#define CLUSTERS 6
#define STEPS 300

/* Everything that a snapshot takes, and all that observers see. */
static void assert_same(struct loop *l)
{
	struct core *a = l->core, *b = follower_core(l->world);
	char why[256];

	core_show(a);
	core_show(b);
	cr_assert(core_valid(b, why, sizeof(why)), "%s", why);
	cr_assert_eq(a->now_ns, b->now_ns);
	cr_assert_eq(a->ledger.ledger->stats.events, b->ledger.ledger->stats.events);
	cr_assert(memcmp(&a->ledger.ledger->gauges, &b->ledger.ledger->gauges,
	                 sizeof(struct core_gauges)) == 0);
	cr_assert(memcmp(a->nodes.free, b->nodes.free,
	                 sizeof(int64_t) * a->nodes.used * a->nodes.stride) == 0);
	for (uint32_t i = 0; i < a->pods.used; i++)
		cr_assert(a->pods.slots[i].generation == b->pods.slots[i].generation &&
		          a->pods.slots[i].node == b->pods.slots[i].node &&
		          a->pods.slots[i].reservation == b->pods.slots[i].reservation);
	for (uint32_t i = 0; i < a->gangs.n; i++)
		cr_assert(a->gangs.slots[i].queue == b->gangs.slots[i].queue &&
		          a->gangs.slots[i].state == b->gangs.slots[i].state &&
		          memcmp(a->gangs.slots[i].counts, b->gangs.slots[i].counts,
		                 sizeof(a->gangs.slots[i].counts)) == 0);
}

Test(world, says_what_the_loop_said)
{
	struct random r = random_start("world.follows");
	uint64_t commands = 0, steps = 0, refused = 0;

	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, i % 2 ? SCORE_PACK : SCORE_KUBE, i % 3 == 0);
		const struct record *record;
		struct loop l;
		size_t at = 0;
		uint32_t room;

		for (int k = 0; k < STEPS; k++)
			slow_step(s);
		loop_new(&l, slow_core_config(s), FEED_BYTES_LEAST);
		while ((record = slow_log_next(s, &at, &room))) {
			loop_step(&l, record, room);
			steps++;
			refused += l.refused;
			if (random_below(&r, 16) == 0)
				follower_run(l.world, 1 + random_below(&r, 40));
			if (feed_waiting(&(struct feed_reader){ l.feed, l.feed->head_seen, 0 }) >
			    FEED_BYTES_LEAST / 2)
				follower_run(l.world, UINT32_MAX);
			if (random_below(&r, 64) == 0) {
				follower_run(l.world, UINT32_MAX);
				cr_assert_eq(follower_state(l.world), WORLD_FOLLOWS);
				assert_same(&l);
			}
		}
		follower_run(l.world, UINT32_MAX);
		cr_assert_eq(follower_state(l.world), WORLD_FOLLOWS);
		cr_assert_eq(l.stats.mismatches, 0);
		cr_assert_eq(l.stats.waiting_bytes, 0);
		cr_assert_eq(l.stats.events, l.ledger->stats.events);
		assert_same(&l);
		commands += l.commands;
		loop_end(&l);
		slow_free(s);
	}
	fprintf(stderr, "world.follows: %" PRIu64 " steps, %" PRIu64 " commands, %" PRIu64 " refused\n",
	        steps, commands, refused);
	cr_assert(commands > 500 && refused > 20);
}

enum change { CHANGE_COMMAND, CHANGE_NUMBER, CHANGE_RESULT, CHANGE_NODE, CHANGES };

/* Changes the last step in the feed, which nobody has read; false: it has nothing of that sort. */
static bool step_change(struct loop *l, uint64_t from, enum change change)
{
	unsigned char *at = l->feed->buffer + (from & l->feed->mask);
	struct feed_step *step = (struct feed_step *)(void *)at;
	struct record *r = (struct record *)(void *)(step + 1);
	unsigned char *commands = (unsigned char *)r + r->bytes;

	switch (change) {
	case CHANGE_COMMAND: /* a bit of the first one's body */
		if (step->commands_n == 0)
			return false;
		commands[sizeof(struct feed_command)] ^= 1;
		return true;
	case CHANGE_NUMBER:
		if (step->commands_n == 0)
			return false;
		step->commands_n--;
		return true;
	case CHANGE_RESULT:
		step->error = -ENOSPC;
		return true;
	default: /* the node is cordoned for the world alone */
		if (r->kind != EVENT_NODE)
			return false;
		((struct event_node *)(void *)(r + 1))->flags ^= NODE_CORDONED;
		return true;
	}
}

static bool noticed(struct random *r, struct slow *s, enum change change)
{
	const struct record *record;
	bool changed = false;
	enum world_state state;
	struct loop l;
	size_t at = 0;
	uint32_t room, skip = random_below(r, 30);

	loop_new(&l, slow_core_config(s), FEED_BYTES_LEAST * 4);
	while ((record = slow_log_next(s, &at, &room)) && follower_core(l.world)) {
		const uint64_t from = l.feed->step;

		loop_step(&l, record, room);
		if (!changed && (skip == 0 || skip-- == 0))
			changed = step_change(&l, from, change);
		follower_run(l.world, UINT32_MAX);
	}
	state = follower_state(l.world);
	cr_assert(changed);
	cr_assert_eq(l.stats.state, (uint64_t)state);
	cr_assert_eq(l.stats.mismatches, state == WORLD_MISMATCH);
	cr_assert_eq(follower_core(l.world) == NULL, state == WORLD_MISMATCH);
	loop_end(&l);
	return state == WORLD_MISMATCH;
}

Test(world, a_changed_step_is_noticed)
{
	struct random r = random_start("world.changed");
	unsigned found[CHANGES] = { 0 };

	log_set_level(LOG_ERROR + 1);
	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, SCORE_KUBE, true);

		for (int k = 0; k < STEPS / 2; k++)
			slow_step(s);
		for (enum change c = 0; c < CHANGES; c++)
			found[c] += noticed(&r, s, c);
		slow_free(s);
	}
	cr_assert_eq(found[CHANGE_COMMAND], CLUSTERS);
	cr_assert_eq(found[CHANGE_NUMBER], CLUSTERS);
	cr_assert_eq(found[CHANGE_RESULT], CLUSTERS);
	/* Another record may be without consequence for a while. */
	cr_assert(found[CHANGE_NODE] >= CLUSTERS / 2, "%u", found[CHANGE_NODE]);
}

/* The loop goes on; the world applies what it got, and is dropped. */
Test(world, a_full_feed_drops_it)
{
	struct random r = random_start("world.full");
	struct slow *s = slow_new(&r, SCORE_KUBE, true);
	const struct record *record;
	uint64_t steps = 0;
	struct loop l;
	size_t at;
	uint32_t room;

	log_set_level(LOG_ERROR);
	for (int k = 0; k < STEPS; k++)
		slow_step(s);
	loop_new(&l, slow_core_config(s), FEED_BYTES_LEAST);
	while (!l.feed->off) {
		for (at = 0; (record = slow_log_next(s, &at, &room));) {
			loop_step(&l, record, room);
			steps += !l.feed->off;
		}
	}
	cr_assert_eq(follower_state(l.world), WORLD_FOLLOWS);
	follower_run(l.world, UINT32_MAX);
	cr_assert_eq(follower_position(l.world), steps);
	cr_assert_eq(follower_state(l.world), WORLD_FULL);
	cr_assert_null(follower_core(l.world));
	cr_assert_eq(l.stats.mismatches, 0);
	/* A world that is gone asks for nothing more. */
	cr_assert_eq(follower_run(l.world, UINT32_MAX), 0);
	cr_assert_eq(l.feed->left, 1);
	loop_end(&l);
	slow_free(s);
}

/* A feed whose reader keeps up uses the start of its buffer again and again. */
Test(feed, stays_small)
{
	static alignas(8) unsigned char bytes[4096];
	struct record *r = (struct record *)(void *)bytes;
	struct feed_reader reader = { 0 };
	struct feed_entry entry;
	struct feed *f;
	uint64_t most = 0;

	cr_assert_eq(feed_open(&f, FEED_BYTES), 0);
	reader.feed = f;
	for (uint32_t i = 0; i < 20000; i++) {
		*r = (struct record){ .bytes = 32 + i % 500 * 8, .kind = EVENT_POD, .sequence = i };
		memset(r + 1, (int)i, r->bytes - sizeof(*r));
		feed_input(f, r);
		if (i % 3 == 0)
			feed_output(f, CMD_BIND, r + 1, 24 <= r->bytes - sizeof(*r) ? 24 : 0);
		feed_done(f, -(int)(i % 5), i % 7 == 0);
		if (i % 100 == 0)
			continue;
		while (feed_next(&reader, &entry)) {
			cr_assert(entry.step.bytes > 0);
			most = (reader.head & f->mask) > most ? reader.head & f->mask : most;
			feed_release(&reader);
		}
		cr_assert_eq(entry.record->sequence, i);
		cr_assert(memcmp(entry.record, r, r->bytes) == 0);
		cr_assert_eq(entry.step.error, -(int)(i % 5));
		cr_assert_eq(entry.step.refused, i % 7 == 0);
		cr_assert_eq(entry.step.commands_n, i % 3 == 0);
		cr_assert_eq(entry.commands_bytes,
		             entry.step.commands_n == 0 ? 0 : 8 + (r->bytes >= 56 ? 24 : 0));
	}
	cr_assert(!f->off && f->tail > FEED_BYTES && most < FEED_BYTES / 4 + 2 * FEED_PART_BYTES);
	feed_close(f);
}
