/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the binding of claims. volume_bind.c: members and what they wait for;
 * volume_write.c: the requests of one claim. */
#ifndef MUSTER_FRONTEND_VOLUME_BIND_IMPL_H
#define MUSTER_FRONTEND_VOLUME_BIND_IMPL_H

#include "frontend/base/arena.h"
#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/bind/volume_bind.h"
#include "frontend/json/jsonout.h"
#include "frontend/volume/volume.h"

#include <sys/queue.h>

/* What a claim is to get, for all members that name it. */
struct claim_work {
	TAILQ_ENTRY(claim_work) link;
	struct volume_bind *vb;
	char *namespace, *name, *uid; /* of the claim */
	char *volume;                 /* "": to be provisioned */
	char *node_name;
	node_id node;
	uint64_t space; /* struct volume_choice */
	nano_t size;
	unsigned users, undoers; /* members */
	bool started;
	bool written; /* seen on the API server */
	bool to_read; /* what the last write did is not known */
	bool failed;
	bool counted; /* as bound */
	bool undone;  /* nothing is left to be taken back */
	unsigned conflicts;
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	struct prebind_why why; /* of `failed` */
};
TAILQ_HEAD(claim_works, claim_work);

struct volume_bind {
	const struct env *env;
	struct model *model;
	struct volumes *volumes;
	struct prebind_kind kind;
	struct claim_works claims;
	unsigned flying;
	struct arena arena;
	struct jsonout path, body;
	struct log_limit limit;
	struct volume_bind_counts counts;
};

static inline bool claim_undoes(const struct claim_work *c)
{
	return c->undoers == c->users;
}

/* The write that is due, if any. */
enum claim_want {
	WANT_NOTHING,
	WANT_WRITE,
	WANT_UNDO,
};

/* Fails it with that text, behind kube-scheduler's prefix. */
__attribute__((format(printf, 2, 3))) void claim_fail(struct claim_work *c, const char *format,
                                                      ...);
/* Sends the write, or the read. */
void claim_write(struct claim_work *c, enum claim_want want);
void claim_read(struct claim_work *c);

#endif
