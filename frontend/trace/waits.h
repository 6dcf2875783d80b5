/* SPDX-License-Identifier: Apache-2.0 */
/* How long gangs waited for their start, by namespace and by queue.
 *
 * The wait begins with the first plan of the gang with all its members: GANG_WAITING, or
 * GANG_BINDING if it is placed at once.  It ends when the quorum is bound, and starts again if the
 * gang loses a member before.  A new core does not interrupt it, a new frontend does. */
#ifndef MUSTER_FRONTEND_WAITS_H
#define MUSTER_FRONTEND_WAITS_H

#include "frontend/base/histogram.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

#define WAITS_NAMED 32 /* histograms of their own; the others share one */
#define WAITS_OTHERS "(others)"

struct waits_of {
	char name[QUEUE_NAME_MAX]; /* WAITS_OTHERS is no name */
	struct histogram waited;
};

struct waits_table {
	uint32_t n;
	struct waits_of named[WAITS_NAMED + 1]; /* the last one: WAITS_OTHERS */
};

struct waits_figures {
	struct waits_table namespaces, queues;
};

struct waits;

struct waits *waits_new(void);
void waits_free(struct waits *w);
const struct waits_figures *waits_figures(const struct waits *w);

/* The gang has a new state; its id is within the limits.  True: its wait is over, *waited_ns. */
bool waits_gang(struct waits *w, const struct cmd_gang *cmd, uint64_t now_ns, uint64_t *waited_ns);

/* queue: its name; NULL or "": there are no queues. */
void waits_add(struct waits *w, const char *namespace, const char *queue, uint64_t waited_ns);

#endif
