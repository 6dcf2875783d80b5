/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/nodes/unaccounted.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void mark_dirty(struct model *m, uint32_t node)
{
	if (node_at(m, node)->entry.slot.list != STORE_DEAD)
		list_push(&m->nodes.dirty, &m->nodes.pool, node);
}

void unaccounted_hold(struct model *m, uint32_t node)
{
	node_at(m, node)->unaccounted.sent = true;
	mark_dirty(m, node);
}

void unaccounted_begin(struct model *m, uint32_t node)
{
	struct node_entry *n = node_at(m, node);

	assert(n->entry.slot.live && n->entry.refs > n->unaccounted.pods);
	n->unaccounted.pods++;
	if (!n->unaccounted.sent)
		mark_dirty(m, node);
}

void unaccounted_end(struct model *m, uint32_t node)
{
	assert(node_at(m, node)->entry.slot.live);
	assert(node_at(m, node)->unaccounted.pods > 0);
	node_at(m, node)->unaccounted.pods--;
	m->accounted_nodes_due = true;
}

void unaccounted_explain(struct text node, struct decode_error *error)
{
	size_t n;

	if (!error)
		return;
	n = strlen(error->text);
	snprintf(error->text + n, sizeof(error->text) - n,
	         "; node %.*s gets no more pods until this one can be counted", (int)node.bytes,
	         node.at);
}

void unaccounted_lost(struct model *m, uint32_t node, struct text name, struct decode_error *error)
{
	uint32_t round = m->replace[RESOURCE_INDEX_PODS].round;
	struct node_entry *n;

	if (node == SLOT_NONE) {
		m->lost = true;
		m->lost_round = round;
	} else {
		n = node_at(m, node);
		assert(n->entry.slot.live);
		n->unaccounted.lost = true;
		n->unaccounted.round = round;
		if (!n->unaccounted.sent)
			mark_dirty(m, node);
	}
	unaccounted_explain(name, error);
}

void unaccounted_listed(struct model *m, uint32_t round)
{
	if (m->lost_round != round)
		m->lost = false;
	STORE_EACH(&m->nodes, i)
	{
		struct unaccounted *u = &node_at(m, i)->unaccounted;

		if (!u->lost || u->round == round)
			continue;
		u->lost = false;
		m->accounted_nodes_due = true;
	}
}

void unaccounted_refresh(struct model *m)
{
	if (!m->accounted_nodes_due)
		return;
	m->accounted_nodes_due = false;
	STORE_EACH(&m->nodes, i)
	if (node_at(m, i)->unaccounted.sent && !node_is_unaccounted(node_at(m, i)))
		mark_dirty(m, i);
}
