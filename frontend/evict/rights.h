/* SPDX-License-Identifier: Apache-2.0 */
/* May muster evict, or write claims of devices?  Asked by SelfSubjectAccessReviews before the first
 * nomination or claim, and again after a 403 and while a right is missing, so that it can be
 * granted without a restart.
 *
 * The base manifests have neither: deploy/preemption and deploy/devices add them. */
#ifndef MUSTER_FRONTEND_EVICT_RIGHTS_H
#define MUSTER_FRONTEND_EVICT_RIGHTS_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stdint.h>

struct rights;

enum rights_of {
	RIGHTS_EVICT, /* pods, by the Eviction API */
	RIGHTS_DELETE,
	RIGHTS_CLAIMS,
};

struct rights *rights_new(const struct env *env, enum rights_of of);
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
