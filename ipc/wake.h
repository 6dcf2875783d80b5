/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep until the other process has published something.
 *
 * The sleeper writes `parked`, the waker writes `doorbell`, each in its own segment;
 * both start at 0.  `parked` counts announcements: odd while asleep, even while awake.
 * The waker copies the announcement that it answers to the doorbell, so that each is
 * answered by at most one system call, however much is published before the sleeper
 * runs.
 *
 *   sleeper                              waker
 *   parked = next odd number             publish the record
 *   full fence                           full fence
 *   check the rings again                read parked; if odd and not equal to doorbell:
 *   futex wait until doorbell == parked    doorbell = parked, futex wake
 *   parked = next even number
 *
 * Either the sleeper sees the record or the waker sees the announcement. */
#ifndef MUSTER_IPC_WAKE_H
#define MUSTER_IPC_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeper: announces, calls `ready` again, and if that returns false sleeps at most
 * timeout_ns.  Returns true if ready or woken, false on timeout.  After a signal it
 * calls `ready` again and continues to sleep if that returns false. */
bool wake_sleep(_Atomic uint32_t *parked, const _Atomic uint32_t *doorbell, bool (*ready)(void *),
                void *context, uint64_t timeout_ns);

/* Waker, after publishing: a fence and one load if there is no sleeper.  Returns true
 * if the doorbell was rung (one system call). */
bool wake_up(_Atomic uint32_t *doorbell, const _Atomic uint32_t *parked);

/* For a sleeper that waits elsewhere (a poll loop): announce, check the rings, sleep;
 * retract when awake. */
void wake_announce(_Atomic uint32_t *parked);
void wake_retract(_Atomic uint32_t *parked);

/* Blocks until the doorbell differs from `seen`, at most timeout_ns; returns its value.
 * May return early with the same value: on wake_poke(), or on the late system call of
 * an earlier ring. */
uint32_t wake_wait_doorbell(const _Atomic uint32_t *doorbell, uint32_t seen, uint64_t timeout_ns);

/* Wakes a sleeper on a doorbell that is mapped read-only here: another thread of the
 * same process.  The doorbell does not change, so a poke between `ready` and the futex
 * call is lost, and the sleeper's timeout bounds the delay. */
void wake_poke(const _Atomic uint32_t *doorbell);

#endif
