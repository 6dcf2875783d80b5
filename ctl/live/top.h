/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl top: looks at the ledger, again and again, and draws what it saw.
 *
 *   top_look_take() ──► top_draw() ──► text  ──► the terminal (top_screen.c)
 *                          ▲             └─────► standard output
 *                     what the keys chose */
#ifndef MUSTER_CTL_TOP_H
#define MUSTER_CTL_TOP_H

#include "ctl/live/live.h"
#include "ctl/live/rows.h"
#include "ctl/term/style.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_FILTER_BYTES 64

enum top_sort { TOP_QUEUE, TOP_NAME, TOP_AGE, TOP_PRIORITY, TOP_MEMBERS, TOP_SORTS };
extern const char *const top_sort_names[TOP_SORTS];

/* Chosen by flags or keys. */
struct top_view {
	enum top_sort sort;
	bool reversed;
	bool waiting_only;
	char filter[TOP_FILTER_BYTES]; /* a part of the name or state, "" */
	size_t first;                  /* gangs above the first row */
	bool typing;                   /* the filter */
};

/* The ledger at one moment. */
struct top_look {
	bool there; /* false: all below is of the last time it was there */
	uint64_t at_ns, wall_ns;
	uint64_t events, plans, plan_ns_sum, plan_ns_max, binds;
	uint64_t pods, pods_pending, pods_bound, epoch;
	bool synced;
	char held[OBSERVE_NAME_MAX]; /* owner of the backfill reservation, "" */
	struct nodes nodes;
	struct gangs gangs;
};

/* Reads the ledger alone. `out` need not be initialized. */
void top_look_take(const struct observer *o, struct top_look *out);
void top_look_free(struct top_look *look);

/* As many lines as needed (`high` is 0), or exactly `high`; the caller cuts them at `wide`. Rates
 * are since `earlier`; NULL: no rates. */
void top_draw(struct styled_text *s, const struct live *l, const struct top_look *look,
              const struct top_look *earlier, struct top_view *view, size_t wide, size_t high);

/* Until a key or signal ends it. -1: the terminal type is unknown, or its cursor can't be moved. */
int top_screen(struct live *l, struct top_view *view, double interval_s);

#endif
