/* SPDX-License-Identifier: Apache-2.0 */
/* /node.json: one node, its resources, labels, taints and pods. */
#include "frontend/page/answer_impl.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_SHOWN 64u

struct pods {
	struct jsonout *out;
	uint64_t wall_ns;
	size_t n, told;
};

static void add_pod(void *context, const struct pod_view *pod)
{
	struct pods *p = context;

	p->n++;
	if (p->told >= ANSWER_ON_NODE)
		return;
	jsonout_add(p->out,
	            p->told++ > 0 ? ",\n{\"namespace\":@s,\"pod\":@s,\"gang\":@s,\"stage\":@s,"
	                            "\"scheduler\":@s"
	                          : "{\"namespace\":@s,\"pod\":@s,\"gang\":@s,\"stage\":@s,"
	                            "\"scheduler\":@s",
	            pod->namespace, pod->name, pod->gang, answer_stage(pod), pod->scheduler_name);
	answer_number(p->out, ",\"priority\":@r", pod->priority);
	jsonout_add(p->out, ",\"age_s\":@u}", (ull)answer_since_s(pod->created_ns, p->wall_ns));
}

static void add_resources(const struct observer *o, const struct node_view *n, struct jsonout *out)
{
	char name[OBSERVE_NAME_MAX];
	bool first = true;

	jsonout_add(out, ",\"resources\":[");
	for (uint32_t r = 0; r < o->places.limits.resources; r++) {
		if (n->allocatable[r] == 0 && n->used[r] == 0)
			continue;
		jsonout_add(out, first ? "{\"name\":@s" : ",{\"name\":@s", observe_name(o, r, name));
		answer_number(out, ",\"used\":@r", n->used[r]);
		answer_number(out, ",\"allocatable\":@r}", n->allocatable[r]);
		first = false;
	}
	jsonout_add(out, "]");
}

static void add_labels(const struct model *m, node_id id, struct jsonout *out)
{
	static const char *const effects[] = { [EFFECT_NO_SCHEDULE] = "NoSchedule",
		                                   [EFFECT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
		                                   [EFFECT_NO_EXECUTE] = "NoExecute" };
	const struct label *labels = NULL;
	const struct taint *taints = NULL;
	const uint32_t n = model_node_labels(m, id, &labels),
				   taints_n = model_node_taints(m, id, &taints);
	bool first = true;

	jsonout_add(out, ",\"labels\":[");
	for (uint32_t i = 0; i < n && i < LABELS_SHOWN; i++) {
		if (labels[i].key == LABEL_KEY_NODE_NAME)
			continue;
		jsonout_add(out, first ? "[@s,@s]" : ",[@s,@s]", model_key_text(m, labels[i].key),
		            model_value_text(m, labels[i].value));
		first = false;
	}
	jsonout_add(out, "],\"taints\":[");
	for (uint32_t i = 0; i < taints_n && i < LABELS_SHOWN; i++)
		jsonout_add(out, i > 0 ? ",[@s,@s]" : "[@s,@s]", model_name(m, taints[i].name),
		            taints[i].effect > EFFECT_ANY && taints[i].effect <= EFFECT_NO_EXECUTE
		                ? effects[taints[i].effect]
		                : "");
	jsonout_add(out, "]");
}

static node_id find(const struct observer *o, const char *name, struct node_view *out)
{
	for (node_id id = 0, there = observe_nodes_there(o); id < there; id++)
		if (observe_node(o, id, out) && strcmp(out->name, name) == 0)
			return id;
	return ID_NONE;
}

bool answer_node(const struct answer_source *s, const struct question *q, struct jsonout *out)
{
	struct node_view *n = must_alloc(sizeof(*n));
	const node_id id = s->ledger ? find(s->ledger, q->name, n) : ID_NONE;
	struct pods pods = { .out = out, .wall_ns = s->wall_ns };

	if (id != ID_NONE) {
		jsonout_add(out, "{\"node\":@s,\"present\":@r,\"cordoned\":@r", n->name,
		            n->flags & NODE_PRESENT ? "true" : "false",
		            n->flags & NODE_CORDONED ? "true" : "false");
		add_resources(s->ledger, n, out);
		add_labels(s->model, model_node_id(s->model, text_of(n->name)), out);
		jsonout_add(out, ",\"pods\":[");
		model_node_pods(s->model, id, add_pod, &pods);
		jsonout_add(out, "],\"pods_n\":@u}\n", (ull)pods.n);
	}
	free(n);
	return id != ID_NONE;
}
