/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/queues/decays.h"

/* Numbers below 2 in 60 bits after the point. */
#define ONE (UINT64_C(1) << 60)
#define LN_2 UINT64_C(799144290325165979)
#define TERMS 24u /* ln(2)^24 / 24! < 2^-92 */

typedef unsigned __int128 product;

/* 2^-(part / whole), part < whole, by the series of e^-x. */
static uint64_t fraction(uint64_t part, uint32_t whole)
{
	const uint64_t x = (uint64_t)((product)LN_2 * part / whole);
	uint64_t term = ONE, sum = ONE;

	for (uint32_t n = 1; n <= TERMS; n++) {
		term = (uint64_t)((product)term * x / ONE / n);
		sum = n % 2 == 1 ? sum - term : sum + term;
	}
	return sum;
}

void queues_decays(uint32_t half_life_s, uint32_t decays[QUEUE_DECAYS])
{
	for (uint32_t i = 0; i < QUEUE_DECAYS; i++) {
		const uint64_t seconds = UINT64_C(1) << i, halves = seconds / half_life_s;
		const uint64_t part = fraction(seconds % half_life_s, half_life_s);
		const uint64_t left = halves < 60 ? part >> halves : 0;

		decays[i] = (uint32_t)((left + (ONE >> 33)) >> 28); /* below 2^32: half_life_s < 2^31 */
	}
}
