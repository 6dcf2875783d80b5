/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/refresh.h"

#include "ipc/abi.h"
#include "ipc/memory.h"

#include <stdlib.h>

void refresh_init(struct refresh *r, uint32_t gangs)
{
	*r = (struct refresh){ .deferred = must_array(gangs, sizeof(*r->deferred)),
		                   .is_deferred = must_array(gangs, sizeof(*r->is_deferred)) };
}

void refresh_free(struct refresh *r)
{
	free(r->deferred);
	free(r->is_deferred);
}

void refresh_clear(struct refresh *r)
{
	while (refresh_pop_deferred(r) != ID_NONE)
		;
}

void refresh_defer(struct refresh *r, uint32_t index)
{
	if (!r->is_deferred[index])
		r->deferred[r->deferred_n++] = index;
	r->is_deferred[index] = true;
}

uint32_t refresh_pop_deferred(struct refresh *r)
{
	uint32_t index = r->deferred_n > 0 ? r->deferred[--r->deferred_n] : ID_NONE;

	if (index != ID_NONE)
		r->is_deferred[index] = false;
	return index;
}

bool refresh_tick(struct refresh *r, uint64_t now_ns)
{
	if (now_ns - r->last_ns < REFRESH_NS)
		return false;
	r->last_ns = now_ns;
	return true;
}

bool refresh_begin_round(struct refresh *r, uint64_t log_n)
{
	const uint64_t changes = log_n - r->undone_n;

	if (r->log_n == changes && !r->search_deferred)
		return false;
	r->search_deferred = false;
	r->log_n = changes;
	r->round++;
	return true;
}
