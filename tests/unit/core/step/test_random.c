/* SPDX-License-Identifier: Apache-2.0 */
/* Random clusters: the core against a slow and obvious model, against itself, and against malformed
 * records. */
#include "tests/unit/support_slow.h"
#include "tests/unit/test.h"

#define CLUSTERS 12
#define STEPS 400

static void compared(enum score_policy score, const char *name)
{
	struct random r = random_start(name);
	struct slow_counts sum = { 0 };

	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, score, true);
		struct slow_counts c;

		for (int k = 0; k < STEPS; k++)
			slow_step(s);
		slow_replay(s, false);
		slow_replay(s, true);
		c = slow_counts(s);
		sum.binds += c.binds;
		sum.gangs_started += c.gangs_started;
		sum.gangs_with_roles += c.gangs_with_roles;
		sum.gave_up += c.gave_up;
		slow_free(s);
	}
	fprintf(stderr,
	        "%s: %u binds, %u gangs started, %u of them with roles, %u times beyond the planner\n",
	        name, sum.binds, sum.gangs_started, sum.gangs_with_roles, sum.gave_up);
	cr_assert(sum.binds > CLUSTERS * 10 && sum.gangs_started > CLUSTERS &&
	          sum.gangs_with_roles > 0);
}

Test(random, compared_with_a_slow_model)
{
	compared(SCORE_KUBE, "random.kube");
}

Test(random, compared_with_a_slow_model_when_packing)
{
	compared(SCORE_PACK, "random.pack");
}

/* A small command ring, plans at any time: the sums are right and the same records give the same
 * commands. */
Test(random, little_room_for_commands)
{
	struct random r = random_start("random.ring");

	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, SCORE_KUBE, false);

		for (int k = 0; k < STEPS; k++)
			slow_step(s);
		slow_replay(s, false);
		slow_replay(s, true);
		slow_free(s);
	}
}

/* Any word of any record replaced: no crash, the sums are right, and a refused record changes
 * nothing. */
Test(random, broken_records)
{
	struct random r = random_start("random.broken");
	unsigned refused = 0, accepted = 0;

	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, SCORE_KUBE, false);

		for (int k = 0; k < STEPS; k++)
			slow_break(s);
		refused += slow_counts(s).refused_records;
		accepted += slow_counts(s).accepted_broken;
		slow_free(s);
	}
	fprintf(stderr, "random.broken: %u refused, %u harmless\n", refused, accepted);
	cr_assert(refused > CLUSTERS * STEPS / 10);
}
