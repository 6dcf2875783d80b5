/* SPDX-License-Identifier: Apache-2.0 */
/* A log of jobs, and its replay through the core in virtual time.
 *
 * Formats, told by the first line that is no comment:
 *
 *   Standard Workload Format   18 numbers a line, comments from `;` on; -1: not known
 *                              (Parallel Workloads Archive)
 *   Philly                     CSV with num_gpu, submit_time and duration, in minutes, as Chronus
 *                              has prepared it, with its virtual clusters as `user`
 *   openb pods                 CSV with num_gpu, gpu_milli, creation_time and deletion_time
 *   muster's own               what muster-core --record wrote (bench/trace/recording.h)
 *
 * Files may be gzipped. */
#ifndef MUSTER_BENCH_TRACE_H
#define MUSTER_BENCH_TRACE_H

#include "core/base/config.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACE_NOT_STARTED UINT64_MAX
#define TRACE_NO_LIMIT UINT64_MAX

struct trace_job {
	uint64_t number;   /* in the log */
	uint64_t submit_s; /* since the first of the log */
	uint64_t run_s;    /* as it ran, 0 or more */
	uint64_t limit_s;  /* as its user asked, 1 or more; it is ended then */
	uint32_t members;
	uint32_t milli;    /* of a node's places, each member; of a recording the mean */
	uint32_t place;    /* in the file */
	uint32_t user;     /* in trace.users */
	uint32_t quorum;   /* members that start together; 0: all */
	uint32_t stated_s; /* as its user asked, without grace; of several members the most; 0: none */
	/* Of a recording, else 0. */
	uint32_t shapes_first; /* of its members, in world.member_shapes */
	uint32_t expected_s;   /* how long it was expected to run; not enforced */
	int32_t priority;
	bool lasts; /* it does not end by itself */
};

static inline uint32_t trace_quorum(const struct trace_job *j)
{
	return j->quorum > 0 ? j->quorum : j->members;
}

struct world; /* bench/trace/world.h */

struct trace {
	struct trace_job *jobs; /* by time of submission, then by place in the file */
	uint32_t jobs_n;
	uint32_t nodes;      /* as the log's header says; 0: it does not */
	uint32_t node_milli; /* places of a node; of a recording the mean over all nodes and time */
	bool gpus;           /* they are GPUs */
	/* Names, each once; "": the log names none.  SWF has numbers: "user-12". */
	char **users;
	uint32_t users_n;
	/* Lines that are no jobs: without a size or a run time, or cancelled before their start. */
	uint64_t unusable;
	/* Of a recording, NULL: it is none; shared by the logs that trace_multiply() made of it. */
	struct world *world;
	bool world_is_borrowed;
	uint64_t end_s; /* the play ends; 0: with its last job */
};

/* False and a message on standard error that names file, line and field, or the offset. */
bool trace_read(struct trace *t, const char *path);
void trace_free(struct trace *t);

struct keys;
/* Its users, by number; the names are copied. */
void trace_users_set(struct trace *t, const struct keys *users);

/* Its number, or users_n. */
uint32_t trace_user(const struct trace *t, const char *name);
/* The log in which each job of a user was submitted `times` times at once; for trace_free().  False
 * and a message: there would be too many jobs. */
bool trace_multiply(struct trace *out, const struct trace *t, uint32_t user, uint32_t times);

struct trace_queues; /* bench/trace/queues.h */

struct play_options {
	uint32_t nodes;         /* of trace.node_milli places each */
	uint32_t promise_depth; /* gangs of the queue that get a promised start; 0: none */
	enum score_policy score;
	bool true_times;                   /* limits are the run times */
	const struct trace_queues *queues; /* of the same trace; NULL: there are none */
	uint32_t reclaim; /* PREEMPTION_RECLAIM, with PREEMPTION_FAIR by share too; 0: off */
	/* NULL, or called now and then. */
	void (*progress)(void *context, uint32_t ended, uint32_t jobs);
	void *context;
	bool check; /* core_valid() after each record, in tests */
};

struct play_job {
	uint64_t start_s; /* the last time; TRACE_NOT_STARTED: it was left out */
	uint64_t end_s;
	uint64_t told_s;      /* as first promised; TRACE_NOT_STARTED: never */
	uint32_t nodes_first; /* in play.nodes: where its members ran */
};

/* A run of a job that was evicted. */
struct play_lost {
	uint32_t job;
	uint64_t start_s, end_s;
};

struct play {
	struct play_job *jobs; /* as in the trace */
	uint32_t *nodes;
	uint32_t nodes_n;
	size_t nodes_room;
	/* Jobs larger than the cluster, and those that still waited when all others had ended: their
	 * queues never let them start. */
	uint32_t left_out;
	struct play_lost *lost; /* by time */
	size_t lost_n, lost_room;
	uint64_t reclaimed_pods; /* of those runs */
	double lost_share;       /* of all places, as utilisation */
	uint64_t promises;       /* jobs that were promised a start */
	uint64_t late;           /* of them: started after what was promised first */
	uint64_t late_minute;    /* of them: by more than a minute */
	uint64_t late_most_s;    /* by how much */
	double late_s;           /* mean of those that were late */
	uint64_t moved_later;    /* times that a promise was replaced by a later one */
	double slowdown;         /* mean, bounded by SLOWDOWN_BOUND_S */
	double wait_s;           /* mean */
	double utilisation; /* of all places, from the first submission to the last end, by runs that
	                     * were not lost */
	uint64_t span_s;
	uint32_t waiting; /* of a recording: jobs that wait at its end; in wait_s with that time */
};

#define SLOWDOWN_BOUND_S 10.0

/* Plays all jobs.  False and a message on standard error if the core refuses a record, which is a
 * bug, or memory is short. */
bool trace_play(struct play *p, const struct trace *t, const struct play_options *options);
void play_free(struct play *p);
/* Of a recording: what happened, in place of a play. */
void trace_recorded(struct play *p, const struct trace *t);

/* A Gantt chart as SVG: nodes over time.  False and a message if it can't be written. */
bool play_gantt(const struct play *p, const struct trace *t, uint32_t nodes, const char *path);

#endif
