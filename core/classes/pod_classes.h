/* SPDX-License-Identifier: Apache-2.0 */
/* Pod classes: pods that every rule treats alike (kube-scheduler: pod signature, KEP-5598).
 *
 *   shape       requests and placement rules
 *   match set   the selectors of live shapes that match the pod's labels
 *   pod class   both
 *
 * Labels that no selector refers to make no difference, so the members of a gang, each with its
 * own index label, are one class.
 *
 * A class without pods is idle for a while, so that data by class (views) is there for the next
 * gang of that class.  `gone` is called before its id can be allocated again. */
#ifndef MUSTER_CORE_POD_CLASSES_H
#define MUSTER_CORE_POD_CLASSES_H

#include "core/classes/selectors.h"
#include "core/cluster/shapes.h"

#define CLASS_NONE UINT32_MAX
#define MATCH_SET_EMPTY 0u /* no selector; has a permanent reference */

typedef uint32_t class_id;

struct match_set {
	uint32_t refs; /* classes and label sets; 0: unused */
	uint32_t n;
	selector_id *matched; /* sorted */
};

struct pod_class {
	uint32_t pods;  /* references; 0: idle or unused */
	shape_id shape; /* ID_NONE: unused */
	uint32_t match_set;
	uint32_t idle_previous, idle_next; /* list of idle classes, the oldest first */
	uint32_t mark;                     /* scratch of the planner: group of the current gang */
	uint32_t wait; /* index of its wait, if gangs wait for it; core/queue/hints.h */
};

struct pod_classes {
	struct pod_class *slots;
	uint32_t limit;     /* limits.shapes + limits.pods: a class for each pod, and the idle ones */
	uint32_t idle_most; /* limits.shapes */
	uint32_t idle_n, idle_first, idle_last;
	struct id_table ids;
	struct match_set *match_sets;
	uint32_t match_sets_cap;
	struct id_table match_set_ids;
	void (*gone)(void *context, class_id class); /* may be NULL */
	void *context;
};

/* All class ids are below this number. */
static inline uint32_t pod_classes_used(const struct pod_classes *pc)
{
	return pc->ids.used;
}

static inline const struct match_set *class_match_set(const struct pod_classes *pc, class_id class)
{
	return &pc->match_sets[pc->slots[class].match_set];
}

/* True if the selector matches pods of the class.  A binary search. */
bool class_matches(const struct pod_classes *pc, class_id class, selector_id selector);
bool match_set_has(const struct match_set *match_set, selector_id selector);

void pod_classes_init(struct pod_classes *pc, const struct limits *limits);
void pod_classes_clear(struct pod_classes *pc);
void pod_classes_free(struct pod_classes *pc);

/* Returns the class of a shape and a match set and adds a reference, which a pod holds. */
class_id class_ref(struct pod_classes *pc, shape_id shape, uint32_t match_set);
void class_unref(struct pod_classes *pc, class_id class);
/* Frees the idle classes with a shape or selector that is about to be dropped. */
void pod_classes_forget_shape(struct pod_classes *pc, shape_id shape);
void pod_classes_forget_selector(struct pod_classes *pc, selector_id selector);

/* Returns the match set of exactly these selectors (sorted; copied) and adds a reference. */
uint32_t match_set_ref(struct pod_classes *pc, const selector_id *matched, uint32_t n);
void match_set_ref_id(struct pod_classes *pc, uint32_t match_set);
void match_set_unref(struct pod_classes *pc, uint32_t match_set);

#endif
