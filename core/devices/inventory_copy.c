/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory of another core, for questions. */
#include "core/devices/inventory_impl.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* NULL of nothing. */
static void *copied(const void *from, size_t bytes)
{
	return from ? memcpy(must_alloc(bytes + 1), from, bytes) : NULL;
}

static struct counted *counted_copy(const struct counted *c, uint32_t devices_n)
{
	struct counted *to = copied(c, sizeof(*c) + devices_n * sizeof(c->devices[0]));

	if (!to)
		return NULL;
	to->pools = copied(c->pools, c->pools_n * sizeof(*c->pools));
	to->totals = copied(c->totals, c->counters_n * sizeof(*c->totals));
	to->uses = copied(c->uses, c->uses_n * sizeof(*c->uses));
	return to;
}

/* What claims have of it, or nothing; no holding has any. */
static struct shared *shared_copy(const struct shared *s, bool fresh)
{
	struct shared *to =
		copied(s, sizeof(*s) + (s ? s->capacities_n : 0) * sizeof(struct node_capacity));

	if (!to)
		return NULL;
	to->drawn = must_array(s->capacities_n + 1, sizeof(*s->drawn));
	for (uint32_t i = 0; i < s->capacities_n; i++) {
		struct node_capacity *c = &to->capacities[i];

		if (fresh)
			c->consumed_low = c->consumed_high = 0;
		to->drawn[i] = device_amount_of(c->consumed_low, c->consumed_high);
	}
	return to;
}

static struct match *match_copy(const struct match *m, const struct question *q,
                                const struct node_devices *n)
{
	const size_t sets = (size_t)2 * q->options_n * DEVICE_WORDS(n->devices_n) * sizeof(m->sets[0]);
	const size_t values = q->constraints_n * PADDED(n->devices_n * sizeof(uint32_t));
	struct match *to = copied(m, sizeof(*m) + sets + values);

	if (to && m->amounts)
		to->amounts = copied(m->amounts,
		                     (size_t)q->options_n * n->shared->capacities_n * sizeof(*m->amounts));
	return to;
}

static struct node_devices *node_copy(const struct inventory *v, const struct node_devices *n,
                                      bool fresh)
{
	struct node_devices *to = copied(n, sizeof(*n));

	to->holdings = NULL;
	to->holdings_n = to->holdings_cap = 0;
	to->counted = counted_copy(n->counted, n->devices_n);
	to->shared = shared_copy(n->shared, fresh);
	to->listed = listed_copy(n->listed);
	to->matches = must_array(n->matches_n + 1, sizeof(struct match *));
	for (uint32_t i = 0; i < n->matches_n; i++)
		to->matches[i] = match_copy(n->matches[i], &v->questions[i], n);
	if (fresh)
		memset(to->taken, 0, sizeof(to->taken));
	memcpy(to->used, to->taken, sizeof(to->used));
	to->version++; /* what matches remember is of what was held */
	return to;
}

struct inventory *inventory_copy(const struct inventory *v, const struct limits *limits)
{
	struct inventory *to = inventory_new(limits);

	assert(limits->nodes == v->nodes_n);
	to->commons = commons_copy(v->commons);
	for (uint32_t i = 0; i < v->nodes_n; i++)
		if (v->nodes[i])
			to->nodes[i] = node_copy(v, v->nodes[i], false);
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		const struct question *q = &v->questions[i];

		to->questions[i] = *q;
		to->questions[i].options = copied(q->options, q->options_n * sizeof(*q->options));
		to->questions[i].labels = copied(q->labels, q->options_n * sizeof(*q->labels));
		to->questions[i].constraints =
			copied(q->constraints, q->constraints_n * sizeof(*q->constraints));
	}
	return to;
}

void inventory_node_like(struct inventory *v, node_id like, node_id node)
{
	if (!v->nodes[like])
		return;
	inventory_node_drop(v, node);
	if (v->nodes[node]) {
		free(v->nodes[node]->holdings);
		free(v->nodes[node]);
	}
	v->nodes[node] = node_copy(v, v->nodes[like], true);
	for (uint32_t i = 0; i < v->nodes[node]->matches_n; i++)
		if (v->nodes[node]->matches[i])
			v->questions[i].commons_n += v->nodes[node]->matches[i]->common;
}
