/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/evaluate.h"

#include "core/classes/usage.h"
#include "core/filter/evaluate_impl.h"

#include <assert.h>

/* noderesources: fitsRequest. */
static uint32_t filter_fit(const struct evaluator *e, node_id id)
{
	uint64_t short_of = 0;

	for (uint32_t i = 0; i < e->shape->sums_n; i++) {
		const struct request *q = &e->shape->requests[i];

		/* noderesources: fitsRequest passes over what DynamicResources allocates. */
		if (q->devices && nodes_allocatable(e->nodes, id, q->resource) == 0)
			continue;
		if (!amount_fits(nodes_free_amount(e->nodes, id, q->resource), q->value))
			short_of |= UINT64_C(1) << q->resource;
	}
	e->out->short_of[id] = short_of;
	return short_of || e->shape->absent_n > 0 ? FILTER_BIT(FILTER_INSUFFICIENT) : 0;
}

/* VolumeRestrictions (disks, then ReadWriteOncePod claims), NodeVolumeLimits, VolumeBinding and
 * VolumeZone, of which only VolumeBinding gives several reasons. */
static uint32_t filter_volumes(const struct evaluator *e, node_id id)
{
	static const uint32_t binding =
		FILTER_BIT(FILTER_VOLUME_NODE) | FILTER_BIT(FILTER_VOLUME_BIND) |
		FILTER_BIT(FILTER_VOLUME_SPACE) | FILTER_BIT(FILTER_VOLUME_GONE);
	const struct usage *usage = e->cs->usage;
	uint32_t broken;

	if (usage_disk_conflict(usage, id, e->shape))
		return FILTER_BIT(FILTER_DISK);
	if (e->claim_in_use)
		return FILTER_BIT(FILTER_CLAIM_IN_USE);
	if (usage_attach_exceeded(usage, id, e->shape))
		return FILTER_BIT(FILTER_ATTACH);
	broken = rule_volumes(e->shape, &e->nodes->slots[id]);
	return broken & binding ? broken & binding : broken;
}

/* The filters before PodTopologySpread, in the order of kube-scheduler's default plugins. */
static uint32_t filter_node(const struct evaluator *e, node_id id)
{
	const struct node *n = &e->nodes->slots[id];
	const struct taint *taint = rule_taint(e->shape, n);
	bool affinity = rule_affinity(e->shape, n);
	uint32_t whys;

	/* PodTopologySpread reads these of nodes that are rejected here. */
	e->scratch->facts[id] = (uint8_t)((taint ? 0 : FACT_TAINTS) | (affinity ? FACT_AFFINITY : 0));
	/* nodeaffinity: PreFilter, when the required terms name nodes. */
	if (e->shape->named == FILTER_NOT_NAMED && !rule_named(e->shape, n))
		return FILTER_BIT(FILTER_NOT_NAMED);
	/* nodeunschedulable: Filter. */
	if ((n->flags & NODE_CORDONED) && !(e->shape->body->flags & SHAPE_TOLERATES_CORDON))
		return FILTER_BIT(FILTER_CORDONED);
	/* tainttoleration: Filter. */
	if (taint) {
		e->out->taint[id] = taint->name;
		return FILTER_BIT(FILTER_TAINT);
	}
	/* nodeaffinity: Filter. */
	if (!affinity)
		return FILTER_BIT(FILTER_AFFINITY);
	/* nodeports: fitsPorts. */
	if (usage_port_conflict(e->cs->usage, id, e->shape))
		return FILTER_BIT(FILTER_PORTS);
	whys = filter_fit(e, id);
	return whys ? whys : filter_volumes(e, id);
}

/* By the core's own devices, which have no errors. */
static uint32_t filter_inventory(const struct evaluator *e, node_id id)
{
	static const uint32_t reasons[] = { [LACK_DEVICES] = FILTER_BIT(FILTER_DEVICES),
		                                [LACK_POOL] = FILTER_BIT(FILTER_DEVICE_POOL),
		                                [LACK_GAVE_UP] = FILTER_BIT(FILTER_DEVICES_GAVE_UP) };

	if (pod_counts_devices(e->cs, id, e->shape, 1) > 0)
		return 0;
	return e->cs->inventory
	           ? reasons[inventory_lack(e->cs->inventory, id, e->shape->body->devices - 1,
	                                    pod_counts_served(e->cs, id, e->shape))]
	           : FILTER_BIT(FILTER_DEVICES);
}

/* dynamicresources: Filter.  An error on one node fails the attempt. */
static void filter_devices(const struct evaluator *e)
{
	const uint32_t devices = e->shape->body->devices;
	uint32_t *whys = e->out->whys;
	bool failed = false;

	if (devices == 0)
		return;
	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!is_feasible(e, id))
			continue;
		whys[id] = e->cs->devices ? e->cs->devices->filter(e->cs->devices->context, devices, id)
		                          : filter_inventory(e, id);
		failed = failed || whys[id] & FILTER_BIT(FILTER_DEVICES_FAILED);
	}
	for (node_id id = 0; failed && id < e->nodes->used; id++)
		if (node_present(&e->nodes->slots[id]))
			whys[id] = FILTER_BIT(FILTER_DEVICES_FAILED);
}

/* nodedeclaredfeatures and what else a flag of the shape asks for: Filter. */
static void filter_flags(const struct evaluator *e, node_id id)
{
	enum filter_reason why = rule_flags(e->shape, &e->nodes->slots[id]);

	if (why != FILTER_PASSED)
		e->out->whys[id] = FILTER_BIT(why);
}

static void filter_flags_all(const struct evaluator *e)
{
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			filter_flags(e, id);
}

static struct evaluator evaluator_of(const struct pod_counts *cs, class_id class,
                                     struct evaluation *out)
{
	const shape_id shape = cs->pod_classes.slots[class].shape;

	assert(class < pod_classes_used(&cs->pod_classes));
	assert(shape != ID_NONE && out->limit >= cs->nodes->used);
	out->feasible = 0;
	out->skipped = 0;
	out->whole = FILTER_PASSED;
	out->absent = cs->shapes->slots[shape].absent;
	out->absent_n = cs->shapes->slots[shape].absent_n;
	return (struct evaluator){ .cs = cs,
		                       .nodes = cs->nodes,
		                       .shape = &cs->shapes->slots[shape],
		                       .links = cs->links[shape],
		                       .class = class,
		                       .out = out,
		                       .scratch = out->scratch };
}

/* framework: RunFilterPlugins for each node; the first plugin that rejects gives the reasons. */
static void filter_all(const struct evaluator *e)
{
	struct evaluation *out = e->out;

	/* A slot without a node is infeasible too. */
	for (node_id id = 0; id < e->nodes->used; id++)
		if (!node_present(&e->nodes->slots[id]))
			out->whys[id] = FILTER_BIT(FILTER_PASSED);
		else
			out->whys[id] = out->whole ? FILTER_BIT(out->whole) : filter_node(e, id);
	if (out->whole)
		return;
	filter_spread(e);
	filter_pods(e);
	filter_devices(e);
	filter_flags_all(e);
	filter_policy(e);
	for (node_id id = 0; id < e->nodes->used; id++)
		out->feasible += is_feasible(e, id);
}

void evaluate(const struct pod_counts *cs, class_id class, enum score_policy score,
              struct evaluation *out)
{
	struct evaluator e = evaluator_of(cs, class, out);

	e.claim_in_use = usage_claim_conflict(cs->usage, e.shape);
	/* nodeaffinity: PreFilter rejects a pod whose required node names exclude each other. */
	if (e.shape->named == FILTER_CONFLICT)
		out->whole = FILTER_CONFLICT;
	filter_all(&e);
	if (out->feasible > 0)
		score_all(&e, score);
}

bool evaluate_node(const struct pod_counts *cs, class_id class, node_id node,
                   struct evaluation *out)
{
	struct evaluator e = evaluator_of(cs, class, out);

	assert(node_present(&e.nodes->slots[node]));
	e.claim_in_use = usage_claim_conflict(cs->usage, e.shape);
	out->whys[node] = filter_node(&e, node);
	if (!is_feasible(&e, node))
		return false;
	if (e.shape->body->devices > 0 && !cs->devices)
		out->whys[node] = filter_inventory(&e, node);
	if (!is_feasible(&e, node))
		return false;
	if (!evaluate_reads_others(cs, class)) {
		filter_flags(&e, node);
		return is_feasible(&e, node);
	}
	for (node_id id = 0; id < e.nodes->used; id++)
		out->whys[id] = id == node ? 0 : FILTER_BIT(FILTER_PASSED);
	filter_spread(&e);
	filter_pods(&e);
	filter_flags_all(&e);
	filter_policy(&e);
	return is_feasible(&e, node);
}

void evaluate_known(const struct pod_counts *cs, class_id class, const struct known_nodes *known,
                    struct evaluation *out)
{
	const struct evaluator e = evaluator_of(cs, class, out);
	const struct nodes *ns = cs->nodes;

	for (node_id id = 0; id < ns->used; id++)
		out->whys[id] = FILTER_BIT(FILTER_PASSED);
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];

		if (known->points[rank] > 0)
			out->whys[id] = 0;
		out->scores[id] = (uint32_t)(known->points[rank] - 1);
		out->scratch->facts[id] = known->facts[rank];
	}
	filter_spread(&e);
	filter_pods(&e);
	filter_policy(&e);
	for (uint32_t rank = 0; rank < ns->count; rank++)
		out->feasible += is_feasible(&e, ns->order[rank]);
	if (out->feasible > 0)
		score_between(&e, known->preferred);
}
