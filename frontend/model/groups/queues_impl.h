/* SPDX-License-Identifier: Apache-2.0 */
/* Private to queues.c and queues_objects.c. */
#ifndef MUSTER_FRONTEND_MODEL_QUEUES_IMPL_H
#define MUSTER_FRONTEND_MODEL_QUEUES_IMPL_H

#include "frontend/model/groups/queues.h"
#include "frontend/queues/past.h"
#include "frontend/queues/queues.h"

#define QUEUE_OBJECT_BYTES_MAX 65536u

/* A Queue or an ElasticQuota. */
struct queue_object {
	char *namespace, *name, *stamp, *json;
	size_t bytes;
	uint64_t hash; /* of what was read of it */
	uint32_t source, seen;
};

/* A queue as the core has it, by its id. */
struct queue_slot {
	char *name; /* NULL: free */
	char *body; /* of its record */
	size_t bytes;
	bool there; /* else it is gone */
	bool sent, dirty;
	uint32_t run_s;   /* queues_run_s() */
	bool run_differs; /* from before the tree was read again */
};

/* Names that pods or groups give, by their slots: value numbers, referenced; ID_NONE. */
struct queue_marks {
	uint32_t *at;
	uint32_t n;
};

struct model_queues {
	bool watches[QUEUE_SOURCES]; /* sources that are looked at: one, or with `auto` three */
	bool automatic;
	enum queue_source source;     /* of `tree` */
	const char *namespace, *name; /* of the ConfigMap */
	char *fields;                 /* its field selector */
	const char *const *unshared;  /* unshared_bits() */
	size_t unshared_n;

	struct queue_object *objects;
	size_t objects_n, objects_room;
	char *config; /* the last good text */
	char *config_stamp;
	uint32_t config_seen;
	char *invalid; /* why something was refused last; NULL: all was read */
	uint64_t invalid_n;

	bool due;                 /* objects changed since the tree was made */
	uint64_t columns_changed; /* model_counts' at that time */
	struct queues_read *tree; /* NULL: there are no queues */
	uint32_t *ids;            /* by queue of the tree */
	struct queue_slot *slots;
	uint32_t slots_n, dirty_n, gone_n;
	uint32_t *by_name; /* slots in use, sorted by name */
	uint32_t by_name_n;

	struct event_queue_terms terms;
	bool terms_due; /* to be sent; never with factor 0 */

	struct queues_past *past; /* of earlier cores; NULL: none */
	bool past_due;            /* to be sent, from this queue of it on */
	size_t past_next, past_amount;

	struct queue_marks pods[QUEUE_SOURCES], groups[QUEUE_SOURCES];
	struct queue_marks in; /* by pod: its queue, as its record has it */
};

/* The tree of the objects that are there; NULL and *text: why it can't be. */
struct queues_read *queues_tree(struct model_queues *q, char *text, size_t text_bytes);
void queues_complain(struct model_queues *q, const char *text);

#endif
