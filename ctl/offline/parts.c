/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/parts.h"

#include "core/filter/evaluate.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 600 /* of one reason: a resource's name has at most 400 */

const char *parts_count(struct parts *p, const char *text, bool whole)
{
	size_t i = 0;

	while (i < p->n && strcmp(p->at[i].text, text) != 0)
		i++;
	if (i == p->n) {
		p->at = must_grow(p->at, (i + 1) * sizeof(*p->at));
		p->at[i] = (struct reason_part){ .text = must_copy(text) };
		p->n++;
	}
	p->at[i].nodes += !whole;
	return p->at[i].text;
}

struct counting {
	struct parts *parts;
	const struct reason_names *names;
	void (*each)(void *context, const char *text);
	void *context;
};

static void count_reason(const struct counting *c, uint32_t why, uint32_t arg)
{
	char text[TEXT_BYTES];
	const char *kept;

	reason_node_text(why, arg, c->names, text, sizeof(text));
	kept = parts_count(c->parts, text, why == FILTER_CONFLICT);
	if (c->each != NULL)
		c->each(c->context, kept);
}

static void count_resources(const struct counting *c, const struct evaluation *e, node_id node)
{
	for (uint32_t resource = 0; resource < RESOURCES_MAX; resource++)
		if (e->short_of[node] & UINT64_C(1) << resource)
			count_reason(c, FILTER_INSUFFICIENT, resource);
	for (uint32_t i = 0; i < e->absent_n; i++)
		count_reason(c, FILTER_INSUFFICIENT, e->absent[i].resource);
}

void parts_count_node(struct parts *p, const struct reason_names *names, const struct evaluation *e,
                      node_id node, void (*each)(void *context, const char *text), void *context)
{
	const struct counting c = { .parts = p, .names = names, .each = each, .context = context };

	for (uint32_t why = FILTER_PASSED + 1; why < FILTER_REASONS; why++) {
		if (!(e->whys[node] & FILTER_BIT(why)))
			continue;
		if (why == FILTER_INSUFFICIENT)
			count_resources(&c, e, node);
		else
			count_reason(&c, why, 0);
	}
}

char *parts_message(struct parts *p, size_t nodes)
{
	/* Sorts the parts; their texts do not move. */
	size_t n = reason_nodes_text((uint32_t)nodes, p->at, p->n, NULL, 0);
	char *text = must_array(n + 1, 1);

	reason_nodes_text((uint32_t)nodes, p->at, p->n, text, n + 1);
	return text;
}

void parts_free(struct parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		free((char *)(uintptr_t)p->at[i].text);
	free(p->at);
	*p = (struct parts){ 0 };
}
