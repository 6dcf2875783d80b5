/* SPDX-License-Identifier: Apache-2.0 */
/* What a process gives up once it has started.  Neither daemon runs programs, and the core opens
 * nothing and speaks to nobody: whoever takes one over by a bad byte from outside is to find no
 * more than that.
 *
 *   confine_privileges()   first of all: no new ones, and no memory for others to read
 *   confine()              when files, sockets and threads are there: a filter of system calls
 * (seccomp) over all threads, for good
 *
 * A call that a rule or the default traps ends the process by SIGSYS, and one line on standard
 * error says which it was. */
#ifndef MUSTER_IPC_CONFINE_H
#define MUSTER_IPC_CONFINE_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sanitizers and gcov open files and trace threads when the process ends: with them nothing is
 * filtered. */
#ifdef MUSTER_UNCONFINED
#define CONFINE_POSSIBLE false
#else
#define CONFINE_POSSIBLE true
#endif

/* The action for a call, when each of the n comparisons of its arguments holds. */
struct confine_rule {
	int call;        /* SCMP_SYS(name) */
	uint32_t action; /* SCMP_ACT_... */
	unsigned n;
	struct scmp_arg_cmp when[2];
};

/* False: the kernel said no. */
bool confine_privileges(void);

/* `otherwise` is the action for all other calls; `json`: how the log is written.  A negative errno
 * when the kernel takes no filter (-EINVAL, -ENOSYS: it has none of these; -EPERM, -EACCES: not for
 * us): then nothing has changed. */
int confine(uint32_t otherwise, const struct confine_rule *rules, size_t n, bool json);

/* What the signal handler calls before such an end; it may do what a handler may. */
void confine_before_end(void (*end)(int signal_number));

#endif
