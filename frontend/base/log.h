/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log, through struct env, with a limit on repetitions; time and credentials of struct
 * env. */
#ifndef MUSTER_FRONTEND_LOG_H
#define MUSTER_FRONTEND_LOG_H

#include "frontend/base/env.h"
#include "ipc/clock.h"
#include "ipc/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Levels are "debug", "info", "warn" and "error". */
void env_log(const struct env *env, const char *level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A message and values, such as msg="gang waits" gang="ns/g". */
void env_tell(const struct env *env, const char *level, const char *message,
              const struct log_field *fields, size_t n);

/* A rate limit of one message: `most` a minute, then a count of those that were left out.  All zero
 * is ready. */
struct log_limit {
	uint64_t window_ns; /* when the minute began */
	uint32_t said;
	uint32_t most; /* in a minute; 0: ten */
	uint64_t left_out;
};

/* True if the message may be logged.  Logs how many were left out once the minute is over. */
bool log_allowed(struct log_limit *l, const struct env *env, const char *what);

static inline uint64_t env_now(const struct env *env)
{
	return env->monotonic_ns(env->context);
}

/* After a 401: read the credentials again before the next request, if they come from files. */
static inline void env_renew_credentials(const struct env *env)
{
	if (env->transport->ops->renew_credentials)
		env->transport->ops->renew_credentials(env->transport);
}

#define NEVER_NS UINT64_MAX

#endif
