/* SPDX-License-Identifier: Apache-2.0 */
/* A model of what the census is told: random pods, labels, namespaces, nodes and rules, and the
 * records that tell a core of them. */
#ifndef MUSTER_TESTS_SUPPORT_POD_COUNTS_H
#define MUSTER_TESTS_SUPPORT_POD_COUNTS_H

#include "core/lifecycle/state.h"
#include "tests/unit/support_random.h"

/* Of each there are so many at most.  Most happens on the first NODES_DENSE; the others make the
 * span of nodes grow. */
enum { NODES = 150, NODES_DENSE = 7, PODS = 40, SHAPES = 9, SPACES = 4 };
enum { KEYS = 3, VALUES = 3, TERMS = 3, CLAUSES = 2 };
enum {
	KEY_ZONE = 1,
	KEY_HOST,
	KEY_RARE, /* of nodes that make the span grow */
	KEY_POD = 10,
	KEY_INDEX = 20,
	KEY_SPACE = 30,
	THINGS = 3,
	DRIVERS = 2
};

struct asked_clause {
	uint32_t op, key, n;
	uint32_t values[2];
};

struct asked_term {
	uint32_t kind, topology, flags, weight;
	uint32_t spaces_n, spaces[2];
	uint32_t space_clauses_n, clauses_n;
	struct asked_clause space_clauses[CLAUSES], clauses[CLAUSES];
};

struct usage_asked {
	uint32_t ports_n, exclusives_n, attachments_n;
	struct host_port ports[2];
	struct exclusive exclusives[2];
	struct attachment attachments[2];
};

struct model_shape {
	bool live;
	uint32_t terms_n, spreads_n, space;
	struct asked_term terms[TERMS], spreads[2], policy;
	uint32_t policies_n; /* 0 or 1 */
	struct usage_asked usage;
};

struct model_pod {
	bool live;
	uint32_t generation, shape, node, space, labels_n, flags;
	struct pod_label labels[KEYS + 1];
};

struct model_node {
	bool live, present;
	uint32_t generation, zone, host, rare; /* 0: no label */
	uint32_t limit;                        /* of driver 0; UINT32_MAX: none */
	uint32_t attached;                     /* volume of driver 0; 0: none */
	uint32_t image_bytes;                  /* of image 5; 0: not there */
};

struct model_space {
	uint32_t n;
	struct pod_label labels[2];
};

/* What happens to each record. */
enum feeding {
	FEED_WHOLE,  /* it has to be taken */
	FEED_BROKEN, /* sometimes one with a word replaced goes before it; either may be refused */
};

struct model {
	struct random r;
	enum feeding feeding;
	struct core *core;
	struct ledger *ledger;
	struct model_shape shapes[SHAPES];
	struct model_pod pods[PODS];
	struct model_node nodes[NODES];
	struct model_space spaces[SPACES];
	uint32_t generation;
	uint64_t time_ns;
	alignas(8) unsigned char record[8192];
	size_t used;
	unsigned relabelled, matched, conflicts, retired, refused, taken;
};

/* A core of the model's size, told of nothing yet. */
void model_begin(struct model *m, const char *name);
void model_end(struct model *m);

/* One thing comes, changes or goes. */
void model_step(struct model *m);

#endif
