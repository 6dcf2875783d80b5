/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of nodes in files, and which of them pods have that are bound. */
#ifndef MUSTER_CTL_GPUS_NODES_H
#define MUSTER_CTL_GPUS_NODES_H

#include "ctl/gpus/ask.h"
#include "ctl/objects/files.h"

struct gpu_node {
	const char *name;
	struct text object;  /* its JSON */
	const char *model;   /* "": not known */
	uint32_t memory_mib; /* of each GPU; 0: not known */
	uint32_t gpus;
	uint32_t left[GPU_COUNT_MAX];      /* parts of each */
	const char *groups[GPU_COUNT_MAX]; /* of KAI's, by GPU; NULL: none */
};

struct gpu_nodes {
	struct gpu_node *at; /* by name */
	size_t n;
};

/* Nodes with GPUs; texts are in the arena. */
struct gpu_nodes gpu_nodes_of(struct arena *arena, const struct files *files);
void gpu_nodes_free(struct gpu_nodes *nodes);
/* NULL: it has no GPUs. */
struct gpu_node *gpu_nodes_find(const struct gpu_nodes *nodes, struct text name);

/* How the GPUs of a bound pod are known: GPU_SAID, by alibabacloud.com/gpu-index or KAI's group of
 * a GPU; else they are chosen. */
enum gpu_place { GPU_SAID, GPU_SHARED, GPU_ALONE, GPU_PLACES };
enum gpu_place gpu_place_of(struct arena *arena, struct text pod, const struct gpu_ask *ask);
/* A pod of KAI's that only holds the GPU for others. */
bool gpu_holds_for_others(struct arena *arena, struct text pod, const struct gpu_ask *ask);

/* The GPUs of a bound pod, in order of their numbers, and its parts of each: those in its
 * annotations, else the first with enough free.  Call for pods in the order of enum gpu_place.
 * Returns the number of GPUs. */
uint32_t gpu_node_take(struct arena *arena, struct gpu_node *node, struct text pod,
                       const struct gpu_ask *ask, uint32_t gpus[GPU_COUNT_MAX], uint32_t *parts);

/* Parts of one of the node's GPUs that the ask takes. */
uint32_t gpu_parts_on(const struct gpu_ask *ask, uint32_t memory_mib);

#endif
