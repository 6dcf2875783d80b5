/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of devices in a run; nothing in runs without (script_claims()). */
#ifndef MUSTER_TESTS_SIM_CLAIMS_H
#define MUSTER_TESTS_SIM_CLAIMS_H

#include "tests/apisim/store.h"
#include "tests/sim/sim.h"

struct member;

void claims_start(struct sim *s);
void claims_free(struct sim *s);
/* A part of the pod's spec. */
const char *claims_of_pod(const struct script *s, uint32_t group, uint32_t shape);
void claims_do(struct sim *s, const struct action *a);
/* The controller of claims, and the drivers, as far as they are due. */
void claims_run(struct sim *s);
uint64_t claims_due_ns(const struct sim *s);

/* A revision of a claim, and the pods that run with it; and a pod that muster has just bound. */
void claims_judge(struct invariants *b, const struct as_event *e);
void claims_judge_bound(struct invariants *b, const struct as_object *pod, const char *node);
/* A Binding leaves an instance: by its claims as the instance has them, no device is gone. */
void claims_judge_sent(struct sim *s, struct model *m, const char *path, const char *body);
/* A node has room for that pod, and enough devices in no claim for its one claim. */
bool claims_serve(const struct invariants *b, const struct member *m);
/* False: a claim is allocated to no pod that has a node. */
bool claims_at_rest(struct sim *s, char *why, size_t why_bytes);

/* Pods that muster bound with claims; revisions with a device in a claim of another scheduler, too;
 * pods that were bound just after a device ceased to be ready. */
void claims_counts(const struct sim *s, uint64_t *bound, uint64_t *twice, uint64_t *unready);

#endif
