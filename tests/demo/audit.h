/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs by how many of their pods are bound, counted from the API server's objects: a watch, or one
 * list. Capacity of nodes is in the accounts of muster-apisim (tests/apisim/accounts.h, GET
 * /apisim/stats). */
#ifndef MUSTER_DEMO_AUDIT_H
#define MUSTER_DEMO_AUDIT_H

#include "tests/demo/trace.h"

#include <cjson/cJSON.h>

struct audit {
	const struct trace *trace;
	size_t *by_name;   /* jobs by namespace and name */
	size_t *first;     /* by job: its first pod below */
	struct seen *seen; /* every pod */

	size_t bound, ended, failed; /* pods */
	char version[32];            /* of the last list */
	char error[400];             /* the first error; "" */
};

void audit_new(struct audit *a, const struct trace *trace);
void audit_free(struct audit *a);

/* A line of a watch of pods. */
void audit_line(struct audit *a, const char *line, size_t bytes);

/* A PodList; `a` is new. */
void audit_list(struct audit *a, const char *json, size_t bytes);

/* Gangs by how many of their pods have, or had, a node. */
struct audit_gangs {
	size_t whole, part;
	size_t whole_of_several; /* of those of two pods and more */
};
struct audit_gangs audit_gangs(const struct audit *a);

/* What muster-apisim counted. */
struct audit_stats {
	double overcommitted; /* pods that put a node over its allocatable */
	double unknown_node;  /* pods bound to a node that does not exist */
	double binds;
};
bool audit_stats(struct audit_stats *out, const char *json, size_t bytes);

#endif
