/* Bindings in flight outlive the frontend: the API server may carry them out
 * after all, so their room is kept for the pod until the new frontend's list has
 * told what became of it. */
#ifndef MUSTER_CORE_CARRY_H
#define MUSTER_CORE_CARRY_H

#include "core/state.h"

/* A copy of what is in flight now, and of what an epoch that was never synced left
 * over, in *out.  -ENOMEM: nothing has changed. */
int carry_collect(const struct core *c, struct carried **out, size_t *out_n);

/* The lists are in: pods still unbound get their room on the same node again, and their
 * binding is sent again; those that do not fit there any more, and gangs that are no
 * longer whole with what is left, are planned anew.  Should an old binding land after
 * all, the API server refuses the new one. */
void carry_settle(struct core *c);

#endif
