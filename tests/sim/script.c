/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/making.h"

#include <stdlib.h>
#include <string.h>

static const char *const action_names[ACTION_KINDS] = {
	[ACTION_POD_NEW] = "pod-new",
	[ACTION_POD_DELETE] = "pod-delete",
	[ACTION_POD_AGAIN] = "pod-again",
	[ACTION_POD_END] = "pod-end",
	[ACTION_POD_UNGATE] = "pod-ungate",
	[ACTION_POD_GRAB] = "pod-grab",
	[ACTION_POD_TOUCH] = "pod-touch",
	[ACTION_GROUP_NEW] = "group-new",
	[ACTION_GROUP_EDIT] = "group-edit",
	[ACTION_GROUP_DELETE] = "group-delete",
	[ACTION_TENANT] = "tenant",
	[ACTION_FOREIGN] = "foreign",
	[ACTION_NODE_NEW] = "node-new",
	[ACTION_NODE_CORDON] = "node-cordon",
	[ACTION_NODE_SIZE] = "node-size",
	[ACTION_NODE_DELETE] = "node-delete",
	[ACTION_CLAIM_TAKE] = "claim-take",
	[ACTION_CLAIM_GIVE] = "claim-give",
	[ACTION_CORE_DIES] = "core-dies",
	[ACTION_FRONTEND_DIES] = "frontend-dies",
	[ACTION_BOTH_DIE] = "both-die",
	[ACTION_API_DIES] = "api-dies",
	[ACTION_CORE_STOPS] = "core-stops",
	[ACTION_FRONTEND_STOPS] = "frontend-stops",
	[ACTION_BOTH_STOP] = "both-stop",
	[ACTION_PAUSE] = "pause",
	[ACTION_COMPACT] = "compact",
	[ACTION_WATCHES_CUT] = "watches-cut",
	[ACTION_WATCHES_SLOW] = "watches-slow",
	[ACTION_NET] = "net",
	[ACTION_CUT] = "cut",
	[ACTION_CLOCK] = "clock",
	[ACTION_QUEUES] = "queues",
};

const char *action_name(enum action_kind kind)
{
	return action_names[kind];
}

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

uint32_t making_below(struct making *m, uint32_t n)
{
	return (uint32_t)sim_below(&m->random, n);
}

void making_add(struct making *m, uint64_t at_ns, enum action_kind kind, uint32_t a, uint32_t b,
                uint32_t c)
{
	struct script *p = m->p;

	if (p->n == m->room) {
		m->room = m->room > 0 ? m->room * 2 : 64;
		p->at = as_realloc(p->at, m->room * sizeof(*p->at));
	}
	p->at[p->n++] = (struct action){ .at_ns = at_ns, .kind = kind, .a = a, .b = b, .c = c };
}

static uint64_t any_time(struct making *m)
{
	return sim_below(&m->random, m->p->end_ns);
}

/* Group and members, in any order and with gaps; sometimes one is missing. */
static void add_gang(struct making *m)
{
	uint64_t at = any_time(m), gap = sim_below(&m->random, 3) == 0 ? 2 * SIM_S : 50 * SIM_MS;
	uint32_t size = 1 + making_below(m, 6), group = m->groups++, shape = making_below(m, 1000);
	uint32_t quorum = making_below(m, 4) == 0 ? 1 + making_below(m, size + 1) : size;

	bool raised = making_below(m, 4) == 0; /* for the members that come */

	making_add(m, at + sim_below(&m->random, gap), ACTION_GROUP_NEW, group, raised ? 1 : quorum, 0);
	if (raised)
		making_add(m, at + sim_below(&m->random, gap), ACTION_GROUP_EDIT, group, size - 1, 0);
	for (uint32_t i = 0; i < size && m->pods < SIM_PODS; i++)
		making_add(m, at + sim_below(&m->random, gap), ACTION_POD_NEW, m->pods++, group,
		           making_below(m, 5) == 0 ? making_below(m, 1000) : shape);
}

static void add_load(struct making *m)
{
	uint32_t gangs = 1 + making_below(m, 10), lone = making_below(m, 10);

	while (gangs-- > 0 && m->groups < SIM_GROUPS)
		add_gang(m);
	while (lone-- > 0 && m->pods < SIM_PODS)
		making_add(m, any_time(m), ACTION_POD_NEW, m->pods++, SIM_NONE, making_below(m, 1000));
}

static void add_some(struct making *m, unsigned n, enum action_kind kind, uint32_t of, uint32_t b,
                     uint32_t c)
{
	for (n = n > 0 && of > 0 ? making_below(m, n + 1) : 0; n > 0; n--)
		making_add(m, any_time(m), kind, making_below(m, of), b > 0 ? making_below(m, b) : 0,
		           c > 0 ? making_below(m, c) : 0);
}

static void add_churn(struct making *m)
{
	add_some(m, 6, ACTION_POD_DELETE, m->pods, 3, 0);
	add_some(m, 4, ACTION_POD_AGAIN, m->pods, 0, 0);
	add_some(m, 6, ACTION_POD_END, m->pods, 2, 0);
	add_some(m, 6, ACTION_POD_UNGATE, m->pods, 0, 0);
	add_some(m, 4, ACTION_POD_TOUCH, m->pods, 0, 0);
	add_some(m, 2, ACTION_GROUP_EDIT, m->groups, 7, 0);
	add_some(m, 2, ACTION_GROUP_DELETE, m->groups, 0, 0);
}

static void add_foreign(struct making *m)
{
	uint32_t n = making_below(m, 8);

	while (n-- > 0)
		making_add(m, any_time(m), ACTION_FOREIGN, m->foreigners++, 0, making_below(m, 1000));
	add_some(m, 3, ACTION_POD_GRAB, m->pods, 0, 0);
	add_some(m, 3, ACTION_NODE_CORDON, m->nodes, 2, 0);
	add_some(m, 3, ACTION_NODE_SIZE, m->nodes, 9, 0);
	add_some(m, 2, ACTION_NODE_DELETE, m->nodes, 0, 0);
	add_some(m, 2, ACTION_NODE_NEW, SIM_NODES, 9, 0);
}

static void add_crashes(struct making *m)
{
	add_some(m, 3, ACTION_CORE_DIES, m->p->instances, 3000, 0);
	add_some(m, 3, ACTION_FRONTEND_DIES, m->p->instances, 3000, 0);
	add_some(m, 1, ACTION_BOTH_DIE, m->p->instances, 3000, 0);
	add_some(m, 2, ACTION_CORE_STOPS, m->p->instances, 5000, 0);
	add_some(m, 2, ACTION_FRONTEND_STOPS, m->p->instances, 5000, 0);
	add_some(m, 1, ACTION_BOTH_STOP, m->p->instances, 5000, 0);
}

static void add_faults(struct making *m)
{
	unsigned n = making_below(m, 8);

	while (n-- > 0)
		making_add(m, any_time(m), ACTION_NET, 1 + making_below(m, FATES - 1),
		           100 + making_below(m, 10000), 5 + making_below(m, 96));
	add_some(m, 2, ACTION_API_DIES, 1, 4000, 0);
	add_some(m, 2, ACTION_COMPACT, 1, 0, 0);
	add_some(m, 3, ACTION_WATCHES_CUT, 1, 0, 0);
	add_some(m, 3, ACTION_WATCHES_SLOW, 1, 8000, 0);
	add_some(m, 1, ACTION_CLOCK, 100000, 2, 0);
}

/* The leader changes, and may not notice. */
static void add_lease(struct making *m)
{
	add_some(m, 2, ACTION_CUT, 2, 40000, 0);
	add_some(m, 2, ACTION_FRONTEND_STOPS, 2, 40000, 0);
	add_some(m, 1, ACTION_BOTH_STOP, 2, 40000, 0);
	add_some(m, 1, ACTION_CORE_STOPS, 2, 40000, 0);
	add_some(m, 1, ACTION_FRONTEND_DIES, 2, 20000, 0);
}

/* Many Bindings at once whose outcome is unknown. */
static void add_storm(struct making *m)
{
	static const enum fate fates[] = { FATE_LATE,      FATE_LATE_LOST,  FATE_LOST_REPLY,
		                               FATE_500_AFTER, FATE_409_BEFORE, FATE_403,
		                               FATE_WEBHOOK,   FATE_QUEUE,      FATE_ETCD };

	for (size_t i = 0; i < sizeof(fates) / sizeof(fates[0]); i++)
		if (making_below(m, 2) == 0)
			making_add(m, any_time(m), ACTION_NET, fates[i], 3000 + making_below(m, 20000),
			           10 + making_below(m, 40));
}

static void draw_knobs(struct knobs *k, uint64_t seed)
{
	uint64_t random = sim_mix(seed ^ 0xb1661f7);

	*k = (struct knobs){ .bind_connections = 4,
		                 .bind_deadline_ms = 4000,
		                 .report_per_second = 50,
		                 .report_queue = 1000,
		                 .lease_ns = 15 * SIM_S };
	if (sim_below(&random, 2) == 0)
		return;
	k->bind_connections = 1 + (unsigned)sim_below(&random, 6);
	if (sim_below(&random, 3) == 0)
		k->bind_deadline_ms = 2 + (uint32_t)sim_below(&random, 4);
	if (sim_below(&random, 3) == 0)
		k->report_per_second = 1 + (unsigned)sim_below(&random, 10);
	if (sim_below(&random, 3) == 0)
		k->report_queue = 1 + sim_below(&random, 8);
	if (sim_below(&random, 2) == 0)
		k->journal_gather_ns = 1 + sim_below(&random, 500 * SIM_MS);
	if (sim_below(&random, 2) == 0)
		k->journal_remove_ns = 1 + sim_below(&random, 10 * SIM_S);
	if (sim_below(&random, 3) == 0)
		k->journal_intents = 1 + sim_below(&random, 4);
	if (sim_below(&random, 3) == 0)
		k->lease_ns = (3 + sim_below(&random, 10)) * SIM_S;
	k->early_percent = (unsigned)sim_below(&random, 3) * 20;
	if (sim_below(&random, 2) == 0) {
		k->bind_connections_first = k->bind_connections;
		k->bind_connections = 256;
	}
	/* A Binding is over before another instance may lead. */
	if (k->bind_deadline_ms > k->lease_ns / SIM_MS * 4 / 15)
		k->bind_deadline_ms = (uint32_t)(k->lease_ns / SIM_MS * 4 / 15);
}

static int by_time(const void *a, const void *b)
{
	const struct action *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->a < y->a ? -1 : x->a > y->a;
}

/* One seed in four has no crash, one in four no network fault, half have no other scheduler: with
 * fewer kinds of fault the checks excuse less. */
void script_make(struct script *p, uint64_t seed)
{
	struct making m = { .p = p, .random = sim_mix(seed + 1) };
	const bool hole = sim_mix(seed ^ 0x401e) % 3 == 0;
	uint32_t kind;

	*p = (struct script){ .seed = seed };
	p->end_ns = (5 + sim_below(&m.random, 25)) * SIM_S;
	p->event_ring_bytes = UINT64_C(4096) << making_below(&m, 5);
	p->result_ring_bytes = UINT64_C(128) << making_below(&m, 5);
	p->command_ring_bytes = UINT64_C(4096) << making_below(&m, 4);
	p->instances = sim_mix(seed ^ 0x1ea5e) % (hole ? 3 : 8) == 0 ? 2 : 1;
	p->rate_permille = 900 + (uint32_t)(sim_mix(seed ^ 0xc10c) % 5) * 75;
	if (p->instances > 1)
		p->end_ns += 60 * SIM_S;
	p->reserve_after_ns = making_below(&m, 4) == 0 ? 3 * SIM_S : 0;
	draw_knobs(&p->knobs, seed);
	p->late_percent = (uint32_t)(sim_mix(seed ^ 0x1a7e) % 4) * 33;
	p->kubelets = making_below(&m, 8) != 0;
	p->foreign = making_below(&m, 2) != 0;
	kind = making_below(&m, 16);
	m.nodes = 1 + making_below(&m, 6);
	for (uint32_t i = 0; i < m.nodes; i++)
		making_add(&m, 0, ACTION_NODE_NEW, i, 1 + making_below(&m, 8), 0);
	add_load(&m);
	add_churn(&m);
	if (p->foreign)
		add_foreign(&m);
	/* Other faults often prevent what the hole needs. */
	if (hole && sim_mix(seed ^ 0x401f) % 2 == 0)
		kind = 0;
	if ((kind & 3) != 0)
		add_crashes(&m);
	if (kind >> 2 != 0)
		add_faults(&m);
	if (kind >> 2 >= 2)
		add_storm(&m);
	if (p->instances > 1)
		add_lease(&m);
	if (p->instances > 1 && sim_mix(seed ^ 0x9a5e) % 2 == 0)
		add_some(&m, 2, ACTION_PAUSE, 2, 40000, 0);
	if (sim_mix(seed ^ 0x7e4a47) % 6 == 0)
		making_tenants(&m);
	if (hole)
		making_hole(&m);
	if (script_queues(p))
		making_queues(&m);
	if (script_claims(p))
		making_claims(&m);
	qsort(p->at, p->n, sizeof(*p->at), by_time);
}

void script_free(struct script *p)
{
	free(p->at);
	*p = (struct script){ 0 };
}
