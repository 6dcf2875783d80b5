/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod that waits needs of devices, from the objects: how many there are, who holds those
 * that would do, and what has to be known of the rest.  For who asks, not for placement. */
#ifndef MUSTER_FRONTEND_NEEDS_H
#define MUSTER_FRONTEND_NEEDS_H

#include "frontend/devices/devices.h"
#include "ipc/abi.h"

#define NEED_HOLDERS_MAX 5u

/* An allocated claim that has devices which the request may have. */
struct devices_holder {
	const char *claim;  /* "ns/name" */
	const char *pod;    /* "ns/name" of the first that it is reserved for; NULL: of none */
	uint32_t pods;      /* that it is reserved for */
	uint32_t devices;   /* of these */
	const char *device; /* the first, "driver/pool/name" */
};

/* A request of a claim, or one alternative of it; or an allocated claim. */
struct devices_need {
	const char *claim;     /* "ns/name" */
	const char *allocated; /* its devices, "driver/pool/a, driver/pool/b"; NULL: it is not, and: */
	const char *names;     /* "REQUEST CLASS ATTRIBUTE ", as struct event_question has them */
	struct device_lack lack; /* of one member; without names */
	const char *failed;      /* a device on which a selector fails, and its error; NULL: none */
	const char *error;
	struct devices_holder holders[NEED_HOLDERS_MAX]; /* the oldest claims */
	uint32_t holders_n, holders_all;
};

/* Of all nodes, also of those that other rules exclude; in the order of the pod's claims. Only of
 * claims that exist, and classes.  To be freed; what it points to lives as long as `d`. */
struct devices_need *devices_needs(struct devices *d, uint32_t pod, size_t *n);

/* Devices that are not used: of pools of which slices of the newest generation are missing, and of
 * nodes that have more than NODE_DEVICES_MAX; for each a text with the numbers.  To be freed, as
 * above. */
const char **devices_unused(struct devices *d, size_t *n);

#endif
