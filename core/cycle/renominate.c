/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/renominate.h"

#include "core/cycle/victims.h"
#include "core/lifecycle/nominate.h"
#include "ipc/memory.h"

#include <stdlib.h>

#define LONE_TRIED (2 * NOMINATIONS_MAX) /* each costs a look at all pods */

/* The node that a pending pod is nominated to; ID_NONE: none. */
static node_id nominated_to(const struct core *c, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];
	const struct event_pod_facts *f = &c->tickets.facts[id].sent;

	if (p->generation == 0 || f->generation != p->generation || p->readiness != MEMBER_READY ||
	    p->node != ID_NONE || f->nominated == ID_NONE || !nodes_find(&c->nodes, f->nominated))
		return ID_NONE;
	return f->nominated;
}

static uint32_t places_find(const struct core *c, const struct gang *g, struct answer_pod *places)
{
	uint32_t n = 0;

	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
		const node_id node = nominated_to(c, id);

		if (node != ID_NONE)
			places[n++] = (struct answer_pod){ .pod = id,
				                               .generation = c->pods.slots[id].generation,
				                               .node = node,
				                               .node_generation = c->nodes.slots[node].generation };
	}
	return n;
}

static void gang_renominate(struct core *c, uint32_t id, struct answer_pod *places)
{
	struct gang *g = &c->gangs.slots[id];
	uint32_t n;

	if ((g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED)) || gang_quorum_met(g) ||
	    !gang_enough(g, MEMBER_READY) || gang_has_levels(g) || gang_asks_minimum(g) ||
	    g->retained > 0) /* its members have room already: an ordinary plan looks at that */
		return;
	n = places_find(c, g, places);
	gang_need_find(g, &c->need);
	if (n < c->need.total)
		return;
	gang_ready_class_find(&c->gangs, g);
	victims_renominate(c, id, places, n);
}

void renominate(struct core *c)
{
	struct answer_pod *places = must_array(c->pods.used + 1u, sizeof(*places));
	uint32_t tried = 0;

	for (gang_id id = 0; c->nodes.present > 0 && id < c->gangs.used; id++)
		if (gangs_group(&c->gangs, id) && c->gangs.slots[id].members > 0)
			gang_renominate(c, id, places);
	for (pod_id id = 0; id < c->pods.used; id++) {
		const uint32_t index = c->pods.slots[id].gang;

		if (nominated_to(c, id) == ID_NONE)
			continue;
		if (index != ID_NONE && !gang_is_group(&c->gangs, index) && tried++ < LONE_TRIED)
			gang_renominate(c, index, places);
		if (nominated_to(c, id) != ID_NONE)
			nomination_clear(c, id);
	}
	free(places);
}
