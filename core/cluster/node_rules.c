/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/node_rules.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static_assert(sizeof(struct node_label) == sizeof(int64_t) &&
                  sizeof(struct node_rules) % alignof(int64_t) == 0,
              "numbers are as long as labels, and aligned after them");

static bool any_number(const struct label *labels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (labels[i].number != LABEL_NOT_A_NUMBER)
			return true;
	return false;
}

struct node_rules *node_rules_make(const struct label *labels, uint32_t labels_n,
                                   const struct taint *taints, uint32_t taints_n)
{
	const bool has_numbers = any_number(labels, labels_n);
	const uint32_t taints_at = has_numbers ? 2 * labels_n : labels_n;
	struct node_rules *r;
	int64_t *numbers;

	if (labels_n + taints_n == 0)
		return NULL;
	r = must_alloc(sizeof(*r) + taints_at * sizeof(r->labels[0]) + taints_n * sizeof(*taints));
	r->labels_n = (uint16_t)labels_n;
	r->taints_n = (uint16_t)taints_n;
	r->taints_at = (uint16_t)taints_at;
	numbers = (int64_t *)(void *)(r->labels + labels_n);
	for (uint32_t i = 0; i < labels_n; i++) {
		r->labels[i] = (struct node_label){ .key = labels[i].key, .value = labels[i].value };
		if (has_numbers)
			numbers[i] = labels[i].number;
	}
	if (taints_n > 0)
		memcpy(r->labels + taints_at, taints, taints_n * sizeof(*taints));
	return r;
}

bool node_rules_are(const struct node_rules *r, const struct label *labels, uint32_t labels_n,
                    const struct taint *taints, uint32_t taints_n)
{
	if (!r)
		return labels_n + taints_n == 0;
	if (r->labels_n != labels_n || r->taints_n != taints_n)
		return false;
	for (uint32_t i = 0; i < labels_n; i++)
		if (r->labels[i].key != labels[i].key || r->labels[i].value != labels[i].value ||
		    rules_number(r, &r->labels[i]) != labels[i].number)
			return false;
	return taints_n == 0 || memcmp(rules_taints(r), taints, taints_n * sizeof(*taints)) == 0;
}
