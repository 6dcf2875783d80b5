/* SPDX-License-Identifier: Apache-2.0 */
/* The producer writes data and *tail, the consumer *head.  Each keeps its own
 * position in private memory and never reads it back.
 *
 * Invariants, private positions of one end
 *   S1  writer: head_seen <= tail_published <= tail_private <= head_seen + size
 *   S2  reader: head_released <= head_private <= tail_seen <= head_released + size
 *   S3  all positions are multiples of 8; a record or pad never crosses the end
 *   S4  the bytes between the private position and `clear` are contiguous, and within
 *       S1 or S2, so that a usual record costs one comparison.  At a broken end there are
 *       none.
 *
 * Only the peer's position is trusted, and only within S1 or S2: whatever the other
 * process stores, no access leaves the ring.
 *
 * Pairs in this file
 *   R1 -> A1   records, producer to consumer
 *   R2 -> A2   free space, consumer to producer: copied records may be overwritten
 *
 * Not a mistake: a hostile producer can change a record while it is copied.  The first
 * word is read once, and everything else is checked in the copy, which alone is used. */
#include "ipc/ring.h"

#include <errno.h>
#include <string.h>

/* tests/stress/weaken.sh removes each order and expects a failure. */
#ifdef MUSTER_WEAKEN_R1
#define ORDER_R1 memory_order_relaxed
#else
#define ORDER_R1 memory_order_release
#endif
#ifdef MUSTER_WEAKEN_A1
#define ORDER_A1 memory_order_relaxed
#else
#define ORDER_A1 memory_order_acquire
#endif
#ifdef MUSTER_WEAKEN_R2
#define ORDER_R2 memory_order_relaxed
#else
#define ORDER_R2 memory_order_release
#endif
#ifdef MUSTER_WEAKEN_A2
#define ORDER_A2 memory_order_relaxed
#else
#define ORDER_A2 memory_order_acquire
#endif

#define HEADER_BYTES ((uint64_t)sizeof(struct record))
#define ALIGNMENT UINT64_C(8)

static_assert(RECORD_BYTES_MAX % ALIGNMENT == 0, "the longest record is a record");

static bool power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

void ring_writer_init(struct ring_writer *w, unsigned char *data, uint64_t bytes,
                      _Atomic uint64_t *tail, const _Atomic uint64_t *head, uint64_t epoch)
{
	assert(power_of_two(bytes));
	assert(bytes >= HEADER_BYTES);
	assert((uintptr_t)data % ALIGNMENT == 0);
	*w = (struct ring_writer){
		.data = data, .mask = bytes - 1, .tail = tail, .head = head, .epoch = epoch
	};
	/* Relaxed: the peer reads it only after the handshake. */
	atomic_store_explicit(tail, 0, memory_order_relaxed);
}

void ring_reader_init(struct ring_reader *r, const unsigned char *data, uint64_t bytes,
                      const _Atomic uint64_t *tail, _Atomic uint64_t *head, uint64_t epoch)
{
	assert(power_of_two(bytes));
	assert(bytes >= HEADER_BYTES);
	assert((uintptr_t)data % ALIGNMENT == 0);
	*r = (struct ring_reader){
		.data = data, .mask = bytes - 1, .tail = tail, .head = head, .epoch = epoch
	};
	/* Relaxed: likewise. */
	atomic_store_explicit(head, 0, memory_order_relaxed);
}

/* The next end of the ring after a position. */
static uint64_t lap_end(uint64_t position, uint64_t mask)
{
	return (position | mask) + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* True if this many bytes are free after the reserved ones.  Reads the peer's head only
 * if the last known one is not enough. */
static bool writer_room(struct ring_writer *w, uint64_t bytes)
{
	uint64_t size = w->mask + 1;
	uint64_t head;

	if (w->broken)
		return false;
	if (w->tail_private - w->head_seen + bytes <= size)
		return true;

	/* A2: the consumer has copied the records before head (R2). */
	head = atomic_load_explicit(w->head, ORDER_A2);
	if (head - w->head_seen > w->tail_published - w->head_seen || head % ALIGNMENT != 0) {
		w->broken = true;
		w->clear = w->tail_private;
		return false;
	}
	w->head_seen = head;
	return w->tail_private - w->head_seen + bytes <= size;
}

/* Bytes of a record of this length and of the pad before it. */
static uint64_t pad_before(const struct ring_writer *w, uint64_t bytes)
{
	uint64_t to_end = lap_end(w->tail_private, w->mask) - w->tail_private;

	return bytes > to_end ? to_end : 0;
}

static void write_pad(struct ring_writer *w, uint64_t bytes)
{
	union first_word pad = { .record = { .bytes = (uint32_t)bytes, .kind = RECORD_PAD } };

	memcpy(w->data + (w->tail_private & w->mask), &pad, sizeof(pad));
	w->tail_private += bytes;
}

/* Makes contiguous space for a record of this length, after a pad if necessary. */
bool ring_clear(struct ring_writer *w, uint64_t bytes)
{
	uint64_t pad = pad_before(w, bytes);

	if (bytes > RECORD_BYTES_MAX || !writer_room(w, pad + bytes))
		return false;
	if (pad > 0)
		write_pad(w, pad);
	w->clear = least(w->head_seen + w->mask + 1, lap_end(w->tail_private, w->mask));
	return true;
}

void ring_publish(struct ring_writer *w)
{
	if (w->tail_published == w->tail_private || w->broken)
		return;
	w->tail_published = w->tail_private;
	/* R1: the records are written before the consumer can count them (A1). */
	atomic_store_explicit(w->tail, w->tail_published, ORDER_R1);
}

bool ring_has_room(struct ring_writer *w, uint32_t body_bytes)
{
	uint64_t bytes = HEADER_BYTES + body_bytes;

	return bytes <= RECORD_BYTES_MAX && writer_room(w, pad_before(w, bytes) + bytes);
}

int ring_break(struct ring_reader *r)
{
	r->broken = true;
	r->clear = r->head_private;
	return -EPROTO;
}

/* Checks for new records: 1 and sets `clear`; 0: none; -EPROTO. */
int ring_look(struct ring_reader *r)
{
	uint64_t tail;

	if (r->broken)
		return -EPROTO;
	if (r->tail_seen == r->head_private) {
		/* A1: the records before tail are written (R1). */
		tail = atomic_load_explicit(r->tail, ORDER_A1);
		if (tail - r->head_private > r->mask + 1 - (r->head_private - r->head_released) ||
		    tail % ALIGNMENT != 0)
			return ring_break(r);
		r->tail_seen = tail;
	}
	r->clear = least(r->tail_seen, lap_end(r->head_private, r->mask));
	return r->clear != r->head_private;
}

/* Skips a pad, which reaches up to the end of the ring, is not at its start and not last.  1 if
 * the record after it is there. */
int ring_skip_pad(struct ring_reader *r)
{
	uint64_t place = r->head_private & r->mask;
	union first_word first = ring_peek(r);

	if (place == 0 || first.record.bytes != r->mask + 1 - place ||
	    first.record.bytes >= r->tail_seen - r->head_private || first.record.flags != 0)
		return ring_break(r);
	r->head_private += first.record.bytes;
	return ring_look(r);
}

void ring_release(struct ring_reader *r)
{
	if (r->head_released == r->head_private)
		return;
	r->head_released = r->head_private;
	/* R2: the records are copied before the producer can overwrite them (A2). */
	atomic_store_explicit(r->head, r->head_released, ORDER_R2);
}
