/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory with one writer: a memfd that its creator maps read-write and
 * then seals against shrinking, growing, new writable maps and new seals.
 * Pages are allocated and touched before their first use, so that a full /dev/shm or a
 * memory limit is an error here and never a SIGBUS: all at the start, or part by part
 * for a segment that was created bare.
 *
 * Uses huge pages if possible: of the pool (vm.nr_hugepages) if it has enough free
 * ones, else transparent ones if the kernel allows them for shared memory
 * (/sys/kernel/mm/transparent_hugepage/shmem_enabled). */
#ifndef MUSTER_IPC_SEGMENT_H
#define MUSTER_IPC_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct segment {
	void *base;
	uint64_t bytes;
	int fd;        /* owned */
	bool writable; /* created here */
	bool whole;    /* has all its pages */
};

/* `name` is shown in /proc.  On pages of the pool, `bytes` is rounded up to whole pages.
 * -ENOMEM, -ENOSPC or another negative errno. */
int segment_create(struct segment *s, const char *name, uint64_t bytes);

/* The same without pages, unless they are of the pool: nothing is accessed before
 * segment_make(). */
int segment_create_bare(struct segment *s, const char *name, uint64_t bytes);

/* Allocates the pages of these bytes; new ones are zeroed.  Errors as above, after which some
 * pages may be allocated. */
int segment_make(const struct segment *s, uint64_t offset, uint64_t bytes);

/* Maps a peer's segment read-only.  Takes fd over in every case.
 *
 *   -EPERM    a seal is missing: its size could change while it is mapped
 *   -EPROTO   its size is not in min_bytes to max_bytes, or a page is missing */
int segment_open(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes);

/* The same for a segment that may lack pages: nothing is read before segment_see(). */
int segment_open_bare(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes);

/* True if all pages of these bytes are allocated.  They stay, since pages of a sealed segment
 * can't be removed. Reading a missing page would allocate it on the reader's account. */
bool segment_see(const struct segment *s, uint64_t offset, uint64_t bytes);

/* Bytes of the mapping on huge pages, from /proc. */
uint64_t segment_huge_bytes(const struct segment *s);

void segment_close(struct segment *s);

#endif
