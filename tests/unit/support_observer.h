/* SPDX-License-Identifier: Apache-2.0 */
/* What an observer sees of a ledger that a test wrote. */
#ifndef MUSTER_TESTS_SUPPORT_OBSERVER_H
#define MUSTER_TESTS_SUPPORT_OBSERVER_H

#include "ipc/observe.h"
#include "tests/unit/test.h"

#define COLUMNS 5u
#define NAMES 8u

/* A ledger without a core, its parts one behind the other; o.link.ledger.base is to be freed. */
static inline struct observer observer_make(uint32_t nodes, uint32_t gangs, uint64_t arena)
{
	struct observer o = { 0 };
	uint64_t at = sizeof(struct ledger);
	struct ledger_places *p = &o.places;
	void *memory;

	p->limits = (struct limits){
		.nodes = nodes, .gangs = gangs, .names = NAMES, .resources = COLUMNS, .name_bytes = arena
	};
	p->nodes_offset = at;
	at += nodes * sizeof(struct node_row);
	p->amounts_offset = at;
	at += UINT64_C(1) * AMOUNT_BLOCKS(COLUMNS) * nodes * sizeof(struct node_amounts);
	p->gangs_offset = at;
	at += gangs * sizeof(struct gang_row);
	p->names_offset = at;
	at += NAMES * sizeof(struct name_row);
	p->arena_offset = at;
	at += arena;
	memory = aligned_alloc(CACHE_LINE, (at + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	cr_assert(memory != NULL);
	memset(memory, 0, at);
	o.ledger = memory;
	o.link.ledger.base = memory;
	return o;
}

#endif
