/* SPDX-License-Identifier: Apache-2.0 */
/* The planning thread writes the buffer and `tail`, the writer `head` and the file.  The buffer is
 * mapped twice in a row, so that no entry is split at its end.
 *
 * Invariants
 *   S1  head <= tail <= the private tail <= head + size
 *   S2  at `tail` a step begins: only whole steps are published
 *
 * Pairs in this file
 *   R1 -> A1   tail: the entries before it
 *   R2 -> A2   head: the buffer before it may be overwritten
 *   R3 -> A3   stop: no entry is published after it
 *
 * Crash: the handler has to keep the writer away from the file.  It sets `crash` and waits until
 * `busy` is off; the writer sets `busy` and then reads `crash` (both sequentially consistent), so
 * that one of them sees the other. */
#include "core/daemon/recorder.h"

#include "ipc/logline.h"
#include "core/daemon/policy.h"
#include "ipc/clock.h"
#include "ipc/memory.h"
#include "ipc/wake.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* tests/stress/weaken.sh weakens the order and expects a failure. */
#ifdef MUSTER_WEAKEN_RECORDER_R2
#define ORDER_R2 memory_order_relaxed
#else
#define ORDER_R2 memory_order_release
#endif

#define BUFFER_BYTES_LEAST (UINT64_C(1) << 24)
#define NAP_NS (NS_PER_S / 50)
#define BYTES_LEAST (sizeof(struct recording_head) + 2 * sizeof(struct recording_block))
#define BLANK_BYTES_MOST ((off_t)(sizeof(struct recording_head) + sizeof(struct recording_block)))
#define CRASH_WAITS 1000 /* ms */
#define CLOSE_S 5        /* for the last bytes */

struct whole {
	/* the planning thread's */
	alignas(CACHE_LINE) struct recorder tap;
	pid_t thread;
	alignas(CACHE_LINE) _Atomic uint64_t tail;
	_Atomic uint32_t doorbell; /* the writer sleeps on it */
	_Atomic uint32_t stop;     /* 1 + enum recording_end: write the rest, then end with that */

	/* the writer's */
	alignas(CACHE_LINE) _Atomic uint64_t head;
	_Atomic uint32_t over;  /* the file is complete */
	_Atomic uint32_t busy;  /* the writer uses the file */
	_Atomic uint32_t crash; /* set by the handler: leave the file alone */
	int fd;
	bool regular;
	uint64_t bytes; /* of the file, whole blocks */
	uint64_t bytes_max;
	uint64_t blocks;
	char *path;
	pthread_t writer;
};

static_assert(offsetof(struct whole, tap) == 0, "a tap is where its recorder is");

/* The recorder whose end a crash writes. */
static struct whole *_Atomic at_crash;

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
#define CRASH_SIGNALS_N (sizeof(crash_signals) / sizeof(crash_signals[0]))

static struct whole *whole_of(struct recorder *tap)
{
	return (struct whole *)tap;
}

void recorder_here(struct recorder *tap)
{
	whole_of(tap)->thread = gettid();
}

static void ring(struct whole *r)
{
	atomic_fetch_add_explicit(&r->doorbell, 1, memory_order_release);
	wake_poke(&r->doorbell);
}

static void end(struct whole *r, enum recording_end why)
{
	assert(r->tap.tail_published <= r->tap.tail); /* S1 */
	r->tap.off = true;
	r->tap.tail = r->tap.tail_published;
	/* R3 */
	atomic_store_explicit(&r->stop, 1 + (uint32_t)why, memory_order_release);
	ring(r);
}

static uint64_t waiting(struct whole *r)
{
	/* A2: the writer is done with the buffer before head (R2). */
	r->tap.head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
	assert(r->tap.tail - r->tap.head_seen <= r->tap.mask + 1); /* S1 */
	return r->tap.tail - r->tap.head_seen;
}

bool recorder_find_space(struct recorder *tap, uint64_t bytes)
{
	struct whole *r = whole_of(tap);

	if (waiting(r) + bytes <= tap->mask + 1)
		return true;
	end(r, END_SLOW);
	return false;
}

/* The writer polls every NAP_NS; in between the buffer must not fill up. */
void recorder_wake(struct recorder *tap)
{
	struct whole *r = whole_of(tap);

	if (waiting(r) > tap->mask >> 2)
		ring(r);
	/* Relaxed: no data depends on it. */
	if (atomic_load_explicit(&r->over, memory_order_relaxed))
		tap->off = true;
}

void recorder_note(struct recorder *tap, int rc, bool refused)
{
	struct recording_note n = { .head = { .bytes = sizeof(n), .kind = RECORD_PAD }, .error = rc };
	unsigned char *at = recorder_space(tap, sizeof(n));

	n.head.flags = (uint16_t)((refused ? NOTE_REFUSED : 0u) | (rc != 0 ? NOTE_ERROR : 0u));
	if (at)
		memcpy(at, &n, sizeof(n));
}

static int write_all(int fd, const void *data, uint64_t bytes)
{
	const unsigned char *at = data;

	while (bytes > 0) {
		ssize_t n = write(fd, at, (size_t)bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

/* One block, whole or not at all. */
static int write_block(struct whole *r, enum block_kind kind, uint16_t arg, const void *entries,
                       uint64_t bytes)
{
	struct recording_block b = { .magic = BLOCK_MAGIC,
		                         .kind = (uint16_t)kind,
		                         .arg = arg,
		                         .number = r->blocks,
		                         .bytes = bytes };
	int rc;

	b.entries_sum = recording_sum(SUM_START, entries, bytes);
	b.sum = recording_sum(SUM_START, &b, offsetof(struct recording_block, sum));
	rc = write_all(r->fd, &b, sizeof(b));
	if (rc == 0)
		rc = write_all(r->fd, entries, bytes);
	if (rc < 0) {
		/* Otherwise a reader would find a truncated block. */
		if (r->regular && ftruncate(r->fd, (off_t)r->bytes) == 0)
			lseek(r->fd, (off_t)r->bytes, SEEK_SET);
		return rc;
	}
	r->bytes += sizeof(b) + bytes;
	r->blocks++;
	return 0;
}

static bool begins_step(uint16_t kind)
{
	return kind != RECORD_PAD && kind <= EVENT_ANSWER;
}

/* Bytes of the whole steps that fit into `most`. */
static uint64_t whole_steps(const unsigned char *entries, uint64_t bytes, uint64_t most)
{
	uint64_t at = 0, whole = 0;

	if (bytes <= most)
		return bytes;
	while (at <= most) {
		struct recording_entry e;

		memcpy(&e, entries + at, sizeof(e));
		if (begins_step(e.kind))
			whole = at;
		at += e.bytes;
	}
	return whole;
}

/* Writes the last block, and logs the end. */
static void finish(struct whole *r, enum recording_end why, int rc)
{
	static const char *const texts[] = { "the core was stopped", "--record-bytes is reached",
		                                 "the file can't be written as fast as events come", "" };
	const char *text = why == END_FAILED ? strerror(-rc) : texts[why];
	struct log_text path;

	write_block(r, BLOCK_END, (uint16_t)why, r->tap.buffer, 0);
	log_line(why == END_STOPPED ? LOG_INFO
	         : why == END_LIMIT ? LOG_WARN
	                            : LOG_ERROR,
	         "msg=\"the recording ended\" file=%s bytes=%llu why=\"%s\"", log_quote(&path, r->path),
	         (unsigned long long)r->bytes, text);
	/* Relaxed: no data depends on it. */
	atomic_store_explicit(&r->over, 1, memory_order_relaxed);
}

/* Writes what is published to the file.  False when the recording is over. */
static bool write_published(struct whole *r)
{
	/* A3 before A1: after stop, tail does not change. */
	uint32_t stop = atomic_load_explicit(&r->stop, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire); /* A1 */
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed); /* ours */
	const unsigned char *entries = r->tap.buffer + (head & r->tap.mask);
	uint64_t spare = r->bytes_max - r->bytes - 2 * sizeof(struct recording_block);
	uint64_t bytes =
		whole_steps(entries, tail - head, r->bytes_max < r->bytes + BYTES_LEAST ? 0 : spare);
	int rc = bytes > 0 ? write_block(r, BLOCK_ENTRIES, 0, entries, bytes) : 0;

	if (rc < 0) {
		finish(r, END_FAILED, rc);
		return false;
	}
	atomic_store_explicit(&r->head, head + bytes, ORDER_R2); /* R2 */
	if (bytes < tail - head) {
		finish(r, END_LIMIT, 0);
		return false;
	}
	if (stop)
		finish(r, (enum recording_end)(stop - 1), 0);
	return !stop;
}

static void *writer(void *context)
{
	struct whole *r = context;
	bool more = true;

	while (more) {
		uint32_t doorbell = atomic_load_explicit(&r->doorbell, memory_order_acquire);

		/* Sequentially consistent, as in the handler: see the top. */
		atomic_store_explicit(&r->busy, 1, memory_order_seq_cst);
		if (!atomic_load_explicit(&r->crash, memory_order_seq_cst))
			more = write_published(r);
		atomic_store_explicit(&r->busy, 0, memory_order_seq_cst);
		if (more)
			wake_wait_doorbell(&r->doorbell, doorbell, NAP_NS);
	}
	return NULL;
}

/* Async-signal-safe functions only. */
void recorder_crash(int signal_number)
{
	struct whole *r = atomic_exchange(&at_crash, NULL);
	struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t head, tail;

	if (r) {
		atomic_store_explicit(&r->crash, 1, memory_order_seq_cst);
		for (int i = 0; i < CRASH_WAITS && atomic_load_explicit(&r->busy, memory_order_seq_cst);
		     i++)
			nanosleep(&ms, NULL);
		head = atomic_load_explicit(&r->head, memory_order_acquire);
		/* In the planning thread the present step is written too. */
		tail = gettid() == r->thread ? r->tap.tail
		                             : atomic_load_explicit(&r->tail, memory_order_acquire);
		if (!atomic_load_explicit(&r->busy, memory_order_seq_cst) &&
		    !atomic_load_explicit(&r->over, memory_order_relaxed))
			write_block(r, BLOCK_CRASH, (uint16_t)signal_number,
			            r->tap.buffer + (head & r->tap.mask), tail - head);
	}
}

static void on_crash(int signal_number)
{
	recorder_crash(signal_number);
	/* The handler is reset: this time it kills. */
	raise(signal_number);
}

static void crash_follow(struct whole *r)
{
	struct sigaction act = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };

	atomic_store(&at_crash, r);
	for (size_t i = 0; i < CRASH_SIGNALS_N; i++)
		sigaction(crash_signals[i], &act, NULL);
}

/* Two mappings in a row of the same memory. */
static int buffer_map(struct whole *r)
{
	size_t size = (size_t)r->tap.mask + 1;
	int fd = memfd_create("muster-recorder", MFD_CLOEXEC), rc = 0;
	unsigned char *base = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (posix_fallocate(fd, 0, (off_t)size) == 0)
		base = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		rc = -ENOMEM;
	for (int i = 0; i < 2 && rc == 0; i++)
		if (mmap(base + (size_t)i * size, size, PROT_READ | PROT_WRITE,
		         MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
			rc = -errno;
	close(fd);
	if (rc < 0 && base != MAP_FAILED)
		munmap(base, 2 * size);
	if (rc == 0)
		r->tap.buffer = base;
	return rc;
}

/* True if the file at `path` is a recording, or empty; *blank: without a step in it. */
static bool replaceable(const char *path, bool *blank)
{
	uint64_t magic = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, &magic, sizeof(magic));
	*blank = fstat(fd, &st) == 0 && st.st_size <= BLANK_BYTES_MOST;
	close(fd);
	return n == 0 || (n == (ssize_t)sizeof(magic) && magic == RECORDING_MAGIC);
}

static int keep_old(const char *path)
{
	size_t bytes = strlen(path) + sizeof(".old");
	char *old = must_alloc(bytes);
	int rc;

	snprintf(old, bytes, "%s.old", path);
	rc = rename(path, old) < 0 ? -errno : 0;
	free(old);
	return rc;
}

static int file_open(struct whole *r)
{
	struct stat st;
	bool blank = false;
	int rc;

	r->regular = stat(r->path, &st) < 0 || S_ISREG(st.st_mode);
	if (!r->regular) {
		/* O_NONBLOCK: a pipe without a reader is an error, not a reason to wait. */
		r->fd = open(r->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		return r->fd < 0 || fcntl(r->fd, F_SETFL, 0) < 0 ? -errno : 0;
	}
	r->fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r->fd < 0 && errno == EEXIST && replaceable(r->path, &blank)) {
		/* A blank file of a failed start must not replace the recording of a crash. */
		rc = !blank ? keep_old(r->path) : unlink(r->path) < 0 ? -errno : 0;
		if (rc < 0)
			return rc;
		r->fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	return r->fd < 0 ? -errno : 0;
}

static int head_write(struct whole *r, const struct core_config *config)
{
	struct recording_head head = { .magic = RECORDING_MAGIC,
		                           .version = RECORDING_VERSION,
		                           .bytes = sizeof(head),
		                           .layout_hash = abi_layout_hash(),
		                           .created_ns = clock_ns(CLOCK_REALTIME),
		                           .limits = config->limits };

	head.reserve_after_ns = config->reserve_after_ns;
	head.retain_for_ns = config->retain_for_ns;
	head.promise_depth = config->promise_depth;
	head.promise_grain_ns = config->promise_grain_ns;
	head.promise_window_ns = config->promise_window_ns;
	head.backfill_by_soft = config->backfill_by_soft;
	snprintf(head.score, sizeof(head.score), "%s", policy_name(config->score));
	snprintf(head.program, sizeof(head.program), "%s", MUSTER_VERSION);
	head.sum = recording_sum(SUM_START, &head, offsetof(struct recording_head, sum));
	r->bytes = sizeof(head);
	return write_all(r->fd, &head, sizeof(head));
}

static void recorder_free(struct whole *r)
{
	if (r->tap.buffer)
		munmap(r->tap.buffer, 2 * ((size_t)r->tap.mask + 1));
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	free(r);
}

static int recorder_start(struct whole *r, const struct recorder_config *config)
{
	int rc;

	r->path = must_copy(config->path);
	rc = buffer_map(r);
	if (rc < 0)
		return rc;
	/* A limit on file sizes is an error of write(), not a signal. */
	signal(SIGXFSZ, SIG_IGN);
	rc = file_open(r);
	if (rc == 0)
		rc = head_write(r, &config->core);
	if (rc == 0)
		rc = -pthread_create(&r->writer, NULL, writer, r);
	if (rc < 0 && r->regular && r->fd >= 0)
		unlink(r->path); /* created just now */
	return rc;
}

int recorder_open(struct recorder **out, const struct recorder_config *config)
{
	struct whole *r = aligned_alloc(alignof(struct whole), sizeof(*r));
	uint64_t size = BUFFER_BYTES_LEAST;
	int rc;

	if (!r)
		fatal_memory();
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->bytes_max = config->bytes < BYTES_LEAST ? BYTES_LEAST : config->bytes;
	/* One cycle may emit as much as the command ring takes. */
	while (size < 4 * config->core.limits.command_ring_bytes && size < BLOCK_BYTES_MAX)
		size *= 2;
	r->tap = (struct recorder){ .mask = size - 1, .tail_shared = &r->tail };
	rc = recorder_start(r, config);
	if (rc < 0) {
		recorder_free(r);
		return rc;
	}
	crash_follow(r);
	*out = &r->tap;
	return 0;
}

void recorder_close(struct recorder *tap)
{
	struct whole *r = whole_of(tap), *ours = r;
	struct log_text path;
	struct timespec until;

	/* From here on a crash writes nothing. */
	atomic_compare_exchange_strong(&at_crash, &ours, NULL);
	if (!tap->off)
		end(r, END_STOPPED);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLOSE_S;
	if (pthread_timedjoin_np(r->writer, NULL, &until) == 0)
		recorder_free(r);
	else /* a pipe without a reader; the writer thread keeps its memory */
		log_line(LOG_ERROR, "msg=\"the end of the recording can't be written\" file=%s",
		         log_quote(&path, r->path));
}
