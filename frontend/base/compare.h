/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the API that are compared as numbers. */
#ifndef MUSTER_FRONTEND_COMPARE_H
#define MUSTER_FRONTEND_COMPARE_H

#include "frontend/base/arena.h"

#include <stdint.h>

/* The text as an integer of Go's strconv.ParseInt, or LABEL_NOT_A_NUMBER. */
int64_t label_number(struct text t);

/* Negative if version a is older than b. Decimal numbers of any length; "" is never older. */
int version_compare(struct text a, struct text b);

#endif
