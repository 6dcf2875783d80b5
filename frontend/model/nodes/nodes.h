/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: objects, and names that pods are bound to.
 *
 * A node entry is referenced by the pods bound to it and by Bindings in flight to it. */
#ifndef MUSTER_FRONTEND_MODEL_NODES_H
#define MUSTER_FRONTEND_MODEL_NODES_H

#include "frontend/model/nodes/images.h"
#include "frontend/model/nodes/node_storage.h"
#include "frontend/model/base/state.h"

/* Pods that are bound to a node and whose usage is not counted there (unaccounted.h). */
struct unaccounted {
	uint32_t pods;  /* known, but their requests are not */
	bool lost;      /* some are not even known ... */
	uint32_t round; /* ... since this list round of pods */
	bool sent;      /* the core has the node without allocatable amounts */
};

struct node_entry {
	struct entry entry;
	uint32_t bytes; /* of body */
	struct unaccounted unaccounted;
	char *name;
	char *body; /* of EVENT_NODE up to its taints, its id and generation 0; NULL: no usable
	             * object */
	struct image_on_node *images; /* sorted, all that it has */
	uint32_t images_n;
	uint32_t left_out_n;
	uint32_t *left_out; /* its resources that found no column (columns.h); NULL: none */
	struct node_storage_entry *storage; /* NULL: none */
};

static inline struct node_entry *node_at(const struct model *m, uint32_t s)
{
	return store_at(&m->nodes, s);
}

bool node_equal(const void *item, const void *key); /* const struct text * */
void node_free(struct node_entry *e);

int node_put(struct model *m, const char *json, size_t bytes, struct decode_error *error);
void node_remove(struct model *m, const struct meta *meta);
/* The object is gone; does nothing without one. */
void node_forget_object(struct model *m, uint32_t node);

/* Slot of the node of that name, or SLOT_NONE. */
uint32_t node_find(const struct model *m, struct text name);
/* The node of that name, referenced; made without an object if need be.  -ENOSPC with *flag. */
int node_take(struct model *m, struct text name, uint32_t *node, const char **flag);
void node_hold(struct model *m, uint32_t node);
void node_give(struct model *m, uint32_t node);
void node_bury(struct model *m, uint32_t node); /* the core does not have it */

/* Nodes whose images were named by a shape since the last call are dirty now. */
void nodes_refresh_images(struct model *m);

#endif
