/* SPDX-License-Identifier: Apache-2.0 */
/* When published reasons are recomputed.  The numbers in the reason of a waiting gang age as nodes
 * change; every REFRESH_NS a new round begins, in which the walk (core/queue/scheduling_queue.h)
 * recomputes them, and gangs whose reason was held back by the rate limit are tried again.
 *
 * Only the functions below write struct refresh. */
#ifndef MUSTER_CORE_REFRESH_H
#define MUSTER_CORE_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

#define REFRESH_NS UINT64_C(2000000000)

struct refresh {
	uint32_t round;       /* struct gang.refresh is the round of its reason */
	uint64_t last_ns;     /* of refresh_tick() */
	uint64_t log_n;       /* changes of nodes up to this round */
	uint64_t undone_n;    /* entries of the nodes' log that plans made and undid */
	bool search_deferred; /* a plan gave up without a search in this round */
	uint32_t *deferred;   /* gangs whose reason changed and was not published, each once */
	uint32_t deferred_n;
	bool *is_deferred; /* by gang */
};

void refresh_init(struct refresh *r, uint32_t gangs);
void refresh_free(struct refresh *r);

/* Forgets the deferred gangs; rounds and counts stay. */
void refresh_clear(struct refresh *r);

/* The reason of the gang changed too early to be published again. */
void refresh_defer(struct refresh *r, uint32_t index);

/* Removes and returns a deferred gang; ID_NONE: there is none. */
uint32_t refresh_pop_deferred(struct refresh *r);

/* So many entries of the nodes' log were undone: they are no change. */
static inline void refresh_note_undone(struct refresh *r, uint64_t n)
{
	r->undone_n += n;
}

/* The planner gave up without a search; the next round allows one. */
static inline void refresh_note_search_deferred(struct refresh *r)
{
	r->search_deferred = true;
}

/* True once in REFRESH_NS. */
bool refresh_tick(struct refresh *r, uint64_t now_ns);

/* Begins a round if nodes changed or a search is due; `log_n`: of the nodes. */
bool refresh_begin_round(struct refresh *r, uint64_t log_n);

#endif
