/* SPDX-License-Identifier: Apache-2.0 */
/* muster-killat: executes a program in this process, with a tracer process that kills or stops it
 * when it reaches a probe for the n-th time.  The program needs no code for that: a probe is a nop.
 */
#include "tests/probe/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE 2
#define RULES_BYTES 65536

static const char help[] =
	"usage: muster-killat --list PROGRAM\n"
	"       muster-killat RULES LOG PROGRAM [ARGUMENT]...\n"
	"\n"
	"Runs PROGRAM as this process and takes the first line of the file RULES away, if there is one:\n"
	"\n"
	"  PROBE HIT kill         SIGKILL at the HIT-th time that it comes by PROBE\n"
	"  PROBE HIT stop MS      SIGSTOP there, SIGCONT after MS milliseconds\n"
	"  - 1 trace              each hit of each probe is a line of LOG.trace: ns, name, arguments\n"
	"\n"
	"LOG gets a line for each life: PROGRAM PROBE HIT ACT, then \"done\" or \"missed\", and the hits.\n";

static bool rule_read(const char *line, struct rule *r)
{
	char act[16] = "";
	int n;

	*r = (struct rule){ 0 };
	n = sscanf(line, "%63s %" SCNu64 " %15s %u", r->probe, &r->hit, act, &r->stop_ms);
	if (n < 3 || r->hit == 0)
		return false;
	if (strcmp(act, "kill") == 0)
		r->act = RULE_KILL;
	else if (strcmp(act, "trace") == 0)
		r->act = RULE_TRACE;
	else
		r->act = RULE_STOP;
	return r->act != RULE_STOP || (strcmp(act, "stop") == 0 && n == 4);
}

/* The first line of the file, which has it no more; false when there is none. */
static bool line_take(const char *path, char *line, size_t room)
{
	static char all[RULES_BYTES];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t n;
	size_t first;

	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX) < 0 || (n = read(fd, all, sizeof(all) - 1)) <= 0) {
		close(fd);
		return false;
	}
	all[n] = '\0';
	first = strcspn(all, "\n");
	snprintf(line, room, "%.*s", (int)first, all);
	if (all[first])
		first++;
	if (pwrite(fd, all + first, (size_t)n - first, 0) != n - (ssize_t)first ||
	    ftruncate(fd, n - (ssize_t)first) < 0)
		fprintf(stderr, "muster-killat: %s: %s\n", path, strerror(errno));
	close(fd);
	return true;
}

struct plan {
	const char *program, *log;
	struct rule rule;
	struct notes notes;
};

static const char *act_name(enum rule_act act)
{
	return act == RULE_KILL ? "kill" : act == RULE_STOP ? "stop" : "trace";
}

static void log_life(const struct plan *p, bool done, uint64_t hits)
{
	const char *slash = strrchr(p->program, '/');
	char line[256];
	int n = snprintf(line, sizeof(line), "%s %s %" PRIu64 " %s %s %" PRIu64 "\n",
	                 slash ? slash + 1 : p->program, p->rule.probe, p->rule.hit,
	                 act_name(p->rule.act), done ? "done" : "missed", hits);
	int fd = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, line, (size_t)n) != n)
		fprintf(stderr, "muster-killat: %s: %s\n", p->log, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* In a process of its own: never returns. */
static _Noreturn void watch_over(pid_t pid, const struct plan *p, int ready)
{
	char path[4096];
	FILE *out = NULL;
	uint64_t hits = 0;
	bool done;

	setsid();
	snprintf(path, sizeof(path), "%s.trace", p->log);
	if (p->rule.act == RULE_TRACE && (out = fopen(path, "ae")) == NULL) {
		fprintf(stderr, "muster-killat: %s: %s\n", path, strerror(errno));
		_exit(1);
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE)) < 0) {
		fprintf(stderr, "muster-killat: can't trace: %s\n", strerror(errno));
		_exit(1);
	}
	if (write(ready, "+", 1) != 1)
		_exit(1);
	close(ready);
	done = tracer_run(pid, &p->notes, &p->rule, out, &hits);
	log_life(p, done, hits);
	_exit(0);
}

/* False if the tracer could not be started. */
static bool tracer_start(const struct plan *p)
{
	pid_t self = getpid(), child;
	int ready[2];
	char byte;
	bool there;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return false;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	child = fork();
	if (child == 0) { /* a grandchild: the program is not to find a child that it did not start */
		if (fork() == 0)
			watch_over(self, p, ready[1]);
		_exit(0);
	}
	close(ready[1]);
	if (child > 0)
		waitpid(child, NULL, 0);
	there = child > 0 && read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return there;
}

static bool notes_open(struct notes *notes, const char *path)
{
	int rc = notes_read(notes, path);

	if (rc < 0)
		fprintf(stderr, "muster-killat: %s: %s\n", path,
		        rc == -ENOENT ? "no probes" : strerror(-rc));
	return rc == 0;
}

static int list(const char *path)
{
	struct notes notes;

	if (!notes_open(&notes, path))
		return USAGE;
	for (size_t i = 0; i < notes.n; i++)
		printf("%s %s %s\n", notes.at[i].provider, notes.at[i].name, notes.at[i].arguments);
	notes_free(&notes);
	return 0;
}

static bool knows(const struct notes *notes, const struct rule *rule)
{
	for (size_t i = 0; i < notes->n; i++)
		if (strcmp(notes->at[i].name, rule->probe) == 0)
			return true;
	return rule->act == RULE_TRACE;
}

static int run(const char *rules, const char *log, char **argv)
{
	struct plan p = { .program = argv[0], .log = log };
	char line[256];

	if (line_take(rules, line, sizeof(line))) {
		if (!rule_read(line, &p.rule)) {
			fprintf(stderr, "muster-killat: %s: not a rule: %s\n", rules, line);
			return USAGE;
		}
		if (!notes_open(&p.notes, p.program))
			return USAGE;
		if (!knows(&p.notes, &p.rule)) {
			fprintf(stderr, "muster-killat: %s has no probe %s\n", p.program, p.rule.probe);
			return USAGE;
		}
		if (!tracer_start(&p))
			return USAGE;
	}
	execv(argv[0], argv);
	fprintf(stderr, "muster-killat: %s: %s\n", argv[0], strerror(errno));
	return USAGE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(help, stdout);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "--list") == 0)
		return list(argv[2]);
	if (argc >= 4 && argv[1][0] != '-')
		return run(argv[1], argv[2], argv + 3);
	fputs(help, stderr);
	return USAGE;
}
