/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_slow_impl.h"
#include "tests/unit/test.h"

#include <math.h>

bool slow_takes_room(const struct pod *p, uint32_t node)
{
	return p->live && (p->where != NOWHERE || p->keeps) && p->node == node;
}

static int64_t used(const struct slow *s, uint32_t node, int amount)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		if (slow_takes_room(&s->pods[i], node))
			sum += s->shapes[s->pods[i].shape].amounts[amount];
	return sum;
}

static bool allowed(const struct slow *s, uint32_t shape, uint32_t node)
{
	const struct node *n = &s->nodes[node];

	return n->live && n->present && !n->cordoned && (!n->tainted || s->shapes[shape].tolerates) &&
	       (s->shapes[shape].zone == 0 || s->shapes[shape].zone == n->zone);
}

static bool fits(const struct slow *s, uint32_t shape, uint32_t node)
{
	if (!allowed(s, shape, node))
		return false;
	for (int a = 0; a < AMOUNTS; a++) {
		int64_t request = s->shapes[shape].amounts[a];

		if (request > 0 && used(s, node, a) + request > s->nodes[node].amounts[a])
			return false;
	}
	return true;
}

/* How even cpu and memory are used, with one more pod or without. */
static int64_t even(const struct slow *s, uint32_t shape, uint32_t node, int64_t pods)
{
	double shares[2];

	for (int a = CPU; a <= MEMORY; a++) {
		int64_t have = s->nodes[node].amounts[a];

		if (have == 0)
			return 100;
		shares[a - CPU] =
			(double)(used(s, node, a) + pods * s->shapes[shape].amounts[a]) / (double)have;
		if (shares[a - CPU] > 1)
			shares[a - CPU] = 1;
	}
	return (int64_t)((1 - fabs(shares[0] - shares[1]) / 2) * 100);
}

static int64_t balance(const struct slow *s, uint32_t shape, uint32_t node)
{
	if (s->score == SCORE_PACK ||
	    (s->shapes[shape].amounts[CPU] == 0 && s->shapes[shape].amounts[MEMORY] == 0))
		return 0;
	return 50 + (50 + even(s, shape, node, 1) - even(s, shape, node, 0)) / 2;
}

static int64_t score(const struct slow *s, uint32_t shape, uint32_t node)
{
	int64_t sum = 0, parts = 0;

	for (int a = CPU; a <= MEMORY; a++) {
		int64_t have = s->nodes[node].amounts[a];
		int64_t take = used(s, node, a) + s->shapes[shape].amounts[a];

		if (have == 0)
			continue;
		parts++;
		if (s->score == SCORE_PACK)
			sum += (take < have ? take : have) * 100 / have;
		else if (take <= have)
			sum += (have - take) * 100 / have;
	}
	return (parts ? sum / parts : 0) + balance(s, shape, node);
}

/* Names sort as ids do here: one letter each, see node_name(). */
static uint32_t best(const struct slow *s, uint32_t shape)
{
	uint32_t found = ID_NONE;

	for (uint32_t i = 0; i < SLOW_NODES; i++)
		if (fits(s, shape, i) && (found == ID_NONE || score(s, shape, i) > score(s, shape, found)))
			found = i;
	return found;
}

static bool ready(const struct slow *s, const struct pod *p)
{
	return p->live && p->where == NOWHERE && p->ours && !p->gated && !p->deleting && !p->refused &&
	       p->retry_ns <= s->time_ns;
}

static bool has_node(const struct pod *p)
{
	return p->where != NOWHERE && !p->withdrawn;
}

static bool counts(const struct pod *p, uint32_t gang)
{
	return p->live && p->gang == gang && !p->deleting && (has_node(p) || p->ours);
}

uint32_t slow_have(const struct slow *s, uint32_t gang)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		n += counts(&s->pods[i], gang) && has_node(&s->pods[i]);
	return n;
}

/* How many start together: of all, and of each role; the last counts who has none. */
struct quorum {
	int all, roles[SLOW_ROLES + 1];
};

static struct quorum quorum_of(const struct gang *g)
{
	struct quorum q = { .all = (int)g->quorum };

	for (uint32_t i = 0; i < SLOW_ROLES; i++)
		q.roles[i] = (int)g->roles[i];
	return q;
}

static void quorum_add(struct quorum *q, const struct pod *p, int n)
{
	q->all -= n;
	q->roles[p->role] -= n;
}

static bool quorum_met(const struct quorum *q)
{
	for (uint32_t i = 0; i < SLOW_ROLES; i++)
		if (q->roles[i] > 0)
			return false;
	return q->all <= 0;
}

/* What is missing beside those who have a node. */
static struct quorum missing(const struct slow *s, uint32_t gang, const struct gang *g)
{
	struct quorum q = quorum_of(g);

	for (uint32_t i = 0; i < SLOW_PODS && gang != ID_NONE; i++)
		if (counts(&s->pods[i], gang) && has_node(&s->pods[i]))
			quorum_add(&q, &s->pods[i], 1);
	return q;
}

/* Can so many of these pods be placed at once?  Tries everything. */
static bool can_place(struct slow *s, const uint32_t *pods, uint32_t n, struct quorum need)
{
	struct quorum one = need;
	bool found = false;

	if (quorum_met(&need))
		return true;
	if (n == 0 || need.all > (int)n)
		return false;
	quorum_add(&one, &s->pods[pods[0]], 1);
	for (uint32_t node = 0; node < SLOW_NODES && !found; node++) {
		struct pod *p = &s->pods[pods[0]];

		if (!fits(s, p->shape, node))
			continue;
		p->where = IN_FLIGHT;
		p->node = node;
		found = can_place(s, pods + 1, n - 1, one);
		p->where = NOWHERE;
	}
	return found || can_place(s, pods + 1, n - 1, need);
}

static bool minimum(const struct slow *s, uint32_t gang)
{
	const struct gang *g = &s->gangs[gang];
	int64_t cpu = 0, pods = 0;

	if (g->cpu == 0)
		return true;
	for (uint32_t node = 0; node < SLOW_NODES; node++) {
		int64_t free_cpu = s->nodes[node].amounts[CPU] - used(s, node, CPU);
		int64_t free_pods = s->nodes[node].amounts[PODS] - used(s, node, PODS);

		if (!s->nodes[node].live || !s->nodes[node].present)
			continue;
		for (uint32_t i = 0; i < SLOW_PODS; i++) {
			if (!slow_takes_room(&s->pods[i], node) || s->pods[i].gang != gang)
				continue;
			free_cpu += s->shapes[s->pods[i].shape].amounts[CPU];
			free_pods++;
		}
		cpu += free_cpu > 0 ? free_cpu : 0;
		pods += free_pods > 0 ? free_pods : 0;
	}
	return cpu >= g->cpu && pods >= g->quorum;
}

uint32_t slow_total(const struct gang *g)
{
	uint32_t of_roles = 0;

	for (uint32_t i = 0; i < SLOW_ROLES; i++)
		of_roles += g->roles[i];
	return g->quorum > of_roles ? g->quorum : of_roles;
}

/* Gangs that are whole have no first placement to complete any more. */
static void check_whole(struct slow *s)
{
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		struct quorum q = quorum_of(&s->gangs[gang]);

		for (uint32_t i = 0; i < SLOW_PODS; i++)
			if (counts(&s->pods[i], gang) &&
			    (s->pods[i].where == ANSWERED || s->pods[i].where == BOUND))
				quorum_add(&q, &s->pods[i], 1);
		if (quorum_met(&q) && !s->gangs[gang].missing)
			s->gangs[gang].begun = 0;
	}
}

/* It has begun, and may be whole yet without anybody else's doing. */
static bool keeps_on(const struct slow *s, uint32_t gang)
{
	struct quorum q, of_all;

	if (gang == ID_NONE || slow_have(s, gang) == 0 || s->gangs[gang].missing ||
	    s->gangs[gang].refused || s->gangs[gang].begun < slow_total(&s->gangs[gang]))
		return false;
	q = of_all = missing(s, gang, &s->gangs[gang]);
	for (uint32_t i = 0; i < SLOW_PODS; i++)
		if (counts(&s->pods[i], gang) && !has_node(&s->pods[i]) && !s->pods[i].gated &&
		    !s->pods[i].refused)
			quorum_add(&of_all, &s->pods[i], 1);
	return !quorum_met(&q) && quorum_met(&of_all);
}

/* A plan that failed gives up room that is not there, or all where nothing is held for the gang;
 * when one was tried is not told. */
static void check_given_up(struct slow *s)
{
	for (uint32_t i = 0; i < SLOW_PODS; i++) {
		struct pod *p = &s->pods[i];

		if (!p->keeps || !slow_core_keeps_nothing(s->core, i))
			continue;
		cr_assert(!s->gangs[p->gang].started,
		          "pod %u: the room that it kept on node %u was given up", i, p->node);
		p->keeps = false;
	}
}

/* It is no first placement any more if members of its plan are gone that its quorum needs. */
static void check_first(struct slow *s)
{
	uint32_t left[SLOW_GANGS] = { 0 };

	for (uint32_t i = 0; i < SLOW_PODS; i++) {
		struct pod *p = &s->pods[i];

		p->first = p->first && counts(p, p->gang);
		if (p->first)
			left[p->gang]++;
	}
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++)
		if (left[gang] < s->gangs[gang].begun && !s->gangs[gang].begins)
			s->gangs[gang].begun = left[gang] >= slow_total(&s->gangs[gang]) ? left[gang] : 0;
}

void check_kept(struct slow *s)
{
	check_first(s);
	for (uint32_t i = 0; i < SLOW_PODS; i++) {
		struct pod *p = &s->pods[i];

		p->keeps = p->keeps && p->live && p->where == NOWHERE && counts(p, p->gang) && !p->gated &&
		           !p->refused && p->node != ID_NONE && keeps_on(s, p->gang);
	}
}

void check_bind(struct slow *s, const struct cmd_bind *b)
{
	struct pod *p = &s->pods[b->pod];

	check_kept(s);
	for (uint32_t i = 0; i < SLOW_PODS; i++)
		if (p->gang != ID_NONE && s->pods[i].gang == p->gang)
			s->pods[i].keeps = false;
	check_given_up(s);
	cr_assert(p->live && p->generation == b->pod_generation, "a binding of another pod");
	cr_assert_eq(b->gang, p->gang);
	cr_assert(ready(s, p), "pod %u is not to be planned", b->pod);
	cr_assert(b->attempt > p->attempt);
	cr_assert_eq(b->node_generation, s->nodes[b->node].generation);
	cr_assert(fits(s, p->shape, b->node), "pod %u does not fit on node %u", b->pod, b->node);
	if (p->gang == ID_NONE || s->gangs[p->gang].alike)
		cr_assert_eq(b->node, best(s, p->shape), "pod %u: node %u is not the best, %u is", b->pod,
		             b->node, best(s, p->shape));
}

void check_before_plan(struct slow *s)
{
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		uint32_t shape = ID_NONE;

		s->gangs[gang].alike = true;
		s->gangs[gang].started = s->gangs[gang].begins = false;
		for (uint32_t i = 0; i < SLOW_PODS; i++) {
			const struct pod *p = &s->pods[i];

			if (p->gang != gang || !ready(s, p))
				continue;
			if (shape != ID_NONE && shape != p->shape)
				s->gangs[gang].alike = false;
			shape = p->shape;
		}
	}
}

/* Which reason a gang (or pod, as a gang of one) that waits must have been told. */
static uint32_t expected_why(struct slow *s, const uint32_t *pods, uint32_t n, const struct gang *g,
                             uint32_t gang)
{
	uint32_t ready_n = 0, gated = 0, backoff = 0, nodes = 0, list[SLOW_PODS];
	struct quorum need = missing(s, gang, g), of_ready, of_backoff, of_gated, of_all;

	of_ready = of_backoff = of_gated = of_all = need;
	for (uint32_t i = 0; i < n; i++) {
		const struct pod *p = &s->pods[pods[i]];
		bool is_backoff = !ready(s, p) && !p->gated && !p->refused;

		if (ready(s, p))
			list[ready_n++] = pods[i];
		gated += p->gated;
		backoff += is_backoff;
		quorum_add(&of_ready, p, ready(s, p));
		quorum_add(&of_backoff, p, ready(s, p) || is_backoff);
		quorum_add(&of_gated, p, ready(s, p) || is_backoff || p->gated);
		quorum_add(&of_all, p, 1);
	}
	for (uint32_t i = 0; i < SLOW_NODES; i++)
		nodes += s->nodes[i].live && s->nodes[i].present;
	if (g->missing)
		return WAIT_GROUP_MISSING;
	if (g->refused)
		return WAIT_REFUSED;
	if (quorum_met(&need) && ready_n == 0)
		return backoff ? WAIT_BIND_REFUSED : gated ? WAIT_GATED : WAIT_REFUSED;
	if (of_all.all > 0)
		return WAIT_MEMBERS;
	if (!quorum_met(&of_all))
		return WAIT_ROLE;
	if (!quorum_met(&of_ready))
		return quorum_met(&of_backoff) ? WAIT_BIND_REFUSED
		       : quorum_met(&of_gated) ? WAIT_GATED
		                               : WAIT_REFUSED;
	if (nodes == 0)
		return WAIT_NO_NODES;
	if (gang != ID_NONE && slow_have(s, gang) == 0 && !minimum(s, gang))
		return WAIT_MIN_RESOURCES;
	if (quorum_met(&need))
		need.all = 1;
	if (can_place(s, list, ready_n, need))
		return WAIT_GAVE_UP;
	return WAIT_ROOM;
}

static bool no_room(uint32_t why)
{
	return why == WAIT_NO_NODES || why == WAIT_ROOM || why == WAIT_MIN_RESOURCES;
}

/* As if nobody of the gang kept room: to the gang itself it is free. */
static uint32_t expected_with_kept(struct slow *s, const uint32_t *pods, uint32_t n,
                                   const struct gang *g, uint32_t gang)
{
	uint32_t nodes[SLOW_PODS], why;
	bool keeps[SLOW_PODS];

	for (uint32_t i = 0; i < n; i++) {
		nodes[i] = s->pods[pods[i]].node;
		keeps[i] = s->pods[pods[i]].keeps;
		s->pods[pods[i]].keeps = false;
	}
	why = expected_why(s, pods, n, g, gang);
	for (uint32_t i = 0; i < n; i++) {
		s->pods[pods[i]].node = nodes[i];
		s->pods[pods[i]].keeps = keeps[i];
	}
	return why;
}

static void check_waiting(struct slow *s, const uint32_t *pods, uint32_t n, const struct gang *g,
                          uint32_t gang, uint32_t told)
{
	uint32_t expected;

	if (n == 0)
		return;
	/* A backoff may end a little late, and is checked then. */
	for (uint32_t i = 0; i < n; i++)
		if (told == WAIT_BIND_REFUSED && s->pods[pods[i]].retry_ns + 20000000 > s->time_ns)
			return;
	expected = expected_with_kept(s, pods, n, g, gang);
	/* Only a gang of several shapes can be beyond the planner, and then it says so;
	 * it may say so of one that can't be placed as well. */
	if (told == WAIT_GAVE_UP) {
		cr_assert(gang != ID_NONE && !g->alike, "gang %u: gave up", gang);
		s->counts.gave_up += expected == WAIT_GAVE_UP;
		return;
	}
	cr_assert_neq(expected, WAIT_GAVE_UP, "gang %u pod %u: told %u, could start", gang, pods[0],
	              told);
	/* Between the kinds of having no room, news may be two seconds late. */
	if (!s->refreshed && no_room(told) && no_room(expected))
		return;
	cr_assert_eq(told, expected, "gang %u pod %u: told %u, %u is right", gang, pods[0], told,
	             expected);
}

static void check_rest(struct slow *s)
{
	static const struct gang alone = { .quorum = 1, .alike = true };

	check_before_plan(s); /* `alike` as it is now; `started` is checked already */
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		uint32_t pods[SLOW_PODS], n = 0;

		for (uint32_t i = 0; i < SLOW_PODS; i++)
			if (counts(&s->pods[i], gang) && !has_node(&s->pods[i]))
				pods[n++] = i;
		if (s->gangs[gang].live)
			check_waiting(s, pods, n, &s->gangs[gang], gang, s->gangs[gang].why);
	}
	for (uint32_t i = 0; i < SLOW_PODS; i++)
		if (counts(&s->pods[i], ID_NONE) && !has_node(&s->pods[i]))
			check_waiting(s, &i, 1, &alone, ID_NONE, s->pods[i].why);
}

static void check_started(struct slow *s)
{
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		struct quorum q = missing(s, gang, &s->gangs[gang]);

		if (!s->gangs[gang].started)
			continue;
		s->counts.gangs_started++;
		s->counts.gangs_with_roles += s->gangs[gang].roles[0] + s->gangs[gang].roles[1] > 0;
		cr_assert(quorum_met(&q), "gang %u started with %u of %u, of roles %d and %d are missing",
		          gang, slow_have(s, gang), s->gangs[gang].quorum, q.roles[0], q.roles[1]);
	}
}

void check_after_plan(struct slow *s)
{
	check_whole(s);
	check_kept(s);
	check_given_up(s);
	check_started(s);
	check_rest(s);
}
