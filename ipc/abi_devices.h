/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of nodes and what claims ask of them, as records (ipc/abi.h).
 *
 *     EVENT_NODE_DEVICES   how many devices a node has, which of them are taken
 *     EVENT_QUESTION       what the unallocated claims of a pod ask for, without the devices
 *     EVENT_MATCH          which devices of a node each option of a question may have
 *     CMD_DEVICES          the devices that the core has chosen, before the CMD_BIND of the pod
 *
 * A device is a number of its node, in the allocator's order (ipc/devices.h).  The numbers hold for
 * one `layout` of the node, at least 1; a record or a command for another layout is ignored.
 * Sets of devices are DEVICE_WORDS(devices_n) words.
 *
 * A device that several nodes may use has a number on each of them, and a common number: if a pod
 * gets it on one node, it is allocated on the others. */
#ifndef MUSTER_IPC_ABI_DEVICES_H
#define MUSTER_IPC_ABI_DEVICES_H

#include <stdint.h>

#define QUESTIONS_MAX 1024u         /* at once */
#define QUESTION_OPTIONS_MAX 64u    /* of a question: a bit each in struct question_constraint */
#define QUESTION_CONSTRAINTS_MAX 8u /* of a question: a record of NODE_DEVICES_MAX has room */
#define NODE_DEVICES_MAX 1024u      /* of a node */
#define DEVICE_PICKS_MAX 128u       /* of a pod */
#define NODE_COUNTERS_MAX 512u      /* of the pools of a node */
#define NODE_USES_MAX 2000u         /* of them, by its devices */
#define NODE_CAPACITIES_MAX 512u    /* of the devices of a node that claims share */
#define MATCH_AMOUNTS_MAX 1000u     /* of a match: a record of NODE_DEVICES_MAX has room */
#define COMMON_DEVICES_MAX 4096u    /* of the cluster: those of several nodes */
#define QUESTION_TEXT_MAX 504u      /* bytes of the names of a question */
#define CLAIM_CONSUMERS_MAX 256u    /* pods that a claim can be reserved for */
#define DEVICE_LACKS_MAX 4u         /* options that a reason counts */

/* Groups: what serves one extended resource of a pod on nodes whose allocatable lacks it.  1 to
 * DEVICE_GROUPS_MAX, in the flags of an option and of an amount of the shape. */
#define DEVICE_GROUPS_MAX 15u
#define DEVICE_GROUP_SHIFT 8u

static inline uint32_t device_group(uint32_t flags)
{
	return flags >> DEVICE_GROUP_SHIFT & DEVICE_GROUPS_MAX;
}

enum node_devices_flags {
	NODE_DEVICES_INVALID = 1u << 0, /* a pool of the node is */
	NODE_DEVICES_SHARED = 1u << 1,  /* some have allowMultipleAllocations */
};

/* Followed by one set: devices in some claim's allocation, or in one that the frontend writes; with
 * NODE_DEVICES_SHARED by a second one: devices that any number of claims may have, as far as their
 * capacities go; and by the counters, their uses, the capacities, and the common numbers.  Whether
 * a device of several nodes is taken holds for all of them, as the last record has it. */
struct event_node_devices {
	uint32_t node;
	uint32_t generation; /* of the node */
	uint32_t layout;
	uint32_t devices_n; /* 0: the node has none any more */
	uint32_t flags;     /* enum node_devices_flags */
	uint32_t counters_n;
	uint32_t uses_n;
	uint32_t capacities_n;
	uint32_t commons_n;
	uint32_t reserved;
};

/* A counter of a pool (sharedCounters), sorted by pool; what devices in use take is not subtracted.
 * The amount is a device_amount of ipc/devices.h, not negative. */
struct node_counter {
	uint32_t pool;
	uint32_t reserved;
	uint64_t low, high;
};

/* What a device takes of a counter (consumesCounters), sorted by device.  All that one device uses
 * is of one pool. */
struct node_use {
	uint32_t device;
	uint32_t counter;
	uint64_t low, high;
};

/* A capacity of a device that is shared, sorted by device; what shares in allocations, or in those
 * that the frontend writes, have of it.  Not negative. */
struct node_capacity {
	uint32_t device;
	uint32_t reserved;
	uint64_t value_low, value_high;
	uint64_t consumed_low, consumed_high;
};

/* A device that other nodes may have too, sorted by device; it is not shared.  If it uses counters,
 * the node lists all devices that use some of them. */
struct node_common {
	uint32_t device;
	uint32_t common; /* below COMMON_DEVICES_MAX */
};

/* Followed by the options, the constraints, and the names that reasons have, padded to 8: for each
 * option, the first ones if not all have room, "REQUEST CLASS ATTRIBUTE ", of which no name has a
 * space.  The attribute is that of the first matchAttribute that restricts it, "-": none does. */
struct event_question {
	uint32_t question;
	uint32_t options_n;
	uint32_t constraints_n;
	uint32_t text_bytes;
};

enum question_flags {
	QUESTION_ALL = 1u << 0,      /* of an option: allocationMode All */
	QUESTION_DISTINCT = 1u << 1, /* of a constraint: distinctAttribute; else matchAttribute */
	QUESTION_ADMIN = 1u << 2,    /* of an option: adminAccess, which takes nothing */
	QUESTION_PREFERS = 1u << 3,  /* of an option: of firstAvailable; the first ones score higher */
	QUESTION_ONE = 1u << 4, /* of all options or none: the pods of the question have one claim */
	QUESTION_GROUPS = DEVICE_GROUPS_MAX << DEVICE_GROUP_SHIFT, /* of an option: its group, or 0 */
};

/* Sorted by claim and request, both counted from 0 without gaps; several options of one request are
 * its alternatives. */
struct question_option {
	uint32_t claim;
	uint32_t request; /* of the claim */
	uint32_t flags;
	uint32_t count; /* without QUESTION_ALL: at least 1 */
};

/* Sorted by claim. */
struct question_constraint {
	uint64_t options; /* a bit for each option of the question that it restricts */
	uint32_t claim;
	uint32_t flags;
};

/* Followed by, for each option, two sets: devices that selectors and the device's own node
 * selection allow, and those without a taint in the way; and for each constraint by devices_n
 * values (DEVICE_VALUE, 0: the device has none), padded to 8 bytes; and for each option by
 * capacities_n amounts, what a share of the capacity's device takes of it. */
struct event_match {
	uint32_t question;
	uint32_t node;
	uint32_t generation; /* of the node */
	uint32_t layout;
	uint32_t devices_n;
	uint32_t options_n; /* as the question has */
	uint32_t constraints_n;
	uint32_t capacities_n; /* as the node has; 0: no share can be had */
};

struct match_amount {
	uint64_t low, high;
};

/* Part of a reason: devices of all nodes for one option of what members of a gang ask for. */
struct device_lack {
	uint32_t question;
	uint32_t option;
	uint32_t members;        /* that need them together, and some find none */
	uint32_t count;          /* for each; 0: all of a node */
	uint32_t match;          /* devices that the option may have; of these: */
	uint32_t taken, tainted; /* in use; with a taint in the way */
	uint32_t shut;           /* their pool has too little of a counter that they take */
	uint32_t free;           /* the rest */
	uint32_t nodes;          /* with free ones */
	uint32_t most;           /* free ones of one node */
	uint32_t alike;          /* ... with one value of the attribute; 0 without one */
	uint64_t names_offset;   /* "REQUEST CLASS ATTRIBUTE" in the ledger's arena, not ended */
	uint32_t names_bytes;    /* 0: they are not known */
	uint32_t reserved;
};

/* Followed by the picks, in the order of the allocation's results. */
struct cmd_devices {
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t node;
	uint32_t node_generation;
	uint32_t attempt; /* of the CMD_BIND that follows */
	uint32_t layout;
	uint32_t question;
	uint32_t picks_n; /* 0: the node's devices changed since, so that the choice is void */
};

struct device_pick {
	uint32_t claim; /* as in the question */
	uint32_t request;
	uint32_t option;
	uint32_t device;
};

#endif
