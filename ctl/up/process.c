/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/process.h"

#include "ctl/term/ctl.h"
#include "ipc/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_SHOWN 3000
#define STEP_MS 5

/* Makes `to` what `from` is; from < 0 is the error of an open(). */
static void redirect(int from, int to)
{
	if (from < 0 || dup2(from, to) < 0)
		_exit(EXIT_USAGE);
}

static _Noreturn void become(const char *const argv[])
{
	execv(argv[0], (char *const *)(uintptr_t)argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(EXIT_USAGE);
}

static _Noreturn void child(const struct process *p, const char *const argv[], pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_NO); /* the parent died before that took effect */
	if (p->log[0] != '\0') {
		redirect(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
		redirect(open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), STDOUT_FILENO);
		redirect(STDOUT_FILENO, STDERR_FILENO);
	}
	become(argv);
}

bool process_start(struct process *p, const char *const argv[])
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(p, argv, parent);
	if (pid < 0)
		fprintf(stderr, "%s: can't start %s: %s\n", p->command, p->name, strerror(errno));
	p->pid = pid > 0 ? pid : 0;
	return pid > 0;
}

bool process_runs(struct process *p)
{
	if (p->pid == 0)
		return false;
	if (waitpid(p->pid, &p->status, WNOHANG) == 0)
		return true;
	p->pid = 0;
	return false;
}

bool process_stop(struct process *p, uint32_t patience_ms)
{
	const struct timespec pause = { .tv_nsec = STEP_MS * 1000000 };
	pid_t group = p->pid;
	bool killed;

	if (group == 0)
		return true;
	kill(group, SIGTERM);
	for (uint32_t ms = 0; process_runs(p) && ms < patience_ms; ms += STEP_MS)
		nanosleep(&pause, NULL);
	killed = p->pid != 0;
	if (killed) {
		fprintf(stderr, "%s: %s doesn't stop; killing it\n", p->command, p->name);
		kill(group, SIGKILL);
		waitpid(group, &p->status, 0);
		p->pid = 0;
	}
	kill(-group, SIGKILL);
	return !killed;
}

int process_exit_code(const struct process *p)
{
	return WIFEXITED(p->status) ? WEXITSTATUS(p->status) : 128 + WTERMSIG(p->status);
}

void process_show_log(const struct process *p)
{
	FILE *f = fopen(p->log, "re");
	char text[LOG_SHOWN + 1];
	size_t n;

	if (f == NULL)
		return;
	if (fseek(f, -LOG_SHOWN, SEEK_END) < 0)
		rewind(f);
	n = fread(text, 1, LOG_SHOWN, f);
	text[n] = '\0';
	fclose(f);
	fprintf(stderr, "%s: the end of %s's log:\n%s\n", p->command, p->name, text);
}

bool process_output(const char *const argv[], uint32_t seconds, bool quiet, size_t most,
                    struct bytes *out)
{
	return process_output_with(argv, NULL, NULL, seconds * 1000, quiet, most, out) == PROCESS_DONE;
}

/* Reads until the end or `most` bytes; false: neither came by then. */
static bool drain(int fd, uint64_t until_ns, size_t most, struct bytes *out)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };
	ssize_t got = 1;

	while (got != 0 && out->n < most) {
		const uint64_t now = clock_monotonic_ns(), left = now < until_ns ? until_ns - now : 0;
		const struct timespec patience = { .tv_sec = (time_t)(left / NS_PER_S),
			                               .tv_nsec = (long)(left % NS_PER_S) };

		if (left == 0)
			return false;
		if (ppoll(&end, 1, &patience, NULL) <= 0)
			continue;
		got = read(fd, bytes_room(out, 4096), 4096);
		if (got > 0)
			out->n += (size_t)got;
		else if (got < 0 && errno != EINTR)
			break;
	}
	return true;
}

/* False: it still ran then, and was killed. */
static bool reap(pid_t pid, uint64_t until_ns, int *status)
{
	const struct timespec pause = { .tv_nsec = STEP_MS * 1000000 };
	pid_t ended;

	while ((ended = waitpid(pid, status, WNOHANG)) == 0 && clock_monotonic_ns() < until_ns)
		nanosleep(&pause, NULL);
	if (ended != 0)
		return true;
	kill(pid, SIGKILL);
	waitpid(pid, status, 0);
	return false;
}

enum process_end process_output_with(const char *const argv[], const char *const names[],
                                     const char *const values[], uint32_t ms, bool quiet,
                                     size_t most, struct bytes *out)
{
	const uint64_t until_ns = clock_monotonic_ns() + ms * NS_PER_MS;
	int fds[2], status = -1;
	bool all = false, ended;
	pid_t pid;

	bytes_add(out, "", 1);
	out->n--;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return PROCESS_FAILED;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		redirect(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
		redirect(fds[1], STDOUT_FILENO);
		if (quiet)
			redirect(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		for (size_t i = 0; names != NULL && names[i] != NULL; i++)
			setenv(names[i], values[i], 1);
		become(argv);
	}
	close(fds[1]);
	if (pid > 0)
		all = drain(fds[0], until_ns, most, out);
	close(fds[0]);
	bytes_add(out, "", 1);
	out->n--;
	if (pid < 0)
		return PROCESS_FAILED;
	ended = reap(pid, until_ns, &status);
	if (!all || !ended)
		return PROCESS_LATE;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? PROCESS_DONE : PROCESS_FAILED;
}

char *process_find(const char *program)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *found;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		found = ctl_print("%.*s/%s", (int)(slash - self), self, program);
		if (access(found, X_OK) == 0)
			return found;
		free(found);
	}
	return process_find_in_path(program);
}

char *process_find_in_path(const char *program)
{
	const char *path = getenv("PATH");
	char *found;

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
