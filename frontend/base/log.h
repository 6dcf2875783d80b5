/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for the operator, through the world's own log. */
#ifndef MUSTER_FRONTEND_LOG_H
#define MUSTER_FRONTEND_LOG_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stdint.h>

/* Levels are "debug", "info", "warn" and "error". */
void env_log(const struct env *env, const char *level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A message and values, such as msg="gang waits" gang="ns/g". */
void env_tell(const struct env *env, const char *level, const char *message,
              const struct log_field *fields, size_t n);

/* The values as logfmt, a space before each, cut to the room between two of them; its length. */
size_t log_fields_write(char *out, size_t room, const struct log_field *fields, size_t n);

/* Not the same complaint thousands of times: ten in a minute or as many as it says, then a count of
 * those that were left out.  All zero is ready. */
struct log_limit {
	uint64_t window_ns; /* when the minute began */
	uint32_t said;
	uint32_t most; /* in a minute; 0: ten */
	uint64_t left_out;
};

/* May this one be said?  Says how many were left out once the minute is over. */
bool log_allowed(struct log_limit *l, const struct env *env, const char *what);

/* Memory is short: say so and leave with exit code 1.  The API server keeps the
 * truth and the supervisor starts us again, so nothing is lost. */
_Noreturn void fatal_memory(void);
void *must_alloc(size_t bytes); /* zeroed */
char *must_copy(const char *text);
void *must_grow(void *items, size_t bytes);

/* Items of `each` bytes until there are more than `wanted`: *n of them now, `first` at least, the
 * new ones zeroed. */
void *must_reach(void *items, size_t *n, size_t wanted, size_t first, size_t each);

static inline uint64_t env_now(const struct env *env)
{
	return env->monotonic_ns(env->context);
}

/* The API server refused what we show: read it again before the next request, where there is
 * anything to read. */
static inline void env_renew_credentials(const struct env *env)
{
	if (env->transport->ops->renew_credentials)
		env->transport->ops->renew_credentials(env->transport);
}

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define NEVER_NS UINT64_MAX

#endif
