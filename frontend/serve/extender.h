/* SPDX-License-Identifier: Apache-2.0 */
/* kube-scheduler's own pods draw on muster's ledger as well: it asks through the extender endpoints
 * before it places one.
 *
 *   POST /filter ──► serve.c ──job──► extender ──EVENT_CLAIM──► core
 *                       ▲                 │  ▲                   │ reserves room on one node
 *                       └─────answer──────┘  └────CMD_CLAIM──────┘
 *
 * The answer to /filter is one node, with room kept there until the pod is bound or gone, or too
 * long has passed; so no gang takes it in the meantime, and no pod takes what a gang was promised.
 * The extender protocol has no way to say that a pod was given up: time tells.
 *
 * All of this runs in the loop's thread; a job is read by serve.c's before it comes and after
 * it is done. */
#ifndef MUSTER_FRONTEND_EXTENDER_H
#define MUSTER_FRONTEND_EXTENDER_H

#include "frontend/base/env.h"
#include "frontend/loop/frontend.h"
#include "frontend/serve/extender_text.h"
#include "frontend/serve/metrics.h"

#include <sys/queue.h>

struct extender_job {
	struct extender_question question;
	struct extender_answer answer;
	void (*done)(struct extender_job *job); /* called once; it may free the job */
	void *context;
	/* The extender's: */
	TAILQ_ENTRY(extender_job) link;
	uint64_t begun_ns;
	uint32_t ticket; /* of its EVENT_CLAIM; 0: not sent */
};

struct extender_config {
	const struct env *env;
	struct model *model;
	uint32_t keep_ms; /* how long room is kept for a pod that is not bound */
};

struct extender;

struct extender *extender_new(const struct extender_config *config);
/* Jobs under way end with an error. */
void extender_free(struct extender *x);

void extender_ask(struct extender *x, struct extender_job *job);

/* Send what can be sent: `port` is NULL while no core is there that knows all pods so far.  Returns
 * when to call again. */
uint64_t extender_poll(struct extender *x, const struct frontend_port *port,
                       const struct limits *limits);

/* The core went away: what was sent is asked again of the next one. */
void extender_core_down(struct extender *x);

/* An answer of the core; one that fits nothing is passed over. */
void extender_answered(struct extender *x, const struct cmd_claim *cmd);

const struct extender_counts *extender_counts(const struct extender *x);

#endif
