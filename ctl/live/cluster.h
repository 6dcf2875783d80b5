/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs as the API server shows them to the caller: pods and the objects of groups, listed with the
 * caller's credentials, so that a user who may read one namespace sees that one.  States are those
 * of the core, which gets the objects without nodes; reasons are those that muster wrote into the
 * pods.  What only the ledger has (the position in the queue, the time waited) is not there. */
#ifndef MUSTER_CTL_CLUSTER_H
#define MUSTER_CTL_CLUSTER_H

#include "ctl/live/rows.h"
#include "ctl/objects/files.h"
#include "frontend/model/model.h"
#include "ctl/offline/fetch.h"
#include "ctl/offline/simulate.h"
#include "ctl/term/options.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct cluster_question {
	const struct access_options *access;
	const char *namespace; /* NULL: all */
	const char *selector;  /* of labels of pods; NULL: none */
	const struct arguments *schedulers;
};

struct cluster;

/* NULL after a message. */
struct cluster *cluster_new(const char *command, const struct cluster_question *q);
void cluster_free(struct cluster *c);

/* Its gangs with a member of these schedulers, sorted by name; `at` is to be freed. */
struct gangs cluster_gangs(const struct cluster *c);

/* The gang of that name, "ns/name", as a core without nodes has it; NULL: there is none. */
const struct gang_result *cluster_gang(const struct cluster *c, const char *name);

/* Why that gang waits, from the conditions that muster wrote to its pods; NULL: unknown. */
const char *cluster_reason(const struct cluster *c, const char *gang);

/* True if the selector matches a pod of the gang. */
bool cluster_selects(const struct cluster *c, const char *gang);

/* Members of a gang that have not ended: an array of pod, node, stage, age_s. */
cJSON *cluster_members(const struct cluster *c, const char *gang);

/* Pods of these schedulers without a gang: an array of pod ("ns/name"), node, stage, age_s, and the
 * reason of one that waits. */
cJSON *cluster_singles(const struct cluster *c);

const struct model *cluster_model(const struct cluster *c);
/* The objects it was made of. */
const struct files *cluster_files(const struct cluster *c);

/* One pod: pod, node, stage, age_s. */
cJSON *cluster_member(const struct object *object, const struct pod_view *pod);

#endif
