/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts are this one, by address. */
#include "frontend/base/loopback.h"
#include "tests/unit/test.h"

Test(loopback, by_address_and_not_by_prefix)
{
	static const struct {
		const char *host;
		bool address, loopback;
	} cases[] = {
		{ "127.0.0.1", true, true },
		{ "127.255.0.3", true, true },
		{ "::1", true, true },
		{ "[::1]", true, true },
		{ "::ffff:127.0.0.1", true, true },
		{ "localhost", false, true },
		{ "LocalHost", false, true },
		{ "10.0.0.1", true, false },
		{ "[fd00::1]", true, false },
		{ "::ffff:10.0.0.1", true, false },
		{ "127.1", false, false },
		{ "127.evil.example", false, false },
		{ "localhost.evil.example", false, false },
		{ "localhost.", false, false },
		{ "", false, false },
		{ "[]", false, false },
		{ "[::1", false, false },
		{ "::1]", false, false },
		{ "0127.0.0.1", false, false },
		{ "0000:0000:0000:0000:0000:0000:0000:0000:0000:0001", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(host_is_address(cases[i].host), cases[i].address, "%s", cases[i].host);
		cr_assert_eq(host_is_loopback(cases[i].host), cases[i].loopback, "%s", cases[i].host);
	}
}
