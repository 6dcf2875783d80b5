/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities, as kube-apiserver 1.36.3 answered them. */
#include "tests/apisim/quantity.h"
#include "tests/unit/test.h"

Test(apisim_quantity, canonical_texts)
{
	static const char *const cases[][2] = {
		{ "0.5", "500m" },      { "1000m", "1" },      { "1024Mi", "1Gi" },
		{ "1e3", "1e3" },       { "12E", "12E" },      { "0.1m", "1m" },
		{ "1500Mi", "1500Mi" }, { "1.5Gi", "1536Mi" }, { "+1", "+1" },
		{ "0", "0" },           { "100n", "1m" },      { "123456789", "123456789" },
		{ "2000k", "2M" },      { "1.25Ki", "1280" },  { "1E3", "1E3" },
		{ "4096Ki", "4Mi" },    { "1e-3", "1e-3" },    { ".5", "500m" },
		{ "5.", "5." },         { "Gi", "0" },         { "00", "0" },
		{ "-1", "-1" },         { "0.5Ki", "512" },    { "1.5", "1500m" },
		{ "100000", "100k" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[AS_QUANTITY_BYTES];
		struct as_quantity q;

		cr_assert(as_quantity_parse(cases[i][0], &q), "%s", cases[i][0]);
		as_quantity_canonical(cases[i][0], &q, out);
		cr_expect_str_eq(out, cases[i][1], "%s: %s instead of %s", cases[i][0], out, cases[i][1]);
	}
}

Test(apisim_quantity, not_quantities)
{
	static const char *const bad[] = { "",   "abc",  "1 Gi", "1GiB",  "--1",  "1.2.3",
		                               "1e", "0x10", "1i",   "1e1.5", "1Mi1", " 1" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct as_quantity q;

		cr_expect_not(as_quantity_parse(bad[i], &q), "%s", bad[i]);
	}
}

Test(apisim_quantity, numbers_round_up_and_saturate)
{
	static const struct {
		const char *text;
		int64_t milli, value;
	} cases[] = {
		{ "1", 1000, 1 },
		{ "1m", 1, 1 },
		{ "1n", 1, 1 },
		{ "1001m", 1001, 2 },
		{ "1Gi", INT64_C(1073741824000), 1073741824 },
		{ "8Ei", INT64_MAX, INT64_MAX },
		{ "100E", INT64_MAX, INT64_MAX },
		{ "1e400", INT64_MAX, INT64_MAX },
		{ "1e-400", 1, 1 },
		{ "-1500m", -1500, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct as_quantity q;

		cr_assert(as_quantity_parse(cases[i].text, &q), "%s", cases[i].text);
		cr_expect_eq(as_quantity_milli(&q), cases[i].milli, "%s", cases[i].text);
		cr_expect_eq(as_quantity_value(&q), cases[i].value, "%s", cases[i].text);
	}
}
