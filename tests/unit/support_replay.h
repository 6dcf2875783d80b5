/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of model_flush(): keeps what the records say, as slowly and
 * plainly as can be, and fails the test when one breaks the rules: malformed, a
 * name that was not sent before, a drop of what is still named, an id out of
 * bounds. */
#ifndef MUSTER_TESTS_SUPPORT_REPLAY_H
#define MUSTER_TESTS_SUPPORT_REPLAY_H

#include "frontend/model/model.h"

struct replay_record {
	uint32_t bytes; /* of data */
	uint16_t kind;
	char *data; /* header and body */
};

struct replay_slot {
	uint32_t generation; /* 0: nothing there; of names and shapes 1 */
	char *body;
	uint32_t bytes;
	unsigned serial; /* another one for each record */
};

struct replay {
	struct limits limits;
	struct replay_record *queue; /* reserved, not yet looked at */
	size_t queue_n, queue_room;
	size_t room; /* records that the ring still takes */
	struct replay_slot *names, *shapes, *nodes, *gangs, *pods;
	struct replay_slot *namespaces; /* in no order */
	size_t namespaces_n;
	unsigned begins, synceds, records;
	struct core *core; /* the real one hears the same and may refuse nothing; NULL: none */
	struct ledger *ledger;
	struct model_sink sink;
};

void replay_start(struct replay *r, const struct limits *limits);
void replay_free(struct replay *r);
void replay_forget(struct replay *r); /* this core is dead */

/* Let the real core hear everything too. */
void replay_add_core(struct replay *r);

/* Flush with room for `room` records and look at what came.  What model_flush() says. */
bool replay_flush(struct replay *r, struct model *m, size_t room);

/* The slot of that name, or NULL. */
const struct event_node *replay_node(const struct replay *r, const char *name);
const struct event_gang *replay_gang(const struct replay *r, const char *name);
const struct event_pod *replay_pod(const struct replay *r, const char *name);
const struct event_shape *replay_shape(const struct replay *r, const struct event_pod *pod);
const struct event_namespace *replay_namespace(const struct replay *r,
                                               uint32_t name); /* by value number */
size_t replay_count(const struct replay_slot *slots, uint32_t n);

/* Amount of a resource by its name; -1 when it is not there. */
int64_t replay_amount(const struct replay *r, const struct amount *amounts, uint32_t n,
                      const char *resource);
const struct amount *replay_node_amounts(const struct event_node *e);
const struct label *replay_labels(const struct event_node *e);
const struct taint *replay_taints(const struct event_node *e);
const struct amount *replay_shape_amounts(const struct event_shape *e);
const struct amount *replay_gang_amounts(const struct event_gang *e);
const struct gang_role *replay_gang_roles(const struct event_gang *e);
const struct gang_level *replay_gang_levels(const struct event_gang *e);
const struct node_image *replay_images(const struct event_node *e);
const struct pod_label *replay_pod_labels(const struct event_pod *e);
/* All parts of a shape; good until the next call. */
struct shape_record;
void replay_parts(const struct replay *r, const struct event_pod *pod, struct shape_record *out);

/* Do the rules of the shape let it onto the node, by the numbers in the records? */
bool replay_allows(const struct event_shape *shape, const struct event_node *node);

#endif
