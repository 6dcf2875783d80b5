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

#include <stdbool.h>
#include <stdint.h>

/* A ring of this size takes every record when it is empty, wherever it stands. */
#define RING_BYTES_MIN (2 * RECORD_BYTES_MAX)

struct ring_writer {
	unsigned char *data;
	uint64_t mask;
	_Atomic uint64_t *tail;       /* ours */
	const _Atomic uint64_t *head; /* theirs: read with suspicion */
	uint64_t tail_private;        /* reserved up to here */
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
	uint64_t head_private; /* read up to here */
	uint64_t head_released; /* what *head says */
	uint64_t tail_seen;
	uint64_t epoch;
	uint64_t sequence;
	bool broken; /* the producer wrote nonsense */
};

/* bytes is a power of two; data is aligned to 8. */
void ring_writer_init(struct ring_writer *w, unsigned char *data, uint64_t bytes, _Atomic uint64_t *tail,
                      const _Atomic uint64_t *head, uint64_t epoch);
void ring_reader_init(struct ring_reader *r, const unsigned char *data, uint64_t bytes,
                      const _Atomic uint64_t *tail, _Atomic uint64_t *head, uint64_t epoch);

/* Room for a record with a body of body_bytes (a multiple of 8): its header is
 * filled in, the caller writes the body right behind it.  NULL when the ring is
 * full now, when `broken` is set, and always when the record would be longer than
 * RECORD_BYTES_MAX.  Several may be reserved before one ring_publish(); publish
 * before waiting for room, since only published records are ever read. */
struct record *ring_reserve(struct ring_writer *w, enum record_kind kind, uint32_t body_bytes, uint64_t time_ns);

/* Let the consumer see all that was reserved. */
void ring_publish(struct ring_writer *w);

/* Would a body of this size fit now? */
bool ring_has_room(struct ring_writer *w, uint32_t body_bytes);

/* Copy the next record into `buffer` (RECORD_BYTES_MAX bytes, aligned to 8), then
 * check the copy: length, kind, epoch, sequence.
 *
 *   1         a record
 *   0         none there
 *   -EPROTO   the producer wrote nonsense; this ring is not to be read again */
int ring_read(struct ring_reader *r, struct record *buffer);

/* Give the room of all records read so far back to the producer. */
void ring_release(struct ring_reader *r);

#endif
