/* SPDX-License-Identifier: Apache-2.0 */
/* The real input: nodes of one cluster, jobs of another (data/README.md). */
#ifndef MUSTER_DEMO_TRACE_H
#define MUSTER_DEMO_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#define GPUS_PER_POD_MAX 8u

struct trace_node {
	char name[32];
	char model[16];
	unsigned cpu_milli;
	unsigned memory_mib;
	unsigned gpus;
};

struct trace_job {
	char name[32];      /* "job-17" */
	char namespace[40]; /* of its virtual cluster: "vc-103959" */
	unsigned gpus;
	unsigned pods;
	unsigned submit_min; /* minutes since the trace began */
	unsigned duration_min;
};

struct trace {
	struct trace_node *nodes;
	size_t nodes_n;
	struct trace_job *jobs; /* in the order of submission */
	size_t jobs_n;
	size_t pods_n;
	size_t gangs_n; /* jobs of more than one pod */
	unsigned long gpus_there;
	unsigned long gpus_wanted;
};

/* Reads both files of a folder; of the jobs the first `jobs_max` in the order of submission. False:
 * `error` has the file, the line and what is wrong. */
bool trace_read(struct trace *t, const char *folder, size_t jobs_max, char *error,
                size_t error_bytes);
void trace_free(struct trace *t);

/* GPUs of the i-th pod: divided as evenly as possible. */
unsigned trace_pod_gpus(const struct trace_job *job, unsigned i);

#endif
