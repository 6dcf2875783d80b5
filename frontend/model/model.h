/* SPDX-License-Identifier: Apache-2.0 */
/* What the frontend knows of the cluster: objects in, records out.
 *
 *   watch events, list items       records for the core
 *   ───────────► model_put ──► table ──► model_flush ───────────►
 *
 * Pure: no socket, no clock, no thread.  The daemon, the simulator and
 * `musterctl simulate` run this very code.
 *
 * Every object that changed is marked dirty, and model_flush() sends the latest
 * state of what is dirty as long as the ring has room: a full ring loses
 * nothing and costs no memory.  For a new core everything is dirty.  What a
 * record refers to (names, shape, gang, node) is always sent before it.
 *
 * The model owns all strings and ids; views are good until the next call that
 * changes the model. */
#ifndef MUSTER_FRONTEND_MODEL_H
#define MUSTER_FRONTEND_MODEL_H

#include "frontend/base/arena.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* A collection that is listed and watched. */
struct resource {
	const char *group;   /* "" is the core group */
	const char *version; /* that is used; some have several (frontend/dialect/dialect.h) */
	const char *plural;
	const char *kind;
	bool optional; /* a CRD that a cluster may not have */
};

/* Nodes and pods come first, then those of the dialects (frontend/dialect/dialect.h). */
enum { RESOURCE_INDEX_NODES, RESOURCE_INDEX_PODS, RESOURCE_INDEX_DIALECTS };

/* What is wrong with an object: every part is named, for a message such as
 *   Node n1: status.allocatable["cpu"]: "12x" is not a quantity */
struct decode_error {
	char object[600]; /* "Node n1", "Pod ns/name", or "object" if it has no name */
	char field[256];  /* path of the field */
	char text[512];   /* what is wrong, with the value */
};

/* Which of the configured timeouts a group gets that names none itself. */
enum group_timeout {
	GROUP_TIMEOUT_NONE,
	GROUP_TIMEOUT_COSCHEDULING,
	GROUP_TIMEOUT_CONFIGMAP,
	GROUP_TIMEOUT_ANNOTATIONS,
	GROUP_TIMEOUTS
};

struct model_config {
	const char *const *scheduler_names; /* copied */
	size_t scheduler_names_n;           /* 0: every pending pod is ours (simulate) */
	struct limits limits;
	uint64_t hash_key[2]; /* tenants choose names: keyed hashing */
	/* Judge claims that wait for their first consumer: nobody has to bind them (offline).
	 * Else a pod with such a claim is refused. */
	bool claims_can_wait;
	/* Pods that others place have all their rules in their shapes, so that they can be judged: for
	 * the extender. */
	bool judges_others;
	uint64_t dialects_off; /* bit i: dialects[i] (frontend/dialect/dialect.h) is as if it were not
	                          there */
	bool policies_off;     /* WorkloadPolicies and the labels that name them as well */
	uint64_t timeouts_ns[GROUP_TIMEOUTS]; /* 0: none */
};

struct model *model_new(const struct model_config *config);
void model_free(struct model *m);

/* The core that answered has other limits than the last one.  Shrinking below
 * what is used gives -ENOSPC. */
int model_set_limits(struct model *m, const struct limits *limits);

const struct resource *model_resources(const struct model *m, size_t *n);

/* Index of the resource with this apiVersion and kind, or -1. */
int model_resource_index(const struct model *m, const char *api_version, const char *kind);

/* Which version to ask for next: the newest for NULL, else the next older one; NULL when there is
 * none. */
const char *model_resource_older(const struct model *m, int resource, const char *version);

/* The server has the resource in that version, which is one that model_resource_older() gave: where
 * its objects are read and written from now on. */
void model_resource_found(struct model *m, int resource, const char *version);

/* The cluster has that resource, or has not: marks of some dialects count for nothing then, and
 * their pods are ordinary ones.  An object that is put says the same. */
void model_resource_served(struct model *m, int resource, bool served);

/* An object as it is now (ADDED, MODIFIED, an item of a list); json need not end
 * in NUL.  An object older than what is known (resourceVersion) is passed over.
 *
 * 0 with a text in *error: it is taken, and something of it is passed over that is worth a line.
 *
 *   -EINVAL   it can't be read: *error says what; of a node or group known
 *             before, nothing more is used until a good version comes; a pod
 *             that is ours is refused with that text; one that is bound keeps
 *             the room it had, or its node is blind if it had none
 *   -ENOSPC   a limit is reached: *error names it; counted.  An object that
 *             found no slot is remembered nowhere; it is taken when it comes
 *             again (a list does) and there is room.  One that found no room
 *             for a part of it: a pod of ours waits as refused, a node or group
 *             is not used; the same version is read again when it comes.  The
 *             node of a bound pod that can't be counted is blind: the core sees
 *             it without room until it can (model_blind.c)
 *   -ENOMEM */
int model_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error);

/* The pod that the last model_put() took; false when it took none, or passed it over. */
struct pod_put; /* frontend/trace/latency.h */
bool model_last_put(const struct model *m, struct pod_put *out);

/* The object is gone (DELETED): only its metadata is read. */
int model_remove(struct model *m, int resource, const char *json, size_t bytes,
                 struct decode_error *error);

/* A fresh list replaces all of a resource: what was not put between begin and
 * end is removed at the end; abort forgets that a list was under way. */
void model_replace_begin(struct model *m, int resource);
void model_replace_end(struct model *m, int resource);
void model_replace_abort(struct model *m, int resource);

/* ---- towards the core ------------------------------------------------- */

/* Where records go: room for a body of that many bytes, or NULL when full. */
struct model_sink {
	void *(*reserve)(void *context, enum record_kind kind, uint32_t body_bytes);
	void *context;
};

/* A new core, or none before: EVENT_BEGIN and then everything is to be sent.
 * Pods whose binding is in flight go as POD_BINDING. */
void model_restart(struct model *m);

/* The lists are in: EVENT_SYNCED follows what is dirty now. */
void model_set_synced(struct model *m);

/* Join anew the pods and nodes that changed claims and volumes concern.  model_flush()
 * does it first; who counts shapes before that calls it. */
void model_settle(struct model *m);

/* Send what is dirty.  True when all is sent, false when the sink was full. */
bool model_flush(struct model *m, const struct model_sink *sink);

/* ---- from the core ---------------------------------------------------- */

struct pod_view {
	const char *namespace;
	const char *name;
	const char *uid;
	const char *resource_version;
	const char *scheduler_name;
	const char *node;     /* spec.nodeName, "" when not bound */
	const char *gang;     /* group's name without namespace, "" for a lone pod */
	const char *refusal;  /* why muster can't judge it, "" */
	bool refusal_is_kube; /* ... no: kube-scheduler's own words, of a PreFilter */
	pod_id id;
	uint32_t generation;
	gang_id gang_id; /* ID_NONE for a lone pod */
	bool ours;
	bool gated;
	bool deleting;
	int32_t priority;
	uint64_t created_ns;
	/* Its PodScheduled condition as last seen; "" when there is none. */
	const char *condition_status;
	const char *condition_reason;
	const char *condition_message;
};

/* False when that pod is gone (another generation, or none). */
bool model_pod(const struct model *m, pod_id id, uint32_t generation, struct pod_view *out);
bool model_pod_by_name(const struct model *m, const char *namespace, const char *name,
                       struct pod_view *out);

/* A node that exists, or ID_NONE. */
node_id model_node_id(const struct model *m, struct text name);

/* Name of a node that exists, or NULL. */
const char *model_node(const struct model *m, node_id id, uint32_t generation);

enum pod_phase {
	POD_PHASE_PENDING,
	POD_PHASE_RUNNING,
	POD_PHASE_SUCCEEDED,
	POD_PHASE_FAILED,
	POD_PHASE_UNKNOWN,
	POD_PHASES
};

/* Pods that name a group, those that ended or are other schedulers' among them. */
struct gang_counts {
	uint32_t n;
	uint32_t ours;
	uint32_t bound; /* have or had a node */
	uint32_t phases[POD_PHASES];
};

struct group_status;   /* frontend/dialect/group_status.h */
struct dialect_status; /* likewise */
struct dialect_texts;  /* frontend/dialect/reason.h */

struct gang_view {
	const char *namespace;
	const char *name;
	const char *dialect;
	const char *refusal; /* why it can't be honoured, "" */
	uint32_t quorum;
	uint32_t dialect_index;             /* of dialects[] (frontend/dialect/dialect.h) */
	bool missing;                       /* pods name it, nothing describes it */
	const struct amount *min_resources; /* by model_name() */
	uint32_t min_resources_n;
	uint64_t timeout_ns;               /* 0: none */
	const struct dialect_texts *texts; /* NULL: kube-scheduler's and scheduler-plugins' own */
	/* Of its object, when its dialect has a status; else resource and status are NULL. */
	const struct resource *resource;
	const char *uid;
	const char *resource_version;
	const struct dialect_status *writes;
	const struct group_status *status; /* as it is; NULL: it can't be read */
	const char *owners;                /* of its first member: "ns/name,ns/name"; "" */
	const char *scheduler_name;        /* of a member; "" without any */
	struct gang_counts pods;
};
bool model_gang(const struct model *m, gang_id id, uint32_t generation, struct gang_view *out);

/* What the core is told that the gang asks for, as a number (struct event_gang); the id is of one
 * that is live. */
uint32_t model_gang_terms(const struct model *m, gang_id id);

/* The object that describes a gang; false when none does: members may.  Texts are the model's. */
struct gang_object {
	int index; /* of its resource */
	const char *namespace;
	const char *name;
	const char *uid;
	const char *resource_version;
};
bool model_gang_object(const struct model *m, gang_id id, uint32_t generation,
                       struct gang_object *out);

/* The next group whose object, or pods as struct gang_counts counts them, changed since it
 * was taken here last; false: there is none.  Only of dialects with a status. */
bool model_next_stirred(struct model *m, gang_id *id, uint32_t *generation);

/* Calls `each` for every member that is ours and not bound; it may not change
 * the model. */
void model_gang_pending(const struct model *m, gang_id id,
                        void (*each)(void *context, const struct pod_view *pod), void *context);

/* The same for the members of all groups of which some have or had a node. */
void model_begun_pending(const struct model *m,
                         void (*each)(void *context, const struct pod_view *pod), void *context);

/* All pods, in no order. */
void model_each_pod(const struct model *m, void (*each)(void *context, const struct pod_view *pod),
                    void *context);

/* Text of a name id: a resource's or a taint's; "" when unknown. */
const char *model_name(const struct model *m, name_id id);

/* Text of a label key's or value's number; "" when unknown. */
const char *model_key_text(const struct model *m, uint32_t key);
const char *model_value_text(const struct model *m, uint32_t value);

/* A Binding to that node is about to be sent, or its fate is known (landed or
 * not).  Remembered so that a new core keeps the room. */
void model_bind_begin(struct model *m, pod_id id, uint32_t generation, node_id node);
void model_bind_end(struct model *m, pod_id id, uint32_t generation);

/* With claims_can_wait: the pod goes to the node, and its claims take what was found
 * for them there. */
void model_assume(struct model *m, pod_id id, uint32_t generation, node_id node);

struct model_counts {
	uint64_t nodes, pods, pods_ours_pending, gangs, shapes, names;
	uint64_t objects_put, objects_removed, objects_stale, objects_bad, limits_hit;
	/* Slots ever used at once: of limits.nodes, with names of nodes that pods give, and
	 * of limits.shapes. */
	uint64_t node_slots, shape_slots;
	uint64_t groups_twice;      /* an object of each of two dialects that share their groups */
	uint64_t pods_with_volumes; /* each may get a shape of its own at any time */
	uint64_t referred;    /* namespaces, services, controllers, policies, volumes' objects, other
	                         ConfigMaps */
	uint64_t pods_beside; /* that only count for the status of their group: ended, or other
	                         schedulers' */
};
void model_counts(const struct model *m, struct model_counts *out);

#endif
