/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory with one writer: a memfd that its creator maps read-write and
 * then seals against shrinking, growing, new writable maps and new seals.
 * Allocated and touched before it is used, so that a full /dev/shm or memory limit
 * is an error here and never a SIGBUS: in full at the start, or, of one that was
 * created bare, part by part.
 *
 * On huge pages where there are any: of the pool (vm.nr_hugepages) when it has enough
 * free ones, else transparent ones as far as the kernel gives them to shared memory
 * (/sys/kernel/mm/transparent_hugepage/shmem_enabled). */
#ifndef MUSTER_IPC_SEGMENT_H
#define MUSTER_IPC_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct segment {
	void *base;
	uint64_t bytes;
	int fd;        /* owned */
	bool writable; /* we made it */
	bool whole;    /* all its pages are there */
};

/* `name` shows in /proc.  On pages of the pool there are more bytes than asked for, up
 * to whole pages.  -ENOMEM, -ENOSPC or another negative errno. */
int segment_create(struct segment *s, const char *name, uint64_t bytes);

/* The same without its pages, unless they are of the pool; nothing of it is read or written before
 * it was made. */
int segment_create_bare(struct segment *s, const char *name, uint64_t bytes);

/* The pages of these bytes are there from now on, zeroed if they were not.  Errors as above, and
 * then they may be there in part. */
int segment_make(const struct segment *s, uint64_t offset, uint64_t bytes);

/* Map a peer's segment read-only.  Takes fd in every case.
 *
 *   -EPERM    a seal is missing: its size could change under us
 *   -EPROTO   its size is not min_bytes or more, or over max_bytes; or a page is missing */
int segment_open(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes);

/* The same of one that may lack pages: nothing of it is read before it was seen. */
int segment_open_bare(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes);

/* Are all pages of these bytes there?  They stay, since nobody can take pages out of a sealed
 * segment.  Reading one that is not there would make it, at the reader's expense. */
bool segment_see(const struct segment *s, uint64_t offset, uint64_t bytes);

/* How many of its bytes are mapped by huge pages here; asks /proc. */
uint64_t segment_huge_bytes(const struct segment *s);

void segment_close(struct segment *s);

#endif
