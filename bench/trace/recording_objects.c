/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, nodes, shapes and queues of a recording, by name. */
#include "bench/trace/recording_impl.h"

#include "core/step/core.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define SHAPES_MOST 65536u

/* Resources. */

bool recording_name(struct reader *r, const struct name_record *n)
{
	struct world *w = r->h.world;
	uint32_t number;

	if (n->body->kind != NAME_RESOURCE) {
		r->columns[n->body->id] = WORLD_OF_NO_NODE;
		return true;
	}
	if (n->body->id < RESOURCE_EXTENDED)
		return true;
	number = WORLD_COLUMNS_FIRST + keys_take(&r->column_names, n->text, n->body->bytes);
	if (number >= RESOURCES_MAX)
		return recording_wrong(
			r, "there are more than 59 resources beside cpu, memory, storage and pods");
	if (number == w->columns_n)
		w->columns[w->columns_n++] =
			must_copy(keys_text(&r->column_names, number - WORLD_COLUMNS_FIRST));
	r->columns[n->body->id] = number;
	return true;
}

static uint32_t column_of(const struct reader *r, uint32_t resource)
{
	return resource < RESOURCE_EXTENDED        ? resource
	       : r->columns[resource] != KEYS_NONE ? r->columns[resource]
	                                           : WORLD_OF_NO_NODE;
}

/* In columns of the world, each once; *devices: some of them devices may serve. */
static uint32_t amounts_take(const struct reader *r, const struct amount *from, uint32_t n,
                             struct amount out[RESOURCES_MAX], bool *devices)
{
	int64_t values[RESOURCES_MAX] = { 0 };
	uint64_t has = 0;
	uint32_t out_n = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t column = column_of(r, from[i].resource);

		if (from[i].flags != 0) {
			*devices = true;
			continue;
		}
		has |= UINT64_C(1) << column;
		values[column] = from[i].value;
	}
	for (uint32_t i = 0; i < RESOURCES_MAX; i++)
		if (has >> i & 1)
			out[out_n++] = (struct amount){ .resource = i, .value = values[i] };
	return out_n;
}

/* Nodes. */

static uint32_t kind_of(struct reader *r, const struct node_record *n)
{
	struct world *w = r->h.world;
	struct amount amounts[RESOURCES_MAX];
	bool devices = false;
	const uint32_t amounts_n = amounts_take(r, n->amounts, n->body->amounts_n, amounts, &devices);
	const size_t bytes = amounts_n * sizeof(*amounts);
	const uint32_t kind = keys_take(&r->kind_keys, amounts, bytes);

	if (kind < w->kinds_n)
		return kind;
	w->kinds = must_reach(w->kinds, &r->kinds_room, kind, 16, sizeof(*w->kinds));
	w->kinds[kind] = (struct world_kind){ .amounts = must_array(amounts_n + 1u, sizeof(*amounts)),
		                                  .amounts_n = amounts_n };
	memcpy(w->kinds[kind].amounts, amounts, bytes);
	w->kinds_n++;
	return kind;
}

static void node_set(struct reader *r, uint32_t node, const struct world_node *state)
{
	struct node_now *now = &r->nodes_now[node];

	if (now->is_known && now->kind == state->kind && now->is_there == state->is_there &&
	    now->is_cordoned == state->is_cordoned)
		return;
	*now = (struct node_now){ .kind = state->kind,
		                      .epoch = r->epoch,
		                      .is_there = state->is_there,
		                      .is_cordoned = state->is_cordoned,
		                      .is_known = true };
	world_node_add(r->h.world, r->now_s, state);
}

void recording_node_leaves(struct reader *r, uint32_t node)
{
	const struct world_node gone = { .node = node, .kind = r->nodes_now[node].kind };

	node_set(r, node, &gone);
}

/* The rules over one node alone, as the core has both now. */
static void deny(struct reader *r, uint32_t shape, uint32_t node)
{
	struct past_shape *p = &r->h.shapes[r->shapes[shape].item];
	const uint32_t item = r->nodes[node].item, word = item / 64;
	const int denied = core_denies(r->core, shape, node);

	if (denied < 0)
		return;
	if (!denied && word >= p->words_n)
		return;
	if (word >= p->words_n) {
		p->denied = must_extend(p->denied, p->words_n, word + 1, sizeof(*p->denied));
		p->words_n = word + 1;
	}
	p->denied[word] &= ~(UINT64_C(1) << item % 64);
	p->denied[word] |= (uint64_t)denied << item % 64;
}

bool recording_node(struct reader *r, const struct node_record *n)
{
	struct world *w = r->h.world;
	struct world_node state = { .is_there = n->body->flags & NODE_PRESENT,
		                        .is_cordoned = n->body->flags & NODE_CORDONED };

	state.node = keys_take(&w->nodes, n->name, n->body->name_bytes);
	if (w->nodes.n > WORLD_NODES_MOST)
		return recording_wrong(r, "there are more than 1048576 nodes");
	r->nodes_now =
		must_reach(r->nodes_now, &r->nodes_now_room, state.node, 64, sizeof(*r->nodes_now));
	state.kind = kind_of(r, n);
	r->nodes[n->body->node] =
		(struct past_slot){ .generation = n->body->generation, .item = state.node };
	r->nodes_used = n->body->node >= r->nodes_used ? n->body->node + 1 : r->nodes_used;
	node_set(r, state.node, &state);
	r->nodes_now[state.node].epoch = r->epoch;
	for (uint32_t i = 0; i < r->shapes_used; i++)
		if (r->shapes[i].generation > 0)
			deny(r, i, n->body->node);
	return true;
}

/* Shapes. */

static bool shape_has_rules(const struct shape_record *s)
{
	const struct event_shape *e = s->body;
	bool rules = e->ports_n || e->attachments_n || e->exclusives_n || e->policies_n || e->devices;

	for (uint32_t i = 0; i < e->pod_terms_n; i++)
		rules = rules || s->pod_terms[i].kind == POD_TERM_AFFINITY ||
		        s->pod_terms[i].kind == POD_TERM_ANTI_AFFINITY;
	for (uint32_t i = 0; i < e->spreads_n; i++)
		rules = rules || s->spreads[i].flags & SPREAD_HARD;
	return rules;
}

/* What a shape requests, each once; KEYS_NONE and a message: there are too many. */
static uint32_t requests_of(struct reader *r, const struct shape_record *s, bool *rules)
{
	struct history *h = &r->h;
	struct {
		struct event_shape body;
		struct amount amounts[RESOURCES_MAX];
	} key = { .body = { .scored_cpu_milli = s->body->scored_cpu_milli,
		                .scored_memory_bytes = s->body->scored_memory_bytes,
		                .placed_cpu_milli = s->body->placed_cpu_milli,
		                .placed_memory_bytes = s->body->placed_memory_bytes,
		                .namespace = ID_NONE } };
	size_t bytes;
	uint32_t requests;

	key.body.amounts_n = amounts_take(r, s->amounts, s->body->amounts_n, key.amounts, rules);
	bytes = key.body.amounts_n * sizeof(*key.amounts);
	requests = keys_take(&r->request_keys, &key, sizeof(key.body) + bytes);
	if (requests < h->requests_n)
		return requests;
	if (requests == SHAPES_MOST) {
		recording_wrong(r, "there are more than 65536 kinds of pods");
		return KEYS_NONE;
	}
	h->requests = must_reach(h->requests, &h->requests_room, requests, 64, sizeof(*h->requests));
	h->requests[requests] = (struct world_shape){
		.body = key.body, .requests = must_array(key.body.amounts_n + 1u, sizeof(*key.amounts))
	};
	memcpy(h->requests[requests].requests, key.amounts, bytes);
	return h->requests_n++;
}

bool recording_shape(struct reader *r, const struct shape_record *s)
{
	struct history *h = &r->h;
	bool rules = shape_has_rules(s);
	const uint32_t requests = requests_of(r, s, &rules);

	if (requests == KEYS_NONE)
		return false;
	h->shapes = must_reach(h->shapes, &h->shapes_room, h->shapes_n, 64, sizeof(*h->shapes));
	h->shapes[h->shapes_n] = (struct past_shape){ .requests = requests, .has_rules = rules };
	r->shapes[s->body->shape] = (struct past_slot){ .generation = 1, .item = h->shapes_n++ };
	r->shapes_used = s->body->shape >= r->shapes_used ? s->body->shape + 1 : r->shapes_used;
	for (uint32_t i = 0; i < r->nodes_used; i++)
		if (r->nodes[i].generation > 0)
			deny(r, s->body->shape, i);
	return true;
}

/* Queues. */

void recording_queue(struct reader *r, const struct queue_record *q)
{
	const uint32_t queue = keys_take(&r->h.queue_names, q->name, q->body->name_bytes);
	struct past_queue *p;
	int64_t(*at)[4] = must_array(RESOURCES_MAX, sizeof(*at));
	uint64_t has = 0;
	uint32_t n = 0;

	r->h.queues = must_reach(r->h.queues, &r->h.queues_room, queue, 16, sizeof(*r->h.queues));
	p = &r->h.queues[queue];
	for (uint32_t i = 0; i < q->body->amounts_n; i++) {
		const struct queue_amount *a = &q->amounts[i];
		const uint32_t column = column_of(r, a->resource);

		has |= UINT64_C(1) << column;
		memcpy(at[column], (int64_t[4]){ a->guarantee, a->reserved, a->limit, a->weight },
		       sizeof(at[column]));
	}
	free(p->amounts);
	p->amounts = must_array(RESOURCES_MAX, sizeof(*p->amounts));
	for (uint32_t i = 0; i < RESOURCES_MAX; i++)
		if (has >> i & 1)
			p->amounts[n++] = (struct queue_amount){ .resource = i,
				                                     .guarantee = at[i][0],
				                                     .reserved = at[i][1],
				                                     .limit = at[i][2],
				                                     .weight = at[i][3] };
	free(at);
	p->body = *q->body;
	p->body.amounts_n = n;
	r->has_queues = true;
	r->queues[q->body->queue] = q->body->flags & QUEUE_GONE ? KEYS_NONE : queue;
	r->queue_parents[q->body->queue] = q->body->parent;
}
