/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/snapshot.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct audit *audit_new(uint32_t shapes_most)
{
	struct audit *a = must_alloc(sizeof(*a));

	a->cap = shapes_most + 1;
	a->requests_at = must_array(a->cap, sizeof(*a->requests_at));
	return a;
}

void audit_free(struct audit *a)
{
	if (a)
		free(a->requests_at);
	free(a);
}

static void requests_index(const struct snapshot *s, uint32_t *at)
{
	uint32_t i = 0;

	for (uint32_t row = 0; row <= s->shapes_n; row++) {
		while (i < s->requests_n && s->requests[i].shape < row)
			i++;
		at[row] = i;
	}
}

/* The row of a live shape; shapes_n: none. */
static uint32_t shape_row(const struct snapshot *s, shape_id shape)
{
	uint32_t low = 0, high = s->shapes_n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->shapes[middle] < shape)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->shapes_n && s->shapes[low] == shape ? low : s->shapes_n;
}

static void pods_sum(const struct snapshot *s, const struct snapshot_chunk *c, struct audit *a)
{
	const struct snapshot_pod *pods = chunk_pods(c);

	memset(a->taken, 0, sizeof(a->taken[0]) * c->resources);
	for (uint32_t i = 0; i < c->pods_n; i++) {
		const uint32_t row = shape_row(s, pods[i].shape);

		if (row == s->shapes_n)
			continue;
		for (uint32_t k = a->requests_at[row]; k < a->requests_at[row + 1]; k++)
			a->taken[s->requests[k].resource][pods[i].node] += s->requests[k].value;
	}
}

static bool chunk_audit(const struct snapshot_chunk *c, const struct audit *a,
                        struct audit_difference *d)
{
	for (uint32_t r = 0; r < c->resources; r++) {
		const int64_t *free_row = chunk_free(c, r), *allocatable = chunk_allocatable(c, r);

		for (uint32_t k = 0; k < CHUNK_NODES; k++) {
			if (!(c->present >> k & 1) || free_row[k] == allocatable[k] - a->taken[r][k])
				continue;
			*d = (struct audit_difference){ .node = k,
				                            .resource = r,
				                            .free = free_row[k],
				                            .recomputed = allocatable[k] - a->taken[r][k] };
			return false;
		}
	}
	return true;
}

bool snapshot_audit(const struct snapshot *s, uint32_t first, uint32_t step, struct audit *a,
                    struct audit_difference *difference)
{
	if (!s->exact || s->shapes_n >= a->cap)
		return true;
	requests_index(s, a->requests_at);
	for (uint32_t i = first; i < s->chunks_n; i += step) {
		pods_sum(s, s->chunks[i], a);
		if (chunk_audit(s->chunks[i], a, difference))
			continue;
		difference->node += i * CHUNK_NODES;
		return false;
	}
	return true;
}
