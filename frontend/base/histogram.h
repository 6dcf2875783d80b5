/* SPDX-License-Identifier: Apache-2.0 */
/* How often what took how long, in buckets that are fixed once for all: an octave each, cut into
 * equal steps, so that the error is a part of the value whatever its size.
 *
 *   first          first * 2                     first * 4
 *     |  .  .  .  .  |    .    .    .    .    .    |          steps = 5
 *
 * A bucket holds what lies above the bound before it up to its own, as Prometheus' `le`.  One
 * thread adds; a reader has a copy. */
#ifndef MUSTER_FRONTEND_HISTOGRAM_H
#define MUSTER_FRONTEND_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_BOUNDS_MAX 225

struct buckets {
	uint64_t first; /* the lowest bound; a multiple of `steps` */
	uint32_t steps; /* in an octave */
	uint32_t n;     /* bounds, HISTOGRAM_BOUNDS_MAX at most */
};

struct histogram {
	uint64_t n, sum, max;                      /* the sum saturates */
	uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* the last used one: above every bound */
};

extern const struct buckets buckets_fine;    /* 1 us to 268 s, to an eighth */
extern const struct buckets buckets_attempt; /* kube-scheduler's of an attempt: 1 ms to 16 s */
extern const struct buckets buckets_sli;     /* ... of a pod's whole way: 10 ms to 5243 s */
extern const struct buckets buckets_tries;   /* ... of attempts: 1 to 16 */

/* The highest value of bucket i, i < b->n. */
uint64_t buckets_bound(const struct buckets *b, uint32_t i);
/* The bucket of a value; b->n: above every bound. */
uint32_t buckets_index(const struct buckets *b, uint64_t value);

void histogram_add(struct histogram *h, const struct buckets *b, uint64_t value);

/* What a share of the values did not exceed, read off within its bucket; 0 when there is none.
 * `share` lies between 0 and 1. */
uint64_t histogram_quantile(const struct histogram *h, const struct buckets *b, double share);

/* The lines _bucket, _sum and _count, a bound for each octave.  `labels` is `a="b",` or "";
 * `unit` is what 1 is in the family's: 1e-9 for ns in a family of seconds. */
void histogram_write(const struct histogram *h, const struct buckets *b, double unit,
                     const char *name, const char *labels, FILE *out);

#endif
