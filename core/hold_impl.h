/* What the files of holds share. */
#ifndef MUSTER_CORE_HOLD_IMPL_H
#define MUSTER_CORE_HOLD_IMPL_H

#include "core/hold.h"

/* The ready members of a gang, by kind. */
struct wanted {
	kind_id kinds[HOLD_KINDS_MAX];
	uint32_t members[HOLD_KINDS_MAX];
	uint32_t n;
	bool within; /* room is kept on the nodes of views.hold_nodes alone */
};

/* ---- core/hold.c ---- */

/* How many pods of the shape, `most` or fewer, the node takes when nobody is there. */
uint32_t empty_most(const struct core *c, node_id id, const struct shape *s, uint32_t most);

/* No more than these of the kind, of `most`, could be placed by its rules between pods, each for itself. */
uint32_t ruled_most(const struct core *c, kind_id kind, uint32_t most);

/* ---- core/hold_domain.c ---- */

/* Of a gang with required levels: is there a domain that could take `need` when nobody is there?  Then
 * room is to be kept in the one where most have room now, and as long as that could take them, in the same
 * one.  Its bits are written to domains.mask, by node. */
bool domain_could_fit(struct core *c, const struct gang *g, const struct wanted *w, uint64_t need);

#endif
