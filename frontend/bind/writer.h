/* SPDX-License-Identifier: Apache-2.0 */
/* The core's bindings, written to the API server.
 *
 *              POST                     201
 *   QUEUED ──────────► POSTING ───────────────────────► LANDED ─► gone once the
 *      ▲                  │                                ▲      watch shows it
 *      │ not there, may   │ 409, 5xx, timeout, reset       │
 *      │ be sent again    ▼                                │
 *      └────────────── READING ────────────────────────────┘
 *                         │ ▲
 *     may not be sent     ▼ │         FENCING writes the pod's status, so that
 *     again, may land   FENCING       its resourceVersion moves on
 *
 * What must hold: a pod is refused to the core, which may then send it
 * elsewhere, only when no Binding of ours can land any more.  Each Binding names
 * uid and resourceVersion, so once the pod's version moved on without a node,
 * all earlier ones are dead.
 *
 * Of one that an earlier frontend may have sent (core/lifecycle/carry.h) nobody knows by which
 * version: all that could land are dead once the pod's version moved on from one that was read
 * since.  CMD_BIND_AGAIN sends it to the same node, as one of which an answer is missing;
 * CMD_TAKE_BACK begins with READING.
 *
 * A gang begins by what its group asks for now, not by what a watch has told so far:
 * before its first Binding the group's object is read (docs/decisions/035).
 *
 * Answers go to the core as results: UNKNOWN at most once, then exactly one of
 * BOUND and REFUSED. */
#ifndef MUSTER_FRONTEND_WRITER_H
#define MUSTER_FRONTEND_WRITER_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

#include <stddef.h>
#include <stdint.h>

/* For the events that users see; texts are good during the call. */
struct bind_notice {
	const char *namespace;
	const char *name;
	const char *uid;
	const char *node;
	const char *scheduler; /* the pod's spec.schedulerName */
	const char *error;     /* NULL: bound */
};

struct latency; /* frontend/trace/latency.h */

struct writer_config {
	const struct env *env;
	struct model *model;
	unsigned connections; /* at most that many requests at once */
	void (*result)(void *context, enum record_kind kind, const struct result *r);
	void (*notice)(void *context, const struct bind_notice *n);
	void *context;
	struct latency *latency; /* NULL: nobody looks at the time */
};

struct writer_counts {
	uint64_t posts;
	uint64_t bound;
	uint64_t refused;
	uint64_t ambiguous; /* bindings whose answer did not say what became of them: */
	uint64_t ambiguous_bound, ambiguous_refused; /* what it was in the end */
	uint64_t reads;
	uint64_t fences;
	uint64_t withdrawn;      /* CMD_TAKE_BACK */
	uint64_t slowed;         /* 429 */
	uint64_t retries;        /* did not reach the server */
	uint64_t group_reads;    /* of gangs that were about to begin */
	uint64_t groups_changed; /* plans that were for another group than the one read */
	uint64_t post_ns_sum;
};

struct writer;

struct writer *writer_new(const struct writer_config *config);
void writer_free(struct writer *w);

/* Queue a binding, in the core's order, by a CMD_BIND, CMD_BIND_AGAIN or CMD_TAKE_BACK.  The ids
 * were checked.
 *
 *   -EPROTO  this pod has a binding that was not answered yet */
int writer_bind(struct writer *w, enum record_kind kind, const struct cmd_bind *cmd);

/* Send what may be sent.  Returns when it wants to be called next. */
uint64_t writer_poll(struct writer *w);

/* The core is gone: what was never sent is forgotten. */
void writer_core_down(struct writer *w);

/* A new core is going to read all pods, those in flight as POD_BINDING: it hears what landed
 * meanwhile.  Members that the last one was told are refused are told in the same way, and are
 * refused when it has read them: so it keeps their room as the last one did (docs/decisions/032).
 */
void writer_core_up(struct writer *w);
void writer_core_read_all(struct writer *w);

/* Does that pod have a Binding that is queued, under way, or landed and not yet told of by the
 * watch? */
bool writer_has(const struct writer *w, pod_id pod, uint32_t generation);

size_t writer_queued(const struct writer *w);  /* not sent yet */
size_t writer_flying(const struct writer *w);  /* requests under way */
size_t writer_unknown(const struct writer *w); /* sent, fate not known: flying or to be read */
unsigned writer_window(const struct writer *w);
const struct writer_counts *writer_counts(const struct writer *w);

#endif
