/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as they are written: muster's own list, and the objects of Volcano, Koordinator and KAI;
 * which queue a pod or group names.  docs/fairness.md, "Whose queues", has the rows.
 *
 *   queues_new() ─► queues_read_config() or queues_read_object() ... ─► queues_arrange()
 *
 * Pure: text in, a tree out.  musterctl and the model of the frontend both read by it.  Names of
 * resources are not looked up here; amounts are in the ledger's units. */
#ifndef MUSTER_FRONTEND_QUEUES_H
#define MUSTER_FRONTEND_QUEUES_H

#include "frontend/base/arena.h"
#include "frontend/base/bytes.h"
#include "frontend/base/resource.h"
#include "frontend/decode/object.h"
#include "ipc/abi_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum queue_amount_kind {
	AMOUNT_GUARANTEE,
	AMOUNT_RESERVED,
	AMOUNT_LIMIT,
	AMOUNT_WEIGHT,
	AMOUNT_DESERVED, /* of Volcano: a guarantee, unless more is guaranteed */
	AMOUNT_KINDS,
};

struct queue_value {
	char *resource;
	int64_t value; /* QUEUE_ALL, QUEUE_NO_LIMIT */
};

struct queue_values {
	struct queue_value *at;
	size_t n;
};

/* A queue as it was read. */
struct queue_read {
	char *name, *parent; /* parent "": the root */
	char *namespace;     /* of an ElasticQuota; "" */
	struct queue_values amounts[AMOUNT_KINDS];
	int64_t weight; /* of resources without one of their own */
	int64_t priority;
	bool fifo, keeps;   /* keeps: all of its guarantee is reserved */
	bool kept;          /* nothing is taken back of it */
	bool by_limit;      /* a weight that is not written is the limit */
	uint8_t state;      /* enum queue_state */
	uint32_t min_run_s; /* what has run for less is not reclaimed */
	uint32_t run_s;     /* how long pods are expected to run that don't say; 0: as in its parent */
	uint32_t max_run_s; /* the most that a gang may state; 0: any */
	char **namespaces;
	size_t namespaces_n;
	struct selector_object *selectors; /* of labels of namespaces */
	size_t selectors_n;
	bool per_namespace; /* each of them has a child, "QUEUE.NAMESPACE": queues_arrange() */
};

/* A namespace and the queue of its pods that name none. */
struct queue_namespace {
	const char *namespace;
	size_t queue;
};

struct queues_read {
	enum queue_source source;
	struct queue_read *queues; /* [0] is the root */
	size_t n, room;
	bool selects;       /* a queue has selectors */
	struct arena arena; /* their texts */
	/* Of queues_arrange(). */
	size_t *by_name;                    /* sorted by name */
	struct queue_namespace *namespaces; /* sorted */
	size_t namespaces_n;
};

/* "config", "volcano", "koordinator", "kai" */
extern const char *const queue_sources[QUEUE_SOURCES];

struct queues_read *queues_new(enum queue_source source);
void queues_read_free(struct queues_read *q);

/* Muster's own list, as YAML or JSON: a list, an object with one as `queues`, or a ConfigMap that
 * has it as queues.yaml.  False: `error` has `where`, line, column and key, and *q is of no use. */
bool queues_read_config(struct queues_read *q, const char *where, struct text yaml, char *error,
                        size_t error_bytes);

/* Whose object it is; false: it is no queue of that source. */
bool queues_is_object(enum queue_source source, const char *api_version, const char *kind);

/* Adds the queue that an object of the source is.  False: `error` has field and value, and *q is of
 * no use. */
bool queues_read_object(struct queues_read *q, const char *namespace, const char *name,
                        struct text json, char *error, size_t error_bytes);

/* After the last one: parents before their children, and what is looked up by name.  False: a queue
 * is there twice, or, if it is `strict`, its parent is missing or below it; `error` names it.  If
 * it isn't strict, such queues come last, as children of what they name. */
bool queues_arrange(struct queues_read *q, bool strict, char *error, size_t error_bytes);

/* A queue by its name, or SIZE_MAX.  Names of the root are 0. */
size_t queues_find(const struct queues_read *q, const char *name);

/* The first queue, by depth and then by name, with a selector for these labels of a namespace;
 * SIZE_MAX: none.  O(selectors x their keys x labels). */
size_t queues_select(const struct queues_read *q, const struct pairs *labels);

/* The queue that a pod goes to by the first of: what its group or it names, the queue that lists
 * its namespace, the one that `selected` it (queues_select()), the default of the source.  NULL or
 * "": it names none. */
const char *queues_name_of(const struct queues_read *q, const char *own, const char *of_group,
                           const char *namespace, size_t selected);

/* What a pod, or an object of its group, names; empty: none.  Lives as the JSON and the arena. */
struct text queues_mark(enum queue_source source, bool group, struct text json,
                        struct arena *arena);

/* Amounts of one queue by resource: `find` gives the number of a name, UINT32_MAX if there is none.
 * Sorted, each once; returns how many of `room`. */
uint32_t queues_amounts(const struct queue_read *q, enum queue_source source,
                        uint32_t (*find)(const void *context, const char *resource),
                        const void *context, struct queue_amount *out, uint32_t room);
/* run_s of the queue, or of the nearest above it that has one; 0: none has. */
uint32_t queues_run_s(const struct queues_read *q, size_t queue);
/* The weight of what is not listed. */
int64_t queues_weight(const struct queue_read *q);

#endif
