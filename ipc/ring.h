/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of variable-length records: one producer and one consumer in different
 * processes; each position is in the segment of the process that writes it.
 *
 *   producer's segment: data, tail        consumer's segment: head
 *
 * Positions count bytes and never wrap; the index is position & (bytes - 1).
 * A record never crosses the end of the ring: a RECORD_PAD fills the rest, and
 * only the first 8 bytes of a pad (bytes, kind, flags) exist.
 *
 * Both ends are initialized before the handshake (link_welcome(), link_connect()):
 * each starts at position 0 and stores that in its own word.
 *
 * Progress: wait-free on both sides. */
#ifndef MUSTER_IPC_RING_H
#define MUSTER_IPC_RING_H

#include "ipc/abi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* An empty ring of this size takes any record at any position. */
#define RING_BYTES_MIN (2 * RECORD_BYTES_MAX)

struct ring_writer {
	unsigned char *data;
	uint64_t mask;
	_Atomic uint64_t *tail;       /* ours */
	const _Atomic uint64_t *head; /* theirs: not trusted */
	uint64_t tail_private;        /* reserved up to here */
	uint64_t clear;               /* known contiguous free space up to here */
	uint64_t tail_published;      /* value of *tail */
	uint64_t head_seen;
	uint64_t epoch;
	uint64_t sequence;
	bool broken; /* the peer's head was invalid */
};

struct ring_reader {
	const unsigned char *data;
	uint64_t mask;
	const _Atomic uint64_t *tail; /* theirs */
	_Atomic uint64_t *head;       /* ours */
	uint64_t head_private;        /* read up to here */
	uint64_t clear;               /* known contiguous records up to here */
	uint64_t head_released;       /* value of *head */
	uint64_t tail_seen;
	uint64_t epoch;
	uint64_t sequence;
	bool broken; /* the producer wrote an invalid position or record */
};

/* bytes is a power of two; data is aligned to 8. */
void ring_writer_init(struct ring_writer *w, unsigned char *data, uint64_t bytes,
                      _Atomic uint64_t *tail, const _Atomic uint64_t *head, uint64_t epoch);
void ring_reader_init(struct ring_reader *r, const unsigned char *data, uint64_t bytes,
                      const _Atomic uint64_t *tail, _Atomic uint64_t *head, uint64_t epoch);

/* Slow paths.  ring_clear() makes contiguous space for a record and removes nothing; ring_look()
 * checks for new records. */
bool ring_clear(struct ring_writer *w, uint64_t bytes);
int ring_look(struct ring_reader *r);
int ring_skip_pad(struct ring_reader *r);
int ring_break(struct ring_reader *r);

/* Reserves a record with a body of body_bytes (a multiple of 8): its header is
 * filled in, the caller writes the body after it.  NULL if the ring is full, if
 * `broken` is set, or if the record would be longer than RECORD_BYTES_MAX.  Several
 * records may be reserved before one ring_publish(); publish before waiting for
 * space, since only published records are read. */
static inline struct record *ring_reserve(struct ring_writer *w, enum record_kind kind,
                                          uint32_t body_bytes, uint64_t time_ns)
{
	uint64_t bytes = sizeof(struct record) + (uint64_t)body_bytes;
	uint64_t tail = w->tail_private;
	struct record *record;

	assert(body_bytes % 8 == 0);
	assert(kind > RECORD_PAD && kind < RECORD_KINDS && kind != EVENT_PLAN && kind != EVENT_ANSWER);
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

/* Makes all reserved records visible to the consumer. */
void ring_publish(struct ring_writer *w);

/* True if a record with a body of this size fits now. */
bool ring_has_room(struct ring_writer *w, uint32_t body_bytes);

/* The first word of a record, and all of a pad. */
union first_word {
	uint64_t word;
	struct {
		uint32_t bytes;
		uint16_t kind;
		uint16_t flags;
	} record;
};

/* The first word, read once: volatile, so that the compiler does not read the ring
 * again after the check. */
static inline union first_word ring_peek(const struct ring_reader *r)
{
	const unsigned char *at = r->data + (r->head_private & r->mask);

	return (union first_word){ .word = *(const volatile uint64_t *)(const void *)at };
}

/* True if this is a valid first word of a record within the `available` bytes. */
static inline bool ring_first_sound(union first_word first, uint64_t available)
{
	/* One bit for each kind: cheaper than comparisons with those that are not allowed. */
	const uint64_t one = 1, may_be = (one << RECORD_KINDS) - 1 - (one << RECORD_PAD) -
	                                 (one << EVENT_PLAN) - (one << EVENT_ANSWER);
	uint32_t kind = first.record.kind | (uint32_t)first.record.flags << 16;
	uint64_t bytes = first.record.bytes;

	return bytes >= sizeof(struct record) && bytes <= available && bytes <= RECORD_BYTES_MAX &&
	       bytes % 8 == 0 && kind < RECORD_KINDS && may_be >> kind & 1;
}

/* Copies all but the first word, which was read before.  Not by memcpy: the call takes
 * a third of the time of a usual record of 64 bytes. */
static inline void ring_copy_rest(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
	uint64_t at = sizeof(struct record);

	memcpy(to + 8, from + 8, sizeof(struct record) - 8);
	for (; at + 32 <= bytes; at += 32)
		memcpy(to + at, from + at, 32);
	for (; at < bytes; at += 8)
		memcpy(to + at, from + at, 8);
}

/* Copies the next record into `buffer` (RECORD_BYTES_MAX bytes, aligned to 8), then
 * checks the copy: length, kind, epoch, sequence.
 *
 *   1         a record
 *   0         no record
 *   -EPROTO   the producer wrote an invalid record; the ring must not be read again */
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
	/* Only for the compiler: the copy is read after this, not the ring. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(buffer->epoch != r->epoch || buffer->sequence != r->sequence + 1, 0))
		return ring_break(r);
	r->sequence++;
	r->head_private = head + first.record.bytes;
	return 1;
}

/* Releases the space of all records read so far to the producer. */
void ring_release(struct ring_reader *r);

static_assert(sizeof(union first_word) == 8, "a pad fits into the smallest gap");
static_assert(offsetof(struct record, kind) == 4 && offsetof(struct record, flags) == 6,
              "first word");
static_assert(RECORD_KINDS < 64, "a bit for each kind");

#endif
