/* SPDX-License-Identifier: Apache-2.0 */
/* Images on nodes, for kube-scheduler's ImageLocality.
 *
 * The core gets only images that some shape names.  Once it got an image it keeps getting it while
 * a node has it: a new pod with a known image makes no node dirty. */
#ifndef MUSTER_FRONTEND_MODEL_IMAGES_H
#define MUSTER_FRONTEND_MODEL_IMAGES_H

#include "frontend/model/base/state.h"

/* An image on a node; its number is referenced. */
struct image_on_node {
	uint32_t image;
	uint32_t reserved;
	int64_t bytes;
};

/* By the number of an image. */
struct image_use {
	bool sent;      /* a shape named it once: records of nodes have it */
	bool fresh;     /* ... but not yet those that were sent */
	uint32_t nodes; /* that have it */
};

/* Number of an image's name, referenced. */
uint32_t image_take(struct model *m, struct text name);
void image_ask(struct model *m, uint32_t image); /* a shape names it */

/* Sorted, each once; for images_give().  NULL without any. */
struct image_on_node *images_take(struct model *m, const struct node_object *object, uint32_t *n);
void images_give(struct model *m, struct image_on_node *images, uint32_t n);
/* True if a node's record is the same with either of them. */
bool images_equal_sent(const struct model *m, const struct image_on_node *a, uint32_t a_n,
                       const struct image_on_node *b, uint32_t b_n);

#endif
