/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by gang_counts.c (curves of nodes) and gang_share.c (members shared out over them). */
#ifndef MUSTER_CORE_SEARCH_COUNTS_IMPL_H
#define MUSTER_CORE_SEARCH_COUNTS_IMPL_H

#include "core/search/gang_impl.h"

#define CHOICE_STEPS 2u

/* The cheapest pods of a node for at least so many members more. */
struct option {
	bool known;
	uint32_t pods;
	uint64_t sum, rank_sum, start_sum;
	uint32_t first; /* t->victims[first .. first + pods): units, sorted by index */
};

struct curve {
	node_id node;
	uint32_t first, n; /* t->options[first + e - 1], e from 1 to n */
};

struct counts {
	struct gang_question *q;
	class_id class;
	uint32_t missing; /* members beyond what fits as things are */
	uint32_t *units;  /* of the level, by node, then twins together, the junior ones first */
	uint32_t units_n;
	struct curve *curves;
	uint32_t curves_n;
	struct option *options;
	size_t options_cap;
	uint32_t options_n;
	uint32_t *victims;
	size_t victims_cap;
	uint32_t victims_n;
	uint16_t *choices; /* [curve * (missing + 1) + members] */

	/* Of the node in work. */
	uint32_t *chosen;
	uint32_t base, subsets;
	bool too_many;
};

static inline const struct gang_unit *unit_at(const struct counts *t, uint32_t unit)
{
	return &t->q->units[unit];
}

static inline pod_id pod_of(const struct counts *t, uint32_t unit)
{
	return t->q->pods[unit_at(t, unit)->pods];
}

/* Negative if `a` is better; names are left out. */
static inline int option_compare(const struct option *a, const struct option *b)
{
	if (a->sum != b->sum)
		return numbers_compare(a->sum, b->sum);
	if (a->pods != b->pods)
		return numbers_compare(a->pods, b->pods);
	if (a->rank_sum != b->rank_sum)
		return numbers_compare(a->rank_sum, b->rank_sum);
	return numbers_compare(b->start_sum, a->start_sum);
}

/* The first pod by name that is in one of two sets of victims only, if it is before *first
 * (ID_NONE: none yet); *in_a: that set is a. */
void counts_names_differ(const struct counts *t, const struct option *a, const struct option *b,
                         pod_id *first, bool *in_a);

/* Sets goes[unit] of the best set; false if the curves do not suffice, or steps are spent. */
bool counts_share_out(struct counts *t, bool *goes);

#endif
