/* SPDX-License-Identifier: Apache-2.0 */
/* A pod's requests of GPUs: shares by annotations, and whole ones.
 *
 *     KAI      gpu-fraction: "0.5", or gpu-memory: "4096" (MiB), of gpu-fraction-num-devices GPUs
 *              (pkg/common/resources: ValidateGPUFractionRequest)
 *     Alibaba  alibabacloud.com/gpu-milli: "500", alibabacloud.com/gpu-count: "1",
 *              alibabacloud.com/gpu-card-model: "V100M16|V100M32" (kubernetes-scheduler-simulator:
 *              pkg/type/open-gpu-share/utils) */
#ifndef MUSTER_CTL_GPUS_ASK_H
#define MUSTER_CTL_GPUS_ASK_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define GPU_WHOLE 1000000000u /* parts of a GPU */
#define GPU_COUNT_MAX 128u    /* of a node or a pod: a ResourceSlice has no more devices */
#define GPU_MODELS_MAX 16u

struct gpu_ask {
	uint32_t count;                     /* GPUs; 0: none */
	uint32_t parts;                     /* of each, GPU_WHOLE: all of it; 0: see `memory_mib` */
	uint32_t memory_mib;                /* of each */
	bool shares;                        /* by annotations; else whole ones, as a resource */
	const char *models[GPU_MODELS_MAX]; /* one of them; none: any */
	uint32_t models_n;
};

/* True if the text may have one of the annotations: others need not be read. */
bool gpu_ask_maybe(struct text pod);

/* Of a pod's JSON; texts are in the arena.  False and *why, in the arena: field, value and what is
 * wrong with it. */
bool gpu_ask_read(struct arena *arena, struct text pod, struct gpu_ask *out, const char **why);

/* Whole GPUs of a map of resources such as status.allocatable; 0: none. */
uint32_t gpu_count_of(struct arena *arena, struct text resources);

/* A whole number that is written with digits alone and is at most `most`. */
bool gpu_number(const char *text, uint32_t most, uint32_t *out);

#endif
