/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as the extractor returns them, with the members that scheduling depends on.
 *
 * Texts point into the JSON or the arena: good as long as both. */
#ifndef MUSTER_FRONTEND_OBJECT_H
#define MUSTER_FRONTEND_OBJECT_H

#include "frontend/base/arena.h"
#include "frontend/base/resource.h"
#include "frontend/json/quantity.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A label, or an annotation: then the value is raw JSON, with its quotes. */
struct pair {
	struct text key;
	struct text value;
};

struct pairs {
	struct pair *at;
	size_t n;
	size_t cap;
};

struct meta {
	struct text api_version;
	struct text kind;
	struct text namespace;
	struct text name;
	struct text uid;
	struct text version; /* metadata.resourceVersion */
	uint64_t created_ns; /* since 1970; 0 without a creationTimestamp */
	bool deleting;
	uint64_t ends_ns; /* deletionTimestamp, which includes the grace; 0: none */
	uint32_t grace_s; /* deletionGracePeriodSeconds; 0: none */
	struct pairs labels;
	struct pairs annotations;
};

/* The value of the last label (or annotation) of that name, or NULL. */
const struct text *pairs_find(const struct pairs *p, const char *key);

/* The resources that an object names; the first ones are RESOURCE_CPU to
 * RESOURCE_PODS.  `closed`: other names are skipped, not added. */
struct resource_names {
	struct text at[RESOURCES_MAX];
	uint32_t n;
	bool closed;
};

/* A ResourceList: >= 0, in units of 10^-9. */
struct quantity_of {
	uint32_t resource; /* index of resource_names */
	nano_t amount;
};

struct quantities {
	struct quantity_of *at;
	size_t n;
	size_t cap;
};

const nano_t *quantities_find(const struct quantities *q, uint32_t resource);

struct port_object {
	struct text address;  /* hostIP */
	struct text protocol; /* "TCP" when it is not given */
	uint32_t port;        /* hostPort; in a pod's list not 0 */
	uint32_t container_port;
};

struct container {
	struct text name;
	struct text image; /* "" without one */
	bool is_init;
	bool is_sidecar;            /* an init container with restartPolicy Always */
	bool restarts_all;          /* a rule of it has the action RestartAllContainers */
	struct quantities requests; /* what is missing is filled from the limits */
	struct port_object *ports;
	size_t ports_n;
	size_t ports_cap;
};

/* The resources of a running container, or of a pod, in its status: in-place resize. */
struct container_status {
	struct text name;
	bool has_resources;
	struct quantities requests;
	struct quantities allocated;
};

/* One requirement of a node selector term. */
struct node_rule {
	struct text key;
	struct text *values;
	size_t values_n;
	uint32_t op;   /* enum require_op */
	bool is_field; /* matchFields: the key is metadata.name */
	bool is_void;  /* kube-scheduler can't parse it: its term matches nothing */
};

struct node_term {
	struct node_rule *rules;
	size_t n;
	size_t cap;
};

/* A label selector: matchLabels and matchExpressions as one list of rules, which must
 * all hold. */
struct selector_object {
	bool is_given; /* else it is missing: matches nothing; given and empty matches all */
	struct node_term rules;
};

struct preference_object {
	int32_t weight; /* 1 to 100 */
	struct node_term term;
};

struct texts {
	struct text *at;
	size_t n;
	size_t cap;
};

/* A term of inter-pod affinity.  What matchLabelKeys and mismatchLabelKeys add is in the
 * selector already, whether the API server wrote it there or not. */
struct pod_term_object {
	uint32_t kind;  /* enum pod_term_kind */
	int32_t weight; /* 1 to 100; 0 of a required term */
	struct text topology;
	struct selector_object selector;
	struct selector_object namespace_selector;
	struct texts namespaces;
	struct texts match_keys;
	struct texts mismatch_keys;
};

/* matchLabelKeys are in the selector already. */
struct spread_object {
	struct text topology;
	int32_t max_skew;
	int32_t min_domains; /* 0: not given */
	uint32_t flags;      /* enum spread_flags, but SPREAD_MATCHES_NOTHING and SPREAD_DEFAULT */
	struct selector_object selector;
	struct texts match_keys;
};

/* The owner with `controller: true`. */
struct owner_object {
	struct text api_version;
	struct text kind; /* "" without one */
	struct text name;
	struct text uid;
	struct texts all; /* names of every owner, in their order */
};

struct toleration_object {
	struct text key;
	struct text value;
	bool exists;
	uint32_t effect; /* enum taint_effect */
};

/* Requests of a pod that muster does not support. */
enum pod_asks {
	ASKS_RESOURCE_CLAIM = 1u << 0,
	ASKS_TOLERATION_OPERATOR = 1u << 1, /* Gt or Lt */
};

struct pod_object {
	struct meta meta;
	struct resource_names resources;

	struct text scheduler_name; /* "default-scheduler" when it is not set */
	struct text node_name;
	int32_t priority;
	bool gated;
	bool has_host_network;
	uint32_t asks;            /* enum pod_asks */
	struct text native_group; /* spec.schedulingGroup.podGroupName; "" or at NULL: none */
	bool has_workload_ref;
	struct text restart_policy; /* "": Always */
	bool has_deadline;          /* activeDeadlineSeconds */
	int64_t deadline_s;         /* ... its value */
	int64_t grace_s;            /* terminationGracePeriodSeconds; 0: not given, or 0 */
	bool has_grace;

	struct container *containers; /* the init containers too, in their order */
	size_t containers_n;
	size_t containers_cap;
	bool has_pod_resources;
	struct quantities pod_requests; /* pod level */
	struct quantities pod_limits;
	struct quantities overhead;

	struct pairs node_selector;
	struct preference_object *preferences; /* preferred node affinity, none with weight 0 or an
	                                        * empty term */
	size_t preferences_n;
	size_t preferences_cap;
	struct pod_term_object *pod_terms;
	size_t pod_terms_n;
	size_t pod_terms_cap;
	struct spread_object *spreads;
	size_t spreads_n;
	size_t spreads_cap;
	struct port_object *ports; /* of containers and sidecars */
	size_t ports_n;
	size_t ports_cap;
	struct text *images; /* of containers, init containers and image volumes, as they are written */
	size_t images_n;
	size_t images_cap;
	uint32_t image_containers; /* containers and init containers, with or without an image */
	bool needs_restart_all;    /* a container rule with the action RestartAllContainers */
	struct owner_object owner;
	struct pod_volumes *volumes; /* frontend/volume/volume.h; NULL without any */
	bool has_node_terms;         /* required node affinity: one of the terms must hold */
	struct node_term *terms;
	size_t terms_n;
	size_t terms_cap;
	struct toleration_object *tolerations;
	size_t tolerations_n;
	size_t tolerations_cap;

	enum pod_phase phase;
	bool ended; /* Succeeded or Failed */
	bool resize_infeasible;
	struct container_status actual; /* pod level, without a name */
	struct container_status *statuses;
	size_t statuses_n;
	size_t statuses_cap;
	struct text condition_status; /* of PodScheduled; "" */
	struct text condition_reason;
	struct text condition_message;
	uint32_t scheduled_s; /* since 1970, of its binding; 0: it is not bound, or that is unknown */
	uint64_t start_ns;    /* status.startTime, since 1970; 0: none */
	struct text preemption_policy; /* "" when it is not set */
	struct text nominated;         /* status.nominatedNodeName; "" */
};

struct taint_object {
	struct text key;
	struct text value;
	uint32_t effect; /* enum taint_effect, not EFFECT_ANY */
};

/* An image on a node: one entry for each of its names. */
struct image_object {
	struct text name; /* with its tag: "nginx:latest" */
	int64_t bytes;
};

struct node_object {
	struct meta meta;
	struct image_object *images;
	size_t images_n;
	size_t images_cap;
	bool restarts_all; /* status.declaredFeatures has RestartAllContainersOnContainerExits */
	struct resource_names resources;
	struct quantities allocatable;
	bool cordoned;
	struct taint_object *taints;
	size_t taints_n;
	size_t taints_cap;
};

struct service_object {
	struct meta meta;
	struct pairs selector; /* empty: it selects no pod */
};

struct policy_share_object {
	struct text name; /* a value of the topology label */
	uint32_t replicas;
};

/* Kosmos' WorkloadPolicy. */
struct policy_object {
	struct meta meta;
	struct text topology;
	struct selector_object selector;    /* given */
	uint32_t flags;                     /* enum policy_flags, but POLICY_UNSELECTED */
	struct policy_share_object *shares; /* of a name that is there twice the last one counts */
	size_t shares_n;
	size_t shares_cap;
	const char *below_zero; /* replicas that count as 0, for a message; NULL: none */
};

/* A ReplicaSet, ReplicationController or StatefulSet. */
struct controller_object {
	struct meta meta;
	struct selector_object selector;
};

#endif
