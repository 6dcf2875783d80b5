/* SPDX-License-Identifier: Apache-2.0 */
/* Promises as observers and the frontend get them. */
#include "core/timeline/timeline_impl.h"

#include <string.h>

void promise_mark_told(struct timeline *t, uint32_t gang)
{
	struct promise *p = t->slots[gang] > 0 ? &t->promises[t->slots[gang] - 1] : NULL;

	if (!p || p->told)
		return;
	p->told = true;
	t->untold--;
}

const struct promise *promise_next_untold(struct timeline *t)
{
	for (uint32_t i = 0; t->untold > 0 && i < t->promises_n; i++) {
		struct promise *p = &t->promises[i];

		if (p->told)
			continue;
		p->told = true;
		t->untold--;
		return p;
	}
	return NULL;
}

static bool has_place(const struct promise *p, node_id node)
{
	for (uint32_t i = 0; i < p->places_n; i++)
		if (p->places[i].node == node)
			return true;
	return false;
}

/* The last ends before the start, on its nodes: those are what it waits for. */
static void show_waits(const struct timeline *t, const struct promise *p, struct promised *out)
{
	uint32_t n = 0, last = 0;

	while (last < t->ends_n && t->ends[last].end_ns <= p->at_ns)
		last++;
	for (uint32_t i = last; i > 0 && n < PROMISE_WAITS_MAX; i--) {
		const struct known_end *e = &t->ends[i - 1];

		if (!has_place(p, t->stays[e->pod].node))
			continue;
		if (t->stays[e->pod].soft)
			out->flags |= PROMISE_SOFT;
		if (n > 0 && out->waits[n - 1].who == t->stays[e->pod].gang)
			out->waits[n - 1].pods++;
		else
			out->waits[n++] = (struct promise_wait){ .end_ns = e->end_ns,
				                                     .who = t->stays[e->pod].gang,
				                                     .pods = 1 };
	}
	out->waits_n = n;
	for (uint32_t i = 0; i < n / 2; i++) {
		const struct promise_wait w = out->waits[i];

		out->waits[i] = out->waits[n - 1 - i];
		out->waits[n - 1 - i] = w;
	}
}

void promise_show(const struct timeline *t, const struct promise *p, struct promised *out)
{
	*out = (struct promised){ .at_ns = p->at_ns,
		                      .first_ns = p->first_ns,
		                      .earlier = p->earlier,
		                      .later = p->later,
		                      .moves_n = p->moves_n };
	memcpy(out->moves, p->moves, sizeof(out->moves));
	for (uint32_t i = 0; i < p->places_n; i++) {
		const node_id node = p->places[i].node;
		uint32_t k = 0;

		while (k < out->nodes_n && k < PROMISE_NODES_MAX && out->nodes[k] != node)
			k++;
		if (k < out->nodes_n && k < PROMISE_NODES_MAX)
			continue;
		if (out->nodes_n < PROMISE_NODES_MAX)
			out->nodes[out->nodes_n] = node;
		out->nodes_n++;
	}
	show_waits(t, p, out);
}
