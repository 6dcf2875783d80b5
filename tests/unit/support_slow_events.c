/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "tests/unit/support_slow_impl.h"

#include <string.h>

static void node_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_NODES);
	struct node *n = &s->nodes[id];
	bool named = false;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		named = named || (s->pods[i].live && s->pods[i].where == BOUND && s->pods[i].node == id);
	if (n->live && !named && random_below(s->r, 4) == 0) {
		n->live = false;
		for (uint32_t i = 0; i < SLOW_PODS; i++)
			if (slow_takes_room(&s->pods[i], id))
				s->pods[i].node = ID_NONE; /* its answer is still to come */
		slow_tell_drop(s, EVENT_NODE_DROP, id, n->generation);
		return;
	}
	if (!n->live) {
		*n = (struct node){ .live = true, .generation = n->generation + 1 };
		n->zone = random_below(s->r, 3);
	}
	n->present = random_below(s->r, 8) > 0;
	n->cordoned = random_below(s->r, 8) == 0;
	n->tainted = random_below(s->r, 6) == 0;
	n->amounts[CPU] = random_below(s->r, 6) * 3000;
	n->amounts[MEMORY] = random_below(s->r, 6) * 4000;
	n->amounts[PODS] = 1 + random_below(s->r, 8);
	n->amounts[GPU] = random_below(s->r, 3) * 2;
	if (!n->present)
		memset(n->amounts, 0, sizeof(n->amounts));
	slow_tell_node(s, id);
}

static void gang_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_GANGS);
	struct gang *g = &s->gangs[id];
	bool has_pods = false;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		has_pods = has_pods || (s->pods[i].live && s->pods[i].gang == id);
	if (g->live && !has_pods && random_below(s->r, 2)) {
		g->live = false;
		slow_tell_drop(s, EVENT_GANG_DROP, id, g->generation);
		return;
	}
	if (!g->live)
		*g = (struct gang){ .live = true, .generation = g->generation + 1 };
	g->missing = random_below(s->r, 8) == 0;
	g->refused = random_below(s->r, 10) == 0;
	g->quorum = 1 + random_below(s->r, 5);
	for (uint32_t i = 0; i < SLOW_ROLES; i++)
		g->roles[i] = random_below(s->r, 3) == 0 ? 1 + random_below(s->r, 2) : 0;
	g->cpu = random_below(s->r, 4) == 0 ? random_below(s->r, 30) * 1000 : 0;
	g->after_others = random_below(s->r, 3) == 0;
	g->has_priority = random_below(s->r, 3) == 0;
	g->priority = (int32_t)random_below(s->r, 3) - 1;
	g->created = random_below(s->r, 2) * (1 + random_below(s->r, 5));
	slow_tell_gang(s, id);
}

static void pod_new(struct slow *s, uint32_t id)
{
	struct pod *p = &s->pods[id];
	uint32_t node = random_below(s->r, SLOW_NODES), gang = random_below(s->r, SLOW_GANGS);

	*p = (struct pod){
		.live = true, .generation = p->generation + 1, .gang = ID_NONE, .node = ID_NONE
	};
	p->ours = random_below(s->r, 8) > 0;
	if (s->gangs[gang].live && random_below(s->r, 4) > 0)
		p->gang = gang;
	/* Mostly the gang's own shape. */
	p->shape = random_below(s->r, 4) > 0 && p->gang != ID_NONE ? gang % SLOW_SHAPES
	                                                           : random_below(s->r, SLOW_SHAPES);
	p->role = random_below(s->r, SLOW_ROLES + 1);
	p->gated = random_below(s->r, 10) == 0;
	p->refused = random_below(s->r, 16) == 0;
	p->lasts = random_below(s->r, 2);
	p->deleting = random_below(s->r, 16) == 0;
	p->priority = (int32_t)random_below(s->r, 3) - 1;
	p->created = random_below(s->r, 10);
	if (s->nodes[node].live && random_below(s->r, 5) == 0) {
		p->where = BOUND;
		p->node = node;
	}
}

static void pod_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_PODS);
	struct pod *p = &s->pods[id];

	if (!p->live) {
		pod_new(s, id);
	} else if (random_below(s->r, 9) < (p->where == BOUND ? 6 : 2)) {
		p->live = false;
		slow_tell_drop(s, EVENT_POD_DROP, id, p->generation);
		return;
	} else if (p->where == ANSWERED && p->node != ID_NONE) {
		p->where = BOUND; /* the watch catches up */
	} else if (random_below(s->r, 4) == 0) {
		p->deleting = true;
	} else {
		p->gated = false;
		p->lasts = random_below(s->r, 2);
		if (random_below(s->r, 4) == 0)
			p->role = random_below(s->r, SLOW_ROLES + 1);
		p->priority = (int32_t)random_below(s->r, 3) - 1;
	}
	slow_tell_pod(s, id);
}

static void answer_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_PODS);
	struct pod *p;
	struct result result;
	uint32_t kind = random_below(s->r, 4);

	for (uint32_t i = 0; i < SLOW_PODS && s->pods[id].where != IN_FLIGHT; i++)
		id = (id + 1) % SLOW_PODS;
	p = &s->pods[id];
	if (!p->live || p->where != IN_FLIGHT)
		return;
	result = (struct result){ .pod = id,
		                      .generation = p->generation,
		                      .node = p->node == ID_NONE ? 0 : p->node,
		                      .attempt = p->attempt,
		                      .retry_ms = random_below(s->r, 2) * random_below(s->r, 3000) };
	if (kind == 0 && p->withdrawn) {
		p->where = NOWHERE;
		p->withdrawn = false;
	} else if (kind == 0) {
		uint64_t ms = 1000;

		for (uint64_t i = 0; i < p->refusals && ms < 10000; i++)
			ms *= 2;
		p->refusals++;
		p->where = NOWHERE;
		p->keeps = true; /* if its gang has begun */
		p->retry_ns = s->time_ns + (result.retry_ms ? result.retry_ms
		                            : ms < 10000    ? ms
		                                            : 10000) *
		                               1000000;
	} else if (kind < 3) {
		p->where = ANSWERED;
		p->withdrawn = false;
		p->refusals = 0;
	}
	slow_tell_result(s,
	                 kind == 0  ? RESULT_REFUSED
	                 : kind < 3 ? RESULT_BOUND
	                            : RESULT_UNKNOWN,
	                 &result);
}

/* A new frontend: it lists, and knows of no binding in flight. */
void slow_epoch(struct slow *s)
{
	s->epoch++;
	slow_record(s, EVENT_BEGIN);
	slow_tell_names(s);
	for (uint32_t i = 0; i < SLOW_SHAPES; i++)
		s->shapes[i].told = false;
	for (uint32_t i = 0; i < SLOW_NODES; i++)
		if (s->nodes[i].live)
			slow_tell_node(s, i);
	for (uint32_t i = 0; i < SLOW_GANGS; i++) {
		s->gangs[i].why = WAIT_NONE;
		s->gangs[i].begun = 0;
		if (s->gangs[i].live)
			slow_tell_gang(s, i);
	}
	s->checking = false; /* what is carried over is sent again or taken back, fit or not */
	for (uint32_t i = 0; i < SLOW_PODS; i++) {
		struct pod *p = &s->pods[i];

		p->attempt = 0;
		p->retry_ns = 0;
		p->refusals = 0;
		p->why = WAIT_NONE;
		p->keeps = false;
		/* In flight in the list as not bound; the core sends it again if it can. */
		p->withdrawn = false;
		if (p->where == IN_FLIGHT || p->where == ANSWERED) {
			p->where = NOWHERE;
			p->node = ID_NONE;
		}
		if (p->live)
			slow_tell_pod(s, i);
	}
	slow_record(s, EVENT_SYNCED);
	slow_record(s, EVENT_PLAN);
	while (core_wants_plan(s->core) && s->room > 0)
		slow_record(s, EVENT_PLAN);
	s->checking = s->strict;
}

void slow_event(struct slow *s)
{
	uint32_t kind = random_below(s->r, 100);

	s->time_ns += random_below(s->r, 300) * UINT64_C(1000000);
	if (kind < 15)
		node_event(s);
	else if (kind < 25)
		gang_event(s);
	else if (kind < 65)
		pod_event(s);
	else if (kind < 95)
		answer_event(s);
	else if (kind < 99 || random_below(s->r, 4) > 0)
		slow_record(s, EVENT_TICK);
	else
		slow_epoch(s);
	check_kept(s);
}
