/* SPDX-License-Identifier: Apache-2.0 */
/* Latency of each pod by stage, always on.
 *
 *   read ── extract ── taken ── send ── sent ── wait ── begun ── plan ── published
 *           ── ring ── commanded ── queue ── posted ── bind ── answered ── watch ── seen
 *
 * Time stamps are kept in one slot per pod, by its id, and folded into histograms at the end; the
 * slowest pods are kept with their names. Bounded: a pod whose slot is in use is counted and not
 * tracked. Times are the caller's, monotonic. One thread; readers get a copy of the figures. */
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
	STAGE_EXTRACT, /* bytes read -> known to the model */
	STAGE_SEND,    /* -> in the event ring */
	STAGE_WAIT,  /* -> the core started the plan that placed it: waiting for members and capacity */
	STAGE_PLAN,  /* -> the core published the binding: all plans of its turn, reserve */
	STAGE_RING,  /* -> the binding arrived here: doorbell, ring, the frontend's own turn */
	STAGE_QUEUE, /* -> the binding was sent */
	STAGE_BIND,  /* -> the API server's answer */
	STAGE_WATCH, /* -> the watch shows it bound; 0 if that was before the answer */
	STAGE_OURS,  /* read -> answered, without STAGE_WAIT */
	STAGE_TOTAL, /* read -> answered */
	/* creationTimestamp -> read: the API server and its watch.  Up to 1 s too long, since the time
	 * of creation has whole seconds; of the wall clocks of two machines.  Counted when the pod is
	 * read, once, and not of pods of a list. */
	STAGE_SERVE,
	STAGES
};
extern const char *const stage_names[STAGES];
extern const char *const stage_texts[STAGES];

/* kube-scheduler's queues of a pending pod. */
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
	char name[256]; /* the scheduler name of the pods */
	uint64_t attempts[ATTEMPTS];
	struct histogram took; /* of scheduled pods: plan begun -> answered */
};

/* A slow pod. */
struct latency_story {
	uint64_t ns[STAGES]; /* without STAGE_WATCH and STAGE_SERVE */
	uint64_t ended_ns;
	uint32_t tries;
	char namespace[64], name[256], gang[256], node[256];
};

/* Slowest first by STAGE_OURS, in this time window. */
struct latency_slowest {
	uint64_t since_ns;
	uint32_t n;
	struct latency_story at[LATENCY_SLOWEST];
};

struct latency_figures {
	struct histogram stages[STAGES];
	struct histogram sli[LATENCY_TRIES]; /* read -> answered, by attempts */
	struct histogram tries;
	uint32_t profiles_n; /* names beyond LATENCY_PROFILES count for the last */
	struct latency_profile profiles[LATENCY_PROFILES];
	struct latency_slowest slowest[2]; /* the current window and the previous one */
	uint64_t pending[POD_QUEUES];
	uint64_t not_followed;
	uint64_t elsewhere; /* bound by another scheduler */
	uint64_t checks,
		wrong; /* pods seen bound after our binding was accepted; ... to another node */
};

struct latency;

struct latency *latency_new(void);
void latency_free(struct latency *l);
const struct latency_figures *latency_figures(const struct latency *l);

/* A pod on the watch. */
struct pod_put {
	pod_id id;
	uint32_t generation;
	node_id node; /* ID_NONE: not bound */
	bool ours;
	bool gated;
	uint64_t created_ns; /* since 1970; 0: not known */
	uint64_t served_ns;  /* from then on; LATENCY_NOT_SERVED: it comes from a list */
};
#define LATENCY_NOT_SERVED UINT64_MAX
void latency_put(struct latency *l, const struct pod_put *p, uint64_t heard_ns, uint64_t now_ns);
void latency_sent(struct latency *l, pod_id id, uint32_t generation, uint64_t now_ns);
void latency_dropped(struct latency *l, pod_id id, uint32_t generation);

/* It waits, and a reason was reported. */
void latency_told(struct latency *l, pod_id id, uint32_t generation, enum wait_reason why,
                  const char *scheduler);

/* The core placed it; the plan started at `begun_ns`, and its command was published at
 * `published_ns`. Of both only what lies between the stages beside them is used. */
void latency_commanded(struct latency *l, const struct cmd_bind *cmd, uint64_t begun_ns,
                       uint64_t published_ns, uint64_t now_ns);
/* The first Binding of this command was sent. */
void latency_posted(struct latency *l, const struct cmd_bind *cmd, uint64_t now_ns);
/* That binding cannot be applied any more; `error`: the API server refused it. */
void latency_refused(struct latency *l, const struct cmd_bind *cmd, bool error,
                     const char *scheduler);
/* It is bound. Non-NULL for one of the slowest: the caller fills in its names. */
struct latency_story *latency_bound(struct latency *l, const struct cmd_bind *cmd,
                                    const char *scheduler, uint64_t now_ns);

/* When it was read; 0: not tracked. */
uint64_t latency_read_ns(const struct latency *l, pod_id id, uint32_t generation);

/* Times of a pod as far as it got; those of a bound one are kept until it is deleted, or another
 * pod needs its slot. */
struct latency_times {
	uint64_t read_ns;    /* when it was read */
	uint64_t ns[STAGES]; /* STAGE_EXTRACT to STAGE_BIND: 0 beyond `stage` */
	uint32_t stage;      /* it is in; STAGE_WATCH: the API server has answered */
};

/* False: the pod is not tracked. */
bool latency_times(const struct latency *l, pod_id id, uint32_t generation, uint64_t now_ns,
                   struct latency_times *out);

/* Writes JSON for /latency, times in microseconds. */
void latency_write(const struct latency_figures *f, uint64_t now_ns, FILE *out);

#endif
