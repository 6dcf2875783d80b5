/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the model: its tables, shared by the files model*.c and shape*.c.
 *
 *   nodes ◄──── pods ────► gangs          each a pool of slots, found by name
 *     │         │  └─────► namespaces ◄──── owners
 *     │         ▼            │
 *     │       shapes         │
 *     ▼         ▼            ▼
 *   label keys, label values, columns (resources), taints, images    texts as numbers
 *
 * An arrow is a reference that is counted.  An entry lives as long as its object
 * is there or someone refers to it.  One that the core knows and that lives no
 * more stays in its table as `dead` until the core was told; if it is wanted
 * again before that, it just goes on.  Only a pod's slot is free at once: its
 * next user is sent after the drop of the last one. */
#ifndef MUSTER_FRONTEND_MODEL_IMPL_H
#define MUSTER_FRONTEND_MODEL_IMPL_H

#include "frontend/base/intern.h"
#include "frontend/base/table.h"
#include "frontend/decode/extract.h"
#include "frontend/dialect/dialect.h"
#include "frontend/model/model.h"

#define MODEL_DIRTY 1
#define MODEL_DEAD 2

/* What a name takes of limits.name_bytes: whole steps of the core's arena. */
#define NAME_ROOM(bytes) (((uint64_t)(bytes) + 15) & ~UINT64_C(15))

#define RESOURCES_WATCHED 32 /* nodes, pods, the dialects' and what pods refer to */

/* A record's body as it is built. */
struct body {
	char *at; /* RECORD_BYTES_MAX */
	size_t bytes;
	bool too_long;
};

struct shape_entry {
	struct slot slot;
	uint32_t refs;
	uint32_t hash;
	uint32_t bytes;
	char *body; /* of EVENT_SHAPE, its id 0 */
};

/* Pods are bound to a node and not counted there: see model_blind.c. */
struct blind {
	uint32_t pods;  /* that are known, but not what they take */
	bool lost;      /* some are not even known ... */
	uint32_t round; /* ... since this round of listing pods */
	bool sent;      /* the core was told of a node without room */
};

/* An image on a node; its number is held. */
struct image_on_node {
	uint32_t image;
	uint32_t reserved;
	int64_t bytes;
};

/* Of an image, by its number. */
struct image_use {
	bool sent;  /* nodes' records have it: a shape asked for it once */
	bool fresh; /* ... but those of now do not yet */
};

struct node_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;   /* round of replace in which its object was put last */
	uint32_t refs;   /* pods bound to it, or about to be */
	uint32_t bytes;  /* of body */
	bool has_object; /* it is there, good or bad */
	bool bad;        /* ... and can't be read, or is past a limit */
	struct blind blind;
	char *name;
	char *texts; /* uid NUL resourceVersion NUL; NULL without object */
	char *body;  /* of EVENT_NODE up to its taints, its id and generation 0; NULL: no good
	              * object */
	struct image_on_node *images; /* sorted, all that it has */
	uint32_t images_n;
	bool storage_lost;                  /* there was no memory for it: the node is blind */
	struct node_storage_entry *storage; /* NULL: none */
};

/* Volumes of a node; numbers are held. */
struct node_storage_entry {
	struct attach_limit *limits;
	struct attachment *attached;
	uint32_t limits_n, attached_n;
};

struct namespace_entry {
	struct slot slot; /* sent: the core knows it */
	uint32_t hash;
	uint32_t seen;
	uint32_t name; /* its value number */
	uint32_t refs; /* pods and owners in it */
	bool has_object;
	bool bad;
	char *texts; /* uid NUL resourceVersion NUL; NULL without object */
	struct pod_label *labels;
	uint32_t labels_n;
	uint32_t
		pods_first; /* those that may get default spread constraints, by pod_entry.spread_next */
};

/* What gives a pod default spread constraints: a service that selects it, a
 * controller that owns it. */
enum owner_kind {
	OWNER_NONE,
	OWNER_SERVICE,
	OWNER_REPLICA_SET,
	OWNER_REPLICATION_CONTROLLER,
	OWNER_STATEFUL_SET,
	OWNER_KINDS
};

/* Requirements that must all hold, in one piece of memory with their values. */
struct owner_rules {
	uint32_t n;
	uint32_t values_n;
	uint32_t *values;
	struct requirement at[];
};

struct owner_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;
	uint32_t kind; /* enum owner_kind */
	uint32_t namespace;
	uint32_t name; /* a value number */
	bool bad;
	char *texts;               /* uid NUL resourceVersion NUL */
	struct owner_rules *rules; /* NULL: none; no number in it is LABEL_KEY_NODE_NAME */
	/* Services with the same first pair are a list; its first one is in services_index. */
	uint32_t pair_hash;
	uint32_t pair_next, pair_prev;
	bool is_first;
};

/* What a WorkloadPolicy says; numbers are held. */
struct policy_rules {
	uint32_t topology;
	uint32_t flags;               /* enum policy_flags, but POLICY_UNSELECTED */
	struct owner_rules *selector; /* NULL: all pods of the namespace */
	uint32_t shares_n;
	struct policy_share shares[]; /* sorted, each value once */
};

struct policy_use {
	const struct policy_rules *rules;
	bool unselected; /* the pod itself does not match the selector */
};

struct policy_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;
	uint32_t namespace;
	uint32_t name; /* a value number */
	bool bad;
	char *texts;                /* uid NUL resourceVersion NUL; NULL without object */
	char *refusal;              /* why it can't be honoured; NULL: it can, or there is no object */
	struct policy_rules *rules; /* NULL: none that are good */
	uint32_t pods;              /* that wait and name it */
	uint32_t pods_first;        /* a list over pod_entry.policy_next */
};

/* What a pod gets default spread constraints by; numbers. */
struct spread_cause {
	uint32_t namespace; /* of namespaces */
	const struct pod_label *labels;
	uint32_t labels_n;
	uint32_t owner_kind;
	uint32_t owner; /* value number of its name */
};

/* What describes a group: an object, or what its members say (model_describe.c).  Numbers
 * in the body are held. */
struct group_object {
	uint32_t seen;  /* round of replace in which it was put last */
	uint32_t bytes; /* of body */
	bool there;
	bool retry;                  /* past a limit: read the same version again */
	bool hollow;                 /* it says nothing of a group (model_hollow.c) */
	char *texts;                 /* uid NUL resourceVersion NUL; NULL: not known */
	char *body;                  /* of EVENT_GANG, without a name; NULL: for want of memory */
	char *refusal;               /* NULL: none */
	struct group_status *status; /* NULL: none, or it can't be read */
};

struct gang_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t dialect;               /* its family: dialect_family() */
	uint32_t members;               /* pods that name it */
	uint32_t members_first;         /* a list over pod_entry.gang_next */
	uint32_t named[2];              /* ... by a mark of dialects[dialect + i] */
	uint32_t says;                  /* different descriptions that members give of it */
	uint32_t description;           /* one of them, or ID_NONE */
	char *differ;                   /* how members differ; of says > 1 NULL for want of memory */
	char *name;                     /* "namespace/name" NUL "namespace" NUL */
	struct group_object objects[2]; /* of dialects[dialect + i] */

	/* For the status of its object, model_stir.c. */
	uint32_t bound;              /* of its members */
	uint32_t phases[POD_PHASES]; /* likewise */
	uint32_t beside;             /* of `besides`, SLOT_NONE: none */
	uint32_t stir_next, stir_prev;
	bool stirred;
	char *owners; /* "ns/name,ns/name" of its first member; NULL */
};

/* What a pod says of its group; equal ones of one gang are one. */
struct description {
	struct slot slot;
	uint32_t hash;
	uint32_t refs;
	uint32_t uses; /* members of the gang that say so */
	uint32_t gang;
	struct group_object object; /* its body, and why it can't be honoured */
	char *agree;                /* NULL: nothing */
};

/* An object that is no group unless pods name it. */
struct hollow_entry {
	struct slot slot;
	uint32_t dialect;
	uint32_t seen;
	uint64_t hash; /* of "namespace/name" */
};

/* Pods beside the members that count for the status of one group. */
struct beside_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t gang;   /* SLOT_NONE: no such gang is known */
	uint64_t key[2]; /* of dialect and name */
	struct gang_counts counts;
	uint32_t foreign;   /* other schedulers', not ended */
	uint32_t scheduler; /* of the last of them, held while there are any */
};

/* One of them: it ended, or is another scheduler's. */
struct other_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;
	uint64_t key[2]; /* of its name */
	uint64_t uid[2];
	uint32_t beside;
	uint32_t scheduler; /* held; ID_NONE: it is ours, or has ended */
	uint8_t phase;      /* enum pod_phase */
	bool ours;
	bool bound;
};

struct pod_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;
	char *texts; /* namespace, name, uid, resourceVersion, refusal, and of the condition
	              * status, reason, message: each ended by a NUL */
	uint64_t created_ns;
	uint64_t uid[2];
	uint32_t shape;
	uint32_t gang;
	uint32_t node;    /* bound to; ID_NONE */
	uint32_t binding; /* a Binding to it may be on its way; ID_NONE */
	uint32_t gang_next, gang_prev;
	uint32_t gang_dialect; /* of the mark */
	uint32_t description;  /* what it says of its gang; ID_NONE */
	uint32_t role;         /* in its gang: a value's number, or ID_NONE */
	uint32_t scheduler;
	int32_t priority;
	uint32_t namespace;
	uint32_t labels_n;
	struct pod_label *labels; /* sorted by key; NULL without any */
	uint32_t owner;           /* value number of its controller's name; ID_NONE */
	uint32_t policy;          /* ID_NONE */
	uint32_t policy_next, policy_prev;
	uint32_t spread_next, spread_prev;
	uint8_t owner_kind; /* enum owner_kind */
	uint8_t flags;      /* enum pod_flags, but POD_BINDING */
	uint8_t phase;      /* enum pod_phase */
	bool retry;
	bool blind;              /* what it takes of its node is not known */
	bool spreads;            /* by default: it is in the list of its namespace */
	bool has_volumes;        /* m->volumes knows it */
	bool storage_lost;       /* it is blind, since what they ask for could not be recorded */
	uint8_t storage_refused; /* enum volume_refusal */
	char *storage_refusal;   /* NULL: none */
	char *policy_refusal;    /* NULL: none */
};

struct replace {
	uint32_t round; /* counts up */
	bool active;
};

struct model {
	struct limits limits;
	uint64_t hash_key[2];
	char **scheduler_names;
	size_t scheduler_names_n;
	bool judges_others;
	uint64_t dialects_off;
	bool policies_off;
	uint64_t served; /* a bit for each dialect whose resource the cluster has */
	uint64_t timeouts_ns[GROUP_TIMEOUTS];
	struct resource resources[RESOURCES_WATCHED];
	enum role {
		ROLE_NODES,
		ROLE_PODS,
		ROLE_GANGS, /* which: the dialect */
		ROLE_NAMESPACES,
		ROLE_OWNERS,  /* which: enum owner_kind */
		ROLE_VOLUMES, /* which: enum volume_kind */
		ROLE_POLICIES,
	} roles[RESOURCES_WATCHED];
	uint32_t which[RESOURCES_WATCHED];
	size_t resources_n;
	struct replace replace[RESOURCES_WATCHED];

	struct intern keys, values;    /* of labels and taints */
	struct intern columns, taints; /* shown by name */
	struct intern schedulers;
	struct intern images;
	struct image_use *image_uses; /* by image */
	size_t image_uses_n;
	bool images_due;         /* some are fresh */
	struct volumes *volumes; /* frontend/volume/volume.h; pods and nodes by their slots */
	struct pool shapes, nodes, gangs, pods, namespaces, owners, policies, descriptions, hollows;
	struct table shapes_index, nodes_index, gangs_index, pods_index, namespaces_index, owners_index,
		policies_index, descriptions_index, hollows_index;
	struct table services_index; /* by the first pair of their selector */
	struct list shapes_dirty, nodes_dirty, gangs_dirty, pods_dirty, namespaces_dirty;
	struct list shapes_dead, nodes_dead, gangs_dead;
	struct pool besides, others;
	struct table besides_index, others_index;
	uint32_t stir_first, stir_last; /* gangs, by gang_entry.stir_next */
	uint32_t shape_empty;           /* asks for nothing; always there */
	uint64_t name_bytes;            /* NAME_ROOM of the names of nodes and gangs */

	bool lost;           /* bound pods of nodes without an entry were left out: */
	uint32_t lost_round; /* nodes that come now are blind from the start */
	bool sight_due;      /* nodes that are blind no more are to be sent */

	bool begin_due;
	bool synced;
	bool synced_due;

	uint32_t last_put;    /* pod that the object at hand was; SLOT_NONE */
	struct arena arena;   /* of the object at hand */
	struct arena scratch; /* of a shape that is made anew */
	struct body body;
	struct model_counts counts;
};

static inline struct shape_entry *shape_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->shapes, s);
}

static inline struct node_entry *node_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->nodes, s);
}

static inline struct gang_entry *gang_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->gangs, s);
}

static inline struct pod_entry *pod_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->pods, s);
}

static inline struct namespace_entry *namespace_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->namespaces, s);
}

static inline struct owner_entry *owner_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->owners, s);
}

static inline struct policy_entry *policy_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->policies, s);
}

/* ---- model_referred.c: objects that the core is not told of one by one ------------ */

uint32_t referred_limit(const struct limits *l);
/* After an entry was taken: is there room for it? */
bool referred_fits(const struct model *m, const struct pool *p);
/* Fill *error for an object that found none, count it; -ENOSPC. */
int referred_refuse(struct model *m, const struct meta *meta, struct decode_error *error);
uint64_t referred_count(const struct model *m);

/* ---- model_body.c: parts of records ------------------------------------------ */

/* Append; a body that gets too long is marked and not written to any more. */
void *body_add(struct body *b, const void *bytes, size_t n);
void body_pad(struct body *b);
/* The text as an integer of Go's strconv.ParseInt, or LABEL_NOT_A_NUMBER. */
int64_t label_number(struct text t);
/* Name of the limit that an intern table's -ENOSPC means: "--max-resources". */
const char *model_limit_flag(const struct model *m, const struct intern *in);
/* Fill *error for a limit that is reached, count it; -ENOSPC. */
int model_limit(struct model *m, const char *object, const char *flag, struct decode_error *error);
/* Is version a older than b?  Decimal numbers of any length; "" is never older. */
int version_compare(struct text a, struct text b);
/* Number of that text in a table; -ENOMEM, or -ENOSPC with *flag. */
int model_intern(struct model *m, struct intern *in, struct text t, uint32_t *number,
                 const char **flag);
/* Amounts of a ResourceList as columns, sorted, without zeros.  Each column is
 * held; what found none is left out and -ENOSPC returned. */
int body_amounts(struct model *m, struct body *b, const struct amount_text *list, size_t n,
                 uint32_t *added, const char **flag);
/* Give back the columns of n amounts. */
void amounts_release(struct model *m, const struct amount *amounts, uint32_t n);
/* "uid NUL version NUL", or NULL. */
char *model_stamp(const struct meta *meta);
/* Is the object no newer than what is known by that stamp (NULL: nothing)?  Only of one life:
 * another uid is another object.  `again`: the same version is to be taken once more.  Older ones
 * are counted. */
bool stamp_covers(struct model *m, const char *stamp, const struct meta *meta, bool again);
/* Is the object with that stamp a newer one of the same name, whose predecessor is
 * `meta`? */
bool stamp_is_successor(const char *stamp, const struct meta *meta);
/* Names that can be told apart: not long, no slash.  A missing namespace becomes
 * "default". */
bool model_names_valid(struct meta *meta, struct decode_error *error);
void model_default_namespace(struct meta *meta);
bool model_name_room(const struct model *m, size_t bytes);

/* ---- shape.c ------------------------------------------------------------------ */

struct pod_storage; /* frontend/volume/volume.h */

#define SHAPE_WEIGHT_MAX 100 /* as the API server allows */
#define SHAPE_TOO_LONG                                                                                      \
	"its placement rules are too long: muster takes 1024 terms of node affinity, 256 of pod affinity, 256 " \
	"spread constraints, and 4096 requirements, values, tolerations, ports and images in all"

enum shape_scope {
	SHAPE_REQUESTS, /* nothing but those */
	SHAPE_BEARING,  /* ... and what bears on other pods: of one that stands on a node */
	SHAPE_WHOLE,
};

struct shape_wish {
	const struct pod_object *pod;
	const struct effective *effective;
	enum shape_scope scope;
	uint32_t namespace;                /* value number of the pod's */
	const struct spread_cause *spread; /* NULL: no default constraints */
	const struct policy_use *policy;   /* NULL: none */
};

struct shape_change {
	uint32_t namespace;
	const struct spread_cause *spread; /* NULL: no default constraints */
	const struct pod_storage *storage; /* NULL: as it was */
	const struct policy_use *policy;   /* NULL: none */
};

struct shape_trouble {
	const char *flag;  /* -ENOSPC: the limit */
	const char *fault; /* -EINVAL: what is wrong with the rules; a static text or the arena's */
};

/* The shape of a pod, held once more.
 *   -EINVAL  too many or too long rules, or some that can't be read
 *   -ENOSPC
 *   -ENOMEM */
int shape_take(struct model *m, const struct shape_wish *w, uint32_t *shape,
               struct shape_trouble *trouble);
/* The same shape, but for what it owes to other objects than the pod.  Uses m->scratch;
 * who calls resets it. */
int shape_remake(struct model *m, uint32_t from, const struct shape_change *c, uint32_t *shape,
                 struct shape_trouble *trouble);
/* Does the shape request just this? */
bool shape_asks(struct model *m, uint32_t shape, const struct pod_object *pod,
                const struct effective *effective);
int shape_take_empty(struct model *m, uint32_t *shape);

/* Every number in a shape's body. */
enum number_of { NUMBER_KEY, NUMBER_VALUE, NUMBER_COLUMN, NUMBER_IMAGE };
typedef void (*shape_visit_fn)(void *context, enum number_of of, uint32_t number);
void shape_visit(const char *body, shape_visit_fn visit, void *context);
void shape_hold(struct model *m, uint32_t shape);
void shape_give(struct model *m, uint32_t shape);
/* Out of the table; the core does not know it (any more). */
void shape_bury(struct model *m, uint32_t shape);

/* ---- model_node.c ------------------------------------------------------------- */

int node_put(struct model *m, const char *json, size_t bytes, struct decode_error *error);
int node_remove(struct model *m, const struct meta *meta);
void node_forget_object(struct model *m, uint32_t node);
/* The node of that name, held once more; made without an object if need be. */
int node_take(struct model *m, struct text name, uint32_t *node, const char **flag);
void node_hold(struct model *m, uint32_t node);
void node_give(struct model *m, uint32_t node);
void node_bury(struct model *m, uint32_t node);
uint32_t node_find(const struct model *m, struct text name); /* or SLOT_NONE */

/* ---- model_image.c ------------------------------------------------------------ */

/* Number of an image's name, held.  -ENOMEM, -ENOSPC with *flag. */
int image_take(struct model *m, struct text name, uint32_t *number, const char **flag);
void image_ask(struct model *m, uint32_t image); /* a shape is there that does */
/* The images of a node as they are now; *changed: what is sent of them differs.  -ENOMEM. */
int node_set_images(struct model *m, uint32_t node, const struct node_object *object,
                    bool *changed);
void node_clear_images(struct model *m, uint32_t node);
/* Nodes with images that are asked for since the last time are dirty now. */
void images_sight(struct model *m);

/* ---- model_storage.c ------------------------------------------------------------ */

/* Let volumes know the pod (NULL: it is gone) and write what they say into its shape.
 * What can't be recorded refuses a pod that waits and makes the node of a bound one
 * blind; then a negative errno is returned. */
int pod_set_storage(struct model *m, uint32_t pod, const struct pod_object *object);
int pod_join_storage(struct model *m, uint32_t pod);
/* The text that its object alone is refused with, "". */
const char *pod_base_refusal(const struct pod_entry *p);
/* POD_REFUSED is set as its refusals say. */
void pod_flag_refused(struct pod_entry *p);
/* -ENOMEM */
int node_set_storage(struct model *m, uint32_t node, const struct node_object *object,
                     bool *changed);
int node_join_storage(struct model *m, uint32_t node, bool *changed);
void node_clear_storage(struct model *m, uint32_t node);
int storage_put(struct model *m, int resource, const char *json, size_t bytes,
                struct decode_error *error);

/* ---- model_namespace.c --------------------------------------------------------- */

int namespace_put(struct model *m, int resource, const char *json, size_t bytes,
                  struct decode_error *error);
int namespace_remove(struct model *m, const struct meta *meta);
void namespace_forget_object(struct model *m, uint32_t namespace);
/* The namespace of that name, held once more; made without an object if need be. */
int namespace_take(struct model *m, struct text name, uint32_t *namespace);
void namespace_give(struct model *m, uint32_t namespace);
/* Nobody wants it, and the core does not know it (any more). */
void namespace_release_if_unused(struct model *m, uint32_t namespace);

/* Labels as numbers, sorted by key, each key once: malloc'ed; NULL without any.
 *   -EINVAL  more than one record takes
 *   -ENOMEM */
int pod_labels_take(struct model *m, const struct pairs *from, struct pod_label **labels,
                    uint32_t *n);
void pod_labels_give(struct model *m, struct pod_label *labels, uint32_t n);
/* The value number of a key, or ID_NONE. */
uint32_t labels_find(const struct pod_label *labels, uint32_t n, uint32_t key);

/* ---- model_rules.c -------------------------------------------------------------- */

/* *out NULL: there are none, or kube-scheduler can't parse them.  -ENOMEM */
int rules_make(struct model *m, const struct node_rule *rules, size_t n, struct owner_rules **out);
void rules_free(struct model *m, struct owner_rules *r);
bool rules_equal(const struct owner_rules *a, const struct owner_rules *b);
/* Do all of them hold for a pod's labels?  NULL: yes. */
bool rules_hold(const struct owner_rules *r, const struct pod_label *labels, uint32_t n);

/* ---- model_policy.c ------------------------------------------------------------- */

int policy_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error);
int policy_remove(struct model *m, const struct meta *meta);
void policy_forget_object(struct model *m, uint32_t policy);
/* The policy that the pod's labels name: *policy, or ID_NONE without one; the caller joins it with
 * a pod, or gives it up with policy_release_if_unused().  -EINVAL with *fault; -ENOMEM */
int policy_of_pod(struct model *m, const struct pod_object *pod, uint32_t *policy,
                  const char **fault);
void policy_join(struct model *m, uint32_t policy, uint32_t pod);
void policy_leave(struct model *m, uint32_t pod);
void policy_release_if_unused(struct model *m, uint32_t policy);
/* What the policy (ID_NONE: no policy) is to a pod with those labels; NULL: there is none that is
 * good. */
const struct policy_use *policy_use_of(const struct model *m, uint32_t policy,
                                       const struct pod_label *labels, uint32_t n,
                                       struct policy_use *use);
/* Write the policy into the pod's shape; one that can't be obeyed refuses the pod. */
void pod_join_policy(struct model *m, uint32_t pod);

/* ---- model_owner.c -------------------------------------------------------------- */

int owner_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error);
int owner_remove(struct model *m, int resource, const struct meta *meta);
void owner_forget(struct model *m, uint32_t owner);
uint32_t owner_kind_of(const struct owner_object *owner); /* enum owner_kind, never OWNER_SERVICE */

struct draft; /* frontend/model/shape.h */
struct span;

/* Append to the draft's clauses the selector that counts pods for the default
 * constraints; none: there are no such. */
int owner_clauses(struct draft *d, const struct spread_cause *cause, struct span *out);

/* ---- model_blind.c ------------------------------------------------------------ */

bool node_is_blind(const struct node_entry *n);
/* A pod that is counted without what it takes is bound to the node, or no more. */
void blind_begin(struct model *m, uint32_t node);
void blind_end(struct model *m, uint32_t node);
/* A bound pod was left out altogether: until the next list of pods. */
void blind_lost(struct model *m, struct text node, struct decode_error *error);
void blind_listed(struct model *m, uint32_t round); /* that list is over */
void blind_node_made(struct model *m, struct node_entry *n);
void blind_node_buried(struct model *m, const struct node_entry *n);
/* The pods that the core waited for were sent: nodes that are no longer blind are
 * dirty now. */
void blind_sight(struct model *m);
/* Add to the text of an error what it means for the node. */
void blind_explain(struct text node, struct decode_error *error);

/* ---- model_gang.c: gangs and their members -------------------------------------- */

static inline struct description *description_at(const struct model *m, uint32_t s)
{
	return pool_at(&m->descriptions, s);
}

/* The gang of that name; made without an object if need be.  The caller joins it
 * with a pod, or gives it up with gang_release_if_unused(). */
int gang_find_or_make(struct model *m, uint32_t dialect, struct text namespace, const char *name,
                      uint32_t *gang, const char **flag);
uint32_t gang_find(const struct model *m, uint32_t dialect, const char *name); /* or SLOT_NONE */
int gang_make(struct model *m, uint32_t dialect, const char *name, uint32_t *gang,
              const char **flag);
void gang_dirty(struct model *m, uint32_t gang);
/* What its members say of it, or whose they are, has changed. */
void gang_settle(struct model *m, uint32_t gang);
/* The pod is a member of that gang (ID_NONE: of none), by a mark of that dialect, and says that of
 * it. */
void gang_place(struct model *m, uint32_t pod, uint32_t gang, uint32_t dialect,
                uint32_t description);
void gang_release_if_unused(struct model *m, uint32_t gang);
void gang_bury(struct model *m, uint32_t gang);

/* A gang as the core is to see it. */
struct gang_form {
	uint32_t dialect;
	const struct group_object *object; /* NULL: missing */
	const struct gang_level *levels;   /* that its members ask for, behind the object's */
	uint32_t levels_n;
	const char *refusal; /* NULL: none */
};
void gang_form(const struct model *m, uint32_t gang, struct gang_form *out);
uint32_t gang_terms(const struct model *m, const struct gang_form *form);
/* Do the marks of its members count for nothing, since the cluster has no such groups? */
bool gang_is_void(const struct model *m, uint32_t gang);
void gangs_served(struct model *m, uint32_t dialect, bool served);

/* ---- model_group.c: objects of groups --------------------------------------------- */

int gang_put(struct model *m, int resource, const char *json, size_t bytes,
             struct decode_error *error);
int gang_remove(struct model *m, int resource, const struct meta *meta);
void gang_forget_object(struct model *m, uint32_t gang, uint32_t dialect);
void gangs_replaced(struct model *m, uint32_t dialect, uint32_t round);
/* Give back what a body of EVENT_GANG holds. */
void group_release(struct model *m, const char *body);
void group_object_clear(struct model *m, struct group_object *o);
/* The record of a group in m->body, its name apart.  -ENOSPC with *flag. */
int group_build(struct model *m, uint32_t dialect, uint64_t created_ns,
                const struct group_spec *spec, const char **flag);

/* ---- model_describe.c: what members say of their group ------------------------------ */

/* The number of it, held; ID_NONE when the pod says nothing. */
int describe_take(struct model *m, uint32_t gang, uint32_t dialect, const struct pod_object *pod,
                  uint32_t *description, const char **flag);
void describe_give(struct model *m, uint32_t description);
/* How the members of a gang differ, malloc'ed; NULL when memory is short. */
char *describe_difference(const struct model *m, uint32_t gang);

/* ---- model_hollow.c: objects that are no groups unless pods name them ------------------- */

int hollow_add(struct model *m, uint32_t dialect, const char *name, uint32_t round);
void hollow_remove(struct model *m, uint32_t dialect, const char *name);
bool hollow_find(const struct model *m, uint32_t dialect, const char *name, uint32_t *round);
void hollows_replaced(struct model *m, uint32_t dialect, uint32_t round);

/* ---- model_stir.c -------------------------------------------------------------- */

/* The status of its object of that dialect, as it was put. */
int gang_read_status(struct model *m, uint32_t gang, uint32_t dialect, const char *json,
                     size_t bytes);
void gang_forget_status(struct model *m, uint32_t gang, uint32_t dialect);
/* A new entry finds the pods beside it; one that goes lets them go. */
void gang_find_beside(struct model *m, uint32_t gang);
void gang_leave_beside(struct model *m, uint32_t gang);
/* A pod as it is counts for its gang, or no more. */
void gang_phase_count(struct model *m, const struct pod_entry *pod);
void gang_phase_uncount(struct model *m, const struct pod_entry *pod);
/* Whose its members are: of the first that says so. */
void gang_owned(struct model *m, uint32_t gang, const struct pod_object *pod);
/* Of pods that are no members: one is as it is, or is gone.  -ENOSPC, -ENOMEM */
int other_put(struct model *m, const struct pod_object *pod, struct decode_error *error);
void other_remove(struct model *m, const struct meta *meta);
/* A pod of that name is there: one with another uid is not. */
void other_meet(struct model *m, const struct meta *meta);
void others_replace(struct model *m, uint32_t round);

/* ---- model_pod_state.c -------------------------------------------------------- */

/* What a pod will be.  It holds what it refers to. */
struct pod_state {
	uint32_t shape;
	uint32_t gang; /* not yet joined */
	uint32_t gang_dialect;
	uint32_t description;
	uint32_t role;
	uint32_t node;
	uint32_t scheduler;
	uint8_t flags;
	bool retry;
	bool blind; /* it is bound, and what it takes could not be recorded */
	uint32_t namespace;
	struct pod_label *labels;
	uint32_t labels_n;
	uint32_t owner;
	uint8_t owner_kind;
	uint32_t policy; /* not yet joined; ID_NONE */
	bool spreads;
	bool unshaped;       /* its shape could not be recorded */
	const char *refusal; /* "": none */
	const char *flag;    /* of a limit that was reached, NULL */
	const char *fault;   /* of what a bound pod is counted without, NULL */
};

/* Everything that the pod refers to; -ENOSPC with s->flag when its node found no
 * slot.  On an error nothing is held.  `known`: its slot, or SLOT_NONE. */
int pod_state_of(struct model *m, const struct pod_object *pod, uint32_t known,
                 struct pod_state *s);
void pod_state_release(struct model *m, struct pod_state *s);
void pod_state_refuse(struct pod_state *s, const char *text); /* the first text stays */
bool pod_is_ours(const struct model *m, const struct pod_object *pod);

/* ---- model_pod.c -------------------------------------------------------------- */

/* The uid as a number that is the same in every epoch and process. */
void pod_uid_number(const struct meta *meta, uint64_t out[2]);

int pod_put(struct model *m, const char *json, size_t bytes, struct decode_error *error);
int pod_remove(struct model *m, const struct meta *meta);
uint32_t pod_find(const struct model *m, struct text namespace,
                  struct text name); /* or SLOT_NONE */
/* It is gone, or none of ours any more. */
void pod_forget(struct model *m, uint32_t pod);
/* What gives it default spread constraints has changed. */
void pod_respread(struct model *m, uint32_t pod);
/* All that its shape owes to other objects, storage apart.  *out points to the others, which are
 * filled in. */
void pod_shape_change(const struct model *m, uint32_t pod, struct spread_cause *cause,
                      struct policy_use *use, struct shape_change *out);

/* ---- model_valid.c ------------------------------------------------------------ */

/* True when all that is counted is what is there; else false and one line in
 * `why`.  For tests. */
bool model_valid(const struct model *m, char *why, size_t why_bytes);

#endif
