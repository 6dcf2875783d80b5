/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics, /latency, /healthz, /livez, /readyz, the page at / with its /state.json, and the
 * extender's /filter and /prioritize, over HTTP from a thread of its own: it sees only copies of
 * what the loop makes, and hands questions to it. */
#ifndef MUSTER_FRONTEND_SERVE_H
#define MUSTER_FRONTEND_SERVE_H

#include "frontend/serve/metrics.h"

#include <stddef.h>
#include <stdint.h>

struct serve;

struct serve_config {
	const char *listen;
	uint64_t (*monotonic_ns)(void *context);
	/* From the serving thread: figures are wanted; the loop is to call
	 * serve_update() soon. */
	void (*wanted)(void *context);
	void *context;
	bool extends; /* take questions of another scheduler: serve_take_job() */
};

struct extender_job; /* frontend/serve/extender.h */

/* Can `listen` be an address?  -EINVAL with the reason in `error`. */
int serve_address_check(const char *listen, char *error, size_t error_bytes);

/* "ADDR:PORT", ":PORT" (every address) or "[ADDR6]:PORT".
 *
 *   -EINVAL      no such address; `error` says what is wrong
 *   -EADDRINUSE  and others: can't be listened on */
int serve_start(const struct serve_config *config, struct serve **out, char *error,
                size_t error_bytes);
void serve_stop(struct serve *s);

/* The port listened on, also where `listen` asked for any (0). */
unsigned serve_port(const struct serve *s);

/* The next question, or NULL.  The loop finishes each one; then serve_stop() may come. */
struct extender_job *serve_take_job(struct serve *s);

/* Is someone waiting for new figures? */
bool serve_is_wanted(struct serve *s);

/* Replace the figures; *m is copied. */
void serve_update(struct serve *s, const struct metrics *m);

/* Is someone waiting for /state.json?  It is asked for at most twice a second, whoever asks. */
bool serve_state_is_wanted(struct serve *s);

/* Replace it; copied. */
void serve_state_update(struct serve *s, const char *json, size_t bytes);

#endif
