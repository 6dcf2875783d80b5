/* SPDX-License-Identifier: Apache-2.0 */
/* An independent reading: what the API server says, added up anew.  It knows nothing of
 * what the scheduler believes.
 *
 * It follows a watch, so that a node that is over its allocatable for a moment is seen
 * too, or reads one list. */
#ifndef MUSTER_DEMO_AUDIT_H
#define MUSTER_DEMO_AUDIT_H

#include "tests/demo/trace.h"

#include <cjson/cJSON.h>

struct audit {
	const struct trace *trace;
	size_t *by_name;    /* jobs by namespace and name */
	size_t *first;      /* by job: its first pod below */
	struct seen *seen;  /* every pod */
	struct used *nodes; /* by node of the trace */

	size_t events;
	size_t pods, bound, ended, failed;
	char version[32]; /* of the last list */
	char error[400];  /* the first thing that is wrong; "" */
};

void audit_new(struct audit *a, const struct trace *trace);
void audit_free(struct audit *a);

/* A line of a watch of pods. */
void audit_line(struct audit *a, const char *line, size_t bytes);

/* A PodList; `a` has seen nothing yet. */
void audit_list(struct audit *a, const char *json, size_t bytes);

/* Gangs by how many of their pods have, or had, a node. */
struct audit_gangs {
	size_t whole, part, none;
	size_t whole_of_several; /* of those of two pods and more */
};
struct audit_gangs audit_gangs(const struct audit *a);

#endif
