/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the evictor.  evictor.c: commands, queue and pace; eviction.c: the requests of one
 * eviction; nominations.c: who is nominated. */
#ifndef MUSTER_FRONTEND_EVICTOR_IMPL_H
#define MUSTER_FRONTEND_EVICTOR_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/evict/evictor.h"
#include "frontend/evict/request.h"

#include <sys/queue.h>

enum evict_step { EVICT_STEP_MARK, EVICT_STEP_SEND, EVICT_STEP_READ };

/* A gang that goes whole for a ticket. */
struct cut {
	gang_id gang;
	uint32_t generation;
	uint32_t gone;   /* members, but those that went by themselves */
	bool is_refused; /* one can't be evicted: what is left stays, too */
};

/* The open evictions of one ticket. */
struct ticket {
	TAILQ_ENTRY(ticket) link;
	uint64_t id;
	uint32_t read;          /* commands */
	uint32_t open;          /* without a result */
	uint32_t guarded;       /* ... of pods that a budget matches */
	struct eviction *plain; /* the first in the queue of the others; NULL: none */
	uint64_t whole_ns;      /* sent at the latest then, though commands are missing */
	uint32_t counted;       /* bits of enum evict_rule: it is in gangs_by[] */
	bool is_void;           /* one was refused, or can't be sent: the core cancels the others */
	char *scheduler;        /* of the preemptor: its name is in the condition of its victims */
	struct cut *cuts;
	size_t cuts_cap;
	uint32_t cuts_n;
};
TAILQ_HEAD(ticket_list, ticket);

struct eviction {
	TAILQ_ENTRY(eviction) link;
	struct eviction *same; /* of the pod: the next one */
	struct evictor *evictor;
	struct ticket *ticket; /* NULL: its core is gone */
	struct cmd_evict cmd;
	struct intent *intent; /* NULL: not in the journal yet, or none is kept */
	enum evict_step step;
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	bool guarded;
	bool begun; /* a request was sent: the eviction is in `retries` or `flying` */
	bool cancelled;
	bool tried;     /* a request that evicts was sent, whose outcome was not known */
	bool by_itself; /* it has gone without one: if it succeeded, it counts to its gang's quorum */
	unsigned invalid;
	char *texts; /* namespace, name, uid, node */
	struct evict_target target;
	const char *node;
	gang_id gang; /* the pod's; of the model, which may forget both before the answer */
	uint32_t gang_generation;
};
TAILQ_HEAD(eviction_list, eviction);

struct nomination {
	uint32_t generation; /* of the pod; 0: none */
	bool earlier;        /* made by an earlier core */
	struct intent *intent;
};

struct evictor {
	struct evictor_config config;
	struct eviction_list queue;   /* nothing was sent; by ticket, guarded ones first */
	struct eviction_list retries; /* due_ns says when */
	struct eviction_list flying;
	struct ticket_list tickets;
	size_t queued, flying_n, lines;
	struct eviction **by_pod; /* in any list */
	size_t by_pod_n;
	double tokens;
	uint64_t tokens_ns;
	struct nomination *nominations; /* by pod */
	size_t nominations_n, nominated;
	uint64_t lapse_ns; /* then those of an earlier core end; 0: there are none */
	uint64_t look_ns;
	struct jsonout path, body;
	struct evictor_counts counts;
	struct log_limit limit;
};

/* Of the preemptor, by the model, else the configured one. */
const char *evictor_scheduler(const struct evictor *e, const struct cmd_evict *cmd);

/* The last of its evictions has ended, or goes on without it. */
void ticket_leave(struct evictor *e, struct ticket *t);

/* Of a gang that goes whole: v has been evicted or is being deleted, or can't be evicted. */
void ticket_cut(struct eviction *v, bool gone);
/* It was cancelled, and is not sent, or sent again.  False of a gang that goes whole and has lost
 * its quorum by the ticket: what is left of it is of no use to anybody.  Evictions whose outcome is
 * not known yet count. */
bool eviction_is_withdrawn(const struct eviction *v);

/* eviction.c: v is in no list before these; afterwards it is in one, or freed. */
void eviction_step(struct eviction *v);
/* Reports the result, unless its core is gone, and frees v. */
void eviction_end(struct eviction *v, enum record_kind kind);
void eviction_free(struct eviction *v);

/* nominations.c */
uint64_t nominations_look(struct evictor *e);
/* The core went away: the next one may make them again. */
void nominations_core_down(struct evictor *e);
void nominations_free(struct evictor *e);

#endif
