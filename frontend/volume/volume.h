/* SPDX-License-Identifier: Apache-2.0 */
/* Claims and volumes: what a pod's storage asks of a node.
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
 * It judges as the plugins VolumeRestrictions, NodeVolumeLimits, VolumeBinding and
 * VolumeZone of kube-scheduler 1.36 do.  A join remembers what it looked at (also
 * what it did not find), so that a change of an object makes exactly those pods and
 * nodes dirty that have to be joined anew.
 *
 * Pods and nodes are known by numbers that the caller chooses, dense from 0: the
 * slots of the model.
 *
 * A claim that waits for its first consumer (volumeBindingMode WaitForFirstConsumer)
 * can be judged, but muster doesn't bind it.  With can_wait it is matched against
 * what is there, and the answer for each node becomes rules that name nodes; without
 * it the pod is refused. */
#ifndef MUSTER_FRONTEND_VOLUME_H
#define MUSTER_FRONTEND_VOLUME_H

#include "frontend/decode/object.h"
#include "frontend/model/model.h"

struct json;

/* ---- what a pod says ---------------------------------------------------------- */

enum volume_source {
	VOLUME_CLAIM,      /* persistentVolumeClaim: name */
	VOLUME_EPHEMERAL,  /* its claim is named POD-VOLUME: name is the volume's */
	VOLUME_GCE_DISK,   /* gcePersistentDisk: name is pdName */
	VOLUME_AWS_DISK,   /* awsElasticBlockStore: volumeID */
	VOLUME_ISCSI,      /* iqn */
	VOLUME_RBD,        /* name is the image; pool; monitors */
	VOLUME_AZURE_DISK, /* diskURI */
	VOLUME_CINDER,     /* volumeID */
};

struct volume_object {
	uint32_t source; /* enum volume_source */
	bool read_only;
	struct text name;
	struct text pool;
	struct texts monitors;
};

/* Only volumes that scheduling looks at. */
struct pod_volumes {
	struct volume_object *at;
	size_t n;
	size_t room;
};

/* spec.volumes, in place of what was there: out->volumes, and images of image volumes
 * by extract_image(). */
void extract_pod_volumes(struct json *j, struct pod_object *out);

/* ---- the kinds ---------------------------------------------------------------- */

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

/* ---- the store ---------------------------------------------------------------- */

struct volumes;

/* NULL when memory is short. */
struct volumes *volumes_new(const uint64_t hash_key[2], bool can_wait);
void volumes_free(struct volumes *vs);

/* Of each kind at most so many; what is there already stays. */
void volumes_limit(struct volumes *vs, uint32_t each);
/* Objects known. */
uint64_t volumes_count(const struct volumes *vs);

/* An object as it is now.  One that is older than what is known (resourceVersion) is
 * passed over.
 *   -EINVAL  it can't be read: *error says what; what was known before is forgotten
 *   -ENOSPC  the limit is reached
 *   -ENOMEM  nothing has changed in either */
int volumes_put(struct volumes *vs, enum volume_kind kind, const char *json, size_t bytes,
                struct arena *arena, struct decode_error *error);
int volumes_remove(struct volumes *vs, enum volume_kind kind, const struct meta *meta);

/* As of the model: a fresh list replaces all of a kind. */
void volumes_replace_begin(struct volumes *vs, enum volume_kind kind);
void volumes_replace_end(struct volumes *vs, enum volume_kind kind);
void volumes_replace_abort(struct volumes *vs, enum volume_kind kind);

/* ---- pods --------------------------------------------------------------------- */

struct volume_rule_object {
	uint32_t why; /* enum node_why */
	/* All rules of one of the terms must hold; no term: no node will do.  A rule that
	 * is_field is about the node's name (LABEL_KEY_NODE_NAME), with any number of values.
	 * No term is empty, none has a rule that is_void. */
	struct node_term *terms;
	size_t n;
	size_t room;
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
	VOLUME_REFUSED_KUBE, /* by a PreFilter of kube-scheduler, in its words */
	VOLUME_REFUSED_OURS, /* muster can't judge or bind it */
};

struct pod_storage {
	uint32_t refused;    /* enum volume_refusal; then nothing else is judged */
	const char *refusal; /* its text, "" */
	struct volume_rule_object *rules;
	size_t rules_n, rules_room;
	struct volume_attach_object *attachments; /* no two alike */
	size_t attachments_n, attachments_room;
	struct volume_exclusive_object *exclusives; /* no two of one thing */
	size_t exclusives_n, exclusives_room;
};

/* The pod of that number, its identity and volumes copied; NULL or no volumes: it has
 * none (any more), which is what a number has at first.  It is clean then until
 * something changes that a join saw: join it at once.
 *   -ENOMEM */
int volumes_set_pod(struct volumes *vs, uint32_t pod, const struct pod_object *object);

/* What the pod's storage asks for.  `bound`: it stands on a node, so that nothing is
 * refused and only attachments and exclusives are filled.  Texts and arrays are in
 * the arena or the store: good until either changes.
 *   -ENOMEM  it is dirty again as soon as any object changes */
int volumes_join_pod(struct volumes *vs, uint32_t pod, bool bound, struct arena *arena,
                     struct pod_storage *out);

/* A pod to be joined anew, taken off the list; false when there is none. */
bool volumes_next_pod(struct volumes *vs, uint32_t *pod);

/* ---- nodes -------------------------------------------------------------------- */

struct volume_limit_object {
	struct text driver;
	uint32_t most;
};

struct node_storage {
	struct volume_limit_object *limits; /* of CSINode, sorted by driver */
	size_t limits_n, limits_room;
	struct volume_attach_object *attached; /* by VolumeAttachments, no two alike */
	size_t attached_n, attached_room;
};

/* The node of that number; NULL: there is none (any more).  The labels are only kept
 * with can_wait, where each node counts for waiting claims.
 *   -ENOMEM */
int volumes_set_node(struct volumes *vs, uint32_t node, struct text name,
                     const struct pairs *labels);
void volumes_drop_node(struct volumes *vs, uint32_t node);
int volumes_join_node(struct volumes *vs, uint32_t node, struct arena *arena,
                      struct node_storage *out);
bool volumes_next_node(struct volumes *vs, uint32_t *node);

/* ---- offline ------------------------------------------------------------------ */

/* The pod goes to the node: its waiting claims take the volumes that were matched
 * there, or will be provisioned for that node, so that the next pod finds them taken.
 * Only with can_wait.
 *   -ENOMEM */
int volumes_assume(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena);

#endif
