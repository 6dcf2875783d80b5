/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of the histograms in the ledger: of plan times, and of victims.  Each bound is twice the
 * one before; 1,000,000 ns is a bound, so that the bounds of kube-scheduler's histograms are
 * included. */
#ifndef MUSTER_IPC_PLANS_H
#define MUSTER_IPC_PLANS_H

#include "ipc/abi.h"

/* Upper bound of bucket i < PLAN_BOUNDS: 976 ns to 16 s. */
static inline uint64_t plans_bound_ns(unsigned i)
{
	return (UINT64_C(1000000) << i) >> 10;
}

/* The bucket of a time; PLAN_BOUNDS: above all bounds. */
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

/* Upper bound of bucket i < VICTIMS_BOUNDS: 0, 1, 2, 4 ... 4096; kube-scheduler's histogram of
 * victims has those from 1 to 64. */
static inline uint64_t victims_bound(unsigned i)
{
	return i == 0 ? 0 : UINT64_C(1) << (i - 1);
}

/* The bucket of a count; VICTIMS_BOUNDS: above all bounds. */
static inline unsigned victims_bucket(uint64_t n)
{
	unsigned i = 0;

	while (i < VICTIMS_BOUNDS && n > victims_bound(i))
		i++;
	return i;
}

#endif
