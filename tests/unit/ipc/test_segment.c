/* SPDX-License-Identifier: Apache-2.0 */
/* One writer for each segment: what a peer that holds the descriptor can't do. */
#include "ipc/segment.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 65536u

static struct segment make(void)
{
	struct segment s;

	cr_assert_eq(segment_create(&s, "test-segment", BYTES), 0);
	return s;
}

Test(segment, is_writable_to_its_maker_and_seen_by_the_peer)
{
	struct segment ours = make(), theirs;

	cr_assert(ours.writable);
	cr_assert_eq(ours.bytes, BYTES);
	cr_assert_eq(segment_open(&theirs, dup(ours.fd), 1, BYTES), 0);
	cr_assert_not(theirs.writable);
	cr_assert_eq(theirs.bytes, BYTES);
	memset(ours.base, 0x5a, BYTES);
	cr_assert_eq(memcmp(ours.base, theirs.base, BYTES), 0);
	segment_close(&theirs);
	segment_close(&ours);
	cr_assert_null(ours.base);
	segment_close(&ours); /* twice does no harm */
}

Test(segment, is_allocated_in_full)
{
	struct segment s = make();
	struct stat st;

	cr_assert_eq(fstat(s.fd, &st), 0);
	cr_assert_geq(st.st_blocks * 512, BYTES);
	cr_assert(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
	segment_close(&s);
}

static uint64_t there(const struct segment *s)
{
	struct stat st;

	cr_assert_eq(fstat(s->fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* Parts are made one by one; the peer sees which, without making any by looking. */
Test(segment, that_is_bare_gets_its_pages_part_by_part)
{
	struct segment ours, theirs;

	cr_assert_eq(segment_create_bare(&ours, "test-bare", BYTES), 0);
	cr_assert_eq(there(&ours), 0);
	cr_assert_eq(segment_make(&ours, 0, 8192), 0);
	cr_assert_eq(segment_open(&theirs, dup(ours.fd), 1, BYTES), -EPROTO);
	cr_assert_eq(segment_open_bare(&theirs, dup(ours.fd), 1, BYTES), 0);
	cr_assert(segment_see(&theirs, 0, 8192));
	cr_assert(segment_see(&theirs, 4000, 1000));
	cr_assert(!segment_see(&theirs, 0, 8193));
	cr_assert(!segment_see(&theirs, 16384, 1));
	memset(ours.base, 0x5a, 8192);
	cr_assert_eq(segment_make(&ours, 16384, BYTES - 16384), 0);
	cr_assert(segment_see(&theirs, 16384, BYTES - 16384));
	cr_assert(!segment_see(&theirs, 8192, 1));
	cr_assert(!segment_see(&theirs, 0, BYTES));
	cr_assert_eq(there(&ours), BYTES - 8192);
	/* What was there already keeps its bytes. */
	cr_assert_eq(segment_make(&ours, 0, BYTES), 0);
	cr_assert(segment_see(&theirs, 0, BYTES));
	cr_assert_eq(((const char *)theirs.base)[8191], 0x5a);
	cr_assert_eq(((const char *)theirs.base)[8192], 0);
	cr_assert_eq(there(&ours), BYTES);
	segment_close(&theirs);
	segment_close(&ours);
}

Test(segment, gives_the_peer_no_way_to_write)
{
	struct segment s = make();
	char path[64];
	void *map;
	int again;

	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	cr_assert_eq(map, MAP_FAILED);
	cr_assert_eq(errno, EPERM);

	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, s.fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	cr_assert_lt(mprotect(map, BYTES, PROT_READ | PROT_WRITE), 0);
	munmap(map, BYTES);

	cr_assert_lt(pwrite(s.fd, "x", 1, 0), 0);
	cr_assert_lt(ftruncate(s.fd, 0), 0);
	cr_assert_lt(ftruncate(s.fd, 2 * BYTES), 0);
	cr_assert_lt(fallocate(s.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
	cr_assert_lt(fcntl(s.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s.fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again >= 0) {
		map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
		cr_assert_eq(map, MAP_FAILED);
		close(again);
	}
	memset(s.base, 1, BYTES); /* and its maker still can */
	segment_close(&s);
}

static sigjmp_buf caught;

static void on_fault(int signal_number)
{
	siglongjmp(caught, 1);
}

Test(segment, faults_when_the_peer_writes_anyway)
{
	struct sigaction action = { .sa_handler = on_fault };
	struct segment ours = make(), theirs;

	cr_assert_eq(segment_open(&theirs, dup(ours.fd), 1, BYTES), 0);
	sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(caught, 1) == 0) {
		*(volatile char *)theirs.base = 1;
		cr_assert_fail("the write went through");
	}
	cr_assert_eq(*(char *)ours.base, 0);
	signal(SIGSEGV, SIG_DFL);
	segment_close(&theirs);
	segment_close(&ours);
}

/* A peer's memfd with these seals; with `hole`, of a size without pages. */
static int peer_memfd(uint64_t bytes, int seals, bool hole)
{
	int fd = memfd_create("test-peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	if (!hole && bytes > 0)
		cr_assert_eq(posix_fallocate(fd, 0, (off_t)bytes), 0);
	if (seals != 0)
		cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* As many blocks as it has pages, all of them behind its end. */
static int peer_memfd_hollow(void)
{
	int fd = memfd_create("test-peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, BYTES), 0);
	cr_assert_eq(fallocate(fd, FALLOC_FL_KEEP_SIZE, BYTES, BYTES), 0);
	cr_assert_eq(
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
	return fd;
}

/* It takes the descriptor, whatever comes of it. */
static void expect_refused(int fd, uint64_t min_bytes, uint64_t max_bytes, int rc)
{
	struct segment s;

	cr_assert_eq(segment_open(&s, fd, min_bytes, max_bytes), rc);
	cr_assert_eq(fcntl(fd, F_GETFD), -1, "left open");
}

Test(segment, refuses_a_descriptor_that_lacks_a_seal)
{
	static const int all[] = { F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL };

	expect_refused(peer_memfd(BYTES, 0, false), 1, BYTES, -EPERM);
	for (size_t missing = 0; missing < 4; missing++) {
		int seals = 0;

		for (size_t i = 0; i < 4; i++)
			seals |= i == missing ? 0 : all[i];
		expect_refused(peer_memfd(BYTES, seals, false), 1, BYTES, -EPERM);
	}
}

Test(segment, refuses_sizes_and_holes)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

	expect_refused(peer_memfd(BYTES, seals, false), BYTES + 1, 2 * BYTES, -EPROTO);
	expect_refused(peer_memfd(BYTES, seals, false), 1, BYTES - 1, -EPROTO);
	expect_refused(peer_memfd(0, seals, false), 0, BYTES, -EPROTO);
	expect_refused(peer_memfd(BYTES, seals, true), 1, BYTES, -EPROTO);
	expect_refused(peer_memfd_hollow(), 1, BYTES, -EPROTO);
}

Test(segment, refuses_what_is_no_memfd)
{
	struct segment s;
	int pipes[2];

	cr_assert_eq(segment_open(&s, -1, 1, BYTES), -EPERM);
	expect_refused(open("/dev/zero", O_RDWR | O_CLOEXEC), 1, BYTES, -EPERM);
	cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
	expect_refused(pipes[0], 1, BYTES, -EPERM);
	close(pipes[1]);
}

static unsigned long long pool_free(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned long long n = 0;

	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* With a pool (vm.nr_hugepages) its pages are taken; without one nothing is missed. */
Test(segment, is_on_huge_pages_when_there_are_any)
{
	const uint64_t odd = (6u << 20) + 4096;
	bool pool = pool_free() >= 4;
	struct segment ours, theirs;

	cr_assert_eq(segment_create(&ours, "test-huge", odd), 0);
	cr_assert_eq(ours.bytes, pool ? 8u << 20 : odd);
	cr_assert_leq(segment_huge_bytes(&ours), ours.bytes);
	if (pool)
		cr_assert_eq(segment_huge_bytes(&ours), ours.bytes);
	memset(ours.base, 0x5a, ours.bytes);
	cr_assert_eq(segment_open(&theirs, dup(ours.fd), odd, 8u << 20), 0);
	cr_assert_eq(memcmp(ours.base, theirs.base, ours.bytes), 0);
	cr_assert_eq(mmap(NULL, ours.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.fd, 0),
	             MAP_FAILED);
	segment_close(&theirs);
	segment_close(&ours);
}

Test(segment, fails_cleanly_when_there_is_no_room)
{
	struct rlimit small = { .rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY };
	struct segment s;
	int before = dup(0), after;

	cr_assert_eq(segment_create(&s, "test-none", 0), -EINVAL);
	cr_assert_eq(segment_create(&s, "test-huge", UINT64_MAX), -EINVAL);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0 }), 0);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	cr_assert_eq(segment_create(&s, "test-big", 2 << 20), -EFBIG);
	close(before);
	after = dup(0);
	cr_assert_eq(after, before, "a descriptor was left open");
}
