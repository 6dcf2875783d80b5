/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_CTL_QUEUES_IMPL_H
#define MUSTER_CTL_QUEUES_IMPL_H

#include "ctl/offline/queues.h"
#include "frontend/json/json.h"

enum queue_source { QUEUES_CONFIG, QUEUES_VOLCANO, QUEUES_KOORDINATOR, QUEUES_KAI, QUEUE_SOURCES };

enum amount_kind {
	AMOUNT_GUARANTEE,
	AMOUNT_RESERVED,
	AMOUNT_LIMIT,
	AMOUNT_WEIGHT,
	AMOUNT_DESERVED, /* of Volcano: a guarantee, unless more is guaranteed */
	AMOUNT_KINDS,
};

struct queue_amount {
	char *resource;
	int64_t value; /* SHARE_ALL, SHARE_NO_LIMIT */
};

struct queue_amounts {
	struct queue_amount *at;
	size_t n;
};

/* A queue as it was read. */
struct queue_read {
	char *name, *parent; /* parent "": the root */
	char *namespace;     /* of an ElasticQuota; "" */
	struct queue_amounts amounts[AMOUNT_KINDS];
	int64_t weight; /* of resources without one of their own */
	int64_t priority;
	bool fifo, keeps; /* keeps: all of its guarantee is reserved */
	bool by_limit;    /* a weight that is not written is the limit */
	uint8_t state;
	char **namespaces;
	size_t namespaces_n;
};

struct queue_name {
	char *key;   /* "namespace/name" */
	char *queue; /* what the object names, "" */
};

struct queue_names {
	struct queue_name *at;
	size_t n, room;
};

struct queues {
	enum queue_source source;
	struct queue_read *queues; /* [0] is the root */
	size_t n, room;
	struct queue_names pods, groups; /* sorted by key */

	/* Of queues_bind(). */
	struct share_set set;
	struct share_def *defs;
	uint32_t *of_pod;
	const char **named;
	char **keys; /* "namespace/name" */
	uint32_t pods_n;
};

struct queue_read *queue_new(struct queues *q, struct text name);

/* Reads muster's own file. */
bool queues_read_config(struct queues *q, const char *path, char *error, size_t error_bytes);
/* Reads an object of the source; those of others are left alone. */
bool queues_read_object(struct queues *q, const struct object *object, char *error,
                        size_t error_bytes);

extern const char *const queue_sources[QUEUE_SOURCES];

#endif
