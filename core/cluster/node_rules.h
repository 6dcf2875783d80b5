/* SPDX-License-Identifier: Apache-2.0 */
/* What rules over one node look at: its labels and taints, in one piece of memory. */
#ifndef MUSTER_CORE_NODE_RULES_H
#define MUSTER_CORE_NODE_RULES_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

struct node_label {
	uint32_t key, value;
};

/* Behind the labels, if any of them is a number, int64_t for each; then the taints. */
struct node_rules {
	uint16_t labels_n, taints_n;
	uint16_t taints_at; /* labels_n, or twice that when there are numbers */
	uint16_t reserved;
	struct node_label labels[]; /* sorted by key */
};

static_assert(RECORD_BYTES_MAX / sizeof(struct label) <= UINT16_MAX &&
                  RECORD_BYTES_MAX / sizeof(struct taint) <= UINT16_MAX,
              "what fits a record is counted");

/* A copy, to be freed; NULL of nothing.  -ENOMEM */
int node_rules_make(const struct label *labels, uint32_t labels_n, const struct taint *taints,
                    uint32_t taints_n, struct node_rules **out);

/* Is it what was copied? */
bool node_rules_are(const struct node_rules *rules, const struct label *labels, uint32_t labels_n,
                    const struct taint *taints, uint32_t taints_n);

/* NULL: no such label. */
static inline const struct node_label *rules_label(const struct node_rules *rules, uint32_t key)
{
	uint32_t low = 0, high;

	if (!rules)
		return NULL;
	high = rules->labels_n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rules->labels[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rules->labels_n && rules->labels[low].key == key ? &rules->labels[low] : NULL;
}

/* Of one of its labels; LABEL_NOT_A_NUMBER */
static inline int64_t rules_number(const struct node_rules *rules, const struct node_label *label)
{
	const int64_t *numbers = (const int64_t *)(const void *)(rules->labels + rules->labels_n);

	return rules->taints_at > rules->labels_n ? numbers[label - rules->labels] : LABEL_NOT_A_NUMBER;
}

static inline uint32_t rules_taints_n(const struct node_rules *rules)
{
	return rules ? rules->taints_n : 0;
}

/* NULL of nothing. */
static inline const struct taint *rules_taints(const struct node_rules *rules)
{
	return rules ? (const struct taint *)(const void *)(rules->labels + rules->taints_at) : NULL;
}

#endif
