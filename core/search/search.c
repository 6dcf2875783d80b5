/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that are released for a question, and what searches know of pods and gangs. */
#include "core/search/search_impl.h"

#include "core/lifecycle/reservation.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MOVE_STEPS 4u /* of work to release or allocate one pod */

void search_begin(struct search *s, struct core *c, const struct search_facts *facts,
                  int32_t priority)
{
	*s = (struct search){ .c = c, .facts = facts, .priority = priority };
	s->away = must_array(c->pods.limit, sizeof(*s->away));
	s->gangs = must_array(c->gangs.groups, sizeof(*s->gangs));
	nodes_sort(&c->nodes);
}

void search_end(struct search *s)
{
	for (pod_id id = 0; s->away_n > 0; id++)
		search_restore(s, id);
	free(s->away);
	free(s->gangs);
}

void search_remove(struct search *s, pod_id id)
{
	const struct pod *p = search_at(s, id);

	if (s->away[id])
		return;
	assert(p->node != ID_NONE);
	pod_counts_release(&s->c->pod_counts, p->node, p->class, p->leaving);
	s->away[id] = true;
	s->away_n++;
	s->steps += MOVE_STEPS;
}

void search_restore(struct search *s, pod_id id)
{
	const struct pod *p = search_at(s, id);

	if (!s->away[id])
		return;
	assert(p->node != ID_NONE && s->away_n > 0);
	pod_counts_allocate(&s->c->pod_counts, p->node, p->class, p->leaving);
	s->away[id] = false;
	s->away_n--;
	s->steps += MOVE_STEPS;
}

uint32_t search_remove_ending(struct search *s)
{
	const struct pods *ps = &s->c->pods;
	uint32_t n = 0;

	for (pod_id id = pods_ending(ps, 0); id != ID_NONE; id = pods_ending(ps, id + 1)) {
		if (ps->slots[id].node == ID_NONE || search_facts_of(s, id)->stuck)
			continue;
		search_remove(s, id);
		n++;
	}
	return n;
}

uint32_t search_remove_soon(struct search *s, bool remove)
{
	uint32_t n = 0;

	for (pod_id id = 0; id < s->c->pods.used; id++) {
		const struct pod *p = search_at(s, id);

		if (p->generation == 0 || p->node == ID_NONE || !search_facts_of(s, id)->soon ||
		    (p->flags & POD_DELETING))
			continue;
		if (remove)
			search_remove(s, id);
		else
			search_restore(s, id);
		n++;
	}
	return n;
}

static enum search_reclaim reclaim_of(const struct search *s, pod_id id)
{
	return s->facts->reclaim ? (enum search_reclaim)s->facts->reclaim[id] : RECLAIM_BY_PRIORITY;
}

/* Its gang has no pending members here, by which its priority would be known. */
static int32_t nominated_priority(const struct search *s, const struct pod *p)
{
	const struct gang *g = &s->c->gangs.slots[p->gang];

	return g->flags & GANG_PRIORITY ? g->parts->priority : p->priority;
}

uint32_t search_remove_nominated(struct search *s)
{
	uint32_t n = 0;

	for (pod_id id = 0; id < s->c->pods.used; id++) {
		const struct pod *p = search_at(s, id);

		if (p->generation != 0 && search_facts_of(s, id)->nominated_room && p->node != ID_NONE &&
		    reclaim_of(s, id) != RECLAIM_SPARED && nominated_priority(s, p) < s->priority) {
			search_remove(s, id);
			n++;
		}
	}
	return n;
}

static bool is_group(const struct search *s, const struct pod *p)
{
	return p->gang != ID_NONE && gang_is_group(&s->c->gangs, p->gang);
}

uint32_t search_group(const struct search *s, const struct pod *p)
{
	return is_group(s, p) && s->facts->gangs[p->gang].mode != DISRUPT_POD ? p->gang : ID_NONE;
}

/* Bound, and not being deleted. */
static bool runs(const struct pod *p)
{
	return p->generation != 0 && p->node != ID_NONE && reservation_is_bound(p) &&
	       !(p->flags & POD_DELETING);
}

/* With `respect` also a pod with more than one budget, which the Eviction API refuses, and one
 * whose budget allows no disruption. */
bool search_spares(const struct search_facts *facts, pod_id id)
{
	const struct search_pod *f = &facts->pods[id];

	if (f->spared || (facts->respect && f->budgets_n > 1))
		return true;
	return facts->respect && f->items_n > 0 && facts->allowed[facts->items[f->items]] <= 0;
}

static bool is_spared(const struct search *s, pod_id id)
{
	return search_spares(s->facts, id) || reclaim_of(s, id) == RECLAIM_SPARED;
}

static void count_member(struct search *s, struct gang_facts *f, pod_id id)
{
	const struct pod *p = search_at(s, id);
	const uint32_t start_s = search_facts_of(s, id)->start_s;

	if (!runs(p))
		return;
	if (f->bound == 0 || p->priority > f->priority)
		f->priority = p->priority;
	if (f->bound == 0 || start_s < f->start_s)
		f->start_s = start_s;
	f->goes_whole = f->goes_whole && !is_spared(s, id);
	f->unseen = f->unseen || !node_present(&s->c->nodes.slots[p->node]);
	f->bound++;
}

const struct gang_facts *search_gang_facts(struct search *s, uint32_t gang)
{
	const struct gang *g = &s->c->gangs.slots[gang];
	struct gang_facts *f = &s->gangs[gang];
	uint32_t left;

	if (f->known)
		return f;
	*f = (struct gang_facts){ .known = true, .goes_whole = true, .start_s = START_NONE };
	for (pod_id id = g->first; id != ID_NONE; id = search_at(s, id)->next)
		count_member(s, f, id);
	if (g->flags & GANG_PRIORITY)
		f->priority = g->parts->priority;
	left = f->bound + s->facts->gangs[gang].succeeded;
	f->stale = left < g->declared || !search_roles_live(s, gang);
	f->surplus = f->stale ? 0 : left - g->declared;
	return f;
}

bool search_is_candidate(struct search *s, pod_id id, int32_t *priority)
{
	const struct pod *p = search_at(s, id);
	uint32_t group;

	if (!runs(p) || is_spared(s, id))
		return false;
	group = search_group(s, p);
	if (group != ID_NONE && search_gang_facts(s, group)->unseen)
		return false;
	*priority = group != ID_NONE ? search_gang_facts(s, group)->priority : p->priority;
	return reclaim_of(s, id) == RECLAIM_MAY || *priority < s->priority;
}

bool search_roles_live(const struct search *s, uint32_t gang)
{
	const struct gang *g = &s->c->gangs.slots[gang];

	for (uint32_t r = 0; r < gang_roles_n(g); r++) {
		uint32_t n = 0;

		for (pod_id id = g->first; id != ID_NONE; id = search_at(s, id)->next) {
			const struct pod *p = search_at(s, id);

			n += p->role == g->parts->roles[r].role && runs(p) && !s->away[id];
		}
		if (n < g->parts->roles[r].quorum)
			return false;
	}
	return true;
}

int importance_compare(const struct importance *a, const struct importance *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->members != b->members)
		return a->members > b->members ? -1 : 1;
	if (a->start_s != b->start_s)
		return a->start_s < b->start_s ? -1 : 1;
	return names_compare(a->name, a->name_bytes, b->name, b->name_bytes);
}

struct importance search_importance(const struct search *s, pod_id id)
{
	const struct pod *p = search_at(s, id);

	return (struct importance){ .priority = p->priority,
		                        .start_s = search_facts_of(s, id)->start_s,
		                        .name = p->name,
		                        .name_bytes = p->name_bytes };
}

struct importance search_importance_of_gang(struct search *s, uint32_t gang)
{
	const struct gang_facts *f = search_gang_facts(s, gang);
	const struct gang *g = &s->c->gangs.slots[gang];

	return (struct importance){ .priority = f->priority,
		                        .members = f->bound,
		                        .start_s = f->start_s,
		                        .name = g->name,
		                        .name_bytes = g->name_bytes };
}

static int pods_compare(const void *a, const void *b, void *context)
{
	const struct importance left = search_importance(context, *(const pod_id *)a);
	const struct importance right = search_importance(context, *(const pod_id *)b);

	return importance_compare(&left, &right);
}

void search_sort(const struct search *s, pod_id *pods, uint32_t n)
{
	if (n > 1)
		qsort_r(pods, n, sizeof(*pods), pods_compare, (void *)(uintptr_t)s);
}

/* Requests of both shapes are sorted by resource, those that devices may serve behind the others.
 */
void search_row_add(const struct shape *of, int64_t *row, const struct shape *placed)
{
	uint32_t i = 0;

	for (uint32_t k = 0; k < placed->sums_n; k++) {
		if (k == placed->requests_n)
			i = 0;
		while (i < of->requests_n && of->requests[i].resource < placed->requests[k].resource)
			i++;
		if (i < of->requests_n && of->requests[i].resource == placed->requests[k].resource)
			row[i] += placed->requests[k].value;
	}
}

void objective_add(struct objective *o, const struct search *s, pod_id id, int32_t priority)
{
	o->highest = priority > o->highest ? priority : o->highest;
	o->sum += (uint64_t)((int64_t)search_at(s, id)->priority - INT32_MIN);
	o->pods++;
	o->rank_sum += search_rank_of(s, id);
	o->start_sum += search_facts_of(s, id)->start_s;
}

const char *search_pod_name(const struct core *c, pod_id pod, uint32_t *bytes)
{
	*bytes = c->pods.slots[pod].name_bytes;
	return c->pods.slots[pod].name;
}
