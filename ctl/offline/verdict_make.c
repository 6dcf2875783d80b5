/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons and a message out of an evaluation of the core. */
#include "core/filter/evaluate.h"
#include "ctl/offline/claims.h"
#include "ctl/offline/devices_json.h"
#include "ctl/offline/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct verdict_node *)a)->name, ((const struct verdict_node *)b)->name);
}

void verdict_nodes_sort(struct verdict_node *nodes, size_t n)
{
	qsort(nodes, n, sizeof(*nodes), compare_nodes);
}

struct verdict_node *verdict_nodes(const struct offline *o, size_t *n)
{
	uint32_t most = offline_ledger(o)->limits.nodes;
	struct verdict_node *nodes = must_array(most, sizeof(*nodes));

	*n = 0;
	for (node_id id = 0; id < most; id++) {
		const char *name = offline_node_name(o, id);

		if (name != NULL)
			nodes[(*n)++] = (struct verdict_node){ .name = name, .id = id };
	}
	verdict_nodes_sort(nodes, *n);
	return nodes;
}

static void add_reason(void *context, const char *text)
{
	struct node_verdict *n = context;

	n->reasons = must_grow(n->reasons, (n->reasons_n + 1) * sizeof(*n->reasons));
	n->reasons[n->reasons_n++] = text;
}

static void refuse_node(struct verdict *v, struct node_verdict *n, const char *refusal)
{
	n->reasons = must_alloc(sizeof(*n->reasons));
	n->reasons[n->reasons_n++] = parts_count(&v->parts, refusal, true);
}

void verdict_fill(struct verdict *v, char *pod, const struct reason_names *names,
                  struct claims *claims, const char *refusal, const struct evaluation *j,
                  const struct verdict_node *nodes, size_t nodes_n)
{
	*v = (struct verdict){ .pod = pod,
		                   .nodes = must_array(nodes_n, sizeof(*v->nodes)),
		                   .nodes_n = nodes_n };
	for (size_t i = 0; i < nodes_n; i++) {
		struct node_verdict *n = &v->nodes[i];

		n->node = nodes[i].name;
		n->binding = nodes[i].binding;
		n->nominated = nodes[i].nominated;
		if (j == NULL) {
			refuse_node(v, n, refusal);
		} else if (nodes[i].held != NULL) {
			add_reason(n, parts_count(&v->parts, nodes[i].held, false));
		} else if (j->whys[nodes[i].id] == 0) {
			n->feasible = true;
			n->score = j->scores[nodes[i].id];
			v->feasible_n++;
			if (claims != NULL)
				n->devices = devices_json(claims_on(claims, nodes[i].id));
		} else {
			parts_count_node(&v->parts, names, j, nodes[i].id, add_reason, n);
			qsort(n->reasons, n->reasons_n, sizeof(*n->reasons), ctl_compare_texts);
		}
	}
	if (v->feasible_n == 0)
		v->message = parts_message(&v->parts, nodes_n);
}

void verdict_make(struct verdict *v, const struct offline *o, const struct pod_view *pod,
                  const struct evaluation *j, const struct verdict_node *nodes, size_t nodes_n)
{
	const struct reason_names names = reason_names_of(offline_model(o));
	struct claims *claims = offline_claims(o);
	char *name = ctl_print("%s/%s", pod->namespace, pod->name);

	if (j != NULL && claims != NULL && claims_error(claims) != NULL)
		*v = (struct verdict){ .pod = name, .error = must_copy(claims_error(claims)) };
	else
		verdict_fill(v, name, &names, claims, pod->refusal, j, nodes, nodes_n);
}

void verdict_free(struct verdict *v)
{
	for (size_t i = 0; i < v->nodes_n; i++) {
		free(v->nodes[i].reasons);
		cJSON_Delete(v->nodes[i].devices);
	}
	parts_free(&v->parts);
	free(v->nodes);
	free(v->pod);
	free(v->message);
	free(v->error);
}
