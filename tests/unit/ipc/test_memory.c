/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that does not fail; fault 7 shows how a daemon ends without memory. */
#include "ipc/memory.h"

#include "tests/unit/test.h"

Test(memory, is_zeroed_and_grows)
{
	size_t n = 0;
	char *items = must_reach(NULL, &n, 5, 4, 3), *copy = must_copy("text");
	unsigned char *aligned = must_aligned(64, 100);
	void *memory;
	unsigned char *lines = must_lines(100, &memory);

	cr_assert_eq(n, 8);
	for (size_t i = 0; i < n * 3; i++)
		cr_assert_eq(items[i], 0);
	memset(items, 1, n * 3);
	items = must_reach(items, &n, 7, 4, 3);
	cr_assert_eq(n, 8);
	items = must_reach(items, &n, 8, 4, 3);
	cr_assert_eq(n, 16);
	cr_assert(items[23] == 1 && items[24] == 0);
	cr_assert_str_eq(copy, "text");
	cr_assert_eq((uintptr_t)aligned % 64, 0);
	cr_assert_eq(aligned[99], 0);
	cr_assert_eq((uintptr_t)lines % 64, 0);
	cr_assert_eq(lines[99], 0);
	lines[99] = 1;
	free(items);
	free(copy);
	free(aligned);
	free(memory);
	free(must_array(0, 8));
}
