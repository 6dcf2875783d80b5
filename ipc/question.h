/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of an observer to the core, on the socket of the handshake (ipc/link.h): would a gang
 * that waits start if one thing were different?
 *
 *   observer                                core
 *      QUESTION {gang, changes}     --->
 *                                   <---  ANSWER {verdict, places or reason, victims}
 *
 * An observer may ask again after its answer.  The core answers from a core of its own that is made
 * of the world's records (core/world/what_if.h): nothing changes, and the loop is not stopped.
 * What the core reads is hostile: a malformed question is answered with a text and ends the
 * connection. */
#ifndef MUSTER_IPC_QUESTION_H
#define MUSTER_IPC_QUESTION_H

#include "ipc/abi.h"

#define QUESTION_VERSION 1u /* of the two structs: the hash of the layout does not cover them */
#define QUESTION_CHANGES_MAX 4u
#define QUESTION_NAME 328u       /* "namespace/name" or the name of a node, terminated */
#define QUESTION_NODES_MAX 1000u /* nodes that are added */
#define QUESTION_PLACES 64u
#define QUESTION_TEXT 256u

enum question_change_kind {
	CHANGE_NODES = 1,   /* `number` more nodes like the node `name`; "": like the largest one */
	CHANGE_PRIORITY,    /* members and gang have the priority `number` */
	CHANGE_WITHOUT_POD, /* the pod `name` is not there */
	CHANGE_WITHOUT_NAMESPACE, /* no pod of the namespace `name` is there */
	CHANGE_KINDS
};

struct question_change {
	uint32_t kind;
	int32_t number;
	char name[QUESTION_NAME];
};

struct live_question {
	uint32_t version;
	gang_id gang;
	uint32_t generation; /* of the gang, not 0 */
	uint32_t changes_n;
	struct question_change changes[QUESTION_CHANGES_MAX];
};

enum question_verdict {
	QUESTION_REFUSED, /* `text` has why */
	QUESTION_STARTS,  /* `places` */
	QUESTION_WAITS,   /* `reason`; `victims` if it waits for capacity */
	QUESTION_GAVE_UP, /* its turn did not come within the work that a question may take */
	QUESTION_VERDICTS
};

struct question_place {
	node_id node;    /* of the ledger; ID_NONE: one that was added */
	uint32_t number; /* of those, from 1 */
	uint32_t members;
};

struct live_answer {
	uint32_t version;
	uint32_t verdict;
	uint64_t position;      /* records of the loop that are in it */
	uint32_t members;       /* with a node then */
	uint32_t nodes;         /* that they are on; QUESTION_PLACES of them are listed */
	uint32_t reserved_gang; /* the owner of the backfill reservation, which is before it in the
	                         * queue and waits as well; ID_NONE: none */
	uint32_t queue_waits;   /* 1: its queue does not let it start as things are now */
	node_id like;           /* what added nodes are like; ID_NONE: none were */
	uint32_t without;       /* pods that were left out */
	struct question_place places[QUESTION_PLACES];
	struct reason reason;
	struct victims_row victims;
	char text[QUESTION_TEXT]; /* terminated */
};

#endif
