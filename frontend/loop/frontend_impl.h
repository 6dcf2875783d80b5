/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the frontend. frontend.c: loop and connections; commands.c: the core's commands;
 * preempt.c: those about evictions; past.c: the history of queues; queue_status.c: their usage, for
 * their objects; claims_rights.c: rights to write claims; figures.c: metrics. */
#ifndef MUSTER_FRONTEND_FRONTEND_IMPL_H
#define MUSTER_FRONTEND_FRONTEND_IMPL_H

#include "frontend/loop/frontend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pending_result {
	enum record_kind kind;
	union {
		struct result result;
		struct evict_result evict_result; /* of RESULT_EVICT_* */
	};
};

struct frontend {
	struct frontend_config config;
	const struct env *env;
	struct model *model;
	struct limits limits; /* private copy, against which commands are checked */
	struct watch **watches;
	size_t watches_n;
	struct watch_outage outage; /* of all of them */
	struct binder *binder;
	struct volume_bind *volume_bind; /* NULL: off */
	struct claim_bind *claims;       /* NULL: devices are off */
	const struct prebind_kind *prebind[2];
	struct takeover *takeover;
	struct report *report;
	struct extender *extender;       /* NULL: off */
	struct reviewer *reviewer;       /* NULL: the extender is off */
	struct lease *lease;             /* NULL: no election */
	struct journal *journal;         /* NULL: none is kept */
	struct evictor *evictor;         /* NULL: no pod is evicted */
	struct rights *rights;           /* with it */
	struct rights *claims_rights;    /* NULL: not asked for */
	struct taint_rules *taint_rules; /* with it */
	int claims_watch;                /* with it: of `watches` */
	uint64_t told_ticket;            /* whose preemptor got its Event */
	struct stuck_told {
		gang_id gang;
		uint32_t gang_generation, pod_generation;
		pod_id pod;
	} stuck[16];             /* by gang: whose Event says that this pod does not go */
	struct past_store *past; /* NULL: the history of queues does not count */
	uint32_t past_half_life_s;
	uint64_t past_due_ns;              /* when to write it */
	struct queue_status *queue_status; /* NULL: what queues use is not written */
	uint64_t queue_look_ns;            /* when its rows are read next */
	uint64_t rows_known_ns;            /* frontend_rows_known() */
	bool taking_over;                  /* takeover_begin() was called */
	uint64_t coreless_max_ns; /* a leader without a core, or with one that does not last, gives up
	                             after this */
	uint64_t core_lasts_ns;   /* after which a core counts as lasting */
	struct latency *latency;
	struct waits *waits;
	struct decisions *decisions;

	struct frontend_port port;
	bool up;
	bool started;    /* a first core connected: the watches run */
	bool synced;     /* model_set_synced() was called */
	uint64_t led_ns; /* leader since then; 0: not leader */
	bool stopping;
	bool coreless;           /* led without a core for too long, or with a stalled one */
	uint64_t up_ns, down_ns; /* when the last core connected and disconnected */
	uint64_t coreless_ns;    /* time without a lasting core, up to the last connect */
	bool flushed;            /* everything dirty is in the event ring */
	bool replayed;           /* the core has read the whole table */
	uint64_t ticked_ns;      /* when the last EVENT_TICK was sent */

	/* Objects were dropped for a limit: they are listed again once usage falls. */
	uint64_t room_entries, room_memory;         /* highest usage since the last such list */
	uint64_t room_columns;                      /* model_counts.columns_changed at that time */
	uint64_t room_entries_hit, room_memory_hit; /* limits that were hit until then */
	uint64_t room_freed_ns;                     /* NEVER_NS: nothing was freed */
	uint64_t room_listed_ns;

	/* Results waiting for ring space, oldest first, from `results_first` on. */
	struct pending_result *results;
	size_t results_first, results_n, results_cap;
	struct frontend_counts counts;
};

/* Each watch has listed its objects. */
bool frontend_lists_in(const struct frontend *f);

/* An Event on the pod. */
void frontend_pod_happened(struct frontend *f, const struct pod_view *pod,
                           enum report_happening what, const char *note);

/* The monotonic time from which the rows of the core in the ledger have what it was sent; 0: the
 * core has not read everything yet. */
uint64_t frontend_rows_known(struct frontend *f);

/* Keeps it until the result ring has space. */
void frontend_result_keep(void *context, const struct pending_result *r);

/* past.c: only with config.past. */
void past_begin(struct frontend *f);
void past_end(struct frontend *f);
/* What an earlier instance left was read, or can't be; this one leads. */
bool past_ready(struct frontend *f);
/* ... and the core gets it before EVENT_SYNCED. */
void past_restore(struct frontend *f);
/* Before the ledger goes. */
void past_core_down(struct frontend *f);
uint64_t past_poll(struct frontend *f);
/* Writes it for the last time. */
void past_stop(struct frontend *f);
bool past_is_idle(const struct frontend *f);

/* queue_status.c: only with config.queue_status. */
uint64_t queue_status_turn(struct frontend *f);

/* claims_rights.c: asked once the cluster has claims; nothing without config.reviews_claims. */
void claims_rights_begin(struct frontend *f);
uint64_t claims_rights_poll(struct frontend *f);

/* preempt.c: nothing without config.evicts. */
void preempt_begin(struct frontend *f);
void preempt_end(struct frontend *f);
/* The core may plan: it is known whether pods may be evicted. */
bool preempt_ready(const struct frontend *f);
uint64_t preempt_poll(struct frontend *f, bool binds_waiting);
/* A gang waits; it may name a victim that does not go. */
void preempt_reason(struct frontend *f, const struct cmd_reason *cmd);
void preempt_metrics(const struct frontend *f, struct metrics *out);
/* -EPROTO: malformed */
int preempt_evict(struct frontend *f, const struct cmd_evict *cmd);
int preempt_cancel(struct frontend *f, const struct cmd_cancel_evict *cmd);
int preempt_nominate(struct frontend *f, const struct cmd_nominate *cmd);

#endif
