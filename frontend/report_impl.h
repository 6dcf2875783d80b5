/* The inside of the reports: report.c keeps queues and pace, report_item.c writes
 * what is to be said about one pod. */
#ifndef MUSTER_FRONTEND_REPORT_IMPL_H
#define MUSTER_FRONTEND_REPORT_IMPL_H

#include "frontend/backoff.h"
#include "frontend/jsonout.h"
#include "frontend/log.h"
#include "frontend/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* One text for all members of a gang. */
struct note {
	unsigned users;
	char text[];
};

enum step { STEP_CONDITION, STEP_EVENT, STEP_SERIES };

/* What is to be said about a pod; pods that wait keep theirs, to count equal
 * events. */
struct item {
	TAILQ_ENTRY(item) link;
	struct report *report;
	pod_id pod; /* ID_NONE: an event of a binding, said once */
	uint32_t generation;
	bool queued;
	bool flying;
	uint64_t due_ns; /* not before */
	enum step step;
	unsigned tries;
	struct note *note;
	struct note *next_note; /* came while it was flying */
	const char *reason;     /* of the condition */
	const char *next_reason;
	struct http_call *call;

	/* The last Event of this pod. */
	uint64_t event_ns;
	uint64_t event_count;
	struct note *event_note;
	char *event_name;

	/* Of a binding. */
	char *namespace, *name, *uid, *scheduler;
	bool bound;
};
TAILQ_HEAD(item_list, item);

struct report {
	struct report_config config;
	char instance[129];
	struct item_list reasons; /* waiting to be written */
	struct item_list binds;
	struct item_list flying;
	size_t reasons_n, binds_n, flying_n;
	struct item **by_pod;
	size_t by_pod_n;
	double tokens;
	uint64_t tokens_ns;
	uint64_t sweep_ns; /* when to look for pods that are bound or gone */
	uint64_t pause_until_ns;
	struct backoff backoff;
	struct jsonout path, body;
	struct report_counts counts;
	struct log_limit limit;
};

/* ---- report.c ---- */

struct note *report_note_new(const char *text);
struct note *report_note_use(struct note *n);
void report_note_drop(struct note **n);

/* To the end of its queue. */
void report_item_queue(struct item *i);
/* Out of whatever list it is in. */
void report_item_unlist(struct item *i);
/* Of an item that is in no list. */
void report_item_free(struct item *i);
/* That is to be said of the pod now; the text is used, not taken. */
void report_item_say(struct item *i, struct note *note, const char *reason);

/* ---- report_item.c ---- */

/* Send its next request, or lay it to rest: i is in no list before. */
void report_item_send(struct item *i);

#endif
