/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms with fixed buckets: octaves divided into equal steps, so the relative error is
 * bounded.
 *
 *   first          first * 2                     first * 4
 *     |  .  .  .  .  |    .    .    .    .    .    |          steps = 5
 *
 * A bucket holds the values above the previous bound up to its own, as Prometheus' `le`. One thread
 * adds; readers get a copy. */
#ifndef MUSTER_FRONTEND_HISTOGRAM_H
#define MUSTER_FRONTEND_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_BOUNDS_MAX 225

struct buckets {
	uint64_t first; /* the lowest bound; a multiple of `steps` */
	uint32_t steps; /* per octave */
	uint32_t n;     /* number of bounds, at most HISTOGRAM_BOUNDS_MAX */
};

struct histogram {
	uint64_t n, sum, max;                      /* the sum saturates */
	uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* the last one: above every bound */
};

extern const struct buckets buckets_fine;    /* 1 us to 268 s, to an eighth */
extern const struct buckets buckets_attempt; /* kube-scheduler's for an attempt: 1 ms to 16 s */
extern const struct buckets buckets_sli;     /* ... for a pod's total time: 10 ms to 5243 s */
extern const struct buckets buckets_waits;   /* of gangs: 10 ms to 3.9 days */
extern const struct buckets buckets_tries;   /* ... for the number of attempts: 1 to 16 */

/* The upper bound of bucket i, i < b->n. */
uint64_t buckets_bound(const struct buckets *b, uint32_t i);
/* The bucket of a value; b->n: above every bound. */
uint32_t buckets_index(const struct buckets *b, uint64_t value);

void histogram_add(struct histogram *h, const struct buckets *b, uint64_t value);

/* The quantile `share` (0 to 1), interpolated within its bucket; 0 without values. */
uint64_t histogram_quantile(const struct histogram *h, const struct buckets *b, double share);

/* Writes _bucket, _sum and _count, one bound per octave. `labels` is `a="b",` or ""; `unit`
 * converts to the family's unit: 1e-9 for ns in a family of seconds. */
void histogram_write(const struct histogram *h, const struct buckets *b, double unit,
                     const char *name, const char *labels, FILE *out);

#endif
