/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts daemons that die.
 *
 *   STOPPED -> RUNNING -> died -> wait -> RUNNING      at once the first time, then after
 *                 |                                    0.1 s, 0.2 s ... 5 s
 *                 +-> exit 2 or 78: no restart helps, everything is stopped
 *
 * One thread. */
#ifndef MUSTER_CTL_SUPERVISE_H
#define MUSTER_CTL_SUPERVISE_H

#include "ctl/up/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon {
	struct process process;
	char **argv;         /* argv[0] is the path; NULL at the end */
	uint64_t started_ns; /* monotonic */
	uint64_t start_ns;   /* when to start it again, while it does not run */
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

/* How long to wait before a daemon that died after `lived_ns` starts again; *delay_ms becomes the
 * delay after its next death. */
uint32_t supervise_delay_ms(uint32_t *delay_ms, uint64_t lived_ns);

#endif
