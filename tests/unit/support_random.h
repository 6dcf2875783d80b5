/* SPDX-License-Identifier: Apache-2.0 */
/* Random input for tests.  The seed is the same each time, so that a change is
 * checked by its own tests and by nothing else; MUSTER_TEST_SEED=N takes another,
 * MUSTER_TEST_SEED=new one that was never tried.  It is printed. */
#ifndef MUSTER_TESTS_SUPPORT_RANDOM_H
#define MUSTER_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0 .. n - 1 */
static inline uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)(random_next(r) % n);
}

static inline struct random random_start(const char *test)
{
	const char *given = getenv("MUSTER_TEST_SEED");
	struct timespec now;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &now);
	if (given == NULL)
		seed = 1;
	else if (strcmp(given, "new") == 0)
		seed = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	else
		seed = strtoull(given, NULL, 0);
	fprintf(stderr, "%s: MUSTER_TEST_SEED=%llu\n", test, (unsigned long long)seed);
	return (struct random){ seed };
}

#endif
