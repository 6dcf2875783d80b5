/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small JSON documents sequentially. */
#ifndef MUSTER_FRONTEND_JSONOUT_H
#define MUSTER_FRONTEND_JSONOUT_H

#include <stddef.h>

/* All zero is empty; `at` is terminated after the first jsonout_add(). */
struct jsonout {
	char *at;
	size_t bytes;
	size_t cap;
};

/* The format writes JSON itself; these letters take an argument each:
 *
 *   @s  const char *  a string, quoted, without what ipc/clean.h hides
 *   @b  const char *  its beginning, cut to 1,024 bytes, with " ..." when cut
 *   @u  unsigned long long
 *   @r  const char *  as it is
 *   @p  const char *  escaped as one segment of a path
 */
void jsonout_add(struct jsonout *out, const char *format, ...);
void jsonout_clear(struct jsonout *out); /* keeps the memory */
void jsonout_free(struct jsonout *out);

#endif
