/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: started with a log of their own, stopped, and their output read.
 *
 * A child has a process group of its own, so that ctrl-C reaches the parent alone, no blocked
 * signals, and is sent SIGTERM when the parent dies (PR_SET_PDEATHSIG).  One thread. */
#ifndef MUSTER_CTL_PROCESS_H
#define MUSTER_CTL_PROCESS_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_PATH 512

struct process {
	const char *command; /* of ours, for messages */
	const char *name;
	char log[PROCESS_PATH]; /* standard output and error go there; "": to ours */
	pid_t pid;              /* 0: not running */
	int status;             /* of waitpid(), once it has ended */
};

/* argv[0] is a path, the last element NULL.  False, and a message, if it can't fork.  A program
 * that can't be executed ends with exit status 2. */
bool process_start(struct process *p, const char *const argv[]);

/* False once it has ended; p->status is set then. */
bool process_runs(struct process *p);

/* SIGTERM, and SIGKILL if it runs after that time; then SIGKILL to what is left of its group.
 * False: it had to be killed. */
bool process_stop(struct process *p, uint32_t patience_ms);

/* The exit status, or 128 and the number of the signal. */
int process_exit_code(const struct process *p);

/* The end of its log, on standard error. */
void process_show_log(const struct process *p);

/* Runs a program for at most that time, and reads up to `most` bytes of its standard output;
 * `quiet`: its standard error is dropped.  NUL-terminated.  True: it ended with 0.  It stays in our
 * process group: ctrl-C reaches both. */
bool process_output(const char *const argv[], uint32_t seconds, bool quiet, size_t most,
                    struct bytes *out);

enum process_end {
	PROCESS_DONE,   /* with 0 */
	PROCESS_FAILED, /* otherwise, or it could not be started */
	PROCESS_LATE,   /* it ran, or its output was open, when the time was over; it was killed */
};

/* The same with more variables in its environment; both lists end with NULL.  The time is kept
 * here: a program may ignore signals, and a child of its own may keep the output open. */
enum process_end process_output_with(const char *const argv[], const char *const names[],
                                     const char *const values[], uint32_t ms, bool quiet,
                                     size_t most, struct bytes *out);

/* The path of a program in $PATH; to be freed.  NULL: not found. */
char *process_find_in_path(const char *program);

/* The path of a program next to our own, or in $PATH; to be freed.  NULL: not found. */
char *process_find(const char *program);

#endif
