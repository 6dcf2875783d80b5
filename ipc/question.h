/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of an observer to the core, on the socket of the handshake (ipc/link.h): would a
 * waiting gang start after some changes?  Which nodes are feasible for a pending pod?
 *
 *   observer                                core
 *      QUESTION {gang, changes}     --->
 *                                   <---  ANSWER {verdict, places or reason, victims}
 *      QUESTION {pod}               --->
 *                                   <---  ANSWER {page: its number, the first nodes}
 *      POD {records}                --->
 *                                   <---  ANSWER {page: its number, the first nodes}
 *      GANG {records}               --->
 *                                   <---  ANSWER {verdict, places or reason, victims}
 *      QUESTION {page.number, from} --->
 *                                   <---  ANSWER {page: more nodes}
 *
 * An observer has one open question at a time.  A gang is tried on a core made from the world's
 * records (core/world/what_if.h), a pod on the world itself (core/world/live_verdict.h): nothing
 * changes, and the core's loop does not stop.  All pages with one number show the same moment.
 * The records of a POD or GANG are those of a pod or gang, or of pods without a gang, that the
 * cluster does not have, as muster-frontend makes them: frontend/model/put/outsider.h,
 * outsider_gang.h. Input is hostile: a malformed question, or one before the last answer, gets
 * QUESTION_REFUSED and ends the connection.  An observer of another QUESTION_VERSION knows it by
 * that of the answer. */
#ifndef MUSTER_IPC_QUESTION_H
#define MUSTER_IPC_QUESTION_H

#include "ipc/abi.h"

#define QUESTION_VERSION 4u /* of the structs here: abi_layout_hash() does not cover them */
#define QUESTION_CHANGES_MAX 4u
#define QUESTION_NAME 328u       /* "namespace/name" or the name of a node, terminated */
#define QUESTION_NODES_MAX 1000u /* added by a change */
#define QUESTION_PLACES 64u
#define QUESTION_TEXT 256u
#define QUESTION_ROWS 192u /* nodes on a page */
#define QUESTION_RECORDS 12288u
#define QUESTION_GANG_RECORDS 131072u /* 500 to 900 members */
#define QUESTION_GANG_SHAPES 32u

enum question_about { ABOUT_GANG, ABOUT_POD, ABOUT_KINDS };

enum question_change_kind {
	/* `number` nodes like the node `name`; "": like the one with most of what the gang lacks */
	CHANGE_NODES = 1,
	CHANGE_PRIORITY,          /* members and gang have the priority `number` */
	CHANGE_WITHOUT_POD,       /* the pod `name` does not exist */
	CHANGE_WITHOUT_NAMESPACE, /* no pod of the namespace `name` exists */
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
	uint32_t number;         /* ABOUT_POD: 0: evaluate `pod`; else page.number of an answer */
	uint32_t from;           /* ... the index of the first row */
	char pod[QUESTION_NAME]; /* "namespace/name" */
};

/* A pod that no table has: an EVENT_SHAPE, then an EVENT_POD of it, whose ids are 0 and which has
 * no gang and no node. */
struct live_pod {
	uint32_t version;
	uint32_t shape_bytes, pod_bytes; /* of the records */
	uint32_t padding;
	uint64_t epoch; /* in which muster-frontend made them: another one gave texts other numbers */
	alignas(8) unsigned char records[QUESTION_RECORDS];
};

/* A gang that no table has: an EVENT_NAME of each resource that no node has, EVENT_SHAPEs, an
 * EVENT_GANG and an EVENT_POD of each member.  Ids of shapes and pods count from 0, that of the
 * gang is 0; no pod has a node.  Without an EVENT_GANG the pods are lone ones, each of which starts
 * when it can: then QUESTION_STARTS is of all, and QUESTION_WAITS has `places` of those that start,
 * and in `text` the name of the first that waits, as far as it fits. */
struct live_gang {
	uint32_t version;
	uint32_t bytes; /* of the records, and all that is sent of them */
	uint64_t epoch; /* as in struct live_pod */
	alignas(8) unsigned char records[QUESTION_GANG_RECORDS];
};

enum question_verdict {
	QUESTION_REFUSED, /* `text`: why */
	QUESTION_STARTS,  /* `places` */
	QUESTION_WAITS,   /* `reason`; `victims` if it waits for capacity */
	QUESTION_GAVE_UP, /* the gang's turn did not come within bounds of work and time */
	QUESTION_NODES,   /* `page` */
	QUESTION_PLACED,  /* the pod is on `page.node`; `page.placed`: how */
	QUESTION_VERDICTS
};

struct question_place {
	node_id node;    /* ID_NONE: an added node */
	uint32_t number; /* of an added node, from 1 */
	uint32_t members;
};

/* Why a node that passes all filters is not free for the pod. */
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
	uint64_t short_of; /* a bit for each resource that it lacks */
	uint32_t score;    /* if `whys` is 0 */
	uint32_t held;     /* enum question_held */
	uint32_t promised;
	uint32_t binding;   /* reservations there, neither bound nor nominated */
	uint32_t nominated; /* ... that wait for victims to end */
	uint32_t padding;
};

enum question_placed { PLACED_BOUND, PLACED_BINDING, PLACED_NOMINATED, PLACED_KINDS };

struct question_page {
	uint32_t number;
	uint32_t nodes; /* on all pages */
	uint32_t from;
	uint32_t rows_n;
	uint32_t absent_n; /* resources that the pod requests and no node has */
	name_id absent[RESOURCES_MAX];
	node_id node;
	uint32_t placed; /* enum question_placed */
	struct question_row rows[QUESTION_ROWS];
};

struct live_answer {
	uint32_t version;
	uint32_t verdict;
	uint64_t position;      /* records of the loop that it includes */
	uint32_t members;       /* that have a node then */
	uint32_t nodes;         /* that they are on; at most QUESTION_PLACES are listed */
	uint32_t reserved_gang; /* the owner of the backfill reservation if it waits ahead in the
	                         * queue, else ID_NONE.  Only ABOUT_POD, for a lone pod:
	                         * limits.gangs + its id, and `text` has its name */
	uint32_t queue_waits;   /* 1: its queue does not let it start now */
	node_id like;           /* the model of added nodes; ID_NONE: none */
	uint32_t without;       /* pods that the changes removed */
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
