/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/taint_sets.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void taint_sets_init(struct taint_sets *ts, uint32_t words)
{
	*ts = (struct taint_sets){ .words = words };
}

void taint_sets_reach(struct taint_sets *ts, uint32_t words)
{
	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++)
		if (ts->at[i].nodes)
			ts->at[i].nodes =
				must_extend(ts->at[i].nodes, ts->words, words, sizeof(*ts->at[i].nodes));
	ts->words = words;
}

void taint_sets_clear(struct taint_sets *ts)
{
	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++) {
		free(ts->at[i].taints);
		free(ts->at[i].nodes);
		ts->at[i] = (struct taint_set){ 0 };
	}
}

static void set_begin(const struct taint_sets *ts, struct taint_set *set,
                      const struct taint *taints, uint32_t taints_n)
{
	if (!set->nodes)
		set->nodes = must_array(ts->words, sizeof(*set->nodes));
	set->taints = must_grow(set->taints, taints_n * sizeof(*taints));
	memcpy(set->taints, taints, taints_n * sizeof(*taints));
	set->taints_n = taints_n;
}

/* The set of these taints, or an unused one; NULL: all are in use. */
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
	if (unused)
		set_begin(ts, unused, taints, taints_n);
	return unused;
}

bool taint_sets_put(struct taint_sets *ts, node_id id, const struct taint *taints,
                    uint32_t taints_n)
{
	const uint64_t bit = UINT64_C(1) << (id % 64);
	struct taint_set *set;

	assert(id / 64 < ts->words);
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
