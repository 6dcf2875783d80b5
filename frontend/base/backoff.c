/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/backoff.h"

#include "frontend/base/log.h"

#define RETRY_AFTER_MAX_MS (120 * 1000) /* longer values are not honoured */

uint64_t backoff_failed(struct backoff *b, const struct env *env)
{
	uint64_t now = env_now(env);
	uint64_t wait;

	if (b->wait_ns == 0 || now - b->failed_ns > b->reset_ns)
		b->wait_ns = b->first_ns;
	wait = b->wait_ns;
	b->wait_ns = wait * 2 < b->cap_ns ? wait * 2 : b->cap_ns;
	wait += env->random(env->context) % (wait + 1);
	/* Waiting does not count as time without failure. */
	b->failed_ns = now + wait;
	return wait;
}

uint64_t backoff_answer(struct backoff *b, const struct env *env, const struct http_answer *answer)
{
	uint64_t wait;

	if (answer->retry_after_ms < 0)
		return backoff_failed(b, env);
	wait = (uint64_t)(answer->retry_after_ms < RETRY_AFTER_MAX_MS ? answer->retry_after_ms
	                                                              : RETRY_AFTER_MAX_MS);
	wait *= NS_PER_MS;
	return wait + env->random(env->context) % (wait / 10 + 1);
}

void backoff_reset(struct backoff *b)
{
	b->wait_ns = 0;
}
