/* SPDX-License-Identifier: Apache-2.0 */
/* A shape: what pods with equal requests and equal placement rules ask of a node.
 * core/cluster/shapes.h makes and owns them. */
#ifndef MUSTER_CORE_SHAPE_H
#define MUSTER_CORE_SHAPE_H

#include "core/base/amount.h"
#include "core/cluster/fit.h"
#include "core/shm/records.h"

#include <stdbool.h>

/* A request that is not 0. */
struct request {
	uint32_t resource;
	bool devices;  /* AMOUNT_DEVICES */
	uint8_t group; /* device_group() */
	int64_t value;
	double inverse; /* 1 / value */
};

struct shape {
	struct event_shape *body; /* NULL: unused; a copy of the record's body */
	uint32_t body_bytes;
	uint32_t pods;             /* with this shape */
	struct shape_record parts; /* pointers into body */
	enum filter_reason named;  /* core/cluster/rule_node.h: rule_names() */
	struct request *requests;  /* by resource; RESOURCE_PODS is always there */
	uint32_t requests_n;       /* what a node has to have */
	/* What a placed pod takes: of those, and behind them of what a node has to have or serves by
	 * devices (pod_counts_devices()). */
	uint32_t sums_n;
	/* Requests of resources that no node has, by name_id.  With any, the last of `requests` fits
	 * nowhere and is in no sum. */
	const struct amount *absent;
	uint32_t absent_n;
	struct shape_fit fit;       /* in the score of a node for this pod */
	struct shape_fit placed;    /* in scores once it is placed */
	struct attachment *volumes; /* attachments without duplicates, by driver and volume */
	uint32_t volumes_n;
	uint64_t *allowed; /* node set */
	uint32_t kin;      /* equal for shapes that shapes_are_kin() */
};

/* Requests of a placed pod as scores count them (NodeInfo.NonZeroRequested). */
static inline wide shape_placed_cpu(const struct shape *s)
{
	return (wide)s->body->scored_cpu_milli + s->body->placed_cpu_milli;
}

static inline wide shape_placed_memory(const struct shape *s)
{
	return (wide)s->body->scored_memory_bytes + s->body->placed_memory_bytes;
}

/* True if no rule over one node alone rejects the node. */
static inline bool shape_allows(const struct shape *s, node_id node)
{
	return s->allowed[node / 64] >> (node % 64) & 1;
}

#endif
