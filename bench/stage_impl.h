/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a stage. stage.c: the server, its nodes, and schedulers; stage_space.c: the
 * namespace of one measurement and its pods; stage_run.c: the measurements; stage_devices.c:
 * devices and claims. */
#ifndef MUSTER_BENCH_STAGE_IMPL_H
#define MUSTER_BENCH_STAGE_IMPL_H

#include "bench/stage.h"

/* Shared by the rows of requests of one measurement. */
struct space {
	struct stage *stage;
	char namespace[64];
	const char *scheduler;
	const char *group_label; /* NULL: none */
	const char *group_native;
	bool claims; /* pod-00000 has the claim of that name, and so on */
};

/* Makes the namespace and watches it. */
bool space_open(struct space *p, struct stage *s, const char *scheduler);
/* Always returns `ok`. */
bool space_close(struct space *p, bool ok);

/* A client_make_fn over a space. */
void space_make_pod(void *context, uint32_t i, char *path, char **body);

/* Makes the claims of its first pods. */
bool space_make_claims(struct space *p, uint32_t pods);
/* The same functions of bindings, pod i on node i, in turn. */
void space_make_binding(void *context, uint32_t i, char *path, char **body);

/* Why a pod of the namespace without a node waits, by its condition. False: no condition reports it
 * as unschedulable. */
bool space_has_no_room(const struct space *p, char *out, size_t out_bytes);

#endif
