/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep until the other process has published something.
 *
 * The sleeper owns `sleeps`, the waker owns `bell`, each in its own segment; both
 * start at 0.  `sleeps` counts announcements: odd while asleep, even while awake.
 * The bell repeats the announcement that it answers, so that each is answered by
 * one system call at most, however much is published until the sleeper runs.
 *
 *   sleeper                            waker
 *   sleeps = next odd number           publish the record
 *   full fence                         full fence
 *   look at the rings again            read sleeps; if odd and not yet in bell:
 *   futex wait until bell == sleeps      bell = sleeps, futex wake
 *   sleeps = next even number
 *
 * Either the sleeper sees the record or the waker sees the flag. */
#ifndef MUSTER_IPC_WAKE_H
#define MUSTER_IPC_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeper: announce, then call `ready` once more; sleep at most timeout_ns when
 * it says no.  Returns true when it was ready or was woken, false on timeout.  A
 * signal makes it call `ready` again and sleep on when that says no. */
bool wake_sleep(_Atomic uint32_t *sleeps, const _Atomic uint32_t *bell, bool (*ready)(void *),
                void *context, uint64_t timeout_ns);

/* Waker: after publishing.  A fence and one load when nobody sleeps.  Returns
 * true when the bell was rung (a system call was made). */
bool wake_up(_Atomic uint32_t *bell, const _Atomic uint32_t *sleeps);

/* For a sleeper that waits elsewhere (a poll loop): announce, then look at the
 * rings, then sleep; take back when awake. */
void wake_announce(_Atomic uint32_t *sleeps);
void wake_retract(_Atomic uint32_t *sleeps);

/* Block until the bell differs from `seen`, at most timeout_ns; returns its value.
 * May return early with the bell as it was: on wake_poke(), or when a call that
 * belongs to an earlier ring comes late. */
uint32_t wake_wait_bell(const _Atomic uint32_t *bell, uint32_t seen, uint64_t timeout_ns);

/* Wake whoever sleeps on a bell that is mapped read-only here (a thread of the
 * sleeper's own process that has news for it).  The bell can't be changed from
 * here, so a poke that comes between `ready` and the futex call is lost: the
 * sleeper's timeout is the bound on that. */
void wake_poke(const _Atomic uint32_t *bell);

#endif
