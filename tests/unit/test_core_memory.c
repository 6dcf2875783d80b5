/* Every allocation of the core fails once while it is told of pods, rules between them, nodes and
 * namespaces: it says so, every sum holds, and the same record again is taken. */
#include "support_census.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 1500

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_FAIL false
static long fail_in = -1;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_FAIL false
static long fail_in = -1;
#endif
#endif

#ifndef CAN_FAIL
#define CAN_FAIL true

/* This program's own allocator: glibc's, but for the one call that fails. */
static long fail_in = -1; /* -1: none */

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
	return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	*out = __libc_memalign(alignment, bytes);
	return *out ? 0 : ENOMEM;
}

void free(void *p)
{
	__libc_free(p);
}
#endif

Test(memory, every_allocation_fails_once)
{
	static struct model m = { .feeding = FEED_FAILING, .fail_in = &fail_in };

	if (!CAN_FAIL)
		return; /* the suite runs the plain build as well */
	model_begin(&m, "memory");
	for (int i = 0; i < STEPS; i++)
		model_step(&m);
	fprintf(stderr, "memory: %u allocations failed\n", m.failed);
	cr_assert_gt(m.failed, STEPS);
	model_end(&m);
}
