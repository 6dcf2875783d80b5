/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of variable-length records: one producer, one consumer, in different
 * processes, each position in the memory of the one who writes it.
 *
 *   producer's segment: data, tail        consumer's segment: head
 *
 * Positions count bytes and never wrap; position & (bytes - 1) is the place.
 * A record never crosses the end of the ring: a RECORD_PAD fills the rest, and
 * of a pad only the first 8 bytes (bytes, kind, flags) are there.
 *
 * Both ends are set up before the peer hears of the ring (link_welcome(),
 * link_connect()): each starts at position 0 and stores that in its own word.
 *
 * Progress: wait-free on both sides. */
#ifndef MUSTER_IPC_RING_H
#define MUSTER_IPC_RING_H

#include "ipc/abi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A ring of this size takes every record when it is empty, wherever it stands. */
#define RING_BYTES_MIN (2 * RECORD_BYTES_MAX)

struct ring_writer {
	unsigned char *data;
	uint64_t mask;
	_Atomic uint64_t *tail;       /* ours */
	const _Atomic uint64_t *head; /* theirs: read with suspicion */
	uint64_t tail_private;        /* reserved up to here */
	uint64_t clear;               /* room in one piece up to here, as far as was looked */
	uint64_t tail_published;      /* what *tail says */
	uint64_t head_seen;
	uint64_t epoch;
	uint64_t sequence;
	bool broken; /* the peer's head made no sense */
};

struct ring_reader {
	const unsigned char *data;
	uint64_t mask;
	const _Atomic uint64_t *tail; /* theirs */
	_Atomic uint64_t *head;       /* ours */
	uint64_t head_private;        /* read up to here */
	uint64_t clear;               /* records in one piece up to here, as far as was looked */
	uint64_t head_released;       /* what *head says */
	uint64_t tail_seen;
	uint64_t epoch;
	uint64_t sequence;
	bool broken; /* the producer wrote nonsense */
};

/* bytes is a power of two; data is aligned to 8. */
void ring_writer_init(struct ring_writer *w, unsigned char *data, uint64_t bytes,
                      _Atomic uint64_t *tail, const _Atomic uint64_t *head, uint64_t epoch);
void ring_reader_init(struct ring_reader *r, const unsigned char *data, uint64_t bytes,
                      const _Atomic uint64_t *tail, _Atomic uint64_t *head, uint64_t epoch);

/* What does not happen with every record: see ring_reserve() and ring_read(). */
bool ring_clear(struct ring_writer *w, uint64_t bytes);
int ring_look(struct ring_reader *r);
int ring_skip_pad(struct ring_reader *r);
int ring_break(struct ring_reader *r);

/* Room for a record with a body of body_bytes (a multiple of 8): its header is
 * filled in, the caller writes the body right behind it.  NULL when the ring is
 * full now, when `broken` is set, and always when the record would be longer than
 * RECORD_BYTES_MAX.  Several may be reserved before one ring_publish(); publish
 * before waiting for room, since only published records are ever read. */
static inline struct record *ring_reserve(struct ring_writer *w, enum record_kind kind,
                                          uint32_t body_bytes, uint64_t time_ns)
{
	uint64_t bytes = sizeof(struct record) + (uint64_t)body_bytes;
	uint64_t tail = w->tail_private;
	struct record *record;

	assert(body_bytes % 8 == 0);
	assert(kind > RECORD_PAD && kind < RECORD_KINDS && kind != EVENT_PLAN);
	if (__builtin_expect(bytes > w->clear - tail || bytes > RECORD_BYTES_MAX, 0)) {
		if (!ring_clear(w, bytes))
			return NULL;
		tail = w->tail_private;
	}
	record = (struct record *)(void *)(w->data + (tail & w->mask));
	w->tail_private = tail + bytes;
	*record = (struct record){ .bytes = (uint32_t)bytes,
		                       .kind = (uint16_t)kind,
		                       .epoch = w->epoch,
		                       .sequence = ++w->sequence,
		                       .time_ns = time_ns };
	return record;
}

/* Let the consumer see all that was reserved. */
void ring_publish(struct ring_writer *w);

/* Would a body of this size fit now? */
bool ring_has_room(struct ring_writer *w, uint32_t body_bytes);

/* What a pad has of a record, and what is read first of every record. */
union first_word {
	uint64_t word;
	struct {
		uint32_t bytes;
		uint16_t kind;
		uint16_t flags;
	} record;
};

/* The first word, fetched once: volatile, so that the compiler cannot look into
 * the ring again after the check. */
static inline union first_word ring_peek(const struct ring_reader *r)
{
	const unsigned char *at = r->data + (r->head_private & r->mask);

	return (union first_word){ .word = *(const volatile uint64_t *)(const void *)at };
}

/* Is this the first word of a record that lies within what may be read? */
static inline bool ring_first_sound(union first_word first, uint64_t available)
{
	/* One bit for each kind: cheaper than to compare with each that may not be. */
	const uint32_t may_be =
		(UINT32_C(1) << RECORD_KINDS) - 1 - (1u << RECORD_PAD) - (1u << EVENT_PLAN);
	uint32_t kind = first.record.kind | (uint32_t)first.record.flags << 16;
	uint64_t bytes = first.record.bytes;

	return bytes >= sizeof(struct record) && bytes <= available && bytes <= RECORD_BYTES_MAX &&
	       bytes % 8 == 0 && kind < RECORD_KINDS && may_be >> kind & 1;
}

/* All but the first word, which was read before.  By hand, since a call of memcpy
 * takes a third of the time that a usual record of 64 bytes needs. */
static inline void ring_copy_rest(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
	uint64_t at = sizeof(struct record);

	memcpy(to + 8, from + 8, sizeof(struct record) - 8);
	for (; at + 32 <= bytes; at += 32)
		memcpy(to + at, from + at, 32);
	for (; at < bytes; at += 8)
		memcpy(to + at, from + at, 8);
}

/* Copy the next record into `buffer` (RECORD_BYTES_MAX bytes, aligned to 8), then
 * check the copy: length, kind, epoch, sequence.
 *
 *   1         a record
 *   0         none there
 *   -EPROTO   the producer wrote nonsense; this ring is not to be read again */
static inline int ring_read(struct ring_reader *r, struct record *buffer)
{
	union first_word first;
	uint64_t head;
	int rc;

	if (__builtin_expect(r->clear == r->head_private, 0)) {
		rc = ring_look(r);
		if (rc <= 0)
			return rc;
	}
	first = ring_peek(r);
	if (__builtin_expect(first.record.kind == RECORD_PAD, 0)) {
		rc = ring_skip_pad(r);
		if (rc <= 0)
			return rc;
		first = ring_peek(r);
	}
	head = r->head_private;
	if (__builtin_expect(!ring_first_sound(first, r->clear - head), 0))
		return ring_break(r);

	memcpy(buffer, &first, sizeof(first));
	ring_copy_rest((unsigned char *)buffer, r->data + (head & r->mask), first.record.bytes);
	/* For the compiler alone: from here on the copy is read, not the ring. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(buffer->epoch != r->epoch || buffer->sequence != r->sequence + 1, 0))
		return ring_break(r);
	r->sequence++;
	r->head_private = head + first.record.bytes;
	return 1;
}

/* Give the room of all records read so far back to the producer. */
void ring_release(struct ring_reader *r);

static_assert(sizeof(union first_word) == 8, "a pad fits into the smallest gap");
static_assert(offsetof(struct record, kind) == 4 && offsetof(struct record, flags) == 6,
              "first word");
static_assert(RECORD_KINDS < 32, "a bit for each kind");

#endif
