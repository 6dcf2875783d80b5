/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as the API server reads and writes them. */
#ifndef MUSTER_APISIM_QUANTITY_H
#define MUSTER_APISIM_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#define AS_QUANTITY_BYTES 64

/* value x 10^-9.  Saturates near 1.2 x 10^21. */
struct as_quantity {
	__int128 nano;
	enum { AS_DECIMAL, AS_BINARY, AS_EXPONENT } format;
	bool as_written; /* the server answers with the very text it was given */
};

/* False when it is not a quantity. */
bool as_quantity_parse(const char *text, struct as_quantity *out);
/* The text that the server answers for `text`, as an element of a resource list:
 * canonical, and rounded up to a milli. */
void as_quantity_canonical(const char *text, const struct as_quantity *q,
                           char out[AS_QUANTITY_BYTES]);
/* Rounded up, saturated. */
int64_t as_quantity_milli(const struct as_quantity *q);
int64_t as_quantity_value(const struct as_quantity *q);

#endif
