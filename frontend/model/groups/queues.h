/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of the cluster: their objects, the records of them, and which queue each pod is in.
 *
 *   Queue, ElasticQuota, ConfigMap ─► tree (frontend/queues/queues.h) ─► EVENT_QUEUE by id
 *   marks of pods and groups       ─► names ─► struct event_pod.queue
 *
 * All objects are read again when one of them changed in what is read of it.  What can't be read
 * changes nothing: the last good version of an object, or of the file, stays.  m->queues is NULL
 * without --queues, and costs nothing then. */
#ifndef MUSTER_FRONTEND_MODEL_QUEUES_H
#define MUSTER_FRONTEND_MODEL_QUEUES_H

#include "frontend/model/base/state.h"

struct model_queues;

struct model_queues *model_queues_new(const struct model_config *config);
void model_queues_free(struct model *m);
bool queues_watched(const struct model_queues *q, uint32_t source);
/* --queues auto; q may be NULL. */
bool model_queues_automatic(const struct model_queues *q);

/* An object of the source, or the ConfigMap; -EINVAL with *error. */
int queues_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error);
void queues_remove(struct model *m, int resource, const struct meta *meta);
void queues_replaced(struct model *m, int resource, uint32_t round);

/* What the pod or the group names, by its object; it was stored. */
void queues_note_pod(struct model *m, uint32_t pod, const char *json, size_t bytes);
void queues_note_group(struct model *m, uint32_t gang, const char *json, size_t bytes);
void queues_forget_pod(struct model *m, uint32_t pod);
void queues_forget_group(struct model *m, uint32_t gang);

/* As struct event_pod has it. */
uint32_t queues_of_pod(const struct model *m, uint32_t pod);

/* runSeconds of the queue that the pod is in; 0: none. */
uint32_t queues_run_s_of(const struct model *m, uint32_t pod);

/* Reads what changed, and marks the pods that are in another queue. */
void queues_refresh(struct model *m);

/* Adds their references to counts by value number: frontend/model/valid.c. */
void queues_count(const struct model *m, uint32_t *values);

/* A new core: everything has to be sent. */
void queues_restart(struct model *m);

/* Sends what is due by `reserve`; false: there is no room. */
bool queues_flush(struct model *m, const struct model_sink *sink);
/* All pods were sent: ids of queues that are gone may be used again. */
void queues_flushed(struct model *m);

#endif
