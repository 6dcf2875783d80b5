/* SPDX-License-Identifier: Apache-2.0 */
/* The sleeper writes `parked`, the waker writes `doorbell`.
 *
 * The argument.  Publishing (P) and reading the flag (L) on one side, setting the
 * flag (S) and reading the rings (Q) on the other, are a store before a load of
 * another word, which every CPU may reorder without a full fence in between:
 *
 *   waker    P; F2; L          sleeper   S; F1; Q
 *
 * F1 and F2 are in one total order.  If F2 is first, Q sees P and the sleeper stays
 * awake; if F1 is first, L sees S and the waker rings.  Release and acquire do not
 * give this, and the ring's tail is in another file, so this is the only place with
 * stand-alone fences.
 *
 * Pairs in this file
 *   F1 - F2    full fences, see above
 *   R3 -> A3   the doorbell: a reader of the ring also sees what was published before
 *
 * Not a mistake: the sleeper can return without a ring, and a late waker then rings for
 * an announcement that is over.  The next announcement has another number, so that
 * ring is at most one wake too many and never one too few. */
#include "ipc/wake.h"
#include "ipc/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

/* A sequentially consistent fence.  ThreadSanitizer has none; there it is a locked
 * operation on a private word, which orders the CPU in the same way and adds no edge
 * between threads that would hide a race. */
static inline void full_fence(void)
{
#ifdef THREAD_SANITIZER
	_Atomic uint32_t own = 0;

	atomic_fetch_add_explicit(&own, 1, memory_order_seq_cst);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* tests/stress/weaken.sh removes each fence and order and expects a failure. */
#ifdef MUSTER_WEAKEN_R3
#define ORDER_R3 memory_order_relaxed
#else
#define ORDER_R3 memory_order_release
#endif
#ifdef MUSTER_WEAKEN_A3
#define ORDER_A3 memory_order_relaxed
#else
#define ORDER_A3 memory_order_acquire
#endif

static inline void sleeper_fence(void)
{
#ifndef MUSTER_WEAKEN_F1
	full_fence();
#endif
}

static inline void waker_fence(void)
{
#ifndef MUSTER_WEAKEN_F2
	full_fence();
#endif
}

static struct timespec deadline_after(uint64_t timeout_ns)
{
	struct timespec now;
	uint64_t seconds = timeout_ns / NS_PER_S;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	/* A hundred years: no overflow. */
	if (seconds > UINT64_C(100) * 365 * 86400)
		seconds = UINT64_C(100) * 365 * 86400;
	ns = (uint64_t)now.tv_nsec + timeout_ns % NS_PER_S;
	now.tv_sec += (time_t)(seconds + ns / NS_PER_S);
	now.tv_nsec = (long)(ns % NS_PER_S);
	return now;
}

static _Atomic uint32_t *futex_word(const _Atomic uint32_t *word)
{
	/* The kernel only reads it, and the mapping may be read-only. */
	union {
		const _Atomic uint32_t *in;
		_Atomic uint32_t *out;
	} u = { .in = word };

	return u.out;
}

/* 0 when woken or when *word is not `value`, -EINTR, -ETIMEDOUT.  Not PRIVATE: the
 * waker is another process.  WAIT_BITSET takes an absolute time on
 * CLOCK_MONOTONIC, so that a signal doesn't prolong the sleep. */
static int futex_wait(const _Atomic uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	long rc = syscall(SYS_futex, futex_word(word), FUTEX_WAIT_BITSET, value, deadline, NULL,
	                  FUTEX_BITSET_MATCH_ANY);

	if (rc == 0 || errno == EAGAIN)
		return 0;
	return -errno;
}

static void futex_wake(const _Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, futex_word(word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void wake_announce(_Atomic uint32_t *parked)
{
	/* Relaxed: only the sleeper stores it; F1 orders it before the next loads. */
	uint32_t number = atomic_load_explicit(parked, memory_order_relaxed);

	atomic_store_explicit(parked, (number + 1) | 1u, memory_order_relaxed);
	/* F1: the flag is stored before the rings are read again (F2). */
	sleeper_fence();
}

void wake_retract(_Atomic uint32_t *parked)
{
	/* Relaxed: a waker that sees it late rings once too often. */
	uint32_t number = atomic_load_explicit(parked, memory_order_relaxed);

	atomic_store_explicit(parked, (number + 1) & ~1u, memory_order_relaxed);
}

/* Until the doorbell has announcement `number`, or a poke. */
static bool sleep_until_rung(const _Atomic uint32_t *doorbell, uint32_t number,
                             bool (*ready)(void *), void *context, uint64_t timeout_ns)
{
	struct timespec deadline = deadline_after(timeout_ns);
	uint32_t value;
	int rc;

	for (;;) {
		/* A3: what was published before the ring is seen (R3). */
		value = atomic_load_explicit(doorbell, ORDER_A3);
		if (value == number)
			return true;
		rc = futex_wait(doorbell, value, &deadline);
		if (rc == 0)
			return true;
		if (rc != -EINTR)
			return false;
		if (ready(context))
			return true;
	}
}

bool wake_sleep(_Atomic uint32_t *parked, const _Atomic uint32_t *doorbell, bool (*ready)(void *),
                void *context, uint64_t timeout_ns)
{
	uint32_t number;
	bool awake;

	wake_announce(parked);
	/* Relaxed: stored by this thread. */
	number = atomic_load_explicit(parked, memory_order_relaxed);
	awake = ready(context) || sleep_until_rung(doorbell, number, ready, context, timeout_ns);
	wake_retract(parked);
	return awake;
}

uint32_t wake_wait_doorbell(const _Atomic uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec deadline = deadline_after(timeout_ns);
	uint32_t value;

	for (;;) {
		/* A3: as above. */
		value = atomic_load_explicit(doorbell, ORDER_A3);
		if (value != seen)
			return value;
		if (futex_wait(doorbell, seen, &deadline) != -EINTR)
			return atomic_load_explicit(doorbell, ORDER_A3);
	}
}

void wake_poke(const _Atomic uint32_t *doorbell)
{
	futex_wake(doorbell);
}

bool wake_up(_Atomic uint32_t *doorbell, const _Atomic uint32_t *parked)
{
	uint32_t number;

	/* F2: the records are published before the flag is read (F1). */
	waker_fence();
	number = atomic_load_explicit(parked, memory_order_relaxed);
	/* Relaxed: only the waker stores the doorbell. */
	if (number % 2 == 0 || atomic_load_explicit(doorbell, memory_order_relaxed) == number)
		return false;
	/* R3: a reader of the doorbell sees what was published before (A3). */
	atomic_store_explicit(doorbell, number, ORDER_R3);
	futex_wake(doorbell);
	return true;
}
