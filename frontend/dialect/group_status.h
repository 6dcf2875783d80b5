/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a group's object: current and wanted.
 *
 * The wanted status is a function of the object, the phases of its members, and the wait reason
 * of the gang; each API has its own (struct dialect_status, in status_*.c).  It is written if it
 * differs from the current one: frontend/report/report_group.c. */
#ifndef MUSTER_FRONTEND_GROUP_STATUS_H
#define MUSTER_FRONTEND_GROUP_STATUS_H

#include "frontend/dialect/gang_view.h"
#include "frontend/json/jsonout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct group_condition {
	const char *status; /* "" if the condition is absent */
	const char *reason;
	const char *message;
	const char *turned; /* lastTransitionTime as written, "" */
};

#define GROUP_CONDITIONS_MAX 2

/* No text is NULL. */
struct group_status {
	const char *phase;
	const char *occupied_by;
	const char *started; /* scheduleStartTime */
	const char *queue;   /* spec.queue, "" where struct dialect_status does not ask for it */
	uint32_t scheduled, running, succeeded, failed;
	struct group_condition conditions[GROUP_CONDITIONS_MAX]; /* of the types of struct
	                                                          * dialect_status */
	const char *others; /* conditions of other types, as raw JSON: "{...},{...}"; "" where they are
	                     * not needed */
	bool crowded; /* `others` would exceed its limit: conditions are not written, since that would
	               * remove them */
};

struct group_facts {
	const struct gang_view *gang;
	uint32_t why;        /* enum wait_reason of the gang; WAIT_NONE */
	const char *message; /* its text, "" */
	const char *reason;  /* reason of the condition: Unschedulable, SchedulerError */
	const char *now;     /* wall time, RFC 3339 */
	bool enqueue;        /* muster serves the group's queue (--volcano-queue) */
};

struct dialect_status {
	const char *conditions[GROUP_CONDITIONS_MAX]; /* types that are written; NULL: fewer */
	bool queues;    /* spec.queue is read; a group without one is in "default" */
	bool strategic; /* conditions are merged by type; a custom resource's are replaced as a whole */
	/* Turns the current status in *out into the wanted one.  Texts are good as long as the
	 * facts. */
	void (*want)(const struct group_facts *facts, struct group_status *out);
	/* True if the status says that the group's quorum was scheduled at some time. */
	bool (*was_whole)(const struct group_status *s);
};

extern const struct group_status group_status_empty;

/* The status of an object, its texts in the arena or the JSON; -EINVAL if it is malformed. */
int group_status_read(const struct dialect_status *dialect, const char *json, size_t bytes,
                      struct arena *arena, struct group_status *out);

/* A copy in one block of memory, for free(). */
struct group_status *group_status_copy(const struct group_status *s);

/* True if they are equal but for times. */
bool group_status_equal(const struct group_status *a, const struct group_status *b);

/* The JSON value of "status" in a patch: members that differ. */
void group_status_write(const struct dialect_status *dialect, const struct group_status *has,
                        const struct group_status *want, const char *now, struct jsonout *out);

/* The quorum that phases are derived from: at least 1. */
static inline uint32_t group_quorum(const struct gang_view *g)
{
	return g->quorum > 0 ? g->quorum : 1;
}

extern const struct dialect_status status_podgroup;       /* scheduler-plugins */
extern const struct dialect_status status_podgroup_older; /* ... of scheduling.sigs.k8s.io */
extern const struct dialect_status status_native;
extern const struct dialect_status status_volcano;

#endif
