/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/gangs.h"

#include "core/base/names.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void gangs_init(struct gangs *gs, const struct limits *limits, struct pods *pods)
{
	*gs =
		(struct gangs){ .pods = pods, .groups = limits->gangs, .n = limits->gangs + limits->pods };
	gs->slots = must_array(gs->n, sizeof(*gs->slots));
}

void gangs_clear(struct gangs *gs)
{
	for (uint32_t i = 0; i < gs->used; i++) {
		free(gs->slots[i].parts);
		memset(&gs->slots[i], 0, sizeof(gs->slots[i]));
	}
	/* Gangs of lone pods own no memory.  Slots of other pods are zero; most were never used, and
	 * take no memory as long as they are not written. */
	for (pod_id id = 0; id < gs->pods->used; id++)
		if (gs->pods->slots[id].gang == gs->groups + id)
			memset(&gs->slots[gs->groups + id], 0, sizeof(*gs->slots));
	gs->used = gs->count = 0;
	memset(gs->states, 0, sizeof(gs->states));
}

void gangs_free(struct gangs *gs)
{
	for (uint32_t i = 0; i < gs->used; i++)
		free(gs->slots[i].parts);
	free(gs->slots);
	*gs = (struct gangs){ 0 };
}

void gangs_note_new(struct gangs *gs, gang_id id)
{
	assert(id < gs->groups && gs->slots[id].state == GANG_NONE);
	gs->count++;
	gs->states[GANG_NONE]++;
	if (id >= gs->used)
		gs->used = id + 1;
}

void gangs_note_gone(struct gangs *gs, const struct gang *g)
{
	assert(g->members == 0);
	assert(gs->count > 0 && gs->states[g->state] > 0);
	gs->count--;
	gs->states[g->state]--;
}

bool gang_same_namespace(const struct gang *a, const struct gang *b)
{
	const char *slash = a->generation && b->generation ? memchr(a->name, '/', a->name_bytes) : NULL;
	const size_t n = slash ? (size_t)(slash - a->name) + 1 : 0;

	return n > 0 && n <= b->name_bytes && memcmp(a->name, b->name, n) == 0;
}

void gangs_set_state(struct gangs *gs, struct gang *g, enum gang_state state)
{
	assert(gs->states[g->state] > 0);
	gs->states[g->state]--;
	gs->states[state]++;
	g->state = (uint8_t)state;
}

enum gang_state gang_life(const struct gang *g)
{
	if (gang_members(g) > 0) {
		if (!g->whole || (g->state != GANG_INCOMPLETE && g->state != GANG_WAITING))
			return g->state;
		if (gang_quorum_met(g))
			return GANG_PLACED; /* its object is missing, and its members run on */
		return g->succeeded < g->declared ? GANG_DEGRADED : g->state;
	}
	/* Finished members may be deleted before others have ended: of a gang that ran, all that are
	 * left have to have succeeded. */
	if (g->succeeded >= g->declared || (g->whole && g->succeeded > 0 && g->failed == 0))
		return GANG_FINISHED;
	return g->failed > 0 ? GANG_FAILED : g->state;
}

bool gang_before(const struct gangs *gs, uint32_t a, uint32_t b)
{
	const struct gang_key left = gang_key(&gs->slots[a]), right = gang_key(&gs->slots[b]);
	const int order = gang_key_compare(&left, &right);

	return order != 0 ? order < 0 : gangs_name_before(gs, a, b);
}

void gang_link(struct gangs *gs, uint32_t index, pod_id pod)
{
	struct gang *g = &gs->slots[index];
	struct pod *p = &gs->pods->slots[pod];

	p->gang = index;
	p->previous = g->last;
	p->next = ID_NONE;
	if (g->members == 0)
		g->first = pod;
	else
		gs->pods->slots[g->last].next = pod;
	g->last = pod;
	if (g->members++ == 0)
		p->previous = ID_NONE;
	g->published_hash = 0; /* it was not published for this member */
	if (g->created_ns != 0)
		return;
	if (g->members == 1 || p->created_ns < g->age_ns) {
		g->age_ns = p->created_ns;
		g->age_n = 0;
	}
	g->age_n += p->created_ns == g->age_ns;
}

void gang_unlink(struct gangs *gs, uint32_t index, pod_id pod)
{
	struct gang *g = &gs->slots[index];
	struct pod *p = &gs->pods->slots[pod];

	assert(p->gang == index && g->members > 0);
	if (p->previous == ID_NONE)
		g->first = p->next;
	else
		gs->pods->slots[p->previous].next = p->next;
	if (p->next == ID_NONE)
		g->last = p->previous;
	else
		gs->pods->slots[p->next].previous = p->previous;
	g->members--;
	p->gang = ID_NONE;
	if (g->created_ns == 0 && p->created_ns == g->age_ns && --g->age_n == 0)
		g->key_old = true;
}

uint32_t *gang_role_counts(const struct gang *g, uint32_t number)
{
	uint32_t from = 0, to = gang_roles_n(g);

	while (from < to) {
		uint32_t at = (from + to) / 2, role = g->parts->roles[at].role;

		if (role == number)
			return g->parts->counts[at];
		if (role < number)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

void gang_count_roles(const struct gangs *gs, struct gang *g)
{
	if (gang_roles_n(g) == 0)
		return;
	memset(g->parts->counts, 0, g->parts->roles_n * sizeof(*g->parts->counts));
	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
	     id = gs->pods->slots[id].next) {
		uint32_t *counts = gang_role_counts(g, gs->pods->slots[id].role);

		if (counts)
			counts[gs->pods->slots[id].readiness]++;
	}
}

uint32_t gang_roles_total(const struct gang *g)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < gang_roles_n(g); i++)
		sum += g->parts->roles[i].quorum;
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

bool gang_roles_met(const struct gang *g)
{
	for (uint32_t i = 0; i < gang_roles_n(g); i++)
		if (counts_have(g->parts->counts[i]) < g->parts->roles[i].quorum)
			return false;
	return true;
}

bool gang_roles_reach(const struct gang *g, enum readiness least)
{
	for (uint32_t i = 0; i < gang_roles_n(g); i++)
		if (counts_from(g->parts->counts[i], least) < g->parts->roles[i].quorum)
			return false;
	return true;
}

static uint32_t role_missing(const struct gang *g, uint32_t i)
{
	uint32_t have = counts_have(g->parts->counts[i]), quorum = g->parts->roles[i].quorum;

	return have < quorum ? quorum - have : 0;
}

uint32_t gang_missing(const struct gang *g)
{
	uint64_t of_all = gang_have(g) < g->quorum ? g->quorum - gang_have(g) : 1, of_roles = 0;

	for (uint32_t i = 0; i < gang_roles_n(g); i++)
		of_roles += role_missing(g, i);
	of_all = of_all > of_roles ? of_all : of_roles;
	return of_all < UINT32_MAX ? (uint32_t)of_all : UINT32_MAX;
}

void gang_need_find(const struct gang *g, struct gang_need *need)
{
	need->total = gang_missing(g);
	need->roles_n = 0;
	for (uint32_t i = 0; i < gang_roles_n(g); i++)
		if (role_missing(g, i) > 0)
			need->roles[need->roles_n++] =
				(struct gang_role){ .role = g->parts->roles[i].role, .quorum = role_missing(g, i) };
}

void gang_ready_class_look(const struct gangs *gs, struct gang *g)
{
	const struct pod *slots = gs->pods->slots;
	class_id class = CLASS_NONE;
	uint32_t left = g->counts[MEMBER_READY];

	for (pod_id id = g->first; left > 0; id = slots[id].next) {
		if (slots[id].readiness != MEMBER_READY)
			continue;
		if (class != CLASS_NONE && slots[id].class != class)
			return;
		class = slots[id].class;
		left--;
	}
	g->ready_class = class;
}

bool gang_rekey(const struct gangs *gs, struct gang *g)
{
	int32_t priority = g->priority;
	uint32_t priority_n = 0, age_n = 0;
	uint64_t age_ns = g->created_ns ? g->created_ns : UINT64_MAX;
	/* Otherwise the members do not count: without a pending one the priority stays. */
	bool differs, by_members = g->members > 0 && (g->created_ns == 0 || gang_pending(g) > 0);

	g->key_old = false;
	for (pod_id id = by_members ? g->first : ID_NONE; id != ID_NONE;
	     id = gs->pods->slots[id].next) {
		const struct pod *p = &gs->pods->slots[id];

		if (g->created_ns == 0 && p->created_ns < age_ns) {
			age_ns = p->created_ns;
			age_n = 0;
		}
		age_n += p->created_ns == age_ns;
		if (!readiness_is_pending(p->readiness))
			continue;
		if (priority_n == 0 || p->priority > priority) {
			priority = p->priority;
			priority_n = 0;
		}
		if (p->priority == priority)
			priority_n++;
	}
	differs = priority != g->priority || age_ns != g->age_ns;
	g->priority = priority;
	g->priority_n = priority_n;
	g->age_ns = age_ns;
	g->age_n = age_n;
	return differs;
}
