#include "ipc/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

/* Kernels from 6.3 on want to hear that it is not for code, and may insist. */
static int make_memfd(const char *name, unsigned int more)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | more);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | more);
	return fd < 0 ? -errno : fd;
}

/* Every page exists: ftruncate alone would promise memory that may not be there. */
static int allocate(int fd, uint64_t bytes)
{
	int rc;

	do
		rc = posix_fallocate(fd, 0, (off_t)bytes);
	while (rc == EINTR);
	return -rc;
}

/* Map every page, all of which exist. */
static void touch(unsigned char *base, uint64_t bytes)
{
	uint64_t step = (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint64_t at = 0; at < bytes; at += step)
		*(volatile unsigned char *)(base + at) = 0;
}

/* Where the kernel gives huge pages only to those who advise it, it gives them to the
 * mapping and not to fallocate(): so the pages are made through the mapping first.
 * What can't be is left to allocate(), which says why. */
static int populate(int fd, unsigned char *base, uint64_t bytes)
{
	bool populated;
	int rc;

	(void)madvise(base, (size_t)bytes, MADV_HUGEPAGE);
	populated = madvise(base, (size_t)bytes, MADV_POPULATE_WRITE) == 0;
	rc = allocate(fd, bytes);
	if (rc == 0 && !populated)
		touch(base, bytes);
	return rc;
}

/* `more`: flags of memfd_create(). */
static int create(struct segment *s, const char *name, uint64_t bytes, unsigned int more)
{
	void *base;
	int fd = make_memfd(name, more), rc = 0;

	if (fd < 0)
		return fd;
	if (ftruncate(fd, (off_t)bytes) < 0)
		rc = -errno;
	/* Of the pool they are taken before they are mapped: without enough of them a
	 * mapping would be a promise that ends in SIGBUS. */
	if (rc == 0 && (more & MFD_HUGETLB))
		rc = allocate(fd, bytes);
	if (rc < 0)
		goto close_fd;
	base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		rc = -errno;
		goto close_fd;
	}
	rc = populate(fd, base, bytes);
	/* Our mapping stays writable; no other one will be. */
	if (rc == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		rc = -errno;
	if (rc < 0)
		goto unmap;
	*s = (struct segment){ .base = base, .bytes = bytes, .fd = fd, .writable = true };
	return 0;

unmap:
	munmap(base, (size_t)bytes);
close_fd:
	close(fd);
	return rc;
}

int segment_create(struct segment *s, const char *name, uint64_t bytes)
{
	uint64_t whole = (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);

	if (bytes == 0 || bytes > INT64_MAX - HUGE_PAGE_BYTES || bytes > SIZE_MAX - HUGE_PAGE_BYTES)
		return -EINVAL;
	/* Half a page of the pool for a small ring would be a waste of what is rare. */
	if (bytes >= HUGE_PAGE_BYTES && create(s, name, whole, MFD_HUGETLB | MFD_HUGE_2MB) == 0)
		return 0;
	return create(s, name, bytes, 0);
}

/* ---- the peer's side ---- */

/* Sealed, of a size that is wanted, and with all its pages: reading a hole would
 * allocate at our expense. */
static int check(int fd, uint64_t min_bytes, uint64_t max_bytes, uint64_t *bytes)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 0 || (uint64_t)st.st_size < min_bytes || (uint64_t)st.st_size > max_bytes)
		return -EPROTO;
	if ((uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size)
		return -EPROTO;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

int segment_open(struct segment *s, int fd, uint64_t min_bytes, uint64_t max_bytes)
{
	uint64_t bytes = 0;
	void *base;
	int rc = check(fd, min_bytes, max_bytes, &bytes);

	if (rc == 0 && (bytes == 0 || bytes > SIZE_MAX))
		rc = -EPROTO;
	if (rc < 0)
		goto close_fd;
	base = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (base == MAP_FAILED) {
		rc = -errno;
		goto close_fd;
	}
	*s = (struct segment){ .base = base, .bytes = bytes, .fd = fd, .writable = false };
	return 0;

close_fd:
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The line "Name:  123 kB" of a mapping, in bytes; 0 for another line. */
static uint64_t huge_line(const char *line)
{
	static const char *const names[] = { "ShmemPmdMapped:", "FilePmdMapped:", "Shared_Hugetlb:", "Private_Hugetlb:" };
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
