/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a daemon: one of its allocations fails, once.  Which one is read from the file
 * that MUSTER_MEMORY names (tests/lib/shim.py), mapped, so that it can be set while the daemon runs
 * and is used up by the time the daemon is started again.
 *
 * Only calls from the program itself count: what libcurl or the C library do without memory is
 * theirs. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As tests/lib/shim.py writes it. */
struct orders {
	char program[32];        /* in which one */
	_Atomic uint32_t left;   /* the allocation that fails, from 1; 0: none */
	_Atomic uint32_t failed; /* how many did */
};

static struct orders *orders;
static uintptr_t text_from, text_to; /* the program's own code */

static int program_find(struct dl_phdr_info *info, size_t size, void *context)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		text_from = info->dlpi_addr + p->p_vaddr;
		text_to = text_from + p->p_memsz;
	}
	return 1; /* the first object is the program */
}

__attribute__((constructor)) static void shim_start(void)
{
	const char *path = getenv("MUSTER_MEMORY");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct orders *at = MAP_FAILED;

	dl_iterate_phdr(program_find, NULL);
	if (fd >= 0) {
		at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (at != MAP_FAILED)
		orders = at;
}

static bool fails(const void *caller)
{
	const uintptr_t from = (uintptr_t)caller;
	uint32_t left;

	if (!orders || from < text_from || from >= text_to ||
	    strcmp(orders->program, program_invocation_short_name) != 0)
		return false;
	left = atomic_load(&orders->left);
	while (left > 0)
		if (atomic_compare_exchange_weak(&orders->left, &left, left - 1))
			break;
	if (left != 1)
		return false;
	atomic_fetch_add(&orders->failed, 1);
	errno = ENOMEM;
	return true;
}

/* The one behind ours. */
#define NEXT(name)                                                                                 \
	static __typeof__(&name) next;                                                                 \
	if (!next)                                                                                     \
		next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                         \
	if (fails(__builtin_return_address(0)))                                                        \
		return NULL;

void *malloc(size_t bytes)
{
	NEXT(malloc)
	return next(bytes);
}

void *calloc(size_t n, size_t each)
{
	NEXT(calloc)
	return next(n, each);
}

void *realloc(void *old, size_t bytes)
{
	NEXT(realloc)
	return next(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	NEXT(aligned_alloc)
	return next(alignment, bytes);
}
