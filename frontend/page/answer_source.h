/* SPDX-License-Identifier: Apache-2.0 */
/* What the page's answers are made of, and their bounds. */
#ifndef MUSTER_FRONTEND_ANSWER_SOURCE_H
#define MUSTER_FRONTEND_ANSWER_SOURCE_H

#include "frontend/json/jsonout.h"
#include "frontend/page/history.h"
#include "frontend/serve/metrics.h"
#include "frontend/serve/question.h"
#include "ipc/observe.h"

#include <stdint.h>

#define ANSWER_BYTES_MAX ((size_t)2 << 20)
#define ANSWER_CELLS 8192u
#define ANSWER_GANGS 100u   /* of a piece of the queue */
#define ANSWER_QUEUES 100u  /* likewise, of the queues */
#define ANSWER_STARTS 64u   /* that are promised */
#define ANSWER_PODS 1000u   /* of a gang */
#define ANSWER_ON_NODE 300u /* pods */

/* Borrowed. */
struct answer_source {
	const struct observer *ledger; /* NULL: without a core */
	const struct model *model;
	const struct metrics *metrics;
	const struct latency *latency; /* NULL: no times of stages */
	const struct history *history; /* NULL: none is kept */
	uint64_t wall_ns;
};

#endif
