/* Labels of pods, each set once, and the labels of namespaces. */
#ifndef MUSTER_CORE_LABELS_H
#define MUSTER_CORE_LABELS_H

#include "core/records.h"

#include <stdbool.h>

typedef uint32_t labels_id;

struct label_set {
	uint32_t refs; /* pods that have it; 0: unused */
	uint32_t namespace; /* value number of its name */
	uint32_t n;
	uint32_t hash;
	uint32_t class; /* core/kinds.h: the selectors that match it */
	struct pod_label *at; /* sorted by key */
};

struct namespace_labels {
	uint32_t name;
	uint32_t n;
	struct pod_label *at;
	bool exists; /* false: no object of that name was told; it counts as having no labels */
};

struct labels {
	struct label_set *sets;
	uint32_t n;
	uint32_t room;
	struct labels_index *index; /* by content, and namespaces by name; core/labels.c */
};

/* -ENOMEM from those that return int. */
int labels_init(struct labels *ls);
void labels_clear(struct labels *ls);
void labels_free(struct labels *ls);

/* The set with that content, held once more; *fresh: nobody had it. */
int labels_take(struct labels *ls, uint32_t namespace, const struct pod_label *at, uint32_t n, labels_id *out,
                bool *fresh);
void labels_give(struct labels *ls, labels_id id);

/* The value number of a key, or UINT32_MAX. */
uint32_t labels_find(const struct label_set *set, uint32_t key);

/* *changed: selectors with a namespaceSelector may match other pods now. */
int namespace_set(struct labels *ls, const struct namespace_record *record, bool *changed);
void namespace_drop(struct labels *ls, uint32_t name, bool *changed);
const struct namespace_labels *namespace_find(const struct labels *ls, uint32_t name); /* or NULL */

#endif
