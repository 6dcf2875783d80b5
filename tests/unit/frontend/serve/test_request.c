/* SPDX-License-Identifier: Apache-2.0 */
/* Which Host, Origin and Content-Type a request may have. */
#include "frontend/serve/request.h"
#include "tests/unit/test.h"

Test(request, hosts)
{
	static const char *const names[] = { "muster.muster-system.svc" };
	static const struct {
		const char *host;
		bool allowed;
	} cases[] = {
		{ "127.0.0.1:10261", true },
		{ "localhost", true },
		{ "LOCALHOST:1", true },
		{ "[::1]:10261", true },
		{ "10.1.2.3:10261", true }, /* a pod's or Service's address can't be rebound */
		{ "[fd00::1]", true },
		{ "muster.muster-system.svc:10261", true },
		{ "Muster.muster-system.SVC", true },
		{ "evil.example", false },
		{ "evil.example:10261", false },
		{ "127.0.0.1.evil.example", false },
		{ "localhost.evil.example", false },
		{ "localhost:1@evil.example", false },
		{ "muster.muster-system.svc.evil.example", false },
		{ "127.0.0.1:", true },
		{ "127.0.0.1:80:80", false },
		{ "[::1", false },
		{ "[::1]x", false },
		{ "::1", false },
		{ "", false },
		{ ":10261", false },
		{ NULL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(request_host_is_allowed(cases[i].host, names, 1), cases[i].allowed, "%s",
		             cases[i].host ? cases[i].host : "none");
}

Test(request, origins)
{
	cr_assert(request_origin_is_own("http://127.0.0.1:10261", "127.0.0.1:10261"));
	cr_assert(request_origin_is_own("https://LOCALHOST", "localhost"));
	cr_assert(!request_origin_is_own("http://127.0.0.1:3000", "127.0.0.1:10261"));
	cr_assert(!request_origin_is_own("http://evil.example", "127.0.0.1:10261"));
	cr_assert(!request_origin_is_own("null", "null"));
	cr_assert(!request_origin_is_own("", ""));
	cr_assert(!request_origin_is_own("http://a", NULL));
}

Test(request, types)
{
	cr_assert(request_type_is_json("application/json"));
	cr_assert(request_type_is_json("Application/JSON; charset=utf-8"));
	cr_assert(!request_type_is_json("text/plain"));
	cr_assert(!request_type_is_json("application/jsonp"));
	cr_assert(!request_type_is_json("text/plain; application/json"));
	cr_assert(!request_type_is_json(NULL));
}
