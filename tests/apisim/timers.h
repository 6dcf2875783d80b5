/* SPDX-License-Identifier: Apache-2.0 */
/* What a kubelet will do to a pod, and when: a heap by time. */
#ifndef MUSTER_APISIM_TIMERS_H
#define MUSTER_APISIM_TIMERS_H

#include "tests/apisim/object.h"

struct as_timer {
	uint64_t due_ns;
	uint64_t order; /* among equal times: first come, first served */
	char *key;
	char uid[AS_UID_BYTES];
	int action;
};

struct as_timers {
	struct as_timer *at;
	size_t n, room;
	uint64_t added;
};

void as_timers_add(struct as_timers *t, uint64_t due_ns, const char *key, const char *uid,
                   int action);
/* The first one that is due, to be freed with as_timer_free(). */
bool as_timers_take(struct as_timers *t, uint64_t now_ns, struct as_timer *out);
void as_timer_free(struct as_timer *t);
uint64_t as_timers_due_ns(const struct as_timers *t);
void as_timers_clear(struct as_timers *t); /* keeps the memory at `at` */

#endif
