/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gangs on random clusters with every rule, against a slow planner: each pod is evaluated
 * by loops, each member of one class takes the best node, and where muster's answer is that a gang
 * can't start, every placement is tried. */
#include "core/step/core.h"
#include "tests/unit/support_trial.h"

#include "core/lifecycle/state.h"
#include "tests/unit/test.h"

TestSuite(plans);

enum { CLUSTERS = 90, ROUNDS = 14, BRUTE_EVALUATIONS = 1500 };

struct seen {
	uint32_t plans, equal, begun_elsewhere, started, with_roles, waited, brute, gave_up,
		gave_up_wrongly;
};

/* Nothing was placed: checks that nothing could be. */
static void check_waits(struct trial *t, const struct need *need, struct seen *seen)
{
	const uint32_t why = t->p->reasons[0].why;
	bool found;

	seen->waited++;
	cr_assert(why == WAIT_ROOM || why == WAIT_GAVE_UP, "record %u: why %u", t->p->records, why);
	seen->gave_up += why == WAIT_GAVE_UP;
	t->evaluations = BRUTE_EVALUATIONS;
	found = trial_brute(t, *need);
	if (t->evaluations == 0 && !found)
		return;
	seen->brute++;
	cr_assert(!found || why == WAIT_GAVE_UP, "record %u: %d of %u can start, but are said not to",
	          t->p->records, need->all, t->members);
	seen->gave_up_wrongly += found;
}

static void check(struct trial *t, struct seen *seen)
{
	struct need need = trial_need(t), left = need;
	uint32_t slow[TRIAL_MEMBERS], got[TRIAL_MEMBERS], slow_n = 0, got_n;

	if (!trial_could_start(t))
		return;
	if (t->alike)
		slow_n = trial_slow_plan(t, slow);
	plain_plan(t->p);
	got_n = trial_told(t, got);
	seen->plans++;
	if (t->alike && (int)slow_n >= need.all) {
		for (uint32_t i = 0; i < t->members; i++)
			cr_assert_eq(got[i], slow[i], "record %u: member %u of %u went to %u, not to %u",
			             t->p->records, i, t->members, got[i], slow[i]);
		seen->equal++;
	}
	if (got_n == 0) {
		check_waits(t, &need, seen);
		return;
	}
	for (uint32_t i = 0; i < t->members; i++)
		if (got[i] != PLAIN_NONE)
			need_add(&left, &t->p->pods[i]);
	cr_assert(need_met(&left), "record %u: %u of %d", t->p->records, got_n, need.all);
	seen->with_roles += need.roles[1] + need.roles[2] > 0;
	cr_assert(trial_sound(t, got, got_n), "record %u: a member is where it must not be",
	          t->p->records);
	seen->begun_elsewhere += t->alike && (int)slow_n < need.all;
	seen->started++;
	plain_settle(t->p);
	cr_assert_not(core_wants_plan(t->p->core) && trial_have(t) < t->quorum);
	/* Each member that is left fits nowhere by itself. */
	plain_plan(t->p);
	for (uint32_t i = 0; i < t->members; i++)
		if (trial_pending(t, i) && t->p->binds[i] == PLAIN_NONE)
			cr_assert_eq(trial_best_node(t, i), PLAIN_NONE,
			             "record %u: member %u waits for nothing", t->p->records, i);
	plain_settle(t->p);
}

static void cluster(struct random *r, enum score_policy score, bool policies, struct seen *seen)
{
	struct trial t = { .r = r, .score = score, .with_policies = policies };

	trial_begin(&t);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		check(&t, seen);
		trial_next(&t);
	}
	plain_free(t.p);
}

static void clusters(const char *name, enum score_policy score, bool policies, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		cluster(&r, score, policies, &seen);
	fprintf(
		stderr,
		"%s: %u plans, %u equal, %u started (%u not by the best nodes, %u with roles), %u waited (%u proved), %u gave up (%u wrongly)\n",
		name, seen.plans, seen.equal, seen.started, seen.begun_elsewhere, seen.with_roles,
		seen.waited, seen.brute, seen.gave_up, seen.gave_up_wrongly);
	cr_assert(seen.equal > 0 && seen.with_roles > 0 && seen.started > seen.equal && seen.brute > 0);
}

Test(plans, are_the_slow_planners)
{
	clusters("plans.kube", SCORE_KUBE, false, CLUSTERS);
}

Test(plans, are_the_slow_planners_when_packing)
{
	clusters("plans.pack", SCORE_PACK, false, CLUSTERS / 3);
}

Test(plans, are_the_slow_planners_when_fitting_best)
{
	clusters("plans.bestfit", SCORE_BESTFIT, false, CLUSTERS / 3);
}

/* Most shapes have a policy, and the pods that it counts may have another. */
Test(plans, are_the_slow_planners_with_policies)
{
	clusters("plans.policies", SCORE_KUBE, true, CLUSTERS);
}
