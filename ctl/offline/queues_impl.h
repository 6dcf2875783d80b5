/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of files: which pod is of which queue, and what prints them. */
#ifndef MUSTER_CTL_QUEUES_IMPL_H
#define MUSTER_CTL_QUEUES_IMPL_H

#include "ctl/offline/queues.h"
#include "ctl/term/print.h"
#include "frontend/queues/queues.h"

struct queue_name {
	char *key;   /* "namespace/name" */
	char *queue; /* what the object names, "" */
};

struct queue_names {
	struct queue_name *at;
	size_t n, room;
};

struct queues {
	struct queues_read *read;
	const struct arguments *unshared; /* no names: the defaults */
	struct queue_names pods, groups;  /* sorted by key */
	struct queue_names namespaces;    /* that are selected by labels: "/name" */
	size_t unlabelled;                /* the queue that selects those that are in no file */

	/* Of queues_bind(). */
	struct share_set set;
	struct share_def *defs;
	uint32_t *of_pod;
	const char **named;
	char **keys; /* "namespace/name" */
	uint32_t pods_n;
};

struct offline;

/* queues_print.c: "root/eng/a", to be freed. */
char *queues_path(const struct queues *q, uint32_t queue);
/* queues_print.c: below 0: it has weight 0 and uses more than its guarantee. */
void queues_add_share(cJSON *o, double share);

/* queues_order.c: whose turn comes next; returns the exit code. */
int queues_order(enum output output, const struct queues *q, struct offline *offline);

#endif
