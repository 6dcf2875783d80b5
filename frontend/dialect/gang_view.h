/* SPDX-License-Identifier: Apache-2.0 */
/* A gang as the dialects and the reports read it. */
#ifndef MUSTER_FRONTEND_GANG_VIEW_H
#define MUSTER_FRONTEND_GANG_VIEW_H

#include "frontend/base/resource.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* The setting that is the timeout of groups without one of their own. */
enum group_timeout {
	GROUP_TIMEOUT_NONE,
	GROUP_TIMEOUT_COSCHEDULING,
	GROUP_TIMEOUT_CONFIGMAP,
	GROUP_TIMEOUT_ANNOTATIONS,
	GROUP_TIMEOUTS
};

/* Pods that name a group, including ended ones and those of other schedulers. */
struct gang_counts {
	uint32_t n;
	uint32_t ours;
	uint32_t bound; /* have or had a node */
	uint32_t phases[POD_PHASES];
};

struct group_status;   /* frontend/dialect/group_status.h */
struct dialect_status; /* likewise */
struct dialect_texts;  /* frontend/dialect/reason.h */

struct gang_view {
	const char *namespace;
	const char *name;
	const char *dialect;
	const char *refusal; /* why it is not scheduled, "" */
	uint32_t quorum;
	uint32_t dialect_index;             /* of dialects[] (frontend/dialect/dialects.h) */
	bool missing;                       /* pods name it, but its object does not exist */
	const struct amount *min_resources; /* by model_name() */
	uint32_t min_resources_n;
	uint64_t timeout_ns;               /* 0: none */
	const struct dialect_texts *texts; /* NULL: of scheduler-plugins */
	/* Of its object, if its dialect has a status; else resource and status are NULL. */
	const struct resource *resource;
	const char *uid;
	const char *resource_version;
	const struct dialect_status *writes;
	const struct group_status *status; /* current; NULL: it can't be read */
	const char *owners;                /* of its first member: "ns/name,ns/name"; "" */
	const char *scheduler_name;        /* of a member; "" without any */
	struct gang_counts pods;
};

#endif
