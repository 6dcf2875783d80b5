/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics counts of devices, claims and questions. */
#include "tests/unit/support_live.h"

#include "frontend/devices/figures.h"

TestSuite(figures, .init = begin, .fini = end);

static void slice(const char *driver, const char *where, const char *devices)
{
	char text[2048];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"s\",\"resourceVersion\":\"1\"},\"spec\":{"
		"\"driver\":\"%s\",\"pool\":{\"name\":\"p\",\"generation\":1,\"resourceSliceCount\":1},"
		"%s,\"devices\":[%s]}}",
		driver, driver, where, devices);
	put(LIVE_SLICES, text);
}

static void claim(const char *name, const char *device, const char *more)
{
	char text[1024], status[512] = "";

	if (device)
		snprintf(status, sizeof(status),
		         ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
		         "\"driver\":\"d\",\"pool\":\"p\",\"device\":\"%s\"%s}]}}}",
		         device, more);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"%s\"}}]}}%s}",
	         name, name, device ? "gpu" : more, status);
	put(LIVE_CLAIMS, text);
}

static void pod(uint32_t slot, const char *claim)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"p%u\",\"uid\":\"p%u\"},\"spec\":{"
	         "\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"%s\"}]}}",
	         slot, slot, claim);
	cr_assert(live_pod_set(l, slot, text, strlen(text)));
	judged(slot);
}

/* The nodes' records are made, by which devices are laid out. */
static void told(void)
{
	static uint64_t record[2048];
	uint32_t at;

	while ((at = live_node_next(l)) != UINT32_MAX) {
		cr_assert_leq(live_node_bytes(l, at), sizeof(record));
		live_node_write(l, at, 0, 1, record);
	}
}

static void states_are(const struct driver_figures *d, const uint64_t want[DEVICES_STATES])
{
	for (int k = 0; k < DEVICES_STATES; k++)
		cr_assert_eq(d->devices[k], want[k], "%s, state %d: %lu", d->name, k,
		             (unsigned long)d->devices[k]);
}

Test(figures, each_device_is_in_one_state)
{
	static struct device_figures f;

	slice("d", "\"nodeName\":\"n1\"",
	      "{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\",\"taints\":[{\"key\":\"k\","
	      "\"effect\":\"NoSchedule\"}]},{\"name\":\"e\",\"taints\":[{\"key\":\"k\","
	      "\"effect\":\"None\"}]},{\"name\":\"m\",\"allowMultipleAllocations\":true,"
	      "\"capacity\":{\"x\":{\"value\":\"4\"}}}");
	claim("one", "a", "");
	claim("two", "m", ",\"shareID\":\"s\",\"consumedCapacity\":{\"x\":\"1\"}");
	told();
	device_figures_read(&f, l);
	cr_assert_eq(f.drivers_n, 1);
	cr_assert_str_eq(f.drivers[0].name, "d");
	states_are(
		&f.drivers[0],
		(const uint64_t[DEVICES_STATES]){
			[DEVICES_FREE] = 2, [DEVICES_TAKEN] = 1, [DEVICES_SHARED] = 1, [DEVICES_TAINTED] = 1 });
	cr_assert_eq(f.claims, 2);
	cr_assert_eq(f.claims_allocated, 2);
}

/* Each node that such a slice selects lists its devices. */
Test(figures, devices_of_several_nodes_count_once)
{
	static struct device_figures f;

	live_node_seen(l, text_of("n1"), text_of("{}"));
	live_node_seen(l, text_of("n2"), text_of("{}"));
	slice("d", "\"allNodes\":true", "{\"name\":\"a\"},{\"name\":\"b\"}");
	claim("one", "b", "");
	told();
	device_figures_read(&f, l);
	cr_assert_eq(f.drivers_n, 1);
	states_are(&f.drivers[0],
	           (const uint64_t[DEVICES_STATES]){ [DEVICES_FREE] = 1, [DEVICES_TAKEN] = 1 });
}

Test(figures, drivers_beyond_those_that_are_shown_share_a_row)
{
	static struct device_figures f;
	char driver[16];

	for (unsigned i = 0; i < DRIVERS_SHOWN + 3; i++) {
		snprintf(driver, sizeof(driver), "d%02u", i);
		slice(driver, "\"nodeName\":\"n1\"", "{\"name\":\"a\"}");
	}
	told();
	device_figures_read(&f, l);
	cr_assert_eq(f.drivers_n, DRIVERS_SHOWN + 1);
	cr_assert_str_eq(f.drivers[DRIVERS_SHOWN].name, "(others)");
	cr_assert_eq(f.drivers[DRIVERS_SHOWN].devices[DEVICES_FREE], 3);
}

Test(figures, questions_are_asked_or_refused)
{
	static struct device_figures f;

	put(LIVE_CLASSES, "{\"metadata\":{\"name\":\"odd\",\"uid\":\"u2\",\"resourceVersion\":\"1\"},"
	                  "\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"isURL('a')\"}}]}}");
	claim("one", NULL, "gpu");
	claim("same", NULL, "gpu");
	claim("other", NULL, "odd");
	pod(0, "one");
	pod(1, "same");
	pod(2, "other");
	device_figures_read(&f, l);
	cr_assert_eq(f.questions, 2);
	cr_assert_eq(f.questions_refused, 1);
	cr_assert_eq(f.claims, 3);
	cr_assert_eq(f.claims_allocated, 0);
}
