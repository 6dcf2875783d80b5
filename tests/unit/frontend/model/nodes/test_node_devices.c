/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of nodes for their devices. */
#include "frontend/devices/live_impl.h"

#include "tests/unit/support_model.h"

static void start(void)
{
	start_model((struct model_config){ .limits = SMALL, .devices_live = true }, 1);
	put_object(
		resource_of("resource.k8s.io/v1", "ResourceSlice"),
		"{\"metadata\":{\"name\":\"all\",\"uid\":\"u\",\"resourceVersion\":\"%d\"},\"spec\":{\"driver\":\"d\","
		"\"pool\":{\"name\":\"net\",\"generation\":1,\"resourceSliceCount\":1},\"allNodes\":true,"
		"\"devices\":[{\"name\":\"f0\"}]}}",
		++s.version);
}

TestSuite(node_devices, .init = start, .fini = end);

static unsigned entries(void)
{
	const struct live *l = model_live(s.m);
	unsigned n = 0;

	for (size_t i = 0; i < l->nodes_n; i++)
		n += l->nodes[i] != NULL;
	return n;
}

/* Of devices of several nodes a node has an entry as long as the core has it, and another one when
 * it comes back. */
Test(node_devices, an_entry_goes_with_its_node)
{
	char name[16];
	unsigned records = 0;

	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "n%d", i % 20);
		put_object(RESOURCE_INDEX_NODES,
		           "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"},"
		           "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"pods\":\"10\"}}}",
		           name, i, ++s.version);
		records = flush();
		cr_expect_geq(records, 2, "the node and its devices, not %u", records);
		cr_expect_eq(entries(), 1);
		remove_object(RESOURCE_INDEX_NODES, name, "", 0);
		flush();
		cr_expect_eq(entries(), 0);
	}
	cr_expect_leq(model_live(s.m)->nodes_n, 256);
}
