/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the stage before Bindings. prebind_hold.c: who is held; prebind.c: the phases. */
#ifndef MUSTER_FRONTEND_PREBIND_IMPL_H
#define MUSTER_FRONTEND_PREBIND_IMPL_H

#include "frontend/bind/binder_impl.h"
#include "frontend/bind/prebind.h"

/* A held binding. */
struct held {
	struct prebind_stage *stage;
	struct prebind_member member;
	void *works[PREBIND_KINDS_MAX]; /* NULL: none of that kind, or over */
	unsigned done;                  /* phases that are over; the next one is started, or waits */
	bool prepared;
	bool started;      /* phase `done` */
	bool failed;       /* its works are being undone */
	bool dead;         /* no Binding of it can land any more: then it is refused */
	uint64_t since_ns; /* of the phase, or of the undo */
	uint32_t retry_ms;
};

/* Members that start together, in `binds`; a lone pod, or a member of a gang that has begun. */
struct prebind_stage {
	TAILQ_ENTRY(prebind_stage) link;
	struct binder *binder;
	gang_id gang; /* ID_NONE: its members do not wait for others */
	uint32_t generation;
	struct bind_list binds;
	bool working; /* not gathering any more */
	uint64_t since_ns;
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
void prebind_sweep(struct binder *w);

#endif
