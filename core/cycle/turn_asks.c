/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/turn_asks.h"

#include <stdlib.h>

void ask_add(const struct core *c, const struct pod *p, struct share_ask *ask)
{
	const struct shape *s = &c->shapes.slots[p->shape];

	for (uint32_t i = 0; i < s->sums_n; i++)
		share_ask_add(ask, s->requests[i].resource, s->requests[i].value);
}

void ask_promised(const struct core *c, const struct timeline_ask *of, struct share_ask *ask)
{
	for (uint32_t i = 0; i < of->wants_n; i++) {
		const struct shape *s = &c->shapes.slots[of->wants[i].shape];

		for (uint32_t k = 0; k < s->sums_n; k++)
			share_ask_add(ask, s->requests[k].resource,
			              (wide)of->wants[i].members * s->requests[k].value);
	}
}

bool need_take(struct gang_need *need, uint32_t role, bool of_role)
{
	for (uint32_t i = 0; i < need->roles_n; i++)
		if (need->roles[i].role == role && need->roles[i].quorum > 0) {
			need->roles[i].quorum--;
			need->total--;
			return true;
		}
	if (of_role || need->total == 0)
		return false;
	need->total--;
	return true;
}

uint32_t need_of_roles(const struct gang_need *need)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < need->roles_n; i++)
		n += need->roles[i].quorum;
	return n;
}

wide ask_of(const struct core *c, const struct pod *p, uint32_t resource)
{
	const struct shape *s = &c->shapes.slots[p->shape];
	wide sum = 0;

	for (uint32_t i = 0; i < s->sums_n; i++)
		sum += s->requests[i].resource == resource ? s->requests[i].value : 0;
	return sum;
}

static int wide_compare(const void *a, const void *b)
{
	const wide x = *(const wide *)a, y = *(const wide *)b;

	return x < y ? -1 : x > y;
}

/* The least that `most` ready members request of a resource; of one role, or ID_NONE: of all. */
static wide least_of(const struct core *c, const struct gang *g, uint32_t resource, uint32_t role,
                     uint32_t most)
{
	wide *values = c->turns.values, sum = 0;
	uint32_t n = 0, seen = 0;

	for (pod_id id = g->first; seen < g->members; id = c->pods.slots[id].next, seen++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->readiness == MEMBER_READY && (role == ID_NONE || p->role == role))
			values[n++] = ask_of(c, p, resource);
	}
	qsort(values, n, sizeof(*values), wide_compare);
	for (uint32_t i = 0; i < n && i < most; i++)
		sum += values[i];
	return sum;
}

static wide least_of_roles(const struct core *c, const struct gang *g, uint32_t resource,
                           const struct gang_need *need)
{
	wide sum = 0;

	for (uint32_t i = 0; i < need->roles_n; i++)
		sum += least_of(c, g, resource, need->roles[i].role, need->roles[i].quorum);
	return sum;
}

static const struct pod *first_ready(const struct core *c, const struct gang *g)
{
	uint32_t seen = 0;

	for (pod_id id = g->first; seen < g->members; id = c->pods.slots[id].next, seen++)
		if (c->pods.slots[id].readiness == MEMBER_READY)
			return &c->pods.slots[id];
	return NULL;
}

/* Those of one class have one shape. */
static void ask_alike(const struct core *c, const struct pod *p, uint32_t n, struct share_ask *ask)
{
	const struct shape *s = &c->shapes.slots[p->shape];

	for (uint32_t i = 0; i < s->sums_n; i++)
		share_ask_add(ask, s->requests[i].resource, (wide)s->requests[i].value * n);
}

void ask_find(const struct core *c, uint32_t index, struct share_ask *ask)
{
	const struct gang *g = &c->gangs.slots[index];
	const struct pod *first = first_ready(c, g);
	struct gang_need need;

	ask->n = 0;
	gang_need_find(g, &need);
	if (!first || need.total == 0)
		return;
	if (g->ready_class != CLASS_NONE && need.total <= g->counts[MEMBER_READY]) {
		ask_alike(c, first, need.total, ask);
		return;
	}
	for (uint32_t r = 0; r < shares_set(c->turns.shares)->resources; r++) {
		const wide all = least_of(c, g, r, ID_NONE, need.total);
		const wide roles = least_of_roles(c, g, r, &need);

		share_ask_add(ask, r, all > roles ? all : roles);
	}
}

struct share_waiting ask_waiting(const struct core *c, uint32_t index, bool extra,
                                 struct share_ask *ask)
{
	const struct gang *g = &c->gangs.slots[index];

	ask_find(c, index, ask);
	return (struct share_waiting){ .waits = true,
		                           .extra = extra,
		                           .begun = gang_partially_bound(g),
		                           .age_ns = g->age_ns,
		                           .ask = ask };
}
