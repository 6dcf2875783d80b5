/* An independent reading: lists from the API server, added up anew.  It knows nothing
 * of what the scheduler believes. */
#ifndef MUSTER_DEMO_AUDIT_H
#define MUSTER_DEMO_AUDIT_H

#include "tests/demo/trace.h"

struct audit {
	const struct trace *trace;

	/* Of the last list of pods. */
	size_t pods, bound, running, ended, failed;
	size_t gangs_whole;  /* all pods of the job have a node */
	size_t gangs_part;   /* some of them: only at rest that is wrong */
	size_t gangs_none;
	size_t several_whole, several_part; /* of those, jobs of more than one pod */

	/* Over all lists. */
	size_t lists;
	size_t nodes_over; /* nodes seen over their allocatable */
	char over[128];    /* the first of them */
	char error[256];   /* a list that made no sense; "" */
};

void audit_new(struct audit *a, const struct trace *trace);

/* Read a PodList.  False: a->error. */
bool audit_pods(struct audit *a, const char *json, size_t bytes);

#endif
