/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of pods, each set once, and the labels of namespaces. */
#ifndef MUSTER_CORE_LABELS_H
#define MUSTER_CORE_LABELS_H

#include "core/base/chains.h"
#include "core/shm/records.h"

#include <stdbool.h>

#define LABELS_NONE UINT32_MAX
#define LABEL_KEY_NAMESPACE                                                                        \
	UINT32_MAX /* in lists of sets by label: the namespace, as if it were one */

typedef uint32_t labels_id;

struct label_set {
	uint32_t refs;      /* pods that have it; 0: unused */
	uint32_t namespace; /* value number of its name */
	uint32_t n;
	uint32_t class;       /* core/classes/kinds.h: the selectors that match it; set by
	                         core/classes/census.c */
	uint32_t first_pod;   /* that has it, or ID_NONE; the list goes on in struct pod */
	struct pod_label *at; /* sorted by key */
	struct set_link
		*links; /* n for the labels, one for the namespace; lists of sets that share it */
};

/* One that was never told counts as having none. */
struct namespace_labels {
	uint32_t name;
	uint32_t n;
	struct pod_label *at; /* sorted by key */
};

struct labels {
	struct label_set *sets;
	uint32_t n; /* in use */
	uint32_t room;
	struct labels_index *index; /* by content, and namespaces by name; core/classes/labels.c */
};

/* -ENOMEM from those that return int; nothing has changed then. */
int labels_init(struct labels *ls);
void labels_clear(struct labels *ls);
void labels_free(struct labels *ls);

/* The set with that content, held once more; *fresh: nobody had it. */
int label_set_take(struct labels *ls, uint32_t namespace, const struct pod_label *at, uint32_t n,
                   labels_id *out, bool *fresh);
/* The last one to give it back gives its class back first. */
void label_set_give(struct labels *ls, labels_id id);

bool labels_equal(const struct label_set *set, uint32_t namespace, const struct pod_label *at,
                  uint32_t n);

/* The value number of a key, or UINT32_MAX. */
uint32_t pod_labels_find(const struct pod_label *at, uint32_t n, uint32_t key);

static inline uint32_t labels_find(const struct label_set *set, uint32_t key)
{
	return pod_labels_find(set->at, set->n, key);
}

/* Sets with that label one after the other, until LABELS_NONE; key LABEL_KEY_NAMESPACE: those of
 * that namespace. */
labels_id labels_with(const struct labels *ls, uint32_t key, uint32_t value);
labels_id labels_with_next(const struct labels *ls, labels_id id, uint32_t key);

/* Every set is below this number; look at refs. */
uint32_t labels_used(const struct labels *ls);

bool pod_labels_equal(const struct pod_label *a, uint32_t a_n, const struct pod_label *b,
                      uint32_t b_n);

/* The labels of a namespace, or NULL.  They change in two steps: room for it (-ENOMEM), then what
 * *labels says and what was there change places. */
const struct namespace_labels *namespace_find(const struct labels *ls, uint32_t name);
int namespace_reserve(struct labels *ls, uint32_t name);
void namespace_swap(struct labels *ls, struct namespace_labels *labels);
/* It has no labels any more. */
void namespace_forget(struct labels *ls, uint32_t name);

#endif
