/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/flush/columns_refresh.h"

#include "frontend/model/base/columns.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/model/nodes/unaccounted.h"
#include "ipc/memory.h"

#include <stdlib.h>

/* The shape with current ids, with one reference of ours; SLOT_NONE: it is current, or there was no
 * space, which *full counts. */
static uint32_t shape_successor(struct model *m, uint32_t shape, uint32_t *full)
{
	const struct event_shape *e = (const void *)shape_at(m, shape)->body;
	struct shape_trouble trouble = { 0 };
	uint32_t next;

	if (shape_at(m, shape)->entry.refs == 0 ||
	    !amounts_stale(m, (const void *)(e + 1), e->amounts_n))
		return SLOT_NONE;
	arena_reset(&m->scratch);
	if (shape_rename_resources(m, shape, &next, &trouble) == 0)
		return next;
	++*full;
	return SLOT_NONE;
}

/* The amounts of the node follow once the pod was sent. */
static void pod_change_shape(struct model *m, uint32_t pod, uint32_t shape)
{
	struct pod_entry *p = pod_at(m, pod);

	shape_hold(m, shape);
	shape_give(m, p->shape);
	p->shape = shape;
	store_mark_dirty(&m->pods, pod);
	if (p->node != ID_NONE)
		unaccounted_hold(m, p->node);
	if (p->binding != ID_NONE)
		unaccounted_hold(m, p->binding);
}

/* Its usage is not known until it is put again. */
static void pod_ask_again(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	p->entry.retry = true;
	model_note_lack(m, RESOURCE_INDEX_PODS);
	if (p->node == ID_NONE || p->unaccounted)
		return;
	p->unaccounted = true;
	unaccounted_begin(m, p->node);
}

static void refresh_pods(struct model *m, const uint32_t *next, uint32_t shapes_n, bool full)
{
	STORE_EACH(&m->pods, i)
	{
		const struct event_shape *e;
		uint32_t shape = pod_at(m, i)->shape;

		if (shape < shapes_n && next[shape] != SLOT_NONE)
			pod_change_shape(m, i, next[shape]);
		e = (const void *)shape_at(m, pod_at(m, i)->shape)->body;
		/* Its shape has an old id, and there is no space for another one. */
		if (full && amounts_stale(m, (const void *)(e + 1), e->amounts_n)) {
			m->counts.limits_hit++;
			pod_ask_again(m, i);
		}
		if (pod_at(m, i)->read_at < m->columns_taken)
			pod_ask_again(m, i);
		pod_check_columns(m, i);
	}
}

static void refresh_gangs(struct model *m)
{
	STORE_EACH(&m->gangs, i)
	for (uint32_t k = 0; k < 2; k++) {
		struct group_object *o = &gang_at(m, i)->objects[k];
		struct event_gang *e = (void *)o->body;

		if (!e || !amounts_stale(m, (const void *)(e + 1), e->amounts_n))
			continue;
		amounts_refresh(m, (void *)(e + 1), e->amounts_n);
		if (gang_at(m, i)->entry.slot.list != STORE_DEAD)
			store_mark_dirty(&m->gangs, i);
	}
}

void columns_refresh(struct model *m)
{
	uint32_t n = m->shapes.pool.n, full = 0, *next;

	if (!m->columns_due)
		return;
	m->columns_due = false;
	m->counts.columns_changed++;
	shapes_idle_end(m); /* their ids of resources may be old */
	next = must_array(n, sizeof(*next));
	for (uint32_t i = 0; i < n; i++)
		next[i] = shape_at(m, i)->entry.slot.live ? shape_successor(m, i, &full) : SLOT_NONE;
	refresh_pods(m, next, n, full > 0);
	for (uint32_t i = 0; i < n; i++)
		if (next[i] != SLOT_NONE)
			shape_give(m, next[i]);
	free(next);
	refresh_gangs(m);
	intern_recycle(&m->left_out);
}
