/* SPDX-License-Identifier: Apache-2.0 */
/* Pod counts: counts by node of the placed pods, for the rules between pods.
 *
 *   selectors      matching pods on each node                        (core/classes/selectors.h)
 *   placed terms   pods on each node with a certain affinity term of their own
 *   usage          ports, disks, claims and volumes in use on a node (core/classes/usage.h)
 *
 * Updated with each pod that gets or loses a node, by a record, by a reservation, or by a plan
 * that is tried and undone, so that the members of one gang count for each other.
 *
 * Owns pod classes, label sets, selectors, topologies and the links of shapes; nodes, shapes and
 * pods belong to the core. */
#ifndef MUSTER_CORE_POD_COUNTS_H
#define MUSTER_CORE_POD_COUNTS_H

#include "core/classes/pod_classes.h"
#include "core/cluster/pods.h"
#include "core/classes/usage.h"
#include "core/classes/topologies.h"
#include "core/devices/inventory.h"

typedef uint32_t placed_term_id;

/* An affinity or anti-affinity term of placed pods, which applies to incoming pods (kube-scheduler:
 * "existing pods' terms"). */
struct placed_term {
	uint32_t refs;        /* by shapes; 0: unused */
	selector_id selector; /* the pods it applies to; not `incoming` */
	topology_id topology;
	uint32_t kind; /* enum pod_term_kind */
	int32_t weight;
	struct node_counts
		*holders;       /* by node: pods with the term, also on nodes that are not present */
	uint64_t holders_n; /* sum over present nodes */
};

/* A pod term of a shape with what it refers to; a reference is held to each. */
struct term_link {
	const struct pod_term *term;
	selector_id
		selector; /* `incoming`; SELECTOR_NONE of POD_TERM_AFFINITY: see shape_links.affinity */
	topology_id topology;
	placed_term_id placed_term;
};

struct spread_link {
	const struct spread *spread;
	selector_id selector; /* SELECTOR_NONE: counts no pod */
	topology_id topology;
	bool self_always; /* empty selector: counts no pod, but matches the pod itself */
};

/* core/filter/rule_policy.h */
struct policy_link {
	const struct policy *policy; /* NULL: none */
	const struct policy_share *shares;
	selector_id selector;
	topology_id topology;
};

/* What the rules between pods of a shape refer to; NULL for a shape without such rules. */
struct shape_links {
	struct term_link *terms;
	uint32_t terms_n;
	selector_id affinity; /* all required affinity terms at once; SELECTOR_NONE: none */
	struct spread_link *spreads;
	uint32_t spreads_n;
	struct policy_link policy;
};

/* Callbacks of the owner of the pods; each may be NULL. */
struct pod_counts_hooks {
	void *context;
	void (*moved)(void *context, pod_id pod);          /* after the pod changed its class */
	void (*class_gone)(void *context, class_id class); /* before the id can be allocated again */
};

struct pod_counts {
	struct nodes *nodes;
	struct shapes *shapes;
	struct pods *pods;
	struct labels labels;
	struct selectors selectors;
	struct topologies topologies;
	struct pod_classes pod_classes;
	struct placed_term *placed_terms;
	uint32_t placed_terms_n; /* ids below were used at least once */
	uint32_t placed_terms_cap;
	struct id_table placed_term_ids;
	struct shape_links **links; /* by shape */
	struct usage *usage;
	uint64_t rules_version;   /* counts changes of rules and domains; not of counts */
	uint64_t domains_version; /* the part of it that is of domains and presence of nodes */
	uint64_t has_version;     /* the part that is of images, limits and volumes of nodes */
	struct pod_counts_hooks hooks;
	const struct device_filter *devices; /* core/base/config.h; NULL: none */
	struct inventory *inventory; /* core/devices/inventory.h; NULL: no record of devices yet */
	struct gpus *gpus;           /* core/filter/gpus.h; NULL: no score reads them */
	uint32_t idle_most;          /* idle selectors that are kept */
};

void pod_counts_init(struct pod_counts *cs, const struct limits *limits, struct nodes *nodes,
                     struct shapes *shapes, struct pods *pods);
void pod_counts_clear(struct pod_counts *cs);
/* The nodes' span, which was `from`, has grown: counts of nodes move. */
void pod_counts_reach(struct pod_counts *cs, uint32_t from);
void pod_counts_free(struct pod_counts *cs);

/* The links of a shape, made before the shape of that id is replaced and set after it.  Pods that
 * match a new selector change their class, and the placed ones are counted. */
struct shape_links *pod_counts_links_make(struct pod_counts *cs, const struct shape *s);
void pod_counts_links_set(struct pod_counts *cs, shape_id shape, struct shape_links *links);
/* Frees the memory without the references; NULL is allowed. */
void links_forget(struct shape_links *links);
/* Before the shape is dropped; no pod has it. */
void pod_counts_shape_drop(struct pod_counts *cs, shape_id shape);

/* Labels of a namespace changed or are gone: pods change their class where they match other
 * selectors. */
void pod_counts_namespace_set(struct pod_counts *cs, const struct namespace_record *record);
void pod_counts_namespace_drop(struct pod_counts *cs, uint32_t name);

/* After nodes_set() with this record; `existed`: the node was present before.  Returns true if
 * images, attach limits or attached volumes changed. */
bool pod_counts_node_set(struct pod_counts *cs, const struct node_record *record, bool existed);
/* After nodes_drop(); no pod is on the node. */
void pod_counts_node_drop(struct pod_counts *cs, node_id node, bool existed);

/* Returns the set of these labels and adds a reference. */
labels_id pod_counts_labels_ref(struct pod_counts *cs, uint32_t namespace,
                                const struct pod_label *at, uint32_t n);
/* Gives a pod its labels and class, and takes them away.  It takes the reference to `labels` over,
 * and is on no node at both times. */
void pod_counts_pod_enter(struct pod_counts *cs, pod_id pod, labels_id labels);
void pod_counts_pod_leave(struct pod_counts *cs, pod_id pod);

/* One pod of the class more or less on the node: capacity (core/cluster/nodes.h), matches, placed
 * terms and usage.  `leaving`: it is being deleted. */
void pod_counts_allocate(struct pod_counts *cs, node_id node, class_id class, bool leaving);
void pod_counts_release(struct pod_counts *cs, node_id node, class_id class, bool leaving);
/* n pods that are not being deleted. */
void pod_counts_allocate_many(struct pod_counts *cs, node_id node, class_id class, uint32_t n);

/* The groups of the shape's question (device_group(), as bits) whose resources the node has. */
uint32_t pod_counts_served(const struct pod_counts *cs, node_id node, const struct shape *s);

/* The node has room for one more pod of the shape, and needs no device for it. */
bool pod_counts_serves(const struct pod_counts *cs, node_id node, const struct shape *s);

uint32_t pod_counts_room(const struct pod_counts *cs, node_id node, const struct shape *s,
                         uint32_t most);

/* The shape may get devices that several nodes list, or is pod_counts_one(): what a pod takes on
 * one node changes the room of others. */
static inline bool pod_counts_commons(const struct pod_counts *cs, const struct shape *s)
{
	return cs->inventory && s->body->devices > 0 &&
	       inventory_is_common(cs->inventory, s->body->devices - 1);
}

/* Pods of the shape share a claim that is not allocated: all go to one node. */
static inline bool pod_counts_one(const struct pod_counts *cs, const struct shape *s)
{
	return cs->inventory && s->body->devices > 0 &&
	       inventory_is_one(cs->inventory, s->body->devices - 1);
}

/* How many more pods of the shape the node has devices for, `most` or fewer; and of resources that
 * devices would serve if the node did not have them, so much of these. */
static inline uint32_t pod_counts_devices(const struct pod_counts *cs, node_id node,
                                          const struct shape *s, uint32_t most)
{
	return s->body->devices == 0 ? most : pod_counts_room(cs, node, s, most);
}

/* True if one more placed pod of the class can relax a rule of others: it matches a selector of
 * required affinity or of a hard spread. */
bool pod_counts_eases(const struct pod_counts *cs, class_id class);

/* For tests: compares everything with a recount from the pods; if false, *why is a static text. */
bool pod_counts_valid(const struct pod_counts *cs, const char **why);

/* The shape of a class, and the links of that shape; NULL: it has none. */
static inline struct shape *class_shape(const struct pod_counts *cs, class_id class)
{
	return &cs->shapes->slots[cs->pod_classes.slots[class].shape];
}

static inline const struct shape_links *class_links(const struct pod_counts *cs, class_id class)
{
	return cs->links[cs->pod_classes.slots[class].shape];
}

#endif
