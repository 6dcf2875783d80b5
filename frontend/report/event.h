/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies of the PodScheduled condition and of Events, in kube-scheduler's words. */
#ifndef MUSTER_FRONTEND_EVENT_H
#define MUSTER_FRONTEND_EVENT_H

#include "frontend/json/jsonout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_text {
	const char *namespace;
	const char *api_version; /* of the regarding object; NULL: a pod */
	const char *kind;
	const char *object; /* its name */
	const char *uid;
	const char *name;       /* of the Event itself */
	const char *type;       /* "Normal", "Warning" */
	const char *reason;     /* "Scheduled", "FailedScheduling" */
	const char *action;     /* "Binding", "Scheduling" */
	const char *controller; /* the scheduler's name */
	const char *instance;   /* reporting instance, at most 128 bytes */
	const char *note;       /* truncated to 1,024 bytes */
	uint64_t wall_ns;
};

/* A new Event (events.k8s.io/v1). */
void event_write(struct jsonout *out, const struct event_text *e);

/* A merge patch of the series: `count` occurrences so far. */
void event_series_write(struct jsonout *out, uint64_t count, uint64_t wall_ns);

/* A strategic merge patch of a pod's status with PodScheduled False; the transition time is written
 * only if `turned`, and is unchanged otherwise. */
struct condition_text {
	const char *uid, *reason, *message;
	bool turned;
	uint32_t promised_s;   /* the annotation of the promised start, since 1970; 0: unchanged */
	const char *nominated; /* nominatedNodeName, "" removes it, NULL leaves it */
};
void condition_write(struct jsonout *out, const struct condition_text *c, uint64_t wall_ns);

/* Name of a new Event about an object of that name: a prefix of it, a dot, the time. */
void event_name(char *out, size_t out_bytes, const char *object, uint64_t wall_ns);

/* RFC 3339; with microseconds in an eventTime, without in a condition. */
#define EVENT_TIME_BYTES 48
void event_time(char *out, size_t out_bytes, uint64_t wall_ns, bool micro);

#endif
