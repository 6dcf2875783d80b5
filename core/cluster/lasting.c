/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/lasting.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

static_assert(RESOURCES_MAX % LASTING_COLUMNS == 0, "each resource has a place");

void lasting_init(struct lasting *l, const struct limits *limits)
{
	*l = (struct lasting){ .nodes = limits->nodes };
}

void lasting_free(struct lasting *l)
{
	for (uint32_t i = 0; i < RESOURCES_MAX / LASTING_COLUMNS; i++)
		free(l->sums[i]);
	*l = (struct lasting){ 0 };
}

void lasting_clear(struct lasting *l)
{
	const uint32_t nodes = l->nodes;

	lasting_free(l);
	l->nodes = nodes;
}

static wide *sum_of(struct lasting *l, node_id node, uint32_t resource)
{
	wide **sums = &l->sums[resource / LASTING_COLUMNS];

	if (!*sums)
		*sums = must_array((size_t)l->nodes * LASTING_COLUMNS, sizeof(**sums));
	return &(*sums)[(size_t)node * LASTING_COLUMNS + resource % LASTING_COLUMNS];
}

void lasting_add(struct lasting *l, node_id node, const struct shape *s)
{
	assert(node < l->nodes);
	l->any = true;
	for (uint32_t i = 0; i < s->sums_n; i++)
		*sum_of(l, node, s->requests[i].resource) += s->requests[i].value;
}

void lasting_remove(struct lasting *l, node_id node, const struct shape *s)
{
	assert(node < l->nodes);
	for (uint32_t i = 0; i < s->sums_n; i++) {
		wide *sum = sum_of(l, node, s->requests[i].resource);

		assert(*sum >= s->requests[i].value);
		*sum -= s->requests[i].value;
	}
	l->released++;
}
