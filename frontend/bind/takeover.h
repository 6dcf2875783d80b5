/* SPDX-License-Identifier: Apache-2.0 */
/* Takeover: fences in-flight Bindings of a previous instance before this one may act.
 *
 * A previous leader may have died, or lost its lease, with Bindings in flight that cannot be
 * enumerated. A partially bound gang may have one, and the plan for its other members depends on
 * the outcome. So each waiting member of a gang with a bound member is fenced
 * (frontend/bind/fence.h) before the core may plan: a Binding applied before shows in the answer,
 * and none can be applied afterwards (docs/decisions/039).
 *
 * With a journal they can be enumerated, and the core keeps their nodes meanwhile; then only what
 * the journal does not say is fenced here: all of the above if there was none, each waiting pod if
 * it could not be read, and pods whose nodes do not exist any more. */
#ifndef MUSTER_FRONTEND_TAKEOVER_H
#define MUSTER_FRONTEND_TAKEOVER_H

#include "frontend/base/env.h"
#include "frontend/journal/intents.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct takeover_counts {
	uint64_t fenced; /* pods */
	uint64_t left;   /* whose write failed */
};

struct takeover;

struct takeover *takeover_new(const struct env *env, struct model *model);
void takeover_free(struct takeover *s);

/* The lists are complete and this instance may write: fences those, and what was added. */
void takeover_begin(struct takeover *s, enum intents_fence fence);
void takeover_add(struct takeover *s, const struct pod_view *pod);

/* Returns the monotonic time of the next call; gives up after 10 s and 5 ms for each pod. */
uint64_t takeover_poll(struct takeover *s);

/* True when the core may plan. */
bool takeover_over(const struct takeover *s);

const struct takeover_counts *takeover_counts(const struct takeover *s);

#endif
