/* SPDX-License-Identifier: Apache-2.0 */
/* Binder: writes the core's bindings to the API server.
 *
 *              POST                     201
 *   QUEUED ──────────► POSTING ───────────────────────► LANDED ─► freed when the
 *      ▲                  │                                ▲      watch shows it
 *      │ not applied, may │ 409, 5xx, timeout, reset       │
 *      │ be sent again    ▼                                │
 *      └────────────── READING ────────────────────────────┘
 *                         │ ▲
 *     must not be sent    ▼ │         FENCING writes the pod's status, which
 *     again, may land   FENCING       advances its resourceVersion
 *
 * Invariant: a binding is reported as refused, after which the core may choose another node, only
 * when no Binding of ours can be applied any more. Each Binding carries uid and resourceVersion, so
 * once the pod's version has advanced without a node, all earlier Bindings fail.
 *
 * For a Binding of an earlier frontend (an in-flight binding of the core) the version is not known:
 * it is dead once the version has advanced from one that was read since. CMD_RETRY_BIND sends it to
 * the same node, as a Binding with a missing answer; CMD_CANCEL_BIND starts with READING, and what
 * the earlier frontend wrote before that Binding is taken back once it is dead.
 *
 * Before the first Binding of a gang the group's object is read, since its watch may lag
 * (docs/decisions/035), and no Binding is sent before the journal has its intent
 * (frontend/journal/journal.h); both at the same time.  Volumes and claims that have to be written
 * before are between the two and the POST (frontend/bind/prebind.h).
 *
 * The core gets UNKNOWN at most once, then exactly one of BOUND and REFUSED. */
#ifndef MUSTER_FRONTEND_BINDER_H
#define MUSTER_FRONTEND_BINDER_H

#include "frontend/base/env.h"
#include "frontend/base/histogram.h"
#include "frontend/model/model.h"

#include <stddef.h>
#include <stdint.h>

/* Input of the events that users see; the texts are valid during the call. */
struct bind_notice {
	const char *namespace;
	const char *name;
	const char *uid;
	const char *node;
	const char *scheduler; /* the pod's spec.schedulerName */
	const char *error;     /* NULL: bound */
};

struct latency; /* frontend/trace/latency.h */
struct journal; /* frontend/journal/journal.h */
struct intent;
struct takeover;
struct prebind_kind; /* frontend/bind/prebind.h */

struct binder_config {
	const struct env *env;
	struct model *model;
	unsigned connections;       /* limit of concurrent requests */
	unsigned connections_first; /* seek more than these; 0: `connections` from the start */
	uint32_t deadline_ms;       /* of a Binding at the API server, which drops it then; 0: none */
	void (*result)(void *context, enum record_kind kind, const struct result *r);
	void (*notice)(void *context, const struct bind_notice *n);
	void *context;
	struct latency *latency; /* NULL: not measured */
	struct journal *journal; /* NULL: none is kept */
	/* What is written before Bindings, in this order; outlives the binder. */
	const struct prebind_kind *const *prebind;
	unsigned prebind_n; /* at most PREBIND_KINDS_MAX */
};

struct binder_counts {
	uint64_t posts;
	uint64_t bound;
	uint64_t refused;
	uint64_t ambiguous;                          /* bindings whose outcome was unknown, */
	uint64_t ambiguous_bound, ambiguous_refused; /* and what it turned out to be */
	uint64_t reads;
	uint64_t fences;
	uint64_t cancelled;      /* CMD_CANCEL_BIND */
	uint64_t slowed;         /* 429 */
	uint64_t retries;        /* did not reach the server */
	uint64_t group_reads;    /* before the first Binding of a gang */
	uint64_t groups_changed; /* plans for a group that had changed */
	uint64_t post_ns_sum;
};

struct binder;

struct binder *binder_new(const struct binder_config *config);
void binder_free(struct binder *w);

/* Queues a binding in the core's order, for CMD_BIND, CMD_RETRY_BIND or CMD_CANCEL_BIND. The caller
 * has checked the ids.
 *
 *   -EPROTO  the pod has a binding without a result */
int binder_bind(struct binder *w, enum record_kind kind, const struct cmd_bind *cmd);

/* Sends what may be sent. Returns the monotonic time of the next call. */
uint64_t binder_poll(struct binder *w);

/* The core went away: drops bindings that were never sent. */
void binder_core_down(struct binder *w);

/* A new core reads all pods, in-flight ones as POD_BINDING, and gets the results that arrived
 * meanwhile. Members that the previous core saw refused are announced as in flight too, and refused
 * once the core has read everything, so that it retains their reservations (docs/decisions/032). */
void binder_core_up(struct binder *w);
void binder_core_read_all(struct binder *w);

/* An intent that is not the binder's, of a pod that has no node: INTENT_ASSUME of another
 * scheduler's, INTENT_NOMINATE of one of ours; the callee owns it. */
typedef void intent_take(void *context, struct intent *i, pod_id pod, uint32_t generation);

/* The lists are complete, and the journal is open: its intents of earlier instances go into the
 * model, for the core, before it may plan.  `t` gets the pods that the core can't keep a node for,
 * `take` what is not the binder's.  An INTENT_EVICT is over: the pod has gone, or runs on, and the
 * core decides again. */
void binder_take_over(struct binder *w, struct takeover *t, intent_take *take, void *context);

/* The takeover has fenced what it got: its intents are over. */
void binder_fenced(struct binder *w);

/* True while the pod has a Binding that is queued, in flight, or accepted and not yet on the watch.
 */
bool binder_has(const struct binder *w, pod_id pod, uint32_t generation);

size_t binder_queued(const struct binder *w);  /* not sent yet, but for those held */
size_t binder_held(const struct binder *w);    /* for what has to be written before */
size_t binder_flying(const struct binder *w);  /* requests in flight */
size_t binder_unknown(const struct binder *w); /* sent, outcome unknown: in flight or to be read */
unsigned binder_window(const struct binder *w);
const struct binder_counts *binder_counts(const struct binder *w);
/* How long members with work of that kind took to finish it, in ns (buckets_sli); those that failed
 * are not in it.  NULL: not one of the configuration's. */
const struct histogram *binder_phase(const struct binder *w, const struct prebind_kind *kind);

#endif
