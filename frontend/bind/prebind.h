/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be written, and waited for, before a pod may be bound: volumes, claims of devices.
 *
 *   intent durable ─► GATHER ──quorum──► prepare all ─► phase 0 ─► phase 1 ─► HOLD ─► OPEN
 *                        │                   │             │          │         │
 *                        │ 5 s               │ one fails   └─one fails┴─────────┴─► undo ─► REFUSED
 *                        └────────────────────┴─► REFUSED: nothing was written
 *
 *   OPEN ──connection, line of the journal──► look() ──all is there──► POST ─► outcome: the end
 *    ▲                                          │                       │
 *    └───── it may be sent again ───────────────│───────────────────────┘
 *                                               │ something is lost
 *                                               └─► (FENCE ─► READ, if a POST may land) ─► HOLD
 *
 * The members of a gang without a bound member start together: none has a Binding sent before the
 * work of all has succeeded, and members without work wait as well.  If a member fails and the
 * others are still the quorum, it alone is refused; else all are, once what they wrote is undone.
 * Members of a gang of which a Binding was sent before, and lone pods, wait for their own work
 * alone.  This is kube-scheduler's PreBind, for a gang as a whole (docs/decisions/075).
 *
 * The result of a work may be lost before the API server has the Binding: another scheduler
 * allocates the device, or its driver withdraws a binding condition, while the Binding waits or is
 * to be sent again.  So works are kept, suspended, until the outcome of the Binding is known:
 * suspended works write nothing, since the pod may run already.  look() is called before each POST;
 * before the first one of a gang for all members that were released with it.  If one of them has
 * lost a result, all of them return to HOLD, which waits for it or undoes.  After the first POST
 * only that member does, unless no POST of the gang had an effect (not sent, 401, 429).  A pod on
 * which a POST of this process may still be applied is fenced first, so that nothing is undone for
 * a pod that runs (docs/decisions/093).
 *
 * A kind of work is a row of functions.  It makes its own requests and finds its objects in the
 * model; its choice is a function of pod and node and of earlier commands of the core.  Kinds run
 * in the order of binder_config.prebind, one after another.
 *
 * If a process dies: the intent of the Binding names pod and node, and is durable before any
 * start().  For the next instance the core sends CMD_RETRY_BIND or CMD_CANCEL_BIND: prepare()
 * adopts what an earlier instance has written, recover() finds what has to be undone.  A new core
 * gets the members that were started as in flight; the others are dropped. */
#ifndef MUSTER_FRONTEND_PREBIND_H
#define MUSTER_FRONTEND_PREBIND_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

#define PREBIND_KINDS_MAX 4

enum prebind_state {
	PREBIND_BUSY,
	PREBIND_DONE,
	PREBIND_FAILED, /* *why is set */
};

/* Valid as long as its work. */
struct prebind_member {
	pod_id pod;
	uint32_t generation;
	node_id node;
	gang_id gang; /* ID_NONE: a lone pod */
	uint32_t gang_generation;
	const char *node_name;
	const char *namespace, *name, *uid; /* of the pod */
};

struct prebind_why {
	char text[400];    /* text of an Event; "": no Event */
	uint32_t retry_ms; /* least time until it is planned again; 0: the core's backoff */
};

struct prebind_kind {
	const char *name;
	void *context;
	uint64_t timeout_ns; /* from start() on; 0: none */
	const char *late;    /* the text of a member that took longer */
	/* False: no pod at all has such work.  Cheap: called for each command. */
	bool (*any)(void *context);
	/* The pod has work of this kind. */
	bool (*wants)(void *context, pod_id pod, uint32_t generation);
	/* Chooses, and writes nothing; NULL: there is no choice, and *why is set. */
	void *(*prepare)(void *context, const struct prebind_member *m, struct prebind_why *why);
	/* It may be written from now on. */
	void (*start)(void *context, void *work);
	/* Also after it was PREBIND_DONE, whose reasons may be gone. */
	enum prebind_state (*look)(void *context, void *work, struct prebind_why *why);
	/* It writes nothing until this is called with false.  NULL: nothing, once it is done. */
	void (*suspend)(void *context, void *work, bool suspended);
	/* Takes back what was written and is not final; look() is PREBIND_DONE after that. */
	void (*undo)(void *context, void *work);
	/* What an earlier instance may have written for the member, to be undone; NULL: nothing. */
	void *(*recover)(void *context, const struct prebind_member *m);
	void (*free)(void *context, void *work);
	/* Sends what is due; the monotonic time of the next call. */
	uint64_t (*poll)(void *context);
};

#endif
