/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by search_pod.c (the question), pod_units.c (candidates of a node), pod_reprieve.c (its
 * victims) and pod_quick.c (where sums suffice).  What kube-scheduler calls a pod is a unit here: a
 * pod, or a gang that goes whole.
 */
#ifndef MUSTER_CORE_SEARCH_POD_IMPL_H
#define MUSTER_CORE_SEARCH_POD_IMPL_H

#include "core/filter/evaluate.h"
#include "core/search/search_impl.h"

/* One that may go from the node, with members of its gang on other nodes. */
struct pod_unit {
	struct importance importance;
	uint32_t gang;    /* ID_NONE: a pod */
	uint32_t pods, n; /* q->pods[pods .. pods + n), the most important one first */
	uint32_t here;    /* of them on the node: those of a gang come last in the array */
	bool violating;   /* one of its pods does */
};

struct victim {
	pod_id pod;
	bool violating;
};

/* A pod of the node that may go by itself. */
struct pod_rival {
	uint64_t key; /* priority and start: the most important one is the lowest */
	pod_id pod;
	const int64_t *takes; /* by request of the pod that waits */
};

struct pod_question {
	struct search s;
	struct pod_search *out;
	struct evaluation probe; /* of one node at a time: evaluate_node(), if it is made */
	bool probed;
	bool quick;     /* pod_is_quick() */
	int64_t *takes; /* of pod_quick.c: [class * shape->sums_n + request], if it is known */
	bool *known;
	struct pod_rival *rivals;
	uint32_t most_here; /* pods of one node */
	pod_id pod;
	class_id class;
	const struct shape *shape;
	uint32_t *first; /* by node: bound[first[node] .. first[node + 1]) are there */
	pod_id *bound;
	pod_id *nominated; /* pods of at least its priority with a nominated node */
	uint32_t nominated_n;

	size_t nodes_cap;
	uint32_t kept, kept_cap; /* of the answer */

	/* Of the node in work. */
	struct pod_unit *units;
	uint32_t units_n;
	size_t units_cap;
	struct victim *pods;
	uint32_t pods_n;
	size_t pods_cap;
	pod_id *victims;
	struct objective objective;
	int32_t *left; /* by budget */
};

/* search_pod.c: framework: RunFilterPluginsWithNominatedPods.  Both passes must succeed; `probe`
 * has the reasons of the first that does not. */
bool pod_fits(struct pod_question *q, node_id node);

/* pod_units.c: the units of the node, the most important first; `violating` is set. */
void pod_units_collect(struct pod_question *q, node_id node);

/* pod_reprieve.c: defaultpreemption: SelectVictimsOnNode.  Victims are added to the answer, and all
 * pods are back. */
enum node_try pod_try_node(struct pod_question *q, node_id node);

/* pod_reprieve.c: the node with q->victims, the most important first, is kept in the answer. */
void pod_node_keep(struct pod_question *q, node_id node);

/* pod_quick.c: true if resources alone may keep the pod from nodes. */
bool pod_is_quick(const struct pod_question *q);

/* pod_quick.c: memory for it, freed with the question. */
void pod_quick_begin(struct pod_question *q);

/* pod_quick.c: pod_try_node() by sums of resources.  False if sums do not decide; nothing has
 * changed then. */
bool pod_try_quickly(struct pod_question *q, node_id node, enum node_try *result);

/* Copies the filters' results for the node to another evaluation. */
static inline void copy_whys(struct evaluation *to, const struct evaluation *from, node_id node)
{
	to->whys[node] = from->whys[node];
	to->taint[node] = from->taint[node];
	to->short_of[node] = from->short_of[node];
}

#endif
