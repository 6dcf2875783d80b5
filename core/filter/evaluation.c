/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/evaluation.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

void evaluation_init(struct evaluation *out, const struct limits *limits, bool parts)
{
	const size_t nodes = limits->nodes;
	struct evaluate_scratch *s = must_alloc(sizeof(*s));

	*out = (struct evaluation){ .limit = limits->nodes, .scratch = s };
	out->whys = must_array(nodes, sizeof(*out->whys));
	out->taint = must_array(nodes, sizeof(*out->taint));
	out->short_of = must_array(nodes, sizeof(*out->short_of));
	out->scores = must_array(nodes, sizeof(*out->scores));
	out->parts = parts ? must_array(nodes * SCORE_PARTS, sizeof(*out->parts)) : NULL;
	s->sums = must_array(nodes, sizeof(*s->sums));
	s->counted = must_array(nodes, sizeof(*s->counted));
	s->facts = must_array(nodes, sizeof(*s->facts));
	s->marks = must_array(nodes, sizeof(*s->marks));
	s->raw = must_array(nodes, sizeof(*s->raw));
	s->real = must_array(nodes, sizeof(*s->real));
}

void evaluation_free(struct evaluation *out)
{
	struct evaluate_scratch *s = out->scratch;

	free(out->whys);
	free(out->taint);
	free(out->short_of);
	free(out->scores);
	free(out->parts);
	if (s) {
		free(s->sums);
		free(s->counted);
		free(s->facts);
		free(s->marks);
		free(s->raw);
		free(s->real);
		free(s);
	}
	*out = (struct evaluation){ 0 };
}

/* noderesources.Fit, with at least one node. */
static uint32_t count_short(const struct evaluation *e, const uint32_t short_of[RESOURCES_MAX],
                            uint32_t nodes, struct filter_count *out)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		if (short_of[r] > 0)
			out[n++] =
				(struct filter_count){ .why = FILTER_INSUFFICIENT, .arg = r, .nodes = short_of[r] };
	for (uint32_t i = 0; i < e->absent_n && i < RESOURCES_MAX; i++)
		out[n++] = (struct filter_count){ .why = FILTER_INSUFFICIENT,
			                              .arg = e->absent[i].resource,
			                              .nodes = nodes };
	return n;
}

static void count_node(const struct evaluation *e, node_id id, uint32_t whys[FILTER_REASONS],
                       uint32_t short_of[RESOURCES_MAX])
{
	for (uint32_t bits = e->whys[id]; bits; bits &= bits - 1)
		whys[__builtin_ctz(bits)]++;
	if (!(e->whys[id] & FILTER_BIT(FILTER_INSUFFICIENT)))
		return;
	for (uint64_t bits = e->short_of[id]; bits; bits &= bits - 1)
		short_of[__builtin_ctzll(bits)]++;
}

uint32_t evaluation_counts(const struct evaluation *e, const struct nodes *ns,
                           struct filter_count *out)
{
	uint32_t whys[FILTER_REASONS] = { 0 }, short_of[RESOURCES_MAX] = { 0 }, n = 0;

	assert(ns->used <= e->limit);
	if (e->whole != FILTER_PASSED) {
		out[0] = (struct filter_count){ .why = e->whole };
		return 1;
	}
	for (node_id id = 0; id < ns->used; id++)
		if (node_present(&ns->slots[id]))
			count_node(e, id, whys, short_of);
	for (uint32_t why = 0; why < FILTER_REASONS; why++) {
		if (whys[why] == 0)
			continue;
		if (why == FILTER_INSUFFICIENT)
			n += count_short(e, short_of, whys[why], out + n);
		else
			out[n++] = (struct filter_count){ .why = why, .nodes = whys[why] };
	}
	return n;
}
