/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/grants.h"

#include "frontend/base/log.h"
#include "frontend/journal/journal.h"

#include <stdlib.h>
#include <string.h>

#define SWEEP_NS (100 * NS_PER_MS) /* between two sweeps that questions cause */
#define LOOK_NS NS_PER_S           /* ... and without questions, while a node is reserved */

struct grant {
	pod_id pod;
	uint32_t generation;
	uint64_t first_ns;
	node_id node; /* reserved; ID_NONE: none */
	uint32_t node_generation;
	struct intent *line; /* that says so; NULL: none */
	bool kept;           /* the model has it, for new cores */
};

struct grants {
	struct grants_config config;
	struct grant *at; /* in no order */
	size_t n, cap;
	size_t placed; /* with a node */
	uint64_t swept_ns;
};

struct grants *grants_new(const struct grants_config *config)
{
	struct grants *gs = must_alloc(sizeof(*gs));

	gs->config = *config;
	gs->cap = config->max;
	gs->at = must_array(gs->cap, sizeof(*gs->at));
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

static uint32_t left_ms(const struct grants *gs, const struct grant *g, uint64_t now)
{
	return (uint32_t)((keep_ns(gs) - (now - g->first_ns) + NS_PER_MS - 1) / NS_PER_MS);
}

static struct grant *grant_find(struct grants *gs, pod_id pod, uint32_t generation)
{
	for (size_t i = 0; i < gs->n; i++)
		if (gs->at[i].pod == pod && gs->at[i].generation == generation)
			return &gs->at[i];
	return NULL;
}

/* No node is reserved for it any more. */
static void grant_unplace(struct grants *gs, struct grant *g)
{
	gs->placed -= g->node != ID_NONE;
	g->node = ID_NONE;
	if (g->line)
		journal_remove(gs->config.journal, g->line);
	g->line = NULL;
	if (g->kept)
		model_bind_end(gs->config.model, g->pod, g->generation);
	g->kept = false;
}

static void grant_remove(struct grants *gs, struct grant *g)
{
	grant_unplace(gs, g);
	*g = gs->at[--gs->n];
}

/* Removes those of pods that are bound or gone, and of which all times are over, and the nodes of
 * those whose first one is. */
static void sweep(struct grants *gs, uint64_t now)
{
	struct pod_view pod;

	gs->swept_ns = now;
	for (size_t i = gs->n; i > 0; i--) {
		struct grant *g = &gs->at[i - 1];

		if (now - g->first_ns >= 2 * keep_ns(gs) ||
		    !model_pod(gs->config.model, g->pod, g->generation, &pod) || pod.node[0])
			grant_remove(gs, g);
		else if (now - g->first_ns >= keep_ns(gs))
			grant_unplace(gs, g);
	}
}

/* Removes the oldest of which only the second time runs. */
static void give_way(struct grants *gs, uint64_t now)
{
	struct grant *oldest = NULL;

	for (size_t i = 0; i < gs->n; i++)
		if (now - gs->at[i].first_ns >= keep_ns(gs) &&
		    (!oldest || gs->at[i].first_ns < oldest->first_ns))
			oldest = &gs->at[i];
	if (oldest)
		grant_remove(gs, oldest);
}

/* A write has all lines, so those that are over go before one is added. */
static bool has_space(struct grants *gs, uint64_t now)
{
	if (now - gs->swept_ns >= SWEEP_NS)
		sweep(gs, now);
	if (gs->n >= gs->config.max)
		give_way(gs, now);
	return gs->n < gs->config.max;
}

uint32_t grants_ask(struct grants *gs, pod_id pod, uint32_t generation, bool *first,
                    enum unreserved *why)
{
	const uint64_t now = env_now(gs->config.env), keep = keep_ns(gs);
	struct grant *g = grant_find(gs, pod, generation);

	*first = false;
	*why = UNRESERVED_JOURNAL;
	if (gs->config.journal && !journal_takes_assumed(gs->config.journal))
		return 0;
	if (g && now - g->first_ns < keep)
		return left_ms(gs, g, now);
	*why = UNRESERVED_TIME;
	if (g && now - g->first_ns < 2 * keep)
		return 0;
	*why = UNRESERVED_LIMIT;
	if (g)
		grant_remove(gs, g);
	if (!has_space(gs, now))
		return 0;
	gs->at[gs->n++] = (struct grant){ pod, generation, now, .node = ID_NONE };
	*first = true;
	return gs->config.keep_ms;
}

void grants_withdraw(struct grants *gs, pod_id pod, uint32_t generation)
{
	struct grant *g = grant_find(gs, pod, generation);

	if (g)
		grant_remove(gs, g);
}

/* NULL if the pod is gone. */
static struct intent *line_add(struct grants *gs, const struct grant *g, const char *node)
{
	const char *node_uid = model_node_uid(gs->config.model, g->node);
	struct intent_line line = {
		.kind = INTENT_ASSUME, .node = node, .node_uid = *node_uid ? node_uid : "-", .version = "-"
	};
	struct pod_view pod;

	if (!model_pod(gs->config.model, g->pod, g->generation, &pod))
		return NULL;
	line.uid = pod.uid;
	return journal_add(gs->config.journal, &line);
}

void grants_place(struct grants *gs, pod_id pod, uint32_t generation, node_id node,
                  uint32_t node_generation)
{
	const char *name = node != ID_NONE ? model_node(gs->config.model, node, node_generation) : NULL;
	struct grant *g = grant_find(gs, pod, generation);

	if (!g || (name && g->node == node && g->node_generation == node_generation))
		return;
	grant_unplace(gs, g);
	if (!name)
		return;
	g->node = node;
	g->node_generation = node_generation;
	gs->placed++;
	if (gs->config.journal)
		g->line = line_add(gs, g, name);
}

enum grant_line grants_line(struct grants *gs, pod_id pod, uint32_t generation)
{
	const struct grant *g = grant_find(gs, pod, generation);

	if (!g || !g->line || intent_is_durable(gs->config.journal, g->line))
		return GRANT_DURABLE;
	return journal_fault(gs->config.journal) ? GRANT_FAILS : GRANT_WAITS;
}

/* The model tells each new core. */
static void grant_keep(struct grants *gs, struct grant *g, uint32_t ms)
{
	model_keep(gs->config.model, g->pod, g->generation, g->node, ms);
	g->kept = true;
}

void grants_adopt(struct grants *gs, struct intent *line, pod_id pod, uint32_t generation)
{
	const char *name = intent_line(line)->node;
	const node_id node =
		model_node_id(gs->config.model, (struct text){ .at = name, .bytes = strlen(name) });
	struct grant *g;

	if (node == ID_NONE || grant_find(gs, pod, generation)) {
		journal_remove(gs->config.journal, line);
		return;
	}
	if (gs->n == gs->cap) {
		gs->cap += gs->cap;
		gs->at = must_grow(gs->at, gs->cap * sizeof(*gs->at));
	}
	g = &gs->at[gs->n++];
	*g = (struct grant){ .pod = pod,
		                 .generation = generation,
		                 .first_ns = env_now(gs->config.env),
		                 .node = node,
		                 .node_generation = model_node_generation(gs->config.model, node),
		                 .line = line };
	gs->placed++;
	grant_keep(gs, g, gs->config.keep_ms);
}

void grants_core_up(struct grants *gs)
{
	const uint64_t now = env_now(gs->config.env);

	if (gs->placed == 0)
		return;
	sweep(gs, now);
	for (size_t i = 0; i < gs->n; i++) {
		struct grant *g = &gs->at[i];

		if (g->node == ID_NONE)
			continue;
		if (model_node(gs->config.model, g->node, g->node_generation))
			grant_keep(gs, g, left_ms(gs, g, now));
		else
			grant_unplace(gs, g);
	}
}

uint64_t grants_poll(struct grants *gs)
{
	const uint64_t now = env_now(gs->config.env);

	if (gs->placed == 0)
		return NEVER_NS;
	if (now - gs->swept_ns >= LOOK_NS)
		sweep(gs, now);
	return gs->placed > 0 ? gs->swept_ns + LOOK_NS : NEVER_NS;
}
