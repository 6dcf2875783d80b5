/* Writes a recording (core/recording.h) of what the deciding thread does, without being
 * in its way: that thread copies into a buffer, another one writes it to the file.
 *
 *   OPEN --the disk is full, too slow, or the limit is reached--> OVER
 *
 * Whatever ends a recording is said in the log, once; what was recorded up to then
 * stays readable.  The core goes on.  A core that dies of a signal that can be caught
 * writes what is left, the record at hand included; one that is killed loses the last
 * few tens of milliseconds.
 *
 * recorder_input(), _output() and _done() belong to one thread and make no system call,
 * but for a wake of the writer when a quarter of the buffer waits for it. */
#ifndef MUSTER_CORE_RECORDER_H
#define MUSTER_CORE_RECORDER_H

#include "core/core.h"

#define RECORD_BYTES_DEFAULT (UINT64_C(1) << 30)

struct recorder;

struct recorder_config {
	const char *path;
	uint64_t bytes; /* the file gets no larger */
	struct limits limits;
	enum score_policy score;
	uint64_t hold_after_ns;
};

/* Make the file.  A recording of that name is kept as PATH.old; a file that is none is
 * left alone (-EEXIST), a pipe or device is written to as it is.  Other negative errnos
 * as of open(2), mmap(2) and pthread_create(3). */
int recorder_open(struct recorder **out, const struct recorder_config *config);

/* The record that core_step() gets next. */
void recorder_input(struct recorder *r, const struct record *record);

/* A command that it gave and that found room. */
void recorder_output(struct recorder *r, enum record_kind kind, const void *body, uint32_t bytes);

/* It came back with `rc`; refused: its last command found no room. */
void recorder_done(struct recorder *r, int rc, bool refused);

/* Write what is left and close the file.  Nobody records any more. */
void recorder_close(struct recorder *r);

#endif
