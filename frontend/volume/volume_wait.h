/* SPDX-License-Identifier: Apache-2.0 */
/* Claims that wait for their first consumer: what could be had for each, and what one
 * node makes of it. */
#ifndef MUSTER_FRONTEND_VOLUME_WAIT_H
#define MUSTER_FRONTEND_VOLUME_WAIT_H

#include "frontend/volume/volume_impl.h"

/* Volumes that one label of a node leads to: local ones, mostly. */
struct wait_place {
	struct text key, value;
	uint32_t volume; /* index of struct waiting.volumes */
};

#define WAIT_KEYS_MAX 4

/* A claim and what could be had for it anywhere. */
struct waiting {
	const struct claim_object *claim;
	const struct class_object *class;
	const struct pv_object *reserved; /* that is bound to it already: then this or none */
	const struct pv_object **volumes; /* the smallest first, then by name */
	size_t volumes_n, volumes_room;
	struct wait_place *places; /* by key, value, volume */
	size_t places_n, places_room;
	struct text keys[WAIT_KEYS_MAX]; /* of places */
	size_t keys_n;
	uint32_t *loose; /* volumes that are not in places, in order */
	size_t loose_n, loose_room;
	const struct capacity_object **capacities; /* that are large enough */
	size_t capacities_n, capacities_room;
	bool needs_space;               /* its driver tells capacities */
	const struct pv_object *chosen; /* on the node at hand; NULL: to be provisioned */
};

struct waitings {
	struct waiting *at;
	size_t n;
	size_t *by_size; /* indexes of those without a selected node */
	size_t by_size_n;
};

enum wait_answer { WAIT_FITS, WAIT_NO_VOLUME, WAIT_NO_SPACE };

/* Is the volume reserved for that claim? */
bool volume_is_bound_to(const struct pv_object *pv, const struct claim_object *claim);

/* -ENOMEM. */
int wait_find(struct volume_join *j, const struct claim_object *const *claims, size_t n,
              struct waitings *ws);
/* Can all be had on that node?  Leaves in `chosen` what each would take. */
enum wait_answer wait_ask(struct waitings *ws, const struct volume_node_labels *node);

#endif
