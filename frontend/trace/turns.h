/* SPDX-License-Identifier: Apache-2.0 */
/* How long the parts of a turn of the frontend's loop took: which of them held up all others, and
 * for how long.  The loop's thread adds; the time that it sleeps for want of work is in none. */
#ifndef MUSTER_FRONTEND_TURNS_H
#define MUSTER_FRONTEND_TURNS_H

#include "frontend/base/histogram.h"

enum turn_part {
	TURN_COMMANDS,  /* of the core: bindings, reasons */
	TURN_QUESTIONS, /* of the extender's clients, and their tokens */
	TURN_REQUESTS,  /* what is due: bindings and events to send, records for the core */
	TURN_PAGES,     /* /metrics and the page */
	TURN_RESPONSES, /* of the API server: lists, watches, answers */
	TURN_PARTS
};

struct turns {
	struct histogram parts[TURN_PARTS]; /* ns, buckets_attempt */
};

/* The value of the metric's label `part`. */
const char *turn_part_name(enum turn_part part);

/* The part lasted from begun_ns until now_ns, waited_ns of it asleep.  Returns now_ns, when the
 * next one begins. */
uint64_t turns_add(struct turns *t, enum turn_part part, uint64_t begun_ns, uint64_t now_ns,
                   uint64_t waited_ns);

#endif
