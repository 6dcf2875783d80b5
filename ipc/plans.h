/* SPDX-License-Identifier: Apache-2.0 */
/* How long plans took: counters in the ledger, in buckets that double.  1,000,000 ns is a bound, so
 * that those of kube-scheduler are among them. */
#ifndef MUSTER_IPC_PLANS_H
#define MUSTER_IPC_PLANS_H

#include "ipc/abi.h"

/* Bucket i holds what took no longer than this, i < PLAN_BOUNDS: 976 ns to 16 s. */
static inline uint64_t plans_bound_ns(unsigned i)
{
	return (UINT64_C(1000000) << i) >> 10;
}

/* Up to PLAN_BOUNDS: above every bound. */
static inline unsigned plans_bucket(uint64_t ns)
{
	uint64_t parts;
	unsigned i;

	if (ns <= plans_bound_ns(0))
		return 0;
	if (ns > plans_bound_ns(PLAN_BOUNDS - 1))
		return PLAN_BOUNDS;
	parts = ((ns << 10) - 1) / UINT64_C(1000000);
	i = 64u - (unsigned)__builtin_clzll(parts);
	return i;
}

#endif
