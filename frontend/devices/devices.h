/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceSlices, DeviceClasses, ResourceClaims and what nodes and pods say about them: from
 * objects to the numbers of ipc/devices.h, and from a choice to the allocation that is written.
 *
 *     devices_put()... ──► devices_pod() ──► devices_ask() of pod and node ──► a choice
 *                                                  ▲                             │
 *                                                  └───── devices_allocate() ◄───┘
 *
 * The rules are those of kube-scheduler 1.36.3: dynamic-resource-allocation/structured and the
 * plugin dynamicresources, with the gates as they come.
 *
 * Owns copies of all texts.  Single-threaded.  Memory: ipc/memory.h. */
#ifndef MUSTER_FRONTEND_DEVICES_H
#define MUSTER_FRONTEND_DEVICES_H

#include "frontend/base/arena.h"
#include "ipc/devices.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cel_device;
struct devices;

struct devices *devices_new(void);
void devices_free(struct devices *d);

/* True for ResourceSlice, DeviceClass and ResourceClaim of resource.k8s.io, and for nodes and
 * pods, of which it needs a copy too. */
bool devices_take(const char *api_version, const char *kind);
/* Claims and classes before pods. A template is the controller's and is not read. False and
 * `error`: field and value. */
bool devices_put(struct devices *d, const char *kind, const char *json, size_t bytes, char *error,
                 size_t error_bytes);

/* The devices that a pod needs, as a number above 0; 0: none. */
uint32_t devices_pod(const struct devices *d, struct text namespace, struct text name);
/* Why PreFilter of the plugin rejects it, on every node; NULL: it doesn't.  Good until the next
 * call. */
const char *devices_refusal(struct devices *d, uint32_t pod);
/* What muster does not support of them; NULL: nothing.  Good until the next call. */
const char *devices_unsupported(struct devices *d, uint32_t pod);
/* True if devices may serve this resource: a class names it, or it names a class. */
bool devices_back(const struct devices *d, struct text resource);

/* A device as it is listed. */
struct devices_row {
	const char *id;   /* "driver/pool/name" */
	const char *node; /* of its slice, or of itself; "": it serves several */
	bool tainted;     /* by a taint NoSchedule or NoExecute of its own */
	const struct cel_device *device;
	const char **claims; /* that hold it, "ns/name", in the order of the objects */
	size_t claims_n, claims_cap;
};

/* All devices, sorted by id: of a pool those of its newest generation.  To be freed; what the rows
 * point to lives as long as `d`. */
struct devices_row *devices_list(struct devices *d, size_t *n);

/* More than there is of a device, or of a counter of a pool. */
struct devices_excess {
	const char *of;      /* "driver/pool/name"; of a counter "driver/pool" */
	const char *what;    /* "allocated more than once", "capacity memory: 52 of 40" */
	const char **claims; /* that name the device, "ns/name"; of a counter none */
	size_t claims_n;
};

/* Of all allocated claims, in the order of the pools; adminAccess takes nothing.  To be freed; what
 * it points to lives as long as `d`. */
struct devices_excess *devices_excesses(struct devices *d, size_t *n);

enum devices_answer {
	DEVICES_NONE,        /* nothing is to be allocated */
	DEVICES_ASK,         /* node and question are set */
	DEVICES_UNAVAILABLE, /* only claims that are allocated elsewhere: "... not available ..." */
};

struct devices_problem {
	struct device_node node;
	struct device_question question;
	bool invalid;     /* a pool of the node is */
	bool unavailable; /* and a claim is allocated elsewhere */
};

/* Of a pod that is not refused. */
enum devices_answer devices_ask(struct devices *d, uint32_t pod, const char *node,
                                struct devices_problem *out);

/* A device of the problem that was asked last. */
struct devices_pick {
	uint32_t claim, request, option, device; /* as in the question */
	device_amount *consumed;                 /* by capacity of the device; NULL: not shared */
	uint64_t share[2];                       /* of its shareID, if shared */
};

/* Points of the score plugin before they are normalised; 0 without alternatives. */
uint32_t devices_points(const struct devices *d, const struct devices_pick *picks, size_t n);

/* Text of an error of the search: see core/devices/choice.h for what they are about. */
enum devices_error {
	DEVICES_TOO_MANY,
	DEVICES_INCOMPLETE,
	DEVICES_INVALID,
	DEVICES_SELECTOR,
	DEVICES_CONSTRAINT
};
struct devices_fault {
	enum devices_error error;
	uint32_t claim, request, option, device, pool, number;
};
/* Good until the next devices_ask(). */
const char *devices_fault_text(const struct devices *d, const struct devices_fault *fault);

/* What a pick is called; good until the next devices_ask(). */
struct devices_named {
	const char *claim;    /* its name; "<extended-resources>" */
	const char *request;  /* "r" or "r/sub" */
	const char *device;   /* "driver/pool/name" */
	const char *consumed; /* JSON of consumedCapacity; NULL: not shared */
	bool admin;
};
void devices_name(const struct devices *d, const struct devices_pick *pick,
                  struct devices_named *out);

/* Writes the allocations of the problem that was asked last: the claims are allocated from now on,
 * and reserved for the pod.  For each claim, `each` gets what is written. */
void devices_allocate(struct devices *d, const struct devices_pick *picks, size_t n,
                      void (*each)(void *context, const char *claim, const char *json),
                      void *context);

#endif
