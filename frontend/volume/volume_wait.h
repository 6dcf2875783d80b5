/* SPDX-License-Identifier: Apache-2.0 */
/* Claims that wait for their first consumer: candidates for each, and the result on one node.  All
 * memory is the arena's of the join. */
#ifndef MUSTER_FRONTEND_VOLUME_WAIT_H
#define MUSTER_FRONTEND_VOLUME_WAIT_H

#include "frontend/volume/volume_impl.h"

/* A volume whose node affinity is one value of one label, such as a local one. */
struct wait_place {
	struct text key, value;
	uint32_t volume; /* index of struct waiting.volumes */
};

#define WAIT_KEYS_MAX 4

/* A claim and its candidates on all nodes. */
struct waiting {
	const struct claim_object *claim;
	const struct class_object *class;
	const struct pv_object *reserved; /* bound to it already: then this one or none */
	const struct pv_object **volumes; /* the smallest first, then by name */
	size_t volumes_n, volumes_cap;
	struct wait_place *places; /* by key, value, volume */
	size_t places_n, places_cap;
	struct text keys[WAIT_KEYS_MAX]; /* of places */
	size_t keys_n;
	uint32_t *loose; /* volumes that are not in places, in order */
	size_t loose_n, loose_cap;
	const struct capacity_object **capacities; /* that are large enough */
	size_t capacities_n, capacities_cap;
	bool held;                      /* volume_is_held() */
	bool needs_space;               /* its driver publishes CSIStorageCapacity */
	const struct pv_object *chosen; /* by wait_ask(); NULL: to be provisioned */
};

struct waitings {
	const struct volumes *vs;
	struct waiting *at;
	size_t n;
	size_t *by_size; /* indexes of those without a selected node */
	size_t by_size_n;
};

/* True if what is provisioned for the claim on that node comes from that capacity. */
bool wait_serves(const struct volumes *vs, const struct waiting *w,
                 const struct capacity_object *capacity, const struct volume_node_labels *node);

enum wait_answer { WAIT_FITS, WAIT_NO_VOLUME, WAIT_NO_SPACE };

/* True if the volume is reserved for the claim. */
bool volume_is_bound_to(const struct pv_object *pv, const struct claim_object *claim);

void wait_find(struct volume_join *j, const struct claim_object *const *claims, size_t n,
               struct waitings *ws);
/* Whether all claims can be satisfied on the node; sets `chosen` of each. */
enum wait_answer wait_ask(struct waitings *ws, const struct volume_node_labels *node);

#endif
