/* SPDX-License-Identifier: Apache-2.0 */
/* The ring between the planning thread and the world that follows it (core/world/follower.h): each
 * record that the loop applied, with the commands that it emitted and its result, as the recorder
 * gets them.  One producer, one consumer, private memory.
 *
 * An entry is a whole step, contiguous (the buffer is mapped twice in a row):
 *
 *   struct feed_step | struct record and its body | struct feed_command and its body, ...
 *
 * Progress: wait-free.  The producer never waits: when the ring is full it is off for good, and the
 * world is dropped.  When the consumer has nearly caught up the producer continues at the start of
 * the buffer, so that a ring of 64 MiB usually has 17 MiB of pages. */
#ifndef MUSTER_CORE_FEED_H
#define MUSTER_CORE_FEED_H

#include "ipc/abi.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FEED_BYTES (UINT64_C(1) << 26)
#define FEED_BYTES_LEAST (UINT64_C(4) * RECORD_BYTES_MAX)
#define FEED_PART_BYTES (UINT64_C(1) << 20) /* how often the producer looks at the consumer */

struct feed_step {
	uint32_t bytes; /* of the entry; 0: the rest of the buffer is unused */
	uint32_t commands_n;
	int32_t error;    /* what core_apply() returned */
	uint32_t refused; /* 1: the next command was not accepted */
};

struct feed_command {
	uint32_t bytes; /* with this word */
	uint16_t kind;  /* enum record_kind */
	uint16_t reserved;
};

static_assert(sizeof(struct feed_step) == 16 && sizeof(struct feed_command) == 8, "entries");

struct feed {
	/* the producer's */
	alignas(CACHE_LINE) unsigned char *buffer;
	uint64_t mask;
	uint64_t step; /* where the present step begins; all before it is published */
	uint64_t tail; /* its end so far */
	uint64_t head_seen;
	uint32_t commands_n;
	bool off;
	alignas(CACHE_LINE) _Atomic uint64_t tail_shared;
	_Atomic uint32_t doorbell;
	_Atomic uint32_t full; /* 1: off */

	/* the consumer's */
	alignas(CACHE_LINE) _Atomic uint64_t head;
	_Atomic uint32_t parked;
	_Atomic uint32_t left; /* 1: nothing is read any more */
};

/* `bytes` is a power of two, FEED_BYTES_LEAST or more; -ENOMEM or another negative errno. */
int feed_open(struct feed **out, uint64_t bytes);
void feed_close(struct feed *f);

/* The rare parts of the functions below. */
bool feed_find_space(struct feed *f, uint64_t bytes);
void feed_part(struct feed *f);

/* Wakes the consumer if it sleeps: a fence and a load if it does not. */
void feed_wake(struct feed *f);

/* For trials by hand under ThreadSanitizer; no stress program takes the order away. */
#ifdef MUSTER_WEAKEN_FEED_R1
#define FEED_R1 memory_order_relaxed
#else
#define FEED_R1 memory_order_release
#endif

/* Space for so many bytes more of the present step; NULL: the feed is off. */
static inline unsigned char *feed_space(struct feed *f, uint64_t bytes)
{
	unsigned char *at = f->buffer + (f->tail & f->mask);

	if (__builtin_expect(
			f->off || (f->tail + bytes - f->head_seen > f->mask + 1 && !feed_find_space(f, bytes)),
			0))
		return NULL;
	f->tail += bytes;
	return at;
}

/* The record that core_apply() gets next. */
static inline void feed_input(struct feed *f, const struct record *record)
{
	unsigned char *at = feed_space(f, sizeof(struct feed_step) + record->bytes);

	f->commands_n = 0;
	if (at)
		memcpy(at + sizeof(struct feed_step), record, record->bytes);
}

/* A command that it emitted and that was accepted. */
static inline void feed_output(struct feed *f, enum record_kind kind, const void *body,
                               uint32_t bytes)
{
	const struct feed_command command = { .bytes = (uint32_t)sizeof(command) + bytes,
		                                  .kind = (uint16_t)kind };
	unsigned char *at = feed_space(f, command.bytes);

	if (!at)
		return;
	f->commands_n++;
	memcpy(at, &command, sizeof(command));
	memcpy(at + sizeof(command), body, bytes);
}

/* It returned `rc`; refused: its last command was not accepted. */
static inline void feed_done(struct feed *f, int rc, bool refused)
{
	const uint64_t before = f->step;
	struct feed_step step = { .bytes = (uint32_t)(f->tail - before),
		                      .commands_n = f->commands_n,
		                      .error = rc,
		                      .refused = refused };

	if (f->off)
		return;
	memcpy(f->buffer + (before & f->mask), &step, sizeof(step));
	f->step = f->tail;
	/* R1: the step before tail (A1 in feed.c). */
	atomic_store_explicit(&f->tail_shared, f->tail, FEED_R1);
	if (__builtin_expect((before ^ f->tail) >= FEED_PART_BYTES, 0))
		feed_part(f);
}

/* A step as the consumer reads it, in the ring: good until feed_release(). */
struct feed_entry {
	struct feed_step step;
	const struct record *record;
	const unsigned char *commands;
	uint32_t commands_bytes;
};

/* The consumer's position, private to it. */
struct feed_reader {
	struct feed *feed;
	uint64_t head;
	uint64_t tail_seen;
};

/* False: nothing is there. */
bool feed_next(struct feed_reader *r, struct feed_entry *out);

/* Returns the space of all entries read to the producer. */
void feed_release(struct feed_reader *r);

/* Nothing is read any more: the producer stops within FEED_PART_BYTES. */
void feed_leave(struct feed *f);

/* Bytes that wait. */
uint64_t feed_waiting(const struct feed_reader *r);

/* True once the ring was full: nothing comes after what is in it. */
bool feed_is_over(const struct feed *f);

/* Consumer: sleeps at most so long for the next entry or feed_wake(). */
void feed_sleep(struct feed_reader *r, bool (*ready)(void *), void *context, uint64_t timeout_ns);

#endif
