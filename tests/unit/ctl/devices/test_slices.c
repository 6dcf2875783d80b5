/* SPDX-License-Identifier: Apache-2.0 */
/* Devices from ResourceSlices, and the claims that hold them. */
#include "ctl/devices/slices.h"

#include "tests/unit/test.h"

#define SLICE(generation, devices)                                                                 \
	"{\"spec\":{\"devices\":[" devices "],\"driver\":\"d.io\",\"nodeName\":\"n1\","                \
	"\"pool\":{\"name\":\"p\",\"generation\":" generation "}}}"

static void put(struct slices *s, const char *kind, const char *json)
{
	char error[512] = "";

	cr_assert(slices_put(s, "resource.k8s.io/v1", kind, text_of(json), error, sizeof(error)), "%s",
	          error);
}

static void refuse(const char *devices, const char *wanted)
{
	struct slices *s = slices_new();
	char error[512] = "", json[512];

	snprintf(json, sizeof(json),
	         "{\"spec\":{\"driver\":\"d.io\",\"pool\":{\"name\":\"p\"},\"devices\":[%s]}}",
	         devices);
	cr_assert(
		!slices_put(s, "resource.k8s.io/v1", "ResourceSlice", text_of(json), error, sizeof(error)));
	cr_expect_str_eq(error, wanted);
	slices_free(s);
}

Test(slices, only_the_newest_generation_counts)
{
	struct slices *s = slices_new();
	const struct slice_device *d;
	size_t n;

	put(s, "ResourceSlice", SLICE("1", "{\"name\":\"old\"}"));
	put(s, "ResourceSlice", SLICE("3", "{\"name\":\"b\"}"));
	put(s, "ResourceSlice", SLICE("2", "{\"name\":\"older\"}"));
	put(s, "ResourceSlice",
	    SLICE("3", "{\"name\":\"a\",\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}"));
	d = slices_devices(s, &n);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(d[0].id, "d.io/p/a");
	cr_expect_str_eq(d[1].id, "d.io/p/b");
	cr_expect_str_eq(d[0].node, "n1");
	cr_expect(d[0].tainted);
	cr_expect(!d[1].tainted);
	slices_free(s);
}

Test(slices, claims_that_hold_a_device)
{
	static const char claim[] =
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"c\"},\"status\":{\"allocation\":{\"devices\":{\"results\":"
		"[{\"driver\":\"d.io\",\"pool\":\"p\",\"device\":\"a\"},{\"driver\":\"d.io\",\"pool\":\"p\",\"device\":\"x\"}]}}}}";
	struct slices *s = slices_new();
	const struct slice_device *d;
	size_t n;

	put(s, "ResourceClaim", claim);
	put(s, "ResourceSlice", SLICE("1", "{\"name\":\"a\"},{\"name\":\"b\"}"));
	d = slices_devices(s, &n);
	cr_assert_eq(n, 2);
	cr_assert_eq(d[0].claims_n, 1);
	cr_expect_str_eq(d[0].claims[0], "ns/c");
	cr_expect_eq(d[1].claims_n, 0);
	slices_free(s);
}

Test(slices, names_without_a_domain_are_the_drivers)
{
	struct slices *s = slices_new();
	const struct slice_device *d;
	size_t n;

	put(s, "ResourceSlice",
	    SLICE(
			"1",
			"{\"name\":\"a\",\"attributes\":{\"x\":{\"int\":-4},\"o.io/y\":{\"version\":\"1.2.3\"}},"
			"\"capacity\":{\"m\":{\"value\":\"2Gi\"}},\"allowMultipleAllocations\":true}"));
	d = slices_devices(s, &n);
	cr_assert_eq(n, 1);
	cr_assert_eq(d[0].device.attributes_n, 2);
	cr_expect(text_is(d[0].device.attributes[0].domain, "d.io"));
	cr_expect_eq(d[0].device.attributes[0].number, -4);
	cr_expect(text_is(d[0].device.attributes[1].domain, "o.io"));
	cr_expect(text_is(d[0].device.attributes[1].name, "y"));
	cr_expect_eq(d[0].device.attributes[1].version.number[1], 2);
	cr_assert_eq(d[0].device.capacities_n, 1);
	cr_expect(d[0].device.capacities[0].value.nano == (nano_t)2147483648 * 1000000000);
	cr_expect(d[0].device.allow_multiple_allocations);
	slices_free(s);
}

Test(slices, bad_values_are_named)
{
	refuse(
		"{\"name\":\"a\",\"attributes\":{\"x\":{\"version\":\"1.2\"}}}",
		"spec.devices[0].attributes[\"x\"].version: \"1.2\" is not a version: No Major.Minor.Patch elements found");
	refuse("{\"name\":\"a\",\"attributes\":{\"x\":{}}}",
	       "spec.devices[0].attributes[\"x\"]: has none of int, bool, string and version");
	refuse(
		"{\"name\":\"a\"},{\"name\":\"b\",\"capacity\":{\"m\":{\"value\":\"2Q\"}}}",
		"spec.devices[1].capacity[\"m\"].value: \"2Q\" is not a quantity: quantities must match the regular "
		"expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	refuse("{}", "spec.devices[0]: name is missing");
}
