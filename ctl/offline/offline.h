/* SPDX-License-Identifier: Apache-2.0 */
/* A model and a core in one process, without a socket: the very code that the
 * daemons run, on objects from files.
 *
 *   offline_read() ─┬─► offline_place() ─► placements, ledger, reasons
 *                   └─► offline_start() ─► offline_evaluate() of pod after pod */
#ifndef MUSTER_CTL_OFFLINE_H
#define MUSTER_CTL_OFFLINE_H

#include "core/step/core.h"
#include "ctl/objects/files.h"
#include "ctl/term/options.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stddef.h>

struct claims;      /* ctl/offline/claims.h */
struct share_block; /* core/share/share.h */
struct queues;      /* ctl/offline/queues.h */
struct evaluation;  /* core/filter/evaluate.h */
struct eviction;    /* ctl/offline/evictions.h */
struct offline;

struct offline_config {
	const char *const *scheduler_names; /* 0 of them: every pending pod */
	size_t scheduler_names_n;
	enum score_policy score;
	bool reads_devices;  /* claims of pods are allocated; else such pods are refused: claims.h.
	                      * Not for objects of fetch.h, which has no claims */
	uint64_t pack_steps; /* struct core_config */
	/* Gangs and pods evict as with muster-frontend's --preemption on: PREEMPTION_ON with others of
	 * enum preemption_flags; 0: they don't.  Not with reads_devices. */
	uint32_t evicts;
	bool reads_budgets; /* PodDisruptionBudgets are used, so they are not passed over */
};

/* Of objects of an API server: pods of these schedulers, without one of "muster". */
struct offline_config offline_config_of(const struct arguments *schedulers);

struct offline *offline_new(const struct offline_config *config);
void offline_free(struct offline *o);

/* Flags of all commands that read objects. */
#define FLAG_FILES(type, field)                                                                    \
	{                                                                                              \
		"filename", 'f', "-f FILE", FILES_HELP, NULL, option_texts, offsetof(type, field)          \
	}
#define FILES_HELP                                                                                 \
	"what kubectl get -o json or -o yaml prints: a List, one object or\n"                          \
	"many documents, .gz too; - is standard input; may be repeated"

/* struct offline_config.pack_steps of commands that answer as the daemons' planner would with a
 * second for each gang of unlike members. */
#define OFFLINE_PACK_STEPS UINT64_C(100000000)

/* option_read_fn of a number of steps: an uint64_t. */
bool offline_steps(const char *command, const char *text, void *to);

/* option_read_fn of --score: an enum score_policy. */
bool offline_score(const char *command, const char *text, void *to);
#define FLAG_SCORE(type, field)                                                                    \
	{                                                                                              \
		"score", 0, "--score NAME", SCORE_HELP, "kube|pack|bestfit|fgd|muster", offline_score,     \
			offsetof(type, field)                                                                  \
	}
#define SCORE_HELP                                                                                 \
	"kube: the sum of kube-scheduler's default profile (default);\n"                               \
	"pack: the fullest nodes first; bestfit: the least that is left;\n"                            \
	"fgd, muster: the least loss of GPUs to pods that come later"

/* What objects of files stand for: the pods of workloads (ctl/objects/unroll.h), devices and claims
 * of shares of GPUs (ctl/gpus/shares.h: `devices`). */
bool offline_expand(struct files *files, bool devices, char *error, size_t error_bytes);

/* Reads the files, expands them and takes all objects. False
 * and `error`: file, object, field and value; nothing can be used then. Kinds without influence on
 * placement are counted and skipped. */
bool offline_read(struct offline *o, struct files *files, const char *const *paths, size_t paths_n,
                  char *error, size_t error_bytes);

/* The same with objects that were read already; nothing of `files` is kept. */
bool offline_put_all(struct offline *o, const struct files *files, char *error, size_t error_bytes);

/* The same with a change: `change` is called for each object. True keeps it, with *json as its text
 * (good until the next call); false leaves it out. */
typedef bool (*offline_change_fn)(void *context, const struct object *object, struct text *json);
bool offline_put_changed(struct offline *o, const struct files *files, offline_change_fn change,
                         void *context, char *error, size_t error_bytes);

/* One more object, without admission. */
bool offline_put_more(struct offline *o, const struct object *object, char *error,
                      size_t error_bytes);

/* "3 Secret, 1 Ingress of networking.k8s.io/v1" of the kinds skipped, "" when there were none. */
const char *offline_passed_over(const struct offline *o, char *out, size_t out_bytes);

/* On standard error: what was passed over, and what unroll() made and left of the files. */
void offline_say(const struct offline *o, const struct files *files, const char *command);

/* Before the start: gangs share the cluster by these queues, which outlive `o`. */
void offline_use_queues(struct offline *o, struct queues *queues);

struct queues *offline_queues(const struct offline *o);
/* Why the pod's gang waits because of its queue, as things are now, to be freed; NULL: it does not.
 */
char *offline_queue_reason(const struct offline *o, const struct pod_view *pod);

/* Sends all objects to a core. False and `error` as from offline_place(). */
bool offline_start(struct offline *o, char *error, size_t error_bytes);

/* Starts, then places what is pending; every Binding is accepted. False and `error` when the core
 * refuses a record of the model, which is a bug. */
bool offline_place(struct offline *o, char *error, size_t error_bytes);

/* Until pods are read: another one may follow then (claims.h). */
struct model *offline_own_model(const struct offline *o);
const struct model *offline_model(const struct offline *o);
/* The pod "ns/name"; false: the model has none. */
bool offline_pod_named(const struct model *m, const char *name, struct pod_view *pod);
const struct ledger *offline_ledger(const struct offline *o);

/* The core's evaluation of a pending pod on each node, without other pending pods; good until the
 * next call. NULL when the core has no such pending pod. */
const struct evaluation *offline_evaluate(struct offline *o, pod_id pod);

/* Devices of the pods; NULL without config.reads_devices. */
struct claims *offline_claims(const struct offline *o);

/* True if gangs may evict (config.evicts). */
bool offline_evicts(const struct offline *o);
/* The evicted pods, in order of eviction; valid as long as `o`. */
const struct eviction *offline_evictions(const struct offline *o, size_t *n);

/* Of a started core, for searches (core/search/search.h). */
struct core *offline_core(struct offline *o);

/* Name of a node of a started core, or NULL. */
const char *offline_node_name(const struct offline *o, node_id node);

/* Node of a pod that was pending, or NULL. */
const char *offline_node(const struct offline *o, pod_id pod);

/* Why it waits: of the pod when it is alone, else of its gang. NULL: no reason was sent. */
const struct reason *offline_reason(const struct offline *o, const struct pod_view *pod);

#endif
