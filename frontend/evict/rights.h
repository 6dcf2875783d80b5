/* SPDX-License-Identifier: Apache-2.0 */
/* May muster evict?  Asked by SelfSubjectAccessReviews before the first nomination, and again after
 * a 403 and while a right is missing, so that it can be granted without a restart.
 *
 * The base manifests have no right to evict: deploy/preemption adds it. */
#ifndef MUSTER_FRONTEND_EVICT_RIGHTS_H
#define MUSTER_FRONTEND_EVICT_RIGHTS_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stdint.h>

struct rights;

/* best_effort: pods are deleted, else evicted by the Eviction API. */
struct rights *rights_new(const struct env *env, bool best_effort);
void rights_free(struct rights *r);

/* Asks what is due.  Returns the time of the next call. */
uint64_t rights_poll(struct rights *r);

/* Asked, with an answer or without one a few times. */
bool rights_known(const struct rights *r);
/* All are granted. */
bool rights_granted(const struct rights *r);
/* A write was answered with 403. */
void rights_doubt(struct rights *r);

#endif
