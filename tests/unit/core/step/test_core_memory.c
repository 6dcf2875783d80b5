/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of the core fails once while it is told of pods, rules between them, nodes and
 * namespaces: it says so, every sum holds, and the same record again is taken. */
#include "tests/unit/support_census.h"
#include "tests/unit/support_ledger.h"
#include "tests/unit/support_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct maker {
	struct ledger *ledger;
};

static int make(void *context, uint64_t offset, uint64_t bytes)
{
	return fail_in >= 0 && fail_in-- == 0
	           ? -ENOMEM
	           : guarded_make(((struct maker *)context)->ledger, offset, bytes);
}

/* Each allocation of a core that is begun, and each part of its ledger: there is no core, and
 * nothing is left. */
Test(memory, every_allocation_of_the_start_fails_once)
{
	const struct limits limits = { .nodes = 70,
		                           .pods = 40,
		                           .gangs = 10,
		                           .shapes = 9,
		                           .names = 16,
		                           .resources = 8,
		                           .name_bytes = 4096,
		                           .command_ring_bytes = 4096 };
	struct maker m = { .ledger = NULL };
	struct core_config config = { .limits = limits, .make = make, .context = &m };
	struct core *core = NULL;
	long failed = 0;

	for (; CAN_FAIL && !core; failed++) {
		m.ledger = guarded_new(&limits);
		fail_in = failed;
		core = core_new(&config, m.ledger);
		fail_in = -1;
		core_free(core);
		guarded_free(m.ledger);
	}
	cr_assert(!CAN_FAIL || failed > 20, "%ld", failed);
}

#define STEPS 1500

Test(memory, every_allocation_fails_once)
{
	static struct model m = { .feeding = FEED_FAILING, .fail_in = &fail_in };

	if (!CAN_FAIL)
		return; /* the suite runs the plain build as well */
	model_begin(&m, "memory");
	for (int i = 0; i < STEPS; i++)
		model_step(&m);
	fprintf(stderr, "memory: %u allocations failed\n", m.failed);
	cr_assert_gt(m.failed, STEPS);
	model_end(&m);
}
