/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the JSON scanner: find the next byte that matters. */
#ifndef MUSTER_FRONTEND_JSON_SCAN_H
#define MUSTER_FRONTEND_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* The first of p..end that is a quote, a backslash, a control byte or not
 * ASCII; `end` when there is none. */
const char *scan_text(const char *p, const char *end);

/* Past the closing quote of the string that p is in, or NULL when it is cut off. */
const char *scan_string(const char *p, const char *end);

/* Past the container that opens at p, or NULL: cut off, brackets that don't
 * match, or nested deeper than `depth`. */
const char *scan_container(const char *p, const char *end, unsigned depth);

/* The first byte that is no digit. */
const char *scan_digits(const char *p, const char *end);

/* Is this text UTF-8 as Unicode defines it (shortest form, no surrogates)? */
bool scan_utf8(const char *p, const char *end);

/* Take out of the terminated text what is no UTF-8: a character that it was cut in.  How many
 * bytes. */
size_t scan_drop_broken(char *text);

#endif
