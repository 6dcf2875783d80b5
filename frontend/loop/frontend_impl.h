/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the frontend: frontend.c lives and listens, commands.c does what the core asks for.
 */
#ifndef MUSTER_FRONTEND_FRONTEND_IMPL_H
#define MUSTER_FRONTEND_FRONTEND_IMPL_H

#include "frontend/loop/frontend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pending_result {
	enum record_kind kind;
	struct result result;
};

struct frontend {
	struct frontend_config config;
	const struct env *env;
	struct model *model;
	struct limits limits; /* private: what commands are checked against */
	struct watch **watches;
	size_t watches_n;
	struct writer *writer;
	struct settle *settle;
	struct report *report;
	struct extender *extender; /* NULL: off */
	struct lease *lease;       /* NULL: no election */
	uint64_t coreless_max_ns;  /* who leads without a core for that long, or with one that does not
	                              last, gives it up */
	uint64_t core_lasts_ns;    /* ... this one has lasted */
	struct latency *latency;
	struct decisions *decisions;

	struct frontend_port port;
	bool up;
	bool started;    /* a first core was there: the watches run */
	bool synced;     /* model_set_synced() was called */
	uint64_t led_ns; /* with a lease: it leads since then; 0: not yet */
	bool stopping;
	bool coreless;           /* it led without a core for too long */
	uint64_t up_ns, down_ns; /* when the last core came, and went */
	uint64_t coreless_ns;    /* it led without one so long, since the last that lasted and up to the
	                            last that came */
	bool flushed;            /* all that was dirty is in the event ring */
	bool replayed;           /* a new core has read the whole table */
	uint64_t ticked_ns;      /* when the last EVENT_TICK was sent */

	/* Objects were left out for want of room: they are listed again once something went. */
	uint64_t room_used;   /* what was in use at most since the last such list */
	uint64_t room_due_ns; /* when to list; NEVER_NS: nothing went */
	uint64_t room_listed_ns;

	/* Results that found no room yet, oldest first, from `results_first` on. */
	struct pending_result *results;
	size_t results_first, results_n, results_room;
	struct frontend_counts counts;
};

#endif
