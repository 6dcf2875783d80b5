/* SPDX-License-Identifier: Apache-2.0 */
/* A small cluster in plain structs: told to a core as records, and evaluated by loops over
 * pods and nodes that know nothing of the core's way. */
#ifndef MUSTER_TESTS_SUPPORT_PLAIN_H
#define MUSTER_TESTS_SUPPORT_PLAIN_H

#include "core/step/core.h"
#include "core/filter/evaluate.h"

#include "tests/unit/support_random.h"

enum {
	PLAIN_NODES = 7,
	PLAIN_PODS = 24,
	PLAIN_SHAPES = 24,
	PLAIN_LIST = 4,      /* the most of each list below */
	PLAIN_RESOURCES = 5, /* cpu, memory, ephemeral storage, pods, a gpu */
	PLAIN_NONE = 255,
};

struct plain_requirement {
	uint32_t op, key, values[3], values_n;
	int64_t number;
};

struct plain_clauses {
	struct plain_requirement at[3];
	uint32_t n;
};

struct plain_preference {
	int32_t weight;
	struct plain_clauses clauses;
};

struct plain_volume_rule {
	uint32_t why;
	struct plain_clauses alternatives[2];
	uint32_t n;
};

struct plain_term {
	uint32_t kind;
	int32_t weight;
	uint32_t topology;
	bool nothing, every,
		chosen; /* no selector; namespaceSelector {}; any other namespaceSelector */
	uint32_t namespaces[2], namespaces_n;
	struct plain_clauses labels, namespace_labels;
};

struct plain_spread {
	uint32_t topology, flags, max_skew, min_domains;
	struct plain_clauses labels;
};

struct plain_policy {
	bool given;
	uint32_t topology, flags; /* enum policy_flags */
	struct plain_clauses labels;
	struct policy_share shares[PLAIN_LIST];
	uint32_t shares_n;
};

struct plain_shape {
	bool told;
	uint32_t flags; /* enum shape_flags */
	uint32_t namespace;
	int64_t amounts[PLAIN_RESOURCES];
	int64_t scored[2];
	int64_t placed[2]; /* as scores count it once it is placed */
	struct plain_clauses selector, terms[PLAIN_LIST];
	uint32_t terms_n;
	struct plain_preference preferences[PLAIN_LIST];
	uint32_t preferences_n;
	struct plain_volume_rule volume_rules[PLAIN_LIST];
	uint32_t volume_rules_n;
	struct toleration tolerations[PLAIN_LIST];
	uint32_t tolerations_n;
	struct plain_term pod_terms[PLAIN_LIST];
	uint32_t pod_terms_n;
	struct plain_spread spreads[PLAIN_LIST];
	uint32_t spreads_n;
	struct host_port ports[PLAIN_LIST];
	uint32_t ports_n;
	uint32_t images[PLAIN_LIST], images_n, containers;
	struct attachment attachments[PLAIN_LIST];
	uint32_t attachments_n;
	struct exclusive exclusives[PLAIN_LIST];
	uint32_t exclusives_n;
	struct plain_policy policy;
};

struct plain_node {
	bool exists;
	uint32_t flags; /* enum node_flags but NODE_PRESENT */
	int64_t amounts[PLAIN_RESOURCES];
	struct label labels[8]; /* the name first */
	uint32_t labels_n;
	struct taint taints[PLAIN_LIST];
	uint32_t taints_n;
	struct node_image images[PLAIN_LIST];
	uint32_t images_n;
	struct attach_limit limits[PLAIN_LIST];
	uint32_t limits_n;
	struct attachment attached[PLAIN_LIST];
	uint32_t attached_n;
};

struct plain_pod {
	bool exists, deleting;
	uint32_t generation;
	uint32_t shape;
	uint32_t node; /* PLAIN_NONE: pending */
	uint32_t gang; /* + 1; 0: alone */
	uint32_t role; /* 0: none */
	struct pod_label labels[2];
	uint32_t labels_n;
};

struct plain_namespace {
	bool exists;
	uint32_t label; /* value of its only label; 0: none */
};

enum { PLAIN_NAMESPACES = 3, PLAIN_GANGS = 4, PLAIN_ROLES = 2 };

struct plain_levels {
	struct gang_level at[GANG_LEVELS_MAX];
	uint32_t n;
};

struct plain {
	struct plain_node nodes[PLAIN_NODES];
	struct plain_shape shapes[PLAIN_SHAPES];
	struct plain_pod pods[PLAIN_PODS];
	struct plain_namespace namespaces[PLAIN_NAMESPACES];
	uint32_t roles[PLAIN_GANGS]
				  [PLAIN_ROLES + 1];         /* by role, from 1: its quorum; told with the gang */
	struct plain_levels levels[PLAIN_GANGS]; /* told with the gang */

	/* What the core said last: the node of each pod, PLAIN_NONE, and why each gang waits. */
	uint32_t binds[PLAIN_PODS];
	uint32_t binds_n; /* ever */
	struct reason reasons[PLAIN_GANGS];

	struct core *core;
	struct ledger *ledger;
	struct limits limits;
	uint32_t records;
	uint64_t ahead_ns; /* of the number of records */
	size_t used;
	alignas(8) unsigned char record[16384];
};

/* Keys and values. */
enum {
	PLAIN_KEY_ZONE = 1,
	PLAIN_KEY_HOST,
	PLAIN_KEY_RACK,
	PLAIN_KEY_SIZE, /* numbers */
	PLAIN_KEY_APP,  /* of pods */
	PLAIN_KEY_TIER,
	PLAIN_KEY_TEAM, /* of namespaces */
	PLAIN_KEY_TAINT,
	PLAIN_KEY_RARE = PLAIN_KEY_TAINT + 2, /* few nodes have it, often none */
	PLAIN_KEY_NOWHERE,                    /* no node has it */
	PLAIN_VALUE_NODE = 100,               /* + node: its name */
	PLAIN_VALUE_NAMESPACE = 200,          /* + namespace */
};

struct plain_verdict {
	uint32_t whys[PLAIN_NODES];
	uint64_t short_of[PLAIN_NODES];
	uint32_t parts[SCORE_PARTS][PLAIN_NODES];
	uint32_t scores[PLAIN_NODES];
	uint32_t feasible;
	bool whole;
};

/* An empty cluster and a core that knows it; freed by plain_free(). */
struct plain *plain_new(enum score_policy score);
/* The same with lists complete and all shapes alike: one container, one core. */
struct plain *plain_uniform(uint64_t reserve_after_ns);
void plain_free(struct plain *p);

/* Tell the core what the struct says.  A shape is told with the first pod that has it. */
void plain_tell_node(struct plain *p, uint32_t id);
void plain_drop_node(struct plain *p, uint32_t id);
void plain_tell_namespace(struct plain *p, uint32_t id);
void plain_tell_pod(struct plain *p, uint32_t id);
void plain_drop_pod(struct plain *p, uint32_t id);
void plain_synced(struct plain *p);
void plain_tell_gang(struct plain *p, uint32_t id, uint32_t quorum);
void plain_tick(struct plain *p, uint64_t ns);
/* One round. */
void plain_round(struct plain *p);
/* Plan as long as the core wants to; it must come to an end. */
void plain_plan(struct plain *p);
/* Whoever was told a node is there, and the watch says so. */
void plain_settle(struct plain *p);

/* Evaluates a pending pod by loops. */
void plain_evaluate(const struct plain *p, uint32_t pod, enum score_policy score,
                    struct plain_verdict *out);

/* The core's answer is the same in all parts. */
void plain_compare(const struct plain *p, uint32_t pod, enum score_policy score);

/* Random content. */
void plain_random_node(struct plain *p, struct random *r, uint32_t id);
void plain_random_shape(struct plain *p, struct random *r, uint32_t id);
void plain_random_pod(struct plain *p, struct random *r, uint32_t id);
/* Changes a node or a namespace, each one time in `one_in`, else a pod. */
void plain_random_change(struct plain *p, struct random *r, uint32_t one_in);

#endif
