/* SPDX-License-Identifier: Apache-2.0 */
/* How long does a record take from one CPU to another, and how many pass in a second? The two sides
 * are threads here, which makes no difference to a ring. */
#include "bench/bench.h"
#include "ipc/ring.h"
#include "ipc/wake.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define RING_BYTES (1u << 20)
#define BODY_BYTES 32u /* a record of 64 bytes */

struct lane {
	alignas(CACHE_LINE) _Atomic uint64_t tail;
	alignas(CACHE_LINE) _Atomic uint64_t head;
	unsigned char *data;
};

struct race {
	struct lane there, back;
	uint64_t records;
	uint32_t batch; /* a power of two */
	bool echo;
};

static bool lane_init(struct lane *l)
{
	atomic_store_explicit(&l->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&l->head, 0, memory_order_relaxed);
	l->data = aligned_alloc(4096, RING_BYTES);
	if (l->data)
		memset(l->data, 0, RING_BYTES);
	return l->data != NULL;
}

/* Waiting for the other side: it may not be running at all on a busy machine. */
static void wait_a_little(uint32_t *waits)
{
	if (++*waits % 4096 == 0)
		sched_yield();
}

static void send_one(struct ring_writer *w, uint64_t value)
{
	struct record *r;
	uint32_t waits = 0;

	while ((r = ring_reserve(w, EVENT_TICK, BODY_BYTES, value)) == NULL) {
		ring_publish(w);
		wait_a_little(&waits);
	}
	memset(r + 1, 0, BODY_BYTES);
}

static void *consumer(void *argument)
{
	static _Alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct race *race = argument;
	struct record *record = (struct record *)buffer;
	struct ring_reader in;
	struct ring_writer out;
	uint64_t seen = 0;
	uint32_t waits = 0;

	bench_pin(1);
	ring_reader_init(&in, race->there.data, RING_BYTES, &race->there.tail, &race->there.head, 1);
	ring_writer_init(&out, race->back.data, RING_BYTES, &race->back.tail, &race->back.head, 1);
	while (seen < race->records) {
		if (ring_read(&in, record) != 1) {
			ring_release(&in);
			wait_a_little(&waits);
			continue;
		}
		seen++;
		if (race->echo) {
			ring_release(&in);
			send_one(&out, record->time_ns);
			ring_publish(&out);
		} else if ((seen & (race->batch - 1)) == 0) {
			ring_release(&in);
		}
	}
	ring_release(&in);
	return NULL;
}

static bool race_start(struct race *race, pthread_t *thread)
{
	if (!lane_init(&race->there) || !lane_init(&race->back) ||
	    pthread_create(thread, NULL, consumer, race) != 0) {
		fprintf(stderr, "muster-bench: no memory or thread for the ring\n");
		return false;
	}
	return true;
}

static void race_end(struct race *race, pthread_t thread)
{
	pthread_join(thread, NULL);
	free(race->there.data);
	free(race->back.data);
}

/* Half a round trip: both timestamps are of one clock. */
static bool oneway(struct bench_report *report, size_t n)
{
	static _Alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct race race = { .records = n, .batch = 1, .echo = true };
	double *samples = malloc(n * sizeof(*samples));
	struct ring_writer w;
	struct ring_reader r;
	pthread_t thread;
	uint32_t waits = 0;

	if (samples == NULL || !race_start(&race, &thread)) {
		free(samples);
		return false;
	}
	ring_writer_init(&w, race.there.data, RING_BYTES, &race.there.tail, &race.there.head, 1);
	ring_reader_init(&r, race.back.data, RING_BYTES, &race.back.tail, &race.back.head, 1);
	for (size_t i = 0; i < n; i++) {
		uint64_t start = bench_now_ns();

		send_one(&w, i + 1);
		ring_publish(&w);
		while (ring_read(&r, (struct record *)buffer) != 1)
			wait_a_little(&waits);
		ring_release(&r);
		samples[i] = (double)(bench_now_ns() - start) / 2;
	}
	race_end(&race, thread);
	bench_add(report, "ring-oneway", "ns", samples, n, false, 150);
	free(samples);
	return true;
}

struct sleeper {
	struct race race;
	struct ring_reader in;
	alignas(CACHE_LINE) _Atomic uint32_t parked;   /* [sleeper] */
	alignas(CACHE_LINE) _Atomic uint32_t doorbell; /* [waker] */
	alignas(CACHE_LINE) _Atomic uint64_t awake_ns; /* [sleeper] when the last record was there */
};

static bool has_news(void *context)
{
	const struct sleeper *s = context;

	return atomic_load_explicit(s->in.tail, memory_order_relaxed) != s->in.head_private;
}

static void *sleep_for_records(void *context)
{
	static _Alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct sleeper *s = context;
	struct lane *lane = &s->race.there;

	bench_pin(1);
	ring_reader_init(&s->in, lane->data, RING_BYTES, &lane->tail, &lane->head, 1);
	for (uint64_t seen = 0; seen < s->race.records;) {
		if (ring_read(&s->in, (struct record *)buffer) != 1) {
			wake_sleep(&s->parked, &s->doorbell, has_news, s, 1000000000);
			continue;
		}
		atomic_store_explicit(&s->awake_ns, bench_now_ns(), memory_order_release);
		ring_release(&s->in);
		seen++;
	}
	return NULL;
}

/* From publishing to a reader that was parked: the doorbell, the kernel, and the exit of the other
 * CPU from its idle state. */
static bool wake(struct bench_report *report)
{
	enum { N = 500, GAP_US = 1000 };
	static struct sleeper s;
	double samples[N];
	struct ring_writer w;
	pthread_t thread;

	memset(&s, 0, sizeof(s));
	s.race.records = N;
	if (!lane_init(&s.race.there) || pthread_create(&thread, NULL, sleep_for_records, &s) != 0) {
		fprintf(stderr, "muster-bench: no memory or thread for the ring\n");
		return false;
	}
	ring_writer_init(&w, s.race.there.data, RING_BYTES, &s.race.there.tail, &s.race.there.head, 1);
	for (size_t i = 0; i < N; i++) {
		uint64_t start, end;

		usleep(GAP_US);
		start = bench_now_ns();
		send_one(&w, i + 1);
		ring_publish(&w);
		wake_up(&s.doorbell, &s.parked);
		while ((end = atomic_load_explicit(&s.awake_ns, memory_order_acquire)) < start)
			;
		samples[i] = (double)(end - start) / 1000;
	}
	pthread_join(thread, NULL);
	free(s.race.there.data);
	bench_add(report, "ring-wake", "us", samples, N, false, 60);
	return true;
}

static bool rate(struct bench_report *report, uint32_t batch, uint64_t records, double goal)
{
	enum { RUNS = 9 };
	double samples[RUNS];
	char name[32];

	for (size_t run = 0; run < RUNS; run++) {
		struct race race = { .records = records, .batch = batch };
		struct ring_writer w;
		pthread_t thread;
		uint64_t start;

		if (!race_start(&race, &thread))
			return false;
		ring_writer_init(&w, race.there.data, RING_BYTES, &race.there.tail, &race.there.head, 1);
		start = bench_now_ns();
		for (uint64_t i = 0; i < race.records; i++) {
			send_one(&w, i + 1);
			if (((i + 1) & (batch - 1)) == 0)
				ring_publish(&w);
		}
		ring_publish(&w);
		race_end(&race, thread);
		samples[run] = (double)race.records * 1e9 / (double)(bench_now_ns() - start);
	}
	snprintf(name, sizeof(name), "ring-batch-%u", batch);
	bench_add(report, name, "per_s", samples, RUNS, true, goal);
	return true;
}

bool bench_ring(struct bench_report *report, const struct bench_options *options)
{
	const uint64_t records = options->quick ? 100000 : 2000000;

	if (!bench_pin(0)) {
		fprintf(stderr, "muster-bench: cannot run on CPU 0\n");
		return false;
	}
	return oneway(report, options->quick ? 20000 : 200000) && wake(report) &&
	       rate(report, 1, records, 40e6) && rate(report, 32, records, 0);
}
