/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all nodes, what pods ask of them, and which devices a plan or a reservation holds.
 *
 *     records ──► devices of nodes, questions, matches        inventory_room(): how many pods of a
 *                                                             question fit on a node
 *     a plan takes ──► loose holdings of the node
 *          │  undone: given back, the last of the question first
 *          └─ reserved: adopted by the pod ──► its reservation ends: returned, and given back
 *
 * A choice is the allocator's own (core/devices/choice.h), on what neither a claim nor a holding
 * has. Since it depends on the node's devices and the question alone, each pod of a question lowers
 * the room of a node by one, unless all that it has is by adminAccess.
 *
 * A pod that is bound, or whose claims are being written, asks for nothing: its devices are taken
 * by the record of the node.  New devices of a node (another layout) end what is held there: the
 * frontend rejects a choice for the layout before.
 *
 * Counters of a pool are what its devices that are not in `used` leave of them.  A device that is
 * shared may be in any number of holdings, and in `used` since its first share; its capacities are
 * amounts, from which the record and each holding take theirs.  The record has what a pod is having
 * written only when the pod asks for it no more; between these two records it counts twice.
 *
 * A device that several nodes list has a common number.  What a pod takes of these on one node
 * changes the room of the others: a question that may have one somewhere is inventory_is_common(),
 * and the room of a node is then right for the state of all nodes, not of its own alone.
 *
 * Pods that share a claim which is not allocated have one question (QUESTION_ONE).  The first one
 * chooses; each further one holds the same devices, and there is room for it on that node alone.
 *
 * Memory: 8 bytes for each pod of the limit, touched as pods hold devices; sets of its devices for
 * each node and question.  Nothing exists before the first record of devices. */
#ifndef MUSTER_CORE_INVENTORY_H
#define MUSTER_CORE_INVENTORY_H

#include "ipc/abi.h"
#include "ipc/devices.h"

struct inventory;

#define PICKS_WORDS ((DEVICE_PICKS_MAX + 63) / 64)

/* The devices of one pod. */
struct holding {
	uint32_t pod; /* ID_NONE: loose */
	uint32_t node, question;
	uint32_t layout;  /* that the numbers are for */
	uint32_t picks_n; /* 0: the devices of the node changed since, or there were too few */
	bool shared;      /* the devices are those of all holdings of the question: of one claim */
	uint64_t idle[PICKS_WORDS]; /* picks that take nothing: adminAccess */
	/* By capacity of the node; NULL: no share, or another holding of the claim has it. */
	device_amount *drawn;
	struct device_pick picks[];
};

struct inventory *inventory_new(const struct limits *limits);
void inventory_free(struct inventory *v);
/* Devices, questions and matches of another core with these limits.  Taken is what its records say:
 * no pod holds a device. */
struct inventory *inventory_copy(const struct inventory *v, const struct limits *limits);
/* A node without pods gets devices like those of another one, all of them free but for those of
 * several nodes, which are the same. */
void inventory_node_like(struct inventory *v, node_id like, node_id node);

/* What follows a struct event_node_devices. */
struct node_lists {
	const uint64_t *taken, *shared;
	const struct node_counter *counters;
	const struct node_use *uses;
	const struct node_capacity *capacities;
	const struct node_common *commons;
};

/* Of records that were checked (core/shm/records.h). */
void inventory_node_set(struct inventory *v, const struct event_node_devices *e,
                        const struct node_lists *lists);
void inventory_node_drop(struct inventory *v, node_id node);
void inventory_question_set(struct inventory *v, const struct event_question *e,
                            const struct question_option *options,
                            const struct question_constraint *constraints);
/* Names for reasons, as in struct event_question, which the caller has at that offset of its own.
 */
void inventory_question_label(struct inventory *v, uint32_t question, const char *text,
                              uint32_t bytes, uint64_t offset);
/* Bytes and offset of what was given; 0: nothing. */
uint32_t inventory_question_text(const struct inventory *v, uint32_t question, uint64_t *offset);
void inventory_question_drop(struct inventory *v, uint32_t question);
/* False: the question has other options, or the node other devices; nothing was changed. */
bool inventory_match_set(struct inventory *v, const struct event_match *e, const uint64_t *sets,
                         const uint32_t *values, const struct match_amount *amounts);

/* A match of the question is known on the node. */
bool inventory_has_match(const struct inventory *v, node_id node, uint32_t question);
/* How many pods of the question the node has devices for, `most` or fewer.  `served`, here and
 * below: the groups (device_group(), as bits) whose options are not asked on this node, since it
 * has their resources by itself. */
uint32_t inventory_room(const struct inventory *v, node_id node, uint32_t question, uint32_t served,
                        uint32_t most);

/* The question is known, and the node serves all that it asks. */
bool inventory_is_served(const struct inventory *v, uint32_t question, uint32_t served);

/* Its pods name one claim (QUESTION_ONE): the first one that takes its devices binds the others to
 * the node. */
bool inventory_is_one(const struct inventory *v, uint32_t question);

/* What a pod of the question takes changes the room of other nodes: it may have a device of several
 * nodes on some node, or is inventory_is_one(). */
bool inventory_is_common(const struct inventory *v, uint32_t question);

/* For an upper bound of the pods that all nodes have devices for. */
struct common_bound {
	uint64_t pods;                          /* served by devices of one node alone */
	uint64_t free[COMMON_DEVICES_MAX / 64]; /* devices of several nodes, by common number */
};

/* Adds a node that has room for `most` by all else.  A question of another form than one request
 * for a number of devices, or for an extended resource, is not bounded. */
void inventory_bound(const struct inventory *v, node_id node, uint32_t question, uint32_t most,
                     struct common_bound *to);

/* The bound, after all nodes: each device of several nodes serves one more pod at most. */
static inline uint64_t common_bound_pods(const struct common_bound *b)
{
	uint64_t pods = b->pods;

	for (uint32_t i = 0; i < COMMON_DEVICES_MAX / 64; i++)
		pods += (uint32_t)__builtin_popcountll(b->free[i]);
	return pods;
}

/* The question has alternatives (firstAvailable). */
bool inventory_prefers(const struct inventory *v, uint32_t question);
/* Points of the score plugin for the next pod, before they are normalised: for each request with
 * alternatives DEVICE_OPTIONS_MAX less the one that it gets (dynamicresources: Score). */
uint32_t inventory_points(const struct inventory *v, node_id node, uint32_t question,
                          uint32_t served);

enum inventory_lack { LACK_DEVICES, LACK_POOL, LACK_GAVE_UP };
/* Why there is no room for one. */
enum inventory_lack inventory_lack(const struct inventory *v, node_id node, uint32_t question,
                                   uint32_t served);

/* How many options the question has; 0: it is not known. */
uint32_t inventory_options(const struct inventory *v, uint32_t question);
/* Counts the devices of the first `nodes` nodes for one of them; out->members is not set. */
void inventory_supply(const struct inventory *v, uint32_t nodes, uint32_t question, uint32_t option,
                      struct device_lack *out);

/* The devices that the next pod of the question would get, in picks[DEVICE_PICKS_MAX]: their
 * number, 0: none.  Nothing is taken. */
uint32_t inventory_peek(const struct inventory *v, node_id node, uint32_t question, uint32_t served,
                        uint32_t *layout, struct device_pick *picks);

/* Devices for n pods; for a pod that finds none the holding is empty.  Nothing when the node serves
 * all that is asked. */
void inventory_take(struct inventory *v, node_id node, uint32_t question, uint32_t served,
                    uint32_t n);
/* Gives back the devices of one pod, the loose ones that were taken last. */
void inventory_give(struct inventory *v, node_id node, uint32_t question);

/* The pod gets the first loose holding of the question on the node. */
void inventory_adopt(struct inventory *v, node_id node, uint32_t question, pod_id pod);
/* It becomes loose, the last of its node.  Nothing if the pod has none. */
void inventory_return(struct inventory *v, pod_id pod);
/* NULL: none. */
const struct holding *inventory_held(const struct inventory *v, pod_id pod);

/* True if the sets are those of the holdings, and each is a pod's.  For tests, between two steps.
 */
bool inventory_check(const struct inventory *v);

#endif
