/* SPDX-License-Identifier: Apache-2.0 */
/* What is free on each node by what the API server accepted: a pod takes room with its Binding and
 * gives it back when it ends, before muster can read of it.  A step for each change, and all sums
 * once at the end. */
#include "tests/hour/hour.h"
#include "ipc/memory.h"
#include "tests/apisim/call.h"
#include "tests/apisim/requests.h"

#include <inttypes.h>

/* Odd, so that the product is another number for each node below NAMES. */
#define NAMES (1u << 20)
#define SCATTER 387420489u

struct place {
	bool there;
	struct amounts size, free;
};

struct room {
	uint32_t n;
	struct place *places;
	uint32_t back; /* SCATTER * back % NAMES == 1 */
	int64_t cpu, cpu_free;
};

static const char *const resources[ROOMS] = { "cpu", "memory", "nvidia.com/gpu", "pods" };

struct room *room_new(uint32_t nodes)
{
	struct room *r = must_alloc(sizeof(*r));

	if (nodes > NAMES)
		as_die("at most %u nodes", NAMES);
	r->n = nodes;
	r->places = must_array(nodes, sizeof(*r->places));
	r->back = 1;
	for (int i = 0; i < 5; i++) /* each doubles the bits that are right */
		r->back *= 2 - SCATTER * r->back;
	r->back %= NAMES;
	return r;
}

void room_free(struct room *r)
{
	free(r->places);
	free(r);
}

void room_name(uint32_t node, char out[16])
{
	snprintf(out, 16, "ip-%07u", node * SCATTER % NAMES);
}

uint32_t room_node(const struct room *r, const char *name)
{
	const uint32_t node = strncmp(name, "ip-", 3) == 0
	                          ? (uint32_t)strtoul(name + 3, NULL, 10) * r->back % NAMES
	                          : HOUR_NONE;

	return node < r->n ? node : HOUR_NONE;
}

void room_join(struct room *r, uint32_t node, struct amounts size)
{
	r->places[node] = (struct place){ .there = true, .size = size, .free = size };
	r->cpu += size.of[ROOM_CPU];
	r->cpu_free += size.of[ROOM_CPU];
}

void room_leave(struct room *r, uint32_t node)
{
	struct place *p = &r->places[node];

	p->there = false;
	r->cpu -= p->size.of[ROOM_CPU];
	r->cpu_free -= p->free.of[ROOM_CPU];
}

bool room_has(const struct room *r, uint32_t node)
{
	return r->places[node].there;
}

bool room_take(struct room *r, uint32_t node, struct amounts wants)
{
	struct place *p = &r->places[node];
	bool fits = true;

	for (int i = 0; i < ROOMS; i++) {
		p->free.of[i] -= wants.of[i];
		fits = fits && p->free.of[i] >= 0;
	}
	if (p->there)
		r->cpu_free -= wants.of[ROOM_CPU];
	return fits;
}

void room_give(struct room *r, uint32_t node, struct amounts wants)
{
	struct place *p = &r->places[node];

	for (int i = 0; i < ROOMS; i++)
		p->free.of[i] += wants.of[i];
	if (p->there)
		r->cpu_free += wants.of[ROOM_CPU];
}

double room_taken(const struct room *r)
{
	return r->cpu > 0 ? 1 - (double)r->cpu_free / (double)r->cpu : 0;
}

/* Rounds as struct amounts does. */
static int64_t amount(const struct as_amounts *a, int i)
{
	return as_amounts_get(a, resources[i]) / (i == ROOM_MEMORY ? 1 << 20 : 1);
}

/* Takes the pods of the API server from *left, by node. */
static void pods_take(const struct room *r, struct hour *h, struct amounts *left)
{
	struct as_arena arena = { 0 };

	for (struct as_index_entry *e = h->api->pods->index.first[0]; e != NULL; e = e->next[0]) {
		const char *phase = as_object_field(e->object, "status.phase");
		const uint32_t node = room_node(r, as_object_field(e->object, "spec.nodeName"));
		struct as_amounts wants;

		if (node == HOUR_NONE || strcmp(phase, "Succeeded") == 0)
			continue;
		wants = as_pod_requests(&arena, as_object_tree(&arena, e->object));
		for (int i = 0; i < ROOMS; i++)
			left[node].of[i] -= amount(&wants, i);
		as_arena_reset(&arena);
	}
	as_arena_free(&arena);
}

void room_check(struct room *r, struct hour *h)
{
	struct amounts *left = must_array(r->n, sizeof(*left));
	struct as_arena arena = { 0 };
	uint32_t there = 0, found = 0;

	for (struct as_index_entry *e = h->api->nodes->index.first[0]; e != NULL; e = e->next[0]) {
		const uint32_t node = room_node(r, e->object->name);
		const struct as_amounts size =
			as_node_allocatable(&arena, as_object_tree(&arena, e->object));

		for (int i = 0; i < ROOMS; i++)
			left[node].of[i] = amount(&size, i);
		as_arena_reset(&arena);
		found++;
	}
	as_arena_free(&arena);
	pods_take(r, h, left);
	for (uint32_t node = 0; node < r->n; node++) {
		there += r->places[node].there;
		for (int i = 0; i < ROOMS && r->places[node].there; i++)
			if (left[node].of[i] < 0 || left[node].of[i] != r->places[node].free.of[i])
				hour_fail(h, "at the end node %u has %" PRId64 " of %s left, counted %" PRId64,
				          node, left[node].of[i], resources[i], r->places[node].free.of[i]);
	}
	if (there != found)
		hour_fail(h, "at the end there are %u nodes, counted %u", found, there);
	free(left);
}
