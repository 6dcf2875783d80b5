/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement of a kind whose rules over single nodes were looked at before. */
#include "core/filter/judge_impl.h"

#include <string.h>

/* Nobody asks why: some bit. */
#define OUT_BEFORE WHY_BIT(NODE_FITS)

void judge_weigh(const struct census *cs, kind_id kind, const struct weighing *known,
                 struct judgement *out)
{
	const shape_id shape = cs->kinds.slots[kind].shape;
	const struct nodes *ns = cs->nodes;
	const struct judging j = { .cs = cs,
		                       .nodes = ns,
		                       .shape = &cs->shapes->slots[shape],
		                       .links = cs->links[shape],
		                       .kind = kind,
		                       .out = out,
		                       .scratch = out->scratch };

	out->feasible = 0;
	out->skipped = 0;
	out->whole = NODE_FITS;
	for (node_id id = 0; id < ns->used; id++)
		out->whys[id] = OUT_BEFORE;
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];

		if (known->points[rank] > 0)
			out->whys[id] = 0;
		out->scores[id] = (uint32_t)(known->points[rank] - 1);
		out->scratch->facts[id] = known->facts[rank];
	}
	judge_spread(&j);
	judge_pods(&j);
	judge_policy(&j);
	for (uint32_t rank = 0; rank < ns->count; rank++)
		out->feasible += judging_open(&j, ns->order[rank]);
	if (out->feasible > 0)
		judge_scores_between(&j, known->preferred);
}
