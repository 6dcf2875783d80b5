/* SPDX-License-Identifier: Apache-2.0 */
/* Resource claims of offline pods, in one of two ways (docs/decisions/094):
 *
 *   by the search    lone pods: the evaluation searches on each node that passed all filters
 *                    before DynamicResources (core/devices/choice.h, frontend/devices/devices.h)
 *   by records       as in the daemons: the core has the devices of all nodes, and plans gangs with
 *                    them (core/devices/inventory.h, frontend/devices/live.h)
 */
#ifndef MUSTER_CTL_CLAIMS_H
#define MUSTER_CTL_CLAIMS_H

#include "core/base/config.h"
#include "ctl/objects/files.h"
#include "frontend/devices/devices.h"
#include "ipc/abi.h"

struct offline;
struct pod_view; /* frontend/model/model.h */

/* A device that a pod gets. */
struct claim_device {
	char *claim;    /* name; "<extended-resources>" */
	char *request;  /* "r" or "r/sub" */
	char *device;   /* "driver/pool/name" */
	char *consumed; /* JSON; NULL: not shared */
	bool admin;
};

struct claim_devices {
	struct claim_device *at;
	size_t n;
};

/* An allocation as it would be written. */
struct claim_written {
	char *claim;      /* "ns/name" */
	char *pod;        /* "ns/name" */
	char *allocation; /* JSON */
};

struct claims;

struct claims *claims_new(struct offline *o, bool by_records);
void claims_free(struct claims *c);
bool claims_by_records(const struct claims *c);

/* By the search; by records both are NULL. */
struct devices *claims_devices(struct claims *c);
const struct device_filter *claims_filter(const struct claims *c);

/* By records: a ResourceClaim that the model got; a CMD_DEVICES with its picks behind it. */
void claims_store(struct claims *c, const struct object *object);
void claims_choose(struct claims *c, const struct cmd_devices *cmd);
/* ... and what is written for the pod of a CMD_BIND: the model has its claims allocated.  False:
 * the choice does not hold; nothing was written. */
bool claims_write(struct claims *c, const struct pod_view *pod, node_id node);

/* Before an evaluation of the pod (its id in the model) whose devices are wanted. */
void claims_begin(struct claims *c, uint32_t pod);
/* The devices on a feasible node, of the last evaluation. */
const struct claim_devices *claims_on(struct claims *c, uint32_t node);
/* ... and the error that failed it, NULL: none. */
const char *claims_error(const struct claims *c);
/* The same of an earlier evaluation of that pod. */
const char *claims_error_of(const struct claims *c, const char *namespace, const char *name);

/* By the search: the pod was placed: writes its allocations.  NULL: it needs no devices there. */
const struct claim_devices *claims_place(struct claims *c, const char *namespace, const char *name,
                                         uint32_t node);
/* The devices of that pod; NULL: it was not placed, or has no claims. */
const struct claim_devices *claims_placed(const struct claims *c, const char *namespace,
                                          const char *name);
const struct claim_written *claims_written(const struct claims *c, size_t *n);

#endif
