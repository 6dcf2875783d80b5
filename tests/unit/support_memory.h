/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator of the program that includes this: glibc's, but for the one call that is
 * to fail.  Sanitizers bring their own: there CAN_FAIL is false. */
#ifndef MUSTER_TESTS_SUPPORT_MEMORY_H
#define MUSTER_TESTS_SUPPORT_MEMORY_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

/* Calls that go well before one fails; -1: none does. */
static long fail_in = -1;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_FAIL false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_FAIL false
#endif
#endif

#ifndef CAN_FAIL
#define CAN_FAIL true

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *p);

static bool fails(void)
{
	return fail_in >= 0 && fail_in-- == 0;
}

void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	return fails() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	*out = fails() ? NULL : __libc_memalign(alignment, bytes);
	return *out ? 0 : ENOMEM;
}

void free(void *p)
{
	__libc_free(p);
}
#endif

#endif
