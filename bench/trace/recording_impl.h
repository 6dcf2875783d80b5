/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read a recording share. */
#ifndef MUSTER_BENCH_TRACE_RECORDING_IMPL_H
#define MUSTER_BENCH_TRACE_RECORDING_IMPL_H

#include "bench/trace/recording.h"
#include "core/shm/records.h"
#include "ctl/replay/recording.h"

/* An id of the present epoch, and what it stands for. */
struct past_slot {
	uint32_t generation; /* 0: nothing */
	uint32_t item;
};

/* Where each node stood last. */
struct node_now {
	uint32_t kind, epoch;
	bool is_there, is_cordoned, is_known;
};

struct reader {
	struct history h;
	const char *path;
	struct recording recording;
	struct recording_step step;
	struct limits limits;
	struct past_slot *pods, *gangs, *nodes, *shapes;
	uint32_t nodes_used, shapes_used;                       /* ids below these were seen */
	uint32_t *columns;                                      /* by name id; KEYS_NONE: not told */
	uint32_t queues[QUEUES_MAX], queue_parents[QUEUES_MAX]; /* numbers of names; ids */
	bool has_queues;
	uint32_t *gang_of_name;
	size_t gang_of_name_room;
	struct core *core; /* of nodes and shapes alone: it knows their rules */
	struct ledger *ledger;
	uint64_t ledger_bytes;
	struct keys column_names, kind_keys, request_keys;
	struct node_now *nodes_now;
	size_t nodes_now_room, kinds_room;
	uint32_t epoch;
	uint64_t base_ns, last_ns, now_s;
	bool synced;
};

/* A message with the offset of the present step; false. */
bool recording_wrong(const struct reader *r, const char *what);

/* Records of resources, nodes, shapes and queues.  False and a message: there are too many. */
bool recording_name(struct reader *r, const struct name_record *n);
bool recording_node(struct reader *r, const struct node_record *n);
bool recording_shape(struct reader *r, const struct shape_record *s);
void recording_queue(struct reader *r, const struct queue_record *q);
/* Nothing starts on the node from now on. */
void recording_node_leaves(struct reader *r, uint32_t node);

#endif
