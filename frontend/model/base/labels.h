/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of objects as numbers, and requirements on them, as services, controllers and policies
 * have them.  Each number in them is referenced. */
#ifndef MUSTER_FRONTEND_MODEL_LABELS_H
#define MUSTER_FRONTEND_MODEL_LABELS_H

#include "frontend/model/base/state.h"

#define LABELS_MAX 1024 /* of one object; far less than a record's size */

/* Sorted by key, each key once; for pod_labels_give().  NULL without any.
 *   -EINVAL  more than LABELS_MAX */
int pod_labels_take(struct model *m, const struct pairs *from, struct pod_label **labels,
                    uint32_t *n);
void pod_labels_give(struct model *m, struct pod_label *labels, uint32_t n);
/* The value number of a key, or ID_NONE. */
uint32_t labels_find(const struct pod_label *labels, uint32_t n, uint32_t key);

/* Requirements that must all hold, in one piece of memory with their values. */
struct label_rules {
	uint32_t n;
	uint32_t values_n;
	uint32_t *values;
	struct requirement at[];
};

/* NULL: there are none, or kube-scheduler cannot parse them. */
size_t rules_memory(const struct label_rules *r); /* of memory; NULL: 0 */
/* ... with their texts, each divided by those that have it. */
uint64_t rules_part_bytes(const struct model *m, const struct label_rules *r);
/* -EINVAL, with *error, for a selector that is too long: more than LABELS_MAX requirements, or than
 * SELECTOR_VALUES_MAX values in all.  It is compared, and copied into a shape, for each pod that
 * waits.  `effect` ends the text, such as "; it selects no pod". */
#define SELECTOR_VALUES_MAX 4096
int rules_check(const struct node_rule *rules, size_t n, const struct meta *meta, const char *field,
                const char *effect, struct decode_error *error);
struct label_rules *rules_make(struct model *m, const struct node_rule *rules, size_t n);
void rules_free(struct model *m, struct label_rules *r);
bool rules_equal(const struct label_rules *a, const struct label_rules *b);
/* True if all of them hold for these labels; NULL: true. */
bool rules_hold(const struct label_rules *r, const struct pod_label *labels, uint32_t n);

#endif
