/* SPDX-License-Identifier: Apache-2.0 */
/* The producer writes the buffer and `tail_shared`, the consumer `head`.
 *
 * Invariants
 *   S1  head <= tail_shared <= tail <= head + size
 *   S2  entries before tail_shared are whole
 *
 * Pairs in this file
 *   R1 -> A1   tail_shared: the entries before it
 *   R2 -> A2   head: the entries before it are read and may be overwritten
 *   R3 -> A3   full: no entry is published after it */
#include "core/world/feed.h"

#include "ipc/memory.h"
#include "ipc/wake.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* For trials by hand under ThreadSanitizer; no stress program takes the order away. */
#ifdef MUSTER_WEAKEN_FEED_R2
#define ORDER_R2 memory_order_relaxed
#else
#define ORDER_R2 memory_order_release
#endif

/* Two mappings in a row of the same memory, whose pages come with their first use. */
static int buffer_map(struct feed *f)
{
	const size_t size = (size_t)f->mask + 1;
	unsigned char *base = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("muster-feed", MFD_CLOEXEC);
	int rc = base == MAP_FAILED ? -ENOMEM : fd < 0 || ftruncate(fd, (off_t)size) < 0 ? -errno : 0;

	for (size_t i = 0; i < 2 && rc == 0; i++)
		if (mmap(base + i * size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED)
			rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc < 0 && base != MAP_FAILED)
		munmap(base, 2 * size);
	if (rc == 0)
		f->buffer = base;
	return rc;
}

int feed_open(struct feed **out, uint64_t bytes)
{
	struct feed *f = must_aligned(alignof(struct feed), sizeof(*f));
	int rc;

	assert(bytes >= FEED_BYTES_LEAST && (bytes & (bytes - 1)) == 0);
	f->mask = bytes - 1;
	rc = buffer_map(f);
	if (rc < 0) {
		free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void feed_close(struct feed *f)
{
	if (!f)
		return;
	munmap(f->buffer, 2 * ((size_t)f->mask + 1));
	free(f);
}

static uint64_t unread(struct feed *f)
{
	/* A2: the consumer is done with what is before head (R2). */
	f->head_seen = atomic_load_explicit(&f->head, memory_order_acquire);
	assert(f->tail - f->head_seen <= f->mask + 1); /* S1 */
	return f->tail - f->head_seen;
}

bool feed_find_space(struct feed *f, uint64_t bytes)
{
	if (unread(f) + bytes <= f->mask + 1)
		return true;
	f->off = true;
	/* R3 */
	atomic_store_explicit(&f->full, 1, memory_order_release);
	return false;
}

/* Another part of the buffer begins. */
void feed_part(struct feed *f)
{
	const uint64_t place = f->tail & f->mask;
	const struct feed_step rest = { 0 };

	feed_wake(f);
	/* Relaxed: no data depends on it. */
	f->off = f->off || atomic_load_explicit(&f->left, memory_order_relaxed);
	/* What is unread lies in this lap, far from the start.  Until it is read the producer has what
	 * lies before it. */
	if (place < (f->mask + 1) / 4 || unread(f) > place / 4)
		return;
	memcpy(f->buffer + place, &rest, sizeof(rest));
	f->tail = f->step = f->tail + f->mask + 1 - place;
	atomic_store_explicit(&f->tail_shared, f->tail, FEED_R1); /* R1 */
}

void feed_wake(struct feed *f)
{
	wake_up(&f->doorbell, &f->parked);
}

static bool look(struct feed_reader *r)
{
	if (r->head == r->tail_seen)
		/* A1: the entries before tail are written (R1). */
		r->tail_seen = atomic_load_explicit(&r->feed->tail_shared, memory_order_acquire);
	return r->head != r->tail_seen;
}

bool feed_next(struct feed_reader *r, struct feed_entry *out)
{
	const struct feed *f = r->feed;
	struct feed_step step;
	const unsigned char *at;

	if (!look(r))
		return false;
	at = f->buffer + (r->head & f->mask);
	memcpy(&step, at, sizeof(step));
	if (step.bytes == 0) {
		r->head = (r->head | f->mask) + 1;
		return feed_next(r, out);
	}
	out->step = step;
	out->record = (const struct record *)(const void *)(at + sizeof(step));
	out->commands = at + sizeof(step) + out->record->bytes;
	out->commands_bytes = step.bytes - (uint32_t)sizeof(step) - out->record->bytes;
	r->head += step.bytes;
	return true;
}

void feed_release(struct feed_reader *r)
{
	/* R2 */
	atomic_store_explicit(&r->feed->head, r->head, ORDER_R2);
}

void feed_leave(struct feed *f)
{
	atomic_store_explicit(&f->left, 1, memory_order_relaxed);
}

uint64_t feed_waiting(const struct feed_reader *r)
{
	/* Relaxed: a figure. */
	return atomic_load_explicit(&r->feed->tail_shared, memory_order_relaxed) - r->head;
}

bool feed_is_over(const struct feed *f)
{
	/* A3 */
	return atomic_load_explicit(&f->full, memory_order_acquire);
}

void feed_sleep(struct feed_reader *r, bool (*ready)(void *), void *context, uint64_t timeout_ns)
{
	wake_sleep(&r->feed->parked, &r->feed->doorbell, ready, context, timeout_ns);
}
