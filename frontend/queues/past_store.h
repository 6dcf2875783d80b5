/* SPDX-License-Identifier: Apache-2.0 */
/* The ConfigMap that keeps what queues used in the past, so that it outlives both processes.
 *
 *   CLOSED ──claim──► GET ──answered, or 10 s──► READ ──put──► PUT with the version that was read
 *                                                               │ 409: GET, and again
 *
 * No pod waits for it longer than those 10 s: what can't be read or written is lost, and logged.
 * A write names the version that was read, so one of an earlier leader that is late fails, or makes
 * ours start again. */
#ifndef MUSTER_FRONTEND_PAST_STORE_H
#define MUSTER_FRONTEND_PAST_STORE_H

#include "frontend/base/env.h"
#include "frontend/queues/past.h"

struct past_store_config {
	const struct env *env;
	const char *namespace, *name; /* outlive it */
	uint32_t half_life_s;         /* what is older than two of it is dropped */
};

struct past_store;

struct past_store *past_store_new(const struct past_store_config *config);
void past_store_free(struct past_store *s);

/* This instance leads: read it. */
void past_store_claim(struct past_store *s);
/* It was read, or can't be. */
bool past_store_is_read(const struct past_store *s);
/* What was read, once; the caller frees it.  NULL: none, too old, or refused as a whole. */
struct queues_past *past_store_take(struct past_store *s);

/* To be written in place of all before. */
void past_store_put(struct past_store *s, const struct queues_past *past);
/* It is written, or was tried several times. */
bool past_store_is_idle(const struct past_store *s);

/* Performs due work.  Returns the monotonic time of the next call. */
uint64_t past_store_poll(struct past_store *s);

#endif
