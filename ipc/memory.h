/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that does not fail: crash-only, as section 4 of docs/design.md has it.
 *
 * A process that gets no memory writes one line to standard error and ends with exit code 1; its
 * supervisor starts it again.  The API server keeps the truth and the peer sees the connection
 * close, so nothing is lost and nothing is half published.  Limits that are configured (-ENOSPC)
 * and records of the peer (-EPROTO) are errors of the caller as before.
 *
 * Free with free(). */
#ifndef MUSTER_IPC_MEMORY_H
#define MUSTER_IPC_MEMORY_H

#include <stddef.h>

/* Ends the process as above. */
_Noreturn void fatal_memory(void);

/* `last` is called before the process ends for want of memory, and logs it in place of the line on
 * standard error.  It must not allocate.  Before any thread; NULL: none. */
void memory_before_end(void (*last)(void));

void *must_alloc(size_t bytes);                 /* zeroed */
void *must_array(size_t n, size_t each);        /* zeroed; n of them */
void *must_aligned(size_t align, size_t bytes); /* zeroed; the address is a multiple of align */
char *must_copy(const char *text);
void *must_grow(void *items, size_t bytes); /* realloc(); what is new is not set */

/* Zeroed and on a cache line, for arrays as long as a limit: pages that are never touched take no
 * memory.  *memory is what to free. */
void *must_lines(size_t bytes, void **memory);

/* Grows an array from n items of `each` bytes to `to`, the new ones zeroed.  Returns where it is.
 */
void *must_extend(void *items, size_t n, size_t to, size_t each);

/* Grows `items` of `each` bytes until index `wanted` exists: *n of them afterwards, `first` at
 * least, the new ones zeroed.  Returns where they are now. */
void *must_reach(void *items, size_t *n, size_t wanted, size_t first, size_t each);

#endif
