/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a bench starts: ctl/up/process.h with a log in the bench's own folder. */
#ifndef MUSTER_BENCH_CHILD_H
#define MUSTER_BENCH_CHILD_H

#include "ctl/up/process.h"

/* A folder for this run.  False and a message. */
bool child_folder(char out[PROCESS_PATH / 2]);

/* The source tree: two levels above the folder of our program. */
bool child_tree(char out[PROCESS_PATH]);

/* Starts argv[0], a path, with its log at FOLDER/NAME.log; the last element is NULL.  False and a
 * message. */
bool child_start(struct process *p, const char *folder, const char *name, const char *const argv[]);
void child_stop(struct process *p);

/* Runs it to its end.  True: it exited with 0. */
bool child_run(const char *folder, const char *name, const char *const argv[]);

/* Runs this, its output dropped, when we have ended, whatever the cause. */
bool child_guard(const char *const argv[]);

/* CPU seconds of it and of the programs that it started and that run. */
double child_cpu_s(const struct process *p);

/* A TCP port of the loopback interface that is free now; 0: none. */
uint16_t child_port(void);

/* Waits until GET url has status 200, or the child ends.  False and a message. */
bool child_ready(struct process *p, const char *url, uint32_t seconds);

#endif
