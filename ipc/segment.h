/* Shared memory with one writer: a memfd that its creator maps read-write and
 * then seals against shrinking, growing, new writable maps and new seals.
 * Allocated in full and touched at start, so that a full /dev/shm or memory
 * limit is an error here and never a SIGBUS later.
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
};

/* `name` shows in /proc.  On pages of the pool there are more bytes than asked for, up
 * to whole pages.  -ENOMEM, -ENOSPC or another negative errno. */
int segment_create(struct segment *s, const char *name, uint64_t bytes);

/* Map a peer's segment read-only.  Takes fd in every case.
 *
 *   -EPERM    a seal is missing: its size could change under us
 *   -EPROTO   its size is not min_bytes or more, or over max_bytes */
int segment_open(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes);

/* How many of its bytes are mapped by huge pages here; asks /proc. */
uint64_t segment_huge_bytes(const struct segment *s);

void segment_close(struct segment *s);

#endif
