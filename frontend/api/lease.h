/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election by a Lease of coordination.k8s.io, as in client-go: of several instances one
 * holds the lease and acts, the others are standbys.
 *
 *   FOLLOWER ──PUT, after the record has not changed for its duration──► LEADER ──┐
 *      ▲ │ GET each retry period                                       │ ▲       │ PUT each
 *      └─┘                                                             │ └───────┘ retry period
 *                        no PUT accepted for the renew deadline ───────┴──► LOST: the process ends
 *
 * Times in the record are never compared with the local clock, only the time since the same record
 * was first seen. A leader may act until the renew deadline after it sent the last accepted PUT; a
 * follower waits for the longer lease duration after it first saw that PUT's record. So no two act
 * at once while their clocks' rates differ by less than that ratio.
 *
 * A missing lease may have been deleted while its holder still acts: it is waited for like a held
 * one, also by the first instance ever.
 *
 * lease_held() is checked right before each write (frontend/api/curl.h). */
#ifndef MUSTER_FRONTEND_LEASE_H
#define MUSTER_FRONTEND_LEASE_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stdint.h>

struct lease_config {
	const struct env *env;
	const char *namespace, *name; /* outlive it, as does identity */
	const char *identity;         /* unique among the instances */
	uint64_t duration_ns;         /* > renew_ns > 1.2 retry_ns; whole seconds */
	uint64_t renew_ns;
	uint64_t retry_ns;
};

struct lease_counts {
	uint64_t renewals; /* accepted PUTs and POSTs */
	uint64_t failures; /* requests without an answer, or refused */
};

struct lease;

/* NULL, or why these times are invalid. */
const char *lease_times_fault(uint64_t duration_ns, uint64_t renew_ns, uint64_t retry_ns);

struct lease *lease_new(const struct lease_config *config);
void lease_free(struct lease *l);

/* Performs due work. Returns the time of the next call. */
uint64_t lease_poll(struct lease *l);

/* True while this instance may act. */
bool lease_held(const struct lease *l);

/* True once leadership was lost: nothing may be written from now on. */
bool lease_lost(const struct lease *l);

/* Releases the lease, so that another instance can acquire it at once; the caller writes no more.
 */
void lease_release(struct lease *l);
bool lease_released(const struct lease *l); /* ... or there was nothing to release */

/* The last known holder, "" if none. */
const char *lease_holder(const struct lease *l);
const struct lease_counts *lease_counts(const struct lease *l);

#endif
