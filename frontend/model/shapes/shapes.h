/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: requests and rules of a pod as one canonical record body, found by its bytes.  Equal pods
 * share a shape.
 *
 *   pod ──► struct draft, an array for each section ──► body ──► store       (shape_draft.h)
 *
 * A shape is referenced by its pods; a shape references the numbers in its body.
 *
 * A pod that is bound has another shape than while it waited.  So that the next pod of a workload
 * need not have the core evaluate its rules for all nodes again, a shape without pods is idle for
 * a while: the core keeps it, and no namespace is charged for it. */
#ifndef MUSTER_FRONTEND_MODEL_SHAPES_H
#define MUSTER_FRONTEND_MODEL_SHAPES_H

#include "frontend/model/base/state.h"

struct policy_use;   /* frontend/model/pods/policies.h */
struct pod_storage;  /* frontend/volume/volume.h */
struct spread_cause; /* frontend/model/pods/owners.h */

struct shape_entry {
	struct entry entry;
	uint32_t bytes;
	uint32_t namespace; /* a slot: it is charged for the shape (shares.h); ID_NONE */
	uint32_t terms;     /* draft_terms() */
	char *body;         /* of EVENT_SHAPE, its id 0 */
};

static inline struct shape_entry *shape_at(const struct model *m, uint32_t s)
{
	return store_at(&m->shapes, s);
}

bool shape_equal(const void *item, const void *key); /* const struct body * */
void shape_free(struct shape_entry *e);

/* The number of the list of idle shapes, next to those of a store. */
#define SHAPES_IDLE (STORE_DEAD + 1)

enum shape_scope {
	SHAPE_REQUESTS, /* only requests */
	SHAPE_PORTS,    /* ... and ports of the node */
	SHAPE_BEARING,  /* ... and what restricts other pods: for a bound pod */
	SHAPE_WHOLE,
};

struct shape_wish {
	struct shape_payer payer;
	const struct pod_object *pod;
	const struct effective *effective;
	enum shape_scope scope;
	uint32_t namespace;                /* value number of the pod's */
	const struct spread_cause *spread; /* NULL: no default constraints */
	const struct policy_use *policy;   /* NULL: none */
	uint32_t devices;                  /* as in struct event_shape */
};

struct shape_change {
	struct shape_payer payer;
	uint32_t namespace;
	const struct spread_cause *spread; /* NULL: no default constraints */
	const struct pod_storage *storage; /* NULL: unchanged */
	const struct policy_use *policy;   /* NULL: none */
	bool devices_change;
	uint32_t devices; /* as in struct event_shape */
	uint32_t pod;     /* of model.live, for the groups of its requests */
};

struct shape_trouble {
	const char *flag;  /* -ENOSPC: the limit */
	const char *fault; /* -EINVAL: what is wrong with the rules; a static text or the arena's */
};

/* The shape of a pod, referenced.
 *   -EINVAL  too many or too long rules, or some that cannot be read
 *   -ENOSPC */
int shape_take(struct model *m, const struct shape_wish *w, uint32_t *shape,
               struct shape_trouble *trouble);
/* The same shape with its derived parts replaced, referenced.  Uses m->scratch, which the caller
 * resets.  Errors as above. */
int shape_remake(struct model *m, uint32_t from, const struct shape_change *c, uint32_t *shape,
                 struct shape_trouble *trouble);
/* The same shape with current ids of its resources (columns.h). */
int shape_rename_resources(struct model *m, uint32_t from, uint32_t *shape,
                           struct shape_trouble *trouble);
/* The same shape as SHAPE_PORTS, with what its volumes take of the node. */
int shape_strip(struct model *m, uint32_t from, const struct shape_payer *payer, uint32_t *shape,
                struct shape_trouble *trouble);
uint32_t shape_take_empty(struct model *m);
/* True if the shape has exactly these requests. */
bool shape_asks(struct model *m, uint32_t shape, const struct pod_object *pod,
                const struct effective *effective);

/* What each of its pods would free of memory_used if it had no shape, about. */
uint64_t shape_part_bytes(const struct model *m, uint32_t shape);

void shape_hold(struct model *m, uint32_t shape);
void shape_give(struct model *m, uint32_t shape);
void shape_bury(struct model *m, uint32_t shape); /* the core does not have it */
/* Idle shapes die, the oldest first, until a quarter of the table is in use at most. */
void shapes_idle_limit(struct model *m);
void shapes_idle_end(struct model *m); /* all of them */

#endif
