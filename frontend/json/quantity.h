/* SPDX-License-Identifier: Apache-2.0 */
/* resource.Quantity of Kubernetes: "100m", "1.5Gi", "2e3".
 *
 *     [+-] digits[.digits] suffix
 *     suffix: n u m "" k M G T P E | Ki Mi Gi Ti Pi Ei | e[+-]N  E[+-]N
 *
 * The grammar is the API server's, but for two things that it takes and no one
 * means: a number without any digit ("Ki", ".") is an error here, and an
 * exponent beyond int32 is not cut to its low bits.
 *
 * Sums of quantities are exact and rounded once, so a quantity is kept in units
 * of 10^-9, the smallest that Kubernetes knows; what lies between is rounded
 * up.  2^63-1 units is the most there is: all beyond saturates there, where Kubernetes
 * saturates binary suffixes alone and lets others wrap around. */
#ifndef MUSTER_FRONTEND_QUANTITY_H
#define MUSTER_FRONTEND_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __int128 nano_t;

#define NANO_MAX ((nano_t)INT64_MAX * 1000000000)

/* 0, or -EINVAL when it is not a quantity.  Rounds away from zero. */
int quantity_parse(const char *text, size_t bytes, nano_t *out);

/* a + b for values >= 0, at most NANO_MAX. */
nano_t quantity_add(nano_t a, nano_t b);

/* Whole units and thousandths, of a value >= 0: rounded up, at most INT64_MAX. */
int64_t quantity_value(nano_t q);
int64_t quantity_milli(nano_t q);

#endif
