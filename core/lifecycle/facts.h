/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a pod (struct event_pod_facts) as a core and its world keep them, and when a pod
 * that is being deleted has to be gone.
 *
 * The clock of records alone decides that: the time of the first record with the deletion of the
 * pod, and its grace period.  metadata.deletionTimestamp is of the API server's clock, which need
 * not agree with that of records.  A core or a frontend that starts sees every pod for
 * the first time, so after that a pod counts as overdue later than it is, never earlier. */
#ifndef MUSTER_CORE_FACTS_H
#define MUSTER_CORE_FACTS_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

struct kept_facts {
	struct event_pod_facts sent; /* generation 0: none */
	uint64_t deleting_ns;        /* with sent.ends_s: time of the first record that had one */
};

/* Stores the facts of a record of that time. */
void facts_keep(struct kept_facts *f, const struct event_pod_facts *sent, uint64_t time_ns);

/* When a pod that is being deleted has to be gone; 0: it is not, or another pod has the slot. */
uint64_t facts_gone_ns(const struct kept_facts *f, uint32_t generation);

/* True if it should have been gone for longer than that.  A grace counts for an hour at most: its
 * tenant chooses it, and a nomination holds one of few slots until its victims are gone. */
bool facts_overdue(const struct kept_facts *f, uint32_t generation, uint32_t patience_s,
                   uint64_t now_ns);

#endif
