/* SPDX-License-Identifier: Apache-2.0 */
/* The object store of the frontend: objects in, records for the core out.
 *
 *   watch events, list items       records for the core
 *   ───────────► model_put ──► table ──► model_flush ───────────►
 *
 * Pure: no socket, no clock, no thread.  The daemon, the simulator and
 * `musterctl simulate` run the same code.
 *
 * Every object that changed is marked dirty, and model_flush() sends the latest
 * state of dirty objects while the ring has space: a full ring loses nothing
 * and costs no memory.  For a new core everything is dirty.  What a record
 * references (names, shape, gang, node) is sent before it.
 *
 * The model owns all strings and ids; views are good until the next call that
 * changes the model.  Allocation does not fail: see ipc/memory.h. */
#ifndef MUSTER_FRONTEND_MODEL_H
#define MUSTER_FRONTEND_MODEL_H

#include "frontend/base/arena.h"
#include "frontend/base/resource.h"
#include "frontend/dialect/gang_view.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* Nodes and pods come first, then those of the dialects (frontend/dialect/dialect.h). */
enum { RESOURCE_INDEX_NODES, RESOURCE_INDEX_PODS, RESOURCE_INDEX_DIALECTS };

/* Of what namespaces share, the last part is for those below their share (decision 049). */
#define SHARE_RESERVE_PART 8u

struct volumes;

/* Whose objects define queues; from `config` on as enum queue_source. */
enum model_queues_of {
	MODEL_QUEUES_NONE,
	MODEL_QUEUES_AUTO, /* of others: those of which there are objects */
	MODEL_QUEUES_CONFIG,
	MODEL_QUEUES_VOLCANO,
	MODEL_QUEUES_KOORDINATOR,
	MODEL_QUEUES_KAI,
};

struct model_config {
	const char *const *scheduler_names; /* copied */
	size_t scheduler_names_n;           /* 0: every pending pod is ours (simulate) */
	struct limits limits;
	uint64_t hash_key[2]; /* tenants choose names: keyed hashing */
	/* Match claims with WaitForFirstConsumer to volumes: they need not be bound (offline).
	 * Otherwise a pod with such a claim is refused. */
	bool claims_can_wait;
	/* ... and frontend/bind/volume_bind.h binds them (live). */
	bool binds_claims;
	/* Shapes of other schedulers' pods have all their rules, so that they can be filtered: for
	 * the extender. */
	bool judges_others;
	uint64_t dialects_off; /* bit i: ignore dialects[i] (frontend/dialect/dialect.h) */
	/* What pods need of devices (frontend/devices/devices.h); outlives the model.  NULL: pods with
	 * resource claims are refused. */
	struct devices *devices;
	/* Devices of a live server: slices, classes and claims are watched, and the core gets them
	 * (frontend/devices/live.h).  Not with `devices`. */
	bool devices_live;
	bool job_deadlines; /* Jobs are watched, and their deadlines end their pods */
	bool policies_off;  /* ignore WorkloadPolicies and the labels that name them */
	uint64_t timeouts_ns[GROUP_TIMEOUTS]; /* 0: none */
	/* The core searches for victims of gangs that wait: it gets budgets, and what only that needs
	 * of pods and groups. */
	bool preemption;
	bool may_evict;            /* keeps what model_set_evicts() needs */
	uint32_t preemption_flags; /* of enum preemption_flags: BEST_EFFORT and ALL */
	uint32_t preempt_min_run_s, preempt_cooldown_s, preempt_patience_s,
		reclaim_patience_s; /* struct event_preemption */
	enum model_queues_of queues;
	const char *queues_namespace, *queues_name; /* the ConfigMap; they outlive the model */
	bool states_runs; /* event_pod.stated_s without these queues, too: the core has its own */
	/* Resources that don't count in the order of turns; NULL: frontend/queues/unshared.h has them.
	 */
	const char *const *unshared;
	size_t unshared_n;
	uint32_t history_factor, history_half_life_s; /* struct event_queue_terms; factor 0: none */
	uint64_t memory_bytes;                        /* for objects of tenants; 0: any */
};

/* NULL: the limits are too small for the four fixed resources and a shape. */
struct model *model_new(const struct model_config *config);
void model_free(struct model *m);

/* A new core has other limits.
 *   -ENOSPC  less than what is used */
int model_set_limits(struct model *m, const struct limits *limits);

const struct resource *model_resources(const struct model *m, size_t *n);

/* Index of the resource with this apiVersion and kind, or -1. */
int model_resource_index(const struct model *m, const char *api_version, const char *kind);

/* The API version to try after `version`: the newest for NULL, else the next older one; NULL when
 * there is none. */
const char *model_resource_older(const struct model *m, int resource, const char *version);

/* The server has the resource in that version, which model_resource_older() returned: its objects
 * are read and written in it from now on. */
void model_resource_found(struct model *m, int resource, const char *version);

/* The cluster has that resource, or has not: marks of some dialects are ignored then, and their
 * pods are scheduled one by one.  model_put() of an object implies that it has. */
void model_resource_served(struct model *m, int resource, bool served);

/* What muster does without the resource when the API server forbids to read it; NULL: it can't go
 * on without. */
const char *model_resource_without(const struct model *m, int resource);

/* True if nothing is placed before the resource was listed, or is known not to be there. */
bool model_resource_awaited(const struct model *m, int resource);

/* Put an object (ADDED, MODIFIED, an item of a list); json need not end in NUL.  An object older
 * than the stored one (resourceVersion) is passed over.
 *
 * 0 with a text in *error: it is stored, and a part of it that is worth a log line is ignored.
 *
 *   -EINVAL   it cannot be read: *error has the reason.  A node or group that was stored before is
 *             not used until a good version comes; a pod of ours is refused with that text; a bound
 *             pod keeps the usage that was counted, or its node is unaccounted if there was none
 *   -ENOSPC   a limit is reached: *error names it; counted.  An object without a slot is not
 *             stored; a later put (a list) stores it when there is one.  If a part of it found no
 *             space, a pod of ours is refused, a node or group is not used, and the same version is
 *             read again when it is put again.  The node of a bound pod that cannot be counted is
 *             unaccounted: the core gets it without allocatable amounts (unaccounted.h) */
int model_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error);

/* The same of the object with which the text begins, *used bytes of it; 0: it is not JSON.  A pod
 * is not scanned for its end before it is decoded. */
int model_put_first(struct model *m, int resource, const char *json, size_t bytes, size_t *used,
                    struct decode_error *error);

/* The pod would wait as a member of a gang, and has resource claims; nothing is stored. */
bool model_claims_as_member(struct model *m, const char *json, size_t bytes);

/* The pod that the last model_put() stored; false when it stored none, or passed it over. */
struct pod_put; /* frontend/trace/latency.h */
bool model_last_put(const struct model *m, struct pod_put *out);

/* Remove an object (DELETED): only its metadata is read; -EINVAL. */
int model_remove(struct model *m, int resource, const char *json, size_t bytes,
                 struct decode_error *error);

/* True if objects of the resource were left out, or parts of them withdrawn, since its last list
 * began: a list reads them again. */
bool model_lacks(const struct model *m, int resource);
/* A list that replaces nothing begins; it has all objects, but those put or removed since. */
void model_lacks_begin(struct model *m, int resource);
void model_lacks_end(struct model *m, int resource);
/* What is left out from now on counts for memory_free: lists of all such resources begin. */
void model_lacks_anew(struct model *m);

/* A new list replaces all objects of a resource: what was not put between begin and end is removed
 * at the end; abort cancels the list. */
void model_replace_begin(struct model *m, int resource);
void model_replace_end(struct model *m, int resource);
void model_replace_abort(struct model *m, int resource);

/* Destination of records: space for a body of that many bytes, or NULL when it is full. */
struct model_sink {
	void *(*reserve)(void *context, enum record_kind kind, uint32_t body_bytes);
	void *context;
};

/* A new core: EVENT_BEGIN and then everything has to be sent.  Pods whose Binding is in flight are
 * sent as POD_BINDING. */
void model_restart(struct model *m);

/* All lists are complete: EVENT_SYNCED follows what is dirty now. */
void model_set_synced(struct model *m);

/* With history_factor > 0: what queues used in the past, which the model owns; cores that begin
 * from now on get it before EVENT_SYNCED, and with model_send_past() the one that is there.  NULL:
 * none.
 */
struct queues_past; /* frontend/queues/past.h */
void model_keep_past(struct model *m, struct queues_past *past);
void model_send_past(struct model *m);
const struct queues_past *model_past(const struct model *m);

/* Update the pods and nodes that depend on changed claims and volumes.  model_flush() does it
 * first; for callers that count shapes before that. */
void model_refresh(struct model *m);

/* Changes of services and controllers (to default spreads), of policies and of claims that several
 * pods name apply to pending pods at once, but where they follow each other in a namespace: those
 * of a period that depends on its pods apply together, when it is called with a time after that.
 * Returns the next such time, or UINT64_MAX. A model that it is never called for derives them at
 * once. */
uint64_t model_respread(struct model *m, uint64_t now_ns);

/* Send what is dirty.  True: all is sent; false: the sink is full. */
bool model_flush(struct model *m, const struct model_sink *sink);
/* True: the next call sends more of the devices, whose selectors take time. */
bool model_has_more(const struct model *m);

struct pod_view {
	const char *namespace;
	const char *name;
	const char *uid;
	const char *resource_version;
	const char *scheduler_name;
	const char *node;     /* spec.nodeName, "" when not bound */
	const char *binding;  /* a Binding to this node may be in flight; "" */
	const char *gang;     /* group's name without namespace, "" for a lone pod */
	const char *refusal;  /* why muster cannot place it, "" */
	bool refusal_is_kube; /* ... as a PreFilter of kube-scheduler has it */
	pod_id id;
	uint32_t generation;
	gang_id gang_id; /* ID_NONE for a lone pod */
	bool ours;
	bool gated;
	bool deleting;
	uint32_t phase; /* enum pod_phase */
	int32_t priority;
	uint64_t created_ns;
	const char *nominated; /* status.nominatedNodeName of a pending pod of ours, "" */
	uint32_t promised_s;   /* by its annotation and condition: frontend/model/pods/ends.h */
	/* Its PodScheduled condition as last seen; "" when there is none. */
	const char *condition_status;
	const char *condition_reason;
	const char *condition_message;
};

/* False when that pod is gone (another generation, or none). */
bool model_pod(const struct model *m, pod_id id, uint32_t generation, struct pod_view *out);
/* The lone pod that the core numbers limits.gangs + its id among the gangs. */
bool model_waiting_pod(const struct model *m, uint32_t gang, uint32_t generation,
                       struct pod_view *out);
/* Whichever pod has that id; false: none. */
bool model_pod_at(const struct model *m, pod_id id, struct pod_view *out);
/* limits.gangs: from there on ids of gangs are those of lone pods in struct promised and
 * cmd_evict. */
uint32_t model_gangs_most(const struct model *m);
bool model_pod_by_name(const struct model *m, const char *namespace, const char *name,
                       struct pod_view *out);

/* The generation of the pod of that slot, 0: none; and whether a Binding of it may be in flight:
 * none is of an intent to retain the capacity, since it was refused. */
uint32_t model_pod_generation(const struct model *m, pod_id id);
bool model_pod_binds(const struct model *m, pod_id id);

/* A node that exists, or ID_NONE. */
node_id model_node_id(const struct model *m, struct text name);

/* The same for other threads and for many names; valid as long as the model. */
struct node_names *model_node_names(const struct model *m);

/* Name of a node that exists, or NULL. */
const char *model_node(const struct model *m, node_id id, uint32_t generation);
/* The node exists, and its allocatable has some of the resource. */
bool model_node_has(const struct model *m, node_id id, const char *resource);
/* Of a node that exists: the uid of its object, and its generation. */
const char *model_node_uid(const struct model *m, node_id id);
uint32_t model_node_generation(const struct model *m, node_id id);

bool model_gang(const struct model *m, gang_id id, uint32_t generation, struct gang_view *out);

/* Gangs have ids below this.  Their generation; 0: no gang has that id. */
uint32_t model_gang_slots(const struct model *m);
uint32_t model_gang_generation(const struct model *m, gang_id id);

/* The name of a queue by its id; "" when there is none. */
const char *model_queue_name(const struct model *m, uint32_t queue);

/* The namespace of the object that the queue is, "" if it has none, with its resource and the field
 * of its status for what it uses.  NULL: it is no object, or its scheduler isn't who writes that.
 */
const char *model_queue_object(const struct model *m, const char *name, const struct resource **of,
                               const char **field);

/* The queue that a pod, or the first member of a gang, goes to: its name, whether or not it is
 * there; NULL: there are no queues. */
const char *model_pod_queue(const struct model *m, pod_id pod);
const char *model_gang_queue(const struct model *m, gang_id gang);
bool model_has_queues(const struct model *m);

/* Why a queue, or the file of queues, was refused last; NULL: none is.  *n: how many times. */
const char *model_queues_invalid(const struct model *m, uint64_t *n);

/* A field selector for lists and watches of the resource; NULL: all objects. */
const char *model_resource_fields(const struct model *m, int resource);

/* The spec of a gang as a number (struct event_gang); the gang must exist. */
uint32_t model_gang_spec_id(const struct model *m, gang_id id);

/* The object that describes a gang; false when there is none.  Texts are the model's. */
struct gang_object {
	int index; /* of its resource */
	const char *namespace;
	const char *name;
	const char *uid;
	const char *resource_version;
};
bool model_gang_object(const struct model *m, gang_id id, uint32_t generation,
                       struct gang_object *out);

/* The next group whose status has to be computed again, because its object or its pods (struct
 * gang_counts) changed; false: there is none.  Only of dialects with a status. */
bool model_next_status_dirty(struct model *m, gang_id *id, uint32_t *generation);

/* Calls `each` for every member that is ours and not bound; it must not change the model. */
void model_gang_pending(const struct model *m, gang_id id,
                        void (*each)(void *context, const struct pod_view *pod), void *context);

/* The same for every member, bound ones included. */
void model_gang_members(const struct model *m, gang_id id,
                        void (*each)(void *context, const struct pod_view *pod), void *context);

/* The same for all groups of which some members are or were bound. */
void model_begun_pending(const struct model *m,
                         void (*each)(void *context, const struct pod_view *pod), void *context);

/* All pods, in no order. */
void model_each_pod(const struct model *m, void (*each)(void *context, const struct pod_view *pod),
                    void *context);

/* Pods that are bound to the node, or whose Binding to it is in flight.  It visits all pods. */
void model_node_pods(const struct model *m, node_id id,
                     void (*each)(void *context, const struct pod_view *pod), void *context);

/* Labels and taints of a node's object, the model's; the first label is the pseudo label of its
 * name.  Returns their number, 0 without an object. */
uint32_t model_node_labels(const struct model *m, node_id id, const struct label **labels);
uint32_t model_node_taints(const struct model *m, node_id id, const struct taint **taints);

/* Number of a label key, or ID_NONE: no object that was read has it. */
uint32_t model_key_id(const struct model *m, struct text key);

/* Text of a name id: a resource's or a taint's; "" when unknown. */
const char *model_name(const struct model *m, name_id id);

/* Text of a label key's or value's number; "" when unknown. */
const char *model_key_text(const struct model *m, uint32_t key);
const char *model_value_text(const struct model *m, uint32_t value);

/* A Binding to that node is about to be sent, or its result is known.  Stored so that a new core
 * reserves the node for the pod. */
void model_bind_begin(struct model *m, pod_id id, uint32_t generation, node_id node);
void model_bind_end(struct model *m, pod_id id, uint32_t generation);

/* An earlier instance intended that (one of POD_INTENTS): sent to the core with the pod's record,
 * and again each new core, until model_bind_begin() or model_bind_end(). */
void model_intend(struct model *m, pod_id id, uint32_t generation, node_id node, uint32_t intent);

/* The same for the pod of another scheduler, which was given the node: each new core reserves it
 * for keep_ms. */
void model_keep(struct model *m, pod_id id, uint32_t generation, node_id node, uint32_t keep_ms);

/* Gangs evict, or do not: sent to the core, with what only that needs of pods (PREEMPTION_ON). */
void model_set_evicts(struct model *m, bool evicts);

/* Pods are evicted so that this one can start on the node, or not any more (NULL): sent to each
 * new core, in place of status.nominatedNodeName. */
void model_nominate(struct model *m, pod_id id, uint32_t generation, const char *node);

/* The pod was evicted: those that its owner makes later are spared for a while. */
void model_evicted(struct model *m, pod_id id, uint32_t generation, uint64_t now_s);

/* True if a PodDisruptionBudget matches the pod, or there are too many to look at. */
bool model_is_guarded(const struct model *m, pod_id id, uint32_t generation);

/* With claims_can_wait: the pod is placed on the node, and its claims get the volumes that were
 * matched there. */
void model_assume(struct model *m, pod_id id, uint32_t generation, node_id node);

/* Storage, whose pods and nodes have the model's ids, and the index of one of its resources. */
struct volumes *model_volumes(struct model *m);
int model_volume_resource(const struct model *m, uint32_t kind); /* enum volume_kind */

/* With devices_live, else NULL: for the writes of claims. */
struct live *model_live(struct model *m);

struct model_counts {
	uint64_t nodes, pods, pods_ours_pending, gangs, shapes, names;
	uint64_t objects_put, objects_removed, objects_stale, objects_bad, limits_hit;
	uint64_t memory_hit; /* of limits_hit: by model_config.memory_bytes */
	/* Slots ever used at once: of limits.nodes, with nodes that only pods name, and of
	 * limits.shapes. */
	uint64_t node_slots, shape_slots;
	uint64_t terms;             /* between pods, of all shapes: pods/shares.h */
	uint64_t groups_twice;      /* with an object of each of two dialects */
	uint64_t pods_with_volumes; /* each may get a shape of its own at any time */
	uint64_t referred;          /* objects that pods, nodes and claims refer to: model/limits.h */
	uint64_t non_member_pods;   /* counted only in the status of their group: model/group_pods.h */
	uint64_t withdrawn;         /* times that namespaces above their share gave way */
	uint64_t memory_parts;      /* of model_config.memory_bytes, in 16ths: pods/memory.h */
	bool memory_free; /* the smallest object of memory_hit would be kept whole now: pods/memory.h */
	uint64_t columns_changed; /* times that nodes brought or took away a resource's name */
};
void model_counts(const struct model *m, struct model_counts *out);

#endif
