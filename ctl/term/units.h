/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts for people. */
#ifndef MUSTER_CTL_UNITS_H
#define MUSTER_CTL_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* cpu in cores ("1.5"), bytes in Ki, Mi, Gi ("7.5Gi"), anything else as a number. `name` is the
 * resource's. Returns out. */
const char *units_amount(uint32_t resource, const char *name, int64_t value, char *out,
                         size_t out_bytes);

/* Of the numbers in JSON: "milli" of a core, "bytes", or "count". */
const char *units_of(uint32_t resource, const char *name);

/* "12s", "5m", "3h", "2d". */
const char *units_age(uint64_t ns, char *out, size_t out_bytes);

#endif
