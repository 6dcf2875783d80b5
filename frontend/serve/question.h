/* SPDX-License-Identifier: Apache-2.0 */
/* A question of the page, the path and the arguments of a GET, or of musterctl verdict, the body of
 * a POST.  The port's thread reads it, the loop answers it (frontend/page/answer.h).  Arguments are
 * texts of the client: cut, not checked.
 */
#ifndef MUSTER_FRONTEND_QUESTION_H
#define MUSTER_FRONTEND_QUESTION_H

#include "ipc/observe.h"

#include <stdbool.h>
#include <stdint.h>

enum question_kind {
	QUESTION_STATE,   /* /state.json */
	QUESTION_CELLS,   /* /cells.json?label=KEY&resource=NAME */
	QUESTION_GANGS,   /* /gangs.json?filter=TEXT&state=STATE&sort=FIELD&down=1&from=N&count=N */
	QUESTION_GANG,    /* /gang.json?name=NAMESPACE/GANG */
	QUESTION_NODE,    /* /node.json?name=NODE */
	QUESTION_HISTORY, /* /history.json?resource=NAME&span=day */
	QUESTION_QUEUES,  /* /queues.json?from=N&count=N */
	QUESTIONS,
	QUESTION_OUTSIDER /* POST /pod: no path of a GET; the object is serve_take_body() */
};

/* All of it is zeroed before it is filled in, so that equal questions are equal bytes. */
struct question {
	uint32_t kind; /* enum question_kind */
	uint32_t from, count;
	uint32_t down; /* 1: the last one first */
	char name[OBSERVE_NAME_MAX];
	char label[320], resource[320];
	char filter[128], state[32], sort[32], span[32];
};

#endif
