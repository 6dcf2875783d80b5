/* SPDX-License-Identifier: Apache-2.0 */
/* What preemption reads of objects, and scheduling does not: budgets, when a pod started, whether
 * it may be evicted.  The watch reads budgets, and groups for their mode, with --preemption.
 *
 * Texts point into the JSON or the arena. */
#ifndef MUSTER_FRONTEND_EVICTION_H
#define MUSTER_FRONTEND_EVICTION_H

#include "frontend/decode/object.h"

/* policy/v1 PodDisruptionBudget. */
struct budget_object {
	struct meta meta;
	struct selector_object selector;
	int32_t allowed;        /* status.disruptionsAllowed */
	struct pairs disrupted; /* status.disruptedPods, by name */
};

struct evicted_pod_object {
	struct meta meta;
	struct owner_object owner;
	struct text scheduler_name; /* "default-scheduler" when it is not set */
	struct text priority_class;
	struct text policy;    /* spec.preemptionPolicy, "" when it is not set */
	struct text nominated; /* status.nominatedNodeName, "" */
	uint64_t start_ns;     /* status.startTime, since 1970; 0: none */
	bool preempted;        /* kube-scheduler evicts it: condition DisruptionTarget */
};

/* A PriorityClass. */
struct priority_class_object {
	struct meta meta;
	struct text policy; /* preemptionPolicy, "" when it is not set */
	bool is_default;
};

/* The object of a gang, of any dialect. */
struct evicted_group_object {
	struct meta meta;
	struct text mode; /* spec.disruptionMode of a native group: the text, or the name of the member
	                   * of 1.37; "" */
};

struct decode_error;

/* All: -EINVAL and *error, as in extract.h. */
int extract_budget(const char *json, size_t bytes, struct arena *arena, struct budget_object *out,
                   struct decode_error *error);
int extract_evicted_pod(const char *json, size_t bytes, struct arena *arena,
                        struct evicted_pod_object *out, struct decode_error *error);
int extract_evicted_group(const char *json, size_t bytes, struct arena *arena,
                          struct evicted_group_object *out, struct decode_error *error);
int extract_priority_class(const char *json, size_t bytes, struct arena *arena,
                           struct priority_class_object *out, struct decode_error *error);

/* True if the labels satisfy every rule of the selector; one that is not given matches nothing. */
bool selector_object_matches(const struct selector_object *selector, const struct pairs *labels);

/* True if a mark excludes it from evictions: muster's, or one of other schedulers. */
bool extract_opts_out(const struct meta *meta, struct arena *arena);
/* True of a pod that does, of a DaemonSet's and of a mirror pod. */
bool extract_is_spared(const struct meta *meta, const struct owner_object *owner,
                       struct arena *arena);

/* The annotation controller.kubernetes.io/pod-deletion-cost as the ReplicaSet controller reads it:
 * 0 without one, and of one that is no number of 32 bits. */
int32_t extract_deletion_cost(const struct meta *meta, struct arena *arena);
/* The annotation batch.kubernetes.io/job-completion-index as the Job controller reads it: -1
 * without one, and of one that is no number of 64 bits or negative.  INT32_MAX at most, as
 * spec.completions. */
int32_t extract_completion_index(const struct meta *meta, struct arena *arena);

/* True of the leader of a gang, by the marks of the controllers that make one. */
bool extract_leads(const struct meta *meta, struct arena *arena);

/* True if a label or an annotation has this value. */
bool extract_is_marked(const struct meta *meta, const char *key, const char *value,
                       struct arena *arena);

/* The value of an annotation is this text. */
bool annotation_is(const struct meta *meta, const char *key, const char *value,
                   struct arena *arena);

#endif
