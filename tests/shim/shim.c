/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program: its wall clock jumps, its clocks go at another rate, its calls are
 * interrupted, answered "not now" or with a part.  What to do is read from the file that
 * MUSTER_SHIM names, mapped, so that it changes while the program runs. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define WALL_S 1000000000 /* in 2001: no machine has been up so long */

enum spoil { SPOIL_EINTR = 1, SPOIL_EAGAIN = 2, SPOIL_SHORT = 4 };

/* As tests/lib/shim.py writes it. */
struct orders {
	_Atomic int64_t wall_ns; /* to be added to the wall clock */
	_Atomic uint32_t rate;   /* of the monotonic clocks, in percent; 0: as it is */
	_Atomic uint32_t every;  /* so many calls, one is spoiled; 0: none */
	_Atomic uint32_t spoils; /* enum spoil, or-ed */
	_Atomic uint32_t count;  /* how many were, of all who map it */
};

static struct orders *orders;
static struct timespec began[2]; /* CLOCK_MONOTONIC, CLOCK_BOOTTIME when this was loaded */
static _Atomic uint32_t calls;

/* The one behind ours. */
#define REAL(name) ((__typeof__(&name))real(#name, &(static_##name)))
#define PLACE(name) static void *static_##name

static void *real(const char *name, void **kept)
{
	if (!*kept)
		*kept = dlsym(RTLD_NEXT, name);
	return *kept;
}

PLACE(clock_gettime);
PLACE(pthread_cond_timedwait);
PLACE(recv);
PLACE(send);
PLACE(recvmsg);
PLACE(sendmsg);
PLACE(read);
PLACE(write);
PLACE(writev);
PLACE(poll);
PLACE(epoll_wait);
PLACE(accept4);

__attribute__((constructor)) static void shim_start(void)
{
	const char *path = getenv("MUSTER_SHIM");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd >= 0 ? mmap(NULL, sizeof(*orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
	                   : MAP_FAILED;

	REAL(clock_gettime)(CLOCK_MONOTONIC, &began[0]);
	REAL(clock_gettime)(CLOCK_BOOTTIME, &began[1]);
	if (fd >= 0)
		close(fd);
	if (at != MAP_FAILED)
		orders = at;
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

static void ns_put(struct timespec *t, int64_t ns)
{
	t->tv_sec = (time_t)(ns / NS_PER_S);
	t->tv_nsec = (long)(ns % NS_PER_S);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int rc = REAL(clock_gettime)(clock, out);
	int64_t rate = orders ? atomic_load(&orders->rate) : 0, from;

	if (rc != 0 || !orders)
		return rc;
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
		ns_put(out, ns_of(out) + atomic_load(&orders->wall_ns));
	} else if (rate && (clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME)) {
		from = ns_of(&began[clock == CLOCK_BOOTTIME]);
		ns_put(out, from + (ns_of(out) - from) / 100 * rate);
	}
	return 0;
}

/* The deadline is by the clock as the program sees it, and the kernel has another one.  muster
 * waits by CLOCK_MONOTONIC, whose seconds are few; a deadline by the wall clock is left as it is.
 */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
	int64_t rate = orders ? atomic_load(&orders->rate) : 0, from = ns_of(&began[0]);
	struct timespec kernel = *until;

	if (rate && until->tv_sec < WALL_S && ns_of(until) > from)
		ns_put(&kernel, from + (ns_of(until) - from) / rate * 100);
	return REAL(pthread_cond_timedwait)(cond, mutex, &kernel);
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

/* Is it this one's turn, and what is to befall it?  One of those asked for, in turn. */
static uint32_t turn(uint32_t may)
{
	uint32_t every = orders ? atomic_load(&orders->every) : 0, n, kinds;

	if (every == 0)
		return 0;
	/* By a hash of its number: not in step with a loop that makes as many calls each time. */
	n = atomic_fetch_add(&calls, 1) * UINT32_C(2654435761);
	n ^= n >> 15;
	if (n % every != 0)
		return 0;
	kinds = atomic_load(&orders->spoils) & may;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t kind = UINT32_C(1) << (n / every + i) % 3;

		if (kinds & kind) {
			atomic_fetch_add(&orders->count, 1);
			return kind;
		}
	}
	return 0;
}

static bool is_stream(int fd)
{
	int type = 0;
	socklen_t bytes = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

/* What a call on that descriptor may meet: EAGAIN only who asked not to wait, a part only a stream.
 */
static uint32_t may_meet(int fd, int flags)
{
	int mode;

	if (!is_stream(fd))
		return 0; /* nor is more asked of it than the core may ask */
	mode = fcntl(fd, F_GETFL);
	return SPOIL_EINTR | SPOIL_SHORT |
	       ((mode >= 0 && (mode & O_NONBLOCK)) || (flags & MSG_DONTWAIT) ? SPOIL_EAGAIN : 0);
}

/* True when the call is not to be made; else *bytes may have become fewer. */
static bool spoil(int fd, int flags, size_t *bytes)
{
	uint32_t kind;
	int before = errno;

	if (!orders || atomic_load(&orders->every) == 0)
		return false;
	kind = turn(may_meet(fd, flags));
	errno = before;
	if (kind == SPOIL_SHORT && *bytes > 1)
		*bytes = (*bytes + 2) / 3;
	if (kind == SPOIL_EINTR || kind == SPOIL_EAGAIN)
		errno = kind == SPOIL_EINTR ? EINTR : EAGAIN;
	return kind == SPOIL_EINTR || kind == SPOIL_EAGAIN;
}

ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
	return spoil(fd, flags, &bytes) ? -1 : REAL(recv)(fd, to, bytes, flags);
}

ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
	return spoil(fd, flags, &bytes) ? -1 : REAL(send)(fd, from, bytes, flags);
}

ssize_t read(int fd, void *to, size_t bytes)
{
	return spoil(fd, 0, &bytes) ? -1 : REAL(read)(fd, to, bytes);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
	return spoil(fd, 0, &bytes) ? -1 : REAL(write)(fd, from, bytes);
}

/* Of a vector the first piece alone, when it is to be a part. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
	size_t pieces = (size_t)n;

	return spoil(fd, 0, &pieces) ? -1 : REAL(writev)(fd, parts, (int)pieces);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	size_t whole = 0;

	return spoil(fd, flags, &whole) ? -1 : REAL(recvmsg)(fd, m, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	size_t whole = 0;

	return spoil(fd, flags, &whole) ? -1 : REAL(sendmsg)(fd, m, flags);
}

static bool interrupted(void)
{
	if (!orders || turn(SPOIL_EINTR) == 0)
		return false;
	errno = EINTR;
	return true;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return interrupted() ? -1 : REAL(poll)(fds, n, timeout);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	return interrupted() ? -1 : REAL(epoll_wait)(fd, events, most, timeout);
}

int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict bytes, int flags)
{
	return interrupted() ? -1 : REAL(accept4)(fd, from, bytes, flags);
}
