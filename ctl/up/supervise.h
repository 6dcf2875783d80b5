/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a handful of daemons running.
 *
 *   STOPPED -> RUNNING -> died -> wait -> RUNNING      at once the first time, then after
 *                 |                                    0.1 s, 0.2 s ... 5 s
 *                 +-> exit 2 or 78: no restart helps, everything is stopped
 *
 * One thread.  Children get a process group of their own, so that ctrl-C reaches the
 * supervisor alone, and die with it (PR_SET_PDEATHSIG). */
#ifndef MUSTER_CTL_SUPERVISE_H
#define MUSTER_CTL_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon {
	const char *name;
	char **argv;         /* argv[0] is the path; NULL at the end */
	pid_t pid;           /* 0: not running */
	uint64_t started_ns; /* monotonic */
	uint64_t start_ns;   /* when to start it again, while pid is 0 */
	uint32_t delay_ms;   /* before the start after the next death */
};

struct supervisor {
	const char *command;    /* for messages */
	struct daemon *daemons; /* in the order of start; stopped in reverse */
	size_t n;
	/* Called about 20 times a second until it returns true; may be NULL. */
	bool (*poll)(void *context);
	void *context;
};

/* Run until SIGTERM or SIGINT.  Returns the exit code: 0 after a clean stop, 2 or 78
 * when a daemon ended with that, 1 when one had to be killed. */
int supervise(struct supervisor *s);

/* How long to wait before a daemon that died after `lived_ns` starts again, and
 * in *delay_ms what it will be the next time. */
uint32_t supervise_delay_ms(uint32_t *delay_ms, uint64_t lived_ns);

/* The path of a program beside our own, or in $PATH; to be freed.  NULL: nowhere. */
char *supervise_find(const char *program);

#endif
