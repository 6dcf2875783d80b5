/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a struct event_shape (ipc/abi.h): what a pod requires of nodes and of other pods.
 */
#ifndef MUSTER_IPC_ABI_SHAPE_H
#define MUSTER_IPC_ABI_SHAPE_H

#include <stdint.h>

enum require_op {
	REQUIRE_IN,
	REQUIRE_NOT_IN,
	REQUIRE_EXISTS,
	REQUIRE_NOT_EXISTS,
	REQUIRE_GT,
	REQUIRE_LT,
	REQUIRE_OPS
};

/* Sorted by term.  Term 0 is the nodeSelector: all its requirements must match.  Terms
 * 1..terms_n are the alternatives of required node affinity: all requirements of one of them
 * must match; a term without requirements matches nothing.  A term that can't be parsed has
 * the node names in it and REQUIRE_NOT_EXISTS of LABEL_KEY_NODE_NAME, which never matches. */
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
	SHAPE_FLAGS = (1u << 2) - 1,
	SHAPE_NODE_RULES = SHAPE_NEEDS_RESTART_ALL, /* those that make a node infeasible */
};

/* A part of another array of the same record. */
struct span {
	uint32_t first;
	uint32_t n;
};

/* Preferred node affinity: a node that matches all clauses scores the weight. */
struct preference {
	int32_t weight;
	uint32_t reserved;
	struct span clauses;
};

/* A node must match one of the alternatives, each a span of clauses that must all match, else
 * it is filtered out with `why` (volumes).  Without alternatives no node matches. */
struct volume_rule {
	uint32_t why; /* enum filter_reason */
	uint32_t reserved;
	struct span alternatives;
};

enum pod_term_kind {
	POD_TERM_AFFINITY,
	POD_TERM_ANTI_AFFINITY,
	POD_TERM_PREFERRED,      /* weight */
	POD_TERM_PREFERRED_ANTI, /* weight, > 0 as well */
	POD_TERM_KINDS
};

enum pod_term_flags {
	TERM_MATCHES_NOTHING = 1u << 0,   /* no selector; an empty one matches every pod */
	TERM_EVERY_NAMESPACE = 1u << 1,   /* the namespaceSelector is {} */
	TERM_NAMESPACES_CHOSEN = 1u << 2, /* namespace_clauses is the namespaceSelector */
};

/* A term of inter-pod (anti-)affinity. */
struct pod_term {
	uint32_t kind; /* enum pod_term_kind */
	int32_t weight;
	uint32_t topology; /* a label key of nodes */
	uint32_t flags;
	struct span namespaces; /* of values: names; the pod's own is included if it is implied */
	struct span namespace_clauses;
	struct span clauses; /* about labels of pods */
};

enum spread_flags {
	SPREAD_HARD = 1u << 0,             /* DoNotSchedule */
	SPREAD_IGNORES_AFFINITY = 1u << 1, /* nodeAffinityPolicy */
	SPREAD_HONORS_TAINTS = 1u << 2,    /* nodeTaintsPolicy */
	SPREAD_MATCHES_NOTHING = 1u << 3,  /* no selector */
	SPREAD_DEFAULT = 1u << 4,          /* a default constraint of the cluster */
	SPREAD_BY_NODE = 1u << 5,          /* kubernetes.io/hostname: scored by node, not by domain */
};

/* A topology spread constraint over pods of the pod's own namespace. */
struct spread {
	uint32_t topology;
	uint32_t flags;
	uint32_t max_skew;
	uint32_t min_domains; /* default 1 */
	struct span clauses;
};

#define PORT_EVERY_ADDRESS UINT32_MAX /* "" or 0.0.0.0 */

struct host_port {
	uint32_t address;  /* number of a value, or PORT_EVERY_ADDRESS */
	uint32_t protocol; /* number of a value */
	uint32_t port;
	uint32_t reserved;
};

enum exclusive_flags {
	EXCLUSIVE_CLAIM = 1u << 0,  /* ReadWriteOncePod claim of the cluster; else a disk of a node */
	EXCLUSIVE_SHARED = 1u << 1, /* a disk that pods with this flag share */
};

/* A disk or claim that two pods can't use at once. */
struct exclusive {
	uint32_t item; /* number of a value */
	uint32_t flags;
};

enum policy_flags {
	POLICY_REQUIRED = 1u << 0, /* a full share filters its domain out; else it is scored last */
	POLICY_FILL = 1u << 1,     /* fullest share first; else emptiest first */
	POLICY_UNSELECTED =
		1u << 2, /* the pod itself does not match the selector: no node is feasible */
};

/* Kosmos' WorkloadPolicy: the most matching pods of the shape's namespace in each domain of a
 * topology.  Pods that are being deleted do not count.  A node without the key, or in a domain
 * without a share, is not feasible. */
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

#endif
