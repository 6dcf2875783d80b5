/* SPDX-License-Identifier: Apache-2.0 */
/* Does a reader ever see a snapshot that is half written, or freed?  One thread publishes snapshots
 * whose every value follows from their number, readers check all of it:
 *
 *   quick      sections as long as one check
 *   standing   one reader stays in a section for STAND_MS, again and again, and checks at its end
 *   paused     the publisher stands still for a while, then publishes every 100 ms
 *
 * Memory is bounded throughout: by the snapshots that wait for a grace period, and the chunks.
 *
 *   stress_snapshots [SECONDS] */
#include "core/world/snapshot.h"
#include "ipc/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define READERS 3u
#define NODES 256u
#define STAND_MS 30
#define CHUNKS_MOST ((SNAPSHOTS_KEPT_MOST + 2) * (NODES / CHUNK_NODES))

static struct snapshots *shown;
static _Atomic uint32_t stop;
static _Atomic uint64_t checked;

static void fail(const char *what)
{
	printf("FAIL snapshots: %s\n", what);
	fflush(stdout);
	_Exit(1);
}

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* Chunk i changes with every (i + 1)th number. */
static int64_t value_of(uint64_t number, uint32_t chunk)
{
	return (int64_t)(number / (chunk + 1));
}

static struct snapshot *make(uint64_t number)
{
	struct snapshot *s = snapshot_new(NODES, 1, 0, 0);

	s->position = number;
	for (uint32_t i = 0; i < s->chunks_n; i++) {
		int64_t *row;

		s->chunks[i] = snapshot_chunk_new(2, 1, 0);
		row = (int64_t *)(void *)(s->chunks[i] + 1);
		for (uint32_t k = 0; k < 4 * CHUNK_NODES; k++)
			row[k] = value_of(number, i);
	}
	return s;
}

static void check(const struct snapshot *s, uint64_t number)
{
	if (s->position != number)
		fail("another number than at the begin of the section");
	for (uint32_t i = 0; i < s->chunks_n; i++)
		for (uint32_t k = 0; k < 4 * CHUNK_NODES; k++)
			if (chunk_free(s->chunks[i], 0)[k] != value_of(number, i))
				fail("a value of another snapshot");
	atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed);
}

static void *reader(void *standing)
{
	uint64_t last = 0;

	snapshots_enter();
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		const struct snapshot *s = snapshots_begin(shown);

		if (s) {
			const uint64_t number = s->position;

			if (number < last)
				fail("an older snapshot than before");
			last = number;
			if (standing)
				nap_ms(STAND_MS);
			check(s, number);
		}
		snapshots_end();
	}
	snapshots_leave();
	return NULL;
}

static uint64_t publish(uint64_t number, uint64_t *put_off)
{
	uint32_t copied, shared;

	if (snapshots_kept(shown) > SNAPSHOTS_KEPT_MOST || snapshots_chunks(shown) > CHUNKS_MOST)
		fail("more memory than readers may keep");
	if (!snapshots_has_room(shown)) {
		++*put_off;
		nap_ms(1);
		return number;
	}
	snapshots_publish(shown, make(number), &copied, &shared);
	if (number > 1 && copied + shared != NODES / CHUNK_NODES)
		fail("a chunk is neither copied nor shared");
	return number + 1;
}

int main(int argc, char **argv)
{
	const uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 3;
	uint64_t number = 1, put_off = 0, until;
	pthread_t threads[READERS];

	shown = snapshots_new();
	snapshots_enter();
	for (size_t i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader, i == 0 ? &stop : NULL) != 0)
			fail("no thread");
	until = clock_monotonic_ns() + seconds * NS_PER_S;
	while (clock_monotonic_ns() < until)
		number = publish(number, &put_off);
	nap_ms(200);
	for (int i = 0; i < 5; i++) {
		number = publish(number, &put_off);
		nap_ms(100);
	}
	atomic_store_explicit(&stop, 1, memory_order_relaxed);
	for (size_t i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	snapshots_leave();
	if (put_off == 0)
		fail("the reader that stays has delayed nobody");
	snapshots_free(shown);
	printf("ok snapshots: %llu published, %llu checked, %llu times put off\n",
	       (unsigned long long)(number - 1), (unsigned long long)checked,
	       (unsigned long long)put_off);
	return 0;
}
