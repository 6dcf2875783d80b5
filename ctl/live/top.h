/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl top: looks at the ledger, again and again, and draws what it saw.
 *
 *   top_look_take() ──► top_draw() ──► sheet ──► the terminal (top_screen.c)
 *                          ▲             └─────► standard output
 *                     what the keys chose */
#ifndef MUSTER_CTL_TOP_H
#define MUSTER_CTL_TOP_H

#include "ctl/live/live.h"
#include "ctl/live/rows.h"
#include "ctl/term/sheet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum top_sort { TOP_QUEUE, TOP_NAME, TOP_AGE, TOP_PRIORITY, TOP_MEMBERS, TOP_SORTS };
extern const char *const top_sort_names[TOP_SORTS];

/* What keys or flags chose. */
struct top_view {
	enum top_sort sort;
	bool reversed;
	bool waiting_only;
	char filter[64]; /* a part of the name or state, "" */
	size_t first;    /* gangs above the first row */
	bool typing;     /* the filter */
};

/* The ledger at one moment. */
struct top_look {
	bool there; /* else all below is of before */
	uint64_t at_ns, wall_ns;
	uint64_t events, plans, plan_ns_sum, plan_ns_max, binds;
	uint64_t pods, pods_pending, pods_bound, epoch;
	bool synced;
	char held[OBSERVE_NAME_MAX]; /* the gang that room is held for, "" */
	struct nodes nodes;
	struct gangs gangs;
};

/* The ledger alone is read.  Needs no memory of before. */
void top_look_take(const struct observer *o, struct top_look *out);
void top_look_free(struct top_look *look);

/* As many lines as there is to say, or exactly `high`, each cut at `wide` by who shows it.
 * Rates are those since `earlier`; NULL: none is told. */
void top_draw(struct sheet *s, const struct live *l, const struct top_look *look,
              const struct top_look *earlier, struct top_view *view, size_t wide, size_t high);

/* Until a key or signal ends it; -1 when there is no terminal of that kind, or it can't move its
 * cursor. */
int top_screen(struct live *l, struct top_view *view, double interval_s);

#endif
