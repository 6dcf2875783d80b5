/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/reclaim_marks.h"

#include "core/base/names.h"
#include "core/cycle/reclaim.h"
#include "core/cycle/turn_asks.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"
#include "core/search/search.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

/* A pod, or a gang with all of its bound members. */
struct unit {
	bool whole; /* else a member beyond the quorum */
	share_t over;
	int32_t priority; /* of a member: its gang's */
	uint32_t start_s; /* likewise */
	uint32_t since_s; /* it has run since then; 0: it has not started */
	uint32_t gang;    /* whole: ID_NONE: the pod alone */
	pod_id pod;
	/* Of a member. */
	int32_t deletion_cost;
	int32_t completion_index;
	uint32_t pod_start_s;
};

/* Members of one role that may go one by one, so that the others make its quorum. */
struct role_surplus {
	uint32_t role;
	uint32_t left;
};

struct marking {
	const struct core *c; /* has the queues and the gang */
	const struct pods *kept;
	const struct search_facts *facts;
	uint32_t gang;
	int32_t priority; /* of the gang */
	struct share_ask ask;
	struct reclaim_marks out;
	bool *listed;      /* by group */
	uint32_t *surplus; /* by group: members that may go one by one ... */
	uint32_t *roles;   /* ... and index of the first role_surplus, for each of its roles */
	struct role_surplus *role_surplus;
	size_t role_surplus_n, role_surplus_cap;
	struct unit *units;
	size_t n, cap;
	struct reclaim_young young;
	bool *counted; /* by pod: in `young`; it may be a unit, and a member of one that is whole */
};

/* Victims of nominations are deleted in the kept core (core/world/keeper.h), whatever their records
 * say: they end anyway, and are supposed gone with all that does. */
static bool runs(const struct marking *m, pod_id id)
{
	const struct pod *p = &m->c->pods.slots[id], *kept = pods_find(m->kept, id);

	return p->generation != 0 && p->node != ID_NONE && reservation_is_bound(p) && kept &&
	       !((p->flags | kept->flags) & POD_DELETING);
}

static void unit_add(struct marking *m, const struct unit *u)
{
	m->units = must_reach(m->units, &m->cap, m->n, 64, sizeof(*m->units));
	m->units[m->n++] = *u;
}

/* By how much its queue is over its guarantee; one whose queue is gone is over none. */
static share_t over_of(const struct marking *m, pod_id id)
{
	const struct shares *s = m->c->turns.shares;
	const uint32_t queue = queued_of(m->c, id);

	return queue < shares_set(s)->n ? shares_over(s, queue, &m->ask) : 0;
}

static uint32_t since_of(uint32_t start_s)
{
	return start_s != START_NONE ? start_s : 0;
}

static void pod_list(struct marking *m, pod_id id)
{
	const uint32_t start_s = m->facts->pods[id].start_s;

	unit_add(m, &(struct unit){ .whole = true,
	                            .over = over_of(m, id),
	                            .priority = m->c->pods.slots[id].priority,
	                            .start_s = start_s,
	                            .since_s = since_of(start_s),
	                            .gang = ID_NONE,
	                            .pod = id });
}

/* A member that may be beyond the quorum of its gang, `of`; its leader is not. */
static void member_list(struct marking *m, pod_id id, const struct unit *of)
{
	struct unit u = *of;

	if (m->facts->pods[id].leads)
		return;
	u.whole = false;
	u.over = over_of(m, id); /* members may be of several queues */
	u.pod = id;
	u.deletion_cost = m->facts->pods[id].deletion_cost;
	u.completion_index = m->facts->pods[id].completion_index;
	u.pod_start_s = m->facts->pods[id].start_s;
	unit_add(m, &u);
}

/* All of its members that run; *bound: how many count for its quorum. */
static struct unit gang_unit(const struct marking *m, uint32_t gang, uint32_t *bound)
{
	const struct gang *g = &m->c->gangs.slots[gang];
	struct unit u = { .whole = true, .priority = INT32_MIN, .start_s = START_NONE, .gang = gang };

	*bound = m->facts->gangs[gang].succeeded;
	for (pod_id id = g->first; id != ID_NONE; id = m->c->pods.slots[id].next) {
		const struct pod *p = &m->c->pods.slots[id];

		if (!runs(m, id))
			continue;
		(*bound)++;
		u.pod = id;
		u.priority = p->priority > u.priority ? p->priority : u.priority;
		if (m->facts->pods[id].start_s < u.start_s)
			u.start_s = m->facts->pods[id].start_s;
	}
	if (g->flags & GANG_PRIORITY)
		u.priority = g->parts->priority;
	u.since_s = since_of(u.start_s);
	return u;
}

/* `bound` members count for the gang's quorum. */
static void surplus_set(struct marking *m, uint32_t gang, uint32_t bound)
{
	const struct gang *g = &m->c->gangs.slots[gang];

	m->surplus[gang] = bound > g->declared ? bound - g->declared : 0;
	m->roles[gang] = (uint32_t)m->role_surplus_n;
	for (uint32_t r = 0; r < gang_roles_n(g) && m->surplus[gang] > 0; r++) {
		struct role_surplus s = { .role = g->parts->roles[r].role };

		for (pod_id id = g->first; id != ID_NONE; id = m->c->pods.slots[id].next)
			s.left += runs(m, id) && m->c->pods.slots[id].role == s.role;
		s.left -= s.left < g->parts->roles[r].quorum ? s.left : g->parts->roles[r].quorum;
		m->role_surplus = must_reach(m->role_surplus, &m->role_surplus_cap, m->role_surplus_n, 16,
		                             sizeof(*m->role_surplus));
		m->role_surplus[m->role_surplus_n++] = s;
	}
}

/* Of the member's role; NULL: no quorum counts its role. */
static struct role_surplus *role_of(const struct marking *m, const struct unit *u)
{
	const struct gang *g = &m->c->gangs.slots[u->gang];

	for (uint32_t r = 0; r < gang_roles_n(g); r++)
		if (m->role_surplus[m->roles[u->gang] + r].role == m->c->pods.slots[u->pod].role)
			return &m->role_surplus[m->roles[u->gang] + r];
	return NULL;
}

/* Its members beyond the quorum one by one, and all of them together. */
static void gang_list(struct marking *m, uint32_t gang)
{
	const struct gang *g = &m->c->gangs.slots[gang];
	uint32_t bound;
	struct unit u = gang_unit(m, gang, &bound);
	bool spared = false;

	for (pod_id id = g->first; id != ID_NONE && !spared; id = m->c->pods.slots[id].next)
		spared =
			runs(m, id) && (search_spares(m->facts, id) || !reclaim_is_other(m->c, m->gang, id));
	if (m->facts->gangs[gang].mode == DISRUPT_QUORUM)
		surplus_set(m, gang, bound);
	u.over = over_of(m, u.pod);
	if (!spared)
		unit_add(m, &u);
	for (pod_id id = g->first; m->surplus[gang] > 0 && id != ID_NONE;
	     id = m->c->pods.slots[id].next)
		if (runs(m, id) && !search_spares(m->facts, id) && reclaim_is_other(m->c, m->gang, id))
			member_list(m, id, &u);
}

/* A gang of the same queue gives the members beyond its quorum to gangs of at least its priority.
 */
static void extras_list(struct marking *m, uint32_t gang)
{
	const struct gang *g = &m->c->gangs.slots[gang];
	uint32_t bound;
	const struct unit u = gang_unit(m, gang, &bound);

	if (u.priority > m->priority || bound <= g->declared)
		return;
	surplus_set(m, gang, bound);
	for (pod_id id = g->first; id != ID_NONE; id = m->c->pods.slots[id].next)
		if (runs(m, id) && !search_spares(m->facts, id))
			member_list(m, id, &u);
}

/* Of the gang's own queue. */
static void own_list(struct marking *m, uint32_t gang)
{
	if (gang == ID_NONE || gang == m->gang || !gang_is_group(&m->c->gangs, gang) ||
	    m->listed[gang] || m->facts->gangs[gang].mode != DISRUPT_QUORUM ||
	    queued_gang(m->c, gang) != queued_gang(m->c, m->gang))
		return;
	m->listed[gang] = true;
	extras_list(m, gang);
}

static void units_list(struct marking *m)
{
	for (pod_id id = 0; id < m->c->pods.used; id++) {
		const struct pod *p = &m->c->pods.slots[id];

		if (p->generation == 0 || p->node == ID_NONE)
			continue;
		if (!reclaim_is_other(m->c, m->gang, id)) {
			own_list(m, p->gang);
			continue;
		}
		m->out.marks[id] = RECLAIM_SPARED;
		if (!runs(m, id) || search_spares(m->facts, id))
			continue;
		if (p->gang == ID_NONE || !gang_is_group(&m->c->gangs, p->gang) ||
		    m->facts->gangs[p->gang].mode == DISRUPT_POD) {
			pod_list(m, id);
		} else if (!m->listed[p->gang]) {
			m->listed[p->gang] = true;
			gang_list(m, p->gang);
		}
	}
}

/* Of two members beyond quorums: gang by gang.  What a gang says of its members decides between
 * them alone, so that none can buy itself a better place before the members of others. */
static int members_compare(const struct core *c, const struct unit *x, const struct unit *y)
{
	const struct gang *g = &c->gangs.slots[x->gang], *h = &c->gangs.slots[y->gang];

	if (x->gang != y->gang)
		return names_compare(g->name, g->name_bytes, h->name, h->name_bytes);
	if (x->deletion_cost != y->deletion_cost)
		return x->deletion_cost < y->deletion_cost ? -1 : 1;
	if (x->completion_index != y->completion_index)
		return x->completion_index > y->completion_index ? -1 : 1;
	if (x->pod_start_s != y->pod_start_s)
		return x->pod_start_s > y->pod_start_s ? -1 : 1;
	return 0;
}

/* In the order in which they are given back. */
static int units_compare(const void *a, const void *b, void *context)
{
	const struct unit *x = a, *y = b;
	const struct core *c = context;
	const struct pod *p = &c->pods.slots[x->pod], *q = &c->pods.slots[y->pod];
	int order;

	if (x->whole != y->whole)
		return x->whole ? 1 : -1;
	if (x->over != y->over)
		return x->over > y->over ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->start_s != y->start_s)
		return x->start_s > y->start_s ? -1 : 1;
	order = x->whole ? 0 : members_compare(c, x, y);
	return order ? order : names_compare(p->name, p->name_bytes, q->name, q->name_bytes);
}

/* True if the pod of the unit would be given, but has not run for long enough. */
static bool is_young(struct marking *m, const struct unit *u, pod_id id)
{
	const uint32_t min_run_s = reclaim_min_run_s(m->c, m->gang, id);
	uint32_t until_s;

	if (reclaim_has_run(m->c, u->since_s, min_run_s))
		return false;
	m->young.pods += !m->counted[id];
	m->counted[id] = true;
	until_s = u->since_s < UINT32_MAX - min_run_s ? u->since_s + min_run_s : UINT32_MAX;
	if (u->since_s > 0 && (m->young.until_s == 0 || until_s < m->young.until_s))
		m->young.until_s = until_s;
	return true;
}

static bool is_given(const struct marking *m, pod_id id)
{
	return runs(m, id) && m->out.marks[id] != RECLAIM_MAY;
}

static void pod_mark(struct marking *m, pod_id id, const struct unit *of)
{
	m->out.marks[id] = RECLAIM_MAY;
	m->out.ranks[id] = (uint32_t)(of - m->units);
}

/* All of it goes, or what did stays. */
static void gang_give(struct marking *m, const struct unit *u)
{
	const struct gang *g = &m->c->gangs.slots[u->gang];
	bool allowed = true, young = false;

	for (pod_id id = g->first; id != ID_NONE; id = m->c->pods.slots[id].next)
		if (is_given(m, id))
			reclaim_suppose(m->c, id, true);
	for (pod_id id = g->first; id != ID_NONE && allowed; id = m->c->pods.slots[id].next)
		allowed = !runs(m, id) || reclaim_allows(m->c, m->gang, &m->ask, id);
	for (pod_id id = g->first; id != ID_NONE && allowed; id = m->c->pods.slots[id].next)
		young = (runs(m, id) && is_young(m, u, id)) || young;
	allowed = allowed && !young;
	for (pod_id id = g->first; id != ID_NONE; id = m->c->pods.slots[id].next) {
		if (!is_given(m, id))
			continue;
		if (allowed)
			pod_mark(m, id, u);
		else
			reclaim_suppose(m->c, id, false);
	}
}

/* What the own queue gives stays in its use here: else the search could take for it, of another
 * queue, what is inside the guarantee only when that went as well. */
static void pod_give(struct marking *m, const struct unit *u)
{
	struct role_surplus *role = u->whole ? NULL : role_of(m, u);

	if ((!u->whole && m->surplus[u->gang] == 0) || (role && role->left == 0))
		return;
	if (reclaim_is_other(m->c, m->gang, u->pod)) {
		reclaim_suppose(m->c, u->pod, true);
		if (!reclaim_allows(m->c, m->gang, &m->ask, u->pod) || is_young(m, u, u->pod)) {
			reclaim_suppose(m->c, u->pod, false);
			return;
		}
	}
	pod_mark(m, u->pod, u);
	if (!u->whole)
		m->surplus[u->gang]--;
	if (role)
		role->left--;
}

uint8_t *reclaim_marks_lone(const struct kept *kept, const struct core *has, pod_id pod)
{
	const struct core *c = kept->world;
	uint32_t queue, of;
	uint8_t *marks;

	if (!reclaim_is_on(c))
		return NULL;
	queue = queued_id(has, queued_of(has, pod));
	marks = must_array(c->pods.limit, sizeof(*marks));
	for (pod_id id = 0; id < c->pods.used && queue != QUEUE_MISSING; id++) {
		of = c->pods.slots[id].generation != 0 ? queued_id(c, queued_of(c, id)) : QUEUE_MISSING;
		if (of != QUEUE_MISSING && of != queue)
			marks[id] = RECLAIM_SPARED;
	}
	return marks;
}

/* What is not marked goes after all that is: of the gang's own queue, by priority. */
static void marks_make(struct marking *m)
{
	const struct core *c = m->c;

	m->out.marks = must_array(c->pods.limit, sizeof(*m->out.marks));
	m->out.ranks = must_array(c->pods.limit, sizeof(*m->out.ranks));
	units_list(m);
	if (m->n > 1)
		qsort_r(m->units, m->n, sizeof(*m->units), units_compare, (void *)(uintptr_t)c);
	for (pod_id id = 0; id < c->pods.used; id++)
		m->out.ranks[id] = (uint32_t)m->n;
	reclaim_suppose_ending(c, true);
	for (size_t i = 0; i < m->n; i++) {
		if (m->units[i].whole && m->units[i].gang != ID_NONE)
			gang_give(m, &m->units[i]);
		else
			pod_give(m, &m->units[i]);
	}
	for (pod_id id = 0; id < c->pods.used; id++)
		if (m->out.marks[id] == RECLAIM_MAY && reclaim_is_other(c, m->gang, id))
			reclaim_suppose(c, id, false);
	reclaim_suppose_ending(c, false);
}

struct reclaim_marks reclaim_marks(struct kept *kept, const struct core *has, gang_id gang)
{
	struct marking m = { .c = has,
		                 .kept = &kept->core->pods,
		                 .facts = &kept->facts,
		                 .gang = gang,
		                 .priority = gang_priority(&kept->core->gangs.slots[gang]) };

	kept->young = (struct reclaim_young){ 0 };
	if (!reclaim_is_on(has))
		return m.out;
	m.surplus = must_array(has->gangs.groups + 1u, sizeof(*m.surplus));
	m.roles = must_array(has->gangs.groups + 1u, sizeof(*m.roles));
	m.listed = must_array(has->gangs.groups + 1u, sizeof(*m.listed));
	m.counted = must_array(has->pods.limit, sizeof(*m.counted));
	ask_find(has, gang, &m.ask);
	marks_make(&m);
	kept->young = m.young;
	free(m.surplus);
	free(m.roles);
	free(m.role_surplus);
	free(m.listed);
	free(m.counted);
	free(m.units);
	return m.out;
}

void reclaim_marks_free(struct reclaim_marks *marks)
{
	free(marks->marks);
	free(marks->ranks);
}
