/* SPDX-License-Identifier: Apache-2.0 */
/* Who is nominated: in the model, which tells the next core, and in the journal, which tells the
 * next instance before status.nominatedNodeName is written. */
#include "frontend/evict/evictor_impl.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS NS_PER_S
#define LAPSE_NS (30 * NS_PER_S)
/* Members in the journal; of more the objects alone tell. */
#define NOMINATED_MAX 2048u

static void forget(struct evictor *e, pod_id pod)
{
	struct nomination *n = &e->nominations[pod];

	if (n->generation == 0)
		return;
	if (n->intent)
		journal_remove(e->config.journal, n->intent);
	*n = (struct nomination){ 0 };
	e->nominated--;
}

static struct nomination *reach(struct evictor *e, pod_id pod)
{
	e->nominations =
		must_reach(e->nominations, &e->nominations_n, pod, 1024, sizeof(*e->nominations));
	forget(e, pod);
	return &e->nominations[pod];
}

static void keep(struct evictor *e, pod_id pod, const struct nomination *n)
{
	*reach(e, pod) = *n;
	e->nominated++;
}

static struct intent *line_add(struct evictor *e, const struct pod_view *pod, node_id node,
                               const char *name)
{
	const char *node_uid = model_node_uid(e->config.model, node);
	const struct intent_line line = { .kind = INTENT_NOMINATE,
		                              .uid = pod->uid,
		                              .node = name,
		                              .node_uid = *node_uid ? node_uid : "-",
		                              .version = "-" };

	if (!e->config.journal || e->nominated >= NOMINATED_MAX)
		return NULL;
	return journal_add(e->config.journal, &line);
}

void evictor_nominate(struct evictor *e, const struct cmd_nominate *cmd)
{
	struct model *m = e->config.model;
	const char *name = cmd->node != ID_NONE ? model_node(m, cmd->node, cmd->node_generation) : NULL;
	struct pod_view pod;

	if (cmd->pod < e->nominations_n)
		forget(e, cmd->pod);
	if (!model_pod(m, cmd->pod, cmd->pod_generation, &pod))
		return;
	model_nominate(m, cmd->pod, cmd->pod_generation, name);
	if (!name)
		return;
	keep(e, cmd->pod,
	     &(struct nomination){ .generation = cmd->pod_generation,
	                           .intent = line_add(e, &pod, cmd->node, name) });
	e->counts.nominated++;
}

/* The node is named by its uid: another machine of that name was not planned on. */
void evictor_adopt(struct evictor *e, struct intent *i, pod_id pod, uint32_t generation)
{
	const struct intent_line *line = intent_line(i);
	struct model *m = e->config.model;
	const node_id node =
		model_node_id(m, (struct text){ .at = line->node, .bytes = strlen(line->node) });

	if (node == ID_NONE || (strcmp(line->node_uid, "-") != 0 &&
	                        strcmp(line->node_uid, model_node_uid(m, node)) != 0)) {
		journal_remove(e->config.journal, i);
		return;
	}
	model_nominate(m, pod, generation, line->node);
	keep(e, pod, &(struct nomination){ .generation = generation, .earlier = true, .intent = i });
}

void nominations_core_down(struct evictor *e)
{
	for (pod_id id = 0; id < e->nominations_n; id++)
		e->nominations[id].earlier = e->nominations[id].generation != 0;
	e->lapse_ns = 0;
}

/* The first call for a core gives it time to ask and to be answered. */
static void lapse(struct evictor *e, uint64_t now)
{
	if (e->lapse_ns == 0)
		e->lapse_ns = now + LAPSE_NS;
	if (now < e->lapse_ns)
		return;
	for (pod_id id = 0; id < e->nominations_n; id++) {
		const struct nomination n = e->nominations[id];

		if (n.generation == 0 || !n.earlier)
			continue;
		forget(e, id);
		model_nominate(e->config.model, id, n.generation, NULL);
		e->config.lapsed(e->config.context, id, n.generation);
	}
}

uint64_t nominations_look(struct evictor *e)
{
	const uint64_t now = env_now(e->config.env);
	struct pod_view pod;

	if (e->nominated == 0)
		return NEVER_NS;
	if (now < e->look_ns)
		return e->look_ns;
	e->look_ns = now + LOOK_NS;
	lapse(e, now);
	for (pod_id id = 0; id < e->nominations_n; id++) {
		const struct nomination *n = &e->nominations[id];

		if (n->generation != 0 && (!model_pod(e->config.model, id, n->generation, &pod) ||
		                           pod.node[0] || pod.deleting || !pod.ours))
			forget(e, id);
	}
	return e->nominated > 0 ? e->look_ns : NEVER_NS;
}

void nominations_free(struct evictor *e)
{
	for (pod_id id = 0; id < e->nominations_n; id++)
		forget(e, id);
	free(e->nominations);
}
