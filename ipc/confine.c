/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/confine.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_NAMED 512 /* more than there are; others are printed as numbers */
#define NAME_BYTES 32

/* Names for the handler: libseccomp allocates and can't be called there. */
static char names[CALLS_NAMED][NAME_BYTES];
static bool as_json;
static void (*_Atomic before_end)(int signal_number);

bool confine_privileges(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static size_t text_put(char *out, size_t room, size_t at, const char *text)
{
	while (*text != '\0' && at < room)
		out[at++] = *text++;
	return at;
}

static size_t number_put(char *out, size_t room, size_t at, unsigned n)
{
	char digits[12];
	size_t i = sizeof(digits);

	digits[--i] = '\0';
	do
		digits[--i] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	return text_put(out, room, at, digits + i);
}

/* Async-signal-safe: the thread may hold any lock, so the line has no time. */
static void on_trap(int signal_number, siginfo_t *info, void *context)
{
	unsigned call = (unsigned)info->si_syscall;
	void (*end)(int);
	char line[256];
	size_t n = 0;
	ssize_t ignored;

	n = text_put(
		line, sizeof(line), n,
		as_json
			? "{\"level\":\"error\",\"msg\":\"a system call that was given up; ending\",\"call\":\""
			: "level=error msg=\"a system call that was given up; ending\" call=\"");
	n = text_put(line, sizeof(line), n, call < CALLS_NAMED ? names[call] : "");
	n = text_put(line, sizeof(line), n, as_json ? "\",\"number\":" : "\" number=");
	n = number_put(line, sizeof(line), n, call);
	n = text_put(line, sizeof(line), n, as_json ? "}\n" : "\n");
	ignored = write(STDERR_FILENO, line, n);
	(void)ignored;
	end = atomic_load(&before_end);
	if (end != NULL)
		end(signal_number);
	/* The handler is reset and the signal unblocked: this kills. */
	syscall(SYS_tgkill, getpid(), gettid(), signal_number);
	_exit(128 + signal_number);
}

void confine_before_end(void (*end)(int signal_number))
{
	atomic_store(&before_end, end);
}

static int trap_follow(bool json)
{
	struct sigaction act = { .sa_sigaction = on_trap,
		                     .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER) };

	as_json = json;
	for (int i = 0; i < CALLS_NAMED; i++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);

		if (name != NULL)
			snprintf(names[i], NAME_BYTES, "%s", name);
		free(name);
	}
	return sigaction(SIGSYS, &act, NULL) < 0 ? -errno : 0;
}

static int attributes_set(scmp_filter_ctx filter)
{
	/* For existing threads as well. */
	int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	/* No call with the numbers of another architecture. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* Before Linux 5.16 a filter disabled speculation by default.  This process runs no foreign
	 * code that this would protect from. */
	if (rc == 0)
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	/* A binary tree instead of a list, if libseccomp can. */
	if (rc == 0)
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return rc;
}

static int rules_add(scmp_filter_ctx filter, const struct confine_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct confine_rule *r = &rules[i];
		int rc = seccomp_rule_add_array(filter, r->action, r->call, r->n, r->when);

		/* -EDOM: this architecture has no such call. */
		if (rc < 0 && rc != -EDOM)
			return rc;
	}
	return 0;
}

int confine(uint32_t otherwise, const struct confine_rule *rules, size_t n, bool json)
{
	scmp_filter_ctx filter = seccomp_init(otherwise);
	int rc;

	if (filter == NULL)
		return -ENOMEM;
	rc = attributes_set(filter);
	if (rc == 0)
		rc = rules_add(filter, rules, n);
	if (rc == 0)
		rc = trap_follow(json);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}
