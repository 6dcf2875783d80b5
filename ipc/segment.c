/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Newer than the headers of Debian 12. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

/* Kernels from 6.3 on warn without this flag, and can be set to require it. */
static int make_memfd(const char *name, unsigned int more)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | more);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | more);
	return fd < 0 ? -errno : fd;
}

/* Allocates every page: ftruncate alone does not reserve memory. */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
	int rc;

	do
		rc = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
	while (rc == EINTR);
	return -rc;
}

/* Maps every page; all are allocated, and some may be in use. */
static void touch(unsigned char *base, uint64_t bytes)
{
	uint64_t step = (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint64_t at = 0; at < bytes; at += step)
		(void)__atomic_fetch_or(base + at, 0, __ATOMIC_RELAXED);
	(void)__atomic_fetch_or(base + bytes - 1, 0, __ATOMIC_RELAXED);
}

int segment_make(const struct segment *s, uint64_t offset, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = offset / page * page;
	bool populated;
	int rc;

	if (bytes == 0 || s->whole)
		return 0;
	/* With shmem_enabled=advise the kernel uses huge pages for faults of the mapping but not for
	 * fallocate(): so the pages are allocated through the mapping first.  Errors are left to
	 * allocate(). */
	populated = madvise((unsigned char *)s->base + from, (size_t)(offset + bytes - from),
	                    MADV_POPULATE_WRITE) == 0;
	rc = allocate(s->fd, offset, bytes);
	if (rc == 0 && !populated)
		touch((unsigned char *)s->base + offset, bytes);
	return rc;
}

/* `more`: flags of memfd_create(). */
static int create(struct segment *s, const char *name, uint64_t bytes, unsigned int more)
{
	struct segment made = { .bytes = bytes,
		                    .fd = make_memfd(name, more),
		                    .writable = true,
		                    .whole = (more & MFD_HUGETLB) != 0 };
	int rc = 0;

	if (made.fd < 0)
		return made.fd;
	if (ftruncate(made.fd, (off_t)bytes) < 0)
		rc = -errno;
	/* Pages of the pool are allocated before they are mapped: with too few of them an access to
	 * the mapping would be a SIGBUS. */
	if (rc == 0 && made.whole)
		rc = allocate(made.fd, 0, bytes);
	if (rc < 0)
		goto close_fd;
	made.base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0);
	if (made.base == MAP_FAILED) {
		rc = -errno;
		goto close_fd;
	}
	if (made.whole)
		touch(made.base, bytes);
	else
		(void)madvise(made.base, (size_t)bytes, MADV_HUGEPAGE);
	/* This mapping stays writable; no other can be. */
	if (fcntl(made.fd, F_ADD_SEALS, SEALS) < 0) {
		rc = -errno;
		munmap(made.base, (size_t)bytes);
		goto close_fd;
	}
	*s = made;
	return 0;

close_fd:
	close(made.fd);
	return rc;
}

int segment_create_bare(struct segment *s, const char *name, uint64_t bytes)
{
	uint64_t whole = (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);

	if (bytes == 0 || bytes > INT64_MAX - HUGE_PAGE_BYTES || bytes > SIZE_MAX - HUGE_PAGE_BYTES)
		return -EINVAL;
	/* Not for a small ring: pages of the pool are scarce. */
	if (bytes >= HUGE_PAGE_BYTES && create(s, name, whole, MFD_HUGETLB | MFD_HUGE_2MB) == 0)
		return 0;
	return create(s, name, bytes, 0);
}

int segment_create(struct segment *s, const char *name, uint64_t bytes)
{
	struct segment made;
	int rc = segment_create_bare(&made, name, bytes);

	if (rc < 0)
		return rc;
	rc = segment_make(&made, 0, bytes);
	if (rc < 0) {
		segment_close(&made);
		return rc;
	}
	made.whole = true;
	*s = made;
	return 0;
}

/* On pages of the pool, for which allocated pages can't be listed. */
static bool is_of_pool(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == HUGETLBFS_MAGIC;
}

/* True if there is no hole.  Not by st_blocks: blocks may be after the end, with holes before it.
 * hugetlbfs reports no hole but the end. */
static bool has_hole(int fd, uint64_t bytes)
{
	off_t hole = lseek(fd, 0, SEEK_HOLE);

	return hole < 0 || (uint64_t)hole < bytes;
}

/* Checks seals, size and, unless `bare`, that no page is missing: reading a hole would allocate it
 * on our account. */
static int check(struct segment *s, bool bare, uint64_t min_bytes, uint64_t max_bytes)
{
	struct stat st;
	int seals = fcntl(s->fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EPERM;
	if (fstat(s->fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || (uint64_t)st.st_size < min_bytes || (uint64_t)st.st_size > max_bytes ||
	    (uint64_t)st.st_size > SIZE_MAX)
		return -EPROTO;
	s->bytes = (uint64_t)st.st_size;
	s->whole = (uint64_t)st.st_blocks * 512 >= s->bytes && !has_hole(s->fd, s->bytes);
	return s->whole || (bare && !is_of_pool(s->fd)) ? 0 : -EPROTO;
}

static int open_peers(struct segment *s, int fd, bool bare, uint64_t min_bytes, uint64_t max_bytes)
{
	struct segment seen = { .fd = fd };
	int rc = check(&seen, bare, min_bytes, max_bytes);

	if (rc < 0)
		goto close_fd;
	seen.base = mmap(NULL, (size_t)seen.bytes, PROT_READ,
	                 MAP_SHARED | (seen.whole ? MAP_POPULATE : 0), fd, 0);
	if (seen.base == MAP_FAILED) {
		rc = -errno;
		goto close_fd;
	}
	*s = seen;
	return 0;

close_fd:
	if (fd >= 0)
		close(fd);
	return rc;
}

int segment_open(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes)
{
	return open_peers(s, fd, false, min_bytes, max_bytes);
}

int segment_open_bare(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes)
{
	return open_peers(s, fd, true, min_bytes, max_bytes);
}

bool segment_see(const struct segment *s, uint64_t offset, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = offset / page * page;
	off_t hole;

	if (bytes == 0 || s->whole)
		return true;
	hole = lseek(s->fd, (off_t)from, SEEK_HOLE);
	if (hole < 0 || (uint64_t)hole < offset + bytes)
		return false;
	/* Only an optimization: else each page is mapped by a fault. */
	(void)madvise((unsigned char *)s->base + from, (size_t)(offset + bytes - from),
	              MADV_POPULATE_READ);
	return true;
}

/* The line "Name:  123 kB" of a mapping, in bytes; 0 for another line. */
static uint64_t huge_line(const char *line)
{
	static const char *const names[] = { "ShmemPmdMapped:", "FilePmdMapped:", "Shared_Hugetlb:",
		                                 "Private_Hugetlb:" };
	unsigned long long kib = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(line, names[i], n) == 0 && sscanf(line + n, "%llu kB", &kib) == 1)
			return (uint64_t)kib * 1024;
	}
	return 0;
}

uint64_t segment_huge_bytes(const struct segment *s)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t base = (uintptr_t)s->base;
	char line[512];
	uint64_t bytes = 0;
	bool ours = false;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		unsigned long long first, last;

		if (sscanf(line, "%llx-%llx ", &first, &last) == 2)
			ours = first >= base && last <= base + s->bytes;
		else if (ours)
			bytes += huge_line(line);
	}
	fclose(f);
	return bytes;
}

void segment_close(struct segment *s)
{
	if (s->base == NULL)
		return;
	munmap(s->base, (size_t)s->bytes);
	close(s->fd);
	*s = (struct segment){ .fd = -1 };
}
