/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the writer: writer.c keeps queue, window and order, groupread.c lets gangs
 * begin, binding.c knows the way of one binding. */
#ifndef MUSTER_FRONTEND_WRITER_IMPL_H
#define MUSTER_FRONTEND_WRITER_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/bind/writer.h"
#include "frontend/json/jsonout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum bind_step { STEP_POST, STEP_READ, STEP_FENCE };

struct bind {
	TAILQ_ENTRY(bind) link;
	struct writer *writer;
	struct group_read *group; /* by which it was let through or is held; NULL: there was none */
	struct cmd_bind cmd;
	enum bind_step step; /* to be done next, or under way */
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	uint64_t sent_ns;
	bool begun;     /* model_bind_begin() was called */
	bool maybe;     /* an earlier POST with `version` may still land */
	bool earlier;   /* ... or one of an earlier frontend, by no version that is known before the pod
	                   is read */
	bool told;      /* RESULT_UNKNOWN was sent */
	bool renewed;   /* the token was read again for this one */
	bool give_up;   /* refuse it once nothing can land */
	bool withdrawn; /* CMD_TAKE_BACK: nobody wants its room any more */
	unsigned fences_refused;
	uint32_t retry_ms;
	char version[64];
	char *namespace;
	char *name;
	char *uid;
	char *node;
	char *scheduler;
	char error[400]; /* why give_up; "" */
};
TAILQ_HEAD(bind_list, bind);

/* One of a gang that has not begun, while it has Bindings here. */
struct group_read {
	TAILQ_ENTRY(group_read) link; /* in groups */
	TAILQ_ENTRY(group_read)
	due; /* in groups_due until it is asked, and while it is to be asked again */
	struct writer *writer;
	gang_id gang;
	uint32_t generation;
	struct bind_list held; /* until the answer */
	size_t binds;          /* that point here, those held among them */
	bool answered;         /* its Bindings go out */
	bool renewed;          /* the token was read again for this one */
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
};
TAILQ_HEAD(group_read_list, group_read);

/* Where the last Binding of a pod was refused, as long as no other was sent. */
struct refused_at {
	uint32_t generation; /* of the pod; 0: none */
	node_id node;
	uint32_t node_generation;
	bool told; /* as POD_BINDING, to a core that has not read all yet */
};

struct writer {
	struct writer_config config;
	struct bind_list queue;   /* never sent */
	struct bind_list retries; /* due_ns says when */
	struct bind_list flying;
	struct bind_list landed; /* accepted, not seen on the watch yet */
	size_t queued, retrying, in_flight;
	uint64_t retries_due_ns;
	struct bind **by_pod;
	size_t by_pod_n;
	struct refused_at *refused; /* by pod */
	size_t refused_n;
	struct group_read_list groups, groups_due;
	unsigned groups_flying;
	struct group_read **by_gang;
	size_t by_gang_n;
	unsigned window;
	unsigned window_credit;
	uint64_t pause_until_ns;
	struct backoff pause; /* the server is not there or wants less */
	uint64_t landed_look_ns;
	struct jsonout path, body;
	struct writer_counts counts;
	struct log_limit limit;
};

static inline uint64_t writer_now(const struct writer *w)
{
	return env_now(w->config.env);
}

/* ---- binding.c: b is in no list before these, and in one or gone after ---- */

/* Do its next step. */
void binding_step(struct bind *b);

/* Nothing of ours can land: tell the core, and forget it. */
void binding_refused(struct bind *b);

/* Refuse it, now or once what may land can't any more; the core is to wait so long then. */
void binding_give_up(struct bind *b, uint32_t retry_ms);

/* A new core is to know of it from now on. */
void binding_begin(struct bind *b);

/* Tell the core of a result. */
void binding_tell(struct bind *b, enum record_kind kind);

/* ---- groupread.c ---- */

/* Is b, which is in no list, of a gang that has not begun?  Then its group is read first, and b is
 * held. */
bool groupread_hold(struct bind *b);
/* b goes; the last one takes the read along. */
void groupread_leave(struct bind *b);
/* Ask what is to be asked.  Returns when it wants to be called next. */
uint64_t groupread_send(struct writer *w);
/* What is held was never sent: forget it. */
void groupread_forget(struct writer *w);

/* ---- writer.c ---- */

/* It wants that step, that much later. */
void writer_later(struct bind *b, enum bind_step step, uint64_t wait_ns);
void writer_forget(struct bind *b);
void writer_drop(struct bind *b); /* not sent in this life, and its core is gone */
void writer_queue(struct bind *b);
void writer_note_refused(struct writer *w, const struct cmd_bind *cmd);
void writer_forget_refused(struct writer *w, pod_id pod);

/* Send nothing for so long. */
void writer_pause(struct writer *w, uint64_t wait_ns);
void writer_window_halve(struct writer *w);
void writer_window_grow(struct writer *w); /* one landed */

#endif
