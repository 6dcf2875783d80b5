/* SPDX-License-Identifier: Apache-2.0 */
/* What-if: the objects of the files with a change, and everything pending placed again by the code
 * of the daemons. The result is what would happen, with other gangs before it in the queue; it is
 * not an estimate. */
#ifndef MUSTER_CTL_TRIAL_H
#define MUSTER_CTL_TRIAL_H

#include "ctl/objects/files.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/simulate.h"

#include <stdint.h>

/* The change. All zero: none. */
struct change {
	const struct object *like; /* more nodes like this one, empty */
	uint32_t nodes;
	const char *favoured; /* "ns/name" of a gang whose pods have this priority */
	int32_t priority;
	int64_t ended_s;                   /* pods with a known end have ended by then; 0: none has */
	const struct object *const *ended; /* these pods have ended, in order of address */
	size_t ended_n;
};

struct world {
	struct offline *offline;
	struct simulation *answers;
	uint32_t ended; /* pods left out for ended_s */
};

struct trial_config {
	const struct files *files;
	struct offline_config offline;
};

/* False and `error`: the objects can't be read. `error` is empty when the core gave up. */
bool world_make(const struct trial_config *config, const struct change *change, struct world *out,
                char *error, size_t error_bytes);
void world_free(struct world *w);

/* The gang of that name, or NULL. */
const struct gang_result *world_gang(const struct world *w, const char *name);

/* True if the gang would be placed. */
bool trial_starts(const struct trial_config *config, const struct change *change, const char *gang);

/* The pod of that name among those that were to be placed, or NULL. */
const struct placement *world_pod(const struct world *w, const char *name);

/* True if the pod has a node and no controller replaces it when it ends. *since: when it started,
 * or was created, in seconds since 1970; 0: not known. */
bool pod_may_end(const struct object *pod, int64_t *since);

/* Latest end of the pod, in seconds since 1970, by status.startTime and spec.activeDeadlineSeconds;
 * 0: unknown, or it has ended. */
int64_t pod_known_end(const struct object *pod);

#endif
