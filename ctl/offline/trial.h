/* SPDX-License-Identifier: Apache-2.0 */
/* What if?  The objects of the files once more, a little different, and everything pending placed
 * anew by the code that the daemons run.  So what is said here is what would happen, other gangs'
 * turns included; it is no estimate. */
#ifndef MUSTER_CTL_TRIAL_H
#define MUSTER_CTL_TRIAL_H

#include "ctl/objects/files.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/simulate.h"

#include <stdint.h>

/* How the world differs.  All zero: not at all. */
struct change {
	const struct object *like; /* so many more nodes like this one, empty */
	uint32_t nodes;
	const char *favoured; /* "ns/name" of a gang whose pods have this priority */
	int32_t priority;
	int64_t ended_s; /* pods that run have ended by then, if their end is known; 0: none has */
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

/* False and `error`: the objects can't be taken.  `error` is empty when the core gave up. */
bool world_make(const struct trial_config *config, const struct change *change, struct world *out,
                char *error, size_t error_bytes);
void world_free(struct world *w);

/* The gang of that name, or NULL. */
const struct gang_result *world_gang(const struct world *w, const char *name);

/* Would the gang be placed? */
bool trial_starts(const struct trial_config *config, const struct change *change, const char *gang);

/* When the pod will have ended at the latest, in seconds since 1970, by status.startTime and
 * spec.activeDeadlineSeconds; 0: nobody knows, or it has ended. */
int64_t pod_known_end(const struct object *pod);

#endif
