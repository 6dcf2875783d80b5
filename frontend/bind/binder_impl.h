/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the binder. binder.c: queue, window and order; group_recheck.c: the read of the
 * group before a gang starts; prebind.c: what is written before; binding.c: the states of one
 * binding. */
#ifndef MUSTER_FRONTEND_BINDER_IMPL_H
#define MUSTER_FRONTEND_BINDER_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/histogram.h"
#include "frontend/json/jsonout.h"
#include "frontend/base/log.h"
#include "frontend/base/window.h"
#include "frontend/bind/binder.h"
#include "frontend/bind/prebind.h"
#include "frontend/journal/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum bind_step { STEP_POST, STEP_READ, STEP_FENCE };

struct bind {
	TAILQ_ENTRY(bind) link;
	struct binder *binder;
	struct group_read *group; /* that admits or delays it; NULL: none */
	struct intent *intent;    /* NULL: nothing is to be sent, or there is no journal */
	struct held *held;        /* its works before the Binding; NULL: none (prebind.c) */
	struct cmd_bind cmd;
	enum bind_step step; /* next or in flight */
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	uint64_t sent_ns;
	bool begun;     /* model_bind_begin() was called */
	bool maybe;     /* an earlier POST with `version` may still be applied */
	bool earlier;   /* ... or one of an earlier frontend, with an unknown version */
	bool unknown;   /* RESULT_UNKNOWN was sent */
	bool renewed;   /* the token was read again for this one */
	bool give_up;   /* refuse it once nothing can be applied */
	bool prebound;  /* it need not be held any more */
	bool settle;    /* read and fenced before anything is written for it */
	bool left;      /* an earlier instance may have written something for it */
	bool withdrawn; /* CMD_CANCEL_BIND: its capacity is not wanted any more */
	unsigned fences_refused;
	uint32_t retry_ms;
	char version[64];
	char *namespace;
	char *name;
	char *uid;
	char *node;
	char *scheduler;
	char error[400]; /* the reason of give_up; "" */
};
TAILQ_HEAD(bind_list, bind);

/* The read of a group of which this process has bound no member that still has a node, while it has
 * Bindings here. */
struct group_read {
	TAILQ_ENTRY(group_read) link; /* in groups */
	TAILQ_ENTRY(group_read)
	due; /* in groups_due until it is sent, and while it is to be sent again */
	struct binder *binder;
	gang_id gang;
	uint32_t generation;
	struct bind_list held; /* until the answer */
	size_t binds;          /* that point here, including those in `held` */
	bool answered;         /* its Bindings are sent */
	bool renewed;          /* the token was read again for this one */
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
};
TAILQ_HEAD(group_read_list, group_read);

/* The node of a pod's last refused Binding, until another one is sent. */
struct refused_at {
	uint32_t generation; /* of the pod; 0: none */
	node_id node;
	uint32_t node_generation;
	bool announced; /* as POD_BINDING to a core that has not read all pods yet */
	uint64_t since_ns;
	struct intent *intent; /* NULL: not in the journal */
};

/* An intent of an earlier instance for a pod without a node, until a command comes for it. */
struct adopted {
	uint32_t generation; /* of the pod; 0: none */
	bool nowhere;        /* its node does not exist: the takeover fences it */
	struct intent *intent;
};

TAILQ_HEAD(prebind_stages, prebind_stage);
TAILQ_HEAD(held_shares, held_share);

struct binder {
	struct binder_config config;
	struct bind_list unwritten; /* never sent, and the journal does not have it yet */
	uint64_t durable_seen;      /* the journal's count when that was last looked through */
	struct bind_list queue;     /* never sent */
	struct bind_list retries;   /* due_ns says when */
	struct bind_list flying;
	struct bind_list landed; /* accepted, not seen on the watch yet */
	size_t queued, retrying, in_flight;
	struct bind *retries_next; /* of the round of retries_send() */
	uint64_t retries_due_ns;
	struct bind **by_pod;
	size_t by_pod_n;
	struct refused_at *refused; /* by pod */
	size_t refused_n;
	struct adopted *adopted; /* by pod */
	size_t adopted_n;
	size_t intents_kept; /* of `refused` and `adopted` */
	uint64_t intents_look_ns;
	struct group_read_list groups, groups_due;
	unsigned groups_flying;
	struct group_read **by_gang;
	size_t by_gang_n;
	uint32_t *begun_gangs; /* generation of the gang that has a Binding of ours; 0: none */
	size_t begun_gangs_n;
	struct prebind_stages stages;
	uint64_t prebind_due_ns;
	struct held_shares shares; /* of namespaces with held bindings */
	size_t shares_n, held_lines;
	bool lines_short;          /* in this turn, of lines within a share */
	bool lines_were_short;     /* in the one before */
	gang_id asked_gang;        /* the last one that was asked for work, in this turn */
	uint32_t asked_generation; /* 0: none */
	bool asked_wants;
	struct window window;
	uint64_t pause_until_ns;
	struct backoff pause; /* the server is unavailable or throttles */
	uint64_t landed_look_ns;
	struct jsonout path, body;
	struct binder_counts counts;
	struct histogram phases[PREBIND_KINDS_MAX]; /* ns, buckets_sli */
	struct log_limit limit;
};

static inline uint64_t binder_now(const struct binder *w)
{
	return env_now(w->config.env);
}

/* binding.c: b is in no list before these; afterwards it is in one, or freed. */

/* Performs the next step. */
void binding_step(struct bind *b);

/* Nothing of ours can be applied: reports REFUSED and frees b. */
void binding_refused(struct bind *b);

/* Refuses it, immediately or once nothing can be applied any more; the core is to wait retry_ms. */
void binding_give_up(struct bind *b, uint32_t retry_ms);

/* Records it in the model, so that a new core keeps its reservation. */
void binding_begin(struct bind *b);

/* Sends a result to the core. */
void binding_tell(struct bind *b, enum record_kind kind);

/* group_recheck.c */

/* True if b belongs to a gang of which this process has bound no member that still has a node: then
 * the group is read first and b waits. b is in no list. */
bool group_recheck_hold(struct bind *b);
/* The Binding was written: later ones of its gang are not held while a member has a node. */
void group_recheck_landed(const struct bind *b);
/* Removes b; the last one of a group cancels the read. */
void group_recheck_leave(struct bind *b);
/* Sends due reads. Returns the monotonic time of the next call. */
uint64_t group_recheck_send(struct binder *w);
/* Drops the waiting bindings, which were never sent. */
void group_recheck_forget(struct binder *w);

/* prebind.c: what is written before a Binding (frontend/bind/prebind.h) */

/* True if b, which is in no list, waits for its own work or that of its gang. */
bool prebind_hold(struct bind *b);
/* True if it would be, as things are now. */
bool prebind_expects(struct bind *b);
/* The same for a CMD_CANCEL_BIND: it waits until its works are undone. */
bool prebind_take_back(struct bind *b);
/* Call before each POST of b, which has works and is in no list.  False: the result of a work of b,
 * or of its gang, is lost, and b waits. */
bool prebind_admits(struct bind *b);
/* The last POST of b, which is in no list, certainly had no effect: unless a Binding of another
 * member may have one, all members are checked together again before the next POST. */
void prebind_had_no_effect(struct bind *b);
/* The outcome of b, which is in no stage, is known: its works end. */
void prebind_end(struct bind *b);
uint64_t prebind_poll(struct binder *w);
void prebind_core_down(struct binder *w);
void prebind_free(struct binder *w);

/* intents.c: what the journal has of bindings. Without a journal they do nothing. */

/* Takes what an earlier instance intended for the pod. */
void intent_begin(struct bind *b);
/* Before b is queued: what was not taken. */
void intent_need(struct bind *b);
/* What it permitted is over. */
bool intent_permits(struct bind *b);
void intent_end(struct bind *b);
/* The Binding was refused: `at` gets it while its gang may retain the capacity. */
void intent_retain(struct bind *b, struct refused_at *at);
void intent_forget_refused(struct binder *w, struct refused_at *at);
/* Queues what is durable now. */
void intents_ready(struct binder *w);
/* Removes kept intents whose pods no longer wait. Returns the time of the next call. */
uint64_t intents_look(struct binder *w);

/* binder.c */

/* True if the pod still waits unchanged. A pod without a gang retains nothing. */
bool refused_waits(const struct binder *w, pod_id id, const struct refused_at *at);
/* Schedules a step after wait_ns. */
void binder_later(struct bind *b, enum bind_step step, uint64_t wait_ns);
void binder_forget(struct bind *b);
void binder_drop(struct bind *b); /* never sent by this process, and its core is gone */
void binder_queue(struct bind *b);
void binder_note_refused(struct binder *w, const struct cmd_bind *cmd);
void binder_forget_refused(struct binder *w, pod_id pod);

/* Pauses all requests. */
void binder_pause(struct binder *w, uint64_t wait_ns);
/* A Binding was throttled or has no answer.  False if the window is smaller already by a request
 * sent with it. */
bool binder_window_slower(struct bind *b);
/* A Binding was accepted. */
void binder_window_answered(struct bind *b);

#endif
