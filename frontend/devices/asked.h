/* SPDX-License-Identifier: Apache-2.0 */
/* The problem of a pod on a node, with the entries behind its numbers. */
#ifndef MUSTER_FRONTEND_ASKED_H
#define MUSTER_FRONTEND_ASKED_H

#include "frontend/devices/devices_impl.h"

struct asked_pool {
	const struct slice *const *slices; /* of the newest generation that this node sees */
	size_t slices_n;
	enum device_pool_state state;
	bool waits; /* a device has binding conditions */
};

/* All memory is `arena`'s, which the next problem reuses. */
struct asked {
	struct arena arena;
	uint32_t pod;
	const struct node_entry *node;
	struct claim_entry **claims; /* to be allocated, in their order */
	size_t claims_n;
	struct claim_entry **all; /* with those that are allocated */
	size_t all_n;
	struct asked_pool *pools;
	size_t pools_n;
	struct device_entry **devices; /* by number */
	uint32_t *first_capacity;      /* by number: of its capacities in the problem */
	size_t devices_n;
	struct devices_problem problem;
};

struct asked *asked_new(void);
void asked_free(struct asked *a);

/* pools.c: the pools of the node, and their devices and counters. */
void asked_pools(struct devices *d, struct asked *a);
/* The number of a text among those of that type; from 1. */
uint32_t value_number(struct devices *d, struct text text, uint32_t type);

/* question.c: a constraint's value of the device, 0: it has none. */
uint32_t attribute_value(struct devices *d, const struct device_entry *e, struct text name);
/* allocation.c: what is written of the claim; `picks` are those of all claims. */
void allocation_write(const struct devices *d, const struct devices_pick *picks, size_t n,
                      uint32_t claim, struct bytes *out);

/* question.c: of a claim that is to be allocated. */
const struct request_entry *request_of(const struct asked *a, uint32_t claim, uint32_t request);
/* The request or alternative is in the list; an empty one has all. */
bool option_is_listed(const struct tree *list, const struct request_entry *q,
                      const struct option_entry *o);

#endif
