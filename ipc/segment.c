#include "ipc/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Newer than the headers of Debian 12. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* Kernels from 6.3 on want to hear that it is not for code, and may insist. */
static int make_memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

/* Every page exists: ftruncate alone would promise memory that may not be there. */
static int allocate(int fd, uint64_t bytes)
{
	int rc;

	if (ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	do
		rc = posix_fallocate(fd, 0, (off_t)bytes);
	while (rc == EINTR);
	return -rc;
}

int segment_create(struct segment *s, const char *name, uint64_t bytes)
{
	void *base;
	int fd, rc;

	if (bytes == 0 || bytes > INT64_MAX || bytes > SIZE_MAX)
		return -EINVAL;
	fd = make_memfd(name);
	if (fd < 0)
		return fd;
	rc = allocate(fd, bytes);
	if (rc < 0)
		goto close_fd;
	base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (base == MAP_FAILED) {
		rc = -errno;
		goto close_fd;
	}
	/* Our mapping stays writable; no other one will be. */
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		rc = -errno;
		goto unmap;
	}
	*s = (struct segment){ .base = base, .bytes = bytes, .fd = fd, .writable = true };
	return 0;

unmap:
	munmap(base, (size_t)bytes);
close_fd:
	close(fd);
	return rc;
}

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

void segment_close(struct segment *s)
{
	if (s->base == NULL)
		return;
	munmap(s->base, (size_t)s->bytes);
	close(s->fd);
	*s = (struct segment){ .fd = -1 };
}
