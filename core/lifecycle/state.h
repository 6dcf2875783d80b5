/* SPDX-License-Identifier: Apache-2.0 */
/* struct core: all state of a core, in parts.  Each part is written by the functions of its header
 * alone, except where a comment names other writers; everything in lifecycle/, cycle/ and step/ may
 * read every part. */
#ifndef MUSTER_CORE_STATE_H
#define MUSTER_CORE_STATE_H

#include "core/base/config.h"
#include "core/classes/pod_counts.h"
#include "core/cluster/lasting.h"
#include "core/cluster/nodes.h"
#include "core/cluster/pods.h"
#include "core/cluster/shapes.h"
#include "core/index/views.h"
#include "core/lifecycle/facts.h"
#include "core/plan/plan.h"
#include "core/queue/gangs.h"
#include "core/queue/refresh.h"
#include "core/queue/scheduling_queue.h"
#include "core/share/defined.h"
#include "core/share/share.h"
#include "core/share/taken.h"
#include "core/shm/ledger.h"
#include "core/timeline/timeline.h"

#include <errno.h>

/* Commands for which the ring was full; nothing is planned until they are sent. */
struct outbox {
	bool gang_waits;
	bool reason_waits;
	struct cmd_gang gang;
	struct cmd_reason reason;
};

/* A reservation of an earlier epoch: core/lifecycle/inflight.h. */
struct inflight {
	uint64_t uid[2];  /* of the pod */
	bool retained;    /* else a binding may be in flight */
	bool cancelled;   /* ... and is not to be sent again */
	bool journaled;   /* from the journal, which is newer than the state of an earlier epoch */
	uint32_t keep_ms; /* of another scheduler's pod; 0: unknown */
	uint32_t node_bytes;
	char node[NAME_BYTES_MAX];
};

#define RETAINING_SHOWN 16u /* gangs that reasons look at */

/* Requests of EVENT_ASSUME and their reservations: core/lifecycle/assume.h. */
#define ASSUMES_MAX 64u /* requests without an answer; the frontend has fewer under way */

struct assume_request {
	struct event_assume body;
	uint64_t *nodes; /* bits: the candidates */
};

struct assumes {
	struct assume_request requests[ASSUMES_MAX]; /* a ring, the oldest at `first` */
	uint32_t first, n;
	bool answer_waits; /* requests[first] was decided, and the ring is full */
	struct cmd_assume answer;
	struct pod_list pods; /* RESERVATION_ASSUMED */
	uint64_t due_ns;      /* none of them expires before */
};

/* Which gang owns the backfill reservation.  Written by core/lifecycle/backfill_state.c and
 * core/cycle/backfill*.c. */
struct backfill {
	uint32_t gang; /* the owner; ID_NONE: there is no reservation */
	uint64_t since_ns;
	struct gang_key key;   /* of the owner when it was last planned */
	uint32_t search_next;  /* the search continues at this gang; ID_NONE: at the first */
	uint64_t *whole_nodes; /* bits by node, scratch of core/cycle/backfill_nodes.c */
};

/* core/cycle/promises.c */
struct promising {
	struct timeline *timeline; /* NULL: config.promise_depth is 0 */
	/* What the gang in the cycle asks for; wants_n 0: not certain enough for a promise. */
	struct timeline_ask ask;
	bool asked;
	uint32_t late;                 /* promises_late() of the plan, which was undone */
	struct timeline_place *places; /* of the plan */
	uint32_t places_room;
	uint64_t due_ns; /* when to look again: as timeline_due_ns() at the end of the last cycle */
	/* Of an earlier core or frontend, until the first cycle; one for each gang. */
	struct promise_before {
		uint32_t gang, generation;
		uint64_t at_ns;
		uint64_t created_ns; /* of the pod that has it */
	} * before;
	uint32_t before_n;
	size_t before_room;
};

/* Gangs that wait for a turn, in their order. */
struct turn_list {
	uint32_t first, last; /* links: turns.next; ID_NONE: none */
};

/* Why and until when a gang is not asked again: core/cycle/turns.c. */
struct turn_parked {
	uint8_t by;     /* enum queue_by; QUEUE_BY_NONE: it is asked */
	uint32_t at;    /* the queue */
	uint64_t eased; /* shares_eased() of it */
};

/* A promise that counts in the order of turns. */
struct turn_promise {
	uint64_t serial;
	uint32_t queue;
};

/* The gang that no other gang of its fifo queue passes; ID_NONE: none. */
struct turn_blocker {
	uint32_t gang, generation;
	struct gang_key key; /* when it was last planned */
};

struct past_list; /* core/cycle/queue_past.h */

/* Queues: core/lifecycle/queued.c counts, core/cycle/turns.c decides. */
struct turns {
	struct defined *defined; /* by records; NULL: none came */
	bool stale;              /* they changed since `shares` was made */
	uint32_t *named;         /* by pod: the id of its queue; NULL: as defined */
	uint32_t *stated;        /* by pod: event_pod.stated_s; NULL: there never were queues */

	/* Histories (core/share/share.h): NULL: they don't count.  Those that records have and
	 * turns_make() has not taken over; and when they have to be brought up next. */
	struct event_queue_terms *terms;
	struct past_list *pasts;
	uint64_t history_due_ns;

	struct shares *shares;   /* NULL: there are no queues, and nothing below is used */
	struct defined_set *set; /* of which it is; NULL: of config.queues */
	uint32_t *counted;       /* by pod: 1 + the queue in which it is counted; 0: it isn't */
	uint32_t *queue;         /* by gang: 1 + its queue, as queued_gang() found it; 0: not known */
	struct turn_blocker *blocker;  /* by queue */
	uint32_t blockers_n;           /* of them: how many there are */
	struct turn_parked *parked;    /* by gang */
	struct share_block block;      /* of the gang in the cycle */
	bool again;                    /* the gang in the cycle has more members to start */
	bool rose;                     /* some queue uses more since promises were asked for */
	bool edited;                   /* queues were, since promises were ranked by them */
	uint64_t facts_version;        /* nodes.facts_version of the last shares_capacity() */
	struct turn_promise *promised; /* counted by shares_promise(): core/cycle/turn_promised.c */
	uint32_t promised_n, promised_room;
	bool shown; /* rows were published, at this time */
	uint64_t shown_ns;

	/* Scratch of a cycle: what was to be planned when it began. */
	bool listed;
	uint32_t *next;                /* by gang */
	struct turn_list told;         /* gangs of which only the reason is published */
	struct turn_list *quorums;     /* by queue */
	struct turn_list *extras;      /* ... whose quorum has started */
	struct share_waiting *waiting; /* ... the first of them */
	struct share_ask *asks;        /* ... what it asks for */
	node_id *nodes;                /* of a plan */
	uint32_t *order;               /* ... in which its members are taken */
	wide *values;                  /* of members */
};

/* core/lifecycle/tickets.h */
#define TICKETS_GANGS 16u /* the first ones; the others are of lone pods */
#define TICKETS_MAX 32u

struct ticket {
	uint64_t number; /* 0: unused */
	uint32_t gang;   /* index: of a group, or a lone pod */
	uint32_t generation;
	int32_t priority;
	uint32_t nth; /* of a lone pod, among the open tickets of equal pods */
	uint64_t opened_ns;
	struct record *answer; /* NULL: none yet */
};

struct ticket_wait {
	uint64_t due_ns; /* no ticket before */
	uint64_t wait_ns;
	uint32_t generation;       /* of the gang */
	uint32_t stuck_pod;        /* struct reason */
	uint32_t stuck_generation; /* 0: none */
	uint32_t taken_pod;        /* likewise */
	uint32_t taken_generation;
	uint32_t taken_of; /* index of the gang to which that was nominated */
	uint32_t taken_of_generation;
	int32_t priority; /* of lone pods: those above it need not wait */
};

struct tickets {
	uint32_t flags; /* of enum preemption_flags: what tickets are for; 0: there are none */
	uint32_t n;
	uint64_t last; /* number of the latest one */
	struct ticket all[TICKETS_MAX];
	uint32_t lone_next;        /* of the unschedulable queue: where tickets_refresh() goes on */
	uint32_t gang_next;        /* ... with reclaim: which gang is the first */
	struct ticket_wait *waits; /* by group, then by class of lone pods; NULL: they are off */
	/* With PREEMPTION_ON: */
	struct event_preemption terms;
	struct kept_facts *facts; /* by pod; NULL: it is off */
	bool renominates;         /* before the next plan: core/cycle/renominate.h */
	bool lone_again;          /* lone pods may have tickets before the next round of reasons */
};

/* core/lifecycle/nominate.h */
#define NOMINATIONS_GANGS 16u /* the first ones; the others are of lone pods */
#define NOMINATIONS_MAX 64u

enum victim_state { VICTIM_DUE, VICTIM_SENT, VICTIM_ENDING, VICTIM_REFUSED };

struct eviction {
	pod_id pod;
	uint32_t generation;
	node_id node;
	uint32_t state;    /* enum victim_state */
	uint64_t ticket;   /* of its command */
	uint64_t since_ns; /* VICTIM_ENDING */
	struct evict_cause cause;
};

struct nomination {
	uint64_t ticket; /* 0: unused */
	uint32_t gang;   /* index */
	uint32_t generation;
	int32_t priority;
	uint32_t evicted;          /* victims that end, or ended, because of it */
	uint64_t start_ns;         /* its victims are gone, as far as is known */
	bool placed_there;         /* the last plan placed the gang where it is nominated */
	uint32_t taken_pod;        /* the last one that others bound on one of its nodes */
	uint32_t taken_generation; /* 0: none */
	struct eviction *victims;  /* that are not gone */
	uint32_t victims_n;
	uint32_t places_n;
	struct answer_pod *places;
};

struct eviction_command {
	uint16_t kind; /* CMD_NOMINATE, CMD_EVICT or CMD_CANCEL_EVICT */
	union {
		struct cmd_nominate nominate;
		struct cmd_evict evict;
		struct cmd_cancel_evict cancel;
	};
};

struct nominations {
	uint32_t n;
	uint64_t tick_ns; /* victims are looked at for being stuck, not before */
	struct nomination all[NOMINATIONS_MAX];
	struct eviction_command *commands; /* from `first` on they are not in the ring yet */
	size_t commands_cap;
	uint32_t first, commands_n;
	uint32_t at; /* in its nomination, of the last victim of a command */
};

struct core {
	struct core_config config; /* constant */

	/* The cluster and what is derived from it. */
	struct ledger_view ledger;
	struct nodes nodes;
	struct lasting lasting;
	struct shapes shapes;
	struct pod_counts pod_counts;
	struct views views;
	struct budget budget; /* work of the round */
	struct pods pods;     /* pods themselves: core/lifecycle/ */
	/* gangs themselves: core/lifecycle/, and core/cycle/ for the gang in the cycle */
	struct gangs gangs;

	/* What to plan next. */
	struct scheduling_queue queue;
	struct refresh refresh;
	struct backfill backfill;
	struct promising promises;
	struct turns turns;
	struct taken taken; /* with reclaim: core/lifecycle/evicted.h */
	struct tickets tickets;
	struct nominations nominations;

	uint32_t retaining[RETAINING_SHOWN]; /* gangs with retained reservations, some of them */
	uint32_t retaining_n;
	struct pod_list sends;   /* reservation_is_unsent() */
	struct pod_list backoff; /* pod.backoff: binding refused, ready again at retry_ns */
	uint64_t backoff_due_ns; /* none is due before */
	struct assumes assumes;
	struct outbox outbox;
	struct inflight *inflight; /* until the lists of this epoch are complete */
	size_t inflight_n;

	/* Scratch of one cycle: core/cycle/. */
	struct plan plan;
	struct gang_need need;
	struct tally *tally;
	wide *own; /* of minimum_met() */

	/* The epoch, and what belongs to no part: core/step/core.c. */
	uint64_t epoch;               /* 0: none yet */
	uint64_t now_ns;              /* the latest time of any record */
	bool synced;                  /* EVENT_SYNCED has come */
	uint32_t names_n;             /* in use */
	uint64_t saturated_published; /* nodes.saturated, as of core_show() */

	const char *fault; /* why the last record was refused; set by refuse() */
};

/* The record is malformed; `fault` is a static text. */
static inline int refuse(struct core *c, const char *fault)
{
	c->fault = fault;
	return -EPROTO;
}

static inline struct core_stats *core_stats(struct core *c)
{
	return &c->ledger.ledger->stats;
}

#endif
