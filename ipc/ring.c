/* Who writes what: the producer its data and *tail, the consumer *head.  Each
 * keeps its own position in private memory and never reads it back.
 *
 * Invariants, private positions of one end
 *   S1  writer: head_seen <= tail_published <= tail_private <= head_seen + size
 *   S2  reader: head_released <= head_private <= tail_seen <= head_released + size
 *   S3  all positions are multiples of 8; a record or pad never crosses the end
 *
 * The peer's position is the only thing that is believed, and only as far as S1
 * or S2 allow: whatever the other process stores, no access leaves the ring.
 *
 * Pairs in this file
 *   R1 -> A1   records, producer to consumer
 *   R2 -> A2   room, consumer to producer: what was copied out may be overwritten
 *
 * What looks wrong and is not: a hostile producer can change a record while it is
 * copied.  The first word is read once, and everything else is checked in the
 * copy, so the copy is what counts. */
#include "ipc/ring.h"

#include <errno.h>
#include <string.h>

/* tests/stress/weaken.sh takes each order away and expects a failure. */
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
#define ALIGNMENT    UINT64_C(8)

/* What a pad has of a record, and what is read first of every record. */
union first_word {
	uint64_t word;
	struct {
		uint32_t bytes;
		uint16_t kind;
		uint16_t flags;
	} record;
};

static_assert(sizeof(union first_word) == ALIGNMENT, "a pad fits into the smallest gap");
static_assert(offsetof(struct record, kind) == 4 && offsetof(struct record, flags) == 6, "first word");
static_assert(RECORD_BYTES_MAX % ALIGNMENT == 0, "the longest record is a record");

static bool power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

void ring_writer_init(struct ring_writer *w, unsigned char *data, uint64_t bytes, _Atomic uint64_t *tail,
                      const _Atomic uint64_t *head, uint64_t epoch)
{
	assert(power_of_two(bytes));
	assert(bytes >= HEADER_BYTES);
	assert((uintptr_t)data % ALIGNMENT == 0);
	*w = (struct ring_writer){ .data = data, .mask = bytes - 1, .tail = tail, .head = head, .epoch = epoch };
	/* Relaxed: the peer does not look before it was told of the ring. */
	atomic_store_explicit(tail, 0, memory_order_relaxed);
}

void ring_reader_init(struct ring_reader *r, const unsigned char *data, uint64_t bytes,
                      const _Atomic uint64_t *tail, _Atomic uint64_t *head, uint64_t epoch)
{
	assert(power_of_two(bytes));
	assert(bytes >= HEADER_BYTES);
	assert((uintptr_t)data % ALIGNMENT == 0);
	*r = (struct ring_reader){ .data = data, .mask = bytes - 1, .tail = tail, .head = head, .epoch = epoch };
	/* Relaxed: likewise. */
	atomic_store_explicit(head, 0, memory_order_relaxed);
}

/* ---- producer ---- */

/* Is there room for this many bytes behind what is reserved?  Looks at the peer's
 * head only when the one seen last is not enough. */
static bool writer_room(struct ring_writer *w, uint64_t bytes)
{
	uint64_t size = w->mask + 1;
	uint64_t head;

	if (w->broken)
		return false;
	if (w->tail_private - w->head_seen + bytes <= size)
		return true;

	/* A2: the consumer has copied what lies before head (R2). */
	head = atomic_load_explicit(w->head, ORDER_A2);
	if (head - w->head_seen > w->tail_published - w->head_seen || head % ALIGNMENT != 0) {
		w->broken = true;
		return false;
	}
	w->head_seen = head;
	return w->tail_private - w->head_seen + bytes <= size;
}

/* What a record of this length takes: it and the pad before it. */
static uint64_t pad_before(const struct ring_writer *w, uint64_t bytes)
{
	uint64_t to_end = w->mask + 1 - (w->tail_private & w->mask);

	return bytes > to_end ? to_end : 0;
}

static void write_pad(struct ring_writer *w, uint64_t bytes)
{
	union first_word pad = { .record = { .bytes = (uint32_t)bytes, .kind = RECORD_PAD } };

	memcpy(w->data + (w->tail_private & w->mask), &pad, sizeof(pad));
	w->tail_private += bytes;
}

struct record *ring_reserve(struct ring_writer *w, enum record_kind kind, uint32_t body_bytes, uint64_t time_ns)
{
	uint64_t bytes = HEADER_BYTES + body_bytes;
	uint64_t pad = pad_before(w, bytes);
	struct record *record;

	assert(body_bytes % ALIGNMENT == 0);
	assert(kind > RECORD_PAD && kind < RECORD_KINDS && kind != EVENT_PLAN);
	if (bytes > RECORD_BYTES_MAX || !writer_room(w, pad + bytes))
		return NULL;

	if (pad > 0)
		write_pad(w, pad);
	record = (struct record *)(void *)(w->data + (w->tail_private & w->mask));
	w->tail_private += bytes;
	record->bytes = (uint32_t)bytes;
	record->kind = (uint16_t)kind;
	record->flags = 0;
	record->epoch = w->epoch;
	record->sequence = ++w->sequence;
	record->time_ns = time_ns;
	return record;
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

/* ---- consumer ---- */

static int reader_break(struct ring_reader *r)
{
	r->broken = true;
	return -EPROTO;
}

/* Bytes that may be read now: 0, or up to a tail that was checked. */
static int reader_look(struct ring_reader *r, uint64_t *available)
{
	uint64_t tail;

	if (r->tail_seen == r->head_private) {
		/* A1: the records before tail are written (R1). */
		tail = atomic_load_explicit(r->tail, ORDER_A1);
		if (tail - r->head_private > r->mask + 1 - (r->head_private - r->head_released) ||
		    tail % ALIGNMENT != 0)
			return reader_break(r);
		r->tail_seen = tail;
	}
	*available = r->tail_seen - r->head_private;
	return 0;
}

/* The first word, fetched once: volatile, so that the compiler cannot look into
 * the ring again after the check. */
static union first_word reader_peek(const struct ring_reader *r)
{
	const unsigned char *at = r->data + (r->head_private & r->mask);

	return (union first_word){ .word = *(const volatile uint64_t *)(const void *)at };
}

/* A pad fills the ring up to its end, stands neither at its start nor last. */
static int reader_skip_pad(struct ring_reader *r, union first_word first, uint64_t available)
{
	uint64_t place = r->head_private & r->mask;

	if (place == 0 || first.record.bytes != r->mask + 1 - place || first.record.bytes >= available ||
	    first.record.flags != 0)
		return reader_break(r);
	r->head_private += first.record.bytes;
	return 0;
}

/* All but the first word, which was read before.  By hand, since a call of memcpy
 * takes a third of the time that a usual record of 64 bytes needs. */
static inline void copy_rest(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
	uint64_t at = HEADER_BYTES;

	memcpy(to + ALIGNMENT, from + ALIGNMENT, HEADER_BYTES - ALIGNMENT);
	for (; at + 32 <= bytes; at += 32)
		memcpy(to + at, from + at, 32);
	for (; at < bytes; at += ALIGNMENT)
		memcpy(to + at, from + at, ALIGNMENT);
}

/* Copy a record whose first word says that it lies within what may be read. */
static int reader_copy(struct ring_reader *r, union first_word first, uint64_t available, struct record *buffer)
{
	uint64_t place = r->head_private & r->mask;
	uint64_t to_end = r->mask + 1 - place;
	uint64_t bytes = first.record.bytes;

	if (bytes < HEADER_BYTES || bytes > RECORD_BYTES_MAX || bytes % ALIGNMENT != 0 || bytes > available ||
	    bytes > to_end)
		return reader_break(r);
	if (first.record.kind == RECORD_PAD || first.record.kind >= RECORD_KINDS || first.record.kind == EVENT_PLAN ||
	    first.record.flags != 0)
		return reader_break(r);

	memcpy(buffer, &first, sizeof(first));
	copy_rest((unsigned char *)buffer, r->data + place, bytes);
	/* For the compiler alone: from here on the copy is read, not the ring. */
	atomic_signal_fence(memory_order_seq_cst);
	if (buffer->epoch != r->epoch || buffer->sequence != r->sequence + 1)
		return reader_break(r);
	r->sequence++;
	r->head_private += bytes;
	return 1;
}

int ring_read(struct ring_reader *r, struct record *buffer)
{
	union first_word first;
	uint64_t available;
	int rc;

	if (r->broken)
		return -EPROTO;
	rc = reader_look(r, &available);
	if (rc < 0 || available == 0)
		return rc;

	first = reader_peek(r);
	if (first.record.kind == RECORD_PAD) {
		rc = reader_skip_pad(r, first, available);
		if (rc < 0)
			return rc;
		available = r->tail_seen - r->head_private;
		first = reader_peek(r);
	}
	return reader_copy(r, first, available, buffer);
}

void ring_release(struct ring_reader *r)
{
	if (r->head_released == r->head_private)
		return;
	r->head_released = r->head_private;
	/* R2: the records are copied before the producer can overwrite them (A2). */
	atomic_store_explicit(r->head, r->head_released, ORDER_R2);
}
