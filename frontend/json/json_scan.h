/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the JSON scanner. */
#ifndef MUSTER_FRONTEND_JSON_SCAN_H
#define MUSTER_FRONTEND_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte of p..end that is a quote, a backslash, a control byte or not
 * ASCII; `end` if there is none. */
const char *scan_text(const char *p, const char *end);

/* The byte after the closing quote of the string that p is in; NULL if it is cut off. */
const char *scan_string(const char *p, const char *end);

/* The byte after the container that opens at p; NULL if it is cut off or its brackets do
 * not match.  It may be nested to any depth; below 64 levels brackets are only counted. */
const char *scan_container(const char *p, const char *end);

/* The first byte that is not a digit. */
const char *scan_digits(const char *p, const char *end);

/* True if the text is UTF-8 as Unicode defines it: shortest forms, no surrogates. */
bool scan_utf8(const char *p, const char *end);

/* Removes bytes that are not UTF-8, such as a truncated character, from the terminated text.
 * Returns how many. */
size_t scan_drop_broken(char *text);

/* Writes a character of Unicode as UTF-8; returns its bytes, 4 at most. */
size_t utf8_put(char *to, uint32_t c);

#endif
