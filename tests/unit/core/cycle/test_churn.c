/* SPDX-License-Identifier: Apache-2.0 */
/* Capacity changes all the time, while pods wait whose views are expensive to bring up to date. */
#include "core/step/core.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/test.h"

enum { NODES = 5000, KINDS = 40, CHANGES = 100, WAITS_FROM = 900, COMES_FROM = 400 };
enum { SHAPE_SMALL, SHAPE_WEIGHED };

static uint32_t binds;

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	binds += kind == CMD_BIND;
	return true;
}

static void feed(struct core *c, enum record_kind kind, const void *body, size_t bytes)
{
	static alignas(8) unsigned char buffer[1024];
	static uint64_t time_ns = 1000;
	struct record *r = (void *)buffer;

	cr_assert(bytes % 8 == 0 && sizeof(*r) + bytes <= sizeof(buffer));
	*r = (struct record){ .bytes = (uint32_t)(sizeof(*r) + bytes),
		                  .kind = (uint16_t)kind,
		                  .epoch = 1,
		                  .time_ns = time_ns += 1000 };
	if (bytes > 0)
		memcpy(r + 1, body, bytes);
	cr_assert_eq(core_step(c, r), 0, "%s", core_fault(c));
}

static void node(struct core *c, uint32_t id)
{
	struct {
		struct event_node e;
		struct amount amounts[2];
		char name[8];
	} n = { .e = { .node = id,
		           .generation = 1,
		           .flags = NODE_PRESENT,
		           .name_bytes = 6,
		           .amounts_n = 2 },
		    .amounts = { { .resource = RESOURCE_CPU, .value = 4000 },
		                 { .resource = RESOURCE_PODS, .value = 110 } } };

	snprintf(n.name, sizeof(n.name), "n%05u", id % 100000);
	feed(c, EVENT_NODE, &n, sizeof(n));
}

/* With a preference all nodes are scored against each other. */
static void shape(struct core *c, uint32_t id, int64_t cpu_milli, bool weighed)
{
	struct {
		struct event_shape e;
		struct amount amounts[2];
		struct requirement requirement;
		struct preference preference;
	} s = { .e = { .shape = id,
		           .amounts_n = 2,
		           .clauses_n = weighed,
		           .preferences_n = weighed,
		           .scored_cpu_milli = cpu_milli,
		           .scored_memory_bytes = 1 << 20,
		           .namespace = ID_NONE },
		    .amounts = { { .resource = RESOURCE_CPU, .value = cpu_milli },
		                 { .resource = RESOURCE_PODS, .value = 1 } },
		    .requirement = { .key = 5, .op = REQUIRE_EXISTS },
		    .preference = { .weight = 10, .clauses = { .n = 1 } } };

	feed(c, EVENT_SHAPE, &s, weighed ? sizeof(s) : sizeof(s.e) + sizeof(s.amounts));
}

static void pod(struct core *c, uint32_t id, uint32_t shape_of, node_id on)
{
	struct {
		struct event_pod e;
		char name[8];
	} p = { .e = { .pod = id,
		           .generation = 1,
		           .flags = POD_OURS,
		           .gang = ID_NONE,
		           .shape = shape_of,
		           .node = on,
		           .name_bytes = 6,
		           .namespace = 1,
		           .role = ID_NONE,
		           .created_ns = id + 1,
		           .uid = { id, 1 } } };

	snprintf(p.name, sizeof(p.name), "d/%04u", id % 10000);
	feed(c, EVENT_POD, &p, sizeof(p));
}

static struct core *begin(struct ledger **ledger)
{
	const struct limits limits = LIMITS_WITH(.nodes = NODES, .pods = 1000, .shapes = 64,
	                                         .names = 64, .resources = 4, .name_bytes = 1 << 20);
	const struct core_config config = { .limits = limits, .emit = emit };
	const uint64_t bytes = (core_ledger_bytes(&limits, NULL) + 63) / 64 * 64;
	struct core *c;

	*ledger = aligned_alloc(64, bytes);
	cr_assert_not_null(*ledger);
	memset(*ledger, 0, bytes);
	c = core_new(&config, *ledger);
	feed(c, EVENT_BEGIN, NULL, 0);
	return c;
}

/* Bringing the views of all waiting classes up to date takes more steps than a cycle has. */
Test(busy, who_fits_is_placed_though_others_wait, .timeout = 60)
{
	struct ledger *ledger;
	struct core *c = begin(&ledger);

	for (uint32_t i = 0; i < NODES; i++)
		node(c, i);
	shape(c, SHAPE_SMALL, 100, false);
	for (uint32_t i = 0; i < KINDS; i++)
		shape(c, SHAPE_WEIGHED + i, 100000 + i, true);
	for (uint32_t i = 0; i < CHANGES; i++)
		pod(c, i, SHAPE_SMALL, i);
	feed(c, EVENT_SYNCED, NULL, 0);
	for (uint32_t i = 0; i < KINDS; i++)
		pod(c, WAITS_FROM + i, SHAPE_WEIGHED + i, ID_NONE);
	for (int i = 0; i < 100 && core_wants_plan(c); i++)
		feed(c, EVENT_PLAN, NULL, 0);
	cr_assert_eq(binds, 0);
	for (uint32_t i = 0; i < CHANGES; i++) {
		feed(c, EVENT_POD_DROP, &(struct event_drop){ .id = i, .generation = 1 },
		     sizeof(struct event_drop));
		pod(c, COMES_FROM + i, SHAPE_SMALL, ID_NONE);
		cr_assert(core_wants_plan(c));
		feed(c, EVENT_PLAN, NULL, 0);
		cr_assert_eq(binds, i + 1, "%u of %u are placed", binds, i + 1);
	}
	core_free(c);
	free(ledger);
}

/* Views of classes are kept while nodes come, and arrays by node grow: core_valid() compares each
 * view with scores computed again. */
Test(busy, views_follow_a_cluster_that_grows, .timeout = 60)
{
	struct ledger *ledger;
	struct core *c = begin(&ledger);
	char why[256];
	uint32_t placed = 0;

	binds = 0;
	shape(c, SHAPE_SMALL, 3000, false);
	for (uint32_t i = 0; i < 4; i++)
		shape(c, SHAPE_WEIGHED + i, 1500 + i, true);
	feed(c, EVENT_SYNCED, NULL, 0);
	for (uint32_t i = 0; i < 300; i++) {
		node(c, i);
		pod(c, i, i % 3 ? SHAPE_SMALL : SHAPE_WEIGHED + i % 4, ID_NONE);
		placed++;
		feed(c, EVENT_PLAN, NULL, 0);
		cr_assert_eq(binds, placed, "%u of %u are placed", binds, placed);
		cr_assert(i % 8 > 0 || core_valid(c, why, sizeof(why)), "%u nodes: %s", i + 1, why);
	}
	core_free(c);
	free(ledger);
}
