/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on amounts of a resource.
 *
 * Amounts are int64, never negative, and come from strangers.  Sums are kept in
 * 128 bits, where no number of pods can overflow them, so that giving back is
 * exact; what leaves the table is cut off at INT64_MAX.  A sum or a request that
 * was cut off never fits anywhere. */
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

static inline bool amount_fits(int64_t room, int64_t request)
{
	return request <= room && request < INT64_MAX;
}

/* What is left of `allocatable` beside a sum.  Negative when more is used than
 * there is; the lowest value when the sum was cut off. */
static inline int64_t amount_room(int64_t allocatable, wide sum)
{
	if (sum > INT64_MAX)
		return INT64_MIN;
	return allocatable - (int64_t)sum;
}

/* How many requests fit into the room, at most `most`.  `inverse` is 1/request:
 * one multiplication and a look at both neighbours is exact for quotients below
 * 2^32, and several times faster than a division. */
static inline uint32_t amount_count(int64_t room, int64_t request, double inverse, uint32_t most)
{
	double estimate;
	uint64_t count;

	if (!amount_fits(room, request))
		return 0;
	estimate = (double)room * inverse;
	if (estimate >= (double)most + 1.0)
		return most;
	count = (uint64_t)estimate;
	if (count * (uint64_t)request > (uint64_t)room)
		count--;
	else if ((count + 1) * (uint64_t)request <= (uint64_t)room)
		count++;
	return count < most ? (uint32_t)count : most;
}

#endif
