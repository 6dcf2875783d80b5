/* SPDX-License-Identifier: Apache-2.0 */
/* What allocated claims have beyond what there is: devices, capacities and counters. */
#include "frontend/devices/devices.h"
#include "tests/unit/test.h"

static struct devices *d;

static void begin(void)
{
	d = devices_new();
}

static void end(void)
{
	devices_free(d);
}

TestSuite(excess, .init = begin, .fini = end);

static void put(const char *kind, const char *json)
{
	char error[400] = "";

	cr_assert(devices_put(d, kind, json, strlen(json), error, sizeof(error)), "%s", error);
}

static void slice(const char *name, int generation, const char *rest)
{
	char json[2000];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"driver\":\"d\",\"nodeName\":\"n\",\"pool\":"
		"{\"name\":\"p\",\"generation\":%d,\"resourceSliceCount\":1},%s}}",
		name, generation, rest);
	put("ResourceSlice", json);
}

/* `results`: "device" and more members of each, without the braces. */
static void claim(const char *name, const char *result)
{
	char json[2000];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\"},\"spec\":{\"devices\":{\"requests\":["
		"{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"c\"}}]}},\"status\":{\"allocation\":{"
		"\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"p\",%s}]}}}}",
		name, result);
	put("ResourceClaim", json);
}

/* "of: what: claims; ..." */
static const char *found(void)
{
	static char out[2000];
	size_t n;
	struct devices_excess *all = devices_excesses(d, &n);

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s: %s", i > 0 ? "; " : "",
		         all[i].of, all[i].what);
		for (size_t k = 0; k < all[i].claims_n; k++)
			snprintf(out + strlen(out), sizeof(out) - strlen(out), " %s", all[i].claims[k]);
	}
	free(all);
	return out;
}

Test(excess, a_device_in_two_claims)
{
	slice("s", 1, "\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}]");
	claim("x", "\"device\":\"a\"");
	claim("y", "\"device\":\"b\"");
	claim("admin", "\"device\":\"a\",\"adminAccess\":true");
	claim("gone", "\"device\":\"z\"");
	cr_assert_str_eq(found(), "");
	claim("z", "\"device\":\"b\"");
	cr_assert_str_eq(found(), "d/p/b: allocated more than once ns/y ns/z");
}

Test(excess, a_share_of_a_device_that_a_claim_has_as_a_whole)
{
	slice("s", 1, "\"devices\":[{\"name\":\"a\",\"allowMultipleAllocations\":true}]");
	claim("x", "\"device\":\"a\",\"shareID\":\"1\"");
	claim("y", "\"device\":\"a\",\"shareID\":\"2\"");
	cr_assert_str_eq(found(), "");
	claim("z", "\"device\":\"a\"");
	cr_assert_str_eq(found(), "d/p/a: allocated more than once ns/x ns/y ns/z");
}

Test(excess, shares_above_the_capacity)
{
	slice(
		"s", 1,
		"\"devices\":[{\"name\":\"a\",\"allowMultipleAllocations\":true,\"capacity\":{\"memory\":{"
		"\"value\":\"40\"}}}]");
	claim("x", "\"device\":\"a\",\"shareID\":\"1\",\"consumedCapacity\":{\"memory\":\"30\"}");
	claim("y", "\"device\":\"a\",\"shareID\":\"2\",\"consumedCapacity\":{\"memory\":\"10\"}");
	cr_assert_str_eq(found(), "");
	claim("z", "\"device\":\"a\",\"shareID\":\"3\",\"consumedCapacity\":{\"memory\":\"500m\"}");
	cr_assert_str_eq(found(), "d/p/a: capacity memory: 40500m of 40 ns/x ns/y ns/z");
}

Test(excess, partitions_above_a_counter_of_the_newest_generation)
{
	slice("old", 1,
	      "\"sharedCounters\":[{\"name\":\"g\",\"counters\":{\"slices\":{\"value\":\"1\"}}}]");
	slice("counters", 2,
	      "\"sharedCounters\":[{\"name\":\"g\",\"counters\":{\"slices\":{\"value\":\"7\"}}}]");
	slice("devices", 2,
	      "\"devices\":["
	      "{\"name\":\"a\",\"consumesCounters\":[{\"counterSet\":\"g\",\"counters\":{\"slices\":{"
	      "\"value\":\"4\"}}}]},"
	      "{\"name\":\"b\",\"consumesCounters\":[{\"counterSet\":\"g\",\"counters\":{\"slices\":{"
	      "\"value\":\"3\"}}}]},"
	      "{\"name\":\"c\",\"consumesCounters\":[{\"counterSet\":\"g\",\"counters\":{\"slices\":{"
	      "\"value\":\"1\"}}}]}]");
	claim("x", "\"device\":\"a\"");
	claim("y", "\"device\":\"b\"");
	cr_assert_str_eq(found(), "");
	claim("z", "\"device\":\"c\"");
	cr_assert_str_eq(found(), "d/p: counter g/slices: 8 of 7");
}
