/* SPDX-License-Identifier: Apache-2.0 */
/* resource.Quantity of Kubernetes: "100m", "1.5Gi", "2e3".
 *
 *     [+-] digits[.digits] suffix
 *     suffix: n u m "" k M G T P E | Ki Mi Gi Ti Pi Ei | e[+-]N  E[+-]N
 *
 * The grammar is the API server's with two exceptions: a number without a digit
 * ("Ki", ".") is an error, and an exponent beyond int32 is not truncated to its
 * low bits.
 *
 * Sums of quantities are exact and rounded once, so a quantity is stored in units
 * of 10^-9, the smallest suffix of Kubernetes; fractions of it are rounded up.
 * Values above NANO_MAX saturate, with any suffix; in Kubernetes only those with
 * binary suffixes do, and others wrap around. */
#ifndef MUSTER_FRONTEND_QUANTITY_H
#define MUSTER_FRONTEND_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __int128 nano_t;

#define NANO_MAX ((nano_t)INT64_MAX * 1000000000)

/* 0, or -EINVAL if it is not a quantity.  Rounds away from zero. */
int quantity_parse(const char *text, size_t bytes, nano_t *out);

/* a + b for values >= 0, at most NANO_MAX. */
nano_t quantity_add(nano_t a, nano_t b);

/* Whole units and thousandths, of a value >= 0: rounded up, at most INT64_MAX. */
int64_t quantity_value(nano_t q);
int64_t quantity_milli(nano_t q);

#endif
