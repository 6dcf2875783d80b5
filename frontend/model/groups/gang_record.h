/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a gang. */
#ifndef MUSTER_FRONTEND_MODEL_GANG_RECORD_H
#define MUSTER_FRONTEND_MODEL_GANG_RECORD_H

#include "frontend/model/groups/gangs.h"

/* Bytes of the body of its EVENT_GANG; `form` is its gang_form(). */
size_t gang_record_bytes(const struct model *m, uint32_t gang, const struct gang_form *form);
/* ... which is written to `at`. */
void gang_record_write(struct model *m, uint32_t gang, const struct gang_form *form, char *at);

/* The expected length of a pod, else that of its group or queue; `run_s`: its enforced end. */
uint32_t gang_expected_s(const struct model *m, uint32_t pod, uint32_t run_s);

/* struct event_pod.stated_s: the earlier of its deadline and its Job's, which are enforced; else
 * what is expected of it, or of its group.  0 of a pod that has a node, and without queues. */
uint32_t gang_stated_s(const struct model *m, uint32_t pod);

#endif
