/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/trace/world.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLI 1000

void world_free(struct world *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->columns_n; i++)
		free(w->columns[i]);
	for (uint32_t i = 0; i < w->kinds_n; i++)
		free(w->kinds[i].amounts);
	for (uint32_t i = 0; i < w->shapes_n; i++)
		free(w->shapes[i].requests);
	for (uint32_t i = 0; i < w->queues_n; i++) {
		free(w->queues[i].name);
		free(w->queues[i].amounts);
	}
	keys_free(&w->nodes);
	keys_free(&w->denied);
	free(w->kinds);
	free(w->shapes);
	free(w->member_shapes);
	free(w->node_states);
	free(w->pods);
	free(w->steps);
	free(w->queues);
	free(w->queue_of_user);
	free(w->was);
	free(w);
}

void world_step_add(struct world *w, uint64_t at_s, enum world_step_kind kind, uint32_t item)
{
	w->steps = must_reach(w->steps, &w->steps_room, w->steps_n, 256, sizeof(*w->steps));
	w->steps[w->steps_n] =
		(struct world_step){ .at_s = at_s, .kind = kind, .item = item, .place = w->steps_n };
	w->steps_n++;
}

void world_node_add(struct world *w, uint64_t at_s, const struct world_node *state)
{
	w->node_states = must_reach(w->node_states, &w->node_states_room, w->node_states_n, 256,
	                            sizeof(*w->node_states));
	w->node_states[w->node_states_n] = *state;
	world_step_add(w, at_s, WORLD_NODE, w->node_states_n++);
}

int64_t world_milli(const struct world *w, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (amounts[i].resource == w->measured)
			return w->measured == RESOURCE_CPU            ? amounts[i].value
			       : amounts[i].value > INT64_MAX / MILLI ? INT64_MAX
			                                              : amounts[i].value * MILLI;
	return 0;
}

void world_grow(struct trace *t, uint32_t more)
{
	struct world *w = t->world;

	for (uint32_t i = 0; i < more; i++) {
		struct world_node state = { .kind = w->kind_added, .is_there = true };
		char name[32];
		const int n = snprintf(name, sizeof(name), "added-%07u", i);

		/* A recorded node may have that name: the added one gets the next. */
		if (keys_find(&w->nodes, name, (size_t)n) != KEYS_NONE) {
			more += more < UINT32_MAX;
			continue;
		}
		state.node = keys_take(&w->nodes, name, (size_t)n);
		world_node_add(w, 0, &state);
	}
	world_finish(t);
}

static int by_time(const void *a, const void *b)
{
	const struct world_step *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

/* Of all nodes, summed over the seconds in which each was there. */
static double capacity_s(const struct trace *t)
{
	const struct world *w = t->world;
	uint64_t *since = must_array(w->nodes.n, sizeof(*since));
	double *has = must_array(w->nodes.n, sizeof(*has)), sum = 0;

	for (uint32_t i = 0; i < w->steps_n; i++) {
		const struct world_step *step = &w->steps[i];
		const struct world_node *n;

		if (step->kind != WORLD_NODE || step->at_s > t->end_s)
			continue;
		n = &w->node_states[step->item];
		sum += has[n->node] * (double)(step->at_s - since[n->node]);
		since[n->node] = step->at_s;
		has[n->node] = n->is_there ? (double)world_milli(w, w->kinds[n->kind].amounts,
		                                                 w->kinds[n->kind].amounts_n)
		                           : 0;
	}
	for (uint32_t i = 0; i < w->nodes.n; i++)
		sum += has[i] * (double)(t->end_s - since[i]);
	free(since);
	free(has);
	return sum;
}

void world_finish(struct trace *t)
{
	struct world *w = t->world;
	double mean;

	if (w->steps_n > 0)
		qsort(w->steps, w->steps_n, sizeof(*w->steps), by_time);
	t->nodes = w->nodes.n;
	mean = t->nodes > 0 ? capacity_s(t) / (double)t->end_s / t->nodes : 0;
	t->node_milli = mean < (double)UINT32_MAX ? (uint32_t)(mean + 0.5) : UINT32_MAX;
}

struct world_play {
	const struct world *w;
	const uint32_t *queue_of_user;
	uint64_t epoch_s;
	world_tell_fn tell;
	void *context;
	uint32_t next;       /* step */
	uint32_t *shape_ids; /* id + 1; 0: not told */
	uint32_t shapes_n;   /* told */
};

struct world_play *world_play_new(const struct world *w, const uint32_t *queue_of_user,
                                  uint64_t epoch_s, world_tell_fn tell, void *context)
{
	struct world_play *p = must_alloc(sizeof(*p));

	*p = (struct world_play){
		.w = w, .queue_of_user = queue_of_user, .epoch_s = epoch_s, .tell = tell, .context = context
	};
	p->shape_ids = must_array(w->shapes_n + 1u, sizeof(*p->shape_ids));
	return p;
}

void world_play_free(struct world_play *p)
{
	if (!p)
		return;
	free(p->shape_ids);
	free(p);
}

void world_limits(const struct world *w, struct limits *l)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < w->nodes.n; i++)
		bytes += 64 + PADDED(w->nodes.at[i].n);
	for (uint32_t i = 0; i < w->columns_n; i++)
		bytes += 64 + PADDED(strlen(w->columns[i]));
	l->nodes = w->nodes.n > 0 ? w->nodes.n : 1;
	l->pods += w->pods_n;
	l->shapes = w->shapes_n > 0 ? w->shapes_n : 1;
	l->names = RESOURCES_MAX;
	l->resources = w->columns_n;
	l->name_bytes += (2 * bytes + 64 * (uint64_t)w->pods_n + 15) & ~UINT64_C(15);
}

void world_tell_columns(struct world_play *p)
{
	for (uint32_t i = RESOURCE_EXTENDED; i < p->w->columns_n; i++) {
		struct event_name e = { .id = i, .kind = NAME_RESOURCE };

		e.bytes = (uint32_t)strlen(p->w->columns[i]);
		p->tell(p->context, EVENT_NAME, PARTS({ &e, sizeof(e) }, { p->w->columns[i], e.bytes }));
	}
}

shape_id world_shape_id(struct world_play *p, uint32_t shape)
{
	const struct world_shape *s = &p->w->shapes[shape];
	struct event_shape e = s->body;
	const struct requirement in_set = { .op = REQUIRE_EXISTS, .key = s->set + 1 };

	if (p->shape_ids[shape] > 0)
		return p->shape_ids[shape] - 1;
	e.shape = p->shapes_n++;
	e.requirements_n = s->set != KEYS_NONE;
	p->shape_ids[shape] = p->shapes_n;
	p->tell(p->context, EVENT_SHAPE,
	        PARTS({ &e, sizeof(e) }, { s->requests, e.amounts_n * sizeof(*s->requests) },
	              { &in_set, e.requirements_n * sizeof(in_set) }));
	return e.shape;
}

static bool is_denied(const struct world *w, uint32_t set, uint32_t node)
{
	const struct key *key = &w->denied.at[set];
	const uint64_t *words = key->bytes;

	node = node < w->nodes_read_n ? node : w->node_added;
	return node / 64 < key->n / sizeof(*words) && words[node / 64] >> node % 64 & 1;
}

/* Labels of the sets that it is not in. */
static uint32_t labels_of(const struct world *w, uint32_t node, struct label out[WORLD_SETS_MOST])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->denied.n && i < WORLD_SETS_MOST; i++)
		if (!is_denied(w, i, node))
			out[n++] = (struct label){ .key = i + 1, .number = LABEL_NOT_A_NUMBER };
	return n;
}

/* A node that has left is sent as cordoned: what a play has on it ends as it would have, and
 * nothing starts there. */
static void tell_node(const struct world_play *p, const struct world_node *n)
{
	const struct world_kind *k = &p->w->kinds[n->kind];
	const struct key *name = &p->w->nodes.at[n->node];
	struct event_node e = { .node = n->node, .generation = 1, .flags = NODE_PRESENT };
	struct label labels[WORLD_SETS_MOST];

	e.flags |= n->is_there && !n->is_cordoned ? 0 : NODE_CORDONED;
	e.amounts_n = k->amounts_n;
	e.labels_n = labels_of(p->w, n->node, labels);
	e.name_bytes = (uint32_t)name->n;
	p->tell(p->context, EVENT_NODE,
	        PARTS({ &e, sizeof(e) }, { k->amounts, k->amounts_n * sizeof(*k->amounts) },
	              { labels, e.labels_n * sizeof(*labels) }, { name->bytes, name->n }));
}

static void tell_pod(struct world_play *p, uint32_t pod)
{
	const struct world_pod *w = &p->w->pods[pod];
	const uint64_t now_s = p->epoch_s + w->from_s;
	struct event_pod e = { .pod = pod,
		                   .generation = 1,
		                   .flags = (w->is_ours ? POD_OURS : 0u) | (w->lasts ? POD_LASTS : 0u),
		                   .gang = ID_NONE,
		                   .shape = world_shape_id(p, w->shape),
		                   .node = w->node,
		                   .priority = w->priority,
		                   .role = ID_NONE,
		                   .scheduled_s = (uint32_t)now_s,
		                   .created_ns = now_s * UINT64_C(1000000000),
		                   .uid = { pod, UINT64_MAX },
		                   .run_s = w->left_s,
		                   .expected_s = w->expected_left_s };
	char name[48];

	e.queue = p->queue_of_user && w->user != KEYS_NONE ? p->queue_of_user[w->user] : QUEUE_MISSING;
	e.name_bytes = (uint32_t)snprintf(name, sizeof(name), "recorded/pod-%07u", pod);
	p->tell(p->context, EVENT_POD, PARTS({ &e, sizeof(e) }, { name, e.name_bytes }));
}

uint64_t world_due_s(const struct world_play *p)
{
	return p && p->next < p->w->steps_n ? p->w->steps[p->next].at_s : UINT64_MAX;
}

void world_advance(struct world_play *p, uint64_t now_s)
{
	while (world_due_s(p) <= now_s) {
		const struct world_step *step = &p->w->steps[p->next++];
		const struct event_drop gone = { .id = step->item, .generation = 1 };

		if (step->kind == WORLD_POD_ENDS)
			p->tell(p->context, EVENT_POD_DROP, PARTS({ &gone, sizeof(gone) }));
		else if (step->kind == WORLD_NODE)
			tell_node(p, &p->w->node_states[step->item]);
		else
			tell_pod(p, step->item);
	}
}
