/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons and a message out of an evaluation of the core. */
#include "core/filter/evaluate.h"
#include "ctl/offline/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 600 /* of one reason: a resource's name has at most 400 */

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct verdict_node *)a)->name, ((const struct verdict_node *)b)->name);
}

struct verdict_node *verdict_nodes(const struct offline *o, size_t *n)
{
	uint32_t most = offline_ledger(o)->limits.nodes;
	struct verdict_node *nodes = must_array(most, sizeof(*nodes));

	*n = 0;
	for (node_id id = 0; id < most; id++) {
		const char *name = offline_node_name(o, id);

		if (name != NULL)
			nodes[(*n)++] = (struct verdict_node){ name, id };
	}
	qsort(nodes, *n, sizeof(*nodes), compare_nodes);
	return nodes;
}

/* The part with this text, which is added if there is none; counts it. */
static const char *count_part(struct verdict *v, const char *text, bool whole)
{
	size_t i = 0;

	while (i < v->parts_n && strcmp(v->parts[i].text, text) != 0)
		i++;
	if (i == v->parts_n) {
		v->parts = must_grow(v->parts, (i + 1) * sizeof(*v->parts));
		v->parts[i] = (struct reason_part){ .text = must_copy(text) };
		v->parts_n++;
	}
	v->parts[i].nodes += !whole;
	return v->parts[i].text;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_reason(struct verdict *v, struct node_verdict *n, const struct model *m,
                       uint32_t why, uint32_t arg)
{
	struct reason_names names = reason_names_of(m);
	char text[TEXT_BYTES];

	reason_node_text(why, arg, &names, text, sizeof(text));
	n->reasons = must_grow(n->reasons, (n->reasons_n + 1) * sizeof(*n->reasons));
	n->reasons[n->reasons_n++] = count_part(v, text, why == FILTER_CONFLICT);
}

static void add_reasons(struct verdict *v, struct node_verdict *n, const struct model *m,
                        const struct evaluation *j, node_id id)
{
	for (uint32_t why = FILTER_PASSED + 1; why < FILTER_REASONS; why++) {
		if (!(j->whys[id] & FILTER_BIT(why)))
			continue;
		if (why != FILTER_INSUFFICIENT) {
			add_reason(v, n, m, why, 0);
			continue;
		}
		for (uint32_t resource = 0; resource < RESOURCES_MAX; resource++)
			if (j->short_of[id] & UINT64_C(1) << resource)
				add_reason(v, n, m, why, resource);
		for (uint32_t i = 0; i < j->absent_n; i++)
			add_reason(v, n, m, why, j->absent[i].resource);
	}
	qsort(n->reasons, n->reasons_n, sizeof(*n->reasons), compare_texts);
}

static void refuse_node(struct verdict *v, struct node_verdict *n, const char *refusal)
{
	n->reasons = must_alloc(sizeof(*n->reasons));
	n->reasons[n->reasons_n++] = count_part(v, refusal, true);
}

static char *make_message(struct verdict *v)
{
	/* Sorts the parts; their texts do not move. */
	size_t n = reason_nodes_text((uint32_t)v->nodes_n, v->parts, v->parts_n, NULL, 0);
	char *text = must_array(n + 1, 1);

	reason_nodes_text((uint32_t)v->nodes_n, v->parts, v->parts_n, text, n + 1);
	return text;
}

void verdict_make(struct verdict *v, const struct offline *o, const struct pod_view *pod,
                  const struct evaluation *j, const struct verdict_node *nodes, size_t nodes_n)
{
	*v = (struct verdict){ .nodes = must_array(nodes_n, sizeof(*v->nodes)), .nodes_n = nodes_n };
	v->pod = ctl_print("%s/%s", pod->namespace, pod->name);
	for (size_t i = 0; i < nodes_n; i++) {
		struct node_verdict *n = &v->nodes[i];

		n->node = nodes[i].name;
		if (j == NULL) {
			refuse_node(v, n, pod->refusal);
		} else if (j->whys[nodes[i].id] == 0) {
			n->feasible = true;
			n->score = j->scores[nodes[i].id];
			v->feasible_n++;
		} else {
			add_reasons(v, n, offline_model(o), j, nodes[i].id);
		}
	}
	if (v->feasible_n == 0)
		v->message = make_message(v);
}

void verdict_free(struct verdict *v)
{
	for (size_t i = 0; i < v->nodes_n; i++)
		free(v->nodes[i].reasons);
	for (size_t i = 0; i < v->parts_n; i++)
		free((char *)(uintptr_t)v->parts[i].text);
	free(v->nodes);
	free(v->parts);
	free(v->pod);
	free(v->message);
}
