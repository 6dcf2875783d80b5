/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the reports, from the bottom up; a file calls those before it alone.
 *
 *   report_queue.c       texts, and items in their queues
 *   report_request.c     requests, and what their answers mean
 *   report_bind.c        Events of bindings and of what else happened
 *   report_pod.c         a pod that waits: its condition and Events
 *   report_status.c      the status of a group's object
 *   report_group.c       what is known of groups
 *   report_start.c       promised starts
 *   report_reason.c      the reasons of what waits
 *   report_group_send.c  requests of groups: status and Events
 *   report_rate.c        what is sent when, and how much at once
 *   report_sweep.c       every 30 s all that is reported is compared with what should be
 *   report.c             the whole, and its calls into the kinds of reports (struct item_ops) */
#ifndef MUSTER_FRONTEND_REPORT_IMPL_H
#define MUSTER_FRONTEND_REPORT_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/dialect/group_status.h"
#include "frontend/json/jsonout.h"
#include "frontend/base/log.h"
#include "frontend/base/window.h"
#include "frontend/report/report.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* A text shared by all members of a gang. */
struct note {
	unsigned users;
	bool urgent;   /* its Event is not rate-limited */
	size_t pod_at; /* where a pod's name is inserted; 0: nowhere */
	/* The annotation of the promised start, of one pod; the others have none. */
	pod_id promised_pod;
	uint32_t promised_s; /* since 1970; 0: no start is promised */
	char text[];
};

enum step { STEP_CONDITION, STEP_EVENT, STEP_SERIES };

enum item_kind {
	ITEM_POD,  /* kept while the pod waits, to count equal events */
	ITEM_BIND, /* the event of a binding, sent once */
	ITEM_GROUP,
	ITEM_KINDS
};

/* A pending report: begins what follows.  Up to queue_max of them wait for each queue, and as many
 * Events of bindings are kept, so that members of one kind alone are not here. */
struct item {
	TAILQ_ENTRY(item) link;
	struct report *report;
	struct http_call *call;
	uint64_t due_ns; /* not before; while it is in flight, when it was sent */
	/* When what its next Event reports happened, so that a retry is the same object.  0, as of
	 * each pod that waits: now. */
	uint64_t since_ns, since_wall_ns;
	struct note *note; /* NULL: of a binding, or nothing is to be written */
	uint8_t kind;      /* enum item_kind */
	uint8_t step;      /* enum step */
	uint8_t tries;
	bool queued;
	bool held; /* ... in `held` instead of its queue */
	bool kept; /* in `kept`; not queued */
	bool flying;
};

/* What one kind of reports does on its own.  report_request.c sends the requests of all kinds, and
 * knows what the answers mean. */
struct item_ops {
	const char *what; /* for the log: what STEP_CONDITION writes, and the right to it */
	/* Starts the next request; false if none is left. The item is in no list then. */
	bool (*send)(struct item *i);
	/* The request of its step was accepted. */
	void (*written)(struct item *i);
	/* It was rejected, and would be again; NULL: nothing has to be remembered. */
	void (*give_up)(struct item *i);
	/* It was not written: a later sweep retries. */
	void (*defer)(struct item *i);
	/* All is written for now; the item may be freed. */
	void (*finish)(struct item *i);
	/* True if the answer is not one to a report, but says how to send it; NULL: there are none. */
	bool (*answered)(struct item *i, const struct http_answer *answer, const char *body,
	                 size_t body_bytes);
	/* The right to what STEP_CONDITION writes; NULL: it has no such step. */
	struct right *(*right)(const struct item *i);
	void (*free)(struct item *i);
};
extern const struct item_ops report_pod_ops, report_bind_ops, report_group_ops;

/* The promised start that was reported last (report_start.c). */
struct start_published {
	uint64_t at_ns; /* 0: none */
	uint32_t later;
};

/* Of a pod that waits. */
struct pod_item {
	struct item item;
	pod_id pod;
	uint32_t generation;
	const char *reason;     /* of the condition */
	struct note *next_note; /* arrived while it was in flight */
	const char *next_reason;
	struct note *standing; /* the text of its condition as long as it waits */
	const char *standing_reason;
	char *nominated; /* status.nominatedNodeName as it is to be; "": none; NULL: not ours to say */
	struct start_published start; /* of a lone pod */

	/* Its last Event. */
	uint64_t event_ns;
	uint64_t event_count;
	struct note *event_note; /* one that is rejected counts as written: it would be again */
	char *event_name;
	TAILQ_ENTRY(pod_item) recent_link;
	bool recent; /* in `recent` */
};

/* The Event of a binding or an eviction. */
struct bind_item {
	struct item item;
	uint8_t what; /* enum report_happening */
	char texts[]; /* one behind the other, each terminated: enum bind_text */
};
enum bind_text {
	BIND_UID, /* first: it is compared most */
	BIND_NAMESPACE,
	BIND_NAME,
	BIND_SCHEDULER,
	BIND_DETAIL,
	BIND_API_VERSION, /* of the object; "": a pod */
	BIND_KIND,
	BIND_TEXTS
};
const char *report_bind_text(const struct bind_item *b, enum bind_text which);

/* report_start.c */
/* Who a move is because of. */
struct promised_by {
	uint32_t who;
	bool is_node;
	uint32_t gangs;     /* limits.gangs: lone pods are numbered from there on */
	const char *tenant; /* whose users read it: gangs of others are not named */
};
/* Sets the annotation of the note, and queues the Events of what changed. */
void report_start_gang(struct report *r, const struct cmd_reason *cmd, const struct gang_view *gang,
                       struct note *note);
void report_start_pod(struct report *r, const struct cmd_reason *cmd, const struct pod_view *pod,
                      struct note *note);

TAILQ_HEAD(item_list, item);
TAILQ_HEAD(pod_item_list, pod_item);

/* Where the status of a dialect's objects is written.  The CRD of Volcano's PodGroup has no status
 * subresource: the patch of it is answered with 404, as for an object that is gone, and discovery
 * tells which it is. */
enum status_place {
	STATUS_SUBRESOURCE, /* unless discovery says otherwise */
	STATUS_OBJECT
};

/* State of a gang that the core reported. */
struct group {
	struct item item;
	gang_id gang;
	uint32_t generation;
	uint32_t dialect; /* of the status that was written last */
	bool again;       /* changed while it was in flight */
	enum gang_state state;
	uint32_t members, bound, quorum; /* at the last change of state */
	enum gang_state reported;        /* in the last Event */
	struct note *reported_why;       /* its text, if it was about waiting */
	enum gang_state reporting;       /* in the one that is sent or retried; GANG_NONE */
	uint64_t event_ns;               /* of its last Event */
	uint64_t event_due_ns;           /* when the next Event is allowed, if one is pending; 0 */
	bool began;                      /* it was seen waiting or binding: its placement is reported */
	struct note *why;                /* NULL: it does not wait */
	const char *why_reason;          /* of a condition */
	uint32_t why_kind;               /* enum wait_reason */
	struct reason *reason;           /* the complete reason, for a gang with a timeout */
	uint64_t waits_ns;               /* since; 0: it does not wait */
	bool timed_out;
	uint64_t held_back_ns; /* so many members are there since; 0: it has its quorum, or none */
	uint32_t held_back_members;
	bool held_back; /* for HELD_BACK_NS: its reason names what may hold them back */
	struct start_published start;
	bool discovers; /* its next or current request asks discovery about the status */
	/* The last written status, until the watch shows it. */
	struct group_status *sent;
	char *sent_version;
	uint64_t sent_ns; /* 0: not confirmed */
	enum status_place sent_to;
};

/* A right that may be missing.  As long as it is, one object in a sweep asks for all, each time
 * another one: a right may also be missing in one namespace alone. */
struct right {
	bool missing;
	bool asked;  /* in this sweep */
	bool passed; /* an object before `next` had to ask */
	size_t next; /* the first object that may ask */
};

#define REPORT_DIALECTS_MAX 32

struct status_where {
	enum status_place place;
	uint64_t asked_ns; /* when discovery answered last; 0: never */
};

struct report {
	struct report_config config;
	const struct item_ops *const *ops; /* by enum item_kind */
	char instance[129];
	struct item_list queues[ITEM_KINDS]; /* waiting to be written */
	size_t queued_n[ITEM_KINDS];
	struct item_list held; /* rejected individually, each delayed equally: the first due first */
	size_t held_n;
	struct item_list kept; /* Events of bindings that were not written; the next sweep retries */
	size_t kept_n;
	struct pod_item_list recent; /* pods with an Event within EVENT_GAP_NS; the oldest first */
	struct item_list flying;
	size_t flying_n;
	size_t events_flying; /* of bindings, among these */
	struct window window; /* of these */
	bool binds_waiting;   /* at the last poll */
	bool groups_turn;     /* pods had their turn */
	struct pod_item **by_pod;
	size_t by_pod_n;
	bool lists_in;
	struct group **by_gang;
	size_t by_gang_n;
	struct jsonout text; /* with the pod's name inserted */
	double tokens;
	uint64_t tokens_ns;
	uint64_t sweep_ns;                          /* when the next sweep begins */
	bool sweeps;                                /* a sweep is in progress ... */
	size_t sweep_pod, sweep_gang;               /* ... and goes on here */
	bool sweep_kept;                            /* ... and has done `kept` */
	struct right conditions, events;            /* patch pods/status; create and patch events */
	struct right statuses[REPORT_DIALECTS_MAX]; /* patch podgroups/status, by dialect */
	struct status_where where[REPORT_DIALECTS_MAX];
	uint64_t pause_until_ns;
	struct backoff backoff;
	struct jsonout path, body;
	struct report_counts counts;
	struct log_limit limit, defer_limit, drop_limit;
};

/* True if the object may ask for a right, which it is going to use. */
bool report_may_ask(struct right *right, size_t object);

struct note *report_note_new(const char *text);
struct note *report_note_use(struct note *n);
void report_note_drop(struct note **n);

/* Appends it to its queue. */
void report_item_queue(struct item *i);
/* Delays it without blocking others of its queue. */
void report_item_hold(struct item *i);
/* Keeps the Event of a binding for the next sweep; the oldest is dropped if there are too many. */
void report_item_keep(struct item *i);
/* Requeues held items that are due, at the end. */
void report_held_go(struct report *r, uint64_t now);
/* Sends what may be sent. Returns the monotonic time of the next call. */
uint64_t report_send_due(struct report *r, uint64_t now, bool binds_waiting);
/* Items in the queues and held ones. */
size_t report_waiting(const struct report *r);
/* Removes it from its list. */
void report_item_unlist(struct item *i);
static inline struct pod_item *pod_of(struct item *i)
{
	assert(i->kind == ITEM_POD);
	return (struct pod_item *)i;
}

static inline struct group *group_of_item(const struct item *i)
{
	assert(i->kind == ITEM_GROUP);
	return (struct group *)(uintptr_t)i;
}

/* It must be in no list. */
void report_item_free(struct item *i);
/* The item of that pod; made if there is none. */
struct pod_item *report_item_of_pod(struct report *r, pod_id pod, uint32_t generation);
/* Another pod has its slot: the item ends with its request, or when it is deferred. */
bool report_pod_replaced(const struct pod_item *p);
/* Sets the report of the pod; takes a reference to the text. */
void report_item_set(struct pod_item *p, struct note *note, const char *reason);

/* Queues the Event of the pod's current reason. */
void report_item_owe(struct pod_item *p);
/* True if the pod's last Event has another text than its current reason. */
bool report_event_owed(const struct pod_item *p);
/* Sets the time of what the next Event reports to now. */
void report_item_happened(struct item *i);
/* Counts a report that is lost for good, and logs why. */
void report_dropped(struct report *r, const char *why);

/* Reports the reason on every waiting member. */
void report_gang_reason(struct report *r, const struct cmd_reason *cmd, uint64_t timed_out_ns);

/* Queues the groups whose status the model marked dirty. */
void report_groups_changed(struct report *r);
/* The gang's promised start that was reported last; made if it is not known. */
struct start_published *report_group_start(struct report *r, gang_id gang, uint32_t generation);
/* The gang waits, with `note` as the text of the reason. */
void report_group_waits(struct report *r, const struct cmd_reason *cmd,
                        const struct gang_view *gang, struct note *note);
/* The gang's timeout if it has passed, else 0. */
uint64_t report_group_timeout(const struct report *r, const struct cmd_reason *cmd,
                              const struct gang_view *gang);
/* True if no member has come for HELD_BACK_NS. */
bool report_group_held_back(const struct report *r, const struct cmd_reason *cmd,
                            const struct gang_view *gang);
/* NULL: none is known. */
struct group *report_group_find(const struct report *r, gang_id gang, uint32_t generation);
/* Made if none is known. */
struct group *report_group_of(struct report *r, gang_id gang, uint32_t generation);
/* Schedules the group for due_ns or earlier. */
void report_group_wake(struct group *g, uint64_t due_ns);
/* ... for when a reason is old enough to be written. */
void report_group_wake_soon(struct group *g);
/* When the timeout expires, or NEVER_NS. */
uint64_t report_group_timeout_due(const struct group *g, const struct gang_view *gang);
/* When its reason is to name what may hold members back, or NEVER_NS. */
uint64_t report_group_held_back_due(const struct group *g);

#define ECHO_NS (5 * NS_PER_S) /* by then the watch shows what was written, or it was lost */

enum showing {
	SHOWS,    /* the watch shows the wanted status */
	NOT_KEPT, /* written for this version of the object, and rejected, not kept or not shown yet */
	SHOWS_OTHER /* to be written */
};

/* `g` may be NULL; `now` as in event_time(), without microseconds. */
enum showing report_status_showing(const struct report *r, const struct group *g,
                                   const struct gang_view *gang, const char *now);
/* Writes the status if it is to be written; false if not. */
bool report_status_send(struct group *g, const struct gang_view *gang);
/* The patch got 404.  True if the group is to send its next request: discovery, or the status at
 * the place that discovery returned while the patch was in flight. */
bool report_status_missing(struct group *g);
/* The answer of discovery: the next request writes the status at the place in it. */
void report_status_discovered(struct group *g, const char *body, size_t body_bytes);
/* Forgets what was written last. */
void report_status_forget(struct group *g);

/* Compares what is reported of the gang with what should be, and writes what differs. */
void report_group_sweep(struct report *r, gang_id gang, const char *now);
void report_group_free(struct group *g);

#define REPORT_SWEEP_NS (30 * NS_PER_S)
#define EVENT_GAP_NS (10 * NS_PER_S) /* between two Events of one object */
/* The API server keeps an Event for that long (--event-ttl). */
#define EVENT_LATE_NS (3600 * NS_PER_S)

/* Continues or begins a sweep.  Returns when to call again. */
uint64_t report_sweep(struct report *r, uint64_t now);
/* Queues the Events of pods that the gap between Events held back.  Returns when to call again. */
uint64_t report_recent(struct report *r, uint64_t now);

struct event_text;

/* Starts the request in report->path and ->body. */
void report_item_request(struct item *i, const char *method, const char *type);
/* Sends an Event; its name, time and instance are set here.  The name of the same item and time is
 * the same. */
void report_event_send(struct item *i, const struct event_text *about);

/* False for a pod that has a node, or may get one by a Binding in flight. */
bool report_pod_waits(const struct report *r, const struct pod_view *pod);

/* True if the pod's condition, and its nomination, on the watch are right already. */
bool report_condition_is(const struct pod_item *p, const struct pod_view *pod,
                         const struct note *note, const char *reason);

/* Sends the next request of an item that is in no list, or finishes it. */
void report_item_send(struct item *i);

#endif
