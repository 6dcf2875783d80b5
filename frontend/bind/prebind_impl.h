/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the stage before Bindings. prebind_hold.c: who is held; prebind_lines.c: for how
 * many the journal has lines; prebind.c: the phases; prebind_admit.c: from there to the outcome. */
#ifndef MUSTER_FRONTEND_PREBIND_IMPL_H
#define MUSTER_FRONTEND_PREBIND_IMPL_H

#include "frontend/bind/binder_impl.h"
#include "frontend/bind/prebind.h"

/* A binding with works: held, then released and not in a stage, until its outcome is known. */
struct held {
	struct prebind_stage *stage; /* NULL: released */
	bool together;               /* released with others of its gang */
	bool parted;                 /* a Binding of these was sent since, and may have had an effect */
	struct prebind_member member;
	void *works[PREBIND_KINDS_MAX]; /* NULL: none of that kind, or over */
	unsigned done;                  /* phases that are over; the next one is started, or waits */
	bool lined;                     /* it counts among the lines of held bindings */
	bool prepared;
	bool started;      /* phase `done` */
	bool failed;       /* its works are being undone */
	bool dead;         /* no Binding of it can land any more: then it is refused */
	uint64_t since_ns; /* of the phase, or of the undo */
	uint32_t retry_ms;
};

/* Members that start together, in `binds`; or a lone pod, or a member of a gang of which a Binding
 * was sent before (prebind_has_begun()). */
struct prebind_stage {
	TAILQ_ENTRY(prebind_stage) link;
	struct binder *binder;
	struct held_share *share; /* of its namespace */
	gang_id gang;             /* ID_NONE: its members do not wait for others */
	uint32_t generation;
	struct bind_list binds;
	bool working; /* the works were started; false: it still waits for members */
	uint64_t since_ns;
	uint64_t
		lines_ns; /* when they began to wait for lines, then when they got them; 0: no quorum yet */
	bool lined;
};

static inline unsigned prebind_kinds(const struct binder *w)
{
	return w->config.prebind_n;
}

static inline const struct prebind_kind *prebind_kind(const struct binder *w, unsigned i)
{
	return w->config.prebind[i];
}

/* Removes b, which is in no list then; a stage without members is freed by the sweep. */
void prebind_leave(struct bind *b);
struct prebind_stage *prebind_stage_make(const struct bind *b, gang_id gang);
struct prebind_stage *prebind_stage_of(struct binder *w, const struct cmd_bind *cmd);
void prebind_sweep(struct binder *w);

/* Undoes and refuses the members that have not failed yet. */
void prebind_fail_all(struct prebind_stage *s, const struct prebind_why *why);

/* The state of a phase of b that was started. */
enum prebind_state prebind_look(struct bind *b, unsigned phase, struct prebind_why *why);

/* prebind_admit.c */

/* True if a Binding of another member of b's gang is in flight, was applied, or may be. */
bool prebind_has_begun(const struct bind *b);
/* All works of b are done: queues its Binding.  `begun`: prebind_has_begun(). */
void prebind_release(struct bind *b, bool begun);

/* prebind_lines.c */

/* The most held bindings that have lines at once; without a journal none needs one. */
size_t prebind_lines_most(const struct binder *w);
/* A stage begins, or ends. */
struct held_share *prebind_share(struct binder *w, const char *namespace);
void prebind_unshare(struct binder *w, struct held_share *s);
/* Counts the line of b, which is held, if it has one. */
void prebind_line_count(struct bind *b);
void prebind_line_return(struct bind *b);
/* Lines for the members without one: for all, or for as many as make the quorum, or for none. */
void prebind_lines_take(struct prebind_stage *s);
/* True if the quorum would have them within the share of its namespace. */
bool prebind_lines_due(const struct prebind_stage *s);
/* Why a stage does not get lines, or gives them back. */
void prebind_lines_say(const struct prebind_stage *s, struct prebind_why *why);

#endif
