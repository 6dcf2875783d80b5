/* SPDX-License-Identifier: Apache-2.0 */
/* Saturating arithmetic on amounts of a resource.
 *
 * Amounts are int64, never negative, and set by users.  Sums are kept in 128 bits, where no number
 * of pods overflows them, so that subtracting a pod restores the exact sum; what is published
 * saturates at INT64_MAX.  A sum or a request that is saturated never fits. */
#ifndef MUSTER_CORE_AMOUNT_H
#define MUSTER_CORE_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef __int128 wide;

static inline int64_t wide_cut(wide value)
{
	if (value > INT64_MAX)
		return INT64_MAX;
	if (value < INT64_MIN)
		return INT64_MIN;
	return (int64_t)value;
}

/* a, b >= 0 */
static inline int64_t amount_times(int64_t a, uint64_t b)
{
	return wide_cut((wide)a * (wide)b);
}

static inline bool amount_fits(int64_t free, int64_t request)
{
	return request <= free && request < INT64_MAX;
}

/* `allocatable` less a sum: negative when the node is overcommitted, INT64_MIN when the sum is
 * saturated. */
static inline int64_t amount_free(int64_t allocatable, wide sum)
{
	if (sum > INT64_MAX)
		return INT64_MIN;
	return allocatable - (int64_t)sum;
}

/* How many requests fit into `free`, at most `most`.  `inverse` is 1/request: one multiplication,
 * then a correction by one, is exact for quotients below 2^32 and several times faster than a
 * division. */
static inline uint32_t amount_count(int64_t free, int64_t request, double inverse, uint32_t most)
{
	double estimate;
	uint64_t count;

	if (!amount_fits(free, request))
		return 0;
	estimate = (double)free * inverse;
	if (estimate >= (double)most + 1.0)
		return most;
	count = (uint64_t)estimate;
	if (count * (uint64_t)request > (uint64_t)free)
		count--;
	else if ((count + 1) * (uint64_t)request <= (uint64_t)free)
		count++;
	return count < most ? (uint32_t)count : most;
}

#endif
