/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the page's answers: one function for each kind, and the gangs in their order. */
#ifndef MUSTER_FRONTEND_ANSWER_IMPL_H
#define MUSTER_FRONTEND_ANSWER_IMPL_H

#include "frontend/page/answer_source.h"
#include "ipc/order.h"

typedef unsigned long long ull;

/* A gang in lists.  `need` and `have`: of what its members lack most, by resource; 0: nothing. */
struct gang_place {
	gang_id id;
	uint32_t state; /* enum gang_state */
	char *name;
	struct gang_key key;
	uint32_t members, bound, position; /* in the scheduling queue, from 1; 0: it is not there */
	uint64_t waiting_since_ns;
};

/* All gangs with a member of ours, ended ones included. */
struct gang_list {
	struct gang_place *at; /* those that wait first, then in the order of the queue */
	size_t n, queued;
	uint64_t states[GANG_STATES];
	/* By resource: the most that the members of one waiting gang can use of it; < 0: no gang lacks
	 * it. */
	int64_t usable[RESOURCES_MAX];
};

struct gang_list gang_list_read(const struct observer *o);
void gang_list_free(struct gang_list *l);

/* One row, as in /gangs.json, without its closing brace. */
void answer_gang_row(const struct answer_source *s, const struct gang_copy *g,
                     const struct gang_place *place, struct jsonout *out);

void answer_number(struct jsonout *out, const char *format, int64_t value); /* @r in the format */
uint64_t answer_since_s(uint64_t ns, uint64_t now_ns);

/* "Running", "Bound", "Binding", "Gated", "Refused", "Waiting", "Terminating". */
const char *answer_stage(const struct pod_view *pod);

/* True if there are queues or promised starts to ask for. */
bool answer_shares(const struct answer_source *s);

void answer_state(const struct answer_source *s, struct jsonout *out);
void answer_cells(const struct answer_source *s, const struct question *q, struct jsonout *out);
void answer_gangs(const struct answer_source *s, const struct question *q, struct jsonout *out);
void answer_queues(const struct answer_source *s, const struct question *q, struct jsonout *out);
bool answer_gang(const struct answer_source *s, const struct question *q, struct jsonout *out);
bool answer_node(const struct answer_source *s, const struct question *q, struct jsonout *out);

#endif
