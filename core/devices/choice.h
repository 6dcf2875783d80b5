/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices of a node serve the claims of a pod: the search of kube-scheduler's allocator
 * (dynamic-resource-allocation/structured/internal/incubating, v1.36.3), whose first solution is
 * the answer.
 *
 * Depth first over claims, their requests, the alternatives of a request and the devices, which
 * ascend within a request; every choice is taken back when what follows fails.  A function of its
 * arguments. */
#ifndef MUSTER_CORE_CHOICE_H
#define MUSTER_CORE_CHOICE_H

#include "ipc/devices.h"

/* Steps of one search, each a device that is tried; the search is exponential in the worst case.  A
 * question may set a lower bound, which lowers that of the looks as much. */
#define CHOICE_STEPS_MAX 1000000u
#define CHOICE_LOOKS_MAX 100000000u /* devices that are looked at, most of them passed over */
#define CHOICE_PICKS_MAX 4096u      /* devices of a pod: the depth of the recursion */

enum choice_outcome {
	CHOICE_FOUND,
	CHOICE_NONE,
	CHOICE_GAVE_UP, /* after one of the bounds above: it is unknown whether there is a solution */
	/* The attempt as a whole fails, wherever else the pod fits. */
	CHOICE_TOO_MANY,   /* `claim` needs `number` devices, above DEVICE_RESULTS_MAX */
	CHOICE_INCOMPLETE, /* the option asks for all devices, and `pool` is incomplete */
	CHOICE_INVALID,    /* the same, invalid */
	CHOICE_SELECTOR,   /* a selector of the option fails on `device` */
	CHOICE_CONSTRAINT, /* the option asks for all devices, and a constraint bars `device` */
};

struct choice_pick {
	uint32_t claim;
	uint32_t request;
	uint32_t option;
	uint32_t device;
};

struct choice {
	enum choice_outcome outcome;
	struct choice_pick at; /* what an error is about */
	uint32_t pool;
	uint32_t number;
	struct choice_pick *picks; /* CHOICE_FOUND: in the order of the search */
	uint32_t picks_n;
	uint32_t steps;
};

/* *out is the caller's to free with choice_free(). */
void choice_make(const struct device_node *node, const struct device_question *question,
                 struct choice *out);
void choice_free(struct choice *c);

#endif
