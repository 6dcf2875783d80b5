/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be over before a frontend begins to act.
 *
 * Another instance may have died, or lost its lease, with Bindings under way of which nobody alive
 * knows. It can't be told which; but a gang that it was amid has some members bound, and what is
 * planned for the others depends on which. So each member that waits while another has a node gets
 * a write first (frontend/bind/fence.h), before the core may plan: what landed before it shows in
 * the answer, and nothing can land after it (docs/decisions/039). */
#ifndef MUSTER_FRONTEND_SETTLE_H
#define MUSTER_FRONTEND_SETTLE_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct settle_counts {
	uint64_t settled; /* pods */
	uint64_t left;    /* whose write did not succeed */
};

struct settle;

struct settle *settle_new(const struct env *env, struct model *model);
void settle_free(struct settle *s);

/* The lists are in and we may write.  Returns when it wants to be called next; after 10 s it gives
 * up what isn't done. */
uint64_t settle_poll(struct settle *s);

/* The core may plan. */
bool settle_over(const struct settle *s);

const struct settle_counts *settle_counts(const struct settle *s);

#endif
