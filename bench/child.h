/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that a bench starts: each with a log in the bench's own folder, stopped with it
 * whatever happens. */
#ifndef MUSTER_BENCH_CHILD_H
#define MUSTER_BENCH_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_PATH 512

struct child {
	pid_t pid; /* 0: none */
	char name[32];
	char log[CHILD_PATH];
};

/* A folder for this run, and its removal. */
bool child_folder(char *out);
void child_folder_remove(const char *folder);

/* The folder of the running program, where its sisters lie; and the tree above it, for
 * what is not installed. */
bool child_bin(char *out);
bool child_tree(char *out);

/* argv[0] is a path, the last NULL.  False and a message. */
bool child_start(struct child *c, const char *folder, const char *name, const char *const argv[]);
bool child_runs(struct child *c);

/* SIGTERM, after ten seconds SIGKILL. */
void child_stop(struct child *c);

/* To its end: true when it exits with 0. */
bool child_run(const char *folder, const char *name, const char *const argv[]);

/* Run this, its output dropped, when we are gone, however that comes about. */
bool child_guard(const char *const argv[]);

/* The end of its log, on standard error. */
void child_show_log(const struct child *c);

/* A TCP port of the loopback that is free now; 0: none. */
uint16_t child_port(void);

/* Until GET url says 200 (certificates are not looked at: the loopback's own), or the
 * child ends.  False and a message. */
bool child_ready(struct child *c, const char *url, uint32_t seconds);

#endif
