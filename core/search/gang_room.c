/* SPDX-License-Identifier: Apache-2.0 */
/* An upper bound by sums alone, for a gang whose ready members are of one class: how many of them
 * the nodes take with so many pods away.  Nothing is released and no planner asked, so a question
 * that no eviction answers ends here.
 *
 *   empty nodes    allocatable by request
 *   the question   what is free now, and what all pods take that may go: gang_is_hopeless()
 *   a level        likewise with the pods of its units: gang_room_add()
 *
 * Rules between pods, ports, devices and quorums only make it less. */
#include "core/search/gang_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>

/* By node: room for the requests of the class, one after the other. */
struct gang_room {
	const struct shape *shape;
	uint32_t most; /* members that are missing */
	uint64_t takes_n;
	int64_t *rows; /* [node * shape->requests_n + request] */
	uint32_t *takes;
	bool *changed;
	node_id *nodes; /* that have changed */
	uint32_t nodes_n;
};

const struct shape *gang_shape(const struct gang_question *q)
{
	const struct core *c = q->s.c;

	/* Sums that are saturated are not what is taken. */
	if (c->nodes.wide_sums || q->g->ready_class == CLASS_NONE)
		return NULL;
	return class_shape(&c->pod_counts, q->g->ready_class);
}

static uint32_t count_by(const struct shape *s, const int64_t *row, uint32_t most)
{
	for (uint32_t i = 0; i < s->requests_n && most > 0; i++)
		if (!s->requests[i].devices)
			most = amount_count(row[i], s->requests[i].value, s->requests[i].inverse, most);
	return most;
}

void gang_room_free(struct gang_room *room)
{
	if (!room)
		return;
	free(room->rows);
	free(room->takes);
	free(room->changed);
	free(room->nodes);
	free(room);
}

void gang_room_begin(struct gang_question *q)
{
	const struct core *c = q->s.c;
	const struct shape *s = gang_shape(q);
	struct gang_room *room;

	gang_room_free(q->room);
	q->room = NULL;
	if (!s)
		return;
	room = q->room = must_array(1, sizeof(*room));
	*room = (struct gang_room){
		.shape = s,
		.most = c->need.total,
		.rows = must_array((size_t)c->nodes.used * s->requests_n + 1, sizeof(*room->rows)),
		.takes = must_array(c->nodes.used + 1u, sizeof(*room->takes)),
		.changed = must_array(c->nodes.used + 1u, sizeof(*room->changed)),
		.nodes = must_array(c->nodes.used + 1u, sizeof(*room->nodes)),
	};
	for (node_id id = 0; id < c->nodes.used; id++) {
		int64_t *row = &room->rows[(size_t)id * s->requests_n];

		if (!node_present(&c->nodes.slots[id]) || !shape_allows(s, id))
			continue;
		for (uint32_t i = 0; i < s->requests_n; i++)
			row[i] = nodes_free_amount(&c->nodes, id, s->requests[i].resource);
		room->takes[id] = count_by(s, row, room->most);
		room->takes_n += room->takes[id];
	}
	q->s.steps += c->nodes.used;
}

static void pod_add(struct gang_question *q, node_id node, class_id class)
{
	struct gang_room *room = q->room;
	const struct core *c = q->s.c;

	if (!node_present(&c->nodes.slots[node]) || !shape_allows(room->shape, node))
		return;
	search_row_add(room->shape, &room->rows[(size_t)node * room->shape->requests_n],
	               class_shape(&c->pod_counts, class));
	if (room->changed[node])
		return;
	room->changed[node] = true;
	room->nodes[room->nodes_n++] = node;
}

static void unit_add(struct gang_question *q, const struct gang_unit *u)
{
	if (!u->whole) {
		pod_add(q, u->node, u->class);
		return;
	}
	for (uint32_t k = 0; k < u->n; k++) {
		const struct pod *p = search_at(&q->s, q->pods[u->pods + k]);

		pod_add(q, p->node, p->class);
	}
}

/* Pods were added: what their nodes take now.  False if that is not enough. */
static bool room_count(struct gang_room *room)
{
	while (room->nodes_n > 0) {
		const node_id id = room->nodes[--room->nodes_n];
		const uint32_t takes =
			count_by(room->shape, &room->rows[(size_t)id * room->shape->requests_n], room->most);

		room->takes_n += takes - room->takes[id];
		room->takes[id] = takes;
		room->changed[id] = false;
	}
	return room->takes_n >= room->most;
}

bool gang_room_add(struct gang_question *q, uint32_t first, uint32_t end)
{
	if (!q->room)
		return true;
	for (uint32_t i = first; i < end; i++)
		unit_add(q, &q->units[i]);
	q->s.steps += end - first;
	return room_count(q->room);
}

static bool suffices_empty(struct gang_question *q)
{
	const struct core *c = q->s.c;
	const struct shape *s = gang_shape(q);
	int64_t row[RESOURCES_MAX + 1]; /* and one that no node has */
	uint32_t left = c->need.total;

	for (node_id id = 0; id < c->nodes.used && left > 0; id++) {
		if (!node_present(&c->nodes.slots[id]) || !shape_allows(s, id))
			continue;
		for (uint32_t i = 0; i < s->requests_n; i++)
			row[i] = nodes_allocatable(&c->nodes, id, s->requests[i].resource);
		left -= count_by(s, row, left);
	}
	q->s.steps += c->nodes.used;
	return left == 0;
}

static bool may_go(struct gang_question *q, pod_id id)
{
	const struct pod *p = search_at(&q->s, id);
	int32_t priority;

	return search_is_candidate(&q->s, id, &priority) ||
	       (p->generation != 0 && p->node != ID_NONE &&
	        ((p->flags & POD_DELETING) || search_facts_of(&q->s, id)->nominated_room));
}

bool gang_is_hopeless(struct gang_question *q)
{
	struct core *c = q->s.c;

	gang_need_find(q->g, &c->need);
	gang_ready_class_find(&c->gangs, q->g);
	if (!gang_shape(q))
		return false;
	if (!suffices_empty(q))
		return true;
	gang_room_begin(q);
	for (pod_id id = 0; id < c->pods.used; id++)
		if (may_go(q, id))
			pod_add(q, search_at(&q->s, id)->node, search_at(&q->s, id)->class);
	q->s.steps += c->pods.used;
	return !room_count(q->room);
}
