/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices of ResourceSlices, and the claims that hold them. */
#include "frontend/cel/cel.h"
#include "frontend/devices/devices.h"

#include "tests/unit/test.h"

#define SLICE(generation, devices)                                                                 \
	"{\"spec\":{\"devices\":[" devices "],\"driver\":\"d.io\",\"nodeName\":\"n1\","                \
	"\"pool\":{\"name\":\"p\",\"generation\":" generation "}}}"

static void put(struct devices *d, const char *kind, const char *json)
{
	char error[512] = "";

	cr_assert(devices_put(d, kind, json, strlen(json), error, sizeof(error)), "%s", error);
}

static void refuse(const char *devices, const char *wanted)
{
	struct devices *d = devices_new();
	char error[512] = "", json[512];

	snprintf(json, sizeof(json),
	         "{\"spec\":{\"driver\":\"d.io\",\"pool\":{\"name\":\"p\"},\"devices\":[%s]}}",
	         devices);
	cr_assert(!devices_put(d, "ResourceSlice", json, strlen(json), error, sizeof(error)));
	cr_expect_str_eq(error, wanted);
	devices_free(d);
}

Test(devices_list, only_the_newest_generation_counts)
{
	struct devices *d = devices_new();
	struct devices_row *rows;
	size_t n;

	put(d, "ResourceSlice", SLICE("1", "{\"name\":\"old\"}"));
	put(d, "ResourceSlice", SLICE("3", "{\"name\":\"b\"}"));
	put(d, "ResourceSlice", SLICE("2", "{\"name\":\"older\"}"));
	put(d, "ResourceSlice",
	    SLICE("3", "{\"name\":\"a\",\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}"));
	rows = devices_list(d, &n);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(rows[0].id, "d.io/p/a");
	cr_expect_str_eq(rows[1].id, "d.io/p/b");
	cr_expect_str_eq(rows[0].node, "n1");
	cr_expect(rows[0].tainted);
	cr_expect(!rows[1].tainted);
	free(rows);
	devices_free(d);
}

Test(devices_list, claims_that_hold_a_device)
{
	static const char claim[] =
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"c\"},\"status\":{\"allocation\":{\"devices\":{\"results\":"
		"[{\"driver\":\"d.io\",\"pool\":\"p\",\"device\":\"a\"},{\"driver\":\"d.io\",\"pool\":\"p\",\"device\":\"x\"}]}}}}";
	struct devices *d = devices_new();
	struct devices_row *rows;
	size_t n;

	put(d, "ResourceClaim", claim);
	put(d, "ResourceSlice", SLICE("1", "{\"name\":\"a\"},{\"name\":\"b\"}"));
	rows = devices_list(d, &n);
	cr_assert_eq(n, 2);
	cr_assert_eq(rows[0].claims_n, 1);
	cr_expect_str_eq(rows[0].claims[0], "ns/c");
	cr_expect_eq(rows[1].claims_n, 0);
	free(rows);
	devices_free(d);
}

Test(devices_list, names_without_a_domain_are_the_drivers)
{
	struct devices *d = devices_new();
	struct devices_row *rows;
	const struct cel_device *a;
	size_t n;

	put(d, "ResourceSlice",
	    SLICE(
			"1",
			"{\"name\":\"a\",\"attributes\":{\"x\":{\"int\":-4},\"o.io/y\":{\"version\":\"1.2.3\"}},"
			"\"capacity\":{\"m\":{\"value\":\"2Gi\"}},\"allowMultipleAllocations\":true}"));
	rows = devices_list(d, &n);
	cr_assert_eq(n, 1);
	a = rows[0].device;
	cr_assert_eq(a->attributes_n, 2);
	cr_expect(text_is(a->attributes[0].domain, "d.io"));
	cr_expect_eq(a->attributes[0].number, -4);
	cr_expect(text_is(a->attributes[1].domain, "o.io"));
	cr_expect(text_is(a->attributes[1].name, "y"));
	cr_expect_eq(a->attributes[1].version.number[1], 2);
	cr_assert_eq(a->capacities_n, 1);
	cr_expect(a->capacities[0].value.nano == (nano_t)2147483648 * 1000000000);
	cr_expect(a->allow_multiple_allocations);
	free(rows);
	devices_free(d);
}

Test(devices_list, bad_values_are_named)
{
	refuse(
		"{\"name\":\"a\",\"attributes\":{\"x\":{\"version\":\"1.2\"}}}",
		"spec.devices.attributes[x].version: 1.2 is not a version: No Major.Minor.Patch elements found");
	refuse("{\"name\":\"a\"},{\"name\":\"b\",\"capacity\":{\"m\":{\"value\":\"2Q\"}}}",
	       "spec.devices.capacity[m].value: \"2Q\" is not a quantity");
	refuse("{}", "spec.devices[0].name: is missing");
}
