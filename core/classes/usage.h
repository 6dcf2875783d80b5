/* SPDX-License-Identifier: Apache-2.0 */
/* Usage of nodes: what pods occupy on a node besides amounts (kube-scheduler: NodeInfo.UsedPorts,
 * PVCRefCounts, ImageStates).
 *
 *   ports     by address, protocol and number
 *   disks     that two pods of a node can't use, unless both share them (volumerestrictions)
 *   claims    ReadWriteOncePod: one pod in the cluster
 *   volumes   attached distinct ones by driver, those of the node's record included
 * (nodevolumelimits) images    present on the node; and the number of nodes with each
 * (imagelocality)
 *
 * A use is an entry with a count in one hash table, by item and node: nodes and pods without such
 * items cost nothing. */
#ifndef MUSTER_CORE_USAGE_H
#define MUSTER_CORE_USAGE_H

#include "core/cluster/nodes.h"
#include "core/cluster/shape.h"

struct usage;

struct usage *usage_new(const struct nodes *nodes);
void usage_clear(struct usage *t);
void usage_free(struct usage *t);

/* True if pods of the shape use anything that is counted here. */
static inline bool usage_has(const struct shape *s)
{
	return s->body->ports_n > 0 || s->body->exclusives_n > 0 || s->volumes_n > 0;
}

/* One more pod of the shape on the node, or one less. */
void usage_add(struct usage *t, node_id node, const struct shape *s);
void usage_remove(struct usage *t, node_id node, const struct shape *s);

/* Sets images, attach limits and attached volumes of a node from its record, which is copied.
 * Returns true if any of them changed. */
bool usage_node_set(struct usage *t, const struct node_record *record);
void usage_node_drop(struct usage *t, node_id node);

/* nodeports.Fits: true if a port of the shape is in use on the node. */
bool usage_port_conflict(const struct usage *t, node_id node, const struct shape *s);
/* volumerestrictions: true if a disk of the shape is in use there, and not shared by both. */
bool usage_disk_conflict(const struct usage *t, node_id node, const struct shape *s);
/* True if a pod on any present node uses a ReadWriteOncePod claim of the shape. */
bool usage_claim_conflict(const struct usage *t, const struct shape *s);
/* nodevolumelimits: true if the node would exceed the attach limit of a driver.  Volumes that are
 * already attached to it do not count again. */
bool usage_attach_exceeded(const struct usage *t, node_id node, const struct shape *s);

struct image_fact {
	int64_t bytes;  /* from the record of the first node with the image */
	uint32_t nodes; /* with the image */
};

/* True if any node has an image of the shape. */
bool usage_has_image(const struct usage *t, const struct shape *s);
/* False if the node does not have the image. */
bool usage_image(const struct usage *t, node_id node, uint32_t image, struct image_fact *out);

/* For checks: a new table with the records of the nodes and no pod; and a comparison of all
 * counts. */
struct usage *usage_of_nodes(const struct usage *t);
bool usage_equal(const struct usage *a, const struct usage *b);

#endif
