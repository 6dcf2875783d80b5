/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep and wake, between threads and between two processes of which the sleeper
 * maps the bell read-only. */
#include "ipc/clock.h"
#include "ipc/segment.h"
#include "ipc/wake.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* What the two sides write, on lines of their own. */
struct words {
	alignas(64) _Atomic uint32_t parked;
	alignas(64) _Atomic uint32_t doorbell;
	alignas(64) _Atomic uint32_t news;
};

static void pause_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / (1000 * MS)),
		                  .tv_nsec = (long)(ns % (1000 * MS)) };

	nanosleep(&t, NULL);
}

static bool never(void *context)
{
	return false;
}

static bool has_news(void *context)
{
	return atomic_load(&((struct words *)context)->news) != 0;
}

Test(wake, costs_nobody_a_call_while_awake)
{
	struct words w = { 0 };

	cr_assert_not(wake_up(&w.doorbell, &w.parked));
	wake_announce(&w.parked);
	wake_retract(&w.parked);
	cr_assert_not(wake_up(&w.doorbell, &w.parked));
	cr_assert_eq(atomic_load(&w.doorbell), 0);
}

Test(wake, rings_once_for_each_announcement)
{
	struct words w = { 0 };

	for (int i = 0; i < 100; i++) {
		wake_announce(&w.parked);
		cr_assert(wake_up(&w.doorbell, &w.parked));
		cr_assert_not(wake_up(&w.doorbell, &w.parked));
		cr_assert_not(wake_up(&w.doorbell, &w.parked));
		wake_retract(&w.parked);
		cr_assert_not(wake_up(&w.doorbell, &w.parked));
	}
	wake_announce(&w.parked);
	wake_announce(&w.parked); /* twice is a new one */
	cr_assert(wake_up(&w.doorbell, &w.parked));
	wake_retract(&w.parked);
	wake_retract(&w.parked);
	cr_assert_eq(atomic_load(&w.parked) % 2, 0);
}

Test(wake, announcements_go_round_at_the_end_of_the_number)
{
	struct words w = { 0 };

	atomic_store(&w.parked, UINT32_MAX - 1);
	for (int i = 0; i < 4; i++) {
		wake_announce(&w.parked);
		cr_assert_eq(atomic_load(&w.parked) % 2, 1);
		cr_assert(wake_up(&w.doorbell, &w.parked));
		wake_retract(&w.parked);
		cr_assert_eq(atomic_load(&w.parked) % 2, 0);
	}
}

Test(wake, does_not_sleep_when_there_is_news)
{
	struct words w = { .news = 1 };
	uint64_t start = clock_monotonic_ns();

	cr_assert(wake_sleep(&w.parked, &w.doorbell, has_news, &w, 5000 * MS));
	cr_assert_lt(clock_monotonic_ns() - start, 1000 * MS);
	cr_assert_eq(atomic_load(&w.parked) % 2, 0, "it is awake again");
}

Test(wake, sleeps_no_longer_than_told)
{
	struct words w = { 0 };
	uint64_t start = clock_monotonic_ns();
	uint64_t took;

	cr_assert_not(wake_sleep(&w.parked, &w.doorbell, never, NULL, 20 * MS));
	took = clock_monotonic_ns() - start;
	cr_assert_geq(took, 20 * MS);
	cr_assert_lt(took, 1000 * MS);
	cr_assert_not(wake_sleep(&w.parked, &w.doorbell, never, NULL, 0));
	cr_assert_eq(wake_wait_doorbell(&w.doorbell, 0, 5 * MS), 0);
}

/* A bell rung between the announcement and the call. */
Test(wake, does_not_sleep_through_a_bell_that_was_rung)
{
	struct words w = { 0 };

	wake_announce(&w.parked);
	cr_assert(wake_up(&w.doorbell, &w.parked));
	cr_assert_eq(wake_wait_doorbell(&w.doorbell, 0, 5000 * MS), 1);
}

static void on_alarm(int signal_number)
{
}

/* Signals every 2 ms make it neither leave early nor stay longer. */
Test(wake, keeps_its_time_under_signals)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { .it_interval.tv_usec = 2000, .it_value.tv_usec = 2000 };
	struct itimerval off = { .it_value.tv_usec = 0 };
	struct words w = { 0 };
	uint64_t start, took;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	start = clock_monotonic_ns();
	cr_assert_not(wake_sleep(&w.parked, &w.doorbell, never, NULL, 50 * MS));
	took = clock_monotonic_ns() - start;
	cr_assert_eq(wake_wait_doorbell(&w.doorbell, 0, 20 * MS), 0);
	setitimer(ITIMER_REAL, &off, NULL);
	cr_assert_geq(took, 50 * MS);
	cr_assert_lt(took, 1000 * MS);
}

static void *waker_later(void *argument)
{
	struct words *w = argument;

	pause_ns(20 * MS);
	atomic_store(&w->news, 1);
	wake_up(&w->doorbell, &w->parked);
	return NULL;
}

static void *poker_later(void *argument)
{
	struct words *w = argument;

	pause_ns(20 * MS);
	atomic_store(&w->news, 1);
	wake_poke(&w->doorbell);
	return NULL;
}

Test(wake, a_thread_wakes_or_pokes_a_sleeper)
{
	void *(*const later[])(void *) = { waker_later, poker_later };

	for (size_t i = 0; i < 2; i++) {
		struct words w = { 0 };
		pthread_t thread;
		uint64_t start = clock_monotonic_ns();

		cr_assert_eq(pthread_create(&thread, NULL, later[i], &w), 0);
		cr_assert(wake_sleep(&w.parked, &w.doorbell, has_news, &w, 10000 * MS));
		cr_assert_lt(clock_monotonic_ns() - start, 5000 * MS);
		pthread_join(thread, NULL);
	}
}

/* Child: has the parent's segment read-only, sleeps on the bell in it, and says
 * in its own segment that it sleeps.  Exit status 0: woken each time. */
static int child_sleeps(const struct segment *theirs, const struct segment *ours, int rounds)
{
	struct words *own = ours->base;
	struct segment seen;
	const struct words *peer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (segment_open(&seen, dup(theirs->fd), sizeof(struct words), 1 << 20) < 0)
		return 2;
	peer = seen.base;
	for (int i = 0; i < rounds; i++) {
		if (!wake_sleep(&own->parked, &peer->doorbell, never, NULL, 5000 * MS))
			return 1;
	}
	return 0;
}

Test(wake, wakes_another_process_that_maps_the_bell_read_only)
{
	enum { ROUNDS = 50 };
	struct segment doorbell_side, sleep_side;
	struct words *doorbell, *parked;
	int status = 0;
	pid_t child;

	cr_assert_eq(segment_create(&doorbell_side, "test-bell", 4096), 0);
	cr_assert_eq(segment_create(&sleep_side, "test-sleeps", 4096), 0);
	doorbell = doorbell_side.base;
	parked = sleep_side.base;
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(child_sleeps(&doorbell_side, &sleep_side, ROUNDS));

	for (int rung = 0; rung < ROUNDS;) {
		if (atomic_load(&parked->parked) % 2 == 1)
			pause_ns(MS); /* give it time to be really asleep */
		if (wake_up(&doorbell->doorbell, &parked->parked))
			rung++;
		else if (waitpid(child, &status, WNOHANG) == child)
			cr_assert_fail("the sleeper went away with %d after %d", WEXITSTATUS(status), rung);
		else
			pause_ns(MS / 10);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	segment_close(&doorbell_side);
	segment_close(&sleep_side);
}
