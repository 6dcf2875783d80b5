/* SPDX-License-Identifier: Apache-2.0 */
/* Storage: the rules that claims and volumes of a pod put on nodes.
 *
 *   PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode,
 *   CSIDriver, CSIStorageCapacity, VolumeAttachment
 *        │ volumes_put                          pod, node
 *        ▼                                         │ volumes_set_pod, volumes_set_node
 *   struct volumes ◄───────────────────────────────┘
 *        │ volumes_join_pod, volumes_join_node
 *        ▼
 *   rules, attachments, exclusives, a refusal; limits and attached volumes
 *
 * The rules are those of the plugins VolumeRestrictions, NodeVolumeLimits, VolumeBinding and
 * VolumeZone of kube-scheduler 1.36.  A join records what it depends on, including objects that do
 * not exist, so that a change of an object marks exactly those pods and nodes dirty that have to be
 * joined again.
 *
 * Pods and nodes have numbers of the caller, dense from 0: the slots of the model.
 *
 * With can_wait claims that wait for their first consumer (volumeBindingMode WaitForFirstConsumer)
 * are matched against volumes and capacities, and the result becomes rules that name nodes; without
 * it the pod is refused.  Which volumes a pod gets is a function of its node, so the choice of the
 * node decides it: offline by volumes_assume(), live by volumes_choose() (docs/decisions/075). */
#ifndef MUSTER_FRONTEND_VOLUME_H
#define MUSTER_FRONTEND_VOLUME_H

#include "frontend/base/resource.h"
#include "frontend/decode/volume_source.h"
#include "frontend/json/quantity.h"

struct json;

enum volume_kind {
	VOLUME_KIND_CLAIM,      /* PersistentVolumeClaim */
	VOLUME_KIND_VOLUME,     /* PersistentVolume */
	VOLUME_KIND_CLASS,      /* StorageClass */
	VOLUME_KIND_NODE,       /* CSINode */
	VOLUME_KIND_DRIVER,     /* CSIDriver */
	VOLUME_KIND_CAPACITY,   /* CSIStorageCapacity */
	VOLUME_KIND_ATTACHMENT, /* VolumeAttachment */
	VOLUME_KINDS
};

/* Where each kind is listed and watched. */
extern const struct resource volume_resources[VOLUME_KINDS];

struct volumes;

struct volumes *volumes_new(const uint64_t hash_key[2], bool can_wait);
void volumes_free(struct volumes *vs);
/* Live: the claims are bound by frontend/bind/volume_bind.h, which calls volumes_choose(). */
void volumes_bind_live(struct volumes *vs);
bool volumes_are_live(const struct volumes *vs);

/* At most so many objects of each kind; objects above it are not removed. */
void volumes_limit(struct volumes *vs, uint32_t each);
/* Number of objects. */
uint64_t volumes_count(const struct volumes *vs);

/* Adds or replaces an object; one with an older resourceVersion than the known one is ignored.
 *   -EINVAL  it is malformed: see *error; it counts as an object that can't be read
 *   -ENOSPC  the limit is reached; nothing has changed */
int volumes_put(struct volumes *vs, enum volume_kind kind, const char *json, size_t bytes,
                struct arena *arena, struct decode_error *error);
void volumes_remove(struct volumes *vs, enum volume_kind kind, const struct meta *meta);

/* A list replaces all objects of a kind: begin, volumes_put() of each, end or abort. */
void volumes_replace_begin(struct volumes *vs, enum volume_kind kind);
void volumes_replace_end(struct volumes *vs, enum volume_kind kind);
void volumes_replace_abort(struct volumes *vs, enum volume_kind kind);

struct volume_rule_object {
	uint32_t why; /* enum filter_reason */
	/* All rules of one of the terms must hold; without terms no node matches.  A rule that
	 * is_field is about the node's name (LABEL_KEY_NODE_NAME), with any number of values.
	 * No term is empty, none has a rule that is_void. */
	struct node_term *terms;
	size_t n;
	size_t cap;
};

struct volume_attach_object {
	struct text driver;
	struct text volume; /* handle */
};

struct volume_exclusive_object {
	struct text thing;
	uint32_t flags; /* enum exclusive_flags */
};

enum volume_refusal {
	VOLUME_REFUSED_NOT,
	VOLUME_REFUSED_KUBE, /* by a PreFilter of kube-scheduler, with its text */
	VOLUME_REFUSED_OURS, /* muster does not support it */
};

struct pod_storage {
	uint32_t refused;    /* enum volume_refusal; the rules do not matter then */
	const char *refusal; /* its text, "" */
	struct volume_rule_object *rules;
	size_t rules_n, rules_cap;
	struct volume_attach_object *attachments; /* all different */
	size_t attachments_n, attachments_cap;
	struct volume_exclusive_object *exclusives; /* all of different things */
	size_t exclusives_n, exclusives_cap;
};

/* Sets the pod of that number; its identity and volumes are copied.  NULL or a pod without volumes
 * removes it.  The pod is clean afterwards: call volumes_join_pod() at once, or
 * volumes_join_again() if it is refused until then. */
void volumes_set_pod(struct volumes *vs, uint32_t pod, const struct pod_object *object);

#define VOLUME_BYTES 256u /* of one of a pod, without its texts */
/* What they take here, about; 0: the pod has none. */
size_t volumes_bytes(const struct pod_volumes *volumes);
size_t volumes_pod_bytes(const struct volumes *vs, uint32_t pod);

/* The rules of the pod's storage.  `bound`: it has a node, so nothing is refused and only
 * attachments and exclusives are set.  Texts and arrays are in the arena or the store: good until
 * either changes. */
void volumes_join_pod(struct volumes *vs, uint32_t pod, bool bound, struct arena *arena,
                      struct pod_storage *out);

/* At most so many pods are joined before others are served: each may look at all nodes. */
#define VOLUME_JOINS_MAX 2048u

/* Removes a pod from the dirty ones, to be joined again; false if there is none. */
bool volumes_next_pod(struct volumes *vs, uint32_t *pod);
/* A claim that it and other pods name was put or removed since volumes_join_pod(). */
bool volumes_shared_changed(const struct volumes *vs, uint32_t pod);
/* The pod is dirty. */
void volumes_join_again(struct volumes *vs, uint32_t pod);

struct volume_limit_object {
	struct text driver;
	uint32_t most;
};

struct node_storage {
	struct volume_limit_object *limits; /* of CSINode, sorted by driver */
	size_t limits_n, limits_cap;
	struct volume_attach_object *attached; /* by VolumeAttachments, all different */
	size_t attached_n, attached_cap;
};

/* Sets the node of that number; name and labels are copied.  Labels are used with can_wait only. */
void volumes_set_node(struct volumes *vs, uint32_t node, struct text name,
                      const struct pairs *labels);
void volumes_drop_node(struct volumes *vs, uint32_t node);
void volumes_join_node(struct volumes *vs, uint32_t node, struct arena *arena,
                       struct node_storage *out);
bool volumes_next_node(struct volumes *vs, uint32_t *node);

/* The pod is assumed on the node: its waiting claims are bound to the volumes that were matched
 * there, or marked as provisioned for it, so that later pods do not get them.  Only with
 * can_wait. */
void volumes_assume(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena);

/* Live. */

/* The pod's claims wait for their first consumer, or did so since it is pending; the number of such
 * pods. */
bool volumes_pod_waits(const struct volumes *vs, uint32_t pod);
uint32_t volumes_waiting(const struct volumes *vs);

/* What a claim of a pod gets on a node. */
struct volume_choice {
	struct text namespace, claim, claim_uid;
	struct text volume; /* "": to be provisioned for the node */
	/* The CSIStorageCapacity that it is to come from, as a number; 0: its driver tells none. */
	uint64_t space;
	nano_t size;
};

/* The choices for the pod's waiting claims on the node, each claim once, in the arena.
 *   -ENOENT  no volume, no free storage, or one that is bound already is elsewhere: *why is the
 *            reason of the node */
int volumes_choose(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena,
                   struct volume_choice **out, size_t *n, enum filter_reason *why);

/* A claim or a volume as it is known; the texts are good until the store changes. */
struct volume_claim_view {
	struct text uid, version;
	struct text volume; /* spec.volumeName */
	struct text selected_node;
	bool has_selected_node;
	bool bound; /* fully */
};
bool volumes_claim(const struct volumes *vs, struct text namespace, struct text name,
                   struct volume_claim_view *out);

struct volume_view {
	struct text uid, version;
	bool has_claim;
	struct text claim_namespace, claim, claim_uid; /* claim_uid: "" if it has none */
};
bool volumes_volume(const struct volumes *vs, struct text name, struct volume_view *out);
/* The node satisfies the volume's node affinity. */
bool volumes_reaches(const struct volumes *vs, struct text name, uint32_t node);

/* The claim is being bound, or no longer: meanwhile it has no rules over nodes, since the nodes of
 * its pods are chosen.  Counted. */
void volumes_busy(struct volumes *vs, const struct volume_choice *claim, bool more);
/* True if the claim is, and for a collision of hashes, which are keyed. */
bool volumes_are_busy(const struct volumes *vs, struct text claim_uid);
/* The volume will be written for the claim: no other claim gets it until volumes_unassume(). */
void volumes_assume_for(struct volumes *vs, struct text volume, struct text claim_uid);
void volumes_unassume(struct volumes *vs, struct text volume, struct text claim_uid);

/* What a claim can be kept away from. */
enum volume_place { VOLUME_PLACE_NODE, VOLUME_PLACE_VOLUME, VOLUME_PLACE_SPACE, VOLUME_PLACES };

/* So much of it is being provisioned, or no longer: volumes_choose() subtracts it. */
void volumes_plan_space(struct volumes *vs, uint64_t space, nano_t size, bool more);

/* The claim gets nothing on that node, or not that volume or CSIStorageCapacity, for some time: a
 * provisioner failed there, or other members of its gang get it. */
void volumes_avoid(struct volumes *vs, const struct volume_choice *claim, enum volume_place place,
                   struct text name, uint64_t until_ns);
/* Volumes that the pod's claims could have on the node, and that are assumed for others, are
 * avoided, and so is space that is planned for others. */
void volumes_avoid_assumed(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena,
                           uint64_t until_ns);
/* Ends what is over; the time of the next call. */
uint64_t volumes_expire(struct volumes *vs, uint64_t now_ns);

#endif
