/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a live cluster: objects come and go, and each pod with claims is judged again when
 * they do.
 *
 *     live_put() ──► slices by node ──► live_node_next(): devices and what is taken    records
 *                    claims, classes ─► questions ──► live_match(): sets of a node     for the core
 *     live_pod_set() ──► live_judge(): refused, or a question
 *
 * A question is what the unallocated claims of a pod ask for: pods whose claims have equal specs
 * have one number.  It is in use while a pod has it.
 *
 * Taken are the devices of allocated claims, of any scheduler, and those that are being written
 * (live_writing()).
 *
 * A pod that asks for extended resources which a class serves has one claim more, the last one: its
 * requests are a group each by resource, and on a node that has a resource in its allocatable the
 * group is not asked (ipc/abi_devices.h).  It is made when the pod has a node.
 *
 * Served live are slices of one node (spec.nodeName) or of several, and requests for a number of
 * devices or for all, with alternatives, selectors, tolerations, adminAccess, capacities and
 * constraints.  Devices of one node may use counters, and claims may share them.
 *
 * Single-threaded.  Memory: ipc/memory.h; of what tenants write nothing is kept twice. */
#ifndef MUSTER_FRONTEND_LIVE_H
#define MUSTER_FRONTEND_LIVE_H

#include "frontend/base/arena.h"
#include "frontend/base/bytes.h"
#include "frontend/base/resource.h"
#include "ipc/abi.h"

#define LIVE_FINALIZER "resource.kubernetes.io/delete-protection"
/* Of a claim for extended resources that is not made yet. */
#define LIVE_EXTENDED_NAME "<extended-resources>"

enum live_kind { LIVE_SLICES, LIVE_CLASSES, LIVE_CLAIMS, LIVE_KINDS };
extern const struct resource live_resources[LIVE_KINDS];

struct live;

struct live *live_new(const uint64_t key[2]);
void live_free(struct live *l);
/* No claims are made for extended resources. */
void live_claims_alone(struct live *l);

/* -EINVAL: *error has the reason; the object is not used. */
int live_put(struct live *l, enum live_kind kind, const char *json, size_t bytes,
             struct decode_error *error);
void live_remove(struct live *l, enum live_kind kind, struct text namespace, struct text name);
void live_replace_begin(struct live *l, enum live_kind kind);
void live_replace_end(struct live *l, enum live_kind kind);

/* A pod of the model by its slot, from its object.  False: it has no resource claims and asks for
 * no extended resource, and is not kept. */
bool live_pod_set(struct live *l, uint32_t pod, const char *json, size_t bytes);
void live_pod_drop(struct live *l, uint32_t pod);
void live_pod_judge_again(struct live *l, uint32_t pod);
/* The next pod that is to be judged again; false: none. */
bool live_next_pod(struct live *l, uint32_t *pod);
/* A claim that it and other waiting pods name was put or removed since live_judge(). */
bool live_shared_changed(const struct live *l, uint32_t pod);

struct live_verdict {
	const char *refusal;  /* NULL: none; good until the next call */
	bool refusal_is_kube; /* by PreFilter of kube-scheduler */
	uint32_t devices;     /* for struct event_shape; 0: nothing is to be chosen */
	bool one;             /* ... but for one claim, which other waiting pods have too */
	const char *node;     /* NULL: any; a claim is allocated there.  "": nowhere */
	/* Node selectors as JSON, which must hold too: of claims that are allocated on several nodes.
	 * Good until a claim changes. */
	const char *const *selectors;
	uint32_t selectors_n;
};
/* The devices of the pod are being written, or there is nothing to choose. */
bool live_is_chosen(const struct live *l, uint32_t pod);
/* `placed`: its devices are chosen, or it is bound. */
void live_judge(struct live *l, uint32_t pod, bool placed, struct live_verdict *out);

/* Group of a resource that devices may serve for the pod; 0: they don't. */
uint32_t live_group(struct live *l, uint32_t pod, struct text resource);
/* The resource of a group, from 1 on; NULL: there are no more. */
const char *live_resource(struct live *l, uint32_t pod, uint32_t group);

/* The number of what a waiting pod asks for; UINT32_MAX: nothing, or it is refused. */
uint32_t live_asks(const struct live *l, uint32_t pod);

/* "REQUEST CLASS ATTRIBUTE " of one option of a question, as in struct event_question.  False:
 * the question has no such option. */
bool live_label(const struct live *l, uint32_t question, uint32_t option, char *out,
                size_t out_bytes);

/* Records.  Call each of the two until it returns that nothing is due. */

/* Names of questions are in the core's arena, as those of nodes and gangs.  A record has no names
 * if all names would take more than `most` bytes.  live_names_bytes(): the bytes that they take. */
void live_names_limit(struct live *l, uint64_t most);
uint64_t live_names_bytes(const struct live *l);

/* A question that the core does not have; UINT32_MAX: none.  live_question_write() writes its
 * record, of live_question_bytes(). */
uint32_t live_question_next(const struct live *l);
size_t live_question_bytes(const struct live *l, uint32_t question);
void live_question_write(struct live *l, uint32_t question, void *record);

/* A node with devices of which something is due; UINT32_MAX: none.  Its name is that of the node's
 * object. */
uint32_t live_node_next(struct live *l);
const char *live_node_name(const struct live *l, uint32_t at);
/* The core has no such node: live_node_entered() makes it due again. */
void live_node_skip(struct live *l, uint32_t at);
void live_node_entered(struct live *l, struct text name);
/* The model has no such node any more: its labels are forgotten, and the entry without slices. */
void live_node_gone(struct live *l, struct text name);
/* There are slices of several nodes: live_node_seen() gets each node of the core when its object
 * changes, with its labels, a JSON object; and all of them once if live_wants_nodes(). */
bool live_has_several(const struct live *l);
bool live_wants_nodes(const struct live *l);
void live_nodes_known(struct live *l);
void live_node_seen(struct live *l, struct text name, struct text labels);
/* Its matches found no space: the node is due once more. */
void live_node_again(struct live *l, uint32_t at);
size_t live_node_bytes(const struct live *l, uint32_t at);
void live_node_write(struct live *l, uint32_t at, node_id node, uint32_t generation, void *record);
/* Selectors are evaluated when matches are written, at most so many steps of them in one flush, and
 * some.  True: no more in this flush, the node is due again. */
void live_flush_begin(struct live *l);
bool live_flush_ends(const struct live *l);
/* After the record of the node: the matches that are due there. UINT32_MAX: none. */
uint32_t live_match_next(const struct live *l, uint32_t at);
size_t live_match_bytes(const struct live *l, uint32_t at, uint32_t question);
void live_match_write(struct live *l, uint32_t at, uint32_t question, node_id node,
                      uint32_t generation, void *record);
/* A new core: everything is due. */
void live_restart(struct live *l);

/* Writes. */

/* Binding conditions, the worst last. */
enum live_conditions {
	LIVE_MET, /* all are True, or there are none */
	LIVE_WAITS,
	LIVE_FAILED, /* one of bindingFailureConditions is True */
};

struct live_claim_view {
	const char *name, *uid, *version;
	bool allocated, reserved; /* for the pod */
	bool others;              /* reserved for others */
	bool owned;               /* by the pod: from a template */
	bool deleting, finalizer;
	bool extended;          /* made for extended resources, behind all others */
	const char *node;       /* allocated on one node; NULL: not allocated, "": on several */
	const char *selector;   /* which these are, as JSON; NULL: one node, or all */
	const char *finalizers; /* the items of the list but LIVE_FINALIZER, as JSON */
	const char *spec;       /* spec.devices */
	const char *consumers;  /* those of reservedFor without the pod; good until the next call */
	enum live_conditions conditions; /* of its devices */
	const char *failure;             /* reason and message of the one that failed; NULL: none did */
	int64_t allocated_s;             /* allocationTimestamp, wall clock; 0: none */
};
/* True if view.selector takes the node, or the labels of that are not known. */
bool live_selector_takes(const struct live *l, const char *selector, const char *node);
/* As view.node, of an allocation that live_writing() gave; the caller frees it. */
char *live_allocated_node(const char *allocation);
/* The claims of a pod in their order; false: there is none at `i`, or it does not exist any more.
 */
bool live_claim(const struct live *l, uint32_t pod, uint32_t i, struct live_claim_view *out);
uint32_t live_claims_n(const struct live *l, uint32_t pod);
/* A claim by its name, as the pod of that uid has it, which need not wait any more. */
bool live_claim_named(const struct live *l, const char *namespace, const char *name,
                      const char *pod_uid, struct live_claim_view *out);
/* How many waiting pods name the claim. */
uint32_t live_claim_pods(const struct live *l, uint32_t pod, uint32_t i);
/* Another waiting pod names a claim of this one that is not allocated. */
bool live_claims_shared(const struct live *l, uint32_t pod);
/* False: one that the pod names does not exist, is being deleted, or is another pod's. */
bool live_claims_exist(struct live *l, uint32_t pod);
/* Pods with claims have slots below; 0: there are none. */
uint32_t live_pods(const struct live *l);
/* The pod has claims, or may get one for extended resources. */
bool live_wants(struct live *l, uint32_t pod);
/* spec.devices of the claim for extended resources on a node that serves these groups (bits) by
 * itself; false: there is nothing to ask for.  And requestMappings of the pod's status. */
bool live_extended_spec(struct live *l, uint32_t pod, uint32_t served, struct bytes *spec);
void live_extended_mappings(struct live *l, uint32_t pod, uint32_t served, struct bytes *list);
/* The name in the pod's status.extendedResourceClaimStatus; "": none. */
const char *live_extended_told(const struct live *l, uint32_t pod);

/* Checks the picks of a command: of that layout, all free, of the pod's question, and of no group
 * that the node serves; or the same as another pod has written for the claim that both have.
 * `share` is random, for shareIDs.  The devices are taken from then on, until live_written(), also
 * if the pod is dropped before.  For each claim that is to be allocated, `each` gets the JSON of
 * its allocation.  False: the choice does not hold any more. */
bool live_writing(struct live *l, uint32_t pod, const char *node, const struct cmd_devices *cmd,
                  const struct device_pick *picks, uint32_t served, const uint64_t share[2],
                  void (*each)(void *context, const char *claim, const char *allocation),
                  void *context);
/* The core knows that the pod is not bound, and what was written is not taken back yet: the
 * devices stay taken, by the node's record alone. */
void live_writing_left(struct live *l, uint32_t pod);
/* The claims have them, or they are given up.  `uid`: of the pod, whose slot may be another's;
 * NULL: the slot is its own. */
void live_written(struct live *l, uint32_t pod, const char *uid);
/* A device of the claim that is in another allocated claim, or whose shares are more than it has;
 * NULL: none. */
const char *live_conflict(const struct live *l, uint32_t pod, uint32_t i);

/* Devices of the claim whose binding conditions are not met are not chosen until then: the
 * last LIVE_AVOIDS_MAX of all claims.  A frontend that starts again avoids none.  False: there are
 * none; those with adminAccess are not known. */
bool live_avoid(struct live *l, uint32_t pod, uint32_t i, uint64_t until_ns);
/* What is over; the time of the next call. */
uint64_t live_avoid_end(struct live *l, uint64_t now_ns);

#endif
