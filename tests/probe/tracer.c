/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/probe/tracer.h"

#include "ipc/clock.h"
#include "tests/probe/operand.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRAP 0xccu
#define NOP 0x90u

struct tracer {
	pid_t pid;
	const struct notes *notes;
	const struct rule *rule;
	FILE *out;
	uint64_t bias; /* where it was loaded, less where it was linked */
	int memory;    /* opened at its exec: later it may bar us */
	bool planted;
	bool acted;
	uint64_t hits;
};

static bool wanted(const struct tracer *t, const struct note *n)
{
	return t->rule->act == RULE_TRACE || strcmp(n->name, t->rule->probe) == 0;
}

static int memory_of(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* That file can be written where the process itself can't. */
static bool byte_swap(int memory, uint64_t address, unsigned char from, unsigned char to)
{
	unsigned char now = 0;

	return pread(memory, &now, 1, (off_t)address) == 1 && now == from &&
	       pwrite(memory, &to, 1, (off_t)address) == 1;
}

static void swap_all(struct tracer *t, unsigned char from, unsigned char to)
{
	for (size_t i = 0; i < t->notes->n; i++) {
		const struct note *n = &t->notes->at[i];

		/* Two probes may share their nop. */
		if (wanted(t, n) && !byte_swap(t->memory, n->address + t->bias, from, to) &&
		    !byte_swap(t->memory, n->address + t->bias, to, to))
			fprintf(stderr, "muster-killat: %s at 0x%" PRIx64 ": %s\n", n->name, n->address,
			        strerror(errno));
	}
}

static uint64_t entry_of(pid_t pid)
{
	char path[40];
	Elf64_auxv_t word;
	uint64_t entry = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, &word, sizeof(word)) == (ssize_t)sizeof(word) &&
	       word.a_type != AT_NULL)
		if (word.a_type == AT_ENTRY)
			entry = word.a_un.a_val;
	if (fd >= 0)
		close(fd);
	return entry;
}

static const struct note *note_behind(const struct tracer *t, uint64_t rip)
{
	for (size_t i = 0; i < t->notes->n; i++)
		if (t->notes->at[i].address + t->bias + 1 == rip && wanted(t, &t->notes->at[i]))
			return &t->notes->at[i];
	return NULL;
}

/* A process that sends SIGCONT after that time. */
static void alarm_set(pid_t pid, unsigned ms)
{
	const struct timespec wait = { .tv_sec = (time_t)(ms / 1000),
		                           .tv_nsec = (long)(ms % 1000) * 1000000 };

	if (fork() != 0)
		return;
	nanosleep(&wait, NULL);
	kill(pid, SIGCONT);
	_exit(0);
}

static void act(struct tracer *t)
{
	t->acted = true;
	if (t->rule->act == RULE_KILL) {
		kill(t->pid, SIGKILL);
		return;
	}
	swap_all(t, TRAP, NOP);
	kill(t->pid, SIGSTOP);
	alarm_set(t->pid, t->rule->stop_ms);
}

static void tell(const struct tracer *t, const struct note *n, pid_t tid,
                 const struct user_regs_struct *regs)
{
	const char *at = n->arguments;
	int64_t value;

	fprintf(t->out, "%" PRIu64 " %s", clock_monotonic_ns(), n->name);
	while (operand_take(&at, tid, regs, &value))
		fprintf(t->out, " %" PRId64, value);
	fprintf(t->out, "%s\n", *at ? " ?" : "");
	fflush(t->out);
}

/* False when the trap is not ours. */
static bool trap_take(struct tracer *t, pid_t tid)
{
	struct user_regs_struct regs;
	const struct note *n;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
		return false;
	n = note_behind(t, regs.rip);
	if (!n)
		return false;
	t->hits++;
	if (t->rule->act == RULE_TRACE)
		tell(t, n, tid, &regs);
	else if (t->hits == t->rule->hit)
		act(t);
	return true;
}

static void stopped(struct tracer *t, pid_t tid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_EXEC) {
		t->memory = memory_of(t->pid);
		t->bias = entry_of(t->pid) - t->notes->entry;
		swap_all(t, NOP, TRAP);
		t->planted = true;
	}
	if (event == PTRACE_EVENT_STOP &&
	    (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL); /* it stays stopped until SIGCONT */
		return;
	}
	if (event != 0 || (signal == SIGTRAP && t->planted && trap_take(t, tid)))
		signal = 0;
	ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal);
}

bool tracer_run(pid_t pid, const struct notes *notes, const struct rule *rule, FILE *out,
                uint64_t *hits)
{
	struct tracer t = { .pid = pid, .notes = notes, .rule = rule, .out = out, .memory = -1 };
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (tid > 0 && WIFSTOPPED(status))
			stopped(&t, tid, status);
		else if (tid == pid)
			break;
	}
	if (t.memory >= 0)
		close(t.memory);
	*hits = t.hits;
	return t.acted;
}
