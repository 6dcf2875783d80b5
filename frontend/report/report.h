/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: writes why pods and groups wait and where they were placed, as the PodScheduled
 * condition and Events of pods, and the status and Events of groups.
 *
 * Bindings have precedence. What waits is reported at a limited rate; Events of bindings follow
 * these in bursts, as many at once as make them faster (report_rate.c).
 * The newest reason of a pod replaces one that is not written yet; a reason that was current only
 * while the gang arrived is never written.
 *
 * What is reported converges: a sweep every 30 s compares conditions, Events of waiting pods and
 * statuses of groups with what they should be and writes what differs, after whatever outage.
 * Events of bindings that were not written are kept for it, at most `queue_max`; what is older than
 * an hour is dropped and counted. */
#ifndef MUSTER_FRONTEND_REPORT_H
#define MUSTER_FRONTEND_REPORT_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"
#include "frontend/bind/binder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decisions; /* frontend/report/decisions.h */

struct report_config {
	const struct env *env;
	struct model *model;
	unsigned per_second;               /* requests about what waits */
	unsigned connections;              /* at most so many Events of bindings at once; 0: 4 */
	unsigned connections_first;        /* seek more than these; 0: `connections` from the start */
	size_t queue_max;                  /* of each queue */
	uint64_t delay_ns;                 /* how long a reason must be current before it is written */
	const char *instance;              /* for reportingInstance; copied */
	const struct binder *binder;       /* for the pods with a binding in flight; NULL: none */
	struct decisions *decisions;       /* decision log; NULL: none */
	const char *const *volcano_queues; /* whose groups become Inqueue; good as long as the report */
	size_t volcano_queues_n;
};

struct report_counts {
	uint64_t conditions;  /* written */
	uint64_t statuses;    /* of groups' objects, written */
	uint64_t events;      /* written, including series */
	uint64_t unchanged;   /* conditions that were right already */
	uint64_t coalesced;   /* reasons replaced before they were written */
	uint64_t deferred;    /* not written; a later sweep retries */
	uint64_t dropped;     /* invalid, an hour late, or too many are kept */
	uint64_t terminating; /* Events in namespaces that are being deleted: not written */
};

struct report;

struct report *report_new(const struct report_config *config);
void report_free(struct report *r);

/* A gang or lone pod waits: reports the reason on each pending pod. The caller has checked the ids.
 */
void report_reason(struct report *r, const struct cmd_reason *cmd);

/* A gang changed its state. The caller has checked the ids. */
void report_gang(struct report *r, const struct cmd_gang *cmd);

/* All lists are complete: from now on the model's groups are authoritative. */
void report_lists_in(struct report *r);

/* A pod was bound, or its binding was finally refused. */
void report_bind(struct report *r, const struct bind_notice *n);

/* What happened to a pod or group, as one Event; texts are copied. */
enum report_happening {
	REPORT_BOUND,
	REPORT_BIND_REFUSED,
	REPORT_CONDITIONS_PENDING, /* of devices: the pod's Binding is held */
	REPORT_PREEMPTED,          /* the pod was evicted */
	REPORT_RECLAIMED,          /* ... for a gang of another queue */
	REPORT_GIVEN_BACK,         /* ... or, of a group, a member was, beyond its quorum */
	REPORT_PREEMPTING,         /* pods are evicted for the group or pod */
	REPORT_PREEMPTION_STUCK,   /* ... and one does not go */
	REPORT_START_PROMISED,     /* of a gang that waits: report_start.c */
	REPORT_START_EARLIER,
	REPORT_START_SLIPPED,
	REPORT_HAPPENINGS
};
struct report_event {
	enum report_happening what;
	const char *namespace, *name, *uid;
	const char *api_version, *kind; /* NULL: a pod */
	const char *scheduler;          /* spec.schedulerName of the pod that it is about */
	const char *note;
};
void report_happened(struct report *r, const struct report_event *e);

/* status.nominatedNodeName of a pod is to be this, NULL: none; written with its condition. */
void report_nominate(struct report *r, pod_id pod, uint32_t generation, const char *node);

/* Sends what may be sent. Returns the monotonic time of the next call. */
uint64_t report_poll(struct report *r, bool binds_waiting);

size_t report_queued(const struct report *r);
/* Events of bindings allowed at once. */
unsigned report_window(const struct report *r);
const struct report_counts *report_counts(const struct report *r);

#endif
