/* SPDX-License-Identifier: Apache-2.0 */
/* Why pods and groups wait and where they went, written where users look: the
 * PodScheduled condition and the Events of each pod, the status and the Events of
 * each group's object.
 *
 * Never in the way of a binding: a lane of its own with few requests at once,
 * one while bindings wait, and a rate; the event of a binding lets others be bound
 * first for up to 5 s.  The newest reason of a pod replaces the one that was not
 * written yet, and one that stood only while a gang arrived is never written.
 * Queues are bounded: the oldest is dropped and counted. */
#ifndef MUSTER_FRONTEND_REPORT_H
#define MUSTER_FRONTEND_REPORT_H

#include "frontend/base/env.h"
#include "frontend/bind/writer.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decisions; /* frontend/report/decisions.h */

struct report_config {
	const struct env *env;
	struct model *model;
	unsigned per_second;         /* requests */
	size_t queue_max;            /* of each queue */
	uint64_t delay_ns;           /* a reason stands so long before it is written */
	const char *instance;        /* for reportingInstance; copied */
	const struct writer *writer; /* knows which pods are being bound; NULL: none is */
	struct decisions *decisions; /* told why gangs wait; NULL: nobody is */
};

struct report_counts {
	uint64_t conditions; /* written */
	uint64_t statuses;   /* of groups' objects, written */
	uint64_t events;     /* written, series counted in */
	uint64_t unchanged;  /* conditions that said it already */
	uint64_t coalesced;  /* reasons replaced before they were written */
	uint64_t dropped;    /* the queue was full, or the server did not want it */
};

struct report;

struct report *report_new(const struct report_config *config);
void report_free(struct report *r);

/* A gang or lone pod waits: each of its pending pods is to say why.  The ids
 * were checked. */
void report_reason(struct report *r, const struct cmd_reason *cmd);

/* A gang is in another state now.  The ids were checked. */
void report_gang(struct report *r, const struct cmd_gang *cmd);

/* All lists were in the model once: from now on what it says of groups is so. */
void report_lists_in(struct report *r);

/* A pod was bound, or its binding refused for good. */
void report_bind(struct report *r, const struct bind_notice *n);

/* Send what may be sent.  Returns when it wants to be called next. */
uint64_t report_poll(struct report *r, bool binds_waiting);

size_t report_queued(const struct report *r);
const struct report_counts *report_counts(const struct report *r);

#endif
