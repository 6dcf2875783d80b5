/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the demo: started with a log each, stopped whatever happens.
 * They get a group of their own, so that ctrl-C reaches the demo alone, and die with
 * it. */
#ifndef MUSTER_DEMO_PROCS_H
#define MUSTER_DEMO_PROCS_H

#include <stdbool.h>
#include <sys/types.h>

struct proc {
	const char *name;
	pid_t pid; /* 0: not running */
	int status;
	char log[300];
};

/* Start argv[0] with its output in log.  False and a message. */
bool proc_start(struct proc *p, const char *name, const char *log, char *const argv[]);

/* Is it alive?  p->status is set when not. */
bool proc_alive(struct proc *p);

/* SIGTERM, and SIGKILL after ten seconds; the exit status, 128 and more for a signal. */
int proc_stop(struct proc *p);

/* The end of its log, on standard error. */
void proc_show_log(const struct proc *p);

#endif
