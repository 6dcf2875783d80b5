/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(struct digest_step) % 32 == 0, "vectors of a step are aligned");

static size_t steps_bytes(uint32_t nodes)
{
	const size_t blocks = (nodes + DIGEST_BLOCK - 1) / DIGEST_BLOCK;

	return blocks * (DIGEST_BLOCK / DIGEST_LANES) * sizeof(struct digest_step);
}

int digest_init(struct digest *d, const struct limits *limits)
{
	const size_t blocks = (limits->nodes + DIGEST_BLOCK - 1) / DIGEST_BLOCK;

	*d = (struct digest){ .most = limits->pods,
		                  .order_version = UINT64_MAX,
		                  .steps = aligned_alloc(CACHE_LINE, steps_bytes(limits->nodes)),
		                  .first = malloc(blocks * sizeof(*d->first)) };
	if (d->steps && d->first)
		return 0;
	digest_free(d);
	return -ENOMEM;
}

void digest_free(struct digest *d)
{
	free(d->steps);
	free(d->first);
	*d = (struct digest){ 0 };
}

static double positive(double room)
{
	return room > 0 ? room : 0;
}

static bool is_exact(const struct node_fit *f)
{
	return fit_exact(f) && f->cpu < DIGEST_MOST && f->memory >= DIGEST_UNIT &&
	       f->memory < DIGEST_MOST * DIGEST_UNIT && f->pods_left < DIGEST_PODS;
}

static void node_set(const struct digest *d, uint32_t rank, const struct node_fit *f)
{
	struct digest_step *s = &d->steps[rank / DIGEST_LANES];
	const uint32_t lane = rank % DIGEST_LANES;
	double pods;

	if (!is_exact(f)) {
		s->cpu_room[lane] = s->memory_room[lane] = DIGEST_MOST;
		s->cpu_left[lane] = s->memory_left[lane] = 0;
		s->cpu_share[lane] = 0;
		s->memory_share[lane] = DIGEST_UNSURE;
		s->others[lane] = 1;
		return;
	}
	pods = positive(f->pods_left < d->most ? f->pods_left : d->most);
	s->cpu_room[lane] = (float)positive(f->cpu - f->cpu_used);
	s->memory_room[lane] = (float)(uint32_t)positive((f->memory - f->memory_used) / DIGEST_UNIT);
	s->cpu_left[lane] = (float)positive((f->cpu - f->cpu_scored) * 100 / f->cpu);
	s->memory_left[lane] = (float)positive((f->memory - f->memory_scored) * 100 / f->memory);
	s->cpu_share[lane] = (float)(100 / f->cpu);
	s->memory_share[lane] = (float)(100 / f->memory * DIGEST_UNIT);
	s->others[lane] = (uint32_t)pods | (DIGEST_EVEN - (uint32_t)f->balance) << DIGEST_BALANCE;
}

static uint32_t first_of(const node_id *ids, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (ids[i] != ids[0] + i)
			return ID_NONE;
	return ids[0];
}

static void work_out(struct digest *d, const struct nodes *ns)
{
	memset(d->steps, 0, steps_bytes(ns->limit));
	for (uint32_t rank = 0; rank < ns->count; rank++)
		node_set(d, rank, &ns->fits[ns->order[rank]]);
	for (uint32_t rank = 0; rank < ns->count; rank += DIGEST_BLOCK)
		d->first[rank / DIGEST_BLOCK] = first_of(
			&ns->order[rank], ns->count - rank < DIGEST_BLOCK ? ns->count - rank : DIGEST_BLOCK);
}

void digest_follow(struct digest *d, const struct nodes *ns)
{
	if (d->order_version != ns->order_version || ns->log_n - d->position > NODE_LOG) {
		work_out(d, ns);
		d->order_version = ns->order_version;
		d->position = ns->log_n;
		return;
	}
	for (; d->position < ns->log_n; d->position++) {
		const node_id id = ns->log[d->position % NODE_LOG];

		if (id != ID_NONE)
			node_set(d, ns->ranks[id], &ns->fits[id]);
	}
}
