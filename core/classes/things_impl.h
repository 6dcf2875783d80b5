/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the things share. */
#ifndef MUSTER_CORE_THINGS_IMPL_H
#define MUSTER_CORE_THINGS_IMPL_H

#include "core/base/chains.h"
#include "core/classes/things.h"

enum use_kind {
	USE_PORT,        /* address, protocol, number */
	USE_PORT_ANY,    /* 0, protocol, number: at whatever address */
	USE_DISK,        /* thing */
	USE_DISK_SHARED, /* thing: by those who share */
	USE_CLAIM,       /* thing */
	USE_CLAIM_HEAD,  /* thing, of no node: begins the list of the uses of a claim */
	USE_VOLUME,      /* driver, volume: by pods and the node's own record */
	USE_VOLUMES,     /* driver: distinct volumes */
};

struct use_key {
	uint32_t kind; /* enum use_kind */
	uint32_t a, b, c;
	node_id node;
};

struct use {
	struct use_key key;
	uint32_t count;
	uint32_t previous, next; /* of a claim: its uses on other nodes */
};

/* What a node's record says it has. */
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

struct things {
	const struct nodes *nodes;
	struct chains chains;
	struct use *uses;
	uint32_t uses_room;
	uint64_t reserved; /* entries that pods and nodes may need */
	struct chains image_chains;
	struct image *images;
	uint32_t images_room;
	struct node_has **has; /* by node; NULL: nothing */
	/* Between things_prepare() and what follows. */
	struct node_has *coming;
	bool coming_differs;
};

/* Numbers, or CHAIN_NONE. */
uint32_t use_find(const struct things *t, struct use_key key);
uint32_t image_find(const struct things *t, uint32_t image);

static inline uint32_t use_count(const struct things *t, struct use_key key)
{
	uint32_t i = use_find(t, key);

	return i == CHAIN_NONE ? 0 : t->uses[i].count;
}

static inline struct use_key volume_key(node_id node, const struct attachment *a)
{
	return (struct use_key){ .kind = USE_VOLUME, .a = a->driver, .b = a->volume, .node = node };
}

static inline struct use_key volumes_key(node_id node, uint32_t driver)
{
	return (struct use_key){ .kind = USE_VOLUMES, .a = driver, .node = node };
}

static inline struct use_key claim_head_key(uint32_t thing)
{
	return (struct use_key){ .kind = USE_CLAIM_HEAD, .a = thing, .node = ID_NONE };
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

static inline struct use_key disk_key(node_id node, uint32_t thing, bool shared)
{
	return (
		struct use_key){ .kind = shared ? USE_DISK_SHARED : USE_DISK, .a = thing, .node = node };
}

#endif
