/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which gangs are planned, for the core and for those who show it. */
#ifndef MUSTER_IPC_ORDER_H
#define MUSTER_IPC_ORDER_H

#include "ipc/abi.h"

/* Where a gang stands among others; equal ones are told apart by their names. */
struct gang_key {
	uint64_t age_ns;
	int32_t priority;
	uint32_t standing; /* enum gang_standing */
};

/* < 0: the left one stands earlier, 0: names decide.  Priority goes before age, but behind all
 * others age goes first. */
static inline int gang_key_compare(const struct gang_key *left, const struct gang_key *right)
{
	if (left->standing != right->standing)
		return left->standing < right->standing ? -1 : 1;
	if (left->priority != right->priority &&
	    (left->standing != GANG_STANDS_LAST || left->age_ns == right->age_ns))
		return left->priority > right->priority ? -1 : 1;
	if (left->age_ns != right->age_ns)
		return left->age_ns < right->age_ns ? -1 : 1;
	return 0;
}

#endif
