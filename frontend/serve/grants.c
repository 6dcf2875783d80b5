/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/grants.h"

#include "frontend/base/log.h"

#include <stdlib.h>

#define SWEEP_NS (100 * NS_PER_MS) /* between two sweeps */

struct grant {
	pod_id pod;
	uint32_t generation;
	uint64_t first_ns;
};

struct grants {
	struct grants_config config;
	struct grant *at; /* config.max of them, in no order */
	size_t n;
	uint64_t swept_ns;
};

struct grants *grants_new(const struct grants_config *config)
{
	struct grants *gs = must_alloc(sizeof(*gs));

	gs->config = *config;
	gs->at = must_array(config->max, sizeof(*gs->at));
	return gs;
}

void grants_free(struct grants *gs)
{
	if (!gs)
		return;
	free(gs->at);
	free(gs);
}

static uint64_t keep_ns(const struct grants *gs)
{
	return gs->config.keep_ms * NS_PER_MS;
}

static struct grant *grant_find(struct grants *gs, pod_id pod, uint32_t generation)
{
	for (size_t i = 0; i < gs->n; i++)
		if (gs->at[i].pod == pod && gs->at[i].generation == generation)
			return &gs->at[i];
	return NULL;
}

static void grant_remove(struct grants *gs, struct grant *g)
{
	*g = gs->at[--gs->n];
}

/* Removes those of pods that are bound or gone, and of which all times are over; the oldest of
 * which only the second one runs if there is none. */
static void sweep(struct grants *gs, uint64_t now)
{
	struct grant *oldest = NULL;
	struct pod_view pod;

	for (size_t i = gs->n; i > 0; i--) {
		struct grant *g = &gs->at[i - 1];

		if (now - g->first_ns >= 2 * keep_ns(gs) ||
		    !model_pod(gs->config.model, g->pod, g->generation, &pod) || pod.node[0])
			grant_remove(gs, g);
	}
	if (gs->n < gs->config.max)
		return;
	for (size_t i = 0; i < gs->n; i++)
		if (now - gs->at[i].first_ns >= keep_ns(gs) &&
		    (!oldest || gs->at[i].first_ns < oldest->first_ns))
			oldest = &gs->at[i];
	if (oldest)
		grant_remove(gs, oldest);
}

static bool has_space(struct grants *gs, uint64_t now)
{
	if (gs->n == gs->config.max && now - gs->swept_ns >= SWEEP_NS) {
		gs->swept_ns = now;
		sweep(gs, now);
	}
	return gs->n < gs->config.max;
}

uint32_t grants_ask(struct grants *gs, pod_id pod, uint32_t generation, bool *first,
                    enum unreserved *why)
{
	const uint64_t now = env_now(gs->config.env), keep = keep_ns(gs);
	struct grant *g = grant_find(gs, pod, generation);

	*first = false;
	if (g && now - g->first_ns < keep)
		return (uint32_t)((keep - (now - g->first_ns) + NS_PER_MS - 1) / NS_PER_MS);
	if (g && now - g->first_ns < 2 * keep) {
		*why = UNRESERVED_TIME;
		return 0;
	}
	if (!g && !has_space(gs, now)) {
		*why = UNRESERVED_LIMIT;
		return 0;
	}
	g = g ? g : &gs->at[gs->n++];
	*g = (struct grant){ pod, generation, now };
	*first = true;
	return gs->config.keep_ms;
}

void grants_withdraw(struct grants *gs, pod_id pod, uint32_t generation)
{
	struct grant *g = grant_find(gs, pod, generation);

	if (g)
		grant_remove(gs, g);
}
