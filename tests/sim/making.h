/* SPDX-License-Identifier: Apache-2.0 */
/* A script in the making. */
#ifndef MUSTER_TESTS_MAKING_H
#define MUSTER_TESTS_MAKING_H

#include "tests/sim/sim.h"

struct making {
	struct script *p;
	size_t room;
	uint64_t random;
	uint32_t pods, groups, nodes, foreigners;
};

uint32_t making_below(struct making *m, uint32_t n); /* n > 0 */
void making_add(struct making *m, uint64_t at_ns, enum action_kind kind, uint32_t a, uint32_t b,
                uint32_t c);

/* hole.c: a load that ends with an overfilled node if a late Binding is forgotten. */
void making_hole(struct making *m);
/* claims.c: another scheduler that takes devices. */
void making_claims(struct making *m);
/* queues.c: edits of their ConfigMap. */
void making_queues(struct making *m);
/* tenants.c: a namespace that harms the others. */
void making_tenants(struct making *m);

#endif
