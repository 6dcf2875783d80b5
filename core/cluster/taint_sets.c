/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/taint_sets.h"

#include <stdlib.h>
#include <string.h>

void taint_sets_init(struct taint_sets *ts, uint32_t words)
{
	*ts = (struct taint_sets){ .words = words };
}

void taint_sets_clear(struct taint_sets *ts)
{
	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++) {
		free(ts->at[i].taints);
		free(ts->at[i].nodes);
		ts->at[i] = (struct taint_set){ 0 };
	}
}

static bool set_begin(const struct taint_sets *ts, struct taint_set *set,
                      const struct taint *taints, uint32_t taints_n)
{
	struct taint *copy = malloc(taints_n * sizeof(*copy));

	if (!set->nodes)
		set->nodes = calloc(ts->words, sizeof(*set->nodes));
	if (!copy || !set->nodes) {
		free(copy);
		return false;
	}
	memcpy(copy, taints, taints_n * sizeof(*copy));
	free(set->taints);
	set->taints = copy;
	set->taints_n = taints_n;
	return true;
}

/* NULL: no set is left. */
static struct taint_set *set_of(struct taint_sets *ts, const struct taint *taints,
                                uint32_t taints_n)
{
	struct taint_set *unused = NULL;

	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++) {
		struct taint_set *set = &ts->at[i];

		if (set->count == 0)
			unused = set;
		else if (set->taints_n == taints_n &&
		         memcmp(set->taints, taints, taints_n * sizeof(*taints)) == 0)
			return set;
	}
	return unused && set_begin(ts, unused, taints, taints_n) ? unused : NULL;
}

bool taint_sets_put(struct taint_sets *ts, node_id id, const struct taint *taints,
                    uint32_t taints_n)
{
	const uint64_t bit = UINT64_C(1) << (id % 64);
	struct taint_set *set;

	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++) {
		set = &ts->at[i];
		if (set->count > 0 && (set->nodes[id / 64] & bit)) {
			set->nodes[id / 64] &= ~bit;
			set->count--;
		}
	}
	set = taints_n > 0 ? set_of(ts, taints, taints_n) : NULL;
	if (!set)
		return taints_n == 0;
	set->nodes[id / 64] |= bit;
	set->count++;
	return true;
}
