/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a search for victims as a row of the ledger. */
#ifndef MUSTER_CORE_VICTIMS_ROW_H
#define MUSTER_CORE_VICTIMS_ROW_H

#include "core/world/keeper.h"

struct core;

struct victims_found {
	const struct core *core; /* that was searched */
	const struct search_facts *facts;
	const struct gang_search *search;
	gang_id gang;
	uint32_t generation; /* not 0 */
	bool budgets_unknown;
	struct reclaim_young young;
};

/* Writes the row; its answer. */
enum victims_answer victims_row_set(struct victims_row *row, const struct victims_found *found);
void victims_row_clear(struct victims_row *row);

#endif
