/* SPDX-License-Identifier: Apache-2.0 */
/* A model and a core in one process, without a socket: the very code that the
 * daemons run, on objects from files.
 *
 *   offline_read() ─┬─► offline_place() ─► placements, ledger, reasons
 *                   └─► offline_start() ─► offline_judge() of pod after pod */
#ifndef MUSTER_CTL_OFFLINE_H
#define MUSTER_CTL_OFFLINE_H

#include "core/step/core.h"
#include "ctl/objects/files.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stddef.h>

struct judgement; /* core/filter/judge.h */
struct offline;

struct offline_config {
	const char *const *scheduler_names; /* 0 of them: every pending pod */
	size_t scheduler_names_n;
	enum score_policy score;
};

struct offline *offline_new(const struct offline_config *config);
void offline_free(struct offline *o);

/* kube, pack, bestfit: the score of that name; false and a message when there is none. */
bool offline_score(const char *command, const char *name, enum score_policy *out);

/* Read the files and take all that is in them.  False and `error`: file, object, field
 * and value; all is of no use then.  A kind that decides nothing is counted and passed
 * over. */
bool offline_read(struct offline *o, struct files *files, const char *const *paths, size_t paths_n,
                  char *error, size_t error_bytes);

/* The same of objects that are read already; nothing of `files` is kept. */
bool offline_put_all(struct offline *o, const struct files *files, char *error, size_t error_bytes);

/* The same of a world that is a little different: each object as `change` lets it be.  True keeps
 * it, with *json as it is to be read (good until the next call); false leaves it out. */
typedef bool (*offline_change_fn)(void *context, const struct object *object, struct text *json);
bool offline_put_changed(struct offline *o, const struct files *files, offline_change_fn change,
                         void *context, char *error, size_t error_bytes);

/* One more object, which no admission has to do with. */
bool offline_put_more(struct offline *o, const struct object *object, char *error,
                      size_t error_bytes);

/* "3 Secret, 1 Ingress of networking.k8s.io/v1" of the kinds passed over, "" when there were none.
 */
const char *offline_passed_over(const struct offline *o, char *out, size_t out_bytes);

/* Tell a core of everything.  False and `error` as from offline_place(). */
bool offline_start(struct offline *o, char *error, size_t error_bytes);

/* Start, then place what is pending; every binding is taken as accepted.  False and `error`
 * when the core refuses what the model says, which is a mistake of ours. */
bool offline_place(struct offline *o, char *error, size_t error_bytes);

/* To ask it before anything was read. */
struct model *offline_own_model(struct offline *o);
const struct model *offline_model(const struct offline *o);
const struct ledger *offline_ledger(const struct offline *o);

/* What the core says of a pending pod on each node, as if it were alone; good until the next
 * call.  NULL when the core knows of no such pending pod. */
const struct judgement *offline_judge(struct offline *o, pod_id pod);

/* Name of the node of a core that was started, or NULL when no such node exists. */
const char *offline_node_name(const struct offline *o, node_id node);

/* Node that a pending pod got, or NULL. */
const char *offline_node(const struct offline *o, pod_id pod);

/* Why it waits: of the pod when it is alone, else of its gang.  NULL: it was
 * never said. */
const struct reason *offline_reason(const struct offline *o, const struct pod_view *pod);

#endif
