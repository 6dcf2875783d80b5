/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger of which only what was made can be touched: anything else ends the test with SIGSEGV. */
#ifndef MUSTER_TESTS_SUPPORT_LEDGER_H
#define MUSTER_TESTS_SUPPORT_LEDGER_H

#include "core/step/core.h"
#include "tests/unit/test.h"

#include <sys/mman.h>

static inline int guarded_make(struct ledger *ledger, uint64_t offset, uint64_t bytes)
{
	cr_assert_eq(mprotect((char *)ledger + offset, (size_t)bytes, PROT_READ | PROT_WRITE), 0);
	return 0;
}

static inline struct ledger *guarded_new(const struct limits *limits)
{
	void *memory = mmap(NULL, (size_t)core_ledger_bytes(limits, NULL), PROT_NONE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	guarded_make(memory, 0, core_ledger_bytes_first(limits));
	return memory;
}

static inline void guarded_free(struct ledger *ledger)
{
	munmap(ledger, (size_t)ledger->head.bytes);
}

#endif
