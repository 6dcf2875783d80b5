/* Pictures of an array of rows that other threads look at while its one writer goes on.
 *
 *   root ──► page ──► chunk ──► 64 rows        a page has 64 chunks
 *
 * A published picture never changes.  The next one shares with it whatever is the same:
 * only chunks with touched rows, their pages and the root are copied.  What a new root
 * replaces is used again after a grace period (core/rcu.h), which another thread waits
 * for; the writer takes no lock, makes no system call and waits for nobody.
 *
 *   nobody looks:   snapshots_touch() and snapshots_publish() are one load each
 *   somebody does:  the first publishing copies every row, later ones what was touched
 *
 * Memory is bounded: there are pieces for two whole pictures and a quarter.  When readers
 * that never rest hold all of them, nothing new is published until they do; they keep what
 * they have.
 *
 * Progress: wait-free for the writer and for readers. */
#ifndef MUSTER_CORE_SNAPSHOT_H
#define MUSTER_CORE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_CHUNK_ROWS  64u
#define SNAPSHOT_PAGE_CHUNKS 64u

struct snapshots;
struct snapshot;

/* Rows of row_bytes each, a multiple of 8.  -ENOMEM, -EAGAIN. */
int snapshots_new(struct snapshots **out, uint32_t rows, uint32_t row_bytes);

/* No thread reads any more. */
void snapshots_free(struct snapshots *s);

/* ---- the writer, one thread ---- */

/* This row is another one than when it was last published. */
void snapshots_touch(struct snapshots *s, uint32_t row);

/* Let readers see all rows as they are now; copy() writes one of them out.  `version` is
 * told to readers.  False when pieces are short: what was touched stays so, and readers
 * keep the picture before. */
bool snapshots_publish(struct snapshots *s, uint64_t version, void (*copy)(void *context, uint32_t row, void *out),
                       void *context);

/* ---- readers, any number of threads ---- */

/* Between the two a thread may look; it has to rest often, and to be away while it waits
 * (core/rcu.h), since the pieces of all pictures since its last rest are kept for it. */
void snapshots_start(struct snapshots *s);
void snapshots_stop(struct snapshots *s);

/* The newest picture, or NULL when none was published since somebody looks.  Good until
 * this thread rests, is away or stops. */
const struct snapshot *snapshots_look(struct snapshots *s);

uint64_t snapshot_version(const struct snapshot *p);

/* Good as long as the picture. */
const void *snapshot_row(const struct snapshot *p, uint32_t row);

#endif
