/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of the cluster of bench/cluster.h: GPUs, and NICs if pods want pairs. */
#include "bench/cluster_records.h"
#include "ipc/devices.h"

#define GPUS 8u
#define NICS 4u /* one for each PCIe root, which two GPUs share */

static uint32_t devices_n(const struct cluster *c)
{
	return c->pairs ? GPUS + NICS : GPUS;
}

static void tell_question(struct cluster *c)
{
	static const struct question_option options[] = { { .count = 1 } };
	static const struct question_option pair[] = { { .count = 2 }, { .request = 1, .count = 1 } };
	static const struct question_constraint one_root = { .options = 3 };
	const struct event_question e = { .options_n = c->pairs ? 2 : 1, .constraints_n = c->pairs };

	tell(c, EVENT_QUESTION,
	     PARTS({ &e, sizeof(e) }, { c->pairs ? pair : options, e.options_n * sizeof(options[0]) },
	           { &one_root, c->pairs ? sizeof(one_root) : 0 }));
}

void cluster_node_devices(struct cluster *c, node_id node, uint32_t taken)
{
	const struct event_node_devices e = {
		.node = node, .generation = 1, .layout = 1, .devices_n = devices_n(c)
	};
	const uint64_t set = (UINT64_C(1) << taken) - 1;

	tell(c, EVENT_NODE_DEVICES, PARTS({ &e, sizeof(e) }, { &set, sizeof(set) }));
}

/* Which devices the options of the question may have. */
static void tell_match(struct cluster *c, node_id node)
{
	const uint64_t all = (UINT64_C(1) << devices_n(c)) - 1, gpus = (UINT64_C(1) << GPUS) - 1;
	const uint64_t sets[] = { gpus, all, all & ~gpus, all };
	const struct event_match e = { .node = node,
		                           .generation = 1,
		                           .layout = 1,
		                           .devices_n = devices_n(c),
		                           .options_n = c->pairs ? 2 : 1,
		                           .constraints_n = c->pairs };
	uint32_t roots[GPUS + NICS];

	for (uint32_t i = 0; i < GPUS + NICS; i++)
		roots[i] = DEVICE_VALUE(1, 1 + (i < GPUS ? i / 2 : i - GPUS));
	tell(c, EVENT_MATCH,
	     PARTS({ &e, sizeof(e) }, { sets, 2 * e.options_n * sizeof(sets[0]) },
	           { roots, c->pairs ? sizeof(roots) : 0 }));
}

void cluster_devices(struct cluster *c, bool pairs, uint32_t taken)
{
	const struct shape_spec s = shape_spec(c, SHAPE_DEVICE);

	c->pairs = pairs;
	tell_question(c);
	for (uint32_t node = 0; node < c->nodes; node++) {
		cluster_node_devices(c, node, taken);
		tell_match(c, node);
	}
	tell_shape(c, SHAPE_DEVICE, &s);
}
