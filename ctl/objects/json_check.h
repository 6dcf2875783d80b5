/* SPDX-License-Identifier: Apache-2.0 */
/* Is a text JSON, every byte of it?  The model's scanner skips what it does not
 * need; a file given by hand deserves the place of its first mistake. */
#ifndef MUSTER_CTL_JSON_CHECK_H
#define MUSTER_CTL_JSON_CHECK_H

/* Past the value that p begins with (white space allowed before it), or NULL: then
 * *where is the first byte that is wrong and *what a static text. */
const char *json_check(const char *p, const char *end, const char **where, const char **what);

/* Past white space. */
const char *json_blank(const char *p, const char *end);

#endif
