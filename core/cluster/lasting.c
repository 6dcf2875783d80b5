/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/lasting.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE_STEP 4u

void lasting_init(struct lasting *l, const struct limits *limits)
{
	*l = (struct lasting){ .nodes = limits->nodes };
}

void lasting_free(struct lasting *l)
{
	free(l->sums);
	*l = (struct lasting){ 0 };
}

void lasting_clear(struct lasting *l)
{
	free(l->sums);
	*l = (struct lasting){ .nodes = l->nodes };
}

/* Extends the rows to the resources of the shape. */
static void reach(struct lasting *l, const struct shape *s)
{
	uint32_t stride = l->stride;
	wide *sums;

	for (uint32_t i = 0; i < s->sums_n; i++)
		while (s->requests[i].resource >= stride)
			stride += STRIDE_STEP;
	if (stride == l->stride)
		return;
	sums = must_array((size_t)l->nodes * stride, sizeof(*sums));
	for (node_id id = 0; id < l->nodes && l->stride > 0; id++)
		memcpy(&sums[(size_t)id * stride], &l->sums[(size_t)id * l->stride],
		       l->stride * sizeof(*sums));
	free(l->sums);
	l->sums = sums;
	l->stride = stride;
}

void lasting_add(struct lasting *l, node_id node, const struct shape *s)
{
	assert(node < l->nodes);
	reach(l, s);
	for (uint32_t i = 0; i < s->sums_n; i++)
		l->sums[(size_t)node * l->stride + s->requests[i].resource] += s->requests[i].value;
}

void lasting_remove(struct lasting *l, node_id node, const struct shape *s)
{
	assert(node < l->nodes);
	for (uint32_t i = 0; i < s->sums_n; i++) {
		wide *sum = &l->sums[(size_t)node * l->stride + s->requests[i].resource];

		assert(*sum >= s->requests[i].value);
		*sum -= s->requests[i].value;
	}
	l->released++;
}
