/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of an observer to the core, on the socket of the handshake (ipc/link.h): would a gang
 * that waits start if one thing were different?  Which nodes are feasible for a pod that waits?
 *
 *   observer                                core
 *      QUESTION {gang, changes}     --->
 *                                   <---  ANSWER {verdict, places or reason, victims}
 *      QUESTION {pod}               --->
 *                                   <---  ANSWER {page: its number, the first nodes}
 *      QUESTION {page.number, from} --->
 *                                   <---  ANSWER {page: more nodes}
 *
 * An observer may ask again after its answer.  The first is answered from a core that is made of
 * the world's records (core/world/what_if.h), the second by the world itself
 * (core/world/live_verdict.h): nothing changes, and the loop is not stopped.  All pages of a number
 * are of one moment.
 * What the core reads is hostile: a malformed question is answered with a text and ends the
 * connection. */
#ifndef MUSTER_IPC_QUESTION_H
#define MUSTER_IPC_QUESTION_H

#include "ipc/abi.h"

#define QUESTION_VERSION 2u /* of the two structs: the hash of the layout does not cover them */
#define QUESTION_CHANGES_MAX 4u
#define QUESTION_NAME 328u       /* "namespace/name" or the name of a node, terminated */
#define QUESTION_NODES_MAX 1000u /* nodes that are added */
#define QUESTION_PLACES 64u
#define QUESTION_TEXT 256u
#define QUESTION_ROWS 192u /* nodes on a page */

enum question_about { ABOUT_GANG, ABOUT_POD, ABOUT_KINDS };

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
	gang_id gang;        /* ABOUT_GANG */
	uint32_t generation; /* of the gang, not 0 */
	uint32_t changes_n;
	struct question_change changes[QUESTION_CHANGES_MAX];
	uint32_t about;          /* enum question_about */
	uint32_t number;         /* ABOUT_POD: 0: of `pod`, else of the pages of that number */
	uint32_t from;           /* ... its nodes from there on */
	char pod[QUESTION_NAME]; /* "namespace/name" */
};

enum question_verdict {
	QUESTION_REFUSED, /* `text` has why */
	QUESTION_STARTS,  /* `places` */
	QUESTION_WAITS,   /* `reason`; `victims` if it waits for capacity */
	QUESTION_GAVE_UP, /* its turn did not come within the work that a question may take */
	QUESTION_NODES,   /* `page` */
	QUESTION_PLACED,  /* the pod has the node `page.node` by `page.placed` */
	QUESTION_VERDICTS
};

struct question_place {
	node_id node;    /* of the ledger; ID_NONE: one that was added */
	uint32_t number; /* of those, from 1 */
	uint32_t members;
};

/* What a node is not free for, although all filters pass. */
enum question_held {
	HELD_NONE,
	HELD_RESERVED, /* the capacity is reserved for live_answer.reserved_gang */
	HELD_PROMISED, /* a start there would break the promise of the gang `promised` */
	HELD_UNKNOWN,  /* ... might: more nodes have places of promises than one answer looks at */
	HELD_KINDS
};

struct question_row {
	node_id node;
	uint32_t generation;
	uint32_t whys; /* bits of enum filter_reason; 0: all filters pass */
	name_id taint;
	uint64_t short_of; /* bits of resources */
	uint32_t score;    /* if nothing of this is set */
	uint32_t held;     /* enum question_held */
	uint32_t promised;
	uint32_t binding;   /* pods there whose binding is not confirmed */
	uint32_t nominated; /* ... that have the room of victims */
	uint32_t padding;
};

enum question_placed { PLACED_BOUND, PLACED_BINDING, PLACED_NOMINATED, PLACED_KINDS };

struct question_page {
	uint32_t number;
	uint32_t nodes; /* on all pages */
	uint32_t from;
	uint32_t rows_n;
	uint32_t absent_n; /* resources that no node has: a node that is short of one is short of all */
	name_id absent[RESOURCES_MAX];
	node_id node;
	uint32_t placed; /* enum question_placed */
	struct question_row rows[QUESTION_ROWS];
};

struct live_answer {
	uint32_t version;
	uint32_t verdict;
	uint64_t position;      /* records of the loop that are in it */
	uint32_t members;       /* with a node then */
	uint32_t nodes;         /* that they are on; QUESTION_PLACES of them are listed */
	uint32_t reserved_gang; /* the owner of the backfill reservation, which is before it in the
	                         * queue and waits as well; ID_NONE: none.  A lone pod:
	                         * limits.gangs + its id, and `text` has its name */
	uint32_t queue_waits;   /* 1: its queue does not let it start as things are now */
	node_id like;           /* what added nodes are like; ID_NONE: none were */
	uint32_t without;       /* pods that were left out */
	union {
		struct {
			struct question_place places[QUESTION_PLACES];
			struct reason reason;
			struct victims_row victims;
		};
		struct question_page page;
	};
	char text[QUESTION_TEXT]; /* terminated */
};

#endif
