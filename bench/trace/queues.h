/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of a log's users, and how fairly a play served them. */
#ifndef MUSTER_BENCH_TRACE_QUEUES_H
#define MUSTER_BENCH_TRACE_QUEUES_H

#include "bench/trace/trace.h"
#include "ipc/abi_queue.h"

#include <stdbool.h>
#include <stdint.h>

/* As it is defined; places are those of trace_job.milli. */
struct trace_queue {
	struct event_queue event;           /* its number is its index */
	struct queue_amount amount;         /* of the places */
	const struct queue_amount *amounts; /* event.amounts_n: of a log &amount, of a recording all */
	const char *name;
	bool leaf;
};

struct trace_queues {
	struct trace_queue *at; /* [0] is the root; parents come before their children */
	uint32_t n;
	uint32_t *of_user;            /* by trace_job.user: a leaf */
	struct queues_read *read;     /* NULL: they are those of the recording */
	struct queue_amount *amounts; /* of a recording with another tree: of all queues */
};

/* `what`: a file as muster-frontend --queues config has it, or "users": a queue of weight 1 for
 * each user of the log.  A user's jobs go to the queue of that name, to the one that lists it among
 * its namespaces, or to `default`.  Of amounts `cpu` counts, or `nvidia.com/gpu` if the log's
 * places are GPUs.  NULL and a message. */
struct trace_queues *trace_queues_new(const struct trace *t, const char *what);
/* The queues of the recording; NULL, and a message: a user has none of them. */
struct trace_queues *trace_queues_recorded(const struct trace *t);
void trace_queues_free(struct trace_queues *q);

/* Jain's index over the leaves with jobs, from the first submission to the last: of the places that
 * each had over those that it was entitled to, both summed over time.  It is 1 if all had the same
 * part.
 *
 * Entitled are at each moment, from the root down, the children of a queue to what they ask for,
 * at most their limit: first of what is guaranteed, then by weight (water filling). */
double fair_jain(const struct play *p, const struct trace *t, const struct trace_queues *q,
                 uint32_t nodes);

/* The 99th percentile of the waits of a queue's jobs, QUEUE_MISSING: of all; negative: it has
 * none. */
double fair_wait_p99(const struct play *p, const struct trace *t, const struct trace_queues *q,
                     uint32_t queue);

/* The mean wait of all jobs but a user's. */
double fair_others_wait(const struct play *p, const struct trace *t, uint32_t user);

#endif
