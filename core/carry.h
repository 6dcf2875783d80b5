/* Bindings in flight outlive the frontend: the API server may carry them out
 * after all, so their room is kept for the pod until the new frontend's list has
 * told what became of it. */
#ifndef MUSTER_CORE_CARRY_H
#define MUSTER_CORE_CARRY_H

#include "core/state.h"

/* A copy of what is in flight now, and of what an epoch that was never synced left
 * over, in *out.  -ENOMEM: nothing has changed. */
int carry_collect(const struct core *c, struct carried **out, size_t *out_n);

/* The lists are in: pods still unbound get their room again, fit or not, on the
 * same node, and their binding is sent again.  All others are forgotten. */
void carry_settle(struct core *c);

#endif
