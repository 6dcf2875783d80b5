/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the scheduling queue, for the core and for programs that show it. */
#ifndef MUSTER_IPC_ORDER_H
#define MUSTER_IPC_ORDER_H

#include "ipc/abi.h"

/* The key of a gang in the queue; gangs with equal keys are ordered by name. */
struct gang_key {
	uint64_t age_ns;
	int32_t priority;
	uint32_t band; /* enum queue_band */
};

/* < 0: left comes first; 0: names decide.  Priority comes before age, except in the last band. */
static inline int gang_key_compare(const struct gang_key *left, const struct gang_key *right)
{
	if (left->band != right->band)
		return left->band < right->band ? -1 : 1;
	if (left->priority != right->priority &&
	    (left->band != BAND_LAST || left->age_ns == right->age_ns))
		return left->priority > right->priority ? -1 : 1;
	if (left->age_ns != right->age_ns)
		return left->age_ns < right->age_ns ? -1 : 1;
	return 0;
}

#endif
