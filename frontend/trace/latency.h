/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of each pod of ours went, always on.
 *
 *   read ── extract ── taken ── send ── sent ── wait ── begun ── plan ── commanded
 *           ── queue ── posted ── bind ── answered ── watch ── seen
 *
 * Marks of time in a slot for each pod, by its id; at the end of its way they are folded into
 * histograms, and the slowest are kept with their names.  Bounded: a pod whose slot is another's is
 * counted and not followed.  Times are the caller's, monotonic.  One thread; readers have a copy of
 * the figures. */
#ifndef MUSTER_FRONTEND_LATENCY_H
#define MUSTER_FRONTEND_LATENCY_H

#include "frontend/base/histogram.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

#define LATENCY_SLOTS 65536u /* a power of two */
#define LATENCY_SLOWEST 10
#define LATENCY_PROFILES 8
#define LATENCY_TRIES 15 /* the last one: or more */

enum stage {
	STAGE_EXTRACT, /* its bytes were read -> it is known here */
	STAGE_SEND,    /* -> it is in the ring towards the core */
	STAGE_WAIT,    /* -> the core began the plan that placed it: for members and for room */
	STAGE_PLAN,    /* -> the core's binding was read here: plan, reserve, ring */
	STAGE_QUEUE,   /* -> the binding was sent */
	STAGE_BIND,    /* -> the API server's answer */
	STAGE_WATCH,   /* -> the watch shows it bound; 0 when it did before the answer */
	STAGE_OURS,    /* read -> answered, without STAGE_WAIT */
	STAGE_TOTAL,   /* read -> answered */
	STAGES
};
extern const char *const stage_names[STAGES];
extern const char *const stage_texts[STAGES];

/* kube-scheduler's words for where a pending pod is. */
enum pod_queue {
	QUEUE_ACTIVE,
	QUEUE_BACKOFF,
	QUEUE_UNSCHEDULABLE,
	QUEUE_GATED,
	QUEUE_INCOMPLETE,
	POD_QUEUES
};
extern const char *const pod_queue_names[POD_QUEUES];

enum attempt { ATTEMPT_SCHEDULED, ATTEMPT_UNSCHEDULABLE, ATTEMPT_ERROR, ATTEMPTS };
extern const char *const attempt_names[ATTEMPTS];

struct latency_profile {
	char name[256]; /* of the scheduler that the pods ask for */
	uint64_t attempts[ATTEMPTS];
	struct histogram took; /* of those that were scheduled: plan begun -> answered */
};

/* One slow pod. */
struct latency_story {
	uint64_t ns[STAGES]; /* but STAGE_WATCH */
	uint64_t ended_ns;
	uint32_t tries;
	char namespace[64], name[256], gang[256], node[256];
};

/* Slowest first by STAGE_OURS, of this window of time. */
struct latency_slowest {
	uint64_t since_ns;
	uint32_t n;
	struct latency_story at[LATENCY_SLOWEST];
};

struct latency_figures {
	struct histogram stages[STAGES];
	struct histogram sli[LATENCY_TRIES]; /* read -> answered, by attempts */
	struct histogram tries;
	uint32_t profiles_n; /* those that come after LATENCY_PROFILES count for the last */
	struct latency_profile profiles[LATENCY_PROFILES];
	struct latency_slowest slowest[2]; /* the window that runs, the one before */
	uint64_t pending[POD_QUEUES];
	uint64_t not_followed;
	uint64_t elsewhere;     /* bound by somebody else than we */
	uint64_t checks, wrong; /* pods seen bound after our binding was taken; ... to another node */
};

struct latency;

struct latency *latency_new(void);
void latency_free(struct latency *l);
const struct latency_figures *latency_figures(const struct latency *l);

/* A pod as the watch shows it. */
struct pod_put {
	pod_id id;
	uint32_t generation;
	node_id node; /* ID_NONE: not bound */
	bool ours;
	bool gated;
};
void latency_put(struct latency *l, const struct pod_put *p, uint64_t heard_ns, uint64_t now_ns);
void latency_sent(struct latency *l, pod_id id, uint32_t generation, uint64_t now_ns);
void latency_dropped(struct latency *l, pod_id id, uint32_t generation);

/* It waits, and was told why. */
void latency_told(struct latency *l, pod_id id, uint32_t generation, enum why why,
                  const char *scheduler);

/* The core places it: it began to plan at `begun_ns`. */
void latency_commanded(struct latency *l, const struct cmd_bind *cmd, uint64_t begun_ns,
                       uint64_t now_ns);
/* The first binding of this command is sent. */
void latency_posted(struct latency *l, const struct cmd_bind *cmd, uint64_t now_ns);
/* Nothing of that binding can land; `error`: the API server refused it. */
void latency_refused(struct latency *l, const struct cmd_bind *cmd, bool error,
                     const char *scheduler);
/* It is bound.  Non-NULL for one of the slowest: the caller fills in its names. */
struct latency_story *latency_bound(struct latency *l, const struct cmd_bind *cmd,
                                    const char *scheduler, uint64_t now_ns);

/* When it was read; 0: it is not followed. */
uint64_t latency_read_ns(const struct latency *l, pod_id id, uint32_t generation);

/* For /latency: as JSON, the times in microseconds. */
void latency_write(const struct latency_figures *f, uint64_t now_ns, FILE *out);

#endif
