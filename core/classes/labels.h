/* SPDX-License-Identifier: Apache-2.0 */
/* Label sets of pods, each stored once, and the labels of namespaces.
 *
 * Label keys, label values and namespaces are numbers of the frontend's table of strings.  The
 * table owns all memory; pointers to sets are good until the next label_set_ref(). */
#ifndef MUSTER_CORE_LABELS_H
#define MUSTER_CORE_LABELS_H

#include "core/base/id_table.h"
#include "core/shm/records.h"

#include <stdbool.h>

#define LABELS_NONE UINT32_MAX
#define LABEL_KEY_NAMESPACE UINT32_MAX /* key of the namespace in the lists of sets by label */

typedef uint32_t labels_id;

struct label_set {
	uint32_t refs;      /* pods with these labels; 0: unused */
	uint32_t namespace; /* number of its name */
	uint32_t n;
	uint32_t match_set;     /* core/classes/pod_classes.h; set by core/classes/pod_counts.c */
	uint32_t first_pod;     /* list of its pods by pod.labels_next; ID_NONE: empty */
	struct pod_label *at;   /* sorted by key */
	struct set_link *links; /* one for each label, the last for the namespace */
};

/* A namespace without an entry has no labels. */
struct namespace_labels {
	uint32_t name;
	uint32_t n;
	struct pod_label *at; /* sorted by key */
};

struct labels {
	struct label_set *sets;
	uint32_t n; /* in use */
	uint32_t cap;
	struct labels_index *index; /* core/classes/labels.c */
};

void labels_init(struct labels *ls);
void labels_clear(struct labels *ls);
void labels_free(struct labels *ls);

/* Returns the set with this content and adds a reference; `at` is copied.  *fresh: it is new, and
 * the caller sets its match_set. */
labels_id label_set_ref(struct labels *ls, uint32_t namespace, const struct pod_label *at,
                        uint32_t n, bool *fresh);
/* Drops a reference.  The last one frees the set: its match set is unreferenced before. */
void label_set_unref(struct labels *ls, labels_id id);

bool labels_equal(const struct label_set *set, uint32_t namespace, const struct pod_label *at,
                  uint32_t n);

/* The value of a key, or UINT32_MAX. */
uint32_t pod_labels_find(const struct pod_label *at, uint32_t n, uint32_t key);

static inline uint32_t labels_find(const struct label_set *set, uint32_t key)
{
	return pod_labels_find(set->at, set->n, key);
}

/* Iterates over the sets with a label, or of a namespace (LABEL_KEY_NAMESPACE);
 * LABELS_NONE ends. */
labels_id labels_with(const struct labels *ls, uint32_t key, uint32_t value);
labels_id labels_with_next(const struct labels *ls, labels_id id, uint32_t key);

/* All set ids are below this number; those with refs 0 are unused. */
uint32_t labels_used(const struct labels *ls);

bool pod_labels_equal(const struct pod_label *a, uint32_t a_n, const struct pod_label *b,
                      uint32_t b_n);

/* The labels of a namespace; NULL: it has no entry.  Good until the next namespace_labels_set(). */
const struct namespace_labels *namespace_find(const struct labels *ls, uint32_t name);
/* Sets the labels of a namespace; `at` is copied. */
void namespace_labels_set(struct labels *ls, uint32_t name, const struct pod_label *at, uint32_t n);
/* Removes the entry, which must exist. */
void namespace_labels_drop(struct labels *ls, uint32_t name);

#endif
