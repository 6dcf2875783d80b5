/* SPDX-License-Identifier: Apache-2.0 */
/* The updater alone changes the root.  A snapshot is constant once it is published; what changes
 * are the references of its chunks, which the updater adds and callbacks drop.
 *
 * Pairs in this file
 *   rcu_show() -> rcu_see()          the snapshot and its chunks
 *   rcu_read_leave() -> retired()    by the grace period: all reads of it
 *   R1 -> A1   refs: what other snapshots' owners did with a chunk before it is freed
 *   R2 -> A2   kept: the memory of a snapshot is free before another one is made */
#include "core/world/snapshot.h"

#include "core/world/rcu.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef RCU_ANNOTATED
char rcu_edge;
#endif

struct snapshots {
	struct published *root; /* rcu_show(), rcu_see() */
	_Atomic uint32_t kept;
	_Atomic uint64_t chunks;
};

struct published {
	struct rcu_head head;
	struct snapshots *of;
	struct snapshot *snapshot;
};

struct snapshot *snapshot_new(uint32_t nodes_n, uint32_t shapes_n, uint32_t requests_n,
                              uint32_t gangs_n)
{
	struct snapshot *s = must_alloc(sizeof(*s));

	s->nodes_n = nodes_n;
	s->chunks_n = (nodes_n + CHUNK_NODES - 1) / CHUNK_NODES;
	s->shapes_n = shapes_n;
	s->requests_n = requests_n;
	s->gangs_n = gangs_n;
	s->backfill_gang = ID_NONE;
	s->chunks = must_array(s->chunks_n, sizeof(struct snapshot_chunk *));
	s->shapes = must_array(shapes_n, sizeof(shape_id));
	s->requests = must_array(requests_n, sizeof(struct snapshot_request));
	s->gangs = must_array(gangs_n, sizeof(struct snapshot_gang));
	return s;
}

struct snapshot_chunk *snapshot_chunk_new(uint32_t resources, uint32_t shapes_n, uint32_t pods_n)
{
	const size_t bytes = sizeof(struct snapshot_chunk) +
	                     2 * sizeof(int64_t) * CHUNK_NODES * resources +
	                     sizeof(uint64_t) * shapes_n + sizeof(struct snapshot_pod) * pods_n;
	struct snapshot_chunk *c = must_alloc(bytes);

	atomic_init(&c->refs, 1);
	c->bytes = (uint32_t)bytes;
	c->resources = resources;
	c->shapes_n = shapes_n;
	c->pods_n = pods_n;
	return c;
}

static void chunk_unref(struct snapshots *s, struct snapshot_chunk *c)
{
	/* R1, A1 */
	const uint32_t refs = atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel);

	assert(refs > 0);
	if (refs > 1)
		return;
	free(c);
	/* Relaxed: a figure. */
	atomic_fetch_sub_explicit(&s->chunks, 1, memory_order_relaxed);
}

static void snapshot_free(struct snapshots *of, struct snapshot *s)
{
	for (uint32_t i = 0; i < s->chunks_n; i++)
		chunk_unref(of, s->chunks[i]);
	free(s->chunks);
	free(s->shapes);
	free(s->requests);
	free(s->gangs);
	free(s);
}

struct snapshots *snapshots_new(void)
{
	(void)get_default_call_rcu_data();
	return must_alloc(sizeof(struct snapshots));
}

void snapshots_free(struct snapshots *s)
{
	if (!s)
		return;
	/* A2.  Not rcu_barrier(), into which ThreadSanitizer does not see. */
	while (snapshots_kept(s) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (s->root) {
		snapshot_free(s, s->root->snapshot);
		free(s->root);
	}
	free(s);
}

void snapshots_enter(void)
{
	rcu_register_thread();
}

void snapshots_leave(void)
{
	rcu_unregister_thread();
}

bool snapshots_has_room(const struct snapshots *s)
{
	/* A2 */
	return atomic_load_explicit(&s->kept, memory_order_acquire) < SNAPSHOTS_KEPT_MOST;
}

uint32_t snapshots_kept(const struct snapshots *s)
{
	return atomic_load_explicit(&s->kept, memory_order_acquire);
}

uint64_t snapshots_chunks(const struct snapshots *s)
{
	return atomic_load_explicit(&s->chunks, memory_order_relaxed);
}

/* All but the references. */
static bool chunks_equal(const struct snapshot_chunk *a, const struct snapshot_chunk *b)
{
	const size_t from = offsetof(struct snapshot_chunk, bytes);

	return a->bytes == b->bytes &&
	       memcmp((const char *)a + from, (const char *)b + from, a->bytes - from) == 0;
}

/* Equal chunks are those of the snapshot before. */
static uint32_t share(struct snapshot *fresh, const struct snapshot *before)
{
	uint32_t shared = 0;

	for (uint32_t i = 0; i < fresh->chunks_n && i < before->chunks_n; i++) {
		if (!chunks_equal(fresh->chunks[i], before->chunks[i]))
			continue;
		free(fresh->chunks[i]);
		fresh->chunks[i] = before->chunks[i];
		/* Relaxed: `before` holds one. */
		atomic_fetch_add_explicit(&fresh->chunks[i]->refs, 1, memory_order_relaxed);
		shared++;
	}
	return shared;
}

static void retired(struct rcu_head *head)
{
	struct published *p;
	struct snapshots *s;

#ifndef MUSTER_WEAKEN_RCU_GRACE
	RCU_GRACE_IS_OVER();
#endif
	p = (struct published *)(void *)head;
	s = p->of;
	snapshot_free(s, p->snapshot);
	free(p);
	/* R2 */
	atomic_fetch_sub_explicit(&s->kept, 1, memory_order_release);
}

void snapshots_publish(struct snapshots *s, struct snapshot *fresh, uint32_t *copied,
                       uint32_t *shared)
{
	struct published *before = s->root, *now = must_alloc(sizeof(*now));

	static_assert(offsetof(struct published, head) == 0, "retired() finds it by its head");
	assert(snapshots_has_room(s));
	*shared = before ? share(fresh, before->snapshot) : 0;
	*copied = fresh->chunks_n - *shared;
	atomic_fetch_add_explicit(&s->chunks, *copied, memory_order_relaxed);
	*now = (struct published){ .of = s, .snapshot = fresh };
	rcu_show(s->root, now);
	if (!before)
		return;
	atomic_fetch_add_explicit(&s->kept, 1, memory_order_relaxed);
	rcu_retire(&before->head, retired);
}

const struct snapshot *snapshots_begin(const struct snapshots *s)
{
	const struct published *p;

	rcu_read_lock();
	p = rcu_see(s->root);
	return p ? p->snapshot : NULL;
}

void snapshots_end(void)
{
	rcu_read_leave();
}
