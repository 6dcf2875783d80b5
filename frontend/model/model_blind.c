/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with pods that could not be counted: a limit was in the way, or a bound pod
 * can't be read.  To place anything there could overdraw the node, so the core sees
 * it without any room until every pod on it is counted again.
 *
 *   pods   known, not what they take: over when the pod goes or can be counted
 *   lost   not even known: over after the next whole list of pods */
#include "frontend/model/model_impl.h"

#include <stdio.h>
#include <string.h>

bool node_is_blind(const struct node_entry *n)
{
	return n->blind.pods > 0 || n->blind.lost || n->storage_lost;
}

static void blind_dirty(struct model *m, uint32_t node)
{
	if (node_at(m, node)->slot.list != MODEL_DEAD)
		list_push(&m->nodes_dirty, &m->nodes, node);
}

void blind_begin(struct model *m, uint32_t node)
{
	struct node_entry *n = node_at(m, node);

	n->blind.pods++;
	if (!n->blind.sent)
		blind_dirty(m, node);
}

void blind_end(struct model *m, uint32_t node)
{
	node_at(m, node)->blind.pods--;
	m->sight_due = true;
}

void blind_explain(struct text node, struct decode_error *error)
{
	size_t n;

	if (!error)
		return;
	n = strlen(error->text);
	snprintf(error->text + n, sizeof(error->text) - n,
	         "; node %.*s gets no more pods until this one can be counted", (int)node.bytes,
	         node.at);
}

void blind_lost(struct model *m, struct text name, struct decode_error *error)
{
	uint32_t round = m->replace[RESOURCE_INDEX_PODS].round, node = node_find(m, name);
	struct node_entry *n;

	if (node == SLOT_NONE) {
		m->lost = true;
		m->lost_round = round;
	} else {
		n = node_at(m, node);
		n->blind.lost = true;
		n->blind.round = round;
		if (!n->blind.sent)
			blind_dirty(m, node);
	}
	blind_explain(name, error);
}

void blind_listed(struct model *m, uint32_t round)
{
	if (m->lost_round != round)
		m->lost = false;
	for (uint32_t i = 0; i < m->nodes.n; i++) {
		struct node_entry *n = node_at(m, i);

		if (!n->slot.live || !n->blind.lost || n->blind.round == round)
			continue;
		n->blind.lost = false;
		m->sight_due = true;
	}
}

void blind_node_made(struct model *m, struct node_entry *n)
{
	n->blind = (struct blind){ .lost = m->lost, .round = m->lost_round };
}

/* Another node of that name may come before the list. */
void blind_node_buried(struct model *m, const struct node_entry *n)
{
	if (!n->blind.lost || (m->lost && m->lost_round >= n->blind.round))
		return;
	m->lost = true;
	m->lost_round = n->blind.round;
}

void blind_sight(struct model *m)
{
	if (!m->sight_due)
		return;
	m->sight_due = false;
	for (uint32_t i = 0; i < m->nodes.n; i++) {
		const struct node_entry *n = node_at(m, i);

		if (n->slot.live && n->blind.sent && !node_is_blind(n))
			blind_dirty(m, i);
	}
}
