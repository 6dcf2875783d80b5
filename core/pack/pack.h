/* SPDX-License-Identifier: Apache-2.0 */
/* Packing: do pieces of several kinds fit on nodes together, each node with its own room?
 *
 * Vector bin packing with unlike bins, exact: the answer is a packing, a proof that there is none,
 * or that the steps were used up.  A function of the problem and the steps: no clock, no address
 * and no random source decides.  docs/decisions/064 has the method and its measurements.
 *
 * Nothing here knows of gangs: core/plan/plan_pack.c makes the problem out of a plan. */
#ifndef MUSTER_CORE_PACK_H
#define MUSTER_CORE_PACK_H

#include <stdint.h>

#define PACK_KINDS 64u      /* more: gave up */
#define PACK_PIECES 65535u  /* of one kind, likewise */
#define PACK_RESOURCES 64u  /* likewise */
#define PACK_ROLES 64u      /* likewise */
#define PACK_CELLS 4000000u /* nodes * (kinds + resources), likewise */

/* Memory of the caller, constant during a search.  A piece of kind k fits where every resource of
 * which it takes more than 0 has that much room. */
struct pack_problem {
	uint32_t nodes, kinds, resources, roles;
	const int64_t *takes;  /* [kind * resources + resource], not negative */
	const uint32_t *n;     /* by kind: how many pieces there are */
	const uint32_t *role;  /* by kind, < roles */
	const int64_t *room;   /* [node * resources + resource]; below 0 counts as 0 */
	const uint32_t *most;  /* [node * kinds + kind]: not more there, whatever the room */
	uint32_t omit;         /* so many pieces in all may be left out ... */
	const uint32_t *omits; /* ... and so many of each role */
};

enum pack_answer {
	PACK_PLACED,
	PACK_IMPOSSIBLE, /* proved */
	PACK_GAVE_UP,    /* no steps left, or the problem exceeds a limit above */
};

/* A step is about 10 ns.  *steps: how many may be made; on return, how many were left.  With
 * PACK_PLACED, placed[node * kinds + kind] is how many pieces go there; otherwise it is undefined.
 */
enum pack_answer pack(const struct pack_problem *problem, uint64_t *steps, uint16_t *placed);

#endif
