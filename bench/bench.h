/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of figures, with the context that is needed to interpret them. */
#ifndef MUSTER_BENCH_BENCH_H
#define MUSTER_BENCH_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One figure.  `goal` 0: none. */
struct bench_row {
	char name[64];
	const char *unit; /* s, ms, us, ns, per_s or bytes; percent in openb, preempt and trace, n: a
	                   * count or a ratio in trace */
	bool higher_is_better;
	double best;
	double median;
	double p99;
	double goal;
};

#define BENCH_ROWS 72

/* A bench that runs several times keeps the best of all runs, and the median of medians and
 * tails. */
struct bench_report {
	const char *bench;
	struct bench_row rows[BENCH_ROWS];
	size_t rows_n;
	unsigned runs;
	double stall_us_p999; /* the median of the runs */
	double load1;         /* the highest of the runs */
	bool bad_input;       /* a bench can't run because of a file of the user: exit code 2 */
};

/* Choices of the user; 0 and NULL: the default of the bench. */
struct bench_options {
	bool quick; /* leave out what takes long or needs much memory */
	const char *kubeconfig;
	uint32_t nodes;
	uint32_t pods;
	uint32_t gang;
	const char *data;          /* folder with the openb trace */
	const char *only;          /* openb: one trace; preempt: one row */
	const char *file;          /* trace: the log */
	uint32_t depth;            /* trace: of promises */
	bool has_depth, has_score; /* given by flags: a recording has its own */
	uint32_t add_nodes;
	bool true_times;
	uint32_t score;     /* enum score_policy */
	const char *gantt;  /* trace: SVG to be written */
	const char *queues; /* trace: a file, or "users" */
	uint32_t reclaim;   /* trace: enum preemption_flags; 0: off */
	const char *busy;   /* trace: a user who submits each job busy_times times */
	uint32_t busy_times;
	uint32_t rate;    /* e2e: pods a second of the open loop */
	const char *hgrm; /* e2e: percentiles of the open loop, to be written */
};

/* The CPU's own counter if it is steady, since reading it is cheap. */
uint64_t bench_now_ns(void);

/* Pins this thread to one CPU. False: there is no such CPU. */
bool bench_pin(int cpu);

/* Allows any CPU again. */
void bench_unpin(void);

/* Orders doubles, for qsort(). */
int bench_by_value(const void *a, const void *b);

/* Adds a row from n samples, which it sorts. `higher_is_better`: best is the largest and p99 the
 * value that 99 % reach. */
void bench_add(struct bench_report *report, const char *name, const char *unit, double *samples,
               size_t n, bool higher_is_better, double goal);

/* Writes sorted samples as HdrHistogram's percentile distribution (.hgrm), at quantiles whose
 * distance to 1 shrinks by a tenth, each value exact. False and a message. */
bool bench_hgrm(const char *path, const double *sorted, size_t n);

/* A row with one sample. */
void bench_add_one(struct bench_report *report, const char *name, const char *unit, double value,
                   bool higher_is_better, double goal);

/* Runs it that many times and fills the report. False: it can't run. */
bool bench_repeat(struct bench_report *report,
                  bool (*run)(struct bench_report *, const struct bench_options *),
                  const struct bench_options *options, unsigned runs);

void bench_print(const struct bench_report *report, bool json);

/* Each fills its report; false and a message on standard error if it can't run. */
bool bench_ring(struct bench_report *report, const struct bench_options *options);
bool bench_decide(struct bench_report *report, const struct bench_options *options);
bool bench_pipeline(struct bench_report *report, const struct bench_options *options);
bool bench_sustained(struct bench_report *report, const struct bench_options *options);
bool bench_memory(struct bench_report *report, const struct bench_options *options);
bool bench_devices(struct bench_report *report, const struct bench_options *options);
bool bench_e2e(struct bench_report *report, const struct bench_options *options);
bool bench_binds(struct bench_report *report, const struct bench_options *options);
bool bench_extender(struct bench_report *report, const struct bench_options *options);
bool bench_compare(struct bench_report *report, const struct bench_options *options);
bool bench_compare_devices(struct bench_report *report, const struct bench_options *options);
bool bench_trace(struct bench_report *report, const struct bench_options *options);
bool bench_openb(struct bench_report *report, const struct bench_options *options);
bool bench_queues(struct bench_report *report, const struct bench_options *options);
bool bench_preempt(struct bench_report *report, const struct bench_options *options);

#endif
