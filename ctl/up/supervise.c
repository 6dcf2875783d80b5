/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/supervise.h"

#include "ctl/term/ctl.h"
#include "ipc/clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define DELAY_FIRST_MS 100
#define DELAY_MAX_MS 5000
#define LIVED_WELL_NS (UINT64_C(2000) * NS_PER_MS) /* then the next restart is at once again */
#define STOP_PATIENCE_MS 15000 /* the frontend waits up to 12 s for answers and the lease */
#define POLL_NS (50 * NS_PER_MS)

uint32_t supervise_delay_ms(uint32_t *delay_ms, uint64_t lived_ns)
{
	uint32_t wait = lived_ns >= LIVED_WELL_NS ? 0 : *delay_ms;

	if (wait == 0)
		*delay_ms = DELAY_FIRST_MS;
	else
		*delay_ms = wait * 2 > DELAY_MAX_MS ? DELAY_MAX_MS : wait * 2;
	return wait;
}

static void start(const struct supervisor *s, struct daemon *d)
{
	d->process.command = s->command;
	d->started_ns = clock_monotonic_ns();
	if (!process_start(&d->process, (const char *const *)d->argv))
		d->start_ns = clock_monotonic_ns() + supervise_delay_ms(&d->delay_ms, 0) * NS_PER_MS;
}

static const char *describe(int status, char *out, size_t out_bytes)
{
	if (WIFSIGNALED(status))
		snprintf(out, out_bytes, "died of signal %d (%s)", WTERMSIG(status),
		         strsignal(WTERMSIG(status)));
	else
		snprintf(out, out_bytes, "ended with exit status %d", WEXITSTATUS(status));
	return out;
}

/* -1: go on; else stop everything and exit with this. */
static int died(const struct supervisor *s, struct daemon *d, int status)
{
	char how[128];
	uint32_t wait;

	describe(status, how, sizeof(how));
	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) == EXIT_USAGE || WEXITSTATUS(status) == EXIT_CONFIG)) {
		fprintf(stderr, "%s: %s %s; starting it again would not help\n", s->command,
		        d->process.name, how);
		return WEXITSTATUS(status);
	}
	wait = supervise_delay_ms(&d->delay_ms, clock_monotonic_ns() - d->started_ns);
	d->start_ns = clock_monotonic_ns() + wait * NS_PER_MS;
	if (wait == 0)
		fprintf(stderr, "%s: %s %s; starting it again\n", s->command, d->process.name, how);
	else
		fprintf(stderr, "%s: %s %s; starting it again in %" PRIu32 " ms\n", s->command,
		        d->process.name, how, wait);
	return -1;
}

static int reap(const struct supervisor *s)
{
	int rc = -1;

	for (size_t i = 0; i < s->n; i++) {
		struct daemon *d = &s->daemons[i];
		bool ran = d->process.pid != 0;

		if (ran && !process_runs(&d->process)) {
			int verdict = died(s, d, d->process.status);

			rc = rc == -1 ? verdict : rc;
		}
	}
	return rc;
}

/* Time of the next restart or poll. */
static uint64_t next_ns(const struct supervisor *s, bool polls)
{
	uint64_t due = clock_monotonic_ns() + (polls ? POLL_NS : UINT64_C(60000) * NS_PER_MS);

	for (size_t i = 0; i < s->n; i++)
		if (s->daemons[i].process.pid == 0 && s->daemons[i].start_ns < due)
			due = s->daemons[i].start_ns;
	return due;
}

/* Runs until a signal (0) or until a daemon ends for good (its code). */
static int keep_running(struct supervisor *s, const sigset_t *signals)
{
	bool polls = s->poll != NULL;

	for (;;) {
		uint64_t now = clock_monotonic_ns(), due;
		struct timespec wait = { 0 };
		int got, rc;

		for (size_t i = 0; i < s->n; i++)
			if (s->daemons[i].process.pid == 0 && s->daemons[i].start_ns <= now)
				start(s, &s->daemons[i]);
		if (polls && s->poll(s->context))
			polls = false;
		due = next_ns(s, polls);
		now = clock_monotonic_ns();
		if (due > now) {
			wait.tv_sec = (time_t)((due - now) / NS_PER_S);
			wait.tv_nsec = (long)((due - now) % NS_PER_S);
		}
		got = sigtimedwait(signals, NULL, &wait);
		if (got == SIGTERM || got == SIGINT || got == SIGHUP)
			return EXIT_DONE;
		rc = reap(s);
		if (rc != -1)
			return rc;
	}
}

/* nohup, or a shell for a background job, ignores signals for us. Blocked, they would be waited for
 * like any other. */
static bool is_ignored(int number)
{
	struct sigaction act;

	return sigaction(number, NULL, &act) == 0 && act.sa_handler == SIG_IGN;
}

int supervise(struct supervisor *s)
{
	const struct timespec at_once = { 0 };
	sigset_t signals, before;
	bool clean = true;
	int rc;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	if (!is_ignored(SIGINT))
		sigaddset(&signals, SIGINT);
	if (!is_ignored(SIGHUP))
		sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	rc = keep_running(s, &signals);
	for (size_t i = s->n; i > 0; i--)
		clean = process_stop(&s->daemons[i - 1].process, STOP_PATIENCE_MS) && clean;
	/* A second signal would end us before the caller has cleaned up. */
	while (sigtimedwait(&signals, NULL, &at_once) > 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc == EXIT_DONE && !clean ? EXIT_NO : rc;
}
