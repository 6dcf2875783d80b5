/* SPDX-License-Identifier: Apache-2.0 */
/* A log of jobs, and its replay through the core in virtual time.
 *
 * Formats, told by the first line that is no comment:
 *
 *   Standard Workload Format   18 numbers a line, comments from `;` on; -1: not known
 *                              (Parallel Workloads Archive)
 *   Philly                     CSV with num_gpu, submit_time and duration, in minutes, as Chronus
 *                              has prepared it
 *   openb pods                 CSV with num_gpu, gpu_milli, creation_time and deletion_time
 *
 * Files may be gzipped. */
#ifndef MUSTER_BENCH_TRACE_H
#define MUSTER_BENCH_TRACE_H

#include "core/base/config.h"

#include <stdbool.h>
#include <stdint.h>

#define TRACE_NOT_STARTED UINT64_MAX

struct trace_job {
	uint64_t number;   /* in the log */
	uint64_t submit_s; /* since the first of the log */
	uint64_t run_s;    /* as it ran, 0 or more */
	uint64_t limit_s;  /* as its user asked, 1 or more; it is ended then */
	uint32_t members;
	uint32_t milli; /* of a node's places, each member */
	uint32_t place; /* in the file */
};

struct trace {
	struct trace_job *jobs; /* by time of submission, then by place in the file */
	uint32_t jobs_n;
	uint32_t nodes;      /* as the log's header says; 0: it does not */
	uint32_t node_milli; /* places of a node */
	/* Lines that are no jobs: without a size or a run time, or cancelled before their start. */
	uint64_t unusable;
};

/* False and a message on standard error that names file, line and field. */
bool trace_read(struct trace *t, const char *path);
void trace_free(struct trace *t);

struct play_options {
	uint32_t nodes;         /* of trace.node_milli places each */
	uint32_t promise_depth; /* gangs of the queue that get a promised start; 0: none */
	enum score_policy score;
	bool true_times; /* limits are the run times */
	/* NULL, or called now and then. */
	void (*progress)(void *context, uint32_t ended, uint32_t jobs);
	void *context;
	bool check; /* core_valid() after each record, in tests */
};

struct play_job {
	uint64_t start_s; /* TRACE_NOT_STARTED: it is larger than the cluster */
	uint64_t end_s;
	uint64_t told_s;      /* as first promised; TRACE_NOT_STARTED: never */
	uint32_t nodes_first; /* in play.nodes: where its members ran */
};

struct play {
	struct play_job *jobs; /* as in the trace */
	uint32_t *nodes;
	uint32_t nodes_n, nodes_room;
	uint32_t left_out;    /* jobs larger than the cluster */
	uint64_t promises;    /* jobs that were promised a start */
	uint64_t late;        /* of them: started after what was promised first */
	uint64_t moved_later; /* times that a promise was replaced by a later one */
	double slowdown;      /* mean, bounded by SLOWDOWN_BOUND_S */
	double wait_s;        /* mean */
	double utilisation;   /* of all places, from the first submission to the last end */
	uint64_t span_s;
};

#define SLOWDOWN_BOUND_S 10.0

/* Plays all jobs.  False and a message on standard error if the core refuses a record, which is a
 * bug, or memory is short. */
bool trace_play(struct play *p, const struct trace *t, const struct play_options *options);
void play_free(struct play *p);

/* A Gantt chart as SVG: nodes over time.  False and a message if it can't be written. */
bool play_gantt(const struct play *p, const struct trace *t, uint32_t nodes, const char *path);

#endif
