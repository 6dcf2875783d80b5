/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording of muster-core --record as a log of jobs.
 *
 *   recording ─► history: pods, gangs, nodes, queues, with times ─► jobs and a world
 *
 * Time 0 is when the first initial lists were complete; it ends with the last record.  The file is
 * not trusted. */
#ifndef MUSTER_BENCH_TRACE_RECORDING_H
#define MUSTER_BENCH_TRACE_RECORDING_H

#include "bench/trace/world.h"

#define NOT_YET UINT64_MAX

/* All that became of a pod, whatever epochs it lived in. */
struct past_pod {
	uint32_t shape, user, gang, node; /* KEYS_NONE: no gang; not bound; its queue is not there */
	int32_t priority;
	uint32_t run_s, expected_s, scheduled_s;
	uint32_t stated_s; /* while it waited */
	uint32_t epoch;    /* that knew it last */
	uint32_t next;     /* of its gang, KEYS_NONE: it is the last */
	uint64_t created_ns;
	uint64_t ready_s, bound_s, end_s; /* NOT_YET */
	bool is_ours, lasts;
	bool counts; /* among its gang's */
};

struct past_gang {
	uint64_t created_ns; /* 0: that of its oldest member */
	uint32_t quorum, epoch, first;
	uint32_t ready_n, bound_n; /* members that exist; those that are bound are ready, too */
	uint32_t stays_n;          /* of the bound ones: bound before they were seen to wait */
	int32_t priority;
	uint64_t ready_s, start_s;   /* when as many as the quorum were ready, bound */
	bool is_complete;            /* its object is there */
	bool has_priority, is_there; /* the object was not deleted */
	bool has_rules;
};

struct past_queue {
	struct event_queue body;
	struct queue_amount *amounts;
	uint32_t parent; /* number of its name, or KEYS_NONE; at the end */
	bool is_there;   /* at the end */
};

/* A shape as it was recorded: the same requests with the same denied nodes are one world_shape. */
struct past_shape {
	uint32_t requests; /* in history.requests */
	uint32_t words_n;
	uint64_t *denied; /* nodes of the world; NULL: none */
	bool has_rules;   /* others than those over a node alone */
};

struct history {
	struct world *world; /* columns, nodes and their steps, kinds */
	struct trace *trace; /* users */
	struct keys users, pods_by_uid, gang_names, queue_names;
	struct past_pod *pods;
	size_t pods_room;
	struct past_shape *shapes;
	uint32_t shapes_n;
	size_t shapes_room;
	struct world_shape *requests; /* without sets */
	uint32_t requests_n;
	size_t requests_room;
	struct keys shape_keys;
	struct past_gang *gangs;
	uint32_t gangs_n;
	size_t gangs_room;
	struct past_queue *queues;
	size_t queues_room;
	bool has_queues; /* at the end */
	uint64_t base_s; /* of time 0, since 1970 */
	uint64_t end_s;
};

/* False and a message.  Free with trace_free(). */
bool trace_recording_read(struct trace *t, const char *path);

/* What the history has, as jobs.  False and a message. */
bool history_jobs(struct history *h, const char *path);

#endif
