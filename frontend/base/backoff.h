/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait after a failure: first, twice that, ... up to a cap, each
 * with up to as much again by chance, so that many clients don't come back
 * together.  Starts over when nothing failed for a while. */
#ifndef MUSTER_FRONTEND_BACKOFF_H
#define MUSTER_FRONTEND_BACKOFF_H

#include "frontend/base/env.h"

#include <stdint.h>

struct backoff {
	uint64_t first_ns;
	uint64_t cap_ns;
	uint64_t reset_ns; /* start over when the last failure is that long ago */
	uint64_t wait_ns;  /* the next one, without chance; 0: first_ns */
	uint64_t failed_ns;
};

/* Of client-go's reflector, for lists and watches. */
#define BACKOFF_REFLECTOR                                                                          \
	(struct backoff)                                                                               \
	{                                                                                              \
		.first_ns = 800 * NS_PER_MS, .cap_ns = 30 * NS_PER_S, .reset_ns = 120 * NS_PER_S           \
	}

/* Something failed now: how long to wait, in ns. */
uint64_t backoff_failed(struct backoff *b, const struct env *env);

/* How long to wait after an answer: its Retry-After and up to a tenth more, else
 * as backoff_failed(). */
uint64_t backoff_answer(struct backoff *b, const struct env *env, const struct http_answer *answer);

void backoff_reset(struct backoff *b);

#endif
