/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a recording (core/daemon/recording.h) of the planning thread's input and output
 * (design.md, The recorder): that thread copies into a buffer, a writer thread writes the buffer to
 * the file.
 *
 *   OPEN --the disk is full, too slow, or the limit is reached--> OVER
 *
 * The end of a recording is logged once; the file stays readable up to there, and the core
 * continues.  A core that ends by a signal that can be caught writes what is left, including the
 * present record; one that is killed loses the last few tens of milliseconds.
 *
 * recorder_input(), _output() and _done() are for one thread.  They make no system call, except to
 * wake the writer each time a quarter of the buffer is full. */
#ifndef MUSTER_CORE_RECORDER_H
#define MUSTER_CORE_RECORDER_H

#include "core/step/core.h"
#include "core/daemon/recording.h"

#include <string.h>

#define RECORD_BYTES_DEFAULT (UINT64_C(1) << 30)

/* The planning thread's part, public so that the functions below can be inlined: they cost a few
 * nanoseconds for each record, and a call would double that. */
struct recorder {
	unsigned char *buffer; /* mapped twice in a row, so that no entry is split at its end */
	uint64_t mask;
	uint64_t tail;           /* private */
	uint64_t tail_published; /* where a step begins */
	uint64_t head_seen;
	_Atomic uint64_t *tail_shared;
	bool off;
};

struct recorder_config {
	const char *path;
	uint64_t bytes;          /* limit of the file */
	struct core_config core; /* of the recorded core, for the header */
};

/* Creates the file.  An existing recording is renamed to PATH.old; any other regular file is left
 * alone (-EEXIST); a pipe or device is written to.  Other negative errnos as of open(2), mmap(2)
 * and pthread_create(3). */
int recorder_open(struct recorder **out, const struct recorder_config *config);

/* The calling thread is the planning thread: if it crashes, the present step is written too. */
void recorder_here(struct recorder *r);

/* The rare parts of the functions below. */
bool recorder_find_space(struct recorder *r, uint64_t bytes);
void recorder_wake(struct recorder *r);
void recorder_note(struct recorder *r, int rc, bool refused);

#define AHEAD_BYTES 1024

/* tests/stress/weaken.sh takes the order away and expects a failure. */
#ifdef MUSTER_WEAKEN_RECORDER_R1
#define RECORDER_R1 memory_order_relaxed
#else
#define RECORDER_R1 memory_order_release
#endif

/* Space for so many bytes; NULL: the recording is over. */
static inline unsigned char *recorder_space(struct recorder *r, uint64_t bytes)
{
	unsigned char *at = r->buffer + (r->tail & r->mask);

	if (r->off || (r->tail + bytes - r->head_seen > r->mask + 1 && !recorder_find_space(r, bytes)))
		return NULL;
	/* No other thread touches the buffer ahead, so it can be fetched early. */
	__builtin_prefetch(at + AHEAD_BYTES, 1);
	__builtin_prefetch(at + AHEAD_BYTES + CACHE_LINE, 1);
	r->tail += bytes;
	return at;
}

/* The record that core_apply() gets next. */
static inline void recorder_input(struct recorder *r, const struct record *record)
{
	unsigned char *at = recorder_space(r, record->bytes);

	if (at)
		memcpy(at, record, record->bytes);
}

/* A command that it emitted and that was accepted. */
static inline void recorder_output(struct recorder *r, enum record_kind kind, const void *body,
                                   uint32_t bytes)
{
	struct recording_entry entry = { .bytes = (uint32_t)sizeof(entry) + bytes,
		                             .kind = (uint16_t)kind };
	unsigned char *at = recorder_space(r, entry.bytes);

	if (!at)
		return;
	memcpy(at, &entry, sizeof(entry));
	memcpy(at + sizeof(entry), body, bytes);
}

/* It returned `rc`; refused: its last command was not accepted. */
static inline void recorder_done(struct recorder *r, int rc, bool refused)
{
	uint64_t before = r->tail_published;

	if (rc != 0 || refused)
		recorder_note(r, rc, refused);
	if (r->off)
		return;
	r->tail_published = r->tail;
	/* R1: only whole steps before tail (A1 in core/daemon/recorder.c). */
	atomic_store_explicit(r->tail_shared, r->tail, RECORDER_R1);
	/* The tail moved into another quarter. */
	if ((before ^ r->tail) & ~(r->mask >> 2))
		recorder_wake(r);
}

/* The process is about to end: writes what is left of the recording, if there is one, including the
 * present step if called by the planning thread.  signal_number: 0 for out of memory.
 * Async-signal-safe. */
void recorder_crash(int signal_number);

/* Writes what is left and closes the file.  No other function is called after it. */
void recorder_close(struct recorder *r);

#endif
