/* Quantities as the API server reads and writes them. */
#ifndef MUSTER_APISIM_QUANTITY_H
#define MUSTER_APISIM_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mantissa x 10^-9, exact to that unit; saturates at what 128 bit hold. */
struct as_quantity {
	__int128 nano;
	enum { AS_DECIMAL, AS_BINARY, AS_EXPONENT } format;
};

/* False when it is not a quantity. */
bool as_quantity_parse(const char *text, struct as_quantity *out);
/* Canonical text, as the server answers it; out has room for 64 bytes. */
void as_quantity_print(const struct as_quantity *q, char out[64]);
/* Rounded up, saturated. */
int64_t as_quantity_milli(const struct as_quantity *q);
int64_t as_quantity_value(const struct as_quantity *q);

#endif
