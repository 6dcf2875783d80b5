/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a group's object: as it is, and as it is to be.
 *
 * What it is to be is a function of the object, its members by phase, and what the core
 * waits for; each API has its own (struct dialect_status, one file status_*.c each).  It
 * is written when it differs from what the object says: frontend/report/report_group.c. */
#ifndef MUSTER_FRONTEND_GROUP_STATUS_H
#define MUSTER_FRONTEND_GROUP_STATUS_H

#include "frontend/json/jsonout.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct group_condition {
	const char *status; /* "" when there is none */
	const char *reason;
	const char *message;
	const char *turned; /* lastTransitionTime as it is written, "" */
};

#define GROUP_CONDITIONS_MAX 2

/* No text is NULL. */
struct group_status {
	const char *phase;
	const char *occupied_by;
	const char *started; /* scheduleStartTime */
	uint32_t scheduled, running, succeeded, failed;
	struct group_condition
		conditions[GROUP_CONDITIONS_MAX]; /* of the types of struct dialect_status */
	const char *others; /* conditions of other types, as raw JSON: "{...},{...}"; "" where they are
	                       not needed */
	bool crowded; /* more of those than are kept: conditions can't be written, as the others would
	                 be lost */
};

struct group_facts {
	const struct gang_view *gang;
	uint32_t why;        /* enum why: what it waits for; WHY_NONE */
	const char *message; /* ... as a text with numbers; "" */
	const char *reason;  /* ... of a condition: Unschedulable, SchedulerError */
	const char *now;     /* wall time as RFC 3339 */
};

struct dialect_status {
	const char *conditions[GROUP_CONDITIONS_MAX]; /* types that are written; NULL: fewer */
	bool strategic; /* conditions are merged by type; a custom resource's are replaced as a whole */
	/* Make of what it is, in *out, what it is to be.  Texts live as long as the facts. */
	void (*want)(const struct group_facts *facts, struct group_status *out);
};

extern const struct group_status group_status_empty;

/* `status` of an object, its texts the arena's or pieces of the JSON; -EINVAL when it is
 * not what it should be, -ENOMEM. */
int group_status_read(const struct dialect_status *dialect, const char *json, size_t bytes,
                      struct arena *arena, struct group_status *out);

/* A copy in one piece of memory, for free(); NULL without memory. */
struct group_status *group_status_copy(const struct group_status *s);

/* Equal but for the times? */
bool group_status_equal(const struct group_status *a, const struct group_status *b);

/* What differs, as the JSON value of "status" in a patch. */
void group_status_write(const struct dialect_status *dialect, const struct group_status *has,
                        const struct group_status *want, const char *now, struct jsonout *out);

/* The quorum as phases count it: none is one. */
static inline uint32_t group_quorum(const struct gang_view *g)
{
	return g->quorum > 0 ? g->quorum : 1;
}

extern const struct dialect_status status_podgroup;       /* scheduler-plugins */
extern const struct dialect_status status_podgroup_older; /* ... of scheduling.sigs.k8s.io */
extern const struct dialect_status status_native;
extern const struct dialect_status status_volcano;

#endif
