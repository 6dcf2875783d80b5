/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/columns.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static_assert(sizeof(struct columns_step) % 32 == 0, "vectors of a step are aligned");

static size_t blocks_of(uint32_t nodes)
{
	return (nodes + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
}

static size_t steps_bytes(uint32_t nodes)
{
	return blocks_of(nodes) * (COLUMN_BLOCK / COLUMN_LANES) * sizeof(struct columns_step);
}

void columns_init(struct columns *c, const struct limits *limits)
{
	*c = (struct columns){ .most = limits->pods,
		                   .order_version = UINT64_MAX,
		                   .first = must_array(blocks_of(limits->nodes), sizeof(*c->first)) };
	c->steps = must_lines(steps_bytes(limits->nodes), &c->memory);
}

void columns_free(struct columns *c)
{
	free(c->memory);
	free(c->first);
	*c = (struct columns){ 0 };
}

static double positive(double amount)
{
	return amount > 0 ? amount : 0;
}

static bool is_exact(const struct node_fit *f)
{
	return fit_exact(f) && f->cpu < COLUMN_MOST && f->memory >= COLUMN_UNIT &&
	       f->memory < COLUMN_MOST * COLUMN_UNIT && f->pods_left < COLUMN_PODS;
}

static void node_set(const struct columns *c, uint32_t rank, const struct node_fit *f)
{
	struct columns_step *s = &c->steps[rank / COLUMN_LANES];
	const uint32_t lane = rank % COLUMN_LANES;
	double pods;

	if (!is_exact(f)) {
		s->cpu_free[lane] = s->memory_free[lane] = COLUMN_MOST;
		s->cpu_left[lane] = s->memory_left[lane] = 0;
		s->cpu_share[lane] = 0;
		s->memory_share[lane] = COLUMN_UNSURE;
		s->others[lane] = 1;
		return;
	}
	pods = positive(f->pods_left < c->most ? f->pods_left : c->most);
	s->cpu_free[lane] = (float)positive(f->cpu - f->cpu_used);
	s->memory_free[lane] = (float)(uint32_t)positive((f->memory - f->memory_used) / COLUMN_UNIT);
	s->cpu_left[lane] = (float)positive((f->cpu - f->cpu_scored) * 100 / f->cpu);
	s->memory_left[lane] = (float)positive((f->memory - f->memory_scored) * 100 / f->memory);
	s->cpu_share[lane] = (float)(100 / f->cpu);
	s->memory_share[lane] = (float)(100 / f->memory * COLUMN_UNIT);
	s->others[lane] = (uint32_t)pods | (COLUMN_EVEN - (uint32_t)f->balance) << COLUMN_BALANCE;
}

static uint32_t first_of(const node_id *ids, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (ids[i] != ids[0] + i)
			return ID_NONE;
	return ids[0];
}

static void compute_all(struct columns *c, const struct nodes *ns)
{
	memset(c->steps, 0, steps_bytes(ns->count));
	for (uint32_t rank = 0; rank < ns->count; rank++)
		node_set(c, rank, &ns->fits[ns->order[rank]]);
	for (uint32_t rank = 0; rank < ns->count; rank += COLUMN_BLOCK)
		c->first[rank / COLUMN_BLOCK] = first_of(
			&ns->order[rank], ns->count - rank < COLUMN_BLOCK ? ns->count - rank : COLUMN_BLOCK);
}

void columns_follow(struct columns *c, const struct nodes *ns)
{
	if (c->order_version != ns->order_version || ns->log_n - c->position > NODE_LOG) {
		compute_all(c, ns);
		c->order_version = ns->order_version;
		c->position = ns->log_n;
		return;
	}
	for (; c->position < ns->log_n; c->position++) {
		const node_id id = ns->log[c->position % NODE_LOG];

		if (id != ID_NONE)
			node_set(c, ns->ranks[id], &ns->fits[id]);
	}
}
