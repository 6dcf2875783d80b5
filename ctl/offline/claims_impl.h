/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two ways to allocate claims. */
#ifndef MUSTER_CTL_CLAIMS_IMPL_H
#define MUSTER_CTL_CLAIMS_IMPL_H

#include "ctl/offline/claims.h"

struct node_answer {
	struct claim_devices devices;
	uint32_t points;
};

/* The choice of a CMD_DEVICES. */
struct chosen {
	struct cmd_devices head;
	struct device_pick picks[];
};

/* A ResourceClaim as it is now. */
struct stored_claim {
	char *namespace, *name, *json;
};

struct claims {
	struct offline *offline;
	bool by_records;
	uint32_t evaluated;        /* pod of the last evaluation, by records */
	struct node_answer *nodes; /* by node, of the last evaluation */
	size_t nodes_n;
	struct claim_devices **placed; /* by pod's number */
	size_t placed_n;
	struct claim_written *written;
	size_t written_n;

	/* By the search: claims.c. */
	struct devices *devices;
	struct device_filter filter;
	char *error; /* of the last evaluation, that of pod error_pod */
	uint32_t error_pod;
	char **errors; /* by pod's number */
	size_t errors_n;
	const char *writing_namespace, *writing_pod;

	/* By records: claims_records.c. */
	struct chosen **chosen; /* by pod id */
	size_t chosen_n;
	struct stored_claim *stored;
	size_t stored_n, stored_cap;
	uint64_t shares; /* shareIDs so far */
};

void claims_add_written(struct claims *c, const char *namespace, const char *pod, const char *claim,
                        const char *allocation);
/* claims_records.c */
void claims_records_free(struct claims *c);
void claims_choose_on(struct claims *c, uint32_t node, struct claim_devices *out);

#endif
