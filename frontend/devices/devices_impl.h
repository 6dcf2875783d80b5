/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of frontend/devices share. */
#ifndef MUSTER_FRONTEND_DEVICES_IMPL_H
#define MUSTER_FRONTEND_DEVICES_IMPL_H

#include "frontend/base/bytes.h"
#include "frontend/base/intern.h"
#include "frontend/devices/devices.h"
#include "frontend/devices/selector.h"
#include "frontend/json/quantity.h"
#include "frontend/json/jsontree.h"

struct slice;

struct device_counter {
	struct text set, name;
	nano_t value;
};

enum capacity_flags {
	CAPACITY_DEFAULT = 1u << 0, /* requestPolicy.default */
	CAPACITY_LEAST = 1u << 1,   /* requestPolicy.validRange.min */
	CAPACITY_MOST = 1u << 2,
	CAPACITY_STEP = 1u << 3,
	CAPACITY_VALUES = 1u << 4, /* requestPolicy.validValues */
};

/* requestPolicy of a capacity. */
struct capacity_policy {
	uint32_t flags, values_n;
	nano_t preset, least, most, step;
	nano_t *values; /* ascending */
};

struct device_entry {
	const struct slice *slice;
	struct text name;
	const struct tree *tree;
	struct cel_device facts;              /* what a selector sees */
	struct text *attributes, *capacities; /* their names as written */
	struct capacity_policy *policies;     /* by capacity */
	struct device_counter *uses;
	size_t uses_n;
	uint32_t index;   /* of all */
	bool unusable;    /* it has fields of gates that are off */
	uint32_t taken;   /* allocations without adminAccess or a share */
	uint32_t shares;  /* allocated */
	nano_t *consumed; /* by them, of each capacity */
};

struct slice {
	struct text name, driver, pool, node;
	int64_t generation, count;
	bool all_nodes, per_device;
	const struct tree *selector; /* NULL: none */
	struct device_entry *devices;
	size_t devices_n;
	struct device_counter *counters; /* sharedCounters */
	size_t counters_n;
	const struct tree *sets;
};

struct class_entry {
	struct text name, extended, created;
	const struct tree *spec;
};

/* capacity.requests */
struct capacity_ask {
	struct text name; /* as written */
	nano_t amount;
};

/* An alternative of a request. */
struct option_entry {
	struct text name; /* of the subrequest; bytes 0: the request itself */
	struct text class;
	const struct tree *tree;
	int64_t count;
	bool all, admin;
	struct capacity_ask *asks;
	size_t asks_n; /* those that are quantities */
};

struct request_entry {
	struct text name;
	struct option_entry *options;
	size_t options_n;
	bool prioritized;
	struct text resource; /* that it serves; bytes 0: of no extended resource */
};

struct claim_entry {
	struct text namespace, name, uid, owner; /* owner: uid of the controller */
	struct text created;                     /* creationTimestamp */
	bool deleting;
	bool extended;           /* made here */
	bool in_flight;          /* for kube-scheduler, for ever */
	const struct tree *spec; /* spec.devices */
	struct request_entry *requests;
	size_t requests_n;
	const struct tree *allocation; /* NULL: none */
	const struct tree *statuses;   /* status.devices */
	const struct tree *consumers;  /* status.reservedFor */
	struct text *reserved;         /* its uids */
	size_t reserved_n, reserved_cap;
};

struct resource_request {
	struct text name;
	int64_t value;
	uint32_t rank;
};

struct container_entry {
	struct text name;
	bool init, sidecar;
	struct resource_request *requests;
	size_t requests_n;
};

struct claim_ref {
	struct text name; /* of the claim; bytes 0: not created yet */
	bool owned;       /* from a template */
	bool not_needed;
};

struct pod_entry {
	struct text namespace, name, uid;
	struct claim_ref *refs;
	size_t refs_n;
	struct container_entry *containers; /* init containers first */
	size_t containers_n;
	bool backed; /* asks for a resource that devices may serve */
};

struct node_entry {
	struct text name;
	const struct tree *labels;
	const struct tree *allocatable;
};

struct expression {
	struct text text;
	int8_t *results; /* by device: 0 unknown, 1 true, 2 false, 3 error */
	char **errors;   /* by device */
	struct selector *program;
};

#define VALUE_TYPES 4u /* enum cel_attribute_kind */

struct asked; /* asked.h */

struct devices {
	struct arena arena;
	struct slice **slices; /* sorted when `sorted` */
	size_t slices_n, slices_cap;
	bool sorted;
	uint32_t devices_n; /* of all slices */
	struct class_entry **classes;
	size_t classes_n, classes_cap;
	struct claim_entry **claims;
	size_t claims_n, claims_cap;
	struct pod_entry **pods;
	size_t pods_n, pods_cap;
	struct node_entry **nodes;
	size_t nodes_n, nodes_cap;
	struct expression *expressions;
	size_t expressions_n, expressions_cap;
	struct intern values[VALUE_TYPES]; /* value_number() */
	bool accounted;                    /* allocations of claims are in the devices */
	struct asked *asked;
	char *refusal;
};

/* For qsort() of pointers to slices: by driver, pool and name. */
int slice_order(const void *a, const void *b);

/* read.c */
bool device_read(struct devices *d, const char *kind, const struct tree *t, char *error,
                 size_t error_bytes);
bool requests_read(struct devices *d, struct claim_entry *c, char *error, size_t error_bytes);
/* In d->arena; NULL: its requests cannot be read. */
struct pod_entry *pod_read(struct devices *d, const struct tree *t, char *error,
                           size_t error_bytes);

/* capacity.c */
void policy_read(struct arena *arena, const struct tree *policy, struct capacity_policy *out);
void asks_read(struct arena *arena, struct option_entry *o); /* of o->tree */
/* How much of a capacity of the device one share takes for the option: what is asked for, or the
 * default, or all; rounded up to what the policy allows.  False: more than the policy allows, or
 * than the device has. */
bool capacity_takes(const struct device_entry *e, size_t capacity, const struct option_entry *o,
                    device_amount *out);
/* The device has all that the option asks for, as long as nothing of it is taken. */
bool capacities_allow(const struct device_entry *e, const struct option_entry *o);
/* No amount of its capacities is below 0 or above NANO_MAX. */
bool capacities_in_bounds(const struct device_entry *e);

/* allocation.c: a quantity as a whole number, or with the decimals that it has. */
void amount_put(struct bytes *b, nano_t amount);

/* match.c */
/* A node selector over labels and metadata.name. */
bool node_selector_matches(const struct tree *selector, const struct node_entry *node);
bool device_selected(const struct device_entry *e, const struct node_entry *node);
bool slice_selected(const struct slice *s, const struct node_entry *node);
bool tolerated(const struct device_entry *e, const struct tree *tolerations);

/* match.c: compiled once. */
struct expression *expression_of(struct devices *d, struct text text);
/* An enum selector_result; SELECTOR_ERROR: *error, good while the devices are the same. */
int expression_result(struct devices *d, struct text text, const struct device_entry *e,
                      const char **error);

/* question.c: the condition of that type that is True in status.devices of the claim, for the
 * device of a result of its allocation; NULL: there is none. */
const struct tree *condition_true(const struct tree *statuses, const struct tree *result,
                                  struct text type);

/* devices.c */
void claim_account(struct devices *d, const struct claim_entry *c);
/* Calls `each` for each device of the claim's allocation, but those by adminAccess. */
typedef void (*claim_device_fn)(void *context, struct device_entry *device,
                                const struct tree *result);
void claim_devices_each(struct devices *d, const struct claim_entry *c, claim_device_fn each,
                        void *context);
void devices_prepare(struct devices *d); /* sorts the slices by driver, pool and name */

/* extended.c: the claim of the pod's extended resources on a node, which may have no requests. */
struct claim_entry *extended_claim(struct devices *d, const struct pod_entry *pod,
                                   const struct node_entry *node, struct arena *arena);
/* Adds to a JSON list which container has the devices of which request (requestMappings of the
 * pod's status), for one resource that devices serve (createRequestsAndMappings). */
void extended_mappings(const struct pod_entry *pod, struct text resource, struct bytes *list);

/* slices.c: the slices of a pool, which are neighbours after devices_prepare().  Those of its
 * newest generation count. */
struct slice_pool {
	struct slice **slices;
	size_t n;
	int64_t generation;
	int64_t found, wanted; /* slices of that */
};
/* The pool that begins with that slice. */
struct slice_pool slice_pool_at(const struct devices *d, size_t first);
/* What the pool's allocated devices draw of one of its counters; shares of a device draw once. */
nano_t counter_drawn(const struct slice_pool *p, const struct device_counter *counter);
/* "driver/pool/name" and "ns/name", in d->arena. */
const char *device_id(struct devices *d, struct text driver, struct text pool, struct text name);
const char *claim_id(struct devices *d, const struct claim_entry *c);

bool same_pool(const struct slice *a, const struct slice *b);
const struct class_entry *class_find(const struct devices *d, struct text name);
const struct class_entry *class_of_resource(const struct devices *d, struct text resource);
struct claim_entry *claim_find(const struct devices *d, struct text namespace, struct text name);
const struct node_entry *node_entry_find(const struct devices *d, const char *name);

#endif
