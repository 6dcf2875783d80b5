/* SPDX-License-Identifier: Apache-2.0 */
/* Things that pods use on a node, and what a node has of its own.
 *
 *   ports        by address, protocol and number
 *   disks        that one node's pods can't use twice, unless they share
 *   claims       ReadWriteOncePod: one pod in the cluster
 *   volumes      attached, distinct ones by driver; those that the node's own record names count
 * too images       that the node has; and how many nodes have each
 *
 * A use is an entry in one table, found by thing and node, so that nodes and pods without such
 * things pay nothing.  Room for a pod's entries is reserved before the pod is there: taking
 * and giving never fail. */
#ifndef MUSTER_CORE_THINGS_H
#define MUSTER_CORE_THINGS_H

#include "core/cluster/nodes.h"
#include "core/cluster/shapes.h"

struct things;

/* NULL: no memory. */
struct things *things_new(const struct nodes *nodes);
void things_clear(struct things *t);
void things_free(struct things *t);

/* Room for one pod of the shape, wherever it goes; -ENOMEM. */
int things_reserve(struct things *t, const struct shape *s);
void things_release(struct things *t, const struct shape *s);

/* Does a pod of the shape hold any of them on its node? */
static inline bool things_has(const struct shape *s)
{
	return s->body->ports_n > 0 || s->body->exclusives_n > 0 || s->volumes_n > 0;
}

/* A pod of the shape comes to the node or leaves it. */
void things_take(struct things *t, node_id node, const struct shape *s);
void things_give(struct things *t, node_id node, const struct shape *s);

/* A node's record, in two steps: what can fail; then what it has is set, or left as it was.
 * *differs: something of it is new.  -ENOMEM */
int things_prepare(struct things *t, const struct node_record *record, bool *differs);
void things_apply(struct things *t, node_id node);
void things_cancel(struct things *t);
/* The node is dropped. */
void things_node_drop(struct things *t, node_id node);

/* Is a port of the shape taken on the node? */
bool things_port_conflict(const struct things *t, node_id node, const struct shape *s);
/* Is a disk of the shape in use there, and not shared on both sides? */
bool things_disk_conflict(const struct things *t, node_id node, const struct shape *s);
/* Does a pod on any node that exists use a claim of the shape? */
bool things_claim_conflict(const struct things *t, const struct shape *s);
/* Would the node have more volumes of a driver than it takes?  Volumes that are there
 * already are none more. */
bool things_attach_exceeded(const struct things *t, node_id node, const struct shape *s);

struct image_fact {
	int64_t bytes;  /* as the first node said that has it */
	uint32_t nodes; /* that have it */
};

/* False when the node does not have the image. */
bool things_image(const struct things *t, node_id node, uint32_t image, struct image_fact *out);

/* For checks: a new table that knows what the nodes have, and no pod; NULL without memory.  Do both
 * say the same, with as much reserved? */
struct things *things_again(const struct things *t);
bool things_equal(const struct things *a, const struct things *b);

#endif
