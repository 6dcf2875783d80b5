/* SPDX-License-Identifier: Apache-2.0 */
/* Is a wake ever lost?  Three questions, each to two threads and to two processes:
 *
 *   race    Announcing and publishing at the same time, many times: either the
 *           sleeper sees the news or the waker sees the flag.  No one sleeps, so
 *           that the rounds are short and start close together.
 *   sleep   Publishing to one who really sleeps, with a bound so long that a lost
 *           wake shows as a round of two seconds.
 *   hand    Whoever sees the bell rung sees what was written before, with nothing
 *           but the bell between them.
 *
 *   stress_wake [ROUNDS-OF-RACE [ROUNDS-OF-SLEEP [ROUNDS-OF-HAND]]] */
#include "ipc/clock.h"
#include "ipc/segment.h"
#include "ipc/wake.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOST_NS UINT64_C(2000000000)
#define PATIENCE_S 30

/* Each word has one writer and a line of its own. */
struct words {
	alignas(64) _Atomic uint32_t parked;   /* [sleeper] */
	alignas(64) _Atomic uint32_t doorbell; /* [waker] */
	alignas(64) _Atomic uint32_t news;     /* [waker] the round it published */
	alignas(64) _Atomic uint32_t begin;    /* [sleeper] the round both run now */
	alignas(64) _Atomic uint32_t rang;     /* [waker] 2 x the round done, + 1: rang */
	alignas(64) _Atomic uint32_t done;     /* [sleeper] last round of sleep or hand that is over */
	alignas(64) uint32_t told;             /* [waker] the round of hand; only the bell guards it */
};

struct job {
	struct words *w;
	uint32_t race_rounds;
	uint32_t sleep_rounds;
	uint32_t hand_rounds;
};

static const char *failure; /* of the sleeper, which judges */

/* Spin until *word is another than `old`; false when the other side is gone. */
static bool await(const _Atomic uint32_t *word, uint32_t old, uint32_t *value)
{
	time_t start = 0;

	for (uint32_t spins = 1;; spins++) {
		*value = atomic_load_explicit(word, memory_order_acquire);
		if (*value != old)
			return true;
		if (spins % 1024 != 0)
			continue;
		sched_yield();
		if (start == 0)
			start = time(NULL);
		if (time(NULL) - start > PATIENCE_S)
			return false;
	}
}

/* Another number of steps each round: the windows have to meet.  The range covers the
 * time that a line takes from one CPU to the other, on CPUs with the shortest steps. */
static void drift(uint32_t round, uint32_t factor)
{
	for (volatile uint32_t i = 0; i < (round * factor) % 509; i++)
		;
}

static bool waker_race(struct words *w, uint32_t round)
{
	uint32_t begun;
	bool rang;

	if (!await(&w->begin, round - 1, &begun))
		return false;
	drift(round, 7);
	atomic_store_explicit(&w->news, round, memory_order_release);
	rang = wake_up(&w->doorbell, &w->parked);
	atomic_store_explicit(&w->rang, 2 * round + (rang ? 1 : 0), memory_order_release);
	return true;
}

/* Wait until the sleeper is through with this round. */
static bool await_done(struct words *w, uint32_t round)
{
	uint32_t seen = 0;

	while (seen < round) {
		if (!await(&w->done, seen, &seen))
			return false;
	}
	return true;
}

static bool waker_sleep(struct words *w, uint32_t round)
{
	/* Sometimes at once, sometimes when the other is fast asleep. */
	if (round % 4 == 0)
		usleep(80);
	else
		drift(round, 1009);
	atomic_store_explicit(&w->news, round, memory_order_release);
	wake_up(&w->doorbell, &w->parked);
	return await_done(w, round);
}

static bool waker_hand(struct words *w, uint32_t round)
{
	time_t start = time(NULL);

	w->told = round;
	while (!wake_up(&w->doorbell, &w->parked)) {
		sched_yield();
		if (time(NULL) - start > PATIENCE_S)
			return false;
	}
	return await_done(w, round);
}

static void *waker(void *argument)
{
	const struct job *job = argument;
	uint32_t round = 0;

	for (uint32_t i = 0; i < job->race_rounds; i++) {
		if (!waker_race(job->w, ++round))
			return NULL;
	}
	for (uint32_t i = 0; i < job->sleep_rounds; i++) {
		if (!waker_sleep(job->w, ++round))
			return NULL;
	}
	for (uint32_t i = 0; i < job->hand_rounds; i++) {
		if (!waker_hand(job->w, ++round))
			return NULL;
	}
	return NULL;
}

/* One round: what the waker said last is *rang, then and after. */
static void sleeper_race(struct words *w, uint32_t round, uint32_t *rang)
{
	uint32_t news;

	atomic_store_explicit(&w->begin, round, memory_order_release);
	drift(round, 11);
	wake_announce(&w->parked);
	news = atomic_load_explicit(&w->news, memory_order_acquire);
	if (!await(&w->rang, *rang, rang))
		failure = "the waker is gone";
	else if (news < round && *rang % 2 == 0)
		failure = "a wake was lost: no news seen, no flag seen";
	wake_retract(&w->parked);
}

struct wait {
	struct words *w;
	uint32_t round;
};

static bool has_news(void *context)
{
	const struct wait *wait = context;

	return atomic_load_explicit(&wait->w->news, memory_order_acquire) >= wait->round;
}

static void sleeper_sleep(struct words *w, uint32_t round)
{
	struct wait wait = { .w = w, .round = round };
	uint64_t start = clock_monotonic_ns();

	while (!has_news(&wait)) {
		if (!wake_sleep(&w->parked, &w->doorbell, has_news, &wait, LOST_NS) ||
		    clock_monotonic_ns() - start > LOST_NS) {
			failure = "a sleeper was not woken within 2 s";
			return;
		}
	}
	atomic_store_explicit(&w->done, round, memory_order_release);
}

static void sleeper_hand(struct words *w, uint32_t round)
{
	uint32_t before = atomic_load_explicit(&w->doorbell, memory_order_relaxed);
	uint64_t start = clock_monotonic_ns();
	uint32_t doorbell;

	wake_announce(&w->parked);
	/* The futex call of the round before may come only now: ask again. */
	do
		doorbell = wake_wait_doorbell(&w->doorbell, before, LOST_NS);
	while (doorbell == before && clock_monotonic_ns() - start < LOST_NS);
	if (doorbell == before)
		failure = "a sleeper did not hear the bell within 2 s";
	else if (w->told != round)
		failure = "the bell was heard before the news";
	wake_retract(&w->parked);
	atomic_store_explicit(&w->done, round, memory_order_release);
}

static void sleeper(const struct job *job)
{
	uint32_t round = 0;
	uint32_t rang = 0;

	for (uint32_t i = 0; i < job->race_rounds && !failure; i++)
		sleeper_race(job->w, ++round, &rang);
	for (uint32_t i = 0; i < job->sleep_rounds && !failure; i++)
		sleeper_sleep(job->w, ++round);
	for (uint32_t i = 0; i < job->hand_rounds && !failure; i++)
		sleeper_hand(job->w, ++round);
}

static bool run_threads(struct job *job)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, waker, job) != 0)
		return false;
	sleeper(job);
	if (failure)
		return false; /* the other one may wait for ever: main ends it */
	pthread_join(thread, NULL);
	return true;
}

static bool run_processes(struct job *job)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		return false;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		waker(job);
		_exit(0);
	}
	sleeper(job);
	if (failure)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return failure == NULL;
}

int main(int argc, char **argv)
{
	struct job job = { .race_rounds = 100000, .sleep_rounds = 2000, .hand_rounds = 2000 };
	struct segment s;
	bool ok;

	if (argc > 1)
		job.race_rounds = (uint32_t)strtoul(argv[1], NULL, 0);
	if (argc > 2)
		job.sleep_rounds = (uint32_t)strtoul(argv[2], NULL, 0);
	if (argc > 3)
		job.hand_rounds = (uint32_t)strtoul(argv[3], NULL, 0);
	if (segment_create(&s, "stress-wake", sizeof(struct words)) < 0) {
		fprintf(stderr, "stress_wake: no memory\n");
		return 2;
	}
	job.w = s.base;
	ok = run_threads(&job);
	if (ok) {
		memset(s.base, 0, sizeof(struct words));
		ok = run_processes(&job);
	}
	if (!ok) {
		printf("stress_wake: FAILED: %s\n", failure ? failure : "no thread or process");
		fflush(stdout);
		_exit(1);
	}
	segment_close(&s);
	printf("ok wake: %u races, %u sleeps, %u handed over, twice, none lost\n", job.race_rounds,
	       job.sleep_rounds, job.hand_rounds);
	return 0;
}
