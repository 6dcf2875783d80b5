/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and taints of a node, in one block of memory, for the rules that look at one
 * node alone. */
#ifndef MUSTER_CORE_NODE_RULES_H
#define MUSTER_CORE_NODE_RULES_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

struct node_label {
	uint32_t key, value;
};

/* After the labels: an int64_t for each, if any of them is a number; then the taints. */
struct node_rules {
	uint16_t labels_n, taints_n;
	uint16_t taints_at; /* labels_n, or twice that if there are numbers */
	uint16_t reserved;
	struct node_label labels[]; /* sorted by key */
};

static_assert(RECORD_BYTES_MAX / sizeof(struct label) <= UINT16_MAX &&
                  RECORD_BYTES_MAX / sizeof(struct taint) <= UINT16_MAX,
              "counts of a record fit 16 bits");

/* Makes a copy, which the caller frees; NULL if there is neither a label nor a taint. */
struct node_rules *node_rules_make(const struct label *labels, uint32_t labels_n,
                                   const struct taint *taints, uint32_t taints_n);

/* True if these labels and taints are what was copied. */
bool node_rules_are(const struct node_rules *rules, const struct label *labels, uint32_t labels_n,
                    const struct taint *taints, uint32_t taints_n);

/* The label with that key; NULL: none. */
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

/* The value of one of its labels as a number, or LABEL_NOT_A_NUMBER. */
static inline int64_t rules_number(const struct node_rules *rules, const struct node_label *label)
{
	const int64_t *numbers = (const int64_t *)(const void *)(rules->labels + rules->labels_n);

	return rules->taints_at > rules->labels_n ? numbers[label - rules->labels] : LABEL_NOT_A_NUMBER;
}

static inline uint32_t rules_taints_n(const struct node_rules *rules)
{
	return rules ? rules->taints_n : 0;
}

static inline const struct taint *rules_taints(const struct node_rules *rules)
{
	return rules ? (const struct taint *)(const void *)(rules->labels + rules->taints_at) : NULL;
}

#endif
