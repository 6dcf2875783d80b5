/* SPDX-License-Identifier: Apache-2.0 */
/* How many requests of one sort may be in flight at an API server whose latency and share for us
 * are not known and change: a window that grows while the rate of answers grows with it.
 *
 *              a step gains half of what it adds
 *            ┌───┐
 *            │   ▼                  gains less, or 429
 *         SEEKING ─────────────────────────────────────► RESTING
 *            ▲                                              │
 *            └────────── 5 s later, at most 80 s ───────────┘
 *
 * A round is as many answers as the window is wide, of requests that were sent since it has that
 * size and while more waited.  With a full window the rate is size / latency (Little's law), so two
 * rounds compare rates by their mean latencies.  The first search doubles, later steps add a
 * quarter.  A window that gained nothing returns to its old size: at a server that is busy with
 * other clients, or whose priority-and-fairness queues us, more requests only wait longer.
 *
 * Above `first` a round of four times the least mean of the last minute's takes a quarter away, so
 * that chance does not accumulate; a single answer may be much faster.  When there was no round for
 * a minute, the first search begins again.  A 429 or an answer that did not come halves it, once
 * for all requests that were in flight together, and to 1 at least; each window of successes then
 * gives one back, up to `first`.  Steps to 7/8 of what was refused and above wait 5 s, and twice as
 * long, at most 80 s, after each further refusal. */
#ifndef MUSTER_FRONTEND_WINDOW_H
#define MUSTER_FRONTEND_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
	unsigned size;        /* 1 ... most */
	unsigned first, most; /* first == most: it never seeks */

	unsigned successes; /* towards one more, below `first` */
	uint64_t sized_ns;  /* when it got this size */
	uint64_t halved_ns;

	/* The round. */
	unsigned skipped, answers; /* `skipped`: on connections that were opened for this size */
	uint64_t latency_sum_ns;

	/* The search. */
	bool stepped; /* the round decides on the step from `before` */
	bool tried;   /* a step has failed: later ones add a quarter */
	unsigned before;
	uint64_t before_latency_ns; /* mean */
	uint64_t rest_ns, rests_until_ns;
	unsigned refused_size; /* before it was halved; 0: never */
	uint64_t refused_rest_ns, refused_until_ns;

	uint64_t least_ns[2]; /* mean of this half minute and of the one before; 0: none */
	uint64_t least_since_ns;
};

/* 1 <= first <= most. */
void window_init(struct window *w, unsigned first, unsigned most);

/* A success; `waiting`: more requests wait for the window. */
void window_answered(struct window *w, uint64_t now_ns, uint64_t sent_ns, bool waiting);

/* The server throttled a request or did not answer.  False if the window is smaller already by a
 * request sent with it. */
bool window_slower(struct window *w, uint64_t now_ns, uint64_t sent_ns);

#endif
