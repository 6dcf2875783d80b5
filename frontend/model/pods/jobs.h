/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of Jobs as hard ends of their pods (--job-deadlines, decision 085).
 *
 *   pod ── controller, by namespace, name and uid ──► Job with its end
 *    ◄─────────────── chain of its pods ─────────────────┘
 *
 * Of a Job that enforces no deadline nothing is stored but what its pods refer to.  When one is
 * over (deleted, finished, suspended) its pods that are bound keep the end that they had: whatever
 * made it so ends them now, and no promise slips in the second until that is seen.  Those that wait
 * have none then, since nothing would end them at it.
 *
 * m->jobs is NULL without --job-deadlines, and costs nothing then. */
#ifndef MUSTER_FRONTEND_MODEL_JOBS_H
#define MUSTER_FRONTEND_MODEL_JOBS_H

#include "frontend/model/base/state.h"

struct model_jobs *jobs_new(const struct model_config *config);
void jobs_free(struct model_jobs *jobs);

int job_put(struct model *m, int resource, const char *json, size_t bytes,
            struct decode_error *error);
void job_remove(struct model *m, const struct meta *meta);
void jobs_replaced(struct model *m, uint32_t round);

/* The pod was stored; it is dirty if its end changed by that. */
void jobs_note_pod(struct model *m, uint32_t pod, const struct pod_object *object);
void jobs_forget_pod(struct model *m, uint32_t pod);

uint32_t jobs_earlier(const struct model *m, uint32_t pod, uint32_t own_s);

/* As struct event_pod has it: the earlier one of the pod's own end and that of its Job. */
static inline uint32_t jobs_run_s(const struct model *m, uint32_t pod, uint32_t own_s)
{
	return m->jobs ? jobs_earlier(m, pod, own_s) : own_s;
}

uint32_t jobs_stated_of(const struct model *m, uint32_t pod);

/* The deadline of the pod's Job; 0: none is enforced. */
static inline uint32_t jobs_stated_s(const struct model *m, uint32_t pod)
{
	return m->jobs ? jobs_stated_of(m, pod) : 0;
}

/* For frontend/model/valid.c: adds references to counts by number, and compares chains; false: one
 * is wrong. */
bool jobs_valid(const struct model *m, uint32_t *values, uint32_t *namespaces);

#endif
