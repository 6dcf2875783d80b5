/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define LOG_SHOWN 2000

static _Noreturn void become(const char *log, char *const argv[], pid_t parent)
{
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || out < 0 || in < 0)
		_exit(1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execv(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

bool proc_start(struct proc *p, const char *name, const char *log, char *const argv[])
{
	pid_t parent = getpid();

	p->name = name;
	snprintf(p->log, sizeof(p->log), "%s", log);
	fflush(NULL);
	p->pid = fork();
	if (p->pid == 0)
		become(log, argv, parent);
	if (p->pid > 0)
		return true;
	p->pid = 0;
	fprintf(stderr, "demo: can't start %s: %s\n", name, strerror(errno));
	return false;
}

bool proc_alive(struct proc *p)
{
	if (p->pid == 0)
		return false;
	if (waitpid(p->pid, &p->status, WNOHANG) == 0)
		return true;
	p->pid = 0;
	return false;
}

int proc_stop(struct proc *p)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	int waited_ms = 0;

	if (proc_alive(p)) {
		kill(p->pid, SIGTERM);
		for (; proc_alive(p) && waited_ms < PATIENCE_MS; waited_ms += 5)
			nanosleep(&pause, NULL);
	}
	if (p->pid != 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, &p->status, 0);
		p->pid = 0;
	}
	return WIFEXITED(p->status) ? WEXITSTATUS(p->status) : 128 + WTERMSIG(p->status);
}

void proc_show_log(const struct proc *p)
{
	FILE *f = fopen(p->log, "r");
	char text[LOG_SHOWN + 1];
	size_t n;

	if (f == NULL)
		return;
	if (fseek(f, -LOG_SHOWN, SEEK_END) < 0)
		rewind(f);
	n = fread(text, 1, LOG_SHOWN, f);
	text[n] = '\0';
	fclose(f);
	fprintf(stderr, "demo: the end of %s's log:\n%s\n", p->name, text);
}
