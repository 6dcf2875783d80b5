/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/supervise.h"

#include "ctl/term/ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)
#define DELAY_FIRST_MS 100
#define DELAY_MAX_MS 5000
#define LIVED_WELL_NS (UINT64_C(2000) * NS_PER_MS) /* after that its death is a first one again */
#define STOP_PATIENCE_NS                                                                           \
	(UINT64_C(15000) *                                                                             \
	 NS_PER_MS) /* the frontend takes up to 12 s for its last answers and the lease */
#define POLL_NS (50 * NS_PER_MS)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

char *supervise_find(const char *program)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *path = getenv("PATH");
	char *slash, *found;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		found = ctl_print("%.*s/%s", (int)(slash - self), self, program);
		if (access(found, X_OK) == 0)
			return found;
		free(found);
	}
	while (path != NULL && *path != '\0') {
		size_t bytes = strcspn(path, ":");

		found = ctl_print("%.*s/%s", (int)bytes, path, program);
		if (bytes > 0 && access(found, X_OK) == 0)
			return found;
		free(found);
		path += bytes + (path[bytes] == ':');
	}
	return NULL;
}

uint32_t supervise_delay_ms(uint32_t *delay_ms, uint64_t lived_ns)
{
	uint32_t wait = lived_ns >= LIVED_WELL_NS ? 0 : *delay_ms;

	if (wait == 0)
		*delay_ms = DELAY_FIRST_MS;
	else
		*delay_ms = wait * 2 > DELAY_MAX_MS ? DELAY_MAX_MS : wait * 2;
	return wait;
}

/* In the child: never returns. */
static _Noreturn void become(const struct daemon *d, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_NO); /* the parent died before that took hold */
	execv(d->argv[0], d->argv);
	fprintf(stderr, "%s: %s\n", d->argv[0], strerror(errno));
	_exit(EXIT_USAGE);
}

static void start(const struct supervisor *s, struct daemon *d)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	d->started_ns = now_ns();
	pid = fork();
	if (pid == 0)
		become(d, parent);
	if (pid < 0) {
		fprintf(stderr, "%s: can't start %s: %s\n", s->command, d->name, strerror(errno));
		d->start_ns = now_ns() + supervise_delay_ms(&d->delay_ms, 0) * NS_PER_MS;
		return;
	}
	d->pid = pid;
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

	d->pid = 0;
	describe(status, how, sizeof(how));
	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) == EXIT_USAGE || WEXITSTATUS(status) == EXIT_CONFIG)) {
		fprintf(stderr, "%s: %s %s; starting it again would not help\n", s->command, d->name, how);
		return WEXITSTATUS(status);
	}
	wait = supervise_delay_ms(&d->delay_ms, now_ns() - d->started_ns);
	d->start_ns = now_ns() + wait * NS_PER_MS;
	if (wait == 0)
		fprintf(stderr, "%s: %s %s; starting it again\n", s->command, d->name, how);
	else
		fprintf(stderr, "%s: %s %s; starting it again in %" PRIu32 " ms\n", s->command, d->name,
		        how, wait);
	return -1;
}

static struct daemon *find(const struct supervisor *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->daemons[i].pid == pid)
			return &s->daemons[i];
	return NULL;
}

static int reap(const struct supervisor *s)
{
	int status, rc = -1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct daemon *d = find(s, pid);
		int verdict = d != NULL ? died(s, d, status) : -1;

		if (rc == -1)
			rc = verdict;
	}
	return rc;
}

/* False: it had to be killed. */
static bool stop(const struct supervisor *s, struct daemon *d)
{
	uint64_t end = now_ns() + STOP_PATIENCE_NS;
	const struct timespec pause = { .tv_nsec = 5 * (long)NS_PER_MS };

	if (d->pid == 0)
		return true;
	kill(d->pid, SIGTERM);
	while (now_ns() < end) {
		if (waitpid(d->pid, NULL, WNOHANG) != 0) {
			d->pid = 0;
			return true;
		}
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "%s: %s doesn't stop; killing it\n", s->command, d->name);
	kill(d->pid, SIGKILL);
	waitpid(d->pid, NULL, 0);
	d->pid = 0;
	return false;
}

/* When to look again: a restart or a poll is due. */
static uint64_t next_ns(const struct supervisor *s, bool polls)
{
	uint64_t due = now_ns() + (polls ? POLL_NS : UINT64_C(60000) * NS_PER_MS);

	for (size_t i = 0; i < s->n; i++)
		if (s->daemons[i].pid == 0 && s->daemons[i].start_ns < due)
			due = s->daemons[i].start_ns;
	return due;
}

/* Until a signal asks to stop (0) or a daemon ends for good (its code). */
static int keep_running(struct supervisor *s, const sigset_t *signals)
{
	bool polls = s->poll != NULL;

	for (;;) {
		uint64_t now = now_ns(), due;
		struct timespec wait = { 0 };
		int got, rc;

		for (size_t i = 0; i < s->n; i++)
			if (s->daemons[i].pid == 0 && s->daemons[i].start_ns <= now)
				start(s, &s->daemons[i]);
		if (polls && s->poll(s->context))
			polls = false;
		due = next_ns(s, polls);
		now = now_ns();
		if (due > now) {
			wait.tv_sec = (time_t)((due - now) / UINT64_C(1000000000));
			wait.tv_nsec = (long)((due - now) % UINT64_C(1000000000));
		}
		got = sigtimedwait(signals, NULL, &wait);
		if (got == SIGTERM || got == SIGINT || got == SIGHUP)
			return EXIT_DONE;
		rc = reap(s);
		if (rc != -1)
			return rc;
	}
}

/* What nohup, or a shell for what runs in the background, has us ignore: blocked, it would be
 * waited for as any other. */
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
		clean = stop(s, &s->daemons[i - 1]) && clean;
	/* A second one that came meanwhile would kill us before the rest is cleaned up. */
	while (sigtimedwait(&signals, NULL, &at_once) > 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc == EXIT_DONE && !clean ? EXIT_NO : rc;
}
