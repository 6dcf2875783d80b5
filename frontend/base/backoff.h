/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential backoff with jitter: first, twice that, ... up to a cap, each plus up to as much at
 * random, so that many clients do not retry together. Resets after a time without failures. */
#ifndef MUSTER_FRONTEND_BACKOFF_H
#define MUSTER_FRONTEND_BACKOFF_H

#include "frontend/base/env.h"

#include <stdint.h>

struct backoff {
	uint64_t first_ns;
	uint64_t cap_ns;
	uint64_t reset_ns; /* resets if the last failure is this old */
	uint64_t wait_ns;  /* the next delay without jitter; 0: first_ns */
	uint64_t failed_ns;
};

/* As client-go's reflector, for lists and watches. */
#define BACKOFF_REFLECTOR                                                                          \
	(struct backoff)                                                                               \
	{                                                                                              \
		.first_ns = 800 * NS_PER_MS, .cap_ns = 30 * NS_PER_S, .reset_ns = 120 * NS_PER_S           \
	}

/* Records a failure; returns the delay in ns. */
uint64_t backoff_failed(struct backoff *b, const struct env *env);

/* The delay after an answer: its Retry-After plus up to 10 %, else as backoff_failed(). */
uint64_t backoff_answer(struct backoff *b, const struct env *env, const struct http_answer *answer);

void backoff_reset(struct backoff *b);

#endif
