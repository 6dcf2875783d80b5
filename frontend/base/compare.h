/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the API that are compared as numbers. */
#ifndef MUSTER_FRONTEND_COMPARE_H
#define MUSTER_FRONTEND_COMPARE_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* The whole text as Go's strconv.ParseInt reads it in base 10: a sign or none, and digits.  False:
 * it is no number, or one of more than 64 bits. */
bool int64_parse(struct text t, int64_t *out);

/* The same of a label's value, or LABEL_NOT_A_NUMBER. */
int64_t label_number(struct text t);

/* Negative if version a is older than b. Decimal numbers of any length; "" is never older. */
int version_compare(struct text a, struct text b);

/* Binary search: the index of `name` among the n names in rising order that at(items, 0) and so on
 * are; SIZE_MAX: it is not there. */
size_t names_find(const char *name, size_t n, const char *(*at)(const void *items, size_t i),
                  const void *items);

#endif
