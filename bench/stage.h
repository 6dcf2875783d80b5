/* SPDX-License-Identifier: Apache-2.0 */
/* An API server with nodes, pods on it, and schedulers that place them; for e2e and compare. Each
 * measurement has a namespace and a scheduler name of its own, so that no scheduler works for
 * another. Rates of bindings count from the first to the last. A measurement whose pods do not fit
 * ends with a message. */
#ifndef MUSTER_BENCH_STAGE_H
#define MUSTER_BENCH_STAGE_H

#include "bench/child.h"
#include "bench/client.h"

#include <stdbool.h>
#include <stdint.h>

#define STAGE_SCHEDULER "muster-bench"
#define STAGE_DEVICES 8u /* of a node */

struct stage {
	struct client client; /* with the rights of an administrator */
	char folder[PROCESS_PATH / 2];
	char **nodes; /* names */
	uint32_t nodes_n;
	uint32_t made;   /* nodes that are ours */
	uint64_t began;  /* wall time in ns; makes names of namespaces unique */
	uint32_t spaces; /* namespaces made so far */
	bool clean;      /* delete what was made */
	double cpu_s;    /* of the scheduler during the last stage_gang() */
	/* Of the last stage_preloaded(), stage_live() or stage_paced(), which wait for the Events of
	 * their bindings: from the first binding or creation to the last Event, and from the last
	 * binding to it. */
	double events_per_s, events_after_s;
};

/* A scheduler under test. */
struct contender {
	const char *name;
	const char *program;     /* of kube-scheduler; NULL: muster */
	const char *kubeconfig;  /* of the user it runs as */
	uint32_t percent;        /* kube-scheduler: of nodes to score; 0: its default */
	bool extends;            /* muster: answers other schedulers */
	bool devices;            /* after stage_devices(): members of a gang have a claim each */
	const char *connections; /* muster: --bind-connections; NULL: its default */
	uint16_t port;           /* muster: it listens there */
	struct process child;
};

/* Makes a directory. False and a message, as all functions below. */
bool stage_init(struct stage *s);
void stage_free(struct stage *s);

/* Starts muster-apisim, which holds each answer back for that time, and returns the path of its
 * kubeconfig. */
bool stage_apisim(struct stage *s, struct process *apisim, uint32_t latency_ms,
                  char kubeconfig[PROCESS_PATH]);

/* Connects, makes nodes (0: none), and reads their names. */
bool stage_open(struct stage *s, const char *kubeconfig, uint32_t nodes);

bool contender_start(struct contender *c, struct stage *s);
void contender_stop(struct contender *c);

/* A DeviceClass, and for each node a ResourceSlice with STAGE_DEVICES devices. */
bool stage_devices(struct stage *s);

/* Seconds that the server takes for the writes of pods with a claim each, from a client that does
 * nothing else: the finalizer of each claim, its allocation, and the Binding. */
bool stage_claim_writes(struct stage *s, uint32_t pods, double *seconds);

/* Bindings per second that the server accepts from a client that does nothing else. */
bool stage_binds(struct stage *s, uint32_t pods, double *per_s);

/* Pods that exist before the scheduler starts; it runs when this returns. */
bool stage_preloaded(struct stage *s, struct contender *c, uint32_t pods, double *per_s);

/* Pods of kube-scheduler that stay pending, pod-00000 and on, in a namespace of their own. */
bool stage_others(struct stage *s, uint32_t pods, char *namespace, size_t namespace_bytes);

/* Pods that are created while it runs: from the first creation to the last binding. */
bool stage_live(struct stage *s, uint32_t pods, double *per_s);

/* Pods that are created `per_s` a second while it runs, whatever their latency (struct
 * client_pace): took_ms[pods]. */
bool stage_paced(struct stage *s, uint32_t pods, double per_s, double *took_ms);

/* A gang whose members, and their claims, wait for their group: seconds from its creation to the
 * last binding.  In the native API for kube-scheduler, in scheduler-plugins' for muster. */
bool stage_gang(struct stage *s, const struct contender *c, uint32_t members, double *seconds);

#endif
