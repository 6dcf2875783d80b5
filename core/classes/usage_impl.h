/* SPDX-License-Identifier: Apache-2.0 */
/* Private to usage.c and usage_query.c. */
#ifndef MUSTER_CORE_USAGE_IMPL_H
#define MUSTER_CORE_USAGE_IMPL_H

#include "core/base/id_table.h"
#include "core/cluster/nodes.h"

enum use_kind {
	USE_PORT,        /* address, protocol, number */
	USE_PORT_ANY,    /* 0, protocol, number: at any address */
	USE_DISK,        /* item */
	USE_DISK_SHARED, /* item: only the uses that share it */
	USE_CLAIM,       /* item */
	USE_CLAIM_HEAD,  /* item, node ID_NONE: head of the list of the uses of a claim */
	USE_VOLUME,      /* driver, volume: by pods and by the node's record */
	USE_VOLUMES,     /* driver: number of distinct volumes */
};

struct use_key {
	uint32_t kind; /* enum use_kind */
	uint32_t a, b, c;
	node_id node;
};

struct use {
	struct use_key key;
	uint32_t count;
	uint32_t previous, next; /* of a claim: list of its uses on all nodes */
};

/* From a node's record. */
struct node_has {
	uint32_t images_n, limits_n, attached_n;
	struct node_image *images; /* sorted */
	struct attach_limit *limits;
	struct attachment *attached;
};

struct image {
	uint32_t image;
	uint32_t nodes;
	int64_t bytes;
};

struct usage {
	const struct nodes *nodes;
	struct id_table ids;
	struct use *uses;
	uint32_t uses_cap;
	struct id_table image_ids;
	struct image *images;
	uint32_t images_cap;
	struct node_has **has; /* by node; NULL: nothing */
};

/* Index of the entry, or ID_TABLE_NONE. */
uint32_t use_find(const struct usage *t, struct use_key key);
uint32_t image_find(const struct usage *t, uint32_t image);

static inline uint32_t use_count(const struct usage *t, struct use_key key)
{
	uint32_t i = use_find(t, key);

	return i == ID_TABLE_NONE ? 0 : t->uses[i].count;
}

static inline struct use_key volume_key(node_id node, const struct attachment *a)
{
	return (struct use_key){ .kind = USE_VOLUME, .a = a->driver, .b = a->volume, .node = node };
}

static inline struct use_key volumes_key(node_id node, uint32_t driver)
{
	return (struct use_key){ .kind = USE_VOLUMES, .a = driver, .node = node };
}

static inline struct use_key claim_head_key(uint32_t item)
{
	return (struct use_key){ .kind = USE_CLAIM_HEAD, .a = item, .node = ID_NONE };
}

static inline struct use_key port_key(node_id node, const struct host_port *p)
{
	return (struct use_key){
		.kind = USE_PORT, .a = p->address, .b = p->protocol, .c = p->port, .node = node
	};
}

static inline struct use_key port_any_key(node_id node, const struct host_port *p)
{
	return (struct use_key){ .kind = USE_PORT_ANY, .b = p->protocol, .c = p->port, .node = node };
}

static inline struct use_key disk_key(node_id node, uint32_t item, bool shared)
{
	return (struct use_key){ .kind = shared ? USE_DISK_SHARED : USE_DISK, .a = item, .node = node };
}

#endif
