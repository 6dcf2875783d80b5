/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_followed.h"

#include "frontend/model/model.h"
#include "tests/unit/support_ledger.h"
#include "tests/unit/test.h"

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct loop *l = context;

	l->refused = l->refused || l->room == 0;
	if (l->refused)
		return false;
	if (l->room != UINT32_MAX)
		l->room--;
	feed_output(l->feed, kind, body, bytes);
	l->commands++;
	if (l->command)
		l->command(kind, body);
	return true;
}

void loop_new(struct loop *l, struct core_config config, uint64_t bytes)
{
	struct follower_config world = { .core = config, .stats = &l->stats };

	memset(l, 0, sizeof(*l));
	cr_assert_eq(feed_open(&l->feed, bytes), 0);
	world.feed = l->feed;
	cr_assert_eq(follower_new(&l->world, &world), 0);
	l->ledger = guarded_new(&config.limits);
	guarded_make(l->ledger, 0, core_ledger_bytes(&config.limits, NULL));
	config.emit = emit;
	config.context = l;
	l->core = core_new(&config, l->ledger);
}

void loop_end(struct loop *l)
{
	follower_free(l->world);
	feed_close(l->feed);
	core_free(l->core);
	guarded_free(l->ledger);
}

void loop_step(struct loop *l, const struct record *r, uint32_t room)
{
	int rc;

	l->room = room;
	l->refused = false;
	feed_input(l->feed, r);
	rc = core_apply(l->core, r);
	feed_done(l->feed, rc, l->refused);
}

struct flushed {
	struct record **at;
	size_t n;
};

static void *reserve(void *context, enum record_kind kind, uint32_t bytes)
{
	struct flushed *f = context;
	struct record *r = calloc(1, sizeof(*r) + bytes);

	cr_assert(r);
	*r = (struct record){ .bytes = (uint32_t)sizeof(*r) + bytes, .kind = (uint16_t)kind };
	f->at = realloc(f->at, (f->n + 1) * sizeof(struct record *));
	cr_assert(f->at);
	f->at[f->n++] = r;
	return r + 1;
}

static void feed(struct loop *l, struct record *r)
{
	l->epoch += r->kind == EVENT_BEGIN;
	if (r->kind == EVENT_PREEMPTION)
		((struct event_preemption *)(void *)(r + 1))->flags |= l->preemption;
	r->epoch = l->epoch;
	l->time_ns += UINT64_C(1000000);
	r->time_ns = UINT64_C(1800000000) * 1000000000 + l->time_ns;
	loop_step(l, r, UINT32_MAX);
	follower_run(l->world, UINT32_MAX);
	cr_assert_eq(follower_state(l->world), WORLD_FOLLOWS);
}

void loop_flush(struct loop *l, struct model *m)
{
	struct flushed f = { 0 };
	const struct model_sink sink = { reserve, &f };

	cr_assert(model_flush(m, &sink));
	for (size_t i = 0; i < f.n; i++) {
		feed(l, f.at[i]);
		cr_assert_eq(core_fault(l->core)[0], '\0', "kind %u: %s", f.at[i]->kind,
		             core_fault(l->core));
		free(f.at[i]);
	}
	free(f.at);
	for (int i = 0; i < 100 && core_wants_plan(l->core); i++)
		feed(l, &(struct record){ .bytes = sizeof(struct record), .kind = EVENT_PLAN });
}
