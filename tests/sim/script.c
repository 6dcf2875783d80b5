/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

static const char *const act_names[ACT_KINDS] = {
	[ACT_POD_NEW] = "pod-new",
	[ACT_POD_DELETE] = "pod-delete",
	[ACT_POD_AGAIN] = "pod-again",
	[ACT_POD_END] = "pod-end",
	[ACT_POD_UNGATE] = "pod-ungate",
	[ACT_POD_GRAB] = "pod-grab",
	[ACT_POD_TOUCH] = "pod-touch",
	[ACT_GROUP_NEW] = "group-new",
	[ACT_GROUP_EDIT] = "group-edit",
	[ACT_GROUP_DELETE] = "group-delete",
	[ACT_FOREIGN] = "foreign",
	[ACT_NODE_NEW] = "node-new",
	[ACT_NODE_CORDON] = "node-cordon",
	[ACT_NODE_SIZE] = "node-size",
	[ACT_NODE_DELETE] = "node-delete",
	[ACT_CORE_DIES] = "core-dies",
	[ACT_FRONTEND_DIES] = "frontend-dies",
	[ACT_BOTH_DIE] = "both-die",
	[ACT_API_DIES] = "api-dies",
	[ACT_CORE_STOPS] = "core-stops",
	[ACT_FRONTEND_STOPS] = "frontend-stops",
	[ACT_COMPACT] = "compact",
	[ACT_WATCHES_CUT] = "watches-cut",
	[ACT_WATCHES_SLOW] = "watches-slow",
	[ACT_NET] = "net",
	[ACT_CUT] = "cut",
	[ACT_CLOCK] = "clock",
};

const char *act_name(enum act act)
{
	return act_names[act];
}

/* ---- random numbers -------------------------------------------------------- */

uint64_t sim_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t sim_next(uint64_t *state)
{
	return sim_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t sim_below(uint64_t *state, uint64_t n)
{
	return sim_next(state) % n;
}

bool sim_percent(uint64_t *state, unsigned percent)
{
	return sim_below(state, 100) < percent;
}

/* ---- the list ---------------------------------------------------------------- */

struct making {
	struct script *p;
	size_t room;
	uint64_t random;
	uint32_t pods, groups, nodes, foreigners;
};

static uint32_t below(struct making *m, uint32_t n)
{
	return (uint32_t)sim_below(&m->random, n);
}

static void add(struct making *m, uint64_t at_ns, enum act act, uint32_t a, uint32_t b, uint32_t c)
{
	struct script *p = m->p;

	if (p->n == m->room) {
		m->room = m->room > 0 ? m->room * 2 : 64;
		p->at = as_realloc(p->at, m->room * sizeof(*p->at));
	}
	p->at[p->n++] = (struct action){ .at_ns = at_ns, .act = act, .a = a, .b = b, .c = c };
}

static uint64_t any_time(struct making *m)
{
	return sim_below(&m->random, m->p->end_ns);
}

/* Group and members, in any order and with gaps; sometimes one is missing. */
static void add_gang(struct making *m)
{
	uint64_t at = any_time(m), gap = sim_below(&m->random, 3) == 0 ? 2 * SIM_S : 50 * SIM_MS;
	uint32_t size = 1 + below(m, 6), group = m->groups++, shape = below(m, 1000);
	uint32_t quorum = below(m, 4) == 0 ? 1 + below(m, size + 1) : size;

	bool raised = below(m, 4) == 0; /* for the members that come */

	add(m, at + sim_below(&m->random, gap), ACT_GROUP_NEW, group, raised ? 1 : quorum, 0);
	if (raised)
		add(m, at + sim_below(&m->random, gap), ACT_GROUP_EDIT, group, size - 1, 0);
	for (uint32_t i = 0; i < size && m->pods < SIM_PODS; i++)
		add(m, at + sim_below(&m->random, gap), ACT_POD_NEW, m->pods++, group,
		    below(m, 5) == 0 ? below(m, 1000) : shape);
}

static void add_load(struct making *m)
{
	uint32_t gangs = 1 + below(m, 10), lone = below(m, 10);

	while (gangs-- > 0 && m->groups < SIM_GROUPS)
		add_gang(m);
	while (lone-- > 0 && m->pods < SIM_PODS)
		add(m, any_time(m), ACT_POD_NEW, m->pods++, SIM_NONE, below(m, 1000));
}

static void add_some(struct making *m, unsigned n, enum act act, uint32_t of, uint32_t b,
                     uint32_t c)
{
	for (n = n > 0 && of > 0 ? below(m, n + 1) : 0; n > 0; n--)
		add(m, any_time(m), act, below(m, of), b > 0 ? below(m, b) : 0, c > 0 ? below(m, c) : 0);
}

static void add_churn(struct making *m)
{
	add_some(m, 6, ACT_POD_DELETE, m->pods, 3, 0);
	add_some(m, 4, ACT_POD_AGAIN, m->pods, 0, 0);
	add_some(m, 6, ACT_POD_END, m->pods, 2, 0);
	add_some(m, 6, ACT_POD_UNGATE, m->pods, 0, 0);
	add_some(m, 4, ACT_POD_TOUCH, m->pods, 0, 0);
	add_some(m, 2, ACT_GROUP_EDIT, m->groups, 7, 0);
	add_some(m, 2, ACT_GROUP_DELETE, m->groups, 0, 0);
}

static void add_foreign(struct making *m)
{
	uint32_t n = below(m, 8);

	while (n-- > 0)
		add(m, any_time(m), ACT_FOREIGN, m->foreigners++, 0, below(m, 1000));
	add_some(m, 3, ACT_POD_GRAB, m->pods, 0, 0);
	add_some(m, 3, ACT_NODE_CORDON, m->nodes, 2, 0);
	add_some(m, 3, ACT_NODE_SIZE, m->nodes, 9, 0);
	add_some(m, 2, ACT_NODE_DELETE, m->nodes, 0, 0);
	add_some(m, 2, ACT_NODE_NEW, SIM_NODES, 9, 0);
}

static void add_crashes(struct making *m)
{
	add_some(m, 3, ACT_CORE_DIES, m->p->instances, 3000, 0);
	add_some(m, 3, ACT_FRONTEND_DIES, m->p->instances, 3000, 0);
	add_some(m, 1, ACT_BOTH_DIE, m->p->instances, 3000, 0);
	add_some(m, 2, ACT_CORE_STOPS, m->p->instances, 5000, 0);
	add_some(m, 2, ACT_FRONTEND_STOPS, m->p->instances, 5000, 0);
}

static void add_faults(struct making *m)
{
	unsigned n = below(m, 8);

	while (n-- > 0)
		add(m, any_time(m), ACT_NET, 1 + below(m, FATES - 1), 100 + below(m, 10000),
		    5 + below(m, 96));
	add_some(m, 2, ACT_API_DIES, 1, 4000, 0);
	add_some(m, 2, ACT_COMPACT, 1, 0, 0);
	add_some(m, 3, ACT_WATCHES_CUT, 1, 0, 0);
	add_some(m, 3, ACT_WATCHES_SLOW, 1, 8000, 0);
	add_some(m, 1, ACT_CLOCK, 100000, 2, 0);
}

/* Who leads changes, and may not know it. */
static void add_lease(struct making *m)
{
	add_some(m, 2, ACT_CUT, 2, 40000, 0);
	add_some(m, 2, ACT_FRONTEND_STOPS, 2, 40000, 0);
	add_some(m, 1, ACT_CORE_STOPS, 2, 40000, 0);
	add_some(m, 1, ACT_FRONTEND_DIES, 2, 20000, 0);
}

/* Bindings whose fate is open, many of them at once. */
static void add_storm(struct making *m)
{
	static const enum fate fates[] = { FATE_LATE,      FATE_LATE_LOST,  FATE_LOST_REPLY,
		                               FATE_500_AFTER, FATE_409_BEFORE, FATE_403 };

	for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]); i++)
		if (below(m, 2) == 0)
			add(m, any_time(m), ACT_NET, fates[i], 3000 + below(m, 20000), 10 + below(m, 40));
}

static int by_time(const void *a, const void *b)
{
	const struct action *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->act != y->act)
		return x->act < y->act ? -1 : 1;
	return x->a < y->a ? -1 : x->a > y->a;
}

/* One seed in four knows no crash, one no fault of the network, half no others beside muster: what
 * a run leaves out is judged more strictly by what is left. */
void script_make(struct script *p, uint64_t seed)
{
	struct making m = { .p = p, .random = sim_mix(seed + 1) };
	uint32_t kind;

	*p = (struct script){ .seed = seed };
	p->end_ns = (5 + sim_below(&m.random, 25)) * SIM_S;
	p->event_ring_bytes = UINT64_C(4096) << below(&m, 5);
	p->result_ring_bytes = UINT64_C(128) << below(&m, 5);
	p->command_ring_bytes = UINT64_C(4096) << below(&m, 4);
	p->instances = sim_mix(seed ^ 0x1ea5e) % 8 == 0 ? 2 : 1;
	p->rate_permille = 900 + (uint32_t)(sim_mix(seed ^ 0xc10c) % 5) * 75;
	if (p->instances > 1)
		p->end_ns += 60 * SIM_S;
	p->hold_after_ns = below(&m, 4) == 0 ? 3 * SIM_S : 0;
	p->kubelets = below(&m, 8) != 0;
	p->foreign = below(&m, 2) != 0;
	kind = below(&m, 16);
	m.nodes = 1 + below(&m, 6);
	for (uint32_t i = 0; i < m.nodes; i++)
		add(&m, 0, ACT_NODE_NEW, i, 1 + below(&m, 8), 0);
	add_load(&m);
	add_churn(&m);
	if (p->foreign)
		add_foreign(&m);
	if ((kind & 3) != 0)
		add_crashes(&m);
	if (kind >> 2 != 0)
		add_faults(&m);
	if (kind >> 2 >= 2)
		add_storm(&m);
	if (p->instances > 1)
		add_lease(&m);
	qsort(p->at, p->n, sizeof(*p->at), by_time);
}

void script_free(struct script *p)
{
	free(p->at);
	*p = (struct script){ 0 };
}
