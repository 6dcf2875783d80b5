/* SPDX-License-Identifier: Apache-2.0 */
/* What ends of pods depend on in a batch/v1 Job.  Texts point into the JSON or the arena. */
#ifndef MUSTER_FRONTEND_JOB_H
#define MUSTER_FRONTEND_JOB_H

#include "frontend/decode/object.h"

struct job_object {
	struct meta meta;
	bool has_deadline;
	int64_t deadline_s;  /* spec.activeDeadlineSeconds */
	uint64_t start_ns;   /* status.startTime, since 1970; 0: none */
	bool suspended;      /* spec.suspend */
	struct text manager; /* spec.managedBy; "": the Job controller of Kubernetes */
	bool finished;       /* condition Complete or Failed */
};

/* As those of extract.h. */
int extract_job(const char *json, size_t bytes, struct arena *arena, struct job_object *out,
                struct decode_error *error);

/* Its controller ends its pods at the deadline, once it has started. */
bool job_enforces(const struct job_object *job);

/* Its controller or the garbage collector ends its pods now: it is suspended, finished or being
 * deleted. */
bool job_is_over(const struct job_object *job);

#endif
