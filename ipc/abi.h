/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of what core and frontend share.
 *
 * Two segments of shared memory, each a sealed memfd with one writer; the
 * other process and every observer map it read-only.
 *
 *   intake  [F] frontend writes          ledger  [C] core writes
 *   +---------------------------+        +---------------------------+
 *   | segment head              |        | segment head, limits      |
 *   | event tail, result tail   |        | command tail              |
 *   | command head              |        | event head, result head   |
 *   | core's bell, sleep flag   |        | frontend's bell, sleep fl.|
 *   | event ring                |        | statistics                |
 *   | result ring               |        | node rows and columns     |
 *   +---------------------------+        | gang rows, names          |
 *                                        | command ring              |
 *                                        +---------------------------+
 *
 * Rules: fixed-width types, explicit padding, offsets and never pointers, the
 * writer of each field in brackets, writers on separate cache lines.  Whoever
 * reads the other side's memory copies a value once and checks the copy
 * against its own private limits before use.
 *
 * Change anything here and abi_layout_hash() changes with it; peers with
 * different hashes refuse each other (exit 78). */
#ifndef MUSTER_IPC_ABI_H
#define MUSTER_IPC_ABI_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 64

#define INTAKE_MAGIC UINT64_C(0x31306e492e74736d) /* "mst.In01" */
#define LEDGER_MAGIC UINT64_C(0x3130644c2e74736d) /* "mst.Ld01" */

/* Says "no such object" in every id field. */
#define ID_NONE UINT32_MAX

/* Ids are slots chosen by the frontend, dense and reused; the generation
 * beside one tells two users of a slot apart.  Ids live for one epoch. */
typedef uint32_t node_id;
typedef uint32_t gang_id;
typedef uint32_t pod_id;
typedef uint32_t shape_id;
typedef uint32_t name_id;     /* a string the ledger shows: EVENT_NAME */
typedef uint32_t resource_id; /* a column: RESOURCE_CPU ... */

enum {
	RESOURCE_CPU,       /* milli */
	RESOURCE_MEMORY,    /* bytes */
	RESOURCE_EPHEMERAL, /* bytes */
	RESOURCE_PODS,      /* count */
	RESOURCE_EXTENDED,  /* the first of the extended ones, count or bytes */
};
#define RESOURCES_MAX 64 /* bound of limits.resources */

/* ---- limits --------------------------------------------------------- */

/* What the core has room for.  Chosen by muster-core's flags, told to the
 * frontend in the handshake; both check against their private copy. */
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

#define RECORD_BYTES_MAX 65536u /* header included; a longer one is refused */

/* ---- segments ------------------------------------------------------- */

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
	struct segment_head head;     /* [F] before it is passed on */
	struct ring_place event_ring; /* [F] likewise */
	struct ring_place result_ring;
	alignas(CACHE_LINE) _Atomic uint64_t event_tail;      /* [F] bytes published */
	alignas(CACHE_LINE) _Atomic uint64_t result_tail;     /* [F] bytes published */
	alignas(CACHE_LINE) _Atomic uint64_t command_head;    /* [F] bytes released */
	alignas(CACHE_LINE) _Atomic uint32_t frontend_sleeps; /* [F] odd: ring my bell */
	alignas(CACHE_LINE) _Atomic uint32_t core_bell;       /* [F] futex word the core sleeps on */
	uint32_t padding[15];
};

/* Counters for observers, each only ever counting up. */
struct core_stats {
	_Atomic uint64_t events;        /* records applied */
	_Atomic uint64_t bad_records;   /* refused by a check */
	_Atomic uint64_t plans;         /* gangs looked at */
	_Atomic uint64_t plans_placed;  /* ... that were reserved */
	_Atomic uint64_t plans_refused; /* ... refused with a reason */
	_Atomic uint64_t plan_ns_sum;   /* in plan and reserve */
	_Atomic uint64_t plan_ns_max;
	_Atomic uint64_t plan_ns_last;
	_Atomic uint64_t binds_sent;
	_Atomic uint64_t binds_accepted;
	_Atomic uint64_t binds_refused;
	_Atomic uint64_t limits_hit; /* records refused for want of room */
	_Atomic uint64_t sleeps;     /* times the loop slept on the futex */
	_Atomic uint64_t saturated;  /* sums that hit the end of int64 */
	_Atomic uint64_t epochs;
	_Atomic uint64_t stale_results; /* that answered no binding in flight */
};

/* Levels for observers. */
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
	_Atomic uint64_t synced;       /* 1 once the lists are in */
	_Atomic uint64_t holds;        /* begun, ever */
	_Atomic uint64_t held;         /* index of the gang that room is held for + 1; 0: none */
	_Atomic uint64_t pods_binding; /* have room here; whether it becomes theirs isn't known yet */
	_Atomic uint64_t pods_claimed; /* of other schedulers: room is kept for them (EVENT_CLAIM) */
	_Atomic uint64_t reserved[1];
};

/* How often plan and reserve took how long: ipc/plans.h knows the bounds.  The one after them
 * counts what took longer. */
#define PLAN_BOUNDS 25
struct core_plans {
	_Atomic uint64_t took[PLAN_BOUNDS + 1];
	_Atomic uint64_t reserved[6];
};

/* Parts that get their pages as they are needed: behind made[] a part has none, and nobody looks
 * there. */
enum ledger_part { PART_GANGS, PART_ARENA, PART_AMOUNTS, LEDGER_PARTS };

struct ledger {
	struct segment_head head; /* [C] before it is passed on */
	struct limits limits;     /* [C] likewise, as all offsets below */
	struct ring_place command_ring;
	uint64_t nodes_offset; /* struct node_row[limits.nodes] */
	uint64_t names_offset; /* struct name_row[limits.names] */
	uint64_t gangs_offset; /* struct gang_row[limits.gangs] */
	uint64_t arena_offset; /* char[limits.name_bytes] */
	uint64_t
		amounts_offset; /* struct node_amounts[AMOUNT_BLOCKS(limits.resources)][limits.nodes] */
	_Atomic uint64_t made[LEDGER_PARTS]; /* [C] bytes of each part that are there; never fewer */
	_Atomic uint64_t epoch;              /* [C] the connection that is served */
	alignas(CACHE_LINE) _Atomic uint64_t command_tail;  /* [C] bytes published */
	alignas(CACHE_LINE) _Atomic uint64_t event_head;    /* [C] bytes released */
	alignas(CACHE_LINE) _Atomic uint64_t result_head;   /* [C] bytes released */
	alignas(CACHE_LINE) _Atomic uint32_t core_sleeps;   /* [C] odd: ring my bell */
	alignas(CACHE_LINE) _Atomic uint32_t frontend_bell; /* [C] futex word */
	uint32_t padding0[15];
	alignas(CACHE_LINE) struct core_stats stats;   /* [C] */
	alignas(CACHE_LINE) struct core_gauges gauges; /* [C] */
	alignas(CACHE_LINE) struct core_plans plans;   /* [C] */
};

/* ---- rows that observers read ---------------------------------------- */

/* A row is consistent when `version` was even and the same before and after
 * it was copied out (a sequence counter); a node's amounts belong to it. */

#define NAME_ROW_EMPTY 0u

struct name_row {
	uint64_t offset; /* in the arena; bytes never move while the id lives */
	uint32_t bytes;
	uint32_t kind; /* enum name_kind, NAME_ROW_EMPTY: unused */
};

enum name_kind {
	NAME_RESOURCE = 1, /* name_id = resource_id, so below limits.resources: "nvidia.com/gpu" */
	NAME_TAINT,        /* name_id from limits.resources on: "key: value" */
};

enum node_flags {
	NODE_PRESENT = 1u << 0,      /* the object exists; else only pods name it */
	NODE_CORDONED = 1u << 1,     /* spec.unschedulable */
	NODE_RESTARTS_ALL = 1u << 2, /* declares RestartAllContainersOnContainerExits */
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

/* A cache line of a node: resource r is at r % AMOUNTS_BLOCK of block r / AMOUNTS_BLOCK. */
#define AMOUNTS_BLOCK 4u
#define AMOUNT_BLOCKS(resources) (((resources) + AMOUNTS_BLOCK - 1) / AMOUNTS_BLOCK)

struct node_amounts {
	int64_t allocatable[AMOUNTS_BLOCK];
	int64_t used[AMOUNTS_BLOCK];
};

enum gang_state {
	GANG_NONE,
	GANG_INCOMPLETE, /* group or members are missing */
	GANG_WAITING,    /* complete; no room or no node, see the reason */
	GANG_BINDING,    /* reserved whole, bindings on their way */
	GANG_PLACED,     /* the quorum is bound */
	GANG_STATES
};

/* Why a gang or pod waits. */
enum why {
	WHY_NONE,
	WHY_GROUP_MISSING, /* the pods name a group that is not there */
	WHY_MEMBERS,       /* fewer members than the quorum */
	WHY_GATED,         /* enough members, but some have scheduling gates */
	WHY_NO_NODES,      /* the cluster has no node */
	WHY_ROOM,          /* `fit` of `need` members have room; counts say why nodes fell out */
	WHY_MIN_RESOURCES, /* the group's minResources exceed what is free */
	WHY_REFUSED,       /* muster can't judge the pod or group; the frontend has the text */
	WHY_BIND_REFUSED,  /* the API server refused a binding; tried again later */
	WHY_GAVE_UP,       /* a mixed gang, no plan found within the step limit */
	WHY_HELD,          /* there is room, but it is held for a gang that has waited too long */
	WHY_ROLE,          /* fewer members of a role than it needs: role, role_quorum, role_members */
	WHY_TOPOLOGY,      /* no domain of a required level has room for it: the fields domain_* */
	WHY_KINDS
};

/* Why one node does not take a pod, in kube-scheduler's order of filters:
 * the first that fails is the node's reason. */
enum node_why {
	NODE_FITS,
	NODE_WHY_CORDONED,     /* node(s) were unschedulable */
	NODE_WHY_TAINT,        /* arg: name_id of the taint */
	NODE_WHY_AFFINITY,     /* node(s) didn't match Pod's node affinity/selector */
	NODE_WHY_PORTS,        /* node(s) didn't have free ports for the requested pod ports */
	NODE_WHY_INSUFFICIENT, /* arg: resource_id (pods: "Too many pods") */
	NODE_WHY_DISK,         /* node(s) had no available disk */
	NODE_WHY_CLAIM_IN_USE, /* node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod
	                        * access mode already in-use by another pod */
	NODE_WHY_ATTACH,       /* node(s) exceed max volume count */
	NODE_WHY_VOLUME_NODE,  /* node(s) didn't match PersistentVolume's node affinity */
	NODE_WHY_VOLUME_BIND,  /* node(s) didn't find available persistent volumes to bind */
	NODE_WHY_VOLUME_SPACE, /* node(s) did not have enough free storage */
	NODE_WHY_VOLUME_GONE,  /* node(s) unavailable due to one or more pvc(s) bound to non-existent
	                          pv(s) */
	NODE_WHY_VOLUME_ZONE,  /* node(s) had no available volume zone */
	NODE_WHY_SPREAD_LABEL, /* node(s) didn't match pod topology spread constraints (missing required
	                          label) */
	NODE_WHY_SPREAD,       /* node(s) didn't match pod topology spread constraints */
	NODE_WHY_POD_AFFINITY, /* node(s) didn't match pod affinity rules */
	NODE_WHY_ANTI_AFFINITY,          /* node(s) didn't match pod anti-affinity rules */
	NODE_WHY_EXISTING_ANTI_AFFINITY, /* node(s) didn't satisfy existing pods anti-affinity rules */
	NODE_WHY_FEATURES,               /* node(s) didn't match Pod's required features */
	/* WorkloadPolicy, behind kube-scheduler's own filters: */
	NODE_WHY_POLICY_SELECTOR, /* node(s) didn't match pod workload-policy constraints */
	NODE_WHY_POLICY_LABEL,    /* ... (missing required label) */
	NODE_WHY_POLICY_VALUE,    /* ... (not match value) */
	NODE_WHY_POLICY_FULL, /* node(s) occupied that scheduled pods reach the replicas configured in
	                       * the workload-policy */
	/* Said before any filter runs: */
	NODE_WHY_NOT_NAMED, /* node(s) didn't satisfy plugin(s) [NodeAffinity]: each term names nodes,
	                       not this one */
	NODE_WHY_CONFLICT,  /* pod affinity terms conflict: each term asks for two names at once; of all
	                       nodes */
	NODE_WHY_KINDS
};

struct why_count {
	uint32_t why; /* enum node_why */
	uint32_t arg;
	uint32_t nodes; /* a node short of two resources counts for both */
	uint32_t reserved;
};

/* need and have count whole members: have = request x members that this
 * resource alone would let in on the nodes that the rules allow. */
struct shortfall {
	uint32_t resource;
	uint32_t reserved;
	int64_t need;
	int64_t have;
};

#define WHY_COUNTS_MAX 16 /* rarer ones are summed into the last */
#define SHORTFALLS_MAX 8

struct reason {
	uint32_t why; /* enum why */
	uint32_t quorum;
	uint32_t members; /* that exist and count: not ended, not deleting */
	uint32_t gated;
	uint32_t bound; /* bound or binding */
	uint32_t need;  /* members that have to start together now */
	uint32_t fit;   /* of those, how many have room */
	uint32_t nodes; /* in the cluster */
	uint32_t role;  /* WHY_ROLE: a value's number */
	uint32_t role_quorum;
	uint32_t role_members; /* that count */
	uint32_t domains;      /* WHY_TOPOLOGY: domains of the level */
	uint32_t domain_key;   /* the level: a label key's number */
	uint32_t domain_value; /* the domain that comes closest, a value's number; ID_NONE: none */
	uint32_t domain_fit;   /* members that have room there */
	uint32_t reserved;
	uint32_t counts_n;
	uint32_t shortfalls_n;
	struct why_count counts[WHY_COUNTS_MAX];
	struct shortfall shortfalls[SHORTFALLS_MAX];
};

/* Whoever has a lower one comes earlier in the queue; of equal ones priority, age and name tell,
 * and of those that stand last age goes before priority. */
enum gang_standing {
	GANG_STANDS_FIRST, /* it has begun: some members have a node, fewer than have to start together
	                    */
	GANG_STANDS_ORDINARY,
	GANG_STANDS_LAST, /* GANG_AFTER_OTHERS */
};

struct gang_row {
	_Atomic uint32_t version;
	uint32_t generation; /* 0: no such gang */
	uint32_t state;      /* enum gang_state */
	uint32_t dialect;
	uint32_t quorum;
	uint32_t members;
	uint32_t bound;
	int32_t priority;
	uint64_t created_ns;  /* of the group, else of its oldest member; 0: neither is known */
	uint64_t name_offset; /* "namespace/name" in the arena */
	uint32_t name_bytes;
	uint32_t standing; /* enum gang_standing */
	struct reason reason;
};

/* ---- records ---------------------------------------------------------- */

/* Every record in every ring.  The body follows; `bytes` counts header and
 * body and is a multiple of 8. */
struct record {
	uint32_t bytes;
	uint16_t kind;
	uint16_t flags; /* 0 */
	uint64_t epoch;
	uint64_t sequence; /* of its ring, from 1, no gaps */
	uint64_t time_ns;  /* events and results: the frontend's clock, since 1970; in one epoch
	                    * it never goes back; commands: the core's CLOCK_MONOTONIC when it
	                    * began the plan that they come from */
};

enum record_kind {
	RECORD_PAD, /* fills a ring up to its end; readers skip it */

	/* Event ring: the state of an object, whole.  A later one replaces it. */
	EVENT_BEGIN,          /* first of an epoch: forget everything but binds in flight */
	EVENT_SYNCED,         /* the lists are in; planning may start */
	EVENT_TICK,           /* time goes on */
	EVENT_NAME,           /* struct event_name, text */
	EVENT_NODE,           /* struct event_node, amounts, labels, taints, images, attach limits,
	                       * attachments, name */
	EVENT_NODE_DROP,      /* struct event_drop */
	EVENT_SHAPE,          /* struct event_shape and all that it counts, in its order */
	EVENT_SHAPE_DROP,     /* struct event_drop; nothing uses it any more */
	EVENT_GANG,           /* struct event_gang, amounts, roles, levels, name */
	EVENT_GANG_DROP,      /* struct event_drop */
	EVENT_NAMESPACE,      /* struct event_namespace, pod labels */
	EVENT_NAMESPACE_DROP, /* struct event_drop: its id is the value number of its name */
	EVENT_POD,            /* struct event_pod, pod labels, name */
	EVENT_POD_DROP,       /* struct event_drop: deleted or ended */
	EVENT_CLAIM,          /* struct event_claim, node set */

	/* Result ring: what became of a CMD_BIND, CMD_BIND_AGAIN or CMD_TAKE_BACK. */
	RESULT_BOUND,   /* struct result: the API server took it */
	RESULT_REFUSED, /* it did not, and never will take this one */
	RESULT_UNKNOWN, /* may or may not have; keep the room, an answer follows */

	/* Never on a ring: the core's own loop asks for a round of planning. */
	EVENT_PLAN,

	/* Command ring. */
	CMD_BIND,       /* struct cmd_bind */
	CMD_REASON,     /* struct cmd_reason: why a gang or a lone pod waits, changed */
	CMD_GANG,       /* struct cmd_gang: its state changed */
	CMD_CLAIM,      /* struct cmd_claim: the answer to an EVENT_CLAIM */
	CMD_BIND_AGAIN, /* struct cmd_bind: to the node to which an earlier frontend may have sent it */
	CMD_TAKE_BACK, /* struct cmd_bind: what an earlier frontend may have sent must not land any more
	                */
	RECORD_KINDS
};

struct event_name {
	uint32_t id;
	uint32_t kind;  /* enum name_kind */
	uint32_t bytes; /* text follows, padded with zeros to 8 */
	uint32_t reserved;
};

struct amount {
	uint32_t resource;
	uint32_t reserved;
	int64_t value; /* >= 0, in the unit of the resource */
};

/* Label keys and values are numbers of the frontend's own table; equal text,
 * equal number.  `number` is the value read as an integer for Gt and Lt. */
#define LABEL_NOT_A_NUMBER INT64_MIN
#define LABEL_KEY_NODE_NAME 0u /* pseudo label: matchFields metadata.name */

struct label {
	uint32_t key;
	uint32_t value;
	int64_t number;
};

enum taint_effect {
	EFFECT_ANY, /* in tolerations alone */
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

/* An image on a node, of those that some shape asks for.  Images are numbers of the
 * frontend's own table. */
struct node_image {
	uint32_t image;
	uint32_t reserved;
	int64_t bytes;
};

/* A CSI driver attaches at most so many volumes to the node. */
struct attach_limit {
	uint32_t driver; /* a value's number */
	uint32_t most;
};

/* A volume that a pod needs attached, or that is attached to a node. */
struct attachment {
	uint32_t driver; /* values' numbers */
	uint32_t volume;
};

struct event_node {
	uint32_t node;
	uint32_t generation; /* not 0 */
	uint32_t flags;      /* enum node_flags */
	uint32_t name_bytes;
	uint32_t amounts_n; /* allocatable; a resource that is not named is 0 */
	uint32_t labels_n;  /* sorted by key */
	uint32_t taints_n;
	uint32_t images_n; /* sorted by image */
	uint32_t limits_n;
	uint32_t attached_n; /* by VolumeAttachments; pods' own come with their shapes */
};

enum require_op {
	REQUIRE_IN,
	REQUIRE_NOT_IN,
	REQUIRE_EXISTS,
	REQUIRE_NOT_EXISTS,
	REQUIRE_GT,
	REQUIRE_LT,
	REQUIRE_OPS
};

/* Sorted by term.  Requirements of term 0 must all hold (nodeSelector).  Terms 1..terms_n are
 * the alternatives of required node affinity: all requirements of at least
 * one must hold; a term without any matches nothing.  One that can't be parsed is written
 * with the node names that it asks for and REQUIRE_NOT_EXISTS of LABEL_KEY_NODE_NAME,
 * which never holds. */
struct requirement {
	uint32_t term;
	uint32_t op;
	uint32_t key;
	uint32_t values_first; /* into the values that follow */
	uint32_t values_n;
	uint32_t reserved;
	int64_t number; /* Gt, Lt */
};

#define TOLERATE_EVERY_KEY UINT32_MAX

struct toleration {
	uint32_t key; /* or TOLERATE_EVERY_KEY */
	uint32_t value;
	uint32_t any_value; /* 1: operator Exists */
	uint32_t effect;    /* EFFECT_ANY: every effect */
};

enum shape_flags {
	SHAPE_TOLERATES_CORDON = 1u << 0,
	SHAPE_NEEDS_RESTART_ALL = 1u << 1, /* a node with NODE_RESTARTS_ALL */
};

/* A part of another array of the same record. */
struct span {
	uint32_t first;
	uint32_t n;
};

/* Preferred node affinity: a node that meets all clauses scores the weight. */
struct preference {
	int32_t weight;
	uint32_t reserved;
	struct span clauses;
};

/* What else a node must be, for a reason of its own (volumes): one of the alternatives
 * must hold, each a span of clauses that must all hold.  No alternative: no node is. */
struct volume_rule {
	uint32_t why; /* enum node_why */
	uint32_t reserved;
	struct span alternatives;
};

enum pod_term_kind {
	POD_TERM_AFFINITY,
	POD_TERM_ANTI_AFFINITY,
	POD_TERM_PREFERRED,      /* weight */
	POD_TERM_PREFERRED_ANTI, /* weight, > 0 here too */
	POD_TERM_KINDS
};

enum pod_term_flags {
	TERM_MATCHES_NOTHING = 1u << 0,   /* it has no selector; an empty one matches every pod */
	TERM_EVERY_NAMESPACE = 1u << 1,   /* its namespaceSelector is {} */
	TERM_NAMESPACES_CHOSEN = 1u << 2, /* namespace_clauses hold: its namespaceSelector */
};

/* A term of inter-pod (anti-)affinity. */
struct pod_term {
	uint32_t kind; /* enum pod_term_kind */
	int32_t weight;
	uint32_t topology; /* a label key of nodes */
	uint32_t flags;
	struct span namespaces; /* of values: names; its own one is written out when it is implied */
	struct span namespace_clauses;
	struct span clauses; /* about labels of pods */
};

enum spread_flags {
	SPREAD_HARD = 1u << 0,             /* DoNotSchedule */
	SPREAD_IGNORES_AFFINITY = 1u << 1, /* nodeAffinityPolicy */
	SPREAD_HONORS_TAINTS = 1u << 2,    /* nodeTaintsPolicy */
	SPREAD_MATCHES_NOTHING = 1u << 3,  /* it has no selector */
	SPREAD_DEFAULT = 1u << 4,          /* not the pod's own, but the cluster's default */
	SPREAD_BY_NODE = 1u << 5, /* kubernetes.io/hostname: scores take each node for itself */
};

/* A topology spread constraint; it counts pods of the pod's own namespace. */
struct spread {
	uint32_t topology;
	uint32_t flags;
	uint32_t max_skew;
	uint32_t min_domains; /* 1 when it is not given */
	struct span clauses;
};

#define PORT_EVERY_ADDRESS UINT32_MAX /* "" or 0.0.0.0 */

struct host_port {
	uint32_t address;  /* a value's number, or PORT_EVERY_ADDRESS */
	uint32_t protocol; /* a value's number */
	uint32_t port;
	uint32_t reserved;
};

enum exclusive_flags {
	EXCLUSIVE_CLAIM =
		1u << 0, /* ReadWriteOncePod: one pod in the whole cluster; else a disk, for one node */
	EXCLUSIVE_SHARED = 1u << 1, /* a disk that stands others who share it as well */
};

/* Something that two pods can't have at once. */
struct exclusive {
	uint32_t thing; /* a value's number */
	uint32_t flags;
};

enum policy_flags {
	POLICY_REQUIRED =
		1u << 0, /* a share that is reached takes no more; else it comes behind the others */
	POLICY_FILL = 1u << 1, /* fullest share first; else the emptiest */
	POLICY_UNSELECTED =
		1u << 2, /* the pod itself does not match the selector: no node is feasible */
};

/* Kosmos' WorkloadPolicy: how many pods of the shape's namespace that match may stand in each
 * domain of a topology.  Pods that are being deleted do not count.  A node without the key or of a
 * domain without a share is not feasible. */
struct policy {
	uint32_t topology; /* a label key of nodes */
	uint32_t flags;
	struct span clauses; /* the selector; none: all pods of the namespace */
	struct span shares;
};

struct policy_share {
	uint32_t value; /* the domain; sorted, each once */
	uint32_t replicas;
};

struct event_shape {
	uint32_t shape;
	uint32_t flags;
	uint32_t amounts_n;      /* requests; RESOURCE_PODS is always 1 */
	uint32_t requirements_n; /* nodeSelector and required node affinity */
	uint32_t values_n;       /* uint32_t each, padded to 8 bytes */
	uint32_t tolerations_n;
	uint32_t terms_n;   /* of required node affinity */
	uint32_t clauses_n; /* struct requirement, term 0, which the following refer to */
	uint32_t preferences_n;
	uint32_t alternatives_n; /* struct span of clauses, for volume rules */
	uint32_t volume_rules_n;
	uint32_t pod_terms_n;
	uint32_t spreads_n;
	uint32_t ports_n;
	uint32_t images_n; /* uint32_t each, padded; an image twice counts twice */
	uint32_t attachments_n;
	uint32_t exclusives_n;
	uint32_t image_containers;   /* containers and init containers */
	int64_t scored_cpu_milli;    /* as scores count them: a container without */
	int64_t scored_memory_bytes; /* a request counts 100m and 200 MiB */
	int64_t placed_cpu_milli;    /* what that changes by once the pod is placed, when resources */
	int64_t placed_memory_bytes; /* of pod level count as well; may be below 0 */
	uint32_t namespace;  /* value number of the pods' own, when there are spreads or a policy;
	                        ID_NONE else */
	uint32_t policies_n; /* 0 or 1 */
	uint32_t shares_n;   /* struct policy_share, behind the policy */
	uint32_t reserved;
};

enum gang_flags {
	GANG_OBJECT_MISSING = 1u << 0, /* pods name it, the object is not there */
	GANG_REFUSED = 1u << 1,        /* its object can't be honoured */
	GANG_PRIORITY = 1u << 2,       /* `priority` is the group's, whatever its members have */
	GANG_AFTER_OTHERS =
		1u << 3, /* behind all that are not so, and among its like age goes before
	              * priority, until it has waited for room as long as --hold-after */
};

#define GANG_ROLES_MAX 32
#define GANG_LEVELS_MAX 4

/* At least so many members of that role start together, beside the quorum of the whole. */
struct gang_role {
	uint32_t role; /* a value's number; sorted, each once */
	uint32_t quorum;
};

enum level_flags {
	LEVEL_REQUIRED = 1u << 0, /* all members in one domain; else in as few as can be */
};

/* A topology that a gang is to be kept together in. */
struct gang_level {
	uint32_t topology; /* a label key of nodes */
	uint32_t flags;
};

struct event_gang {
	uint32_t gang;
	uint32_t generation; /* not 0 */
	uint32_t flags;
	uint32_t dialect;   /* as in frontend/dialect/dialect.h; the core only shows it */
	uint32_t quorum;    /* 0 counts as 1 */
	uint32_t amounts_n; /* minResources for the quorum as a whole */
	uint32_t name_bytes;
	uint32_t roles_n;
	uint32_t levels_n;   /* the widest first */
	int32_t priority;    /* GANG_PRIORITY */
	uint64_t created_ns; /* 0: the age of its oldest member */
	uint64_t timeout_ns; /* 0: none */
	uint32_t
		terms; /* the frontend's number for what this record asks for; said again in CMD_BIND */
	uint32_t reserved;
};

enum pod_flags {
	POD_OURS = 1u << 0,     /* muster schedules it */
	POD_GATED = 1u << 1,    /* has scheduling gates */
	POD_DELETING = 1u << 2, /* has a deletionTimestamp */
	POD_REFUSED = 1u << 3,  /* asks for what muster can't judge */
	POD_BINDING = 1u << 4,  /* node: a Binding may be on its way; a result follows */
};

struct event_pod {
	uint32_t pod;
	uint32_t generation; /* not 0 */
	uint32_t flags;
	uint32_t gang; /* ID_NONE: a gang of one */
	uint32_t shape;
	uint32_t node; /* bound to, or ID_NONE */
	int32_t priority;
	uint32_t name_bytes; /* of "namespace/name", padded to 8 */
	uint32_t labels_n;   /* struct pod_label, sorted by key */
	uint32_t namespace;  /* value number of its name */
	uint32_t role;       /* in its gang: a value's number, or ID_NONE */
	uint32_t reserved;
	uint64_t created_ns;
	uint64_t uid[2]; /* the same pod across epochs */
};

struct pod_label {
	uint32_t key; /* numbers of the same tables as of nodes' labels */
	uint32_t value;
};

struct event_namespace {
	uint32_t name; /* its value number */
	uint32_t labels_n;
};

/* Another scheduler is about to place a pod of its own: it wants room on one of these nodes,
 * kept until the pod is bound or gone, or for `keep_ms`.  A pod that has such room is judged anew.
 * One CMD_CLAIM answers. */
struct event_claim {
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t ticket;  /* comes back in the answer */
	uint32_t words;   /* uint64_t each, a bit for each node id */
	uint32_t keep_ms; /* 0: none is kept, it only asks where */
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
	uint32_t attempt;  /* of the command it answers; ATTEMPT_OTHER: another core's */
	uint32_t retry_ms; /* RESULT_REFUSED: not again before; 0: the core's own backoff */
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
	uint32_t attempt; /* counts up for each pod, from 1 */
	uint32_t terms;   /* of its gang, by which it was planned; 0 for a lone pod */
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

struct cmd_claim {
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t ticket;
	uint32_t node; /* ID_NONE: nowhere, see the reason */
	uint32_t node_generation;
	uint32_t reserved;
	struct reason reason; /* over all nodes, not only those that were asked for */
};

/* Bytes of a text that follows a struct, padded to 8. */
#define PADDED(n) (((uint64_t)(n) + 7) & ~UINT64_C(7))

/* Of all sizes, offsets and numbers above. */
uint64_t abi_layout_hash(void);

/* Does a gang wait for room, and nothing of its own hinders it? */
static inline bool why_is_room(uint32_t why)
{
	return why == WHY_ROOM || why == WHY_MIN_RESOURCES || why == WHY_GAVE_UP || why == WHY_HELD ||
	       why == WHY_TOPOLOGY;
}

/* Does its body say a pod and its node, as a struct cmd_bind? */
static inline bool record_is_bind(uint32_t kind)
{
	return kind == CMD_BIND || kind == CMD_BIND_AGAIN || kind == CMD_TAKE_BACK;
}

static_assert(sizeof(struct record) == 32, "record header");
static_assert(sizeof(struct core_stats) == 128, "two cache lines");
static_assert(sizeof(struct core_gauges) == 128, "two cache lines");
static_assert(sizeof(struct core_plans) == 256, "four cache lines");
static_assert(sizeof(struct amount) == 16 && sizeof(struct label) == 16, "pairs");
static_assert(sizeof(struct taint) == 16 && sizeof(struct toleration) == 16, "pairs");
static_assert(sizeof(struct requirement) == 32, "requirement");
static_assert(sizeof(struct event_node) == 40 && sizeof(struct event_shape) == 120, "events");
static_assert(sizeof(struct event_gang) == 64 && sizeof(struct event_pod) == 72, "events");
static_assert(sizeof(struct preference) == 16 && sizeof(struct volume_rule) == 16, "rules");
static_assert(sizeof(struct pod_term) == 40 && sizeof(struct spread) == 24, "rules");
static_assert(sizeof(struct event_claim) == 24 &&
                  sizeof(struct cmd_claim) == 24 + sizeof(struct reason),
              "claims");
static_assert(sizeof(struct cmd_bind) == 32 && sizeof(struct result) == 24, "commands");
static_assert(sizeof(struct reason) == 72 + 16 * WHY_COUNTS_MAX + 24 * SHORTFALLS_MAX, "reason");
static_assert(sizeof(struct intake) % CACHE_LINE == 0, "rings start on a line");
static_assert(sizeof(struct ledger) % CACHE_LINE == 0, "rows start on a line");

#endif
