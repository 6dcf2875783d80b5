/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election by a Lease of coordination.k8s.io, as client-go does it: of several instances one
 * holds the lease and acts, the others stand by.
 *
 *   FOLLOWER ──GET, the record has not changed for its duration, PUT──► LEADER ──PUT each retry
 * period──┐ ▲ GET each retry period                                             │ ▲ │ └─────── │
 * └─────────────────────────┘ no PUT taken for the renew deadline ────┴──► LOST: the process ends
 *
 * Times in the record are never compared with our clock: what counts is since when we have seen the
 * same record.  A leader may act until the renew deadline after it sent the last PUT that was
 * taken; another one waits for the longer lease duration after it first saw that PUT's record.  So
 * no two act at once while their clocks run at rates that differ by less than that ratio.
 *
 * A lease that is not there may have been deleted under a holder that acts still: it is waited out
 * like one that is held, also by the first instance ever.
 *
 * lease_held() is asked right before each request that changes something (frontend/api/curl.h). */
#ifndef MUSTER_FRONTEND_LEASE_H
#define MUSTER_FRONTEND_LEASE_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stdint.h>

struct lease_config {
	const struct env *env;
	const char *namespace, *name; /* outlive it, as does identity */
	const char *identity;         /* unlike any other instance's */
	uint64_t duration_ns;         /* > renew_ns > 1.2 retry_ns; whole seconds */
	uint64_t renew_ns;
	uint64_t retry_ns;
};

struct lease_counts {
	uint64_t renewals; /* PUTs and POSTs that were taken */
	uint64_t failures; /* requests that were not answered, or refused */
};

struct lease;

/* Why these times can't be, or NULL. */
const char *lease_times_fault(uint64_t duration_ns, uint64_t renew_ns, uint64_t retry_ns);

struct lease *lease_new(const struct lease_config *config);
void lease_free(struct lease *l);

/* Do what is due.  Returns when to call again. */
uint64_t lease_poll(struct lease *l);

/* May we act now? */
bool lease_held(const struct lease *l);

/* It was ours and is no more: nothing may be written from now on, for good. */
bool lease_lost(const struct lease *l);

/* Nothing is to be written any more: let another instance have it at once. */
void lease_release(struct lease *l);
bool lease_released(const struct lease *l); /* ... or there is nothing to release */

/* Who holds it as far as we know, "" when nobody does. */
const char *lease_holder(const struct lease *l);
const struct lease_counts *lease_counts(const struct lease *l);

#endif
