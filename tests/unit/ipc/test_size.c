/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/size.h"

#include "tests/unit/test.h"

Test(size, is_a_number_with_a_suffix)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1073741824", UINT64_C(1) << 30 },
		{ "1Gi", UINT64_C(1) << 30 },
		{ "1024Mi", UINT64_C(1) << 30 },
		{ "4Ki", 4096 },
		{ "2Ti", UINT64_C(1) << 41 },
		{ "3k", 3000 },
		{ "500M", 500000000 },
		{ "2G", 2000000000 },
		{ "1T", UINT64_C(1000000000000) },
		{ "18446744073709551615", UINT64_MAX },
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_expect(size_read(good[i].text, &bytes), "%s", good[i].text);
		cr_expect_eq(bytes, good[i].bytes, "%s", good[i].text);
	}
}

Test(size, is_nothing_else)
{
	static const char *const bad[] = {
		"",
		"Gi",
		" 1",
		"1 Gi",
		"-1",
		"+1",
		"0x10",
		"1.5Gi",
		"1gi",
		"1KI",
		"1GiB",
		"18446744073709551616",
		"1e9",
		"1K",
		"16777216Ti",
		"1\n",
		"99999999999999999999999",
	};
	uint64_t bytes = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect(!size_read(bad[i], &bytes), "%s", bad[i]);
	cr_expect_eq(bytes, 7);
}
