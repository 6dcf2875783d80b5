/* SPDX-License-Identifier: Apache-2.0 */
/* A load that ends with an overfilled node, or a torn gang, if a late Binding is forgotten:
 *
 *   node n10 of 12 cpu is full ──► a pod, or a gang of two, waits for all of it
 *   the pod that fills it goes ──► Bindings are sent, and held back
 *   the leader dies or is suspended ──► a pod of a higher priority comes
 *   the next one starts ──► the first pods wait again, for the reason that they had before, so
 *   their conditions are not written, and their versions stay: the Bindings can still land */
#include "tests/sim/making.h"

/* The leader's machine is paused with a write of the journal on its way, which lands after the next
 * leader's: it fails, and the first one ends before it sends what the write was for. */
static void journal_late(struct making *m, uint64_t room)
{
	making_add(m, room - SIM_MS, ACTION_NET, FATE_QUEUE, 60, 100);
	making_add(m, room + 3 * SIM_MS + sim_below(&m->random, 3 * SIM_MS), ACTION_PAUSE, SIM_LEADER,
	           16000 + making_below(m, 10000), 0);
}

/* What holds Bindings back, from just before they are sent. */
static void hold_bindings(struct making *m, uint64_t at)
{
	static const enum fate fates[] = { FATE_WEBHOOK, FATE_LATE_LOST, FATE_ETCD, FATE_LATE };

	if (making_below(m, 4) == 0) /* the journal */
		making_add(m, at, ACTION_NET, FATE_QUEUE, 1000, 50);
	if (making_below(m, 5) > 0)
		making_add(m, at, ACTION_NET, fates[making_below(m, 4)], 1000 + making_below(m, 2000),
		           SIM_ONLY_BINDINGS + 50 + 50 * making_below(m, 2));
}

/* Returns for how long there is none, in ms. */
static uint32_t leader_fails(struct making *m, uint64_t at)
{
	const uint32_t down = 50 + making_below(m, making_below(m, 3) == 0 ? 5000 : 500);

	if (m->p->instances > 1 && making_below(m, 2) == 0) {
		making_add(m, at, making_below(m, 2) ? ACTION_PAUSE : ACTION_BOTH_STOP, SIM_LEADER,
		           16000 + making_below(m, 25000), 0);
		return 14000;
	}
	making_add(m, at, making_below(m, 4) == 0 ? ACTION_FRONTEND_DIES : ACTION_BOTH_DIE, SIM_LEADER,
	           down, 0);
	return down;
}

void making_hole(struct making *m)
{
	/* The Bindings are sent some 8 ms after there is room, the journal is written before. */
	static const uint64_t soon_ns[] = { 10 * SIM_MS, 10 * SIM_MS, 40 * SIM_MS, SIM_S };
	const bool gang = making_below(m, 3) == 0;
	const uint64_t full = sim_below(&m->random, m->p->end_ns / 2);
	const uint64_t waits = full + SIM_S + sim_below(&m->random, SIM_S);
	const uint64_t room = waits + SIM_S + sim_below(&m->random, 3 * SIM_S);
	const uint64_t fails = room + SIM_MS + sim_below(&m->random, soon_ns[making_below(m, 4)]);
	uint32_t occupant = m->pods, down;

	if (m->pods + 4 > SIM_PODS || m->groups == SIM_GROUPS)
		return;
	m->pods += 4;
	m->p->end_ns += 10 * SIM_S;
	making_add(m, full, ACTION_NODE_NEW, SIM_HUGE_NODE, 0, 0);
	making_add(m, full, ACTION_POD_NEW, occupant, SIM_NONE, SIM_HUGE);
	if (gang) {
		making_add(m, waits, ACTION_GROUP_NEW, m->groups, 2, 0);
		making_add(m, waits, ACTION_POD_NEW, occupant + 1, m->groups, SIM_HUGE_HALF);
		making_add(m, waits, ACTION_POD_NEW, occupant + 2, m->groups++, SIM_HUGE_HALF);
	} else {
		making_add(m, waits, ACTION_POD_NEW, occupant + 1, SIM_NONE, SIM_HUGE);
	}
	making_add(m, room, ACTION_POD_DELETE, occupant, 0, 0);
	if (m->p->instances > 1 && making_below(m, 2) == 0) {
		journal_late(m, room);
		down = 3000;
	} else {
		hold_bindings(m, room - SIM_MS);
		down = leader_fails(m, fails);
	}
	making_add(m, fails + (1 + making_below(m, down)) * SIM_MS, ACTION_POD_NEW, occupant + 3,
	           SIM_NONE, SIM_HUGE_FIRST);
}
