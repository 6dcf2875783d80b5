/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory and the records between core and frontend.
 *
 * Two segments of shared memory, each a sealed memfd with one writer; the
 * other process and every observer map it read-only.
 *
 *   intake  [F] frontend writes          ledger  [C] core writes
 *   +---------------------------+        +---------------------------+
 *   | segment head              |        | segment head, limits      |
 *   | event tail, result tail   |        | command tail              |
 *   | command head              |        | event head, result head   |
 *   | core's doorbell, parked   |        | frontend's doorbell, p.   |
 *   | event ring                |        | statistics                |
 *   | result ring               |        | node rows and columns     |
 *   +---------------------------+        | gang rows, names          |
 *                                        | command ring              |
 *                                        +---------------------------+
 *
 * Rules: fixed-width types, explicit padding, offsets and never pointers, the
 * writer of each field in brackets, writers on separate cache lines.  A
 * reader of the other side's memory copies a value once and checks the copy
 * against its own private limits before use.
 *
 * Change anything here and abi_layout_hash() changes with it; peers with
 * different hashes refuse each other (exit 78). */
#ifndef MUSTER_IPC_ABI_H
#define MUSTER_IPC_ABI_H

#include "ipc/abi_devices.h"
#include "ipc/abi_loop.h"
#include "ipc/abi_promise.h"
#include "ipc/abi_queue.h"
#include "ipc/abi_shape.h"
#include "ipc/abi_victims.h"

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 64

#define INTAKE_MAGIC UINT64_C(0x31306e492e74736d) /* "mst.In01" */
#define LEDGER_MAGIC UINT64_C(0x3130644c2e74736d) /* "mst.Ld01" */

/* No object, in every id field. */
#define ID_NONE UINT32_MAX

/* Ids are slots chosen by the frontend, dense and reused; two users of a slot
 * have different generations.  Ids are good for one epoch. */
typedef uint32_t node_id;
typedef uint32_t gang_id;
typedef uint32_t pod_id;
typedef uint32_t shape_id;
typedef uint32_t name_id;     /* a string in the ledger: EVENT_NAME */
typedef uint32_t resource_id; /* a column: RESOURCE_CPU ... */

enum {
	RESOURCE_CPU,       /* milli */
	RESOURCE_MEMORY,    /* bytes */
	RESOURCE_EPHEMERAL, /* bytes */
	RESOURCE_PODS,      /* count */
	RESOURCE_EXTENDED,  /* the first extended resource, count or bytes */
};
#define RESOURCES_MAX 64 /* of limits.resources */

/* Capacity of the core's tables: flags of muster-core, sent to the frontend in
 * the handshake; both check against their private copy. */
struct limits {
	uint32_t nodes;
	uint32_t pods;
	uint32_t gangs;
	uint32_t shapes;
	uint32_t names;
	uint32_t resources;          /* columns, at most RESOURCES_MAX */
	uint64_t name_bytes;         /* arena of names shown in the ledger */
	uint64_t command_ring_bytes; /* power of two */
};

#define RECORD_BYTES_MAX 65536u /* header included; longer ones are rejected */

struct segment_head {
	uint64_t magic;
	uint64_t layout_hash;
	uint64_t bytes;
	uint64_t reserved;
};

struct ring_place {
	uint64_t offset; /* from the start of the segment, cache line aligned */
	uint64_t bytes;  /* power of two */
};

struct intake {
	struct segment_head head;     /* [F] before HELLO */
	struct ring_place event_ring; /* [F] before HELLO */
	struct ring_place result_ring;
	alignas(CACHE_LINE) _Atomic uint64_t event_tail;      /* [F] bytes published */
	alignas(CACHE_LINE) _Atomic uint64_t result_tail;     /* [F] bytes published */
	alignas(CACHE_LINE) _Atomic uint64_t command_head;    /* [F] bytes released */
	alignas(CACHE_LINE) _Atomic uint32_t frontend_parked; /* [F] odd: ring the doorbell */
	alignas(CACHE_LINE) _Atomic uint32_t core_doorbell;   /* [F] futex word the core sleeps on */
	uint32_t padding[15];
};

/* Counters for observers. */
struct core_stats {
	_Atomic uint64_t events;        /* records applied */
	_Atomic uint64_t bad_records;   /* rejected by a check */
	_Atomic uint64_t plans;         /* gangs planned */
	_Atomic uint64_t plans_placed;  /* of those: reserved */
	_Atomic uint64_t plans_refused; /* of those: unschedulable, with a reason */
	_Atomic uint64_t plan_ns_sum;   /* time in plan and reserve */
	_Atomic uint64_t plan_ns_max;
	_Atomic uint64_t plan_ns_last;
	_Atomic uint64_t binds_sent;
	_Atomic uint64_t binds_accepted;
	_Atomic uint64_t binds_refused;
	_Atomic uint64_t limits_hit; /* records rejected because a table is full */
	_Atomic uint64_t sleeps;     /* times the loop slept on the futex */
	_Atomic uint64_t saturated;  /* sums that exceeded int64 */
	_Atomic uint64_t epochs;
	_Atomic uint64_t stale_results; /* without a binding in flight */
};

/* Gauges for observers. */
struct core_gauges {
	_Atomic uint64_t nodes;
	_Atomic uint64_t pods;
	_Atomic uint64_t pods_pending;
	_Atomic uint64_t pods_bound;
	_Atomic uint64_t gangs;
	_Atomic uint64_t gangs_waiting;
	_Atomic uint64_t gangs_binding;
	_Atomic uint64_t gangs_placed;
	_Atomic uint64_t shapes;
	_Atomic uint64_t names;
	_Atomic uint64_t synced;       /* 1 after EVENT_SYNCED */
	_Atomic uint64_t reservations; /* backfill reservations made so far */
	_Atomic uint64_t
		reserved_gang; /* index + 1 of the gang with the backfill reservation; 0: none */
	_Atomic uint64_t pods_binding; /* with a reservation; the result of the binding is not known */
	_Atomic uint64_t pods_assumed; /* of other schedulers, with a reservation (EVENT_ASSUME) */
	_Atomic uint64_t reserved[1];
};

/* The world that follows the loop (core/world/follower.h). */
enum world_state {
	WORLD_OFF,      /* --searchers 0 */
	WORLD_FOLLOWS,  /* its commands are those of the loop */
	WORLD_MISMATCH, /* dropped: its commands would have been others */
	WORLD_FULL,     /* dropped: its ring was full */
	WORLD_STATES
};

struct core_world {
	_Atomic uint64_t state;         /* enum world_state */
	_Atomic uint64_t events;        /* records applied, as in struct core_stats */
	_Atomic uint64_t mismatches;    /* steps in which it differed from the loop */
	_Atomic uint64_t waiting_bytes; /* in its ring */
	_Atomic uint64_t snapshots;     /* published */
	_Atomic uint64_t
		chunks_copied; /* of them: chunks of 64 nodes that differed from the one before */
	_Atomic uint64_t chunks_shared;
	_Atomic uint64_t snapshots_put_off; /* readers kept too many earlier ones */
	_Atomic uint64_t audits;            /* of snapshots by a searcher; core/world/snapshot.h */
	_Atomic uint64_t audit_faults;
	_Atomic uint64_t reserved[6];
};

/* A cache line of a node: resource r is at r % AMOUNTS_BLOCK of block r / AMOUNTS_BLOCK. */
#define AMOUNTS_BLOCK 4u
#define AMOUNT_BLOCKS(resources) (((resources) + AMOUNTS_BLOCK - 1) / AMOUNTS_BLOCK)

/* Parts whose pages are committed as they are needed.  After the first committed[] bytes a part
 * may have no pages and is not read. */
enum ledger_part {
	PART_NODES,
	PART_GANGS,
	PART_ARENA,
	PART_QUEUES,
	PART_AMOUNTS, /* of the first block of resources; each block is a part of its own */
	LEDGER_PARTS = PART_AMOUNTS + AMOUNT_BLOCKS(RESOURCES_MAX)
};

struct ledger {
	struct segment_head head; /* [C] before WELCOME */
	struct limits limits;     /* [C] before WELCOME, as all offsets below */
	struct ring_place command_ring;
	uint64_t nodes_offset; /* struct node_row[limits.nodes] */
	uint64_t names_offset; /* struct name_row[limits.names] */
	uint64_t gangs_offset; /* struct gang_row[limits.gangs] */
	uint64_t arena_offset; /* char[limits.name_bytes] */
	uint64_t
		amounts_offset;     /* struct node_amounts[AMOUNT_BLOCKS(limits.resources)][limits.nodes] */
	uint64_t queues_offset; /* struct queue_row[QUEUES_MAX], QUEUE_ROW_BYTES() each */
	_Atomic uint64_t committed[LEDGER_PARTS];          /* [C] bytes with pages; never decreases */
	_Atomic uint64_t epoch;                            /* [C] of the current connection */
	alignas(CACHE_LINE) _Atomic uint64_t command_tail; /* [C] bytes published */
	alignas(CACHE_LINE) _Atomic uint64_t event_head;   /* [C] bytes released */
	alignas(CACHE_LINE) _Atomic uint64_t result_head;  /* [C] bytes released */
	alignas(CACHE_LINE) _Atomic uint32_t core_parked;  /* [C] odd: ring the doorbell */
	alignas(CACHE_LINE) _Atomic uint32_t frontend_doorbell; /* [C] futex word */
	uint32_t padding0[15];
	/* [C] turns of the core's loop: at least one in 100 ms, but for a plan that takes longer */
	alignas(CACHE_LINE) _Atomic uint64_t progress;
	uint64_t padding1[7];
	alignas(CACHE_LINE) struct core_stats stats;                  /* [C] */
	alignas(CACHE_LINE) struct core_gauges gauges;                /* [C] */
	alignas(CACHE_LINE) struct core_plans plans;                  /* [C] */
	alignas(CACHE_LINE) struct core_starts starts;                /* [C] */
	alignas(CACHE_LINE) struct core_world world;                  /* [C], but for its loop */
	alignas(CACHE_LINE) struct core_searches searches;            /* [C], as world */
	alignas(CACHE_LINE) struct core_preemption preemption;        /* [C] */
	alignas(CACHE_LINE) struct core_loop loop;                    /* [C] */
	alignas(CACHE_LINE) struct core_published published;          /* [C] */
	alignas(CACHE_LINE) struct victims_row victims[VICTIMS_ROWS]; /* [C], as world */
};

/* Each row is a seqlock: a copy is consistent if `version` was even and the
 * same before and after.  The version of a node also covers its amounts. */

#define NAME_ROW_EMPTY 0u

struct name_row {
	uint64_t offset; /* in the arena; never moves while the id is in use */
	uint32_t bytes;
	uint32_t kind; /* enum name_kind, NAME_ROW_EMPTY: unused */
};

enum name_kind {
	NAME_RESOURCE = 1, /* name_id = resource_id, so below limits.resources: "nvidia.com/gpu" */
	NAME_TAINT, /* name_id from limits.resources on: "key: value" of a taint, or the name of a
	             * resource without a column (struct amount) */
};

enum node_flags {
	NODE_PRESENT = 1u << 0,      /* the object exists; else only pods refer to it */
	NODE_CORDONED = 1u << 1,     /* spec.unschedulable */
	NODE_RESTARTS_ALL = 1u << 2, /* declares RestartAllContainersOnContainerExits */
	NODE_FLAGS = (1u << 3) - 1,
};

struct node_row {
	_Atomic uint32_t version;
	uint32_t generation; /* 0: no such node */
	uint32_t flags;
	uint32_t pods;        /* bound or reserved here */
	uint64_t name_offset; /* in the arena */
	uint32_t name_bytes;
	uint32_t reserved;
};

struct node_amounts {
	int64_t allocatable[AMOUNTS_BLOCK];
	int64_t used[AMOUNTS_BLOCK];
};

/* The first five are those of its placement, which commands carry; the others are in rows only. */
enum gang_state {
	GANG_NONE,
	GANG_INCOMPLETE, /* group or members are missing */
	GANG_WAITING,    /* complete and unschedulable, see the reason */
	GANG_BINDING,    /* reserved, bindings in flight */
	GANG_PLACED,     /* the quorum is bound */
	GANG_FINISHED,   /* as many members as the quorum succeeded, or all; none is left */
	GANG_FAILED,     /* members failed, and none is left */
	GANG_DEGRADED,   /* incomplete or waiting after its quorum had been bound */
	GANG_STATES
};

/* Why a gang or pod waits: ipc/reasons.def. */
enum wait_reason {
#define WAIT_REASON(code, name) WAIT_##code,
#include "ipc/reasons.def"
	WAIT_REASONS
};

/* Why a filter rejects a node for a pod: ipc/reasons.def, in the order of the filters. */
enum filter_reason {
	FILTER_PASSED,
#define FILTER_REASON(code, text) FILTER_##code,
#include "ipc/reasons.def"
	FILTER_REASONS
};

struct filter_count {
	uint32_t why; /* enum filter_reason */
	uint32_t arg;
	uint32_t nodes; /* a node that lacks two resources counts for both */
	uint32_t reserved;
};

/* In whole members: have = request x members that fit by this resource alone, on
 * the nodes that the rules allow. */
struct shortfall {
	uint32_t resource;
	uint32_t reserved;
	int64_t need;
	int64_t have;
};

#define FILTER_COUNTS_MAX 16 /* the last one is the sum of rarer ones */
#define SHORTFALLS_MAX 8

struct reason {
	uint32_t why; /* enum wait_reason */
	uint32_t quorum;
	uint32_t members; /* without ended and deleted ones */
	uint32_t gated;
	uint32_t bound; /* bound or binding */
	uint32_t need;  /* members that have to start together now */
	uint32_t fit;   /* of those: members that fit */
	uint32_t nodes; /* in the cluster */
	uint32_t role;  /* WAIT_ROLE: number of a value */
	uint32_t role_quorum;
	uint32_t role_members;
	uint32_t domains;      /* WAIT_TOPOLOGY: domains of the level */
	uint32_t domain_key;   /* the level: number of a label key */
	uint32_t domain_value; /* the domain where most members fit: number of a value; ID_NONE: none */
	uint32_t domain_fit;   /* members that fit there */
	uint16_t unpromised; /* 1: no backfill reservation, since pods that do not end by themselves use
	                      * what it lacks */
	uint16_t promised_away;  /* 1, WAIT_RESERVED: by promises, not by the backfill reservation */
	uint32_t retained_nodes; /* where a member would fit but for reservations that are retained */
	uint32_t retained_gang;  /* the first gang that retains one of them; WAIT_RESERVED: for which
	                          * capacity is reserved, or to which it is promised, limits.gangs +
	                          * pod of a lone one */
	uint32_t retained_generation; /* of that gang; 0: none */
	uint32_t victims;   /* WAIT_VICTIMS: pods that have to go first, and are evicted or ending */
	uint32_t stuck_pod; /* one of them that does not go in time ... */
	uint32_t stuck_generation; /* ... of that pod; 0: none */
	uint32_t taken_pod;        /* was bound, by others, on capacity that was nominated for it ... */
	uint32_t taken_generation; /* ... of that pod; 0: none */
	uint32_t queue_by;         /* WAIT_QUEUE: enum queue_by; the amounts are the first shortfall */
	uint32_t queue;            /* the queue that refuses; QUEUE_MISSING: none */
	uint32_t queue_behind;     /* QUEUE_BY_FIFO: the gang, limits.gangs + pod of a lone one */
	uint32_t queue_behind_generation;
	uint32_t queue_state;               /* QUEUE_BY_STATE: enum queue_state */
	uint32_t queue_run_s, queue_most_s; /* QUEUE_BY_RUN: what is stated, and may be */
	uint32_t lacks_n;                   /* devices: kube-scheduler's text has no numbers of them */
	uint32_t counts_n;
	uint32_t shortfalls_n;
	struct filter_count counts[FILTER_COUNTS_MAX];
	struct shortfall shortfalls[SHORTFALLS_MAX];
	struct promised promised;
	struct device_lack lacks[DEVICE_LACKS_MAX];
};

/* Band of the queue: lower ones first, then by priority, age and name; in the last band age comes
 * before priority. */
enum queue_band {
	BAND_STARTED, /* partially bound: fewer members than the quorum have a node */
	BAND_NORMAL,
	BAND_LAST, /* GANG_AFTER_OTHERS */
};

struct gang_row {
	_Atomic uint32_t version;
	uint32_t generation; /* 0: no such gang */
	uint32_t state;      /* enum gang_state */
	uint32_t placement;  /* likewise: GANG_PLACED at most */
	uint32_t dialect;
	uint32_t quorum;
	uint32_t members;
	uint32_t bound;
	uint32_t succeeded; /* members that ended and still exist */
	uint32_t failed;
	int32_t priority;
	uint32_t queue;            /* QUEUE_MISSING: none, or several */
	uint64_t created_ns;       /* of the group, else of its oldest member; 0: unknown */
	uint64_t waiting_since_ns; /* for capacity, by the clock of the records; 0: it does not wait */
	uint64_t name_offset;      /* "namespace/name" in the arena */
	uint32_t name_bytes;
	uint32_t band; /* enum queue_band */
	/* When it last lost its quorum to a gang of another queue, by the clock of the records, and
	 * that queue; 0: not since the epoch began. */
	uint64_t reclaimed_ns;
	uint32_t reclaimed_by;
	uint32_t reserved;
	struct reason reason;
};

/* The header of each record; the body follows.  `bytes` is the size of both, a
 * multiple of 8. */
struct record {
	uint32_t bytes;
	uint16_t kind;
	uint16_t flags; /* 0 */
	uint64_t epoch;
	uint64_t sequence; /* of its ring, from 1, no gaps */
	uint64_t time_ns;  /* events and results: the frontend's clock, since 1970, monotonic in an
	                    * epoch; commands: the core's CLOCK_MONOTONIC at the start of the plan */
};

/* The order counts: kinds of the event ring, of the result ring, EVENT_PLAN and EVENT_ANSWER,
 * commands (belongs() of core/daemon/loop.c, recordings).  A new kind goes inside its group. */
enum record_kind {
	RECORD_PAD, /* fills a ring up to its end; readers skip it */

	/* Event ring: the full state of an object, which replaces the previous one. */
	EVENT_BEGIN,          /* first of an epoch: clears everything but bindings in flight */
	EVENT_SYNCED,         /* initial lists complete; planning may start */
	EVENT_TICK,           /* carries the time only */
	EVENT_NAME,           /* struct event_name, text */
	EVENT_NODE,           /* struct event_node, amounts, labels, taints, images, attach limits,
	                       * attachments, name */
	EVENT_NODE_DROP,      /* struct event_drop */
	EVENT_SHAPE,          /* struct event_shape and the arrays that it counts, in that order */
	EVENT_SHAPE_DROP,     /* struct event_drop; no pod has the shape */
	EVENT_GANG,           /* struct event_gang, amounts, roles, levels, name */
	EVENT_GANG_DROP,      /* struct event_drop */
	EVENT_NAMESPACE,      /* struct event_namespace, pod labels */
	EVENT_NAMESPACE_DROP, /* struct event_drop: its id is the number of the name */
	EVENT_POD,            /* struct event_pod, pod labels, name */
	EVENT_POD_DROP,       /* struct event_drop: deleted or ended */

	/* What searches for victims need (core/world/keeper.h).  Nothing else reads them, but for
	 * nominations (core/lifecycle/nominate.h). */
	EVENT_PREEMPTION, /* struct event_preemption */
	EVENT_BUDGET,     /* struct event_budget, requirements, values, names */
	EVENT_POD_FACTS,  /* struct event_pod_facts: after the record of the pod */

	EVENT_ASSUME,      /* struct event_assume, node set */
	EVENT_QUEUE,       /* struct event_queue, queue amounts, name */
	EVENT_QUEUE_TERMS, /* struct event_queue_terms */
	EVENT_QUEUE_PAST,  /* struct event_queue_past, queue pasts: after the record of the queue */

	/* Devices (ipc/abi_devices.h); a cluster without them has none of these. */
	EVENT_NODE_DEVICES,  /* struct event_node_devices, set */
	EVENT_QUESTION,      /* struct event_question, options, constraints */
	EVENT_QUESTION_DROP, /* struct event_drop; no shape has it */
	EVENT_MATCH,         /* struct event_match, sets and values */

	EVENT_PROMISED, /* struct event_promised: before EVENT_SYNCED, after the record of the pod */

	/* Result ring: the outcome of a CMD_BIND, CMD_RETRY_BIND or CMD_CANCEL_BIND. */
	RESULT_BOUND,   /* struct result: the pod is bound */
	RESULT_REFUSED, /* the pod is not bound, and this attempt will not bind it */
	RESULT_UNKNOWN, /* in flight: the reservation is kept until the next result */
	/* ... of a CMD_EVICT: struct evict_result; the protocol is in ipc/abi_victims.h. */
	RESULT_EVICT_SENT,     /* the pod is ending, or gone */
	RESULT_EVICT_REFUSED,  /* by a budget; nothing happened */
	RESULT_EVICT_NOT_SENT, /* and will not be */

	/* Never on a ring: of the core's own process. */
	EVENT_PLAN,   /* its loop starts a scheduling cycle */
	EVENT_ANSWER, /* struct event_answer, pods: its world's thread has searched */

	/* Command ring. */
	CMD_BIND,         /* struct cmd_bind */
	CMD_REASON,       /* struct cmd_reason: the reason of a gang or a lone pod changed */
	CMD_GANG,         /* struct cmd_gang: its state changed */
	CMD_ASSUME,       /* struct cmd_assume: the answer to an EVENT_ASSUME */
	CMD_RETRY_BIND,   /* struct cmd_bind: an earlier frontend may have sent it */
	CMD_CANCEL_BIND,  /* struct cmd_bind: sent by an earlier frontend, must not take effect */
	CMD_NOMINATE,     /* struct cmd_nominate: write or clear status.nominatedNodeName */
	CMD_EVICT,        /* struct cmd_evict: one result answers */
	CMD_CANCEL_EVICT, /* struct cmd_cancel_evict: not to be sent, if it was not yet */
	CMD_DEVICES,      /* struct cmd_devices, picks: of the pod of the CMD_BIND that follows */
	RECORD_KINDS
};

struct event_name {
	uint32_t id;
	uint32_t kind;  /* enum name_kind */
	uint32_t bytes; /* text follows, padded with zeros to 8 */
	uint32_t reserved;
};

enum amount_flags {
	AMOUNT_DEVICES = 1u << 0, /* on a node without the resource devices serve it */
	/* ... by the options with the same group of the shape's question, if it is not 0. */
	AMOUNT_GROUP_SHIFT = DEVICE_GROUP_SHIFT,
};

/* In requests of a shape and in minResources of a gang, `resource` may be the name_id of a
 * NAME_TAINT: a resource that no node has and that takes no column.  Those come last, sorted. */
struct amount {
	uint32_t resource;
	uint32_t flags; /* enum amount_flags; of a shape's requests */
	int64_t value;  /* >= 0, in the unit of the resource */
};

/* Label keys and values are numbers of the frontend's table of strings; equal
 * strings have equal numbers.  `number` is the value parsed for Gt and Lt. */
#define LABEL_NOT_A_NUMBER INT64_MIN
#define LABEL_KEY_NODE_NAME 0u /* pseudo label: matchFields metadata.name */

struct label {
	uint32_t key;
	uint32_t value;
	int64_t number;
};

enum taint_effect {
	EFFECT_ANY, /* only in tolerations */
	EFFECT_NO_SCHEDULE,
	EFFECT_PREFER_NO_SCHEDULE,
	EFFECT_NO_EXECUTE,
};

struct taint {
	uint32_t key;
	uint32_t value;
	uint32_t effect;
	uint32_t name; /* name_id of the text to print */
};

/* An image on a node, if some shape has it.  Images are numbers of the frontend's
 * table. */
struct node_image {
	uint32_t image;
	uint32_t reserved;
	int64_t bytes;
};

/* The most volumes that a CSI driver attaches to the node. */
struct attach_limit {
	uint32_t driver; /* number of a value */
	uint32_t most;
};

/* A volume that a pod needs attached, or that is attached to a node. */
struct attachment {
	uint32_t driver; /* numbers of values */
	uint32_t volume;
};

struct event_node {
	uint32_t node;
	uint32_t generation; /* not 0 */
	uint32_t flags;      /* enum node_flags */
	uint32_t name_bytes;
	uint32_t amounts_n; /* allocatable; a missing resource is 0 */
	uint32_t labels_n;  /* sorted by key */
	uint32_t taints_n;
	uint32_t images_n; /* sorted by image */
	uint32_t limits_n;
	uint32_t attached_n; /* by VolumeAttachments; pods' own come with their shapes */
};

struct event_shape {
	uint32_t shape;
	uint32_t flags;
	uint32_t amounts_n;      /* requests; RESOURCE_PODS is always 1 */
	uint32_t requirements_n; /* nodeSelector and required node affinity */
	uint32_t values_n;       /* uint32_t each, padded to 8 bytes */
	uint32_t tolerations_n;
	uint32_t terms_n;   /* of required node affinity */
	uint32_t clauses_n; /* struct requirement, term 0; the following arrays refer to them */
	uint32_t preferences_n;
	uint32_t alternatives_n; /* struct span of clauses, for volume rules */
	uint32_t volume_rules_n;
	uint32_t pod_terms_n;
	uint32_t spreads_n;
	uint32_t ports_n;
	uint32_t images_n; /* uint32_t each, padded; with duplicates */
	uint32_t attachments_n;
	uint32_t exclusives_n;
	uint32_t image_containers;   /* containers and init containers */
	int64_t scored_cpu_milli;    /* requests in scores: a container without */
	int64_t scored_memory_bytes; /* a request counts 100m and 200 MiB */
	int64_t placed_cpu_milli;    /* added once the pod is placed, when pod-level */
	int64_t placed_memory_bytes; /* resources count as well; may be negative */
	uint32_t namespace;          /* number of the pods' namespace; ID_NONE: no spread or policy */
	uint32_t policies_n;         /* 0 or 1 */
	uint32_t shares_n;           /* struct policy_share, after the policy */
	uint32_t devices; /* what the pod asks for, 0: none; live the number of a question + 1, offline
	                   * that of struct device_filter */
};

enum gang_flags {
	GANG_OBJECT_MISSING = 1u << 0, /* pods refer to it, the object does not exist */
	GANG_REFUSED = 1u << 1,        /* its object is not supported */
	GANG_PRIORITY = 1u << 2,       /* `priority` replaces those of its members */
	GANG_AFTER_OTHERS = 1u << 3, /* in the last band of the queue, where age comes before priority,
	                              * until it has been unschedulable for --reserve-after */
	GANG_UNCHANGED = 1u << 4,    /* the spec of its object has not changed since its creation */
	GANG_WHOLE = 1u << 5,        /* its quorum was bound at some time since it has members */
	GANG_ENDED_COUNT = 1u << 6,  /* succeeded members count for the quorum, which the quorums of
	                              * its roles are then part of no more */
};

#define GANG_ROLES_MAX 32
#define GANG_LEVELS_MAX 4

/* Quorum of a role, in addition to that of the gang. */
struct gang_role {
	uint32_t role; /* number of a value; sorted, each once */
	uint32_t quorum;
};

enum level_flags {
	LEVEL_REQUIRED = 1u << 0, /* all members in one domain; else in as few as possible */
};

/* A topology level in whose domains a gang is kept together. */
struct gang_level {
	uint32_t topology; /* a label key of nodes */
	uint32_t flags;
};

struct event_gang {
	uint32_t gang;
	uint32_t generation; /* not 0 */
	uint32_t flags;
	uint32_t dialect;   /* frontend/dialect/dialect.h; the core only publishes it */
	uint32_t quorum;    /* 0 counts as 1 */
	uint32_t amounts_n; /* minResources for the quorum as a whole */
	uint32_t name_bytes;
	uint32_t roles_n;
	uint32_t levels_n;   /* the widest first */
	int32_t priority;    /* GANG_PRIORITY */
	uint64_t created_ns; /* 0: the age of its oldest member */
	uint64_t timeout_ns; /* 0: none */
	uint32_t spec_id; /* the frontend's number for the spec in this record; returned in CMD_BIND */
	uint32_t succeeded; /* members that ended and still exist */
	uint32_t failed;
	uint32_t disruption; /* enum gang_disruption */
};

enum pod_flags {
	POD_OURS = 1u << 0,          /* to be scheduled by muster */
	POD_GATED = 1u << 1,         /* has scheduling gates */
	POD_DELETING = 1u << 2,      /* has a deletionTimestamp */
	POD_REFUSED = 1u << 3,       /* has a field that muster does not support */
	POD_BINDING = 1u << 4,       /* a Binding to `node` may be in flight; a result follows */
	POD_LASTS = 1u << 5,         /* does not end by itself */
	POD_INTENT_BIND = 1u << 6,   /* a Binding to `node`, or another scheduler's, may be in flight */
	POD_INTENT_CANCEL = 1u << 7, /* ... and that node was another one: it is not sent again */
	POD_INTENT_RETAIN = 1u << 8, /* it was refused there, and retained the capacity */
};

/* What the journal of an earlier instance has of a pod without a node; one of them at most.  The
 * core resolves it when the initial lists are complete, as its own bindings in flight:
 * core/lifecycle/inflight.h. */
#define POD_INTENTS ((uint32_t)(POD_INTENT_BIND | POD_INTENT_CANCEL | POD_INTENT_RETAIN))

struct event_pod {
	uint32_t pod;
	uint32_t generation; /* not 0 */
	uint32_t flags;
	uint32_t gang; /* ID_NONE: a gang of one */
	uint32_t shape;
	uint32_t node; /* bound to, or ID_NONE; or of the intent */
	int32_t priority;
	uint32_t name_bytes;  /* of "namespace/name", padded to 8 */
	uint32_t labels_n;    /* struct pod_label, sorted by key */
	uint32_t namespace;   /* number of its name */
	uint32_t role;        /* in its gang: number of a value, or ID_NONE */
	uint32_t scheduled_s; /* seconds since 1970 at which it was bound; 0: not bound, or unknown */
	uint64_t created_ns;
	uint64_t uid[2];     /* the same pod across epochs */
	uint32_t keep_ms;    /* POD_INTENT_BIND of another scheduler: how long it is reserved */
	uint32_t run_s;      /* it ends at the latest so long after it was bound; 0: not known */
	uint32_t expected_s; /* likewise, expected and not enforced; 0: nothing is */
	uint32_t queue;      /* or QUEUE_MISSING; not read without queues */
	uint32_t stated_s;   /* the run time that its user states; 0: none, or it is bound */
	uint32_t reserved;
};

/* What an earlier core had promised the gang of the pod, or the pod; of several the oldest pod's
 * counts. */
struct event_promised {
	uint32_t pod;
	uint32_t generation;
	uint64_t at_ns; /* not 0 */
};

struct pod_label {
	uint32_t key; /* numbers as in struct label */
	uint32_t value;
};

struct event_namespace {
	uint32_t name; /* number of a value */
	uint32_t labels_n;
};

/* Another scheduler is about to place a pod of its own (an assumed pod): reserves capacity on one
 * of these nodes until the pod is bound or gone, or for `keep_ms`.  A pod with such a reservation
 * is evaluated again without it.  One CMD_ASSUME answers. */
struct event_assume {
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t ticket;  /* returned in the answer */
	uint32_t words;   /* uint64_t each, a bit for each node id */
	uint32_t keep_ms; /* 0: reserves nothing */
	uint32_t reserved;
};

struct event_drop {
	uint32_t id;
	uint32_t generation; /* 0 for shapes */
};

struct result {
	uint32_t pod;
	uint32_t generation;
	uint32_t node;
	uint32_t attempt;  /* of the command; ATTEMPT_OTHER: of another core */
	uint32_t retry_ms; /* RESULT_REFUSED: least backoff; 0: the core's own */
	uint32_t reserved;
};

#define ATTEMPT_OTHER 0u

struct cmd_bind {
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t node;
	uint32_t node_generation;
	uint32_t gang; /* ID_NONE for a lone pod */
	uint32_t gang_generation;
	uint32_t attempt; /* of the pod, from 1 */
	uint32_t spec_id; /* of its gang, by which it was planned; 0 for a lone pod */
};

struct cmd_reason {
	uint32_t gang; /* ID_NONE: the lone pod below */
	uint32_t gang_generation;
	uint32_t pod;
	uint32_t pod_generation;
	struct reason reason;
};

struct cmd_gang {
	uint32_t gang;
	uint32_t generation;
	uint32_t state; /* enum gang_state */
	uint32_t members;
	uint32_t bound;
	uint32_t quorum;
	uint64_t reserved;
};

struct cmd_assume {
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t ticket;
	uint32_t node; /* ID_NONE: none, see the reason */
	uint32_t node_generation;
	uint32_t reserved;
	struct reason reason; /* over all nodes, not only those of the event */
};

/* Bytes of a text that follows a struct, padded to 8. */
#define PADDED(n) (((uint64_t)(n) + 7) & ~UINT64_C(7))

/* A hash of all sizes, offsets and numbers above. */
uint64_t abi_layout_hash(void);

/* True if more free capacity could make the gang schedulable. */
static inline bool waits_for_capacity(uint32_t why)
{
	return why == WAIT_ROOM || why == WAIT_MIN_RESOURCES || why == WAIT_GAVE_UP ||
	       why == WAIT_RESERVED || why == WAIT_TOPOLOGY || why == WAIT_VICTIMS;
}

/* True if the body is a struct cmd_bind. */
static inline bool record_is_bind(uint32_t kind)
{
	return kind == CMD_BIND || kind == CMD_RETRY_BIND || kind == CMD_CANCEL_BIND;
}

static_assert(sizeof(struct record) == 32, "record header");
static_assert(sizeof(struct core_stats) == 128, "two cache lines");
static_assert(sizeof(struct core_gauges) == 128, "two cache lines");
static_assert(sizeof(struct core_plans) == 256, "four cache lines");
static_assert(sizeof(struct core_world) == 128, "two cache lines");
static_assert(sizeof(struct amount) == 16 && sizeof(struct label) == 16, "pairs");
static_assert(sizeof(struct taint) == 16 && sizeof(struct toleration) == 16, "pairs");
static_assert(sizeof(struct requirement) == 32, "requirement");
static_assert(sizeof(struct event_node) == 40 && sizeof(struct event_shape) == 120, "events");
static_assert(sizeof(struct event_gang) == 72 && sizeof(struct event_pod) == 96, "events");
static_assert(sizeof(struct preference) == 16 && sizeof(struct volume_rule) == 16, "rules");
static_assert(sizeof(struct pod_term) == 40 && sizeof(struct spread) == 24, "rules");
static_assert(sizeof(struct event_assume) == 24 &&
                  sizeof(struct cmd_assume) == 24 + sizeof(struct reason),
              "claims");
static_assert(sizeof(struct event_node_devices) == 40 && sizeof(struct event_match) == 32,
              "devices");
static_assert(sizeof(struct node_counter) == 24 && sizeof(struct node_use) == 24, "counters");
static_assert(sizeof(struct node_capacity) == 40 && sizeof(struct match_amount) == 16, "shares");
static_assert(sizeof(struct question_option) == 16 && sizeof(struct question_constraint) == 16,
              "questions");
static_assert(sizeof(struct cmd_devices) == 32 && sizeof(struct device_pick) == 16, "picks");
static_assert(sizeof(struct cmd_bind) == 32 && sizeof(struct result) == 24, "commands");
static_assert(sizeof(struct reason) == 136 + 16 * FILTER_COUNTS_MAX + 24 * SHORTFALLS_MAX +
                                           sizeof(struct promised) + 64 * DEVICE_LACKS_MAX,
              "reason");
static_assert(sizeof(struct intake) % CACHE_LINE == 0, "rings start on a line");
static_assert(sizeof(struct ledger) % CACHE_LINE == 0, "rows start on a line");

#endif
