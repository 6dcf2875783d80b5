/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of dynamic resource allocation in numbers: what the frontend makes of ResourceSlices,
 * DeviceClasses and ResourceClaims, and what core/devices chooses from.
 *
 * Devices are numbered by node, in the allocator's order: pools by driver and name, those with
 * binding conditions last, slices by name, devices as listed.  Sets of devices are bitmaps of
 * DEVICE_WORDS(devices_n) words.  All memory is the writer's. */
#ifndef MUSTER_IPC_DEVICES_H
#define MUSTER_IPC_DEVICES_H

#include "ipc/abi_shape.h"

#include <stdbool.h>
#include <stdint.h>

/* 10^-9 of a unit, the smallest suffix of a quantity. */
typedef __int128 device_amount;

/* As records have it: two halves. */
static inline device_amount device_amount_of(uint64_t low, uint64_t high)
{
	return (device_amount)((unsigned __int128)high << 64 | low);
}

static inline void device_amount_split(device_amount amount, uint64_t *low, uint64_t *high)
{
	*low = (uint64_t)amount;
	*high = (uint64_t)((unsigned __int128)amount >> 64);
}

#define DEVICE_RESULTS_MAX 32u /* of a claim (resource.k8s.io: AllocationResultsMaxSize) */
#define DEVICE_OPTIONS_MAX 8u  /* of a request (FirstAvailableDeviceRequestMaxSize) */

#define DEVICE_WORDS(n) (((n) + 63) / 64)

static inline bool device_in(const uint64_t *set, uint32_t device)
{
	return set[device / 64] >> (device % 64) & 1;
}

static inline void device_add(uint64_t *set, uint32_t device)
{
	set[device / 64] |= UINT64_C(1) << (device % 64);
}

enum device_flags {
	DEVICE_TAKEN = 1u << 0,  /* in some claim's allocation, without adminAccess or a share */
	DEVICE_SHARED = 1u << 1, /* allowMultipleAllocations */
	DEVICE_DRAWN = 1u << 2,  /* a share of it is allocated: its counters are drawn already */
};

/* Of a counter of the pool. */
struct device_use {
	uint32_t counter;
	device_amount amount;
};

/* Of a device that is shared. */
struct device_capacity {
	device_amount value;
	device_amount consumed; /* by allocated shares */
};

struct device {
	uint32_t pool;
	uint32_t flags;
	struct span uses;
	struct span capacities; /* with DEVICE_SHARED */
};

enum device_pool_state {
	POOL_USABLE,
	POOL_INCOMPLETE, /* slices are missing; without devices here */
	POOL_INVALID,    /* the same, for a device, counter set or counter that is there twice or not */
};

struct device_pool {
	enum device_pool_state state;
	struct span devices;
	struct span counters;
};

/* What a node has. */
struct device_node {
	const struct device_pool *pools;
	uint32_t pools_n;
	const struct device *devices;
	uint32_t devices_n;
	const struct device_use *uses;
	const struct device_capacity *capacities;
	uint32_t capacities_n;
	const device_amount *counters; /* what allocated devices of all nodes leave; may be negative */
	uint32_t counters_n;
};

/* A request, or one of its alternatives. */
struct device_option {
	bool all;   /* allocationMode All; else `count` */
	bool admin; /* adminAccess */
	uint32_t count;
	const uint64_t *match; /* selectors, node selection and the whole of its capacity allow it */
	const uint64_t *fault; /* a selector has an error */
	const uint64_t *tolerated; /* no taint is in the way */
	/* By capacity of the node: what a share takes.  NULL: no device is shared. */
	const device_amount *amounts;
};

struct device_request {
	const struct device_option *options;
	uint32_t options_n;
};

struct device_constraint {
	bool distinct;          /* distinctAttribute; else matchAttribute */
	const uint32_t *values; /* by device: DEVICE_VALUE of the attribute, 0: it has none */
	const uint8_t *options; /* by request: a bit for each option that it restricts */
};

/* A value of an attribute: values of different types are different numbers. */
#define DEVICE_VALUE(type, number) ((number) << 2 | (type))
#define DEVICE_VALUE_TYPE(value) ((value)&3u)

/* A claim that is not allocated. */
struct device_claim {
	const struct device_request *requests;
	uint32_t requests_n;
	const struct device_constraint *constraints;
	uint32_t constraints_n;
};

/* All claims of a pod on a node. */
struct device_question {
	const struct device_claim *claims;
	uint32_t claims_n;
	uint32_t steps_most; /* of the search; 0: CHOICE_STEPS_MAX (core/devices/choice.h) */
};

#endif
