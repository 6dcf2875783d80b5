/* SPDX-License-Identifier: Apache-2.0 */
/* Confinement of a daemon after its start.  Neither daemon executes programs, and the core opens
 * no file and no socket: code that takes one over by bad input gets no other system calls.
 *
 *   confine_privileges()   first: no_new_privs, and not dumpable
 *   confine()              after files, sockets and threads exist: a filter of system calls
 * (seccomp) for all threads, permanently
 *
 * A call whose action is a trap ends the process by SIGSYS, after one line on standard error with
 * the name of the call. */
#ifndef MUSTER_IPC_CONFINE_H
#define MUSTER_IPC_CONFINE_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sanitizers and gcov open files and trace threads at exit: with them there is no filter. */
#ifdef MUSTER_UNCONFINED
#define CONFINE_POSSIBLE false
#else
#define CONFINE_POSSIBLE true
#endif

/* The action for a call if all n comparisons of its arguments are true. */
struct confine_rule {
	int call;        /* SCMP_SYS(name) */
	uint32_t action; /* SCMP_ACT_... */
	unsigned n;
	struct scmp_arg_cmp when[2];
};

/* False: the kernel refused it. */
bool confine_privileges(void);

/* `otherwise` is the action for all other calls; `json` is the format of the log.  A negative
 * errno if the kernel does not take the filter (-EINVAL, -ENOSYS: not supported; -EPERM, -EACCES:
 * not allowed); then nothing has changed. */
int confine(uint32_t otherwise, const struct confine_rule *rules, size_t n, bool json);

/* `end` is called by the signal handler before the process ends; it has to be async-signal-safe. */
void confine_before_end(void (*end)(int signal_number));

#endif
