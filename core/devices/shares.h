/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of GPUs: where a pod goes that asks for whole GPUs or for a part of one, so that little of
 * the GPUs is lost to the pods that come later. Pure functions of numbers.
 *
 * A GPU has SHARE_WHOLE parts. A pod asks for n whole GPUs or for less than one; a share lies on
 * one GPU. What comes later is described by a mix: the typical tasks of the workload with their
 * counts (FGD, USENIX ATC'23, section 4). Of a node, in parts of GPUs, the expectation over the
 * mix:
 *
 *   share_fragmentation()  what the next task can't use: all that is free if the node can't run it,
 *                          else what lies on GPUs with less than its share. FGD's F_n(M).
 *   share_unfillable()     what is left when the node is filled with tasks of one kind, so far as
 *                          CPU and GPUs reach. Tasks without GPUs don't count.
 *   share_residue()        what is left of each GPU when shares arrive at random until none fits,
 *                          those that leave less being likelier */
#ifndef MUSTER_CORE_SHARES_H
#define MUSTER_CORE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARE_WHOLE = 1000, SHARE_GPUS_MAX = 16, SHARE_TASKS_MAX = 4096 };

#define SHARE_POINTS_MOST 1200u /* of share_points() */

/* What is free. Two nodes with equal bytes are equal. */
struct share_node {
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint32_t model; /* its bits */
	uint32_t gpus;  /* SHARE_GPUS_MAX at most */
	uint16_t free[SHARE_GPUS_MAX];
};

struct gpu_ask {
	int64_t cpu_milli;
	int64_t memory_bytes;
	uint32_t models; /* a node with one of these bits serves; 0: each */
	uint32_t gpus;
	uint32_t milli; /* of each GPU: SHARE_WHOLE, or less if it is one; 0 without GPUs */
};

struct share_task {
	struct gpu_ask ask;
	uint32_t count;
};

enum share_policy {
	SHARE_BESTFIT, /* least CPU and GPU left, against a node of 128 CPUs and 8 GPUs */
	SHARE_FGD,     /* least increase of share_fragmentation(), in 100 steps of a sigmoid */
	SHARE_MUSTER,  /* least increase of all three, weighted, and a little for CPU that is left, in
	                * SHARE_POINTS_MOST steps of a flatter one */
};

/* True if the request has the form above. */
bool gpu_ask_valid(const struct gpu_ask *a);

/* The typical tasks: the most frequent ones that are 95 % of all together, memory aside, `most` at
 * most. NULL: more than SHARE_TASKS_MAX tasks, or one that is not valid. The caller frees it with
 * share_mix_free(). */
struct share_mix;
struct share_mix *share_mix_new(const struct share_task *tasks, size_t n, size_t most);
void share_mix_free(struct share_mix *m);

double share_fragmentation(const struct share_mix *m, const struct share_node *n);
double share_unfillable(const struct share_mix *m, const struct share_node *n);
double share_residue(const struct share_mix *m, const struct share_node *n);

bool share_fits(const struct share_node *n, const struct gpu_ask *a);

/* SHARE_FGD or SHARE_MUSTER of a node on which it fits, a share on that GPU, which has room: 0 to
 * SHARE_POINTS_MOST. */
uint32_t share_points(enum share_policy policy, const struct share_mix *m,
                      const struct share_node *n, const struct gpu_ask *a, uint32_t gpu);

/* Of a node on which it fits: higher is better, ties go to the first name. *gpu is the one for a
 * share, the first of equal ones. `m` may be NULL for SHARE_BESTFIT. */
double share_score(enum share_policy policy, const struct share_mix *m, const struct share_node *n,
                   const struct gpu_ask *a, uint32_t *gpu);

/* Takes it off a node on which it fits: a share from that GPU, else the first whole ones. */
void share_take(struct share_node *n, const struct gpu_ask *a, uint32_t gpu);

#endif
