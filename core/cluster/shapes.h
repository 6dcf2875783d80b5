/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: pods with equal requests and equal placement rules, and for each the
 * set of nodes that its rules allow, one bit a node, kept current. */
#ifndef MUSTER_CORE_SHAPES_H
#define MUSTER_CORE_SHAPES_H

#include "core/base/amount.h"
#include "core/cluster/fit.h"
#include "core/cluster/taint_sets.h"
#include "core/shm/records.h"

#include <stdbool.h>

struct node;

/* One request that is not zero. */
struct request {
	uint32_t resource;
	int64_t value;
	double inverse; /* 1 / value */
};

struct shape {
	struct event_shape *body; /* NULL: unused; a copy of the record's body */
	uint32_t body_bytes;
	uint32_t pods;             /* that refer to it */
	struct shape_record parts; /* of that copy */
	enum node_why named;       /* core/cluster/rule_node.h: rule_names() */
	struct request *requests;  /* by resource; RESOURCE_PODS is always there */
	uint32_t requests_n;
	struct shape_fit fit;       /* as it is weighed before it is placed */
	struct shape_fit placed;    /* and from then on */
	struct attachment *volumes; /* its attachments, each once, by driver and volume */
	uint32_t volumes_n;
	uint64_t *allowed;
};

#define COLUMNS_MOST 8u

/* What each node has for one label key. */
struct label_column {
	uint32_t *values; /* by node, NO_VALUE: no such label; NULL: unused */
	uint32_t key;
	uint64_t last_used;
};

#define NO_VALUE UINT32_MAX

struct shapes {
	struct shape *slots;
	uint32_t limit;
	uint32_t used;  /* slots below this were used at least once */
	uint32_t count; /* live */
	uint32_t words; /* of a node set */
	/* Nodes that exist, a bit each: */
	uint64_t *open;   /* that have no taint and are not cordoned */
	uint64_t *barred; /* the others */
	uint64_t *soft;   /* with a taint that is only weighed */
	uint32_t soft_n;  /* of them */
	uint64_t *single; /* of the barred, that are in no set of those with the same taints */
	struct taint_sets tainted;
	struct label_column columns[COLUMNS_MOST]; /* of keys that shapes select by; the one not used
	                                              for longest gives way */
	uint64_t uses;
};

/* Why the rules over one node alone (core/cluster/rule_node.h) keep a shape off it, the first in
 * kube-scheduler's order up to node affinity, or NODE_FITS; *arg is the taint's name with
 * NODE_WHY_TAINT. */
enum node_why shape_judges(const struct shape *s, const struct node *n, uint32_t *arg);

/* The same for what kube-scheduler looks at after ports and room: volumes, in the order of
 * their rules, and features. */
enum node_why shape_judges_last(const struct shape *s, const struct node *n);

/* Do all of those clauses of the shape hold for the node's labels? */
bool shape_clauses_hold(const struct shape *s, struct span clauses, const struct node *n);

/* What a placed pod counts in scores. */
static inline wide shape_placed_cpu(const struct shape *s)
{
	return (wide)s->body->scored_cpu_milli + s->body->placed_cpu_milli;
}

static inline wide shape_placed_memory(const struct shape *s)
{
	return (wide)s->body->scored_memory_bytes + s->body->placed_memory_bytes;
}

/* By all rules over one node alone. */
static inline bool shape_allows(const struct shape *s, node_id node)
{
	return s->allowed[node / 64] >> (node % 64) & 1;
}

/* -ENOMEM */
int shapes_init(struct shapes *ss, const struct limits *limits);
void shapes_free(struct shapes *ss);
void shapes_clear(struct shapes *ss);

static inline struct shape *shapes_find(const struct shapes *ss, shape_id id)
{
	return id < ss->limit && ss->slots[id].body ? &ss->slots[id] : NULL;
}

/* Add a shape in two steps; the record is copied.  1: an equal one is there under that id; then,
 * and on an error, nothing was made.  What was made is put or freed.
 *
 *   -EPROTO   the id belongs to another shape that pods refer to
 *   -ENOMEM */
int shapes_make(struct shapes *ss, const struct shape_record *record, const struct node *nodes,
                uint32_t nodes_used, struct shape *out);
void shapes_put(struct shapes *ss, const struct shape *s);
void shapes_unmake(struct shape *s);
void shapes_drop(struct shapes *ss, shape_id id);

/* A node's labels, taints or flags changed, or it is gone. */
void shapes_follow(struct shapes *ss, node_id id, const struct node *n);

#endif
