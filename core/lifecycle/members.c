/* SPDX-License-Identifier: Apache-2.0 */
/* Room that pods take, and how their gangs count them. */
#include "core/lifecycle/members_impl.h"

/* ---- gangs in their queues ------------------------------------------------------ */

void gang_hold(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];

	if (g->place == PLACE_CHANGED) {
		queue_remove(&c->changed, index);
	} else if (g->place == PLACE_WAITING) {
		if (c->cursor == index)
			c->cursor = queue_next(&c->waiting, index);
		queue_remove(&c->waiting, index);
		waits_leave(&c->waits, g);
	}
}

void gang_touch(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];
	/* There is nothing to find out about a lone pod that waits for nothing. */
	const bool ask = gang_is_group(&c->gangs, index) || gang_pending(g) > 0;

	if (index == c->looked_at || (g->place == PLACE_CHANGED && ask && gang_queued_right(g)))
		return;
	gang_hold(c, index);
	if (ask)
		queue_insert(&c->changed, index);
}

/* ---- room ------------------------------------------------------------------------- */

void room_eased(struct core *c, const struct pod *p)
{
	if (census_eases(&c->census, p->kind))
		c->nodes.room_version++;
}

void room_take(struct core *c, struct pod *p, node_id node)
{
	p->node = node;
	p->leaving = p->flags & POD_DELETING;
	if (node == ID_NONE)
		return;
	census_take(&c->census, node, p->kind, p->leaving);
	room_eased(c, p);
}

void room_give(struct core *c, struct pod *p)
{
	if (p->node == ID_NONE)
		return;
	census_give(&c->census, p->node, p->kind, p->leaving);
	p->node = ID_NONE;
	c->nodes.room_version++;
}

/* ---- room of members that were refused --------------------------------------------------- */

void keep_begin(struct core *c, const struct pod *p)
{
	c->gangs.slots[p->gang].kept += pod_keeps_room(p);
}

void keep_end(struct core *c, struct pod *p)
{
	if (!pod_keeps_room(p))
		return;
	c->gangs.slots[p->gang].kept--;
	room_give(c, p);
}

static void gang_keep_nothing(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];

	for (pod_id id = g->first; g->kept > 0; id = c->pods.slots[id].next)
		keep_end(c, &c->pods.slots[id]);
}

void gang_keep_room(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];

	if (g->kept > 0 && !(gang_has_begun(g) && gang_enough(g, MEMBER_BACKOFF) &&
	                     !(g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED))))
		gang_keep_nothing(c, index);
}

void gang_keep_untried(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	uint32_t left = g->kept;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		struct pod *p = &c->pods.slots[id];

		left -= pod_keeps_room(p);
		if (p->class == MEMBER_READY)
			keep_end(c, p);
	}
}

void gang_lend_room(struct core *c, const struct gang *g)
{
	uint32_t left = g->kept;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (!pod_keeps_room(p))
			continue;
		census_give(&c->census, p->node, p->kind, p->leaving);
		left--;
	}
}

/* It is free already, and kept no longer. */
static void lent_gone(struct core *c, struct gang *g, struct pod *p)
{
	p->node = ID_NONE;
	g->kept--;
	c->nodes.room_version++; /* it may be elsewhere now */
}

void gang_lent_room_back(struct core *c, struct gang *g, bool of_tried_too)
{
	uint32_t left = g->kept;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		struct pod *p = &c->pods.slots[id];

		if (!pod_keeps_room(p))
			continue;
		if ((of_tried_too || p->class != MEMBER_READY) &&
		    views_count_at(&c->views, p->node, p->kind) > 0)
			census_take(&c->census, p->node, p->kind, p->leaving);
		else
			lent_gone(c, g, p);
		left--;
	}
}

void gang_lent_room_gone(struct core *c, struct gang *g)
{
	for (pod_id id = g->first; g->kept > 0; id = c->pods.slots[id].next)
		if (pod_keeps_room(&c->pods.slots[id]))
			lent_gone(c, g, &c->pods.slots[id]);
}

/* ---- members ------------------------------------------------------------------------ */

void member_out(struct core *c, struct pod *p)
{
	c->pods.classes[p->class]--;
	if (p->state == POD_BOUND)
		c->pods.bound--;
	if (p->gang == ID_NONE)
		return;
	gang_uncount(&c->gangs.slots[p->gang], p);
}

void member_in(struct core *c, struct pod *p)
{
	struct gang *g;

	p->class = (uint8_t)pod_class(p);
	c->pods.classes[p->class]++;
	if (p->state == POD_BOUND)
		c->pods.bound++;
	if (p->gang == ID_NONE)
		return;
	g = &c->gangs.slots[p->gang];
	gang_count(g, p);
	g->hopeless = 0;
	if (g->kept > 0)
		gang_keep_room(c, p->gang);
	gang_touch(c, p->gang);
}

void list_leave(struct core *c, struct pod *p)
{
	pod_id id = pods_id(&c->pods, p);

	if (p->list == LIST_SEND)
		pod_queue_remove(&c->sends, &c->pods, id);
	else if (p->list == LIST_BACKOFF)
		pod_queue_remove(&c->backoff, &c->pods, id);
	else if (p->list == LIST_CLAIM)
		pod_queue_remove(&c->claims.kept, &c->pods, id);
}
