/* SPDX-License-Identifier: Apache-2.0 */
/* Resource claims of offline pods: between the objects (frontend/devices), the search for devices
 * (core/devices) and the evaluation of nodes, which asks for each node that passed all filters
 * before DynamicResources. */
#ifndef MUSTER_CTL_CLAIMS_H
#define MUSTER_CTL_CLAIMS_H

#include "core/base/config.h"
#include "frontend/devices/devices.h"

struct offline;

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

struct claims *claims_new(const struct offline *o);
void claims_free(struct claims *c);

struct devices *claims_devices(struct claims *c);
const struct device_filter *claims_filter(const struct claims *c);

/* Before an evaluation whose devices are wanted. */
void claims_begin(struct claims *c);
/* Of the last evaluation: the devices on a feasible node. */
const struct claim_devices *claims_on(const struct claims *c, uint32_t node);
/* ... and the error that failed it, NULL: none. */
const char *claims_error(const struct claims *c);
/* The same of an earlier evaluation of that pod. */
const char *claims_error_of(const struct claims *c, const char *namespace, const char *name);

/* The pod was placed: writes its allocations.  NULL: it needs no devices there. */
const struct claim_devices *claims_place(struct claims *c, const char *namespace, const char *name,
                                         uint32_t node);
/* What claims_place() returned for that pod; NULL. */
const struct claim_devices *claims_placed(const struct claims *c, const char *namespace,
                                          const char *name);
const struct claim_written *claims_written(const struct claims *c, size_t *n);

#endif
