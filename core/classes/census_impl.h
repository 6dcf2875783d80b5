/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the census share. */
#ifndef MUSTER_CORE_CENSUS_IMPL_H
#define MUSTER_CORE_CENSUS_IMPL_H

#include "core/classes/census.h"

/* Free the memory alone; NULL is fine. */
void links_forget(struct shape_links *links);

/* One pod more (by 1) or less (UINT32_MAX) that matches; `exists`: the node does. */
static inline void selector_change(struct selector *s, node_id node, bool exists, bool leaving,
                                   uint32_t by)
{
	s->placed[node] += by;
	if (!leaving)
		s->staying[node] += by;
	if (exists)
		s->placed_n += (uint64_t)(int64_t)(int32_t)by;
}

/* core/classes/census_class.c */

/* The selector with those parts, held once more; the pods that it matches are of their new kind. */
int census_selector_take(struct census *cs, const struct selector_part *parts, uint32_t parts_n,
                         selector_id *out);
/* Forget idle selectors when they are many. */
void census_tidy(struct census *cs);

#endif
