/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"

#include "core/cluster/rule_node.h"
#include "core/devices/inventory.h"
#include "core/filter/evaluate.h"
#include "core/filter/gpus.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"

int core_verdict(struct core *c, uint32_t pod, struct evaluation *out)
{
	const struct pod *p = pods_find(&c->pods, pod);

	if (!p)
		return -ENOENT;
	if (!reservation_is_pending(p))
		return -EBUSY;
	gpus_follow(&c->pod_counts);
	evaluate(&c->pod_counts, p->class, c->config.score, out);
	return 0;
}

int core_denies(const struct core *c, uint32_t shape, uint32_t node)
{
	const struct shape *s = shapes_find(&c->shapes, shape);
	const struct node *n = nodes_find(&c->nodes, node);

	if (!s || !n)
		return -ENOENT;
	return !rule_affinity(s, n) || rule_taint(s, n) || rule_volumes(s, n) != 0 ||
	       rule_flags(s, n) != FILTER_PASSED;
}

bool core_devices(const struct core *c, uint32_t pod, uint32_t node, struct cmd_devices *head,
                  struct device_pick *picks)
{
	const struct pod *p = pods_find(&c->pods, pod);
	const uint32_t devices = p ? c->shapes.slots[p->shape].body->devices : 0;
	uint32_t served;

	if (devices == 0 || !c->pod_counts.inventory)
		return false;
	served = pod_counts_served(&c->pod_counts, node, &c->shapes.slots[p->shape]);
	*head = (struct cmd_devices){ .pod = pod,
		                          .pod_generation = p->generation,
		                          .node = node,
		                          .node_generation = c->nodes.slots[node].generation,
		                          .question = devices - 1 };
	head->picks_n =
		inventory_peek(c->pod_counts.inventory, node, devices - 1, served, &head->layout, picks);
	return head->picks_n > 0;
}
