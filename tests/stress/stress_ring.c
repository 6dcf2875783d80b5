/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads, then two processes, pass records through a small ring as fast as
 * they can.  Each record has to arrive once, whole and in order; ThreadSanitizer
 * watches the threads for a body that is read before it is written or overwritten
 * before it is copied.
 *
 *   stress_ring [RECORDS] */
#include "ipc/ring.h"
#include "ipc/segment.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES 4096u
#define BODY_MAX 512u
#define EPOCH UINT64_C(3)
#define PATIENCE_S 20

/* One segment for both ends: the threads share it, the processes map it. */
struct lane {
	alignas(CACHE_LINE) _Atomic uint64_t tail;
	alignas(CACHE_LINE) _Atomic uint64_t head;
	alignas(CACHE_LINE) unsigned char data[RING_BYTES];
};

struct job {
	struct lane *lane;
	uint64_t records;
	const char *failure; /* NULL: none */
};

/* The same numbers on both sides, without a word between them. */
static uint64_t mix(uint64_t n)
{
	n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ^ (n >> 31);
}

static uint32_t body_bytes_of(uint64_t sequence)
{
	return (uint32_t)(mix(sequence) % (BODY_MAX / 8 + 1)) * 8;
}

/* Both ends give up rather than hang. */
struct patience {
	uint64_t at; /* the record at which nothing goes on */
	time_t since;
};

static bool too_late(struct patience *p, uint64_t at)
{
	if (p->at != at)
		*p = (struct patience){ .at = at, .since = time(NULL) };
	return time(NULL) - p->since > PATIENCE_S;
}

static void *produce(void *argument)
{
	struct job *job = argument;
	struct ring_writer w;
	struct patience patience = { 0 };

	ring_writer_init(&w, job->lane->data, RING_BYTES, &job->lane->tail, &job->lane->head, EPOCH);
	for (uint64_t i = 1; i <= job->records;) {
		uint32_t bytes = body_bytes_of(i);
		struct record *record = ring_reserve(&w, CMD_BIND, bytes, mix(~i));
		uint64_t *body = (uint64_t *)(void *)(record + 1);

		if (record == NULL) {
			ring_publish(&w);
			if (w.broken || too_late(&patience, i)) {
				job->failure =
					w.broken ? "the writer calls its reader broken" : "the writer got no room";
				return NULL;
			}
			sched_yield();
			continue;
		}
		for (uint32_t word = 0; word < bytes / 8; word++)
			body[word] = mix(i + word);
		if (mix(i) % 7 == 0)
			ring_publish(&w);
		i++;
	}
	ring_publish(&w);
	return NULL;
}

static const char *check(const struct record *record, uint64_t sequence)
{
	const uint64_t *body = (const uint64_t *)(const void *)(record + 1);
	uint32_t bytes = body_bytes_of(sequence);

	if (record->sequence != sequence)
		return "a record is lost or out of order";
	if (record->bytes != sizeof(*record) + bytes || record->time_ns != mix(~sequence))
		return "a header is torn";
	for (uint32_t word = 0; word < bytes / 8; word++) {
		if (body[word] != mix(sequence + word))
			return "a body is torn";
	}
	return NULL;
}

static void *consume(void *argument)
{
	static alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct record *record = (struct record *)(void *)buffer;
	struct job *job = argument;
	struct ring_reader r;
	struct patience patience = { 0 };

	ring_reader_init(&r, job->lane->data, RING_BYTES, &job->lane->tail, &job->lane->head, EPOCH);
	for (uint64_t i = 1; i <= job->records && job->failure == NULL;) {
		int rc = ring_read(&r, record);

		if (rc < 0) {
			job->failure = "the reader calls a record nonsense";
		} else if (rc == 0) {
			ring_release(&r);
			if (too_late(&patience, i))
				job->failure = "no record came";
			sched_yield();
		} else {
			job->failure = check(record, i);
			if (mix(i) % 5 == 0)
				ring_release(&r);
			i++;
		}
	}
	ring_release(&r);
	return NULL;
}

static const char *run_threads(struct lane *lane, uint64_t records)
{
	struct job in = { .lane = lane, .records = records }, out = in;
	pthread_t producer;

	if (pthread_create(&producer, NULL, produce, &in) != 0)
		return "no thread";
	consume(&out);
	pthread_join(producer, NULL);
	return out.failure ? out.failure : in.failure;
}

static const char *run_processes(struct lane *lane, uint64_t records)
{
	struct job in = { .lane = lane, .records = records }, out = in;
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		return "no process";
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		produce(&in);
		_exit(in.failure != NULL);
	}
	consume(&out);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return out.failure ? out.failure : "the writing process failed";
	return out.failure;
}

int main(int argc, char **argv)
{
	uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 0) : 500000;
	const char *failure;
	struct segment s;

	if (segment_create(&s, "stress-ring", sizeof(struct lane)) < 0) {
		fprintf(stderr, "stress_ring: no memory\n");
		return 2;
	}
	failure = run_threads(s.base, records);
	memset(s.base, 0, sizeof(struct lane));
	if (failure == NULL)
		failure = run_processes(s.base, records);
	segment_close(&s);
	if (failure) {
		printf("stress_ring: FAILED: %s\n", failure);
		return 1;
	}
	printf("ok ring: %llu records twice, whole and in order\n", (unsigned long long)records);
	return 0;
}
