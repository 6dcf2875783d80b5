/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the binding of device claims. claim_bind.c: pods, and what each of their claims
 * needs; claim_write.c: the requests of one claim; claim_ready.c: its devices' binding conditions;
 * claim_extended.c: the one of extended resources.
 */
#ifndef MUSTER_FRONTEND_CLAIM_BIND_IMPL_H
#define MUSTER_FRONTEND_CLAIM_BIND_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/bind/claim_bind.h"
#include "frontend/devices/live.h"
#include "frontend/json/jsonout.h"

#include <sys/queue.h>

struct pod_claims;

/* The write that is due, if any. */
enum claim_want {
	WANT_NOTHING,
	WANT_FINALIZER,
	WANT_ALLOCATE,
	WANT_RESERVE,
	WANT_CLEAR,     /* undo: the allocation and its consumers */
	WANT_UNRESERVE, /* undo: our consumer */
	WANT_FENCE,     /* undo: another version */
	/* Of the claim of extended resources. */
	WANT_CREATE,
	WANT_TELL,       /* the pod's status */
	WANT_UNFINALIZE, /* undo: our finalizer */
	WANT_DELETE,     /* undo */
};

#define CLAIM_TIMEOUT_MS 15000

struct claim_item {
	struct pod_claims *work;
	uint32_t index;   /* of the pod's claims */
	char *name, *uid; /* of the claim */
	char *allocation; /* that we write, or wrote for another pod; NULL: others allocated it */
	bool fenced;
	bool to_read;  /* what the last write did is not known */
	bool gives;    /* the last write was one towards an allocation */
	bool unsure;   /* ... and may still land on this version */
	bool seen;     /* it was allocated */
	bool refused;  /* an undo that the API server refuses */
	bool unready;  /* its devices can't become ready: undone, also if it was allocated before */
	bool extended; /* the claim of extended resources, by its name: `uid` is NULL until it exists */
	bool drop;     /* extended: an earlier attempt left it; it is deleted */
	bool collided; /* extended: there is a claim of that name */
	bool told;     /* extended: the pod's status names the claim; with `untell`: names none */
	bool untell;   /* extended: no claim exists, and the pod's status names one */
	char *spec;    /* extended: spec.devices of the claim to create */
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
};

/* The claims of a pod. */
struct pod_claims {
	TAILQ_ENTRY(pod_claims) link;
	struct claim_bind *cb;
	pod_id pod;
	uint32_t generation;
	char *namespace, *pod_name, *pod_uid, *node;
	bool started, suspended, undoing, recovered;
	bool own; /* freed by claim_bind.c itself */
	bool failed;
	bool told;           /* an Event reports the wait for binding conditions */
	uint64_t written_ns; /* last time with nothing left to write; at first that of start() */
	uint64_t waits_ns;   /* when the wait for binding conditions began; 0: not yet */
	struct prebind_why why;
	uint32_t served; /* groups of extended resources that the node has by itself, as bits */
	uint32_t n;
	struct claim_item items[]; /* with room for one more */
};
TAILQ_HEAD(pod_claims_list, pod_claims);

/* A CMD_DEVICES until its CMD_BIND is prepared. */
struct kept_devices {
	struct cmd_devices head;
	struct device_pick picks[];
};

struct claim_bind {
	const struct env *env;
	struct model *model;
	struct live *live;
	int resource;
	uint64_t conditions_ns;
	claim_waits_fn *waits; /* NULL: no event */
	void *waits_context;
	struct prebind_kind kind;
	struct pod_claims_list works;
	struct kept_devices **kept; /* by pod */
	size_t kept_n;
	uint64_t *since; /* by pod: claims of a pod that waits were seen allocated; 0 */
	size_t since_n;
	uint64_t look_ns;
	unsigned flying;
	struct jsonout path, body;
	struct log_limit limit;
	struct claim_bind_counts counts;
};

__attribute__((format(printf, 2, 3))) void pod_claims_fail(struct pod_claims *w, const char *format,
                                                           ...);
/* False: there is no such claim any more. */
bool claim_item_view(struct claim_item *c, struct live_claim_view *v);
/* The same of a pod that waits no more. */
bool claim_item_left(const struct claim_item *c, struct live_claim_view *v);
/* The pod is gone, or has a node, by another scheduler: what was given to it is not taken back, but
 * what is late must find another version, since the devices are free after that. */
enum claim_want claim_item_judge_left(struct claim_item *c);
/* True if another claim has a device of this one, and the pod has failed. */
bool claim_item_conflicts(struct claim_item *c);
/* Before anything is written: true if a device of a claim that others have too did not become
 * ready, or another claim has it, and *why is set. */
bool pod_claims_start_unready(struct pod_claims *w, struct prebind_why *why);
/* After all is written: true once all devices are ready; else it may have failed. */
bool pod_claims_ready(struct pod_claims *w);
/* A new one of the pod. */
struct claim_item claim_item_of(struct pod_claims *w);
/* What a claim that exists needs to be allocated for the pod. */
enum claim_want claim_item_needs(struct claim_item *c, const struct live_claim_view *v);

/* Sends the write, or the read. */
void claim_item_write(struct claim_item *c, enum claim_want want);
void claim_item_read(struct claim_item *c);

/* claim_write.c: what answers mean. */
void claim_item_call(struct claim_item *c, const struct http_request *request,
                     const struct http_handler *handler);
void claim_item_landed(struct claim_item *c);
/* Any but a success: it is final, or what was done is read, and the request goes again. */
void claim_item_failed(struct claim_item *c, const struct http_answer *answer, const char *body,
                       size_t bytes);
void claim_item_put(const struct claim_item *c, const char *body, size_t bytes);
void claim_item_gone(const struct claim_item *c);

/* claim_extended.c */
/* The groups of extended resources that the node has in its allocatable, as bits. */
uint32_t claim_served(const struct claim_bind *cb, pod_id pod, node_id node);
/* Adds the claim that is to be made, if the node does not serve all of it. */
void claim_extended_prepare(struct pod_claims *w, uint32_t served);
bool claim_extended_view(struct claim_item *c, struct live_claim_view *v);
enum claim_want claim_extended_judge(struct claim_item *c);
void claim_extended_write(struct claim_item *c, enum claim_want want);

#endif
