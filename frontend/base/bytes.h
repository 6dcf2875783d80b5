/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that grows.  All zero is empty; `at` is not terminated.  Memory: ipc/memory.h. */
#ifndef MUSTER_FRONTEND_BYTES_H
#define MUSTER_FRONTEND_BYTES_H

#include <stddef.h>

struct bytes {
	char *at;
	size_t n;
	size_t cap;
};

/* Space for `more` bytes behind the n there are; n is unchanged.  Good until the next call. */
char *bytes_room(struct bytes *b, size_t more);

void bytes_add(struct bytes *b, const void *from, size_t n);
void bytes_put(struct bytes *b, const char *text);

/* A JSON string with its quotes; text is UTF-8. */
void bytes_quote(struct bytes *b, const char *text, size_t n);
/* The same of a text to be shown: ipc/clean.h. */
void bytes_quote_clean(struct bytes *b, const char *text, size_t n);

void bytes_free(struct bytes *b);

#endif
