/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording of muster's own (bench/trace/recording.h) has beside its jobs: the resources,
 * nodes that come and go, the pods that no play decides about, and the queues; and how they are
 * told to the core of a play.
 *
 * Resources are columns of the world, by name, since each epoch of a recording has other numbers.
 */
#ifndef MUSTER_BENCH_TRACE_WORLD_H
#define MUSTER_BENCH_TRACE_WORLD_H

#include "bench/builder.h"
#include "bench/trace/keys.h"
#include "bench/trace/trace.h"

/* The column of resources that are asked for and that no node had. */
#define WORLD_OF_NO_NODE RESOURCE_EXTENDED
#define WORLD_COLUMNS_FIRST (RESOURCE_EXTENDED + 1u)
#define WORLD_NODES_MOST (1u << 20)

/* What a pod asks for, and the nodes that its rules over a node alone deny: selectors, taints,
 * volumes.  Labels and taints themselves are numbers of an epoch, so in a play each set of denied
 * nodes is a label of all others, which the shape requires. */
#define WORLD_SETS_MOST 64u

struct world_shape {
	struct event_shape body;
	struct amount *requests; /* body.amounts_n */
	uint32_t set;            /* of world.denied; KEYS_NONE: no node is denied */
	bool has_rules;          /* that are not played */
};

/* What a node has, each once. */
struct world_kind {
	struct amount *amounts;
	uint32_t amounts_n;
};

/* A node from a time on. */
struct world_node {
	uint32_t node, kind;
	bool is_there, is_cordoned;
};

/* A pod that stays where it was: of other schedulers, or bound before the first job came. */
struct world_pod {
	uint32_t shape, node, user;
	int32_t priority;
	bool is_ours, lasts;
	uint64_t from_s, to_s;
	uint32_t left_s, expected_left_s; /* of its limits, at from_s; 0: not known */
};

/* In the order in which steps of one second are sent. */
enum world_step_kind { WORLD_POD_ENDS, WORLD_NODE, WORLD_POD };

struct world_step {
	uint64_t at_s;
	enum world_step_kind kind;
	uint32_t item;  /* of pods or node_states */
	uint32_t place; /* among all, for a stable order */
};

struct world_queue {
	struct event_queue body; /* queue and parent: indices here */
	char *name;
	struct queue_amount *amounts;
};

struct world {
	char *columns[RESOURCES_MAX];
	uint32_t columns_n;
	uint32_t measured;   /* the column in which sizes are measured: GPUs, or cpu */
	struct keys nodes;   /* names */
	uint32_t kind_added; /* index of the most frequent kind of node, of kind_added_n nodes */
	uint32_t kind_added_n;
	uint32_t node_added;   /* what is added is denied to whom this node is */
	uint32_t nodes_read_n; /* without added ones */
	struct keys denied;    /* sets of nodes, as bitmaps of uint64_t */
	struct world_kind *kinds;
	uint32_t kinds_n;
	struct world_shape *shapes;
	uint32_t shapes_n;
	uint32_t *member_shapes; /* trace_job.shapes_first */
	uint32_t members_n;
	struct world_node *node_states;
	uint32_t node_states_n;
	size_t node_states_room;
	struct world_pod *pods;
	uint32_t pods_n;
	struct world_step *steps; /* sorted once the trace is read */
	uint32_t steps_n;
	size_t steps_room;
	struct world_queue *queues; /* parents first, [0] is the root; none: there were no queues */
	uint32_t queues_n;
	uint32_t *queue_of_user;
	struct play_job *was;      /* by trace_job.place: when it started and ended in the recording */
	double pods_places_s;      /* places of `pods`, summed over the recording */
	uint32_t unfinished;       /* jobs whose end the recording does not have */
	uint32_t with_rules;       /* jobs with rules that are not played */
	struct core_config config; /* as recorded; limits, emit and context are not set */
};

void world_free(struct world *w);

void world_step_add(struct world *w, uint64_t at_s, enum world_step_kind kind, uint32_t item);
void world_node_add(struct world *w, uint64_t at_s, const struct world_node *state);

/* So many nodes more, of the most frequent kind, from the beginning. */
void world_grow(struct trace *t, uint32_t more);
/* Sorts the steps; sets nodes and node_milli of the trace, the mean over time. */
void world_finish(struct trace *t);

/* Of an amount of the measured column, as trace_job.milli has it. */
int64_t world_milli(const struct world *w, const struct amount *amounts, uint32_t n);

/* Its part of a play. */
struct world_play;
typedef void (*world_tell_fn)(void *context, enum record_kind kind, const struct part *parts);

/* queue_of_user: NULL: there are no queues. */
struct world_play *world_play_new(const struct world *w, const uint32_t *queue_of_user,
                                  uint64_t epoch_s, world_tell_fn tell, void *context);
void world_play_free(struct world_play *p);
/* The core's limits but for pods and gangs of jobs. */
void world_limits(const struct world *w, struct limits *l);
void world_tell_columns(struct world_play *p);
/* When the next step is; UINT64_MAX: there is none. */
uint64_t world_due_s(const struct world_play *p);
/* Tells the steps up to that time. */
void world_advance(struct world_play *p, uint64_t now_s);
/* The shape's id, told when it is first used. */
shape_id world_shape_id(struct world_play *p, uint32_t shape);

#endif
