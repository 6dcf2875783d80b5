/* SPDX-License-Identifier: Apache-2.0 */
/* Extender: kube-scheduler's pods share muster's ledger, since kube-scheduler calls these endpoints
 * before it places one.
 *
 *   POST /filter ──► serve.c ──job──► extender ──EVENT_ASSUME──► core
 *                       ▲                 │  ▲                   │ reserves capacity on one node
 *                       └─────answer──────┤  └────CMD_ASSUME──────┘
 *                           once durable  └──line──► journal
 *
 * The answer to /filter is one node. The capacity there is reserved until the pod is bound or gone,
 * or a time limit passes, so no gang takes it meanwhile, and no pod takes what is reserved for a
 * gang. The protocol has no call for a pod that was given up, hence the limit.
 *
 * A question without the pod's uid, beyond config.reservations_max pods, while the journal can't be
 * written, or of a pod whose time is over, is answered without a reservation:
 * frontend/serve/grants.h. If the journal fails after the core has reserved, the answer goes out as
 * well; what is reserved then ends with the two processes.
 *
 * Everything but extender_find() runs in the loop's thread; serve.c reads a job before it is
 * submitted and after it is done. */
#ifndef MUSTER_FRONTEND_EXTENDER_H
#define MUSTER_FRONTEND_EXTENDER_H

#include "frontend/base/env.h"
#include "frontend/serve/extender_text.h"
#include "frontend/base/port.h"
#include "frontend/model/model.h"
#include "frontend/serve/grants.h"
#include "frontend/serve/metrics.h"

#include <sys/queue.h>

struct extender_job {
	struct extender_question question;
	struct extender_answer answer;
	void (*done)(void *context); /* called once; may free the job */
	void *context;
	/* Owned by the extender: */
	TAILQ_ENTRY(extender_job) link;
	uint64_t begun_ns;
	uint32_t ticket; /* of its EVENT_ASSUME; 0: not sent */
	pod_id pod;      /* ... and its pod */
	uint32_t pod_generation;
	bool granted;  /* it was the first question of a pod that may have a reservation */
	bool reserves; /* ... or a later one of it */
	bool writing;  /* `chosen` is reserved, and its line awaited */
	size_t chosen;
};

struct extender_config {
	const struct env *env;
	struct model *model;
	struct journal *journal; /* NULL: none is kept */
	uint32_t keep_ms;        /* how long the capacity is reserved for a pod that is not bound */
	uint32_t reservations_max;
};

struct extender;

struct extender *extender_new(const struct extender_config *config);
/* Jobs in flight end with an error. */
void extender_free(struct extender *x);

/* Finds the nodes of a question that was read; from any thread, so that thousands of names do not
 * hold the loop up.  Beside extender_read(), and into the same arena. */
void extender_find(struct extender_question *q, struct node_names *names, struct arena *arena);

void extender_ask(struct extender *x, struct extender_job *job);

/* Sends what can be sent; `port` is NULL while no synchronised core is connected. Returns the time
 * of the next call. */
uint64_t extender_poll(struct extender *x, const struct frontend_port *port,
                       const struct limits *limits);

/* The core went away: requests in flight are repeated to the next one, which keeps what this one
 * had reserved: before it reads all pods. */
void extender_core_down(struct extender *x);
void extender_core_up(struct extender *x);

/* What an earlier instance reserved: grants_adopt(). */
void extender_adopt(struct extender *x, struct intent *line, pod_id pod, uint32_t generation);

/* A CMD_ASSUME of the core; one that matches no job is ignored. */
void extender_answered(struct extender *x, const struct cmd_assume *cmd);

const struct extender_counts *extender_counts(const struct extender *x);

#endif
