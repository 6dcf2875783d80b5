/* SPDX-License-Identifier: Apache-2.0 */
/* What frontend/volume/ has of a node, as numbers: attach limits and attached volumes. */
#ifndef MUSTER_FRONTEND_MODEL_NODE_STORAGE_H
#define MUSTER_FRONTEND_MODEL_NODE_STORAGE_H

#include "frontend/model/base/state.h"

/* In one piece of memory; each number is referenced. */
struct node_storage_entry {
	struct attach_limit *limits;
	struct attachment *attached;
	uint32_t limits_n, attached_n;
};

/* Each of them replaces *storage (NULL: none); true if it differs from the one before. */
bool node_storage_set(struct model *m, uint32_t node, const struct node_object *object,
                      struct node_storage_entry **storage);
bool node_storage_join(struct model *m, uint32_t node, struct node_storage_entry **storage);
void node_storage_clear(struct model *m, uint32_t node, struct node_storage_entry **storage);

#endif
