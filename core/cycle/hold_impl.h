/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of holds share. */
#ifndef MUSTER_CORE_HOLD_IMPL_H
#define MUSTER_CORE_HOLD_IMPL_H

#include "core/cycle/hold.h"

/* The ready members of a gang, by kind. */
struct wanted {
	kind_id kinds[HOLD_KINDS_MAX];
	uint32_t members[HOLD_KINDS_MAX];
	uint32_t n;
	const uint64_t *nodes; /* bits: where room is to be kept; NULL: on all */
	const uint64_t
		*whole; /* bits: which of them are to be kept whole; NULL: none, but see views.h */
};

/* ---- core/cycle/hold.c ---- */

/* Does the shape of the kind have rules between pods? */
bool kind_has_rules(const struct core *c, kind_id kind);

/* How many pods of the shape, `most` or fewer, the node takes when nobody is there. */
uint32_t empty_most(const struct core *c, node_id id, const struct shape *s, uint32_t most);

/* No more than these of the kind, of `most`, could be placed by its rules between pods, each for
 * itself. */
uint32_t ruled_most(struct core *c, kind_id kind, uint32_t most);

/* ---- core/cycle/hold_domain.c ---- */

/* Of a gang with required levels: is there a domain that could take `need` when nobody is there?
 * Then room is to be kept in the one where most have room now, and as long as that could take them,
 * in the same one.  w->nodes are its nodes then, in domains.mask. */
bool domain_could_fit(struct core *c, const struct gang *g, struct wanted *w, uint64_t need);

/* ---- core/cycle/hold_drain.c ---- */

/* Of one kind without rules between pods: keep nodes whole from now on, as many as could take
 * `need` when nobody is there.  These are w->whole then, in core.drain: the nearest to be free
 * first, and later the same ones as long as they could take it. */
void drain_find(struct core *c, struct wanted *w, uint64_t need);

#endif
