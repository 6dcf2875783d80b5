/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp filters of both daemons, each call in a child process: it kills, is refused, or
 * works. */
#include "core/daemon/confine.h"
#include "frontend/daemon/confine.h"
#include "ipc/confine.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNAVAILABLE 77

struct call {
	const char *what;
	long number;
	long a, b, c, d, e, f;
};

static long address(const void *p)
{
	return (long)(intptr_t)p;
}

/* How the child ended. */
static int ended(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == UNAVAILABLE)
		cr_skip_test("no filters here");
	return status;
}

/* In a child: installs the filter, then makes the call by its number, past the sanitizer's
 * wrappers.  Its errno is the exit code, 0: none; its output goes into `said`. */
static int tried(int (*confine_fn)(bool), const struct call *call, char *said, size_t room)
{
	int out[2];
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(out), 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0) {
		dup2(out[1], STDERR_FILENO);
		if (!confine_privileges() || confine_fn(false) < 0)
			_exit(UNAVAILABLE);
		errno = 0;
		if (syscall(call->number, call->a, call->b, call->c, call->d, call->e, call->f) < 0)
			syscall(SYS_exit_group, errno);
		syscall(SYS_exit_group, 0);
	}
	close(out[1]);
	n = read(out[0], said, room - 1);
	said[n > 0 ? n : 0] = '\0';
	close(out[0]);
	return ended(pid);
}

static void expect_trap(int (*confine_fn)(bool), const struct call *call)
{
	char said[512], wanted[64];
	int status = tried(confine_fn, call, said, sizeof(said));

	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: status %x", call->what,
	          (unsigned)status);
	snprintf(wanted, sizeof(wanted), "call=\"%s\" number=%ld\n", call->what, call->number);
	cr_assert(strstr(said, "level=error msg=\"a system call that was given up; ending\""),
	          "%s said: %s", call->what, said);
	cr_assert(strstr(said, wanted), "%s said: %s", call->what, said);
}

static void expect(int (*confine_fn)(bool), const struct call *call, int wanted)
{
	char said[512];
	int status = tried(confine_fn, call, said, sizeof(said));

	cr_assert(WIFEXITED(status), "%s: status %x: %s", call->what, (unsigned)status, said);
	cr_assert_eq(WEXITSTATUS(status), wanted, "%s: %s", call->what, strerror(WEXITSTATUS(status)));
	cr_assert_str_eq(said, "");
}

#define N(calls) (sizeof(calls) / sizeof((calls)[0]))

static const char *const no_words[] = { NULL };

Test(confine, the_core_makes_nothing_and_opens_nothing)
{
	const struct call calls[] = {
		{ "socket", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0 },
		{ "socket", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, 0, 0 },
		{ "socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, 0, 0, 0 },
		{ "connect", SYS_connect, 0, 0, 0, 0, 0, 0 },
		{ "bind", SYS_bind, 0, 0, 0, 0, 0, 0 },
		{ "sendto", SYS_sendto, 0, 0, 0, 0, 0, 0 },
		{ "execve", SYS_execve, address("/bin/true"), address(no_words), address(no_words), 0, 0,
		  0 },
		{ "execveat", SYS_execveat, AT_FDCWD, address("/bin/true"), address(no_words),
		  address(no_words), 0, 0 },
		{ "openat", SYS_openat, AT_FDCWD, address("/etc/passwd"), O_RDONLY, 0, 0, 0 },
		{ "openat2", SYS_openat2, AT_FDCWD, address("/etc/passwd"), 0, 0, 0, 0 },
		{ "memfd_create", SYS_memfd_create, address("x"), 0, 0, 0, 0, 0 },
		{ "newfstatat", SYS_newfstatat, AT_FDCWD, address("/etc"), 0, 0, 0, 0 },
		{ "clone", SYS_clone, SIGCHLD, 0, 0, 0, 0, 0 },
		{ "clone3", SYS_clone3, 0, 0, 0, 0, 0, 0 },
		{ "ptrace", SYS_ptrace, PTRACE_TRACEME, 0, 0, 0, 0, 0 },
		{ "kill", SYS_kill, getppid(), 0, 0, 0, 0, 0 },
		{ "mmap", SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0 },
		{ "mprotect", SYS_mprotect, address(no_words) & -4096, 4096, PROT_READ | PROT_EXEC, 0, 0,
		  0 },
		{ "fcntl", SYS_fcntl, 0, F_SETFL, 0, 0, 0, 0 },
		{ "prctl", SYS_prctl, 0, 0, 0, 0, 0, 0 },
		{ "rt_sigaction", SYS_rt_sigaction, SIGSYS, 0, 0, 0, 0, 0 },
		{ "dup", SYS_dup, 0, 0, 0, 0, 0, 0 },
		{ "seccomp", SYS_seccomp, 0, 0, 0, 0, 0, 0 },
		{ "bpf", SYS_bpf, 0, 0, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < N(calls); i++)
		expect_trap(core_confine, &calls[i]);
}

Test(confine, the_core_keeps_what_it_works_with)
{
	const struct call calls[] = {
		{ "mmap", SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0 },
		{ "clock_gettime", SYS_clock_gettime, 0, address(&(struct { long a, b; }){ 0 }), 0, 0, 0,
		  0 },
		{ "futex", SYS_futex, address(&(int){ 0 }), 1, 1, 0, 0, 0 },
		{ "poll", SYS_ppoll, 0, 0, address(&(struct { long a, b; }){ 0 }), 0, 0, 0 },
		{ "kill", SYS_getpid, 0, 0, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < N(calls); i++)
		expect(core_confine, &calls[i], 0);
	expect(core_confine, &(struct call){ "accept4", SYS_accept4, -1, 0, 0, 0, 0, 0 }, EBADF);
	expect(core_confine, &(struct call){ "fcntl", SYS_fcntl, -1, F_GET_SEALS, 0, 0, 0, 0 }, EBADF);
}

Test(confine, the_frontend_runs_nothing_and_changes_nothing)
{
	const struct call trapped[] = {
		{ "execve", SYS_execve, address("/bin/true"), address(no_words), address(no_words), 0, 0,
		  0 },
		{ "execveat", SYS_execveat, AT_FDCWD, address("/bin/true"), address(no_words),
		  address(no_words), 0, 0 },
		{ "clone", SYS_clone, SIGCHLD, 0, 0, 0, 0, 0 },
		{ "ptrace", SYS_ptrace, PTRACE_TRACEME, 0, 0, 0, 0, 0 },
		{ "process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0, 0, 0 },
		{ "mount", SYS_mount, 0, 0, 0, 0, 0, 0 },
		{ "init_module", SYS_init_module, 0, 0, 0, 0, 0, 0 },
		{ "bpf", SYS_bpf, 0, 0, 0, 0, 0, 0 },
		{ "unshare", SYS_unshare, CLONE_NEWUSER, 0, 0, 0, 0, 0 },
		{ "setns", SYS_setns, 0, 0, 0, 0, 0, 0 },
		{ "reboot", SYS_reboot, 0, 0, 0, 0, 0, 0 },
	};
	const struct call refused[] = {
		{ "mmap", SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0 },
		{ "openat", SYS_openat, AT_FDCWD, address("/tmp/muster-test-confine"), O_WRONLY | O_CREAT,
		  0600, 0, 0 },
		{ "openat", SYS_openat, AT_FDCWD, address("/dev/null"), O_WRONLY | O_CLOEXEC, 0, 0, 0 },
		{ "openat", SYS_openat, AT_FDCWD, address("/dev/null"), O_RDWR, 0, 0, 0 },
		{ "kill", SYS_kill, getppid(), 0, 0, 0, 0, 0 },
		{ "kill", SYS_kill, -1, 0, 0, 0, 0, 0 },
		{ "tgkill", SYS_tgkill, getppid(), getppid(), 0, 0, 0, 0 },
		{ "unlinkat", SYS_unlinkat, AT_FDCWD, address("/tmp/muster-test-confine"), 0, 0, 0, 0 },
		{ "socket", SYS_socket, AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1, 0, 0, 0 },
		{ "setresuid", SYS_setresuid, 1, 1, 1, 0, 0, 0 },
	};

	for (size_t i = 0; i < N(trapped); i++)
		expect_trap(frontend_confine, &trapped[i]);
	for (size_t i = 0; i < N(refused); i++)
		expect(frontend_confine, &refused[i], EPERM);
	expect(frontend_confine, &(struct call){ "socket", SYS_socket, AF_KEY, SOCK_RAW, 2, 0, 0, 0 },
	       EAFNOSUPPORT);
	expect(frontend_confine,
	       &(struct call){ "socket", SYS_socket, 40 /* AF_VSOCK */, SOCK_STREAM, 0, 0, 0, 0 },
	       EAFNOSUPPORT);
	expect(frontend_confine, &(struct call){ "clone3", SYS_clone3, 0, 0, 0, 0, 0, 0 }, ENOSYS);
}

Test(confine, the_frontend_keeps_what_it_works_with)
{
	const struct call calls[] = {
		{ "openat", SYS_openat, AT_FDCWD, address("/etc/passwd"), O_RDONLY, 0, 0, 0 },
		{ "socket", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0 },
		{ "socket", SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0, 0, 0, 0 },
		{ "socket", SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0, 0, 0 },
		{ "memfd_create", SYS_memfd_create, address("x"), 0, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < N(calls); i++)
		expect(frontend_confine, &calls[i], 0);
}

static void *nothing(void *context)
{
	return context;
}

/* The filter itself: calls without a rule are as before, and arguments are compared. */
Test(confine, a_rule_is_for_its_call_and_its_arguments)
{
	const struct confine_rule rules[] = {
		{ SCMP_SYS(getsid), SCMP_ACT_ERRNO(ENOTTY), 0, { { 0 } } },
		{ SCMP_SYS(getpgid),
		  SCMP_ACT_ERRNO(EDOM),
		  1,
		  { { 0, SCMP_CMP_MASKED_EQ, UINT64_MAX, 1 } } },
	};
	int rc = confine_privileges() ? confine(SCMP_ACT_ALLOW, rules, 2, true) : -EPERM;

	if (rc < 0)
		cr_skip_test("no filters here");
	cr_assert(syscall(SYS_getsid, 0) < 0 && errno == ENOTTY);
	cr_assert(syscall(SYS_getpgid, 1) < 0 && errno == EDOM);
	cr_assert_eq(syscall(SYS_getpgid, 0), getpgrp());
	cr_assert_eq(syscall(SYS_getpid), getpid());
}

/* One says what all others are told anyway, the other nothing that there is. */
Test(confine, a_rule_that_makes_no_sense_is_an_error)
{
	const struct confine_rule rule = { SCMP_SYS(getsid), SCMP_ACT_ALLOW, 0, { { 0 } } };

	cr_assert_lt(confine(SCMP_ACT_ALLOW, &rule, 1, false), 0);
	cr_assert_lt(confine(0x1234, &rule, 1, false), 0);
	cr_assert_geq(syscall(SYS_getsid, 0), 0);
}

/* The filter applies to threads from before it, and the frontend can create new ones. */
static void *wait_then_open(void *context)
{
	int *gate = context;
	char byte;

	if (read(gate[0], &byte, 1) == 1)
		syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
	return NULL;
}

Test(confine, threads_that_there_were_are_confined_too)
{
	int status;
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (pid == 0) {
		pthread_t thread;
		int gate[2];

		close(STDERR_FILENO);
		if (pipe(gate) < 0 || pthread_create(&thread, NULL, wait_then_open, gate) != 0 ||
		    !confine_privileges() || core_confine(true) < 0)
			_exit(UNAVAILABLE);
		status = (int)write(gate[1], "x", 1);
		pthread_join(thread, NULL);
		_exit(status);
	}
	status = ended(pid);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %x", (unsigned)status);
}

Test(confine, the_frontend_makes_threads)
{
	int status;
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		if (!confine_privileges() || frontend_confine(false) < 0)
			_exit(UNAVAILABLE);
		if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
			_exit(1);
		syscall(SYS_exit_group, 0);
	}
	status = ended(pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}
