/* Sleep until the other process has published something.
 *
 * The sleeper owns `sleeps`, the waker owns `bell`, each in its own segment.
 *
 *   sleeper                          waker
 *   sleeps = 1                       publish the record
 *   full fence                       full fence
 *   look at the rings again          read sleeps; if 1: bell += 1, futex wake
 *   futex wait while bell is old
 *
 * Either the sleeper sees the record or the waker sees the flag. */
#ifndef MUSTER_IPC_WAKE_H
#define MUSTER_IPC_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeper: announce, then call `ready` once more; sleep at most timeout_ns when
 * it says no.  Returns true when it was ready or was woken, false on timeout. */
bool wake_sleep(_Atomic uint32_t *sleeps, const _Atomic uint32_t *bell, bool (*ready)(void *), void *context,
                uint64_t timeout_ns);

/* Waker: after publishing.  One load when nobody sleeps.  Returns true when a
 * sleeper was woken (a system call was made). */
bool wake_up(_Atomic uint32_t *bell, const _Atomic uint32_t *sleeps);

/* For a sleeper that waits elsewhere (a poll loop): announce, and take back. */
void wake_announce(_Atomic uint32_t *sleeps);
void wake_retract(_Atomic uint32_t *sleeps);

/* Block until the bell differs from `seen`, at most timeout_ns; returns its value. */
uint32_t wake_wait_bell(const _Atomic uint32_t *bell, uint32_t seen, uint64_t timeout_ns);

/* Wake whoever sleeps on a bell that is mapped read-only here (a thread of the
 * sleeper's own process that has news for it). */
void wake_poke(const _Atomic uint32_t *bell);

#endif
