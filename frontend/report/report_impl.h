/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the reports: report.c keeps queues and pace, report_item.c writes
 * what is to be said about one pod, report_group.c about a group. */
#ifndef MUSTER_FRONTEND_REPORT_IMPL_H
#define MUSTER_FRONTEND_REPORT_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/dialect/group_status.h"
#include "frontend/json/jsonout.h"
#include "frontend/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* One text for all members of a gang. */
struct note {
	unsigned users;
	bool urgent;   /* an Event of it does not wait for the time between Events */
	size_t pod_at; /* where a pod's name belongs; 0: nowhere */
	char text[];
};

enum step { STEP_CONDITION, STEP_EVENT, STEP_SERIES };

enum item_kind {
	ITEM_POD,  /* pods that wait keep theirs, to count equal events */
	ITEM_BIND, /* an event of a binding, said once */
	ITEM_GROUP,
	ITEM_KINDS
};

/* What is to be said about a pod or group. */
struct item {
	TAILQ_ENTRY(item) link;
	struct report *report;
	enum item_kind kind;
	pod_id pod;
	uint32_t generation;
	bool queued;
	bool held; /* ... but not with others of its kind */
	bool flying;
	uint64_t due_ns; /* not before */
	enum step step;
	unsigned tries;
	struct note *note;
	struct note *next_note; /* came while it was flying */
	const char *reason;     /* of the condition */
	const char *next_reason;
	struct note *stands; /* what its condition is to say for as long as it waits */
	const char *stands_reason;
	struct http_call *call;

	/* The last Event of this pod. */
	uint64_t event_ns;
	uint64_t event_count;
	struct note *event_note;
	char *event_name;

	struct group *group; /* ITEM_GROUP: whose it is */

	/* Of a binding. */
	char *namespace, *name, *uid, *scheduler;
	bool bound;
};
TAILQ_HEAD(item_list, item);

/* What is known of a gang beside the model: states and reasons that the core told. */
struct group {
	struct item item;
	gang_id gang;
	uint32_t generation;
	bool again; /* something changed while it was flying */
	enum gang_state state;
	uint32_t members, bound, quorum; /* as the state was told */
	enum gang_state told;            /* by the last Event */
	uint64_t event_due_ns;           /* when the next may come, if one waits; 0 */
	bool began;                      /* it was seen to wait or bind: that it is placed is news */
	struct note *why;                /* NULL: it does not wait */
	const char *why_reason;          /* of a condition */
	uint32_t why_kind;               /* enum why */
	struct reason *reason;           /* the whole, of one with a timeout to come */
	uint64_t waits_ns;               /* since; 0: it does not wait */
	bool timed_out;
	/* What was written last, until the watch shows it. */
	struct group_status *sent;
	char *sent_version;
	uint64_t sent_ns; /* 0: not known to be taken */
};

struct report {
	struct report_config config;
	char instance[129];
	struct item_list queues[ITEM_KINDS]; /* waiting to be written */
	size_t queued_n[ITEM_KINDS];
	struct item_list held; /* refused by itself, each for as long: the first due first */
	size_t held_n;
	struct item_list flying;
	size_t flying_n;
	bool groups_turn; /* pods had theirs */
	struct item **by_pod;
	size_t by_pod_n;
	bool lists_in;
	struct group **by_gang;
	size_t by_gang_n;
	struct jsonout text; /* of a pod, its name inserted */
	double tokens;
	uint64_t tokens_ns;
	uint64_t sweep_ns;     /* when to look for pods that are bound or gone */
	bool forbidden;        /* the last condition was answered 403: one in a sweep asks again */
	bool events_forbidden; /* so was the last Event, more than once: the next is asked for once */
	uint64_t pause_until_ns;
	struct backoff backoff;
	struct jsonout path, body;
	struct report_counts counts;
	struct log_limit limit, drop_limit;
};

/* ---- report.c ---- */

struct note *report_note_new(const char *text);
struct note *report_note_use(struct note *n);
void report_note_drop(struct note **n);

/* To the end of its queue. */
void report_item_queue(struct item *i);
/* There a little later; others don't wait for it. */
void report_item_hold(struct item *i);
/* Out of whatever list it is in. */
void report_item_unlist(struct item *i);
/* Of an item that is in no list. */
void report_item_free(struct item *i);
/* That is to be said of the pod now; the text is used, not taken. */
void report_item_say(struct item *i, struct note *note, const char *reason);

/* Every member that waits says it. */
void report_gang_reason(struct report *r, const struct cmd_reason *cmd, uint64_t timed_out_ns);

/* ---- report_group.c ---- */

/* Groups that changed in the model. */
void report_stirred(struct report *r);
/* The gang waits, and the text of it. */
void report_group_waits(struct report *r, const struct cmd_reason *cmd,
                        const struct gang_view *gang, struct note *note);
/* The timeout of the gang if it has passed, else 0. */
uint64_t report_group_timeout(const struct report *r, const struct cmd_reason *cmd,
                              const struct gang_view *gang);
/* The next request; false when there is none, and it is in no list. */
bool report_group_send(struct item *i);
void report_group_written(struct item *i);
/* All is said for now; may free it. */
void report_group_rest(struct item *i);
void report_groups_sweep(struct report *r);
void report_group_free(struct group *g);

/* ---- report_item.c ---- */

struct event_text;

/* Begin the request in report->path and ->body. */
void report_item_fly(struct item *i, const char *method, const char *type);
/* An Event with its note. */
void report_event_send(struct item *i, const struct event_text *about);

/* A pod that has a node, or a Binding that may give it one, waits for nothing. */
bool report_pod_waits(const struct report *r, const struct pod_view *pod);

/* Does the pod's condition say that already, as the watch has it? */
bool report_condition_says(struct item *i, const struct pod_view *pod, const struct note *note,
                           const char *reason);

/* Send its next request, or lay it to rest: i is in no list before. */
void report_item_send(struct item *i);

#endif
