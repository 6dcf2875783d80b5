/* Inside of the model: its tables, shared by the files model*.c and shape.c.
 *
 *   nodes ◄──── pods ────► gangs          each a pool of slots, found by name
 *     │          │           │
 *     │          ▼           │
 *     │        shapes        │
 *     ▼          ▼           ▼
 *   label keys, label values, columns (resources), taints    texts as numbers
 *
 * An arrow is a reference that is counted.  An entry lives as long as its object
 * is there or someone refers to it.  One that the core knows and that lives no
 * more stays in its table as `dead` until the core was told; if it is wanted
 * again before that, it just goes on.  Only a pod's slot is free at once: its
 * next user is sent after the drop of the last one. */
#ifndef MUSTER_FRONTEND_MODEL_IMPL_H
#define MUSTER_FRONTEND_MODEL_IMPL_H

#include "frontend/dialect.h"
#include "frontend/extract.h"
#include "frontend/intern.h"
#include "frontend/model.h"
#include "frontend/table.h"

#define MODEL_DIRTY 1
#define MODEL_DEAD 2

/* What a name takes of limits.name_bytes: whole steps of the core's arena. */
#define NAME_ROOM(bytes) (((uint64_t)(bytes) + 15) & ~UINT64_C(15))

#define RESOURCES_WATCHED 16 /* nodes, pods and the dialects' */

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

struct node_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;    /* round of replace in which its object was put last */
	uint32_t refs;    /* pods bound to it, or about to be */
	uint32_t bytes;   /* of body */
	bool has_object;  /* it is there, good or bad */
	bool bad;         /* ... and can't be read, or is past a limit */
	struct blind blind;
	char *name;
	char *texts;      /* uid NUL resourceVersion NUL; NULL without object */
	char *body;       /* of EVENT_NODE, its id and generation 0; NULL: no good object */
};

struct gang_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;
	uint32_t dialect;
	uint32_t members;       /* pods that name it */
	uint32_t members_first; /* a list over pod_entry.gang_next */
	uint32_t bytes;
	bool has_object;
	bool retry;    /* past a limit: read the same version again */
	char *name;    /* "namespace/name" NUL "namespace" NUL */
	char *texts;   /* uid NUL resourceVersion NUL */
	char *body;    /* of EVENT_GANG; NULL without object */
	char *refusal; /* NULL: none */
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
	uint32_t scheduler;
	int32_t priority;
	uint8_t flags; /* enum pod_flags, but POD_BINDING */
	bool retry;
	bool blind; /* what it takes of its node is not known */
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
	struct resource resources[RESOURCES_WATCHED];
	uint32_t resource_dialect[RESOURCES_WATCHED];
	size_t resources_n;
	struct replace replace[RESOURCES_WATCHED];

	struct intern keys, values;   /* of labels and taints */
	struct intern columns, taints; /* shown by name */
	struct intern schedulers;
	struct pool shapes, nodes, gangs, pods;
	struct table shapes_index, nodes_index, gangs_index, pods_index;
	struct list shapes_dirty, nodes_dirty, gangs_dirty, pods_dirty;
	struct list shapes_dead, nodes_dead, gangs_dead;
	uint32_t shape_empty; /* asks for nothing; always there */
	uint64_t name_bytes;  /* NAME_ROOM of the names of nodes and gangs */

	bool lost;           /* bound pods of nodes without an entry were left out: */
	uint32_t lost_round; /* nodes that come now are blind from the start */
	bool sight_due;      /* nodes that are blind no more are to be sent */

	bool begin_due;
	bool synced;
	bool synced_due;

	struct arena arena; /* of the object at hand */
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
int model_intern(struct model *m, struct intern *in, struct text t, uint32_t *number, const char **flag);
/* Amounts of a ResourceList as columns, sorted, without zeros.  Each column is
 * held; what found none is left out and -ENOSPC returned. */
int body_amounts(struct model *m, struct body *b, const struct amount_text *list, size_t n, uint32_t *added,
                 const char **flag);
/* Give back the columns of n amounts. */
void amounts_release(struct model *m, const struct amount *amounts, uint32_t n);
/* "uid NUL version NUL", or NULL. */
char *model_stamp(const struct meta *meta);
/* Is the object with that stamp a newer one of the same name, whose predecessor is
 * `meta`? */
bool stamp_is_successor(const char *stamp, const struct meta *meta);
/* Names that can be told apart: not long, no slash.  A missing namespace becomes
 * "default". */
bool model_names_valid(struct meta *meta, struct decode_error *error);
void model_default_namespace(struct meta *meta);
bool model_name_room(const struct model *m, size_t bytes);

/* ---- shape.c ------------------------------------------------------------------ */

/* The shape of a pod, held once more.  `rules`: with its placement rules, else
 * its requests alone.
 *   -EINVAL  too many or too long rules
 *   -ENOSPC  with *flag
 *   -ENOMEM */
int shape_take(struct model *m, const struct pod_object *pod, const struct effective *effective, bool rules,
               uint32_t *shape, const char **flag);
int shape_take_empty(struct model *m, uint32_t *shape);
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

/* ---- model_gang.c ------------------------------------------------------------- */

int gang_put(struct model *m, int resource, const char *json, size_t bytes, struct decode_error *error);
int gang_remove(struct model *m, int resource, const struct meta *meta);
void gang_forget_object(struct model *m, uint32_t gang);
/* The gang of that name; made without an object if need be.  The caller joins it
 * with a pod, or gives it up with gang_release_if_unused(). */
int gang_find_or_make(struct model *m, uint32_t dialect, struct text namespace, const char *name,
                      uint32_t *gang, const char **flag);
void gang_join(struct model *m, uint32_t gang, uint32_t pod);
void gang_leave(struct model *m, uint32_t pod);
void gang_release_if_unused(struct model *m, uint32_t gang);
void gang_bury(struct model *m, uint32_t gang);

/* ---- model_pod_state.c -------------------------------------------------------- */

/* What a pod will be.  It holds what it refers to. */
struct pod_state {
	uint32_t shape;
	uint32_t gang; /* not yet joined */
	uint32_t node;
	uint32_t scheduler;
	uint8_t flags;
	bool retry;
	bool blind; /* it is bound, and what it takes could not be recorded */
	const char *refusal; /* "": none */
	const char *flag;    /* of a limit that was reached, NULL */
};

/* Everything that the pod refers to; -ENOSPC with s->flag when its node found no
 * slot.  On an error nothing is held. */
int pod_state_of(struct model *m, const struct pod_object *pod, struct pod_state *s);
void pod_state_release(struct model *m, struct pod_state *s);
void pod_state_refuse(struct pod_state *s, const char *text); /* the first text stays */
bool pod_is_ours(const struct model *m, const struct pod_object *pod);

/* ---- model_pod.c -------------------------------------------------------------- */

int pod_put(struct model *m, const char *json, size_t bytes, struct decode_error *error);
int pod_remove(struct model *m, const struct meta *meta);
uint32_t pod_find(const struct model *m, struct text namespace, struct text name); /* or SLOT_NONE */
/* It is gone, or none of ours any more. */
void pod_forget(struct model *m, uint32_t pod);

/* ---- model_valid.c ------------------------------------------------------------ */

/* True when all that is counted is what is there; else false and one line in
 * `why`.  For tests. */
bool model_valid(const struct model *m, char *why, size_t why_bytes);

#endif
