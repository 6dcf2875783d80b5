/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of live devices share. */
#ifndef MUSTER_FRONTEND_LIVE_IMPL_H
#define MUSTER_FRONTEND_LIVE_IMPL_H

#include "frontend/devices/asked.h"
#include "frontend/devices/live.h"
#include "ipc/memory.h"

/* Numbers of texts: a claim is "namespace/name", a device "driver/pool/name". */
#define LIVE_NONE UINT32_MAX
#define POD_CLAIMS_MAX 64u
#define LIVE_COMMON (1u << 31) /* in `device_node`: a common number */
#define POD_MADE_MAX 16u       /* made for its extended resources, that are looked at together */

struct live_slice {
	uint32_t name; /* of `slice_names` */
	uint32_t node; /* LIVE_NONE: of several */
	bool barred;   /* of several: no node may know what is left of its pool's counters */
	uint32_t round;
	struct arena arena;
	struct slice *slice;
};

struct live_class {
	struct text name;
	struct arena arena;
	struct class_entry *entry;
	uint32_t round;
};

/* An option of a claim's spec with its compiled selectors. */
struct live_option {
	const struct option_entry *entry;
	uint32_t claim, request;
	uint32_t group;              /* device_group(); 0: of a claim that exists */
	struct selector **selectors; /* of the class, then of the request */
	uint32_t selectors_n, of_class_n;
};

/* What one or more claims ask for, as text. */
struct live_question {
	char *text; /* NULL: free */
	char *one; /* "namespace/name" of the claim that all its pods have; NULL: equal specs are one */
	uint32_t refs;
	uint32_t space;        /* number of the namespace that it is charged to */
	uint32_t weight;       /* charged: 1, and one for each option, constraint and 64 KiB */
	size_t bytes;          /* of its selectors */
	uint64_t steps, looks; /* of selectors, and of options at devices, so far */
	bool sent;
	struct arena arena;
	struct claim_entry *claims;
	uint32_t claims_n;
	struct live_option *options;
	uint32_t options_n, constraints_n;
	char *refusal; /* of all its pods; NULL: none */
	bool refusal_is_kube;
	/* A selector that failed on a device. */
	char *error;
	uint32_t error_claim, error_selector;
	char *error_class;                /* NULL: of the claim */
	const struct live_node *error_at; /* of that node */
};

/* What a share takes of one capacity of a device, or what all of them do. */
struct live_draws {
	struct live_draw {
		uint32_t number; /* of "driver/pool/name/capacity", held */
		uint32_t device;
		uint32_t claim; /* number of its name */
		device_amount amount;
	} * at;
	size_t n;
};

struct live_drawn {
	device_amount sum;
	device_amount held; /* of it: by pods that still ask, whose holdings the core has */
	bool known;         /* a device has it */
	device_amount value;
};

struct live_node {
	char *name;
	size_t excess; /* of devices, as live_node_note() named it last */
	struct live_slice **slices;
	size_t slices_n, slices_cap;
	uint32_t layout; /* 0: not known */
	bool relaid;     /* its slices changed: `asked` is old */
	bool due;        /* the record of its devices */
	bool skipped;
	bool invalid, broken; /* a pool is invalid; or incomplete */
	struct arena arena;
	struct device_entry **devices;
	uint32_t *keys; /* of devices */
	uint32_t devices_n;
	uint32_t *commons; /* by device: of `common_names`, held; LIVE_NONE: it has no number */
	uint32_t commons_n;
	char *labels_text; /* NULL: they are not known */
	struct arena labels_arena;
	const struct tree *labels;
	/* Counters of its pools, if some device uses them and they are not too many: as asked_pools()
	 * fills them. */
	struct device_node counted; /* counters_n 0: none */
	uint32_t *pool_of;          /* by counter */
	uint32_t uses_n;
	/* Devices that claims share, unless they are too many; their capacities by device. */
	uint64_t *shared; /* NULL: none */
	struct live_capacity {
		uint32_t device, index; /* of the device's capacities */
		uint32_t number;        /* of `draw_names`, held */
	} * capacities;
	uint32_t capacities_n;
	bool *matched; /* by question: the core has it */
	size_t matched_n;
};

struct live_claim {
	uint32_t number; /* of its name */
	uint32_t round;
	char *namespace, *name, *uid, *version, *owner;
	char *spec;       /* spec.devices */
	char *allocation; /* status.allocation; NULL: none */
	char *node;       /* of its nodeSelector; "": of several or all */
	char *selector;   /* its nodeSelector, if that is of several; NULL: none */
	char **reserved;  /* uids */
	char **consumers; /* the same entries as JSON */
	char *finalizers; /* items of the list as JSON, without LIVE_FINALIZER */
	size_t reserved_n;
	uint32_t *devices; /* numbers, each held */
	uint32_t *written; /* by device: how often the pods that name the claim write it */
	bool *shares;      /* by device: it has a shareID */
	uint8_t *states;   /* by device: enum live_conditions */
	size_t devices_n;
	struct live_draws draws;
	bool deleting, finalizer;
	enum live_conditions conditions; /* of all its devices */
	char *failure;                   /* of the first that failed; NULL: none */
	int64_t allocated_s;             /* allocationTimestamp; 0: none */
	bool extended;                   /* made for a pod's extended resources, and used by no other */
	uint32_t owned;                  /* extended: number of its owner in `owners` */
};

struct live_ref {
	uint32_t claim; /* number of the name; LIVE_NONE: not created yet */
	uint32_t at;    /* of live_users of the claim */
	bool owned, not_needed;
};

/* A pod's requests of extended resources. */
struct live_extended {
	struct arena arena;
	struct pod_entry *entry; /* its containers, and their requests with domains */
	char *told;              /* status.extendedResourceClaimStatus.resourceClaimName */
	uint32_t owner;          /* number of the pod in `owners` */
	uint32_t version;        /* of classes_version, that what follows is of */
	struct live_claim made;  /* for a node that has none of them; spec NULL: no class serves any */
	struct claim_entry *claim;
	struct text resources[DEVICE_GROUPS_MAX]; /* by group - 1 */
	uint32_t resources_n;
	bool too_many;
	struct arena claim_arena;
};

/* By number of an owner: claims made for its extended resources. */
struct live_owned {
	uint32_t pod; /* slot + 1; 0: it waits for none */
	uint32_t *claims;
	size_t n;
};

struct live_pod {
	char *namespace, *name, *uid; /* NULL: no such pod */
	struct live_ref *refs;
	uint32_t refs_n;
	uint32_t question;              /* LIVE_NONE */
	struct live_extended *extended; /* NULL: it asks for none */
	bool due;
	bool shared_changed; /* live_shared_changed() */
	bool unasked;        /* there was no question for it */
	uint32_t *writing;   /* devices */
	uint32_t writing_n;
	struct live_draws draws; /* of claims that are being written */
	bool asks;               /* by its last verdict; not with `left` */
	bool left;               /* live_writing_left() */
	/* live_conflict_wait() refused it: the list of the device, as slots + 1. */
	bool conflict;
	uint32_t contested, contested_before, contested_next;
};

/* What is being written for a pod that was dropped. */
struct live_departed {
	char *uid;        /* of the pod */
	uint32_t *claims; /* numbers of their names, each held; those that its devices may land in */
	uint32_t claims_n;
	uint32_t *writing;
	uint32_t writing_n;
	struct live_draws draws;
};

/* By number of a claim's name. */
struct live_users {
	struct live_user {
		uint32_t pod, ref; /* of its refs */
	} * at;
	size_t n, cap;
};

#define LIVE_AVOIDS_MAX 1024u

struct live_avoid {
	uint32_t device; /* held */
	uint64_t until_ns;
};

struct live {
	struct devices *store; /* classes, numbers of values; the scratch of a node */
	struct intern slice_names, node_names, claim_names, device_names, draw_names, spaces;
	struct intern owners;     /* "namespace/uid" of pods */
	struct live_owned *owned; /* by number */
	size_t owned_n;
	struct live_slice **slices; /* by number */
	size_t slices_n;
	struct live_slice **several; /* of them those of several nodes */
	size_t several_n, several_cap;
	bool wants_nodes;
	/* Devices of several nodes by common number: "driver/pool/name"; and those of which the core
	 * does not know yet that they are taken, or that they are free. */
	struct intern common_names;
	uint64_t commons_due[DEVICE_WORDS(COMMON_DEVICES_MAX)];
	uint32_t commons_due_n;
	struct live_node **nodes; /* by number */
	size_t nodes_n;
	struct live_claim **claims; /* by number */
	size_t claims_n;
	struct live_users *users;
	size_t users_n;
	struct live_class **classes;
	size_t classes_n, classes_cap;
	uint32_t classes_version;
	bool alone;            /* live_claims_alone() */
	uint32_t *taken;       /* by device: allocations, and writings */
	uint32_t *whole;       /* by device: allocations without a shareID */
	uint32_t *device_node; /* by device: node + 1, or LIVE_COMMON | number; 0: of no slice */
	size_t taken_n, whole_n, device_node_n;
	uint8_t *avoided; /* by device: in `avoids` */
	size_t avoided_n;
	struct live_avoid avoids[LIVE_AVOIDS_MAX]; /* by time */
	uint32_t avoids_n;
	struct live_drawn *drawn; /* by number of `draw_names` */
	size_t drawn_n;
	struct live_pod *pods; /* by slot */
	size_t pods_n;
	struct live_departed *departed; /* until live_written() */
	size_t departed_n, departed_cap;
	uint32_t *due; /* pods to be judged again, first in first out */
	size_t due_first, due_n, due_cap;
	struct live_question questions[QUESTIONS_MAX];
	uint32_t questions_last; /* that was taken */
	/* What names of questions take in the core's arena, which has them until the number has another
	 * question; and the most that all may. */
	uint32_t named[QUESTIONS_MAX];
	uint64_t names_bytes, names_most;
	uint32_t weights;   /* of all questions */
	uint32_t *by_space; /* ... by namespace */
	size_t by_space_n;
	uint32_t spaces_n;   /* that have any */
	uint32_t unasked_n;  /* pods */
	uint32_t unasked_at; /* the last one that was noted */
	uint32_t *contested; /* by device: the first pod that waits since two claims have it, + 1 */
	size_t contested_n;
	uint32_t round[LIVE_KINDS];
	uint32_t layouts; /* so far */
	uint32_t pods_live;
	const char *selectors[POD_CLAIMS_MAX + 1]; /* of the last verdict */
	uint32_t nodes_due;
	uint32_t nodes_at; /* the one that was found due last */
	char *text;        /* of the last answer */
	struct arena scratch;
	uint64_t steps; /* of selectors, since live_flush_begin() */
};

/* As the model has it: without a namespace an object of a file is in the one of that name. */
static inline struct text live_namespace(const struct tree *meta)
{
	const struct text name = jsontree_text(jsontree_get(meta, "namespace"));

	return name.bytes > 0 ? name : text_of("default");
}

/* live_tables.c: lookups, below all the others. */
uint32_t live_number(struct intern *in, struct text t);
/* Numbers that nothing has are free. */
void live_names_recycle(struct live *l);
const struct live_claim *live_claim_at(const struct live *l, uint32_t number);
/* The claims that were made for the pod's extended resources, of this attempt or an earlier one;
 * the first POD_MADE_MAX, since tenants can make any number.  Others follow as these are
 * deleted. */
uint32_t live_extended_n(const struct live *l, const struct live_pod *p);
const struct live_claim *live_extended_at(const struct live *l, const struct live_pod *p,
                                          uint32_t i);
/* Those that the pod names, then those that were made for its extended resources. */
const struct live_claim *live_claim_of(const struct live *l, const struct live_pod *p, uint32_t i);
bool live_is_reserved(const struct live_claim *c, const char *uid);
bool live_is_avoided(const struct live *l, uint32_t device);
/* The pod is to be judged again. */
void live_pod_note(struct live *l, uint32_t pod);
/* So are pods without a question: one is free. */
void live_unasked_note(struct live *l);

/* live_nodes.c */
void live_slice_put(struct live *l, const struct tree *t, struct live_slice *s);
/* Names the slice, and its node, if the node has more devices than are used; once for each number
 * of them.  Else *error is left as it is. */
void live_node_note(struct live *l, const struct live_slice *s, struct decode_error *error);
void live_slice_drop(struct live *l, uint32_t number);
void live_device_take(struct live *l, uint32_t device);
void live_device_give(struct live *l, uint32_t device);
/* An allocation without a shareID comes, or ends: the device has no shares meanwhile. */
void live_device_whole(struct live *l, uint32_t device, int sign);
void live_node_touch(struct live *l, uint32_t node);
/* The record that has whether the device is taken. */
void live_device_touch(struct live *l, uint32_t device);
/* The node's slices changed.  live_node_unlay(): what is laid out may point into one that goes. */
void live_node_relay(struct live *l, uint32_t node);
void live_node_unlay(struct live *l, uint32_t node);
struct live_node *live_node_of(struct live *l, struct text name, uint32_t *number);
/* The matches of the node are due again, of the same devices. */
void live_node_rematch(struct live *l, uint32_t node);
void live_node_free(struct live_node *n);
/* The devices of the node in their order. */
void live_node_lay(struct live *l, struct live_node *n);
/* Bytes of its record with so many capacities, and with the set of shared devices. */
size_t live_node_space(const struct live_node *n, size_t capacities, bool shared);
/* True if the pools have what the devices in use and `more` (numbers) take of counters. */
bool live_counters_suffice(const struct live *l, const struct live_node *n, const uint32_t *more,
                           uint32_t more_n);

/* live_several.c */
bool live_is_several(const struct slice *s);
void live_several_add(struct live *l, struct live_slice *s);
/* Names a slice whose devices are not used, though it is good; else *error is left as it is. */
void live_several_note(const struct live *l, const struct live_slice *s,
                       struct decode_error *error);
void live_several_leave(struct live *l, struct live_slice *s);
/* As the slices of several nodes are compared with it. */
struct node_entry live_node_entry(const struct live_node *n);
/* Each device of the node gets a common number if it needs one, or gives it back. */
void live_commons_lay(struct live *l, struct live_node *n);
void live_commons_give(struct live *l, struct live_node *n);
/* Those of the node in its record. */
void live_commons_write(struct live *l, struct live_node *n, struct node_common *out);
void live_common_touch(struct live *l, uint32_t common);
/* A node whose record would say what is due; UINT32_MAX: none is. */
uint32_t live_commons_next(struct live *l);
/* The matches of all nodes that list it are due. */
void live_common_rematch(struct live *l, uint32_t common);

/* conditions.c */
/* After its devices are known. */
void live_conditions_read(struct live_claim *c, const struct tree *status);

/* live_shares.c */
/* Reads the consumed capacity of a result with a shareID in the allocation of the claim, and
 * releases it.  live_draws_touch() marks the nodes as due; it is apart, since a new version of a
 * claim may have the same results. */
void live_draws_read(struct live *l, const struct tree *result, uint32_t device, uint32_t claim,
                     struct live_draws *to);
void live_draws_give(struct live *l, struct live_draws *d);
void live_draws_touch(struct live *l, const struct live_draws *d);
/* What a pod writes is in the core's holding as long as the pod asks, and not in the record.  1: it
 * is; -1: it is no longer. */
void live_draws_hold(struct live *l, const struct live_draws *d, int sign);
void live_draws_landed(struct live *l, uint32_t claim, struct live_draws *d);
void live_shares_lay(struct live *l, struct live_node *n);
void live_shares_give(struct live *l, struct live_node *n);
/* capacities_n of them; and for each option of the question as many amounts. */
void live_shares_write(const struct live *l, const struct live_node *n, struct node_capacity *out);
void live_amounts_write(const struct live_question *q, const struct live_node *n,
                        struct match_amount *out);
bool live_is_shared(const struct live_node *n, uint32_t device);
/* True if there is room for one more share; `more`, by capacity, is what others of the same pod
 * take, to which it is added. */
bool live_share_fits(const struct live *l, const struct live_node *n, uint32_t device,
                     const struct option_entry *o, device_amount *more);
void live_share_take(struct live *l, const struct live_node *n, uint32_t device,
                     const struct option_entry *o, uint32_t claim, struct live_draws *to);
device_amount *live_share_amounts(const struct device_entry *e, const struct option_entry *o,
                                  struct arena *arena);

/* live_conflicts.c */
/* A device of the allocated claim that another claim has too, if consumers but the pod have the
 * claim, so that it can't be given back: the pod waits.  NULL: none. */
const char *live_conflict_wait(struct live *l, uint32_t pod, const struct live_claim *c);
/* The pod waits for that no more. */
void live_conflict_end(struct live *l, uint32_t pod);
/* A claim or a pod that writes has these no more, or less of them, or there is more of them: the
 * pods that wait for one are due. */
void live_conflicts_freed(struct live *l, const uint32_t *devices, size_t n);
/* What a pod writes counts with each claim that it names.  Before its refs or its writing change
 * with sign -1, after it with 1; and for a claim that is new. */
void live_writings_count(struct live *l, const struct live_pod *p, int sign);
void live_claim_count(struct live *l, struct live_claim *c);

/* live_questions.c */
/* LIVE_NONE: all are in use, or `namespace` has its share of them.  The last eighth is for
 * namespaces below their share, which is counted as if one more came (docs/decisions/049). */
/* live_labels.c: the names of a question, as its record has them; returns their bytes, 0 if they
 * would exceed live_names_limit(). */
uint32_t live_labels(const struct live *l, uint32_t question, char out[QUESTION_TEXT_MAX]);
void live_labels_sent(struct live *l, uint32_t question, uint32_t bytes);
/* `one`: the claims are one, which others have too. */
uint32_t live_question_of(struct live *l, const char *namespace,
                          const struct live_claim *const *claims, uint32_t n, bool one);
void live_question_give(struct live *l, uint32_t question);
void live_questions_reset(struct live *l); /* a class changed */
void live_question_free(struct live_question *q);
/* Selectors that failed on a device of the node are evaluated again. */
void live_errors_forget(struct live *l, const struct live_node *n);

/* live_pods.c */
/* NULL: no pod had such a number yet. */
static inline struct live_pod *live_pod_of(const struct live *l, uint32_t pod)
{
	return pod < l->pods_n ? &l->pods[pod] : NULL;
}
/* live_writes.c: the pod is dropped, and what is written for it is not known to have landed. */
void live_writing_depart(struct live *l, uint32_t pod);
/* The claim's allocation counts from now on, not what departed pods were writing for it. */
void live_departed_landed(struct live *l, const struct live_claim *c);
void live_departed_free(struct live *l);
void live_claim_note(struct live *l, uint32_t claim);
/* Its allocation is known: what its pods were writing for it counts no more. */
void live_claim_landed(struct live *l, uint32_t claim);
void live_pod_landed(struct live *l, uint32_t pod, uint32_t claim);
void live_pods_note_all(struct live *l);
void live_pod_free(struct live_pod *p);

/* live_extended.c */
/* A claim comes, or goes: those made for extended resources are found by their pods. */
void live_claim_own(struct live *l, struct live_claim *c, const struct tree *meta);
void live_claim_disown(struct live *l, const struct live_claim *c);
/* From the pod's object.  False: it asks for no extended resource. */
bool live_extended_set(struct live *l, uint32_t pod, const struct tree *t);
void live_extended_drop(struct live *l, struct live_pod *p);
void live_extended_free(struct live_pod *p); /* the memory alone */
/* The claims of the pod in their order, each once: those that are allocated, or those that are not,
 * with the one of its extended resources last, though it may not exist yet.  At most
 * POD_CLAIMS_MAX + 1. */
uint32_t live_claims_of(struct live *l, struct live_pod *p, bool allocated,
                        const struct live_claim **out);
/* The one that would be made on a node that has none of the resources; NULL: none. */
const struct live_claim *live_extended_made(struct live *l, struct live_pod *p);
/* Of a request of the claim, by its spec; 0: it exists, and no node serves it otherwise. */
uint32_t live_group_of_request(const struct tree *spec, uint32_t request);
/* A claim of the question without the requests that the node serves; `to`: by request, its number
 * in *out. */
void live_extended_cut(const struct live_question *q, uint32_t claim, uint32_t served,
                       struct claim_entry *out, uint32_t *to, struct arena *arena);

#endif
