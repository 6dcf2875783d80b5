/* SPDX-License-Identifier: Apache-2.0 */
/* Validates JSON, every byte of it. The model's scanner skips what it does not need; of a file
 * given by hand the place of the first error is reported. */
#ifndef MUSTER_CTL_JSON_CHECK_H
#define MUSTER_CTL_JSON_CHECK_H

/* The end of the value that begins at p (white space allowed before it), or NULL: then *where is
 * the first invalid byte and *what a static text. */
const char *json_check(const char *p, const char *end, const char **where, const char **what);

/* Skips white space. */
const char *json_blank(const char *p, const char *end);

#endif
