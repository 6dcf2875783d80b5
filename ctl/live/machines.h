/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as the API server shows them to the caller, and the pods that are bound to them with their
 * gangs: what a ledger does not have. */
#ifndef MUSTER_CTL_MACHINES_H
#define MUSTER_CTL_MACHINES_H

#include "ctl/offline/fetch.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct machines_question {
	const struct access_options *access;
	const char *name;     /* of one node; NULL: all */
	const char *selector; /* of labels of nodes; NULL: none */
	bool pods;
	const struct arguments *schedulers; /* whose pods have gangs */
};

struct machines;

/* NULL after a message. */
struct machines *machines_new(const char *command, const struct machines_question *q);
void machines_free(struct machines *m);

/* What these nodes have and use; nothing pending is placed. */
const struct ledger *machines_ledger(const struct machines *m);

bool machines_have(const struct machines *m, const char *node);

/* {"key": "value"}, without that of the node's name. */
cJSON *machines_labels(const struct machines *m, const char *node);

/* Pods of that node: an array of namespace, pod, gang ("": none), stage, age_s. */
cJSON *machines_pods(const struct machines *m, const char *node);

#endif
