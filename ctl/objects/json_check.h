/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first error of a JSON file.  frontend/json/json.h checks only brackets and quotes of
 * values that it skips. */
#ifndef MUSTER_CTL_JSON_CHECK_H
#define MUSTER_CTL_JSON_CHECK_H

/* The end of the value at p, after white space; NULL: *where is the first invalid byte (of a string
 * that is not UTF-8: its start), *what a static text. */
const char *json_check(const char *p, const char *end, const char **where, const char **what);

/* The first byte that is not white space. */
const char *json_blank(const char *p, const char *end);

#endif
