/* SPDX-License-Identifier: Apache-2.0 */
/* The ring as its two ends see it: whole records in order, wraps, pads, a full
 * ring, and a peer that lies about everything it may write. */
#include "ipc/ring.h"

#include "tests/unit/test.h"

#include <time.h>

#define EPOCH UINT64_C(7)
#define GUARD 4096u /* bytes on both sides that nobody may touch */

/* A ring with both ends and a buffer for the copy. */
static struct pair {
	uint64_t size;
	unsigned char *memory;
	unsigned char *data;
	_Atomic uint64_t tail;
	_Atomic uint64_t head;
	struct ring_writer w;
	struct ring_reader r;
	struct record *copy;
} * p;

static void pair_end(void)
{
	if (!p)
		return;
	for (size_t i = 0; i < GUARD; i++) {
		cr_assert_eq(p->memory[i], 0xa5, "written before the ring");
		cr_assert_eq(p->memory[GUARD + p->size + i], 0xa5, "written behind the ring");
	}
	free(p->memory);
	free(p->copy);
	free(p);
	p = NULL;
}

/* In place of the one before. */
static void pair_start(uint64_t size)
{
	pair_end();
	p = calloc(1, sizeof(*p));
	cr_assert(p);
	p->size = size;
	p->memory = malloc(size + 2 * GUARD);
	p->copy = malloc(RECORD_BYTES_MAX);
	cr_assert(p->memory && p->copy);
	memset(p->memory, 0xa5, size + 2 * GUARD);
	p->data = p->memory + GUARD;
	ring_writer_init(&p->w, p->data, size, &p->tail, &p->head, EPOCH);
	ring_reader_init(&p->r, p->data, size, &p->tail, &p->head, EPOCH);
}

TestSuite(ring, .fini = pair_end);

/* Invariants S1 and S2 of ring.c. */
static void pair_valid(void)
{
	cr_assert(p->w.head_seen <= p->w.tail_published);
	cr_assert(p->w.tail_published <= p->w.tail_private);
	cr_assert(p->w.tail_private <= p->w.head_seen + p->size);
	cr_assert(p->w.tail_private <= p->w.clear && p->w.clear <= p->w.head_seen + p->size);
	cr_assert(p->r.head_released <= p->r.head_private);
	cr_assert(p->r.head_private <= p->r.clear && p->r.clear <= p->r.tail_seen);
	cr_assert(p->r.tail_seen <= p->r.head_released + p->size);
}

/* A record whose body says which one it is. */
static bool put(uint32_t body_bytes, unsigned char mark)
{
	struct record *record = ring_reserve(&p->w, EVENT_TICK, body_bytes, mark);

	if (record)
		memset(record + 1, mark, body_bytes);
	return record != NULL;
}

static void publish(uint32_t body_bytes, unsigned char mark)
{
	cr_assert(put(body_bytes, mark));
	ring_publish(&p->w);
}

static void expect(uint32_t body_bytes, unsigned char mark)
{
	const unsigned char *body = (const unsigned char *)(p->copy + 1);

	cr_assert_eq(ring_read(&p->r, p->copy), 1);
	cr_assert_eq(p->copy->bytes, sizeof(struct record) + body_bytes);
	cr_assert_eq(p->copy->kind, EVENT_TICK);
	cr_assert_eq(p->copy->epoch, EPOCH);
	cr_assert_eq(p->copy->time_ns, mark);
	for (uint32_t i = 0; i < body_bytes; i++)
		cr_assert_eq(body[i], mark);
}

static uint64_t test_seed(void)
{
	const char *given = getenv("MUSTER_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

	fprintf(stderr, "MUSTER_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed | 1;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

Test(ring, passes_nothing_before_it_is_published)
{
	pair_start(4096);
	cr_assert_eq(ring_read(&p->r, p->copy), 0);
	cr_assert(put(8, 1));
	cr_assert(put(0, 2));
	cr_assert_eq(ring_read(&p->r, p->copy), 0);
	ring_publish(&p->w);
	expect(8, 1);
	expect(0, 2);
	cr_assert_eq(ring_read(&p->r, p->copy), 0);
	pair_valid();
}

Test(ring, numbers_records_from_one_without_gaps)
{
	pair_start(1024);
	for (uint64_t i = 1; i <= 1000; i++) {
		publish((uint32_t)(i % 5) * 8, (unsigned char)i);
		expect((uint32_t)(i % 5) * 8, (unsigned char)i);
		cr_assert_eq(p->copy->sequence, i);
		ring_release(&p->r);
		pair_valid();
	}
}

/* 4 records of 64 bytes fill a ring of 256; room comes back with release, not
 * with reading. */
Test(ring, says_when_it_is_full)
{
	pair_start(256);
	for (unsigned char i = 0; i < 4; i++) {
		cr_assert(ring_has_room(&p->w, 32));
		cr_assert(put(32, i));
	}
	cr_assert_not(ring_has_room(&p->w, 0));
	cr_assert_not(put(0, 9));
	ring_publish(&p->w);
	expect(32, 0);
	cr_assert_not(put(32, 4));
	ring_release(&p->r);
	cr_assert(ring_has_room(&p->w, 32));
	cr_assert_not(ring_has_room(&p->w, 40));
	publish(32, 4);
	for (unsigned char i = 1; i <= 4; i++)
		expect(32, i);
	cr_assert_not(p->w.broken);
}

/* Gaps of 8, 16, 24 and more bytes at the end: even the smallest holds a pad. */
Test(ring, fills_every_gap_at_the_end_with_a_pad)
{
	for (uint32_t gap = 8; gap <= 96; gap += 8) {
		uint32_t first = 512 - gap - (uint32_t)sizeof(struct record);

		pair_start(512);
		publish(first, 1);
		expect(first, 1);
		ring_release(&p->r);
		cr_assert(put(gap, 2)); /* header and body: too long for the gap */
		cr_assert_eq(p->w.tail_private, 512 + sizeof(struct record) + gap);
		publish(8, 3);
		expect(gap, 2);
		cr_assert_eq(p->copy->sequence, 2, "a pad takes no number");
		expect(8, 3);
		ring_release(&p->r);
		pair_valid();
	}
}

/* The pad counts: a record may fit beside what is there, yet not behind a pad. */
Test(ring, reserves_nothing_when_only_the_pad_would_fit)
{
	pair_start(256);
	cr_assert(put(128, 1)); /* 160 of 256 */
	ring_publish(&p->w);
	cr_assert_not(put(96, 2)); /* 128: pad 96, then 128 over the first */
	cr_assert_eq(p->w.tail_private, 160);
	cr_assert_eq(p->w.sequence, 1);
	cr_assert(put(64, 2)); /* 96: exactly to the end */
	ring_publish(&p->w);
	expect(128, 1);
	expect(64, 2);
}

Test(ring, takes_the_longest_record_wherever_it_stands)
{
	uint32_t longest = RECORD_BYTES_MAX - (uint32_t)sizeof(struct record);

	pair_start(RING_BYTES_MIN);
	for (unsigned char i = 0; i < 50; i++) {
		publish(longest, i);
		expect(longest, i);
		ring_release(&p->r);
		cr_assert(put(8u * i, i)); /* moves the next one along */
		ring_publish(&p->w);
		expect(8u * i, i);
		ring_release(&p->r);
	}
	cr_assert_not(ring_has_room(&p->w, longest + 8));
	cr_assert_null(ring_reserve(&p->w, EVENT_TICK, longest + 8, 0));
	cr_assert_null(ring_reserve(&p->w, EVENT_TICK, UINT32_MAX - 7, 0), "no overflow");
	cr_assert_not(p->w.broken);
}

Test(ring, gives_back_a_batch_at_once)
{
	pair_start(4096);
	for (unsigned char i = 0; i < 32; i++)
		cr_assert(put(32, i));
	cr_assert_eq(atomic_load(&p->tail), 0);
	ring_publish(&p->w);
	cr_assert_eq(atomic_load(&p->tail), 32 * 64);
	for (unsigned char i = 0; i < 32; i++)
		expect(32, i);
	cr_assert_eq(atomic_load(&p->head), 0);
	ring_release(&p->r);
	cr_assert_eq(atomic_load(&p->head), 32 * 64);
}

/* Random steps of both ends against a plain list. */
Test(ring, does_what_a_list_does)
{
	enum { STEPS = 200000, LIST = 4096 };
	static uint32_t body[LIST];
	uint64_t seed = test_seed();

	for (uint64_t size = 64; size <= 65536; size *= 4) {
		uint64_t written = 0, published = 0, read = 0;

		pair_start(size);
		for (int step = 0; step < STEPS / 8; step++) {
			uint64_t dice = next_random(&seed);
			uint32_t bytes = (uint32_t)((dice >> 8) % (size / 2 / 8)) * 8;

			if (dice % 8 < 4 && written - read < LIST) {
				bool room = ring_has_room(&p->w, bytes);
				bool done = put(bytes, (unsigned char)written);

				cr_assert_eq(done, room);
				if (room)
					body[written++ % LIST] = bytes;
			} else if (dice % 8 == 4) {
				ring_publish(&p->w);
				published = written;
			} else if (dice % 8 == 5) {
				ring_release(&p->r);
			} else if (read < published) {
				expect(body[read % LIST], (unsigned char)read);
				read++;
				cr_assert_eq(p->copy->sequence, read);
			} else {
				cr_assert_eq(ring_read(&p->r, p->copy), 0);
			}
			pair_valid();
		}
		cr_assert_gt(read, 1000, "seed %llu: hardly anything passed", (unsigned long long)seed);
	}
}

/* Publish one good record, then let the test spoil it. */
static struct record *spoilt(void)
{
	publish(32, 1);
	return (struct record *)(void *)p->data;
}

static void expect_nonsense(void)
{
	uint64_t head = p->r.head_private;

	cr_assert_eq(ring_read(&p->r, p->copy), -EPROTO);
	cr_assert_eq(p->r.head_private, head);
	cr_assert_eq(ring_read(&p->r, p->copy), -EPROTO, "it stays refused");
}

Test(ring, refuses_lengths_that_cannot_be)
{
	static const uint32_t lengths[] = {
		0, 8, 24, 31, 33, 72, 4096, RECORD_BYTES_MAX + 8, UINT32_MAX, UINT32_MAX - 7
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		pair_start(1024);
		spoilt()->bytes = lengths[i];
		expect_nonsense();
	}
}

/* Within what is published, but over the end of the ring. */
Test(ring, refuses_a_record_over_the_end)
{
	pair_start(256);
	for (unsigned char i = 0; i < 3; i++)
		publish(32, i);
	for (unsigned char i = 0; i < 3; i++)
		expect(32, i);
	ring_release(&p->r);
	for (unsigned char i = 0; i < 4; i++)
		publish(32, i);
	((struct record *)(void *)(p->data + 192))->bytes = 128;
	expect_nonsense();
}

Test(ring, refuses_kinds_flags_epochs_and_sequences_that_cannot_be)
{
	for (int which = 0; which < 9; which++) {
		struct record *record;

		pair_start(1024);
		record = spoilt();
		switch (which) {
		case 0:
			record->kind = RECORD_KINDS;
			break;
		case 1:
			record->kind = UINT16_MAX;
			break;
		case 2:
			record->kind = EVENT_PLAN;
			break;
		case 3:
			record->kind = RECORD_PAD;
			break;
		case 4:
			record->flags = 1;
			break;
		case 5:
			record->epoch = EPOCH - 1;
			break;
		case 6:
			record->epoch = EPOCH + 1;
			break;
		case 7:
			record->sequence = 0;
			break;
		default:
			record->sequence = 2;
			break;
		}
		expect_nonsense();
	}
}

Test(ring, refuses_tails_that_cannot_be)
{
	static const uint64_t tails[] = {
		1, 65, 1032, 1025, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63
	};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		pair_start(1024);
		spoilt();
		atomic_store(&p->tail, tails[i]);
		expect_nonsense();
	}
}

/* The producer may have filled the ring once, not overwritten what is not
 * released yet; and it may not go back. */
Test(ring, refuses_a_tail_over_unreleased_room_or_backwards)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		pair_start(1024);
		spoilt();
		expect(32, 1);
		atomic_store(&p->tail, backwards ? 32 : 1024 + 64);
		expect_nonsense();
	}
}

/* Pads at the start, short, long, last: none makes the reader go round. */
Test(ring, refuses_pads_that_cannot_be)
{
	for (int which = 0; which < 4; which++) {
		struct record *pad;

		pair_start(256);
		publish(128, 1);
		expect(128, 1);
		ring_release(&p->r);
		cr_assert(put(96, 2)); /* behind a pad of 96 at 160 */
		ring_publish(&p->w);
		pad = (struct record *)(void *)(p->data + 160);
		cr_assert_eq(pad->kind, RECORD_PAD);
		cr_assert_eq(pad->bytes, 96);
		if (which == 0)
			pad->bytes = 88;
		else if (which == 1)
			pad->bytes = 0;
		else if (which == 2)
			pad->flags = 1;
		else
			atomic_store(&p->tail, 256);
		expect_nonsense();
	}
}

Test(ring, refuses_a_pad_after_a_pad)
{
	struct record *first;

	pair_start(256);
	first = (struct record *)(void *)p->data;
	publish(128, 1);
	expect(128, 1);
	ring_release(&p->r);
	publish(96, 2);
	first->bytes = 256;
	first->kind = RECORD_PAD;
	cr_assert_eq(ring_read(&p->r, p->copy), -EPROTO);
	cr_assert_eq(ring_read(&p->r, p->copy), -EPROTO);
}

/* Random bytes and random tails: each call ends, and no byte outside is read
 * (AddressSanitizer watches the copy, the guards the rest). */
Test(ring, survives_a_producer_that_writes_random_things)
{
	uint64_t seed = test_seed();

	for (int round = 0; round < 20000; round++) {
		int records = 0;

		pair_start(1024);
		for (size_t i = 0; i < 1024; i += 8) {
			uint64_t word = next_random(&seed);

			memcpy(p->data + i, &word, 8);
		}
		for (int i = 0; i < 12; i++) { /* something plausible among it */
			struct record *record =
				(struct record *)(void *)(p->data + next_random(&seed) % 120 * 8);

			record->bytes = (uint32_t)(next_random(&seed) % 16) * 8;
			record->kind = (uint16_t)(next_random(&seed) % 4);
			record->flags = 0;
			record->epoch = EPOCH;
			record->sequence = 1 + next_random(&seed) % 2;
		}
		atomic_store(&p->tail, next_random(&seed) % 2 ? 1024 : next_random(&seed) % 130 * 8);
		while (ring_read(&p->r, p->copy) == 1) {
			records++;
			cr_assert_lt(records, 64);
			if (next_random(&seed) % 2)
				ring_release(&p->r);
		}
	}
}

/* Whatever it says has been read: the writer never goes over what is published
 * and unread, and never writes outside. */
Test(ring, refuses_heads_that_cannot_be)
{
	static const uint64_t heads[] = {
		1, 63, 264, 257, 1024, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		pair_start(256);
		for (unsigned char mark = 0; mark < 4; mark++)
			publish(32, mark);
		atomic_store(&p->head, heads[i]);
		cr_assert_not(ring_has_room(&p->w, 0));
		cr_assert(p->w.broken);
		cr_assert_null(ring_reserve(&p->w, EVENT_TICK, 0, 0));
		atomic_store(&p->head, 256);
		cr_assert_null(ring_reserve(&p->w, EVENT_TICK, 0, 0), "it stays broken");
	}
}

/* Room that is reserved and not published cannot have been read. */
Test(ring, refuses_a_head_beyond_what_was_published)
{
	pair_start(256);
	publish(32, 1);
	for (unsigned char mark = 2; mark <= 4; mark++)
		cr_assert(put(32, mark));
	atomic_store(&p->head, 128);
	cr_assert_not(put(32, 5));
	cr_assert(p->w.broken);
	ring_publish(&p->w);
	cr_assert_eq(atomic_load(&p->tail), 64, "a broken ring publishes nothing");
}

Test(ring, refuses_a_head_that_goes_back)
{
	pair_start(256);
	for (unsigned char mark = 0; mark < 4; mark++)
		publish(32, mark);
	atomic_store(&p->head, 128);
	cr_assert(put(32, 4));
	publish(32, 5);
	atomic_store(&p->head, 64);
	cr_assert_not(put(32, 6));
	cr_assert(p->w.broken);
}

Test(ring, survives_a_consumer_that_says_random_things)
{
	uint64_t seed = test_seed();

	for (int round = 0; round < 2000; round++) {
		pair_start(1024);
		for (int step = 0; step < 200 && !p->w.broken; step++) {
			uint64_t dice = next_random(&seed);

			put((uint32_t)(dice % 20) * 8, (unsigned char)step);
			if (dice & 256)
				ring_publish(&p->w);
			if (dice & 512)
				atomic_store(&p->head, p->w.head_seen + next_random(&seed) % 64 * 8);
			if (dice & 0x7000)
				continue;
			atomic_store(&p->head, next_random(&seed));
		}
		cr_assert_leq(p->w.tail_private - p->w.head_seen, 1024);
	}
}
