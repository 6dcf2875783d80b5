/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a recording (core/daemon/recording.h) of what the deciding thread does, without being
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
 * but for a wake of the writer each time a quarter of the buffer waits for it. */
#ifndef MUSTER_CORE_RECORDER_H
#define MUSTER_CORE_RECORDER_H

#include "core/daemon/recording.h"
#include "core/step/core.h"

#include <string.h>

#define RECORD_BYTES_DEFAULT (UINT64_C(1) << 30)

/* What the deciding thread needs, so that the functions below can be inlined: they cost a
 * few nanoseconds for each record, and a call for each would double that. */
struct recorder {
	unsigned char *buffer; /* twice in a row, so that nothing is cut by its end */
	uint64_t mask;
	uint64_t tail;           /* private */
	uint64_t tail_published; /* a step begins there */
	uint64_t head_seen;
	_Atomic uint64_t *tail_shared;
	bool off;
};

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

/* The calling thread is the one that decides: when it crashes, the step at hand is
 * written too. */
void recorder_here(struct recorder *r);

/* What does not happen with every record. */
bool recorder_find_room(struct recorder *r, uint64_t bytes);
void recorder_wake(struct recorder *r);
void recorder_note(struct recorder *r, int rc, bool refused);

#define AHEAD_BYTES 1024

/* tests/stress/weaken.sh takes the order away and expects a failure. */
#ifdef MUSTER_WEAKEN_RECORDER_R1
#define RECORDER_R1 memory_order_relaxed
#else
#define RECORDER_R1 memory_order_release
#endif

/* Where to put so many bytes; NULL: the recording is over. */
static inline unsigned char *recorder_room(struct recorder *r, uint64_t bytes)
{
	unsigned char *at = r->buffer + (r->tail & r->mask);

	if (r->off || (r->tail + bytes - r->head_seen > r->mask + 1 && !recorder_find_room(r, bytes)))
		return NULL;
	/* Nobody else touches the buffer ahead, so it can be on its way long before. */
	__builtin_prefetch(at + AHEAD_BYTES, 1);
	__builtin_prefetch(at + AHEAD_BYTES + CACHE_LINE, 1);
	r->tail += bytes;
	return at;
}

/* The record that core_step() gets next. */
static inline void recorder_input(struct recorder *r, const struct record *record)
{
	unsigned char *at = recorder_room(r, record->bytes);

	if (at)
		memcpy(at, record, record->bytes);
}

/* A command that it gave and that found room. */
static inline void recorder_output(struct recorder *r, enum record_kind kind, const void *body,
                                   uint32_t bytes)
{
	struct recording_entry entry = { .bytes = (uint32_t)sizeof(entry) + bytes,
		                             .kind = (uint16_t)kind };
	unsigned char *at = recorder_room(r, entry.bytes);

	if (!at)
		return;
	memcpy(at, &entry, sizeof(entry));
	memcpy(at + sizeof(entry), body, bytes);
}

/* It came back with `rc`; refused: its last command found no room. */
static inline void recorder_done(struct recorder *r, int rc, bool refused)
{
	uint64_t before = r->tail_published;

	if (rc != 0 || refused)
		recorder_note(r, rc, refused);
	if (r->off)
		return;
	r->tail_published = r->tail;
	/* R1: whole steps lie before tail (A1 in core/daemon/recorder.c). */
	atomic_store_explicit(r->tail_shared, r->tail, RECORDER_R1);
	/* Into another quarter? */
	if ((before ^ r->tail) & ~(r->mask >> 2))
		recorder_wake(r);
}

/* The process is about to die: write what is left of the recording that there is, if any, with the
 * step at hand when the calling thread is the one that decides.  signal_number: 0 when memory ran
 * out.  Good in a signal handler. */
void recorder_crash(int signal_number);

/* Write what is left and close the file.  Nobody records any more. */
void recorder_close(struct recorder *r);

#endif
