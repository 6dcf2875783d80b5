/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a live ledger: rows are copied under their seqlocks, and every offset and length
 * is checked against bounds copied at the start.
 *
 * The ledger is mapped read-only. */
#ifndef MUSTER_IPC_OBSERVE_H
#define MUSTER_IPC_OBSERVE_H

#include "ipc/check.h"
#include "ipc/link.h"
#include "ipc/question.h"

#include <stdbool.h>

#define OBSERVE_NAME_MAX 512 /* longer names are truncated */

struct observer {
	struct link link; /* of observer_open(); else unused */
	struct ledger_places places;
	const struct ledger *ledger;
	struct segment segment;      /* of the ledger, not owned; base NULL: all of it has pages */
	uint64_t seen[LEDGER_PARTS]; /* bytes of each part that are known to have pages */
};

struct node_view {
	uint32_t generation;
	uint32_t flags; /* enum node_flags */
	uint32_t pods;
	char name[OBSERVE_NAME_MAX];
	int64_t allocatable[RESOURCES_MAX]; /* places.limits.resources of them */
	int64_t used[RESOURCES_MAX];
};

struct gang_copy {
	struct gang_row row;
	char name[OBSERVE_NAME_MAX];
};

struct queue_copy {
	struct queue_row row;                        /* its texts end with a NUL */
	struct queue_amounts amounts[RESOURCES_MAX]; /* places.limits.resources of them */
};

/* 0 or a negative errno, with e filled in. */
int observer_open(struct observer *o, const char *socket, struct link_error *e);

/* The same with another timeout for the answer. */
int observer_open_within(struct observer *o, const char *socket, uint64_t answer_ns,
                         struct link_error *e);
void observer_close(struct observer *o);

/* Of a ledger in the memory of this process: nothing is opened, and nothing has to be closed. `o`
 * is zeroed. */
void observer_own(struct observer *o, const struct ledger *ledger);

/* Number of resources whose amounts have pages; of those after them no node has any. */
uint32_t observe_resources_there(const struct observer *o);

/* Number of rows of nodes, and of gangs, that have pages; those after them are empty. */
uint32_t observe_nodes_there(const struct observer *o);
uint32_t observe_gangs_there(const struct observer *o);

/* Number of queue rows that have pages. */
uint32_t observe_queues_there(const struct observer *o);

/* False: the slot is empty, or no copy of its row was consistent. */
bool observe_queue(const struct observer *o, uint32_t id, struct queue_copy *out);
bool observe_node(const struct observer *o, node_id id, struct node_view *out);
/* The same without its name, and with the amounts of the first `resources` alone: what is summed
 * over all nodes. */
bool observe_node_amounts(const struct observer *o, node_id id, uint32_t resources,
                          struct node_view *out);
bool observe_gang(const struct observer *o, gang_id id, struct gang_copy *out);

/* A row of an answer to a search for victims, index below VICTIMS_ROWS.  Its text ends with a NUL.
 * False: it is empty, or no copy was consistent. */
bool observe_victims(const struct observer *o, uint32_t index, struct victims_row *out);

/* What another process wrote: counts that are used as bounds are limited to the arrays, and texts
 * end with a NUL and are clean. */
void observe_reason_check(struct reason *r);
void observe_victims_check(struct victims_row *row);

/* ipc/question.c: asks the core, and waits for its answer, which is checked.
 *
 *   -ETIMEDOUT   there was none in time
 *   -ECONNRESET  the core ended the connection
 *   -EPROTO      it answered something else
 *   -EPROTONOSUPPORT  its questions are of another version, which out->version is then
 *
 * or another negative errno of a system call. */
int observer_ask(const struct observer *o, const struct live_question *q, uint64_t timeout_ns,
                 struct live_answer *out);
/* The same about a pod that the cluster does not have. */
int observer_ask_pod(const struct observer *o, const struct live_pod *p, uint64_t timeout_ns,
                     struct live_answer *out);
/* ... about such a gang. */
int observer_ask_gang(const struct observer *o, const struct live_gang *g, uint64_t timeout_ns,
                      struct live_answer *out);

/* The text of a resource or taint; "": none.  Returns out. */
const char *observe_name(const struct observer *o, name_id id, char out[OBSERVE_NAME_MAX]);

/* So many bytes of the arena, at most OBSERVE_NAME_MAX - 1, as text.  Returns out. */
const char *observe_text(const struct observer *o, uint64_t offset, uint64_t bytes,
                         char out[OBSERVE_NAME_MAX]);

/* Utilization of a node in thousandths: the highest of its resources; *scarcest is its column.
 * Use of a resource that the node does not have counts as 1000. */
uint32_t observe_node_share(const struct node_view *n, uint32_t resources, uint32_t *scarcest);

uint64_t observe_count(const _Atomic uint64_t *count);

#endif
