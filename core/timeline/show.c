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

static void places_mark(struct timeline *t, const struct promise *p)
{
	for (uint32_t i = 0; i < p->places_n; i++)
		t->marks[p->places[i].node / 64] |= UINT64_C(1) << p->places[i].node % 64;
}

static void places_unmark(struct timeline *t, const struct promise *p)
{
	for (uint32_t i = 0; i < p->places_n; i++)
		t->marks[p->places[i].node / 64] = 0;
}

/* The last ends before the start, on its nodes: those are what it waits for. */
static void show_waits(struct timeline *t, const struct promise *p, struct promised *out)
{
	uint32_t n = 0;

	places_mark(t, p);
	for (uint32_t i = ends_until(t, p->at_ns); i > 0 && n < PROMISE_WAITS_MAX; i--) {
		const struct known_end *e = &t->ends[i - 1];

		if (!(t->marks[e->node / 64] >> e->node % 64 & 1))
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
	places_unmark(t, p);
	out->waits_n = n;
	for (uint32_t i = 0; i < n / 2; i++) {
		const struct promise_wait w = out->waits[i];

		out->waits[i] = out->waits[n - 1 - i];
		out->waits[n - 1 - i] = w;
	}
}

void promise_show(struct timeline *t, const struct promise *p, struct promised *out)
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
